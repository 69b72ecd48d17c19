/* Diagnostics as text and as JSON, places, limits; finding misspelt names. */
#include "lang/diag.h"
#include "lang/spelling.h"
#include "tests/tap.h"

#include <stdlib.h>

/* One Diagnostics over one source, writing into memory. */
typedef struct Fixture {
    Arena *arena;
    Sources sources;
    Diagnostics *diagnostics;
    FILE *stream;
    char *written;
    size_t length;
} Fixture;

static void open_fixture(Fixture *fixture, const char *source, size_t length, DiagOptions options) {
    *fixture = (Fixture){.arena = arena_new()};
    fixture->sources.arena = fixture->arena;
    source_add(&fixture->sources, "f.tensor", source, length, false);
    options.stream = fixture->stream = open_memstream(&fixture->written, &fixture->length);
    fixture->diagnostics = diag_new(fixture->arena, &fixture->sources, options);
}

static int finish(Fixture *fixture) {
    int errors = diag_finish(fixture->diagnostics);
    fclose(fixture->stream);
    return errors;
}

static void close_fixture(Fixture *fixture) {
    free(fixture->written);
    arena_free(fixture->arena);
}

/* The text of one error over bytes [begin, end) of a source. */
static void is_shown(const char *source, uint32_t begin, uint32_t end, const char *wanted, const char *name) {
    Fixture fixture;
    open_fixture(&fixture, source, strlen(source), (DiagOptions){0});
    diag(fixture.diagnostics, DIAG_undefined_name, (Loc){1, begin, end}, "x");
    finish(&fixture);
    is_text(fixture.written, wanted, "%s", name);
    close_fixture(&fixture);
}

static void test_carets(void) {
    is_shown("ab\ncdef\n", 4, 6, "f.tensor:2:2: error: 'x' is not defined\ncdef\n ^~\n", "a range within a line");
    is_shown("a\tb c", 2, 3, "f.tensor:1:3: error: 'x' is not defined\na\tb c\n \t^\n", "tabs stay tabs");
    is_shown("ab\ncd\n", 1, 5, "f.tensor:1:2: error: 'x' is not defined\nab\n ^\n",
             "a range over lines ends with the first");
    is_shown("ab\r\ncd", 1, 2, "f.tensor:1:2: error: 'x' is not defined\nab\n ^\n", "a carriage return is not shown");
    is_shown("ab", 2, 2, "f.tensor:1:3: error: 'x' is not defined\nab\n  ^\n", "the end of the file");
    is_shown("", 0, 0, "f.tensor:1:1: error: 'x' is not defined\n\n^\n", "an empty file");
    is_shown("\xC3\xA9\xC3\xA9 b", 5, 6, "f.tensor:1:6: error: 'x' is not defined\n\xC3\xA9\xC3\xA9 b\n   ^\n",
             "a character of two bytes takes one column");
    is_shown("a\x01"
             "b",
             2, 3, "f.tensor:1:3: error: 'x' is not defined\na\\x01b\n     ^\n",
             "control bytes are not sent on, and the caret stands right");
    is_shown("\xC2\x9B\xFF c\xE2\x80\xAE", 2, 5,
             "f.tensor:1:3: error: 'x' is not defined\n\\u009B\\xFF c\\u202E\n      ^~~~~~\n",
             "nor are controls of two bytes, bytes that are no UTF-8, and what turns text around");
}

static void test_long_line(void) {
    char source[1001];
    memset(source, 'a', 1000);
    source[1000] = 0;
    memcpy(source + 500, "BCD", 3);
    Fixture fixture;
    open_fixture(&fixture, source, 1000, (DiagOptions){0});
    diag(fixture.diagnostics, DIAG_undefined_name, (Loc){1, 500, 503}, "x");
    finish(&fixture);
    char *line = strchr(fixture.written, '\n') + 1, *caret = strchr(line, '\n') + 1;
    ok(caret - line < 200, "a long line is cut");
    is_int(strstr(line, "BCD") - line, strstr(caret, "^~~") - caret, "around the caret, which stands right");
    close_fixture(&fixture);
}

static void test_no_place(void) {
    Fixture fixture;
    open_fixture(&fixture, "", 0, (DiagOptions){0});
    diag(fixture.diagnostics, DIAG_undefined_name, (Loc){0}, "x");
    diag_note(fixture.diagnostics, (Loc){0}, "a %s", "note");
    diag_hint(fixture.diagnostics, "a %s", "hint");
    is_int(finish(&fixture), 1, "one error");
    is_text(fixture.written, "tensorc: error: 'x' is not defined\ntensorc: note: a note\nhint: a hint\n",
            "without a place");
    close_fixture(&fixture);
}

