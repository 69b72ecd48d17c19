/* Damaged sources: bytes changed, dropped, repeated, cut off, and tokens of one place put into another, by a seeded
 * generator. Whatever it is, the parse ends, every diagnostic has a place in the source, and what parses without errors
 * prints to a text that parses and prints the same. */
#include "tests/tap.h"
#include "tests/unit/parsing.h"

enum { MUTANTS = 4000 };

static uint64_t next_random(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static size_t below(uint64_t *state, size_t limit) {
    return limit ? next_random(state) % limit : 0;
}

static const char *const pieces[] = {
    "{",   "}",        "(",    ")",        "[",    "]",         ",",           "=",      "=!",
    "+=!", "argmax=!", "else", "where",    "def ", "\nexport ", "\nschedule ", "? in {", "?",
    ":",   ".0",       ".",    "->",       "<=>",  "-",         "!",           "1e",     "0x",
    "\"",  "#",        "\n",   "scan t {", ";",    "\xC3\xA9",  "//",          "/*",
};

static size_t replace(char *text, size_t length, size_t at, size_t removed, const char *bytes, size_t count) {
    memmove(text + at + count, text + at + removed, length - at - removed);
    memcpy(text + at, bytes, count);
    return length - removed + count;
}

/* One change; text has room for 100 bytes more. */
static size_t mutate(char *text, size_t length, uint64_t *state) {
    size_t at = below(state, length), most = length - at, count;
    char copy[32];
    switch (below(state, 6)) {
    case 0: text[at] = (char)next_random(state); return length;
    case 1: count = below(state, most < 20 ? most : 20); return replace(text, length, at, count, "", 0);
    case 2: return below(state, 4) ? length : at;
    case 3:
        count = below(state, most < sizeof copy ? most : sizeof copy);
        memcpy(copy, text + at, count);
        return replace(text, length, below(state, length), 0, copy, count);
    default:
        count = below(state, sizeof pieces / sizeof *pieces);
        return replace(text, length, at, 0, pieces[count], strlen(pieces[count]));
    }
}

/* Prints and parses again what had no errors. */
static bool prints_back(const Parsed *parsed) {
    const char *printed = print_tree(parsed);
    Parsed again = parse_text(printed);
    bool same = again.errors == 0 && !strcmp(print_tree(&again), printed);
    if (!same)
        diag_line("printed:\n%s\nthen:\n%s%s", printed, again.messages, print_tree(&again));
    parsed_free(&again);
    return same;
}

int main(void) {
    uint64_t state = 0x9E3779B97F4A7C15u;
    int readable = 0, placed = 0, same = 0;
    for (int i = 0; i < MUTANTS; i++) {
        size_t length = sizeof whole_grammar - 1;
        char *text = malloc(length + 1000);
        memcpy(text, whole_grammar, length);
        for (size_t changes = 1 + below(&state, i % 4 ? 2 : 8); changes > 0 && length > 0; changes--)
            length = mutate(text, length, &state);
        text[length] = 0;
        Parsed parsed = parse_bytes(text, length, false);
        placed += !strstr(parsed.messages, "tensorc: error");
        readable += parsed.errors == 0;
        same += parsed.errors == 0 && prints_back(&parsed);
        parsed_free(&parsed);
        parsed = parse_bytes(text, length, true);
        parsed_free(&parsed);
        free(text);
    }
    is_int(placed, MUTANTS, "every message about %d damaged sources has a place", MUTANTS);
    ok(readable > MUTANTS / 20 && readable < MUTANTS, "some mutants are still programs (%d)", readable);
    is_int(same, readable, "and those print to what parses and prints the same");
    return done_testing();
}
