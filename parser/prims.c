/* prims.c - schedule statements: builds their arguments, and checks each statement against its row of prims.def before
 * it joins the schedule. What a statement means for a nest is not known here.
 */
#include "lang/program.h"
#include "lang/spelling.h"
#include "parser/parser.h"

#include <ctype.h>
#include <string.h>

PrimArg prim_name(AstName name) {
    return (PrimArg){.kind = ARG_NAME, .name = name.text, .loc = name.loc};
}

PrimArg prim_integer(Parser *parser, AstName digits) {
    return (PrimArg){.kind = ARG_INT, .value = ast_integer(parser, digits)->integer, .loc = digits.loc};
}

PrimArg prim_hole(Loc loc) {
    return (PrimArg){.kind = ARG_HOLE, .loc = loc};
}

PrimArg prim_operation(Parser *parser, char op, PrimArg a, PrimArg b) {
    PrimArg *items = ARENA_ARRAY(parser->arena, PrimArg, 2);
    items[0] = a.kind == ARG_LIST && a.count == 1 ? a.items[0] : a;
    items[1] = b.kind == ARG_LIST && b.count == 1 ? b.items[0] : b;
    return (PrimArg){.kind = ARG_OP, .op = op, .count = 2, .items = items, .loc = loc_join(a.loc, b.loc)};
}

PrimArg prim_list(PrimArgKind kind, PrimArgs items, Loc loc) {
    return (PrimArg){.kind = kind, .count = items.count, .items = items.items, .loc = loc};
}

/* --- checks against prims.def --- */

typedef struct Checked {
    Parser *parser;
    const PrimInfo *info;
    const Prim *prim;
    int letters;   /* how many positional arguments the row has */
    bool repeated; /* the last letter stands for one or more arguments */
    int positional, integers;
} Checked;

static void add_arguments(Text *text, PrimOp op) {
    bool repeated;
    int count = prim_letter_count(op, &repeated);
    for (int i = 0; i < count; i++)
        text_add(text, "%s%s", i ? ", " : "", prim_letter(op, i)->word);
    text_add(text, repeated ? ", ..." : "");
    for (const char *at = prim_info[op].positional; (at = strchr(at, ' '));) {
        int length = (int)strcspn(++at, " ");
        text_add(text, ", %.*s=...", length, at);
    }
}

/* "outer, ..., inner = split(loop, integer, ...)": the form of the statement. */
static const char *signature(Arena *arena, PrimOp op) {
    const PrimInfo *info = &prim_info[op];
    static const char *const results[] = {"", "x = ", "a, b = ", "a, b, c = ", "a, b, c, d = "};
    Text text = {.arena = arena};
    text_add(&text, "%s%s(", *info->results == 'N' ? "outer, ..., inner = " : results[*info->results - '0'],
             info->spelling);
    add_arguments(&text, op);
    text_add(&text, ")");
    return text.text;
}

static void hint_signature(const Checked *checked) {
    diag_hint(checked->parser->diagnostics, "%s %s", signature(checked->parser->arena, checked->prim->op),
              checked->info->summary);
}

static bool check_key(const Checked *checked, const PrimArg *argument) {
    Diagnostics *diagnostics = checked->parser->diagnostics;
    if (!prim_has_key(checked->prim->op, argument->key)) {
        diag(diagnostics, DIAG_primitive_key, argument->loc, checked->info->spelling, argument->key);
        hint_signature(checked);
        return false;
    }
    if (prim_keyword(checked->prim, argument->key) != argument) {
        diag(diagnostics, DIAG_primitive_key_twice, argument->loc, argument->key);
        return false;
    }
    return true;
}

/* Only a layout has operations: it divides dimensions by numbers. Constraints have their own check. */
static bool check_operation(const Checked *checked, const PrimArg *argument) {
    Diagnostics *diagnostics = checked->parser->diagnostics;
    if (argument->kind == ARG_OP && argument->op != '/' && argument->op != '%') {
        diag(diagnostics, DIAG_primitive_operation, argument->loc, checked->info->spelling);
        return false;
    }
    bool operand = argument->kind == ARG_OP;
    if (operand && argument->items[0].kind != ARG_NAME && argument->items[0].kind != ARG_OP) {
        diag(diagnostics, DIAG_layout_operation, argument->items[0].loc, argument->op);
        return false;
    }
    if (operand && argument->items[1].kind != ARG_INT && argument->items[1].kind != ARG_HOLE) {
        diag(diagnostics, DIAG_layout_divisor, argument->items[1].loc, argument->op);
        return false;
    }
    for (int i = 0; i < argument->count; i++)
        if (!check_operation(checked, &argument->items[i]))
            return false;
    return true;
}

