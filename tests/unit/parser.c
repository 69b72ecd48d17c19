/* The parser: the whole grammar there and back, what is easily read wrongly, places, recovery, deep nesting. */
#include "tests/tap.h"
#include "tests/unit/parsing.h"

/* Parses, prints, parses what was printed, prints again. */
static void round_trip(const char *text, const char *name) {
    Parsed first = parse_text(text);
    is_text(first.messages, "", "%s parses", name);
    const char *printed = print_tree(&first);
    Parsed second = parse_text(printed);
    is_text(second.messages, "", "%s parses again as printed", name);
    is_text(print_tree(&second), printed, "%s prints the same again", name);
    parsed_free(&second);
    parsed_free(&first);
}

static void test_whole_grammar(void) {
    round_trip(whole_grammar, "the whole grammar");
    Parsed parsed = parse_text(whole_grammar);
    const AstFile *tree = parsed.tree;
    is_int(tree->imports.count, 2, "imports");
    is_text(tree->imports.items[1].path, "a \"quoted\" path", "a backslash in a string takes what follows");
    is_int(tree->defs.count, 6, "defs");
    is_int(tree->exports.count, 4, "exports");
    is_int(tree->exports.items[2].tunes.count, 2, "sizes to tune");
    is_int(tree->schedules.count, 3, "schedules");
    is_int(tree->combiners.count, 2, "combiners");
    is_int(tree->combiners.items[0].values.count, 2, "a choice between pairs is a pair of choices");
    is_int(tree->instrs.count, 2, "instructions");
    is_text(tree->schedules.items[1]->target, "nvidia:sm_90", "a target in pieces");
    parsed_free(&parsed);
}

/* A test's name has no line breaks. */
static const char *one_line(const char *text) {
    static char line[200];
    snprintf(line, sizeof line, "%s", text);
    for (char *at = line; *at; at++)
        if (*at == '\n' || *at == '\r')
            *at = ' ';
    return line;
}

/* The body of one def on the left, printed, is the text on the right; NULL: it is refused. */
static void reads_as(const char *body, const char *wanted) {
    char text[1000], expected[1000];
    snprintf(text, sizeof text, "def f(float(N) A) -> (O) { %s }", body);
    snprintf(expected, sizeof expected, "def f(float(N) A) -> (O) {\n    %s\n}\n", wanted ? wanted : "");
    Parsed parsed = parse_text(text);
    if (wanted) {
        is_text(parsed.messages, "", "%s parses", one_line(body));
        is_text(print_tree(&parsed), expected, "as %s", one_line(wanted));
    } else {
        ok(parsed.errors > 0, "%s is refused", body);
    }
    parsed_free(&parsed);
}

static void test_readings(void) {
    reads_as("O = a - -9223372036854775808 * b", "O = a - -9223372036854775808 * b");
    reads_as("O = -(-0x8000000000000000)", "O = --9223372036854775808");
    reads_as("O = a - 9223372036854775808", NULL);
    reads_as("O = -9223372036854775809", NULL);
    reads_as("O = a < b < c == d", "O = ((a < b) < c) == d"); /* comparisons of comparisons have parentheses */
    reads_as("O = (a < b) < c", "O = (a < b) < c");
    reads_as("O = a < (b < c)", "O = a < (b < c)");
    reads_as("O = (a - b) - (c - d)", "O = a - b - (c - d)");
    reads_as("O = a / (b * c) * d", "O = a / (b * c) * d");
    reads_as("O = (a || b) && c || d", "O = (a || b) && c || d");
    reads_as("O = !a && !(b && c)", "O = !a && !(b && c)");
    reads_as("O = -(a + b) * -c", "O = -(a + b) * -c");
    reads_as("O = --a", "O = --a");
    reads_as("O = a ? b : c ? d : e", "O = a ? b : c ? d : e");
    reads_as("O = (a ? b : c) ? d : e", "O = (a ? b : c) ? d : e");
    reads_as("O = a ? b ? c : d : e", "O = a ? b ? c : d : e");
    reads_as("O = a(i) else b(i) * c", "O = (a(i) else b(i)) * c");
    reads_as("O = a(i) else -b(i) else 0", "O = a(i) else -(b(i) else 0)");
    reads_as("O = a(i) else (b + c)", "O = a(i) else (b + c)");
    reads_as("O = a.0 + .5", "O = a.0 + .5");
    reads_as("b=!a && c", "b = !a && c");
    reads_as("b=!a c=!d", "b = !a\n    c = !d");
    reads_as("b argmax=!a", "b argmax=! a");
    reads_as("b max=!a", "b max=! a");
    reads_as("a = b else=!c", NULL);
    reads_as("a = b where exists=!c", NULL);
    reads_as("float=!c", NULL);
    reads_as("bmax=!a", "bmax = !a");
    reads_as("a = b\n(i)", "a = b(i)");
    reads_as("a = b c = d where e f = g", "a = b\n    c = d where e\n    f = g");
    reads_as("a = b where i in 0:c ? 1 : 2 d = e", "a = b where i in 0:c ? 1 : 2\n    d = e");
    reads_as("a = b where c = d, e = f g, h = k(i)", "a = b where c = d, e = f\n    g, h = k(i)");
    reads_as("O = float32(half(1.)) + float16(2)", "O = float(half(1.)) + half(2)");
    reads_as("O = 1 # comment\n", "O = 1");
    reads_as("O = 1\r\nP =\r2", "O = 1\n    P = 2");
}

