/* task.c - the structural hash of a program, and its canonical numbering of stages and tensors.
 *
 * Two passes. The first hashes each stage, with what it reads in place of names; these hashes order the stages that
 * nothing reads. The second walks from these stages to what they read. It numbers stages after their producers and
 * tensors at first sight, and writes everything as text without names. The hash of this text is the key. Readers get it
 * with words in place of numbers, which become numbers again before it is hashed.
 */
#include "autosched/records/records.h"
#include "lang/random.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LANGUAGE_VERSION = 1 }; /* of schedules: part of every key */

typedef struct Canon {
    Arena *arena;
    bool readable; /* words in place of numbers */
    bool layers;   /* constant indices of reads, and numbers that elements are computed with, are left out */
    bool numbers;  /* so are those that indices are computed or compared with */
    const Program *program;
    uint64_t *hashes; /* [stage]: first pass; 0: not known */
    bool *visited;
    LIST(const Stage *) stages;
    LIST(const Tensor *) tensors;
    LIST(const Var *) variables; /* sizes and scalars */
    LIST(const Scan *) scans;
    const Stage *stage; /* the stage whose axes are named */
    Text text;
} Canon;

static int stage_of(const Canon *canon, const Tensor *tensor) {
    const Stage *stage = program_stage_of(canon->program, tensor);
    return stage ? program_stage_index(canon->program, stage) : -1;
}

/* --- words for readers: none of them stands anywhere else in the text --- */

static const char *const combine_words[COMBINE_COUNT] = {"each", "sum", "product", "least", "greatest", "combined"};
static const char *const role_words[] = {[ROLE_INPUT] = "input",
                                         [ROLE_OUTPUT] = "output",
                                         [ROLE_TEMPORARY] = "temporary",
                                         [ROLE_CONSTANT] = "constant",
                                         [ROLE_INITIAL] = "initial"};
static const char cast_word[] = "cast", user_line[] = "user\n";
enum { ROLE_WORDS = sizeof role_words / sizeof *role_words };

static void write_number(Canon *canon, int number, const char *word) {
    if (canon->readable)
        text_add(&canon->text, "%s", word);
    else
        text_add(&canon->text, "%d", number);
}

static void write_type(Canon *canon, ElementType type) {
    write_number(canon, (int)type, element_info[type].spelling);
}

static bool is_word(const char *word, size_t length, const char *other) {
    return strlen(other) == length && strncmp(word, other, length) == 0;
}

static int find_word(const char *word, size_t length, const char *const *words, int count) {
    int found = 0;
    while (found < count && !is_word(word, length, words[found]))
        found++;
    return found < count ? found : -1;
}

static int find_type(const char *word, size_t length) {
    int type = 0;
    while (type < TYPE_COUNT && !is_word(word, length, element_info[type].spelling))
        type++;
    return type < TYPE_COUNT ? type : -1;
}

/* Writes what the word stands for. */
static void unspell_word(Text *text, const char *word, size_t length) {
    int combine = find_word(word, length, combine_words, COMBINE_COUNT);
    int role = find_word(word, length, role_words, ROLE_WORDS), type = find_type(word, length);
    int variable = *word == 'v' ? find_type(word + 1, length - 1) : -1;
    int number = combine >= 0 ? combine : role >= 0 ? role : type;
    if (number >= 0)
        text_add(text, "%d", number);
    else if (variable >= 0)
        text_add(text, "v%d", variable);
    else if (is_word(word, length, cast_word))
        text_add(text, "k%d", (int)EXPR_CAST);
    else
        text_add_bytes(text, word, length);
}

/* The text that is hashed. */
static const char *unspell(Arena *arena, const char *program) {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
    Text text = {.arena = arena};
    for (bool begins = true; *program; begins = program[-1] == '\n') {
        if (begins && !strncmp(program, user_line, sizeof user_line - 1)) {
            text_add(&text, "%s", program + sizeof user_line - 1);
            break;
        }
        size_t length = strspn(program, letters);
        if (begins && *program == 'S' && program[length] == ' ')
            program += length + 1; /* the stage's name */
        length = strspn(program, letters);
        if (length)
            unspell_word(&text, program, length);
        else
            text_add_bytes(&text, program, length = 1);
        program += length;
    }
    return text.text ? text.text : "";
}

/* --- text without names; first: in the first pass, where tensors are hashes --- */

static void write_expr(Canon *canon, const Expr *e, bool first);

