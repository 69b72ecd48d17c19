/* instr.c - hardware instructions: their operands, their meaning, the processor features that they need.
 *
 * The meaning is checked as a def of its own: the first operand is its result, the others are its arguments. To match
 * loops of a schedule it must satisfy more. The extents are known. One assignment writes the whole first operand. The
 * other operands are read whole, each dimension by an index of its own. A schedule may name an instruction of any file
 * that was read. If two have the same name, the one in the file read first is meant.
 */
#include "sema/check.h"

#include <string.h>

typedef struct Meaning {
    Checker *checker;
    const AstInstr *ast;
    Program *program; /* of the meaning */
    Instr *instr;
    bool failed;
} Meaning;

#define FAIL(m, id, ...) ((m)->failed = true, diag((m)->checker->diagnostics, DIAG_##id, __VA_ARGS__))

/* --- the declaration --- */

static bool check_operands(Meaning *m) {
    const AstParameters *operands = &m->ast->arguments;
    if (!operands->count)
        FAIL(m, instr_operands, m->ast->name.loc, m->ast->name.text);
    for (int i = 0; i < operands->count; i++) {
        const AstParameter *operand = &operands->items[i];
        bool constant = operand->is_tensor;
        for (int d = 0; d < operand->dims.count; d++)
            constant &= operand->dims.items[d]->kind == AST_INTEGER && operand->dims.items[d]->integer > 0;
        if (!constant)
            FAIL(m, instr_extent, operand->loc, operand->name.text);
    }
    return !m->failed;
}

static bool check_target(Meaning *m) {
    if (target_family(m->ast->target))
        return true;
    FAIL(m, instr_target, m->ast->name.loc, m->ast->target);
    return false;
}

static void check_needs(Meaning *m) {
    const char *family = target_family(m->ast->target), *spelling;
    for (int i = 0; i < m->ast->needs.count; i++) {
        AstName need = m->ast->needs.items[i];
        if (cpu_feature_name(family, need.text))
            continue;
        Nearest nearest = {.name = need.text};
        for (int f = 0; (spelling = cpu_feature_spelling(f, family)); f++)
            nearest_offer(&nearest, spelling);
        FAIL(m, instr_feature, need.loc, need.text, family);
        if (nearest.best)
            diag_hint(m->checker->diagnostics, "did you mean '%s'?", nearest.best);
    }
}

static bool check_statement_form(Meaning *m) {
    const AstStatements *statements = &m->ast->statements;
    const AstName *written = &m->ast->arguments.items[0].name;
    const AstStatement *only = statements->count ? statements->items[0] : NULL;
    bool good = statements->count == 1 && only->kind == STATEMENT_ASSIGN && only->targets.count == 1 &&
                !strcmp(only->targets.items[0].name.text, written->text);
    if (!good) {
        FAIL(m, instr_statement, statements->count ? statements->items[statements->count > 1]->loc : m->ast->name.loc,
             m->ast->name.text, written->text);
        return false;
    }
    if (only->initialise) {
        FAIL(m, instr_initialises, only->loc, written->text);
        diag_hint(m->checker->diagnostics, "'%s' holds what it adds to already: leave out the !", written->text);
    }
    return !m->failed;
}

/* The meaning as a def whose result is the first operand. */
static AstDef *definition_of(Meaning *m) {
    Arena *arena = m->checker->arena;
    AstDef *def = ARENA_NEW(arena, AstDef);
    const AstParameter *written = &m->ast->arguments.items[0];
    AstResult result = {.name = written->name,
                        .has_type = true,
                        .type = written->type,
                        .has_dims = true,
                        .dims = written->dims,
                        .loc = written->loc};
    *def = (AstDef){.name = m->ast->name, .statements = m->ast->statements, .loc = m->ast->loc};
    for (int i = 1; i < m->ast->arguments.count; i++)
        list_push(arena, &def->arguments, m->ast->arguments.items[i]);
    list_push(arena, &def->results, result);
    return def;
}

/* --- the meaning --- */

/* Whether each dimension is read whole by an index of its own. */
static bool reads_whole(const Expr *read) {
    for (int d = 0; d < read->count; d++) {
        const Expr *index = read->args[d];
        if (index->kind != EXPR_VAR || !expr_equal(index->var->extent, read->tensor->dims[d]))
            return false;
        for (int e = 0; e < d; e++)
            if (read->args[e]->var == index->var)
                return false;
    }
    return !read->otherwise;
}

/* Every operand is read, whole and in one way only. */
static void check_reads(Meaning *m) {
    const Instr *instr = m->instr;
    const Expr **reads = ARENA_ARRAY(m->checker->arena, const Expr *, instr->operand_count), *bad = NULL;
    EACH_READ(read, instr->meaning->components[0].value) {
        int operand = 1;
        while (operand < instr->operand_count && instr->operands[operand] != read->tensor)
            operand++;
        bool first = operand < instr->operand_count && !reads[operand];
        if (first && reads_whole(read))
            reads[operand] = read;
        else if (first || operand == instr->operand_count || !expr_equal(reads[operand], read))
            bad = read;
        if (bad)
            break;
        SKIP_BELOW(read);
    }
    if (bad) {
        FAIL(m, instr_read, bad->loc, bad->tensor->name);
        diag_hint(m->checker->diagnostics, "an operand is read as %s(i, r_k), whole in every dimension",
                  bad->tensor->name);
    }
    for (int i = 1; i < instr->operand_count && !m->failed; i++)
        if (!reads[i])
            FAIL(m, instr_unread, m->ast->arguments.items[i].loc, instr->operands[i]->name);
}