static bool is_comparison(const PrimArg *argument) {
    return argument->kind == ARG_OP && strchr("<>lg=!", argument->op);
}

/* Whether it is a sum or product of names and integers. */
static bool is_sum(const PrimArg *argument) {
    if (argument->kind == ARG_OP)
        return !is_comparison(argument) && is_sum(&argument->items[0]) && is_sum(&argument->items[1]);
    return argument->kind == ARG_INT || argument->kind == ARG_NAME;
}

static bool is_constraint(const PrimArg *argument) {
    return is_comparison(argument) && is_sum(&argument->items[0]) && is_sum(&argument->items[1]);
}

static bool check_positional(Checked *checked, const PrimArg *argument) {
    int last = checked->letters - 1;
    int position = checked->positional++;
    if (last < 0)
        return true; /* check_count reports it */
    const PrimLetter *letter = prim_letter(checked->prim->op, position);
    bool fits = prim_letter_takes(checked->prim->op, letter, argument);
    fits &= letter->kind != ARG_OP || is_constraint(argument);
    checked->integers += letter->kind == ARG_INT;
    bool one_too_many = position > last && !checked->repeated; /* check_count reports it */
    if (fits || one_too_many)
        return true;
    bool list = letter->letter == 'L' && argument->kind == ARG_HOLE;
    const char *wanted = !list ? letter->wanted
                         : checked->prim->op == PRIM_REORDER
                             ? "a loop, or a '?' whose choices are orders in parentheses"
                             : "a loop, or a '?' whose choices are loops";
    diag(checked->parser->diagnostics, DIAG_primitive_argument, argument->loc, position + 1, checked->info->spelling,
         wanted);
    hint_signature(checked);
    return false;
}

static bool check_count(const Checked *checked, Loc loc) {
    int wanted = checked->letters, found = checked->positional;
    if (checked->repeated ? found >= wanted : found == wanted)
        return true;
    diag(checked->parser->diagnostics, DIAG_primitive_count, loc, checked->info->spelling,
         checked->repeated ? "at least " : "", wanted, wanted == 1 ? "argument" : "arguments", found);
    hint_signature(checked);
    return false;
}

static bool check_arguments(Checked *checked) {
    const Prim *prim = checked->prim;
    bool named = false, right = true;
    for (int i = 0; i < prim->arg_count; i++) {
        const PrimArg *argument = &prim->args[i];
        if (!argument->key && named) {
            diag(checked->parser->diagnostics, DIAG_primitive_order, argument->loc);
            return false;
        }
        named = argument->key != NULL;
        if (prim->op != PRIM_REQUIRE && !check_operation(checked, argument))
            return false;
        right &= named ? check_key(checked, argument) : check_positional(checked, argument);
    }
    return right && check_count(checked, prim->loc);
}

/* "2 loops", "1 stage", "nothing". */
static const char *made_by(Arena *arena, const PrimInfo *info, int count) {
    const char *what = info->positional[0] == 'T' ? "stage" : "loop";
    return count == 0 ? "nothing" : arena_printf(arena, "%d %s%s", count, what, count == 1 ? "" : "s");
}

static const char *names_given(Arena *arena, int count) {
    return count == 0 ? "no name is" : count == 1 ? "1 name is" : arena_printf(arena, "%d names are", count);
}

static bool check_results(const Checked *checked, AstNames results) {
    const char *row = checked->info->results;
    int wanted = *row == 'N' ? checked->integers + 1 : *row - '0';
    Arena *arena = checked->parser->arena;
    for (int i = 0; i < results.count; i++)
        for (int j = 0; j < i; j++)
            if (!strcmp(results.items[i].text, results.items[j].text)) {
                diag(checked->parser->diagnostics, DIAG_result_twice, results.items[i].loc, results.items[i].text);
                return false;
            }
    if (wanted == results.count)
        return true;
    diag(checked->parser->diagnostics, DIAG_primitive_results, checked->prim->loc, checked->info->spelling,
         made_by(arena, checked->info, wanted), names_given(arena, results.count));
    hint_signature(checked);
    return false;
}

static void report_unknown(Parser *parser, AstName spelling) {
    const char *spellings[PRIM_COUNT];
    Text list = {.arena = parser->arena};
    for (int i = 0; i < PRIM_COUNT; i++) {
        spellings[i] = prim_info[i].spelling;
        text_add(&list, "%s%s", i ? ", " : "", spellings[i]);
    }
    const char *nearest = spelling_nearest(spelling.text, spellings, PRIM_COUNT);
    diag(parser->diagnostics, DIAG_unknown_primitive, spelling.loc, spelling.text);
    if (nearest)
        diag_hint(parser->diagnostics, "did you mean '%s'?", nearest);
    else
        diag_hint(parser->diagnostics, "the primitives are %s", list.text);
}