static int variable_number(Canon *canon, const Var *var) {
    for (int v = 0; v < canon->variables.count; v++)
        if (canon->variables.items[v] == var)
            return v;
    list_push(canon->arena, &canon->variables, var);
    return canon->variables.count - 1;
}

static void write_var(Canon *canon, const Var *var, bool first) {
    const Stage *stage = canon->stage;
    for (int a = 0; stage && a < stage->axis_count; a++)
        if (stage->axes[a] == var) {
            text_add(&canon->text, "x%d", a);
            return;
        }
    for (int r = 0; stage && r < stage->reduction_count; r++)
        if (stage->reductions[r] == var) {
            text_add(&canon->text, "r%d", r);
            return;
        }
    text_add(&canon->text, "v");
    write_type(canon, var->type);
    text_add(&canon->text, ":%d", first ? 0 : variable_number(canon, var));
    if (var->most)
        text_add(&canon->text, "<%" PRId64, var->most);
}

static void write_dims(Canon *canon, const Tensor *tensor, bool first) {
    text_add(&canon->text, "<");
    write_type(canon, tensor->type);
    text_add(&canon->text, ",");
    write_number(canon, (int)tensor->role, role_words[tensor->role]);
    text_add(&canon->text, ",%d", tensor->constant);
    for (int d = 0; d < tensor->rank; d++) {
        text_add(&canon->text, ",");
        write_expr(canon, tensor->dims[d], first);
    }
    text_add(&canon->text, ">");
}

static uint64_t stage_hash(Canon *canon, int number);

/* Whether the current stage reads an earlier step of its scan from a stage that does not come before it. */
static bool is_backward(const Canon *canon, int stage) {
    const Stage *reader = canon->stage;
    return reader && reader->scan && canon->program->stages[stage]->scan == reader->scan &&
           stage >= program_stage_index(canon->program, reader);
}

static int scan_number(Canon *canon, const Scan *scan) {
    for (int s = 0; s < canon->scans.count; s++)
        if (canon->scans.items[s] == scan)
            return s;
    list_push(canon->arena, &canon->scans, scan);
    return canon->scans.count - 1;
}

static void write_tensor(Canon *canon, const Tensor *tensor, bool first) {
    int stage = stage_of(canon, tensor);
    if (stage >= 0 && first && is_backward(canon, stage)) {
        text_add(&canon->text, "@");
        write_dims(canon, tensor, first);
        return;
    }
    int component = stage >= 0 ? stage_component_of(canon->program->stages[stage], tensor) : 0;
    if (stage >= 0 && first) {
        text_add(&canon->text, "#%" PRIx64 ".%d", stage_hash(canon, stage), component);
        return;
    }
    if (stage < 0 && first) {
        write_dims(canon, tensor, first);
        return;
    }
    for (int s = 0; s < canon->stages.count; s++)
        if (stage_writes(canon->stages.items[s], tensor)) {
            text_add(&canon->text, component ? "S%d.%d" : "S%d", s, component);
            return;
        }
    for (int t = 0; t < canon->tensors.count; t++)
        if (canon->tensors.items[t] == tensor) {
            text_add(&canon->text, "T%d", t);
            return;
        }
    text_add(&canon->text, program_reads_elsewhere(canon->program, tensor) ? "E%d" : "T%d", canon->tensors.count);
    list_push(canon->arena, &canon->tensors, tensor);
    write_dims(canon, tensor, first);
}

static void write_kind(Canon *canon, ExprKind kind) {
    if (canon->readable && kind == EXPR_CAST)
        text_add(&canon->text, "%s", cast_word);
    else
        text_add(&canon->text, "k%d", (int)kind);
}

/* The layer that is read of a tensor with all layers' weights tells tasks apart, but not what is good for them. */
static bool is_layer(const Canon *canon, const Expr *e, int number) {
    return canon->layers && e->kind == EXPR_READ && e->args[number]->kind == EXPR_INT;
}

static bool is_number_of_index(const Canon *canon, const Expr *e, int number) {
    const Expr *arg = e->args[number];
    return canon->numbers && arg->kind == EXPR_INT && arg->type == TYPE_INT64 && e->kind == EXPR_OP &&
           (op_info[e->op].class == CLASS_COMPARE || e->op == OP_ADD || e->op == OP_SUB || e->op == OP_MUL ||
            e->op == OP_DIV || e->op == OP_MOD);
}

