/* Schedules: printed and read back, holes counted and filled, arguments found. */
#include "lang/program.h"
#include "tests/tap.h"
#include "tests/unit/parsing.h"

static const char statements[] = "io, ii = split(C.i, 14)\n"
                                 "a, b, c = split(O[1].h, ?, ? in {2, 4, 8})\n"
                                 "x, y, z, w = tile(io, ii, 4, ?)\n"
                                 "f = fuse(x, y)\n"
                                 "reorder(f, z, w)\n"
                                 "unroll(z, w)\n"
                                 "vectorize(t.e.C.r_k)\n"
                                 "parallel(R.store)\n"
                                 "inline(t)\n"
                                 "compute_at(t, f, scope=register)\n"
                                 "P = cache_read(B, at=jo, layout=(j/?, k, j%? in {1, 2}, 3), scope=local)\n"
                                 "R = cache_write(C, at=io, scope=register)\n"
                                 "m, n = split(C.j, ?tj in {8, 16}, tail=shift)\n"
                                 "unroll(m, factor=?tj)\n"
                                 "partition(n, 1, -2)\n"
                                 "require(tj * (tj + 1) - 2 * tj / 4 % 3 <= 64)\n"
                                 "require(tj != 3)\n";

static Schedule *read(Parsed *parsed, const char *text) {
    *parsed = parse_bytes(text, strlen(text), true);
    is_text(parsed->messages, "", "the statements parse");
    return parsed->schedule;
}

static bool same_argument(const PrimArg *a, const PrimArg *b) {
    bool same = a->kind == b->kind && !a->key == !b->key && !a->name == !b->name && a->value == b->value &&
                a->op == b->op && a->count == b->count;
    same = same && (!a->key || !strcmp(a->key, b->key)) && (!a->name || !strcmp(a->name, b->name));
    for (int i = 0; same && i < a->count; i++)
        same = same_argument(&a->items[i], &b->items[i]);
    return same;
}

static bool same_prim(const Prim *a, const Prim *b) {
    bool same = a->op == b->op && a->result_count == b->result_count && a->arg_count == b->arg_count;
    for (int i = 0; same && i < a->result_count; i++)
        same = !strcmp(a->results[i], b->results[i]);
    for (int i = 0; same && i < a->arg_count; i++)
        same = same_argument(&a->args[i], &b->args[i]);
    return same;
}

static void test_round_trip(void) {
    Parsed parsed, again;
    Schedule *schedule = read(&parsed, statements);
    Text text = {.arena = parsed.arena};
    schedule_print_statements(&text, schedule);
    is_text(text.text, statements, "statements are printed as they were written");
    Schedule *second = read(&again, text.text);
    bool same = schedule->count == second->count;
    for (int i = 0; same && i < schedule->count; i++)
        same = same_prim(&schedule->prims[i], &second->prims[i]);
    ok(same && schedule->count == 17, "and are the same schedule when read back");
    parsed_free(&again);
    parsed_free(&parsed);
}

static void test_holes(void) {
    Parsed parsed;
    Schedule *schedule = read(&parsed, statements);
    is_int(schedule_hole_count(schedule), 6, "holes are counted, also in lists and operations, those of one name once");
    static const int64_t choices[] = {11, 12, 13, 14, 15, 16};
    Schedule *filled = schedule_fill(parsed.arena, schedule, choices);
    is_int(schedule_hole_count(filled), 0, "none is left when they are filled");
    is_int(schedule_hole_count(schedule), 6, "and the sketch keeps its own");
    is_int(schedule_hole_number(schedule, "tj"), 5, "the number of a named hole");
    is_int(schedule_hole_number(schedule, "ti"), -1, "and of a name that no hole has");
    Text text = {.arena = parsed.arena};
    schedule_print_statements(&text, filled);
    ok(strstr(text.text, "a, b, c = split(O[1].h, 11, 12)\n") && strstr(text.text, "tile(io, ii, 4, 13)") &&
           strstr(text.text, "layout=(j/14, k, j%15, 3)"),
       "each choice is where its hole was");
    ok(strstr(text.text, "split(C.j, 16, tail=shift)") && strstr(text.text, "factor=16"), "also where it stands again");
    ok(!strstr(text.text, "require"), "constraints are no part of what is filled");
    is_int(schedule_hole_count(filled) + filled->prims[1].args[2].value, 12, "as an integer");
    parsed_free(&parsed);
}