void prims_add(Parser *parser, Prims *prims, AstNames results, AstName spelling, PrimArgs args, Loc loc) {
    int op = prim_find(spelling.text);
    if (op < 0) {
        report_unknown(parser, spelling);
        return;
    }
    Prim prim = {.op = (PrimOp)op, .arg_count = args.count, .args = args.items, .loc = loc};
    prim.result_count = results.count;
    prim.results = ARENA_ARRAY(parser->arena, const char *, results.count);
    for (int i = 0; i < results.count; i++)
        prim.results[i] = results.items[i].text;
    Checked checked = {.parser = parser, .info = &prim_info[op], .prim = &prim};
    checked.letters = prim_letter_count(prim.op, &checked.repeated);
    if (check_arguments(&checked) && check_results(&checked, results))
        list_push(parser->arena, prims, prim);
}

/* --- holes of a whole block --- */

typedef struct HoleCheck {
    Parser *parser;
    Prims prims;
} HoleCheck;

/* Whether a hole of this name stands for a loop somewhere. */
static bool stands_for_name(const Schedule *schedule, const char *name) {
    for (int i = 0; i < schedule->count; i++)
        for (int a = 0; a < schedule->prims[i].arg_count; a++)
            if (prim_argument_names(&schedule->prims[i], a) && schedule->prims[i].args[a].name &&
                !strcmp(schedule->prims[i].args[a].name, name))
                return true;
    return false;
}

static void check_names(const HoleCheck *check, const PrimArg *argument) {
    Schedule schedule = {.count = check->prims.count, .prims = check->prims.items};
    if (argument->kind == ARG_NAME && schedule_hole_number(&schedule, argument->name) < 0)
        diag(check->parser->diagnostics, DIAG_hole_unknown, argument->loc, argument->name);
    else if (argument->kind == ARG_NAME && stands_for_name(&schedule, argument->name))
        diag(check->parser->diagnostics, DIAG_hole_names, argument->loc, argument->name);
    for (int i = 0; i < argument->count; i++)
        check_names(check, &argument->items[i]);
}

/* Only the first hole of a name may list the choices. */
static void check_choices(const HoleCheck *check, const PrimArg *argument, AstNames *names) {
    for (int i = 0; argument->kind == ARG_HOLE && argument->name && i < names->count; i++)
        if (!strcmp(names->items[i].text, argument->name) && argument->count)
            diag(check->parser->diagnostics, DIAG_hole_choices, argument->loc, argument->name);
    if (argument->kind == ARG_HOLE && argument->name)
        list_push(check->parser->arena, names, ((AstName){argument->name, argument->loc}));
    for (int i = 0; argument->kind != ARG_HOLE && i < argument->count; i++)
        check_choices(check, &argument->items[i], names);
}

void prims_finish(Parser *parser, Prims prims) {
    enum { PRIM_LIMIT = 20000 }; /* the names of each are looked for in those before it */
    if (prims.count > PRIM_LIMIT) {
        diag(parser->diagnostics, DIAG_too_many_primitives, prims.items[PRIM_LIMIT].loc, PRIM_LIMIT);
        return;
    }
    HoleCheck check = {parser, prims};
    AstNames names = {0};
    for (int i = 0; i < prims.count; i++)
        for (int a = 0; a < prims.items[i].arg_count; a++)
            if (prims.items[i].op == PRIM_REQUIRE)
                check_names(&check, &prims.items[i].args[a]);
            else
                check_choices(&check, &prims.items[i].args[a], &names);
}

/* --- conditions of rules --- */

static void report_condition(Parser *parser, const PrimArg *name) {
    Text list = {.arena = parser->arena};
    for (int p = 0; p < PREDICATE_COUNT; p++)
        text_add(&list, "%s%s", p ? ", " : "", predicate_spellings[p]);
    diag(parser->diagnostics, DIAG_unknown_predicate, name->loc, name->name);
    diag_hint(parser->diagnostics, "rules ask for %s; extent[0] and terms[0] have a number in brackets", list.text);
}

static void check_predicates(Parser *parser, const PrimArg *argument) {
    int index;
    if (argument->kind == ARG_NAME && predicate_find(argument->name, &index) < 0)
        report_condition(parser, argument);
    for (int i = 0; i < argument->count; i++)
        check_predicates(parser, &argument->items[i]);
}

void rule_finish(Parser *parser, const Rule *rule) {
    for (int c = 0; c < rule->condition_count; c++) {
        const PrimArg *condition = &rule->conditions[c];
        if (condition->key || (condition->kind != ARG_NAME && !is_constraint(condition)))
            diag(parser->diagnostics, DIAG_rule_condition, condition->loc);
        else
            check_predicates(parser, condition);
    }
}
