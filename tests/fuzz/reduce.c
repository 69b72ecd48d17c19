/* reduce.c - makes the text of a failing case smaller as long as it fails in the same way.
 *
 * Edits are numbered as a walk over the syntax tree meets them: larger pieces first, each making the text smaller or
 * its numbers. A text is parsed anew for each edit; what is no program any more fails in another way and is not taken.
 */
#include "fuzz.h"
#include "parser/ast.h"
#include <stdlib.h>
#include <string.h>

typedef struct Edit {
    Arena *arena;
    int wanted, seen;
    bool done;
} Edit;

/* Whether this is the edit to make. */
static bool offer(Edit *edit) {
    bool chosen = !edit->done && edit->seen++ == edit->wanted;
    edit->done |= chosen;
    return chosen;
}

#define list_drop(list, at)                                                                                            \
    do {                                                                                                               \
        memmove(&(list)->items[at], &(list)->items[(at) + 1],                                                          \
                sizeof *(list)->items *(size_t)((list)->count - (at)-1));                                              \
        (list)->count--;                                                                                               \
    } while (0)

/* --- schedules ---------------------------------------------------------------------------------------------------- */

/* NAME, or NAME.something. */
static bool names(const char *text, const char *name) {
    size_t length = strlen(name);
    return !strncmp(text, name, length) && (text[length] == '\0' || text[length] == '.');
}

static bool arg_names(const PrimArg *arg, const char *name) {
    if (arg->kind == ARG_NAME && names(arg->name, name))
        return true;
    for (int i = 0; i < arg->count; i++)
        if (arg_names(&arg->items[i], name))
            return true;
    return false;
}

static bool uses_results(const Prim *prim, const Prim *made) {
    for (int a = 0; a < prim->arg_count; a++)
        for (int r = 0; r < made->result_count; r++)
            if (arg_names(&prim->args[a], made->results[r]))
                return true;
    return false;
}

/* With all that needs its results. */
static void drop_prim(Schedule *schedule, int at) {
    Prim dropped = schedule->prims[at];
    memmove(&schedule->prims[at], &schedule->prims[at + 1], sizeof(Prim) * (size_t)(schedule->count - at - 1));
    schedule->count--;
    for (int i = schedule->count - 1; i >= at; i--)
        if (i < schedule->count && uses_results(&schedule->prims[i], &dropped))
            drop_prim(schedule, i);
}

static void edit_number(Edit *edit, int64_t *value, int64_t least) {
    if (*value > least && offer(edit))
        *value = least;
    if (*value / 2 > least && offer(edit))
        *value /= 2;
    if (*value - 1 > least && offer(edit))
        *value -= 1;
}

static void edit_arg(Edit *edit, PrimArg *arg) {
    if (arg->kind == ARG_INT)
        edit_number(edit, &arg->value, 1);
    for (int i = 0; i < arg->count; i++)
        edit_arg(edit, &arg->items[i]);
}

static void edit_schedule(Edit *edit, Schedule *schedule) {
    for (int i = 0; i < schedule->count; i++)
        if (offer(edit))
            schedule->count = i;
    for (int i = schedule->count - 1; i >= 0; i--)
        if (offer(edit))
            drop_prim(schedule, i);
}

static void drop_arg(Prim *prim, int at) {
    prim->arg_count--;
    memmove(&prim->args[at], &prim->args[at + 1], sizeof(PrimArg) * (size_t)(prim->arg_count - at));
}

static void edit_args(Edit *edit, Schedule *schedule) {
    for (int i = 0; i < schedule->count; i++) {
        Prim *prim = &schedule->prims[i];
        for (int a = prim->arg_count - 1; a > 0; a--)
            if (offer(edit))
                drop_arg(prim, a);
        for (int a = 0; a < prim->arg_count; a++)
            edit_arg(edit, &prim->args[a]);
    }
}

/* --- expressions -------------------------------------------------------------------------------------------------- */

static void make_one(AstExpr *e) {
    *e = (AstExpr){.kind = AST_INTEGER, .depth = 1, .loc = e->loc, .name = {"1", e->loc}, .integer = 1};
}

static void edit_expr(Edit *edit, AstExpr *e) {
    if (!e || e->kind == AST_INTEGER || e->kind == AST_REAL)
        return;
    if (e->kind != AST_NAME && offer(edit)) {
        make_one(e);
        return;
    }
    for (int i = 0; i < e->args.count; i++)
        if (offer(edit)) {
            *e = *e->args.items[i];
            return;
        }
    for (int i = 0; i < e->args.count; i++)
        edit_expr(edit, e->args.items[i]);
}

