/* schedule.c - Schedules as source text, their holes, and the names of primitives.
 *
 * What is printed parses back to the same Schedule: records, --emit-schedule and the reader of both rely on it.
 */
#include "lang/diag.h"
#include "lang/program.h"
#include "lang/random.h"

#include <ctype.h>
#include <string.h>

PrimArg arg_name(const char *name) {
    return (PrimArg){.kind = ARG_NAME, .name = name};
}

PrimArg arg_int(int64_t value) {
    return (PrimArg){.kind = ARG_INT, .value = value};
}

void prim_remove_argument(Prim *prim, int index) {
    prim->arg_count--;
    memmove(prim->args + index, prim->args + index + 1, sizeof *prim->args * (size_t)(prim->arg_count - index));
}

int prim_find(const char *spelling) {
    for (int op = 0; op < PRIM_COUNT; op++)
        if (!strcmp(prim_info[op].spelling, spelling))
            return op;
    return -1;
}

static const PrimLetter letters[] = {
    {'L', ARG_NAME, "loop", "the name of a loop"},
    {'T', ARG_NAME, "stage", "the name of a stage or tensor"},
    {'I', ARG_NAME, "instruction", "the name of an instruction"},
    {'D', ARG_NAME, "def", "the name of a def"},
    {'C', ARG_LIST, "(dimensions)", "a list of dimensions in parentheses"},
    {'S', ARG_NAME, "scope", "a scope: global, local, register or shared"},
    {'X', ARG_NAME, "axis", "an axis: block.x, block.y, block.z, thread.x, thread.y, thread.z or vthread"},
    {'Q', ARG_OP, "comparison", "a comparison of named holes and integers"},
    {'i', ARG_INT, "integer", "an integer or '?'"}};

int prim_letter_count(PrimOp op, bool *repeated) {
    const char *row = prim_info[op].positional;
    int count = 0;
    while (row[count] && row[count] != '.' && row[count] != ' ')
        count++;
    *repeated = row[count] == '.';
    return count;
}

const PrimLetter *prim_letter(PrimOp op, int index) {
    bool repeated;
    int last = prim_letter_count(op, &repeated) - 1;
    char letter = prim_info[op].positional[index < last ? index : last];
    const PrimLetter *found = letters;
    for (; found->letter != letter; found++)
        ENSURE(found + 1 < letters + sizeof letters / sizeof *letters);
    return found;
}

bool prim_takes(PrimArgKind kind, const PrimArg *argument) {
    return argument->kind == kind || (kind == ARG_INT && argument->kind == ARG_HOLE);
}

/* Whether all choices that a hole lists are of the kind. */
static bool lists_only(const PrimArg *hole, PrimArgKind kind) {
    bool only = true;
    for (int i = 0; i < hole->count; i++)
        only &= hole->items[i].kind == kind;
    return only;
}

bool prim_letter_takes(PrimOp op, const PrimLetter *letter, const PrimArg *argument) {
    if (argument->kind != ARG_HOLE)
        return prim_takes(letter->kind, argument);
    if (letter->letter == 'L')
        return lists_only(argument, op == PRIM_REORDER ? ARG_LIST : ARG_NAME);
    return letter->kind == ARG_INT && lists_only(argument, ARG_INT);
}

bool prim_argument_names(const Prim *prim, int index) {
    const PrimArg *argument = &prim->args[index];
    if (argument->kind != ARG_HOLE)
        return false;
    if (argument->key)
        return !strcmp(argument->key, "at") && prim->op != PRIM_ALGORITHM;
    return prim_letter(prim->op, index)->letter == 'L';
}

bool prim_has_key(PrimOp op, const char *key) {
    size_t length = strlen(key);
    for (const char *at = prim_info[op].positional; (at = strchr(at, ' '));)
        if (!strncmp(++at, key, length) && (at[length] == ' ' || !at[length]))
            return true;
    return false;
}

const PrimArg *prim_keyword(const Prim *prim, const char *key) {
    for (int i = 0; i < prim->arg_count; i++)
        if (prim->args[i].key && !strcmp(prim->args[i].key, key))
            return &prim->args[i];
    return NULL;
}

/* --- printing --- */

