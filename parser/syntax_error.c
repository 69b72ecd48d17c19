/* syntax_error.c - what a syntax error says: what was found, what was expected in the user's words, and the slip behind it
 * where it is a common one.
 */
#include "parser/gram.h"
#include "parser/parser.h"

#include <string.h>

/* --- tokens in words --- */

static const char *token_text(const Parser *parser, const Token *token) {
    return arena_strndup(parser->arena, parser->source->text + token->loc.begin, token->loc.end - token->loc.begin);
}

/* A token as a message names it; long ones are cut. */
static const char *quoted(const Parser *parser, const Token *token) {
    enum { SHOWN = 40 };
    if (!token->kind)
        return "the end of the file";
    const char *text = token_text(parser, token);
    return arena_printf(parser->arena, "'%.*s%s'", SHOWN, text, strlen(text) > SHOWN ? "..." : "");
}

/* Can an operand end with this token, can one begin with it? */
static bool ends_operand(int kind) {
    return token_is_name(kind) || kind == INTEGER || kind == REAL || kind == DOT_DIGITS || kind == ')';
}

static bool begins_operand(int kind) {
    return token_is_name(kind) || kind == INTEGER || kind == REAL || kind == TYPE || kind == '(';
}

/* --- brackets --- */

static int closer_of(int open) {
    return open == '(' ? ')' : open == '[' ? ']' : open == '{' ? '}' : 0;
}

int open_bracket(const Parser *parser, int position) {
    int closed = 0;
    while (--position >= 0) {
        int kind = token_at(parser, position)->kind;
        if (kind == ')' || kind == ']' || kind == '}')
            closed++;
        else if (closer_of(kind) && closed-- == 0)
            return position;
    }
    return -1;
}

/* Where the target "name" or "name(...)" that ends before position begins, or -1. */
static int target_before(const Parser *parser, int position) {
    int end = position - 1;
    if (end > 0 && token_at(parser, end)->kind == ')')
        end = open_bracket(parser, end) - 1;
    return end >= 0 && token_is_name(token_at(parser, end)->kind) ? end : -1;
}

/* --- common slips: each looks at the error and reports it better, or leaves it --- */

typedef struct SyntaxError {
    Parser *parser;
    int position;
    const Token *found, *before; /* before: NULL at the start of the source */
    const bool *expected;
} SyntaxError;

static bool report_missing_operator(const SyntaxError *error, int position) {
    Parser *parser = error->parser;
    const Token *left = token_at(parser, position - 1), *right = token_at(parser, position);
    diag(parser->diagnostics, DIAG_missing_operator, loc_join(left->loc, right->loc), token_text(parser, left),
         token_text(parser, right));
    diag_hint(parser->diagnostics, "a product is written with '*'");
    return true;
}

/* Two operands side by side: "A(i) B(i)". In a statement's value that looks like the start of the next statement and is
 * noticed only after it. */
static bool slip_missing_operator(const SyntaxError *error) {
    int kind = error->found->kind;
    if (error->before && error->expected['*'] && !error->found->first_on_line && begins_operand(kind) &&
        ends_operand(error->before->kind))
        return report_missing_operator(error, error->position);
    int start = error->expected[ADD_ASSIGN] ? target_before(error->parser, error->position) : -1;
    if (start > 0 && !token_at(error->parser, start)->first_on_line &&
        ends_operand(token_at(error->parser, start - 1)->kind))
        return report_missing_operator(error, start);
    return false;
}

/* A[i] for A(i): an error within or at a bracket that follows a name. */
static bool slip_brackets(const SyntaxError *error) {
    Parser *parser = error->parser;
    int open = error->found->kind == '[' ? error->position : open_bracket(parser, error->position);
    if (open < 1 || parser->depth == 0 || parser->in_schedule || token_at(parser, open)->kind != '[')
        return false;
    const Token *name = token_at(parser, open - 1);
    if (!token_is_name(name->kind))
        return false;
    diag(parser->diagnostics, DIAG_square_brackets, token_at(parser, open)->loc);
    diag_hint(parser->diagnostics, "write %s(i, j); brackets give integer parameters, as in conv2d[S=2](x, w)",
              token_text(parser, name));
    return true;
}

static bool slip_equals(const SyntaxError *error) {
    if (error->found->kind != '=' || !error->before || !ends_operand(error->before->kind) || !error->expected['*'])
        return false;
    diag(error->parser->diagnostics, DIAG_unexpected, error->found->loc, "'='");
    diag_hint(error->parser->diagnostics, "a comparison is written '=='");
    return true;
}

static bool slip_semicolon(const SyntaxError *error) {
    if (error->found->kind != ';')
        return false;
    diag(error->parser->diagnostics, DIAG_semicolon, error->found->loc);
    diag_hint(error->parser->diagnostics, "leave the ';' out");
    return true;
}

static bool slip_stray_closer(const SyntaxError *error) {
    int kind = error->found->kind, open = open_bracket(error->parser, error->position);
    if ((kind != ')' && kind != ']' && kind != '}') || open >= 0)
        return false;
    diag(error->parser->diagnostics, DIAG_stray_closer, error->found->loc, kind);
    return true;
}

static bool slip_import_name(const SyntaxError *error) {
    if (!error->expected[STRING] || !error->before || error->before->kind != IMPORT ||
        !token_is_name(error->found->kind))
        return false;
    diag(error->parser->diagnostics, DIAG_expected, error->found->loc, "a file name in quotes",
         quoted(error->parser, error->found));
    diag_hint(error->parser->diagnostics, "write import \"%s\"", token_text(error->parser, error->found));
    return true;
}