/* The text that the places of some nodes cover. */
static void test_places(void) {
    static const char text[] = "def f(float(N) A) -> (O) {\n  O(i) = (A(i) + 1) * 2 where i in 0:N\n}\n";
    Parsed parsed = parse_text(text);
    const AstStatement *statement = parsed.tree->defs.items[0]->statements.items[0];
    const AstExpr *product = statement->values.items[0];
    struct {
        Loc loc;
        const char *covered;
    } places[] = {
        {parsed.tree->defs.items[0]->loc, "def f(float(N) A) -> (O) {\n  O(i) = (A(i) + 1) * 2 where i in 0:N\n}"},
        {parsed.tree->defs.items[0]->arguments.items[0].loc, "float(N) A"},
        {statement->loc, "O(i) = (A(i) + 1) * 2 where i in 0:N"},
        {statement->targets.items[0].loc, "O(i)"},
        {product->loc, "(A(i) + 1) * 2"},
        {product->args.items[0]->loc, "(A(i) + 1)"},
        {statement->wheres.items[0].loc, "i in 0:N"},
    };
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        ok(places[i].loc.file == 1 && strlen(places[i].covered) == places[i].loc.end - places[i].loc.begin &&
               !memcmp(text + places[i].loc.begin, places[i].covered, strlen(places[i].covered)),
           "the place of %s", one_line(places[i].covered));
    parsed_free(&parsed);
}

static int statements_read(const char *body) {
    char text[1000];
    snprintf(text, sizeof text, "def f(float(N) A) -> (O) {\n%s\n}\ndef g() -> () { }\n", body);
    Parsed parsed = parse_text(text);
    int defs = parsed.tree->defs.count, statements = defs ? parsed.tree->defs.items[0]->statements.count : -1;
    ok(parsed.errors == 1, "one slip gives one message: %s", one_line(body));
    if (parsed.errors != 1)
        diag_line("%s", parsed.messages);
    is_int(defs, 2, "and the definitions are all there");
    parsed_free(&parsed);
    return statements;
}

static void test_recovery(void) {
    is_int(statements_read("a(i) = 1\nb(i) = A(i) A(i)\nc(i) = 2"), 3,
           "a missing operator: what stands before it was read");
    is_int(statements_read("a(i) = 1\nb(i) = max(A(i), 0\nc(i) = 2"), 2, "a missing parenthesis");
    is_int(statements_read("a(i) = 1\nb(i) = A(i) +\nc(i) = 2"), 2, "a line that breaks off");
    is_int(statements_read("a(i), b(i) best=(1, 2)\nc(i) best= 2\nd = c e=2;"), 4, "combiners that update");
    is_int(statements_read("a(i) = A(i) b(i) best= 2 c(i), d(i) best= (1, 2) e = c where k < 2 f best= 2;"), 5,
           "combiners that update in the middle of a line");
    is_int(statements_read("a(i) = A(i) b=2 c(i) = A(i) + b d= 2 e(i) = -b f= 2;"), 6, "beside assignments");
    is_int(statements_read("scan t { a(t) = 1 } b best= 2 for l in 0:2 { c best= 2 } d best= 2;"), 4,
           "and after blocks");
    is_int(statements_read("a = b c=d\na =\nb c=d;"), 4, "assignments on one line");
    is_int(statements_read("a(i) = 1\nscan { b(i) = 2 }\nc(i) = 2"), 2, "a block that is skipped");
    is_int(statements_read("a(i) = 1\nscan t { b(i) = 2 +  }\nc(i) = 2"), 3, "an error in an inner block");
    is_int(statements_read("a(i) = 1\nb(i) = foo(a b,\n   c)\nc(i) = 2"), 2, "a call over two lines");
    is_int(statements_read("a(i) = 1;\nc(i) = 2"), 2, "a semicolon");
}