static void print_items(Text *text, const PrimArg *argument) {
    for (int i = 0; i < argument->count; i++) {
        text_add(text, i ? ", " : "");
        argument_print(text, &argument->items[i]);
    }
}

void argument_print(Text *text, const PrimArg *argument) {
    if (argument->key)
        text_add(text, "%s=", argument->key);
    switch (argument->kind) {
    case ARG_NAME: text_add(text, "%s", argument->name); break;
    case ARG_INT: text_add(text, "%lld", (long long)argument->value); break;
    case ARG_HOLE:
        text_add(text, "?%s%s", argument->name ? argument->name : "", argument->count ? " in {" : "");
        print_items(text, argument);
        text_add(text, argument->count ? "}" : "");
        break;
    case ARG_OP:
        argument_print(text, &argument->items[0]);
        text_add(text, "%c", argument->op);
        argument_print(text, &argument->items[1]);
        break;
    case ARG_LIST:
        text_add(text, "(");
        print_items(text, argument);
        text_add(text, ")");
        break;
    }
}

/* An operation of a constraint, in parentheses where it binds less tightly than what it is an operand of. */
static void print_operation(Text *text, const PrimArg *argument, int around) {
    static const struct {
        char op;
        const char *spelling;
        int precedence;
    } rows[] = {{'l', "<=", 1}, {'g', ">=", 1}, {'=', "==", 1}, {'!', "!=", 1}, {'<', "<", 1}, {'>', ">", 1},
                {'+', "+", 2},  {'-', "-", 2},  {'*', "*", 3},  {'/', "/", 3},  {'%', "%", 3}};
    int row = 0;
    if (argument->kind != ARG_OP) {
        argument_print(text, argument);
        return;
    }
    while (rows[row].op != argument->op)
        row++;
    bool parentheses = rows[row].precedence < around;
    text_add(text, parentheses ? "(" : "");
    print_operation(text, &argument->items[0], rows[row].precedence);
    text_add(text, " %s ", rows[row].spelling);
    print_operation(text, &argument->items[1], rows[row].precedence + 1);
    text_add(text, parentheses ? ")" : "");
}

void constraint_print(Text *text, const PrimArg *argument) {
    print_operation(text, argument, 0);
}

static void print_prim(Text *text, const Prim *prim) {
    for (int i = 0; i < prim->result_count; i++)
        text_add(text, "%s%s", prim->results[i], i + 1 < prim->result_count ? ", " : " = ");
    text_add(text, "%s(", prim_info[prim->op].spelling);
    for (int i = 0; i < prim->arg_count; i++) {
        text_add(text, i ? ", " : "");
        if (prim->op == PRIM_REQUIRE)
            print_operation(text, &prim->args[i], 0);
        else
            argument_print(text, &prim->args[i]);
    }
    text_add(text, ")\n");
}

/* Names joined by '-' or ':' stand bare, anything else in quotes. */
static void print_target(Text *text, const char *name) {
    bool bare = isalpha((unsigned char)*name) || *name == '_';
    for (const char *at = name; *at && bare; at++) {
        bool joint = *at == '-' || *at == ':', word = isalnum((unsigned char)*at) || *at == '_';
        bool digits_then_letter = isdigit((unsigned char)at[0]) && (isalpha((unsigned char)at[1]) || at[1] == '_');
        bool in_name = at > name && (isalnum((unsigned char)at[-1]) || at[-1] == '_');
        bare = (word || (joint && at[1] && (isalnum((unsigned char)at[1]) || at[1] == '_'))) &&
               (!digits_then_letter || in_name);
    }
    if (bare) {
        text_add(text, "%s", name);
        return;
    }
    text_add(text, "\"");
    for (const char *at = name; *at; at++)
        text_add(text, *at == '"' || *at == '\\' ? "\\%c" : "%c", *at);
    text_add(text, "\"");
}

void schedule_print_statements(Text *text, const Schedule *schedule) {
    text_add(text, "%s", "");
    for (int i = 0; i < schedule->count; i++)
        print_prim(text, &schedule->prims[i]);
}