/* What a constraint says of choices for ?a and ?b. */
static void test_constraint(const char *constraint, int64_t a, int64_t b, bool holds) {
    Parsed parsed;
    char text[200];
    snprintf(text, sizeof text, "x, y = split(C.i, ?a)\nz, w = split(x, ?b)\nu, v = split(z, ?a)\nrequire(%s)\n",
             constraint);
    Schedule *schedule = read(&parsed, text);
    bool allowed = schedule_broken(schedule, (int64_t[]){a, b}) == schedule->count;
    ok(allowed == holds, "%s for a = %lld, b = %lld: %d", constraint, (long long)a, (long long)b, holds);
    parsed_free(&parsed);
}

static void test_constraints(void) {
    test_constraint("a * b <= 64", 8, 8, true);
    test_constraint("a * b <= 64", 9, 8, false);
    test_constraint("a * b < 64", 8, 8, false);
    test_constraint("a + b == 7", 3, 4, true);
    test_constraint("a - b != 7", 9, 2, false);
    test_constraint("a > b", 3, 3, false);
    test_constraint("a >= b", 3, 3, true);
    test_constraint("(a - b) / 2 == -2", 1, 4, true);
    test_constraint("(a - b) % 2 == 1", 1, 4, true);
    test_constraint("a / b >= 0", 4, 0, false);
    test_constraint("a % b >= 0", 4, 0, false);
    test_constraint("a * b > 0", INT64_MAX, 2, false);
    test_constraint("a - (b - 1) <= 2", 4, 3, true);
}

/* A block for this target, printed, parses to the same target. */
static void test_target(const char *target, const char *printed) {
    Parsed parsed = parse_text("");
    Schedule schedule = {.subject = "f", .target = target};
    Text text = {.arena = parsed.arena};
    schedule_print(&text, &schedule);
    char wanted[100];
    snprintf(wanted, sizeof wanted, "schedule f on %s {\n}\n", printed);
    is_text(text.text, wanted, "target %s", target);
    Parsed again = parse_text(text.text);
    ok(again.tree->schedules.count == 1 && !strcmp(again.tree->schedules.items[0]->target, target),
       "target %s is read back", target);
    parsed_free(&again);
    parsed_free(&parsed);
}

static void test_lookups(void) {
    Parsed parsed;
    Schedule *schedule = read(&parsed, statements);
    is_int(prim_find("split"), PRIM_SPLIT, "a primitive by its spelling");
    is_int(prim_find("splitt"), -1, "no such primitive");
    const PrimArg *scope = prim_keyword(&schedule->prims[9], "scope");
    ok(scope && !strcmp(scope->name, "register"), "an argument by its key");
    ok(!prim_keyword(&schedule->prims[9], "at"), "no such argument");
    parsed_free(&parsed);
}

int main(void) {
    test_round_trip();
    test_holes();
    test_constraints();
    test_target("x86-64-v4", "x86-64-v4");
    test_target("nvidia:sm_90", "nvidia:sm_90");
    test_target("host", "host");
    test_target("armv8.2-a", "\"armv8.2-a\"");
    test_target("x86-", "\"x86-\"");
    test_target("a-1b", "\"a-1b\"");
    test_target("a \"b\\", "\"a \\\"b\\\\\"");
    test_target("", "\"\"");
    test_lookups();
    return done_testing();
}