static void write_argument(Canon *canon, const Expr *e, int number, bool first) {
    if (is_layer(canon, e, number))
        text_add(&canon->text, "layer");
    else if (is_number_of_index(canon, e, number))
        text_add(&canon->text, "number");
    else
        write_expr(canon, e->args[number], first);
    text_add(&canon->text, ",");
}

/* Nor does a number that elements are computed with, but for those that leave out what they are computed with. */
static bool is_any_number(const Canon *canon, const Expr *e) {
    double value = e->kind == EXPR_REAL ? e->real : (double)e->integer;
    bool of_elements = e->kind == EXPR_REAL || (e->kind == EXPR_INT && e->type != TYPE_INT64);
    return canon->layers && of_elements && isfinite(value) && value != 0 && fabs(value) != 1;
}

static void write_constant(Canon *canon, const Expr *e) {
    if (is_any_number(canon, e))
        text_add(&canon->text, "number");
    else if (e->kind == EXPR_REAL)
        text_add(&canon->text, "%a", e->real);
    else
        text_add(&canon->text, "%" PRId64, e->integer);
}

static void write_expr(Canon *canon, const Expr *e, bool first) {
    switch (e->kind) {
    case EXPR_INT:
    case EXPR_REAL: write_constant(canon, e); break;
    case EXPR_VAR: write_var(canon, e->var, first); break;
    case EXPR_READ: write_tensor(canon, e->tensor, first); break;
    case EXPR_OP: text_add(&canon->text, "%s", op_info[e->op].name); break;
    default: write_kind(canon, e->kind); break;
    }
    text_add(&canon->text, ":");
    write_type(canon, e->type);
    text_add(&canon->text, "(");
    for (int a = 0; a < e->count; a++)
        write_argument(canon, e, a, first);
    if (e->otherwise) {
        text_add(&canon->text, "else ");
        write_expr(canon, e->otherwise, first);
    }
    text_add(&canon->text, ")");
}

/* Variables of a combiner are numbered at first sight, as scalars are. */
static void write_combiner(Canon *canon, const Combiner *combiner, bool first) {
    text_add(&canon->text, " combiner %d%d", combiner->associative, combiner->commutative);
    for (int c = 0; c < combiner->count; c++) {
        write_expr(canon, combiner->identity[c], first);
        for (int side = 0; side < 2; side++)
            write_var(canon, side ? combiner->right[c] : combiner->left[c], first);
    }
    for (int c = 0; c < combiner->count; c++)
        write_expr(canon, combiner->result[c], first);
}

static void write_component(Canon *canon, Component component, bool first) {
    write_expr(canon, component.value, first);
    if (component.initial) {
        text_add(&canon->text, " from ");
        write_expr(canon, component.initial, first);
    }
}

static void write_stage(Canon *canon, const Stage *stage, bool first) {
    canon->stage = NULL;
    text_add(&canon->text, "stage ");
    write_number(canon, (int)stage->combine, combine_words[stage->combine]);
    text_add(&canon->text, " ");
    write_dims(canon, stage->components[0].tensor, first);
    for (int r = 0; r < stage->reduction_count; r++) {
        text_add(&canon->text, " over ");
        write_expr(canon, stage->reductions[r]->extent, first);
    }
    if (stage->scan)
        text_add(&canon->text, " scan %d step %d", first ? 0 : scan_number(canon, stage->scan), stage->step);
    canon->stage = stage;
    text_add(&canon->text, " = ");
    write_component(canon, stage->components[0], first);
    for (int c = 1; c < stage->component_count; c++) {
        text_add(&canon->text, " and ");
        write_dims(canon, stage->components[c].tensor, first);
        write_component(canon, stage->components[c], first);
    }
    if (stage->combiner)
        write_combiner(canon, stage->combiner, first);
    text_add(&canon->text, "\n");
}

static uint64_t text_hash(const char *text, uint64_t seed) {
    uint64_t hash = seed;
    for (; *text; text++)
        hash = hash_mix(hash ^ (unsigned char)*text) + UINT64_C(0x9e3779b97f4a7c15);
    return hash;
}

static uint64_t stage_hash(Canon *canon, int number) {
    if (canon->hashes[number])
        return canon->hashes[number];
    Text outer = canon->text;
    const Stage *stage = canon->stage;
    canon->text = (Text){.arena = canon->arena};
    write_stage(canon, canon->program->stages[number], true);
    canon->hashes[number] = text_hash(canon->text.text, 1) | 1;
    canon->text = outer;
    canon->stage = stage;
    return canon->hashes[number];
}