static uint64_t hash_name(const char *name, uint64_t hash) {
    for (; name && *name; name++)
        hash = hash * 31 + (unsigned char)*name;
    return hash_mix(hash + (name != NULL));
}

static uint64_t hash_argument(const PrimArg *argument, uint64_t hash) {
    hash = hash_name(argument->key, hash_name(argument->name, hash));
    hash = hash_mix(hash ^ (uint64_t)argument->value) + (uint64_t)argument->kind * 256 + (unsigned char)argument->op;
    for (int i = 0; i < argument->count; i++)
        hash = hash_argument(&argument->items[i], hash);
    return hash_mix(hash + (uint64_t)argument->count);
}

uint64_t schedule_hash(const Schedule *schedule) {
    uint64_t hash = 0;
    for (int i = 0; i < schedule->count; i++) {
        const Prim *prim = &schedule->prims[i];
        hash = hash_mix(hash + (uint64_t)prim->op);
        for (int r = 0; r < prim->result_count; r++)
            hash = hash_name(prim->results[r], hash);
        for (int a = 0; a < prim->arg_count; a++)
            hash = hash_argument(&prim->args[a], hash);
    }
    return hash;
}

void schedule_print(Text *text, const Schedule *schedule) {
    text_add(text, "schedule %s on ", schedule->subject);
    print_target(text, schedule->target);
    text_add(text, " {\n");
    for (int i = 0; i < schedule->count; i++) {
        text_add(text, "    ");
        print_prim(text, &schedule->prims[i]);
    }
    text_add(text, "}\n");
}

/* --- holes: numbered in the order of the text --- */

static int count_holes(const PrimArg *argument) {
    int holes = argument->kind == ARG_HOLE;
    for (int i = 0; i < argument->count; i++)
        holes += count_holes(&argument->items[i]);
    return holes;
}

static int prim_holes(const Prim *prim) {
    int holes = 0;
    for (int i = 0; i < prim->arg_count; i++)
        holes += count_holes(&prim->args[i]);
    return holes;
}

typedef struct HoleSearch {
    const char *name;
    int count; /* of holes before, each name once */
    const Schedule *schedule;
} HoleSearch;

static bool first_of_name(const Schedule *schedule, const PrimArg *hole);

/* Counts until the hole of the name; true when it was met. */
static bool count_until(HoleSearch *search, const PrimArg *argument) {
    if (argument->kind == ARG_HOLE) {
        if (argument->name && search->name && !strcmp(argument->name, search->name))
            return true;
        search->count += first_of_name(search->schedule, argument);
        return false;
    }
    for (int i = 0; i < argument->count; i++)
        if (count_until(search, &argument->items[i]))
            return true;
    return false;
}

static bool search_holes(HoleSearch *search) {
    for (int i = 0; i < search->schedule->count; i++)
        for (int a = 0; a < search->schedule->prims[i].arg_count; a++)
            if (count_until(search, &search->schedule->prims[i].args[a]))
                return true;
    return false;
}

static const PrimArg *find_hole(const PrimArg *argument, const char *name) {
    if (argument->kind == ARG_HOLE)
        return argument->name && !strcmp(argument->name, name) ? argument : NULL;
    const PrimArg *found = NULL;
    for (int i = 0; i < argument->count && !found; i++)
        found = find_hole(&argument->items[i], name);
    return found;
}

static bool first_of_name(const Schedule *schedule, const PrimArg *hole) {
    return schedule_hole_first(schedule, hole) == hole;
}

const PrimArg *schedule_hole_first(const Schedule *schedule, const PrimArg *hole) {
    const PrimArg *found = hole->name ? NULL : hole;
    for (int i = 0; i < schedule->count && !found; i++)
        for (int a = 0; a < schedule->prims[i].arg_count && !found; a++)
            found = find_hole(&schedule->prims[i].args[a], hole->name);
    return found;
}

bool hole_has_names(const Schedule *schedule, const PrimArg *hole) {
    const PrimArg *first = schedule_hole_first(schedule, hole);
    return first->count && first->items[0].kind != ARG_INT;
}

bool schedule_names_holes(const Schedule *schedule) {
    for (int i = 0; i < schedule->count; i++)
        for (int a = 0; a < schedule->prims[i].arg_count; a++)
            if (prim_argument_names(&schedule->prims[i], a))
                return true;
    return false;
}