/* A prefix, a piece repeated, a middle, another piece repeated. Must end with a message about depth, or none. */
static void deep(const char *name, int times, const char *before, const char *open, const char *middle,
                 const char *close, const char *after, bool too_deep) {
    size_t size = strlen(before) + strlen(middle) + strlen(after) + (size_t)times * (strlen(open) + strlen(close)) + 1;
    char *text = malloc(size), *at = text + sprintf(text, "%s", before);
    for (int i = 0; i < times; i++)
        at = stpcpy(at, open);
    at = stpcpy(at, middle);
    for (int i = 0; i < times; i++)
        at = stpcpy(at, close);
    strcpy(at, after);
    Parsed parsed = parse_text(text);
    ok(!too_deep == !strstr(parsed.messages, "levels deep"), "%s %d levels deep is %s", name, times,
       too_deep ? "refused" : "read");
    if (!too_deep)
        print_tree(&parsed);
    parsed_free(&parsed);
    free(text);
}

static void test_depth(void) {
    static const char head[] = "def f(float(N) A) -> (O) { O = ", tail[] = " }";
    for (int deeper = 0; deeper <= 1; deeper++) {
        deep("a sum", deeper ? 100000 : 1990, head, "1 + ", "1", "", tail, deeper);
        deep("a call", deeper ? 100000 : 1990, head, "f(", "1", ")", tail, deeper);
        deep("a choice", deeper ? 100000 : 1990, head, "a ? b : ", "1", "", tail, deeper);
        deep("an inner choice", deeper ? 100000 : 1990, head, "a ? ", "1", ": c", tail, deeper);
        deep("a negation", deeper ? 100000 : 1990, head, "-", "1", "", tail, deeper);
        deep("an else", deeper ? 100000 : 1990, head, "A(i) else ", "0", "", tail, deeper);
        deep("a parameter", deeper ? 100000 : 1990, head, "f[P=", "1", "](1)", tail, deeper);
        deep("a scan", deeper ? 100000 : 1990, "def f(float(N) A) -> (O) {", "scan t {", "O = 1", "}", tail, deeper);
        deep("a mixture", deeper ? 100000 : 600, head, "f(a, b + c * (", "1", "))", tail, deeper);
    }
    deep("parentheses", 9000, head, "(", "1", ")", tail, false);
    deep("parentheses", 1000000, head, "(", "1", ")", tail, true);
    deep("an unclosed parenthesis", 100000, head, "(", "", "", "", true);
}

/* One piece many times, in a body and outside: the parse ends, and counts its errors. */
static void test_garbage(void) {
    static const char *const pieces[] = {
        "a(b c\n",
        "(",
        "}",
        "a = \n",
        "a,\n",
        "a[i\n",
        "scan t {\n",
        "def f(\n",
        "def f() -> () {\n",
        "a\n",
        "\"",
        "/*",
        "\xff",
        "a = 1;\n",
        "schedule f on x {\nsplit(\n",
        "? in {",
        "= ",
        "export f(\n",
        "instr f() on x { ",
    };
    enum { TIMES = 20000 };
    for (size_t i = 0; i < 2 * sizeof pieces / sizeof *pieces; i++) {
        const char *piece = pieces[i / 2], *head = i % 2 ? "def f() -> () {\nx = 1 1\n" : "= ";
        size_t length = strlen(piece);
        char *text = malloc(strlen(head) + TIMES * length + 1), *at = stpcpy(text, head);
        for (int t = 0; t < TIMES; t++)
            at = stpcpy(at, piece);
        Parsed parsed = parse_text(text);
        ok(parsed.errors > 0, "many times %s%s", one_line(piece), i % 2 ? " in a body" : "");
        parsed_free(&parsed);
        free(text);
    }
}

static void test_schedule_alone(void) {
    static const char text[] = "io, ii = split(C.i, 14)\nvectorize(ii)\n";
    Parsed parsed = parse_bytes(text, strlen(text), true);
    ok(parsed.schedule && parsed.schedule->count == 2, "schedule statements alone");
    parsed_free(&parsed);
    static const char *const wrong[] = {"}", "def f() -> () { }", "a = ", "vectorize(i) }", "{", "export f", ")"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        parsed = parse_bytes(wrong[i], strlen(wrong[i]), true);
        ok(!parsed.schedule && parsed.errors > 0, "%s is no schedule", wrong[i]);
        parsed_free(&parsed);
    }
}

int main(void) {
    test_whole_grammar();
    test_readings();
    test_places();
    test_recovery();
    test_depth();
    test_garbage();
    test_schedule_alone();
    return done_testing();
}