/* --- the order --- */

/* Producers first. */
static void visit_stage(Canon *canon, int number) {
    if (canon->visited[number])
        return;
    canon->visited[number] = true;
    const Stage *stage = canon->program->stages[number];
    EACH_STAGE_READ(read, stage)
        if (stage_of(canon, read->tensor) >= 0)
            visit_stage(canon, stage_of(canon, read->tensor));
    list_push(canon->arena, &canon->stages, stage);
}

/* Marks the stages that others read. Reads of earlier steps of a scan do not count: they form a circle. */
static bool *find_read(const Canon *canon) {
    const Program *program = canon->program;
    bool *is_read = ARENA_ARRAY(canon->arena, bool, program->stage_count + 1);
    for (int s = 0; s < program->stage_count; s++)
        EACH_STAGE_READ(read, program->stages[s]) {
            int number = stage_of(canon, read->tensor);
            const Scan *scan = number >= 0 ? program->stages[number]->scan : NULL;
            if (number >= 0 && !(scan && program->stages[s]->scan == scan && s <= number))
                is_read[number] = true;
        }
    return is_read;
}

static void visit_all(Canon *canon) {
    const bool *is_read = find_read(canon);
    for (;;) {
        int next = -1;
        for (int s = 0; s < canon->program->stage_count; s++)
            if (!canon->visited[s] && !is_read[s] && (next < 0 || stage_hash(canon, s) < stage_hash(canon, next)))
                next = s;
        if (next < 0)
            break;
        visit_stage(canon, next);
    }
}

static const char *key_of(Arena *arena, const char *text) {
    return arena_printf(arena, "%016" PRIx64 "%016" PRIx64, text_hash(text, 1), text_hash(text, 2));
}

static void write_user(Canon *canon, const Schedule *user) {
    for (int t = 0; t < canon->program->tensor_count; t++)
        text_add(&canon->text, "%s ", canon->program->tensors[t]->name);
    schedule_print_statements(&canon->text, user);
}

static void write_program(Canon *canon, const Schedule *user) {
    text_add(&canon->text, "schedules %d strict %d\n", LANGUAGE_VERSION, canon->program->strict);
    for (int s = 0; s < canon->stages.count; s++) {
        if (canon->readable)
            text_add(&canon->text, "S%d ", s);
        write_stage(canon, canon->stages.items[s], false);
    }
    if (user && canon->readable)
        text_add(&canon->text, "%s", user_line);
    if (user)
        write_user(canon, user);
}

static Task *task_of(Canon *canon, const Schedule *user) {
    Arena *arena = canon->arena;
    const Program *program = canon->program;
    canon->text.arena = arena;
    canon->hashes = ARENA_ARRAY(arena, uint64_t, program->stage_count + 1);
    canon->visited = ARENA_ARRAY(arena, bool, program->stage_count + 1);
    visit_all(canon);
    write_program(canon, user);
    Task *task = ARENA_NEW(arena, Task);
    *task = (Task){.program = program,
                   .key = key_of(arena, canon->text.text),
                   .renames = !user,
                   .user = user,
                   .stage_count = canon->stages.count,
                   .stages = canon->stages.items,
                   .tensor_count = canon->tensors.count,
                   .tensors = canon->tensors.items,
                   .scan_count = canon->scans.count,
                   .scans = canon->scans.items};
    return task;
}

Task *task_new(Arena *arena, const Program *program, const Schedule *user) {
    return task_of(&(Canon){.arena = arena, .program = program}, user);
}

const char *task_program(Arena *arena, const Task *task) {
    Canon canon = {.arena = arena, .readable = true, .program = task->program, .text = {.arena = arena}};
    for (int s = 0; s < task->stage_count; s++)
        list_push(arena, &canon.stages, task->stages[s]);
    write_program(&canon, task->user);
    return canon.text.text;
}

bool task_program_fits(const char *key, const char *program) {
    Arena *scratch = arena_new();
    bool fits = strcmp(key_of(scratch, unspell(scratch, program)), key) == 0;
    arena_free(scratch);
    return fits;
}

const char *task_hash(Arena *arena, const Program *program) {
    return task_new(arena, program, NULL)->key;
}

const char *layer_hash(Arena *arena, const Program *program, bool numbers) {
    return task_of(&(Canon){.arena = arena, .program = program, .layers = true, .numbers = numbers}, NULL)->key;
}