int schedule_hole_count(const Schedule *schedule) {
    HoleSearch search = {.schedule = schedule};
    search_holes(&search);
    return search.count;
}

int schedule_hole_number(const Schedule *schedule, const char *name) {
    HoleSearch search = {.name = name, .schedule = schedule};
    return search_holes(&search) ? search.count : -1;
}

int schedule_hole_place(const Schedule *schedule, const PrimArg *hole) {
    Schedule before = *schedule;
    int argument = 0, prim = 0;
    while (hole < schedule->prims[prim].args || hole >= schedule->prims[prim].args + schedule->prims[prim].arg_count)
        prim++;
    before.count = prim;
    HoleSearch search = {.schedule = &before};
    search_holes(&search);
    search.schedule = schedule;
    for (; &schedule->prims[prim].args[argument] != hole; argument++)
        count_until(&search, &schedule->prims[prim].args[argument]);
    return search.count;
}

/* --- constraints --- */

typedef struct ConstraintEvaluation {
    const Schedule *schedule;
    const int64_t *choices;
    bool undefined; /* a division by 0, an overflow, an unknown name: it does not hold */
} ConstraintEvaluation;

static int64_t constraint_value(ConstraintEvaluation *constraint, const PrimArg *argument);

static int64_t operation_value(ConstraintEvaluation *constraint, const PrimArg *argument) {
    int64_t a = constraint_value(constraint, &argument->items[0]);
    int64_t b = constraint_value(constraint, &argument->items[1]), value = 0;
    switch (argument->op) {
    case '+': constraint->undefined |= __builtin_add_overflow(a, b, &value); return value;
    case '-': constraint->undefined |= __builtin_sub_overflow(a, b, &value); return value;
    case '*': constraint->undefined |= __builtin_mul_overflow(a, b, &value); return value;
    case '<': return a < b;
    case '>': return a > b;
    case 'l': return a <= b;
    case 'g': return a >= b;
    case '=': return a == b;
    case '!': return a != b;
    default: break;
    }
    constraint->undefined |= b == 0 || (a == INT64_MIN && b == -1);
    if (constraint->undefined)
        return 0;
    int64_t floor = a / b - (a % b != 0 && (a < 0) != (b < 0));
    return argument->op == '/' ? floor : a - floor * b;
}

static int64_t constraint_value(ConstraintEvaluation *constraint, const PrimArg *argument) {
    if (argument->kind == ARG_INT)
        return argument->value;
    if (argument->kind == ARG_OP)
        return operation_value(constraint, argument);
    int number = schedule_hole_number(constraint->schedule, argument->name);
    constraint->undefined |= number < 0;
    return number < 0 ? 0 : constraint->choices[number];
}

bool constraint_holds(const Schedule *schedule, const Prim *require, const int64_t *choices) {
    ConstraintEvaluation constraint = {.schedule = schedule, .choices = choices};
    return constraint_value(&constraint, &require->args[0]) && !constraint.undefined;
}

int schedule_broken(const Schedule *schedule, const int64_t *choices) {
    int i = 0;
    while (i < schedule->count &&
           (schedule->prims[i].op != PRIM_REQUIRE || constraint_holds(schedule, &schedule->prims[i], choices)))
        i++;
    return i;
}

/* --- filling --- */

typedef struct HoleFilling {
    Arena *arena;
    const Schedule *schedule;
    const int64_t *choices;
    bool names; /* only holes that stand for names */
    int next;   /* the number of the next hole that shares no name with one before */
} HoleFilling;

/* The choice of a hole: an integer, or what stands at that place of its list. */
static PrimArg choice_of(const HoleFilling *filling, const PrimArg *hole, int number) {
    const PrimArg *first = schedule_hole_first(filling->schedule, hole);
    PrimArg filled = {.kind = ARG_INT, .key = hole->key, .loc = hole->loc, .value = filling->choices[number]};
    if (!hole_has_names(filling->schedule, hole))
        return filled;
    bool listed = filled.value >= 0 && filled.value < first->count;
    filled = first->items[listed ? filled.value : 0];
    filled.key = hole->key;
    filled.loc = hole->loc;
    return filled;
}