static void test_limit(void) {
    Fixture fixture;
    open_fixture(&fixture, "0123456789012345678901234567890", 31, (DiagOptions){0});
    for (uint32_t i = 0; i < 23; i++) {
        is_int(diag_limit_reached(fixture.diagnostics), i >= 20, "limit after %u errors", i);
        diag(fixture.diagnostics, DIAG_undefined_name, (Loc){1, i, i + 1}, "x");
        diag_note(fixture.diagnostics, (Loc){0}, "with it");
    }
    is_int(finish(&fixture), 23, "all errors are counted");
    const char *last = "tensorc: too many errors: 3 more are not shown\n";
    ok(fixture.length > strlen(last) && !strcmp(fixture.written + fixture.length - strlen(last), last),
       "the last line says how many are not shown");
    int notes = 0;
    for (const char *at = fixture.written; (at = strstr(at, "note: ")); at++)
        notes++;
    is_int(notes, 20, "notes of hidden errors are hidden");
    close_fixture(&fixture);
}

static void test_repetition(void) {
    Fixture fixture;
    open_fixture(&fixture, "ab", 2, (DiagOptions){0});
    for (int i = 0; i < 3; i++)
        diag(fixture.diagnostics, DIAG_undefined_name, (Loc){1, 0, 1}, "x");
    diag(fixture.diagnostics, DIAG_undefined_name, (Loc){1, 0, 1}, "y");
    is_int(finish(&fixture), 2, "the same message at the same place is shown once");
    close_fixture(&fixture);
}

static void test_json(void) {
    Fixture fixture;
    open_fixture(&fixture, "ab\ncd\n", 6, (DiagOptions){.json = true});
    diag(fixture.diagnostics, DIAG_undefined_name, (Loc){1, 4, 5}, "\"\\\t\xFF\xC3\xA9");
    diag_note(fixture.diagnostics, (Loc){0}, "n");
    diag_hint(fixture.diagnostics, "h");
    diag_hint(fixture.diagnostics, "i");
    diag(fixture.diagnostics, DIAG_undefined_name, (Loc){1, 0, 2}, "z");
    is_int(finish(&fixture), 2, "two errors");
    is_text(fixture.written,
            "[\n"
            "  {\"file\": \"f.tensor\", \"line\": 2, \"column\": 2, \"endLine\": 2, \"endColumn\": 3, \"severity\": "
            "\"error\", "
            "\"id\": \"undefined_name\", \"message\": \"'\\\"\\\\\\u0009\\ufffd\xC3\xA9' is not defined\", "
            "\"notes\": [{\"file\": null, \"line\": 0, \"column\": 0, \"endLine\": 0, \"endColumn\": 0, \"message\": "
            "\"n\"}], "
            "\"hints\": [\"h\", \"i\"]},\n"
            "  {\"file\": \"f.tensor\", \"line\": 1, \"column\": 1, \"endLine\": 1, \"endColumn\": 3, \"severity\": "
            "\"error\", "
            "\"id\": \"undefined_name\", \"message\": \"'z' is not defined\", \"notes\": [], \"hints\": []}\n"
            "]\n",
            "JSON");
    close_fixture(&fixture);
    open_fixture(&fixture, "", 0, (DiagOptions){.json = true});
    finish(&fixture);
    is_text(fixture.written, "[\n]\n", "an empty array");
    close_fixture(&fixture);
}

static void test_positions(void) {
    Source source = {.text = "a\n\0b\nc", .length = 6};
    static const int wanted[][2] = {{1, 1}, {1, 2}, {2, 1}, {2, 2}, {2, 3}, {3, 1}, {3, 2}, {3, 2}};
    for (uint32_t offset = 0; offset < 8; offset++) {
        int line, column;
        source_position(&source, offset, &line, &column);
        ok(line == wanted[offset][0] && column == wanted[offset][1], "offset %u is %d:%d", offset, line, column);
    }
    Loc joined = loc_join((Loc){1, 5, 7}, (Loc){1, 2, 3}), alone = loc_join((Loc){0}, (Loc){1, 2, 3});
    ok(joined.begin == 2 && joined.end == 7, "places are joined");
    ok(alone.file == 1 && alone.begin == 2, "a place without a file is ignored");
}

static void test_spelling(void) {
    static const char *const words[] = {"split", "reorder", "unroll"};
    is_int(spelling_distance("split", "splt", 3), 1, "one letter dropped");
    is_int(spelling_distance("split", "slpit", 3), 1, "two letters swapped");
    is_int(spelling_distance("split", "vectorize", 3), 4, "far is most + 1");
    is_text(spelling_nearest("reoder", words, 3), "reorder", "the nearest word");
    ok(!spelling_nearest("parallel", words, 3), "or none");
    is_int(spelling_distance("ReLU", "relu", 3), 0, "upper case and lower case are the same");
    is_text(spelling_nearest("REODER", words, 3), "reorder", "in a misspelt word too");
}

int main(void) {
    test_carets();
    test_long_line();
    test_no_place();
    test_limit();
    test_repetition();
    test_json();
    test_positions();
    test_spelling();
    return done_testing();
}