static void edit_exprs(Edit *edit, AstExprs *list) {
    for (int i = 0; i < list->count; i++)
        edit_expr(edit, list->items[i]);
}

/* --- statements --------------------------------------------------------------------------------------------------- */

/* Reads of the tensor become the number 1. */
static void forget_in_expr(AstExpr *e, const char *name) {
    if (!e)
        return;
    if ((e->kind == AST_APPLY || e->kind == AST_NAME) && !strcmp(e->name.text, name)) {
        make_one(e);
        return;
    }
    if (e->kind == AST_ELSE && e->args.items[0]->name.text && !strcmp(e->args.items[0]->name.text, name)) {
        make_one(e);
        return;
    }
    for (int i = 0; i < e->args.count; i++)
        forget_in_expr(e->args.items[i], name);
}

static void forget_in_statements(AstStatements *list, const char *name) {
    for (int i = 0; i < list->count; i++) {
        AstStatement *statement = list->items[i];
        for (int v = 0; v < statement->values.count; v++)
            forget_in_expr(statement->values.items[v], name);
        for (int w = 0; w < statement->wheres.count; w++) {
            forget_in_expr(statement->wheres.items[w].begin, name);
            forget_in_expr(statement->wheres.items[w].end, name);
            forget_in_expr(statement->wheres.items[w].value, name);
        }
        forget_in_statements(&statement->body, name);
    }
}

static void drop_result(AstDef *def, const char *name) {
    for (int i = 0; i < def->results.count; i++)
        if (!strcmp(def->results.items[i].name.text, name)) {
            list_drop(&def->results, i);
            return;
        }
}

/* The statements of a scan stand alone. */
static void drop_scan(Edit *edit, AstStatements *list, int at) {
    AstStatements all = {0};
    const AstStatements *body = &list->items[at]->body;
    for (int i = 0; i < list->count; i++)
        for (int k = 0; k < (i == at ? body->count : 1); k++)
            list_push(edit->arena, &all, i == at ? body->items[k] : list->items[i]);
    *list = all;
}

/* The statement alone, or the tensor altogether. */
static void edit_statements(Edit *edit, AstDef *def, AstStatements *list) {
    for (int i = list->count - 1; i >= 0 && !edit->done; i--) {
        AstStatement *statement = list->items[i];
        if (offer(edit)) {
            list_drop(list, i);
            return;
        }
        if (statement->targets.count && offer(edit)) {
            for (int t = 0; t < statement->targets.count; t++) {
                drop_result(def, statement->targets.items[t].name.text);
                forget_in_statements(&def->statements, statement->targets.items[t].name.text);
            }
            list_drop(list, i);
            return;
        }
        edit_statements(edit, def, &statement->body);
        if (statement->kind == STATEMENT_SCAN && offer(edit))
            drop_scan(edit, list, i);
    }
}

static void edit_inside(Edit *edit, AstStatements *list) {
    for (int i = 0; i < list->count && !edit->done; i++) {
        AstStatement *statement = list->items[i];
        for (int w = statement->wheres.count - 1; w >= 0; w--)
            if (offer(edit))
                list_drop(&statement->wheres, w);
        edit_exprs(edit, &statement->values);
        for (int w = 0; w < statement->wheres.count && !edit->done; w++) {
            edit_expr(edit, statement->wheres.items[w].begin);
            edit_expr(edit, statement->wheres.items[w].end);
            edit_expr(edit, statement->wheres.items[w].value);
        }
        edit_inside(edit, &statement->body);
    }
}

/* --- the file ----------------------------------------------------------------------------------------------------- */

static void edit_def(Edit *edit, AstDef *def) {
    edit_statements(edit, def, &def->statements);
    for (int i = def->results.count - 1; i >= 0; i--)
        if (offer(edit))
            list_drop(&def->results, i);
    for (int i = def->arguments.count - 1; i >= 0; i--)
        if (offer(edit)) {
            forget_in_statements(&def->statements, def->arguments.items[i].name.text);
            list_drop(&def->arguments, i);
        }
}