static PrimArg fill_argument(HoleFilling *filling, const PrimArg *argument) {
    PrimArg filled = *argument;
    if (argument->kind == ARG_HOLE) {
        bool first = first_of_name(filling->schedule, argument);
        int number = first ? filling->next++ : schedule_hole_number(filling->schedule, argument->name);
        bool stays = filling->names && !hole_has_names(filling->schedule, argument);
        filled = stays ? filled : choice_of(filling, argument, number);
    } else if (count_holes(argument)) {
        filled.items = ARENA_ARRAY(filling->arena, PrimArg, argument->count);
        for (int i = 0; i < argument->count; i++)
            filled.items[i] = fill_argument(filling, &argument->items[i]);
    }
    return filled;
}

/* An order takes the place of all loops that are listed; a place may be another primitive's. */
static void finish_names(Prim *prim) {
    const PrimArg *last = prim->arg_count ? &prim->args[prim->arg_count - 1] : NULL;
    if (prim->op == PRIM_REORDER && last && last->kind == ARG_LIST) {
        prim->arg_count = last->count;
        prim->args = last->items;
    }
    if (prim->op != PRIM_COMPUTE_AT || prim->arg_count < 2 || prim->args[1].kind != ARG_NAME)
        return;
    bool within = !strcmp(prim->args[1].name, "inline"), root = !strcmp(prim->args[1].name, "root");
    if (within || root) {
        prim->op = within ? PRIM_INLINE : PRIM_COMPUTE_ROOT;
        prim->arg_count = 1;
    }
}

static Schedule *fill(Arena *arena, const Schedule *schedule, const int64_t *choices, bool names) {
    Schedule *filled = ARENA_NEW(arena, Schedule);
    *filled = *schedule;
    filled->count = 0;
    filled->prims = ARENA_ARRAY(arena, Prim, schedule->count);
    HoleFilling filling = {arena, schedule, choices, names, 0};
    for (int i = 0; i < schedule->count; i++) {
        if (schedule->prims[i].op == PRIM_REQUIRE && !names)
            continue;
        Prim *prim = &filled->prims[filled->count++];
        *prim = schedule->prims[i];
        if (!prim_holes(prim))
            continue;
        const PrimArg *args = prim->args;
        prim->args = ARENA_ARRAY(arena, PrimArg, prim->arg_count);
        for (int a = 0; a < prim->arg_count; a++)
            prim->args[a] = fill_argument(&filling, &args[a]);
        finish_names(prim);
    }
    return filled;
}

Schedule *schedule_fill(Arena *arena, const Schedule *schedule, const int64_t *choices) {
    return fill(arena, schedule, choices, false);
}

Schedule *schedule_fill_names(Arena *arena, const Schedule *schedule, const int64_t *choices) {
    return fill(arena, schedule, choices, true);
}

typedef struct HoleSample {
    const Schedule *schedule;
    int64_t *choices;
    int number, count;
} HoleSample;

static int64_t sample_of(const PrimArg *hole, int number) {
    static const int64_t sizes[SIZE_SAMPLES] = {1, 4, 16};
    if (!hole->count)
        return sizes[number];
    return hole->items[0].kind == ARG_INT ? hole->items[number * (hole->count - 1) / (SIZE_SAMPLES - 1)].value : 0;
}

static void sample_holes(HoleSample *sample, const PrimArg *argument) {
    bool hole = argument->kind == ARG_HOLE;
    if (hole && first_of_name(sample->schedule, argument))
        sample->choices[sample->count++] = sample_of(argument, sample->number);
    for (int i = 0; !hole && i < argument->count; i++)
        sample_holes(sample, &argument->items[i]);
}

int64_t *schedule_sample(Arena *arena, const Schedule *schedule, int number) {
    HoleSample sample = {schedule, ARENA_ARRAY(arena, int64_t, schedule_hole_count(schedule) + 1), number, 0};
    for (int i = 0; i < schedule->count; i++)
        for (int a = 0; a < schedule->prims[i].arg_count; a++)
            sample_holes(&sample, &schedule->prims[i].args[a]);
    return sample.choices;
}