/* The meaning writes the whole first operand. */
static void check_written(Meaning *m) {
    const Stage *meaning = m->instr->meaning;
    for (int d = 0; d < meaning->axis_count; d++)
        if (!expr_equal(meaning->axes[d]->extent, meaning->components[0].tensor->dims[d]))
            FAIL(m, instr_read, meaning->loc, meaning->components[0].tensor->name);
}

/* acc(i) += a(i) without a reduction was checked as acc(i) = former(i) + a(i). It becomes a reduction without
 * indices. */
static const Stage *as_reduction(Meaning *m) {
    const Stage **stage = &m->program->stages[m->program->stage_count - 1];
    Combine combine = m->ast->statements.items[0]->combine;
    if (combine == COMBINE_NONE || (*stage)->combine != COMBINE_NONE)
        return *stage;
    Stage *made = stage_copy(m->checker->arena, *stage);
    made->combine = combine;
    made->components[0].initial = (*stage)->components[0].value->args[0];
    made->components[0].value = (*stage)->components[0].value->args[1];
    *stage = made;
    return made;
}

static Stage *make_meaning(Meaning *m, const Stage *stage) {
    Stage *meaning = stage_copy(m->checker->arena, stage);
    const Expr **axes = ARENA_ARRAY(m->checker->arena, const Expr *, stage->axis_count);
    for (int d = 0; d < stage->axis_count; d++)
        axes[d] = expr_var(m->checker->arena, stage->axes[d]);
    meaning->components[0].initial =
        meaning->combine == COMBINE_NONE
            ? NULL
            : expr_read(m->checker->arena, stage->components[0].tensor, (Expr **)axes, NULL);
    return meaning;
}

static void fill_instr(Meaning *m) {
    Arena *arena = m->checker->arena;
    Instr *instr = m->instr;
    const Program *program = m->program;
    instr->program = program;
    m->program->instrs = ARENA_ARRAY(arena, const Instr *, 1);
    m->program->instrs[0] = instr;
    m->program->instr_count = 1;
    instr->meaning = make_meaning(m, as_reduction(m));
    instr->operand_count = program->argument_count;
    instr->operands = ARENA_ARRAY(arena, const Tensor *, program->argument_count);
    instr->operands[0] = program->arguments[program->argument_count - 1].tensor;
    for (int i = 1; i < program->argument_count; i++)
        instr->operands[i] = program->arguments[i - 1].tensor;
    instr->needs = ARENA_ARRAY(arena, const char *, m->ast->needs.count);
    for (int i = 0; i < m->ast->needs.count; i++)
        instr->needs[instr->need_count++] = m->ast->needs.items[i].text;
    check_reads(m);
    check_written(m);
}

static void check_instr(Checker *checker, SourceFile *file, const AstInstr *ast) {
    Instr *instr = ARENA_NEW(checker->arena, Instr);
    *instr = (Instr){.name = ast->name.text, .target = ast->target, .body = ast->text, .loc = ast->name.loc};
    Meaning m = {.checker = checker, .ast = ast, .instr = instr};
    if (check_target(&m))
        check_needs(&m);
    if (!check_operands(&m) || !check_statement_form(&m) || m.failed)
        return;
    Definition *definition = ARENA_NEW(checker->arena, Definition);
    *definition = (Definition){.ast = definition_of(&m), .file = file, .instr = true};
    m.program = build_program(checker, definition, NULL, false, NULL, NULL);
    if (!m.program)
        return;
    fill_instr(&m);
    if (!m.failed)
        list_push(checker->arena, &checker->instrs, instr);
}

/* --- all of them --- */

static const AstInstr *instr_in(const AstFile *file, const char *name, int before) {
    for (int i = 0; i < before; i++)
        if (!strcmp(file->instrs.items[i].name.text, name))
            return &file->instrs.items[i];
    return NULL;
}

static bool is_known(const Checker *checker, const char *name) {
    for (int i = 0; i < checker->instrs.count; i++)
        if (!strcmp(checker->instrs.items[i]->name, name))
            return true;
    return false;
}

void check_instrs(Checker *checker) {
    for (int f = 0; f < checker->files.count; f++) {
        SourceFile *file = checker->files.items[f];
        for (int i = 0; i < file->ast->instrs.count && !diag_limit_reached(checker->diagnostics); i++) {
            const AstInstr *ast = &file->ast->instrs.items[i], *first = instr_in(file->ast, ast->name.text, i);
            if (first)
                report_duplicate(checker, &ast->name, &first->name);
            else if (!is_known(checker, ast->name.text))
                check_instr(checker, file, ast);
        }
    }
}