static void edit_bindings(Edit *edit, AstBindings *list) {
    for (int i = list->count - 1; i >= 0; i--)
        if (offer(edit))
            list_drop(list, i);
    for (int i = 0; i < list->count; i++) {
        AstExpr *value = list->items[i].value;
        int64_t before = value && value->kind == AST_INTEGER ? value->integer : 0, now = before;
        edit_number(edit, &now, 0);
        if (now != before) {
            value->integer = now;
            value->name.text = arena_printf(edit->arena, "%lld", (long long)now);
        }
    }
}

static void edit_file(Edit *edit, AstFile *file) {
    for (int i = 0; i < file->schedules.count; i++)
        if (offer(edit))
            list_drop(&file->schedules, i);
        else
            edit_schedule(edit, file->schedules.items[i]);
    for (int i = file->defs.count - 1; i >= 0; i--)
        edit_def(edit, file->defs.items[i]);
    for (int i = file->defs.count - 1; i >= 0 && file->defs.count > 1; i--)
        if (offer(edit))
            list_drop(&file->defs, i);
    for (int i = file->combiners.count - 1; i >= 0; i--)
        if (offer(edit))
            list_drop(&file->combiners, i);
    for (int i = 0; i < file->exports.count; i++)
        edit_bindings(edit, &file->exports.items[i].bindings);
    for (int i = file->defs.count - 1; i >= 0; i--)
        edit_inside(edit, &file->defs.items[i]->statements);
    for (int i = 0; i < file->schedules.count; i++)
        edit_args(edit, file->schedules.items[i]);
}

/* --- the first line ----------------------------------------------------------------------------------------------- */

static const char *replace_value(Arena *arena, const char *line, const char *key, const char *value) {
    const char *at = strstr(line, key);
    if (!at)
        return line;
    const char *from = at + strlen(key), *rest = from + strcspn(from, " ");
    return arena_printf(arena, "%.*s%s%s", (int)(from - line), line, value, rest);
}

static const char *edit_line(Edit *edit, const char *line) {
    static const char *const simple[][2] = {{"symbolic=", ""}, {"engine=", "kernel"}, {"threads=", "1"},
                                            {"strict=", "0"},  {"data=", "0"},        {"level=", "0"},
                                            {"level=", "1"},    {"complete=", "0"},
                                            {"automatic=", "0"}};
    for (size_t i = 0; i < sizeof simple / sizeof *simple; i++)
        if (offer(edit))
            return replace_value(edit->arena, line, simple[i][0], simple[i][1]);
    for (const char *name = "NMK"; *name; name++) {
        const char *at = strstr(line, "symbolic="), *letter = at ? strchr(at, *name) : NULL;
        if (offer(edit) && letter)
            return arena_printf(edit->arena, "%.*s%s", (int)(letter - line), line, letter + 1);
    }
    return line;
}

/* --- reducing ----------------------------------------------------------------------------------------------------- */

/* The text after edit number `wanted`; NULL when there are not as many. */
static const char *edited_text(Arena *arena, const char *text, int wanted) {
    Edit edit = {.arena = arena, .wanted = wanted};
    Sources *sources = ARENA_NEW(arena, Sources);
    sources->arena = arena;
    FILE *nowhere = fopen("/dev/null", "w");
    Diagnostics *diagnostics = diag_new(arena, sources, (DiagOptions){.no_warnings = true, .stream = nowhere});
    uint32_t file = (uint32_t)source_add(sources, "reduced", text, strlen(text), false);
    AstFile *tree = parse_file(arena, sources, file, diagnostics);
    diag_finish(diagnostics);
    fclose(nowhere);
    const char *line = edit_line(&edit, arena_strndup(arena, text, strcspn(text, "\n")));
    edit_file(&edit, tree);
    if (!edit.done)
        return NULL;
    Text result = {.arena = arena};
    text_add(&result, "%s\n", line);
    ast_print(&result, tree);
    return result.text;
}

const char *reduce_text(Arena *arena, const char *text, Fault fault, TryText *try, void *context, int limit) {
    bool changed = true;
    Arena *scratch = arena_new();
    while (changed && limit > 0) {
        changed = false;
        for (int edit = 0; limit > 0;) {
            arena_reset(scratch);
            const char *why = NULL, *smaller = edited_text(scratch, text, edit);
            if (!smaller)
                break;
            if (strcmp(smaller, text) && limit-- > 0 && try(context, smaller, &why) == fault) {
                text = arena_strdup(arena, smaller);
                changed = true;
            } else {
                edit++;
            }
        }
    }
    arena_free(scratch);
    return text;
}