/* --- what was expected --- */

/* Groups of tokens that have a name; an earlier one takes its tokens from the later ones. */
typedef struct Group {
    int test; /* the group is expected when this token is */
    const char *words;
    const int *members; /* 0 ends */
} Group;

static const int expression_members[] = {IDENT, INTEGER, REAL, DOT_DIGITS, TYPE, STRING, '(', '-', '!', 0};
static const int assignment_members[] = {'=', '(', ',', COMBINER_NAME, 0};
static const int item_members[] = {DEF, EXPORT, IMPORT, SCHEDULE, COMBINER, INSTR, 0};
static const int type_members[] = {TYPE, 0};
static const int name_members[] = {IDENT, COMBINER_NAME, 0};
static const int string_members[] = {STRING, 0};
static const int number_members[] = {INTEGER, 0};
static const int end_members[] = {0};

static const Group groups[] = {
    {'!', "an expression", expression_members},
    {ADD_ASSIGN, "an assignment, as '=' or '+=!'", assignment_members},
    {DEF, "a definition (def, export, import, schedule, combiner or instr)", item_members},
    {TYPE, "a type", type_members},
    {IDENT, "a name", name_members},
    {STRING, "text in quotes", string_members},
    {INTEGER, "an integer", number_members},
    {0, NULL, end_members},
};

static const struct {
    int kind;
    const char *words;
} single[] = {
    {')', "')'"},     {']', "']'"},     {'}', "'}'"},     {',', "','"},    {'{', "'{'"},       {'(', "'('"},
    {'=', "'='"},     {':', "':'"},     {'!', "'!'"},     {';', "';'"},    {ARROW, "'->'"},    {IN, "'in'"},
    {ON, "'on'"},     {AS, "'as'"},     {IDENTITY, "'identity'"},
};

enum { MOST_EXPECTED = 3 };

/* Takes what the table has words for out of the set, and collects the words. */
static int collect_expected(bool *expected, const char **words, int most) {
    int count = 0;
    bool names = expected[IDENT];
    for (const Group *group = groups; group->words; group++) {
        if (!expected[group->test])
            continue;
        if (count < most)
            words[count] = group->words;
        count++;
        for (const int *member = group->members; *member; member++)
            expected[*member] = false;
    }
    for (size_t i = 0; i < sizeof single / sizeof *single; i++) {
        bool keyword_as_name = names && token_is_name(single[i].kind);
        if (!expected[single[i].kind] || keyword_as_name)
            continue;
        if (count < most)
            words[count] = single[i].words;
        count++;
    }
    return count;
}

static const char *join_words(Arena *arena, const char *const *words, int count) {
    Text text = {.arena = arena};
    for (int i = 0; i < count; i++)
        text_add(&text, "%s%s", i == 0 ? "" : i + 1 == count ? " or " : ", ", words[i]);
    return text.text;
}

/* Where the closing bracket is what lacks, shows the opening one. */
static void note_open_bracket(const SyntaxError *error) {
    int open = open_bracket(error->parser, error->position);
    if (open < 0)
        return;
    const Token *bracket = token_at(error->parser, open);
    int closer = closer_of(bracket->kind), lines_apart = 0;
    const char *text = error->parser->source->text;
    for (uint32_t at = bracket->loc.begin; at < error->found->loc.begin; at++)
        lines_apart += text[at] == '\n';
    if (error->expected[closer] && (lines_apart > 0 || !error->found->kind))
        diag_note(error->parser->diagnostics, bracket->loc, "this '%c' is not closed", bracket->kind);
}

static void hint_header(const SyntaxError *error) {
    if (error->expected[ARROW])
        diag_hint(error->parser->diagnostics, "a definition begins: def name(float(M, N) input) -> (output) {");
    else if (error->expected[ON] && !error->expected[IDENT])
        diag_hint(error->parser->diagnostics, "a schedule begins: schedule name on x86 {");
}

/* Inside an operand's continuation everything is possible: then only what was found is named. */
static void report_expected(const SyntaxError *error) {
    Parser *parser = error->parser;
    bool expected[TOKEN_KINDS];
    memcpy(expected, error->expected, sizeof expected);
    const char *words[MOST_EXPECTED];
    int count = collect_expected(expected, words, MOST_EXPECTED);
    if (count == 0 || count > MOST_EXPECTED) {
        diag(parser->diagnostics, DIAG_unexpected, error->found->loc, quoted(parser, error->found));
    } else {
        diag(parser->diagnostics, DIAG_expected, error->found->loc, join_words(parser->arena, words, count),
             quoted(parser, error->found));
        hint_header(error);
    }
    note_open_bracket(error);
}

void report_syntax_error(Parser *parser, int position, const bool *expected) {
    static bool (*const slips[])(const SyntaxError *) = {
        slip_semicolon,   slip_stray_closer, slip_missing_operator,
        slip_brackets,    slip_equals,       slip_import_name,
    };
    SyntaxError error = {
        .parser = parser,
        .position = position,
        .found = token_at(parser, position),
        .before = position > 0 ? token_at(parser, position - 1) : NULL,
        .expected = expected,
    };
    if (error.found->kind == INVALID)
        return; /* the scanner's message says it */
    for (size_t i = 0; i < sizeof slips / sizeof *slips; i++)
        if (slips[i](&error))
            return;
    report_expected(&error);
}
