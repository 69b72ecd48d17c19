/* syntax_error.c - the messages for syntax errors: what was found, what was expected in the user's words, and which
 * common slip is the cause.
 */
#include "lang/foreign.h"
#include "lang/spelling.h"
#include "parser/gram.h"
#include "parser/parser.h"

#include <string.h>

/* --- tokens in words --- */

static const char *token_text(const Parser *parser, const Token *token) {
    return arena_strndup(parser->arena, parser->source->text + token->loc.begin, token->loc.end - token->loc.begin);
}

/* A token as messages name it. Long ones are cut. */
static const char *quoted(const Parser *parser, const Token *token) {
    enum { SHOWN = 40 };
    if (!token->kind)
        return "the end of the file";
    const char *text = token_text(parser, token);
    int length = (int)strlen(text), shown = length < SHOWN ? length : SHOWN;
    while (shown < length && (text[shown] & 0xC0) == 0x80)
        shown--;
    return arena_printf(parser->arena, "'%.*s%s'", shown, text, shown < length ? "..." : "");
}

static bool begins_operand(int kind) {
    return token_is_name(kind) || kind == INTEGER || kind == REAL || kind == TYPE || kind == '(';
}

/* --- common slips: each function looks at the error, and reports it better or returns false --- */

typedef struct SyntaxError {
    Parser *parser;
    int position;
    const Token *found, *before; /* before: NULL at the start of the source */
    Loc loc;                     /* of found; at the end of the source it is after the last token */
    const bool *expected;
} SyntaxError;

/* The operand that ends before position: "2", "A", "A(i)"; only its last part if it is longer. */
static Loc operand_before(Parser *parser, int position) {
    const Token *last = token_at(parser, position - 1);
    int start = target_before(parser, position);
    return start < 0 ? last->loc : loc_join(token_at(parser, start)->loc, last->loc);
}

static const char *loc_text(const Parser *parser, Loc loc) {
    enum { SHOWN = 30 };
    const char *text = parser->source->text + loc.begin;
    int length = (int)(loc.end - loc.begin);
    return arena_printf(parser->arena, "%.*s%s", length < SHOWN ? length : SHOWN, text, length > SHOWN ? "..." : "");
}

/* A hint for words of other languages between operands or before one. */
static const char *operator_hint(const char *left, const char *right) {
    static const char choice[] = "a choice is written condition ? a : b";
    static const char *const words[][2] = {{"and", "'and' is written '&&'"},
                                           {"or", "'or' is written '||'"},
                                           {"not", "'not' is written '!'"},
                                           {"xor", "'xor' of two bools is written '!='"},
                                           {"mod", "a remainder is written with '%'"},
                                           {"div", "a quotient is written with '/', and rounds down for integers"},
                                           {"if", choice},
                                           {"then", choice},
                                           {"for", "a range follows the statement: where i in 0:N"},
                                           {"with", "a range follows the statement: where i in 0:N"},
                                           {"when", "a condition follows the statement: where i < N"},
                                           {"as", "a conversion is written float(x)"},
                                           {"is", "the comparison is written '=='"}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strcmp(right, words[i][0]) || !strcmp(left, words[i][0]))
            return words[i][1];
    if (spelling_distance(right, "where", 1) <= 1)
        return "did you mean 'where'?";
    if (foreign_type(left) < TYPE_COUNT && foreign_type(right) < TYPE_COUNT)
        return "a type has one name, and a conversion is written uint8(x)";
    for (int op = 0; op < OP_COUNT; op++)
        if (op_info[op].precedence == 0 && !strcmp(left, op_info[op].spelling))
            return "the arguments of a function are written in parentheses: exp(x)";
    return "a product is written with '*'";
}

/* Whether the token is in a condition of `where`, outside of brackets. */
static bool in_where(Parser *parser, int position) {
    int open = open_bracket(parser, position);
    int at = position - 1;
    while (at > open && token_at(parser, at)->kind != WHERE)
        at--;
    return open >= 0 && at > open && token_at(parser, open)->kind == '{';
}

static bool report_missing_operator(const SyntaxError *error, int position) {
    Parser *parser = error->parser;
    Loc left = operand_before(parser, position), right = token_at(parser, position)->loc;
    diag(parser->diagnostics, DIAG_missing_operator, loc_join(left, right), loc_text(parser, left),
         loc_text(parser, right));
    const char *word = loc_text(parser, right);
    bool list = in_where(parser, position) && (!strcmp(word, "and") || !strcmp(word, "if"));
    diag_hint(parser->diagnostics, "%s",
              list ? "the conditions of where are separated by ','" : operator_hint(loc_text(parser, left), word));
    return true;
}

/* Two operands side by side: "A(i) B(i)". In the value of a statement the second one looks like the start of the next
 * statement, so the error is found only after it. */
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

/* A line ends with an operator or a comma, and the next line is a statement. The error is found at the assignment of
 * that statement. */
static bool slip_incomplete(const SyntaxError *error) {
    Parser *parser = error->parser;
    int start = begins_assignment(error->found->kind) ? target_before(parser, error->position) : -1;
    if (start < 1 || !token_at(parser, start)->first_on_line)
        return false;
    const Token *last = token_at(parser, start - 1);
    if (ends_operand(last->kind) || last->kind == '{' || last->kind == '}')
        return false;
    diag(parser->diagnostics, DIAG_incomplete, last->loc, token_text(parser, last));
    parser->recover_from = start;
    return true;
}

/* An item begins inside a block or item that is not complete. A contextual keyword was taken for a name, so the error
 * is found at the word after it. */
static bool slip_item_within(const SyntaxError *error) {
    Parser *parser = error->parser;
    bool taken_for_name = !is_item_start(parser, error->position);
    int item = error->position - taken_for_name;
    const Token *keyword = token_at(parser, item);
    if (item <= parser->resumed_at || !is_item_start(parser, item))
        return false;
    if (taken_for_name ? keyword->kind == DEF : parser->depth == 0)
        return false;
    diag(parser->diagnostics, DIAG_expected, keyword->loc, parser->depth ? "'}'" : "a name", quoted(parser, keyword));
    int first = item - 1;
    while (first > 0 && !is_item_start(parser, first))
        first--;
    for (int open = open_bracket(parser, item); parser->depth && open >= first; open = open_bracket(parser, open))
        diag_note(parser->diagnostics, token_at(parser, open)->loc, "this '%c' is not closed",
                  token_at(parser, open)->kind);
    parser->recover_from = item;
    return true;
}

/* The text of an instruction follows a block that is not closed. */
static bool slip_text_within(const SyntaxError *error) {
    Parser *parser = error->parser;
    int open = open_bracket(parser, error->position);
    if (error->found->kind != '=' || token_at(parser, error->position + 1)->kind != STRING || parser->depth == 0 ||
        open < 0)
        return false;
    diag(parser->diagnostics, DIAG_expected, error->found->loc, "'}'", "'='");
    diag_note(parser->diagnostics, token_at(parser, open)->loc, "this '%c' is not closed",
              token_at(parser, open)->kind);
    return true;
}

/* Whether a statement could begin with the token. */
static bool begins_statement(const Parser *parser, int position) {
    const Token *before = token_at(parser, position - 1);
    return position > 0 && (token_at(parser, position)->first_on_line || before->kind == '{' || before->kind == '}' ||
                            before->kind == ';');
}

/* The word that begins the current statement, if the error is right after it or in the parentheses after it; else
 * -1. */
static int statement_word(const SyntaxError *error) {
    Parser *parser = error->parser;
    int start = target_before(parser, error->position), open = open_bracket(parser, error->position);
    if (start < 0 && open > 0 && token_at(parser, open)->kind == '(')
        start = open - 1;
    if (start >= 0 && !begins_statement(parser, start) && open > 0 && token_at(parser, open)->kind == '(')
        start = open - 1;
    return start >= 0 && begins_statement(parser, start) ? start : -1;
}

/* The 'for' before the error whose block has not begun, or -1. The error is not behind the indices of a tensor that is
 * called so. */
static int unfinished_for(const SyntaxError *error) {
    Parser *parser = error->parser;
    int at = error->position - 1, kind = 0;
    for (; at >= 0 && kind != '{' && kind != '}'; at--) {
        kind = token_at(parser, at)->kind;
        int next = token_at(parser, at + 1)->kind;
        bool inside = next == '(' && open_bracket(parser, error->position) == at + 1;
        if (kind == FOR && (token_is_name(next) || next == TYPE || inside))
            return at;
    }
    return -1;
}

static bool slip_for(const SyntaxError *error) {
    Parser *parser = error->parser;
    bool in_body = parser->depth > 0 && !parser->in_schedule && error->found->kind;
    int at = in_body ? unfinished_for(error) : -1;
    if (at < 0)
        return false;
    diag(parser->diagnostics, DIAG_malformed_for, token_at(parser, at)->loc);
    diag_hint(parser->diagnostics, "an index takes every value of its range by itself, or of where i in 0:N; "
                                   "loops repeat whole statements");
    return true;
}

/* Words that begin statements in other languages. */
static bool slip_foreign_word(const SyntaxError *error) {
    static const struct {
        const char *word, *hint;
    } table[] = {
        {"while", "there are no loops: an index takes every value of its range"},
        {"if", "a choice is an expression: condition ? a : b"},
        {"return", "results are named after '->' and assigned in the body"},
        {"let", "a name is given to a value after the statement: where x = value"},
        {"var", "a tensor needs no declaration: its first assignment defines it"},
        {"auto", "a tensor needs no declaration: its first assignment defines it"},
        {"int", "a tensor needs no declaration: its first assignment defines it"},
        {"print", "nothing is printed: tensorc -run --output=NAME=FILE.npy writes a result"},
        {"printf", "nothing is printed: tensorc -run --output=NAME=FILE.npy writes a result"},
        {"assert", "a condition on sizes stands after the header: def f(...) -> (...) where N % 4 == 0 {"},
    };
    bool in_body = error->parser->depth > 0 && !error->parser->in_schedule;
    int start = in_body ? statement_word(error) : -1;
    const Token *word = start < 0 ? NULL : token_at(error->parser, start);
    if (!word || word->kind != IDENT)
        return false;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (!strcmp(word->text, table[i].word)) {
            diag(error->parser->diagnostics, DIAG_foreign_spelling, word->loc, table[i].word);
            diag_hint(error->parser->diagnostics, "%s", table[i].hint);
            return true;
        }
    return false;
}

/* A[i] for A(i): the error is in or at a bracket after a name. */
static bool slip_brackets(const SyntaxError *error) {
    Parser *parser = error->parser;
    int open = error->found->kind == '[' ? error->position : open_bracket(parser, error->position);
    if (open < 1 || parser->depth == 0 || parser->in_schedule || token_at(parser, open)->kind != '[' ||
        error->found->kind == DEF)
        return false;
    const Token *name = token_at(parser, open - 1);
    if (!token_is_name(name->kind) && name->kind != ']')
        return false;
    diag(parser->diagnostics, DIAG_square_brackets, token_at(parser, open)->loc);
    const char *written = rewritten_brackets(parser, open);
    if (token_at(parser, closing_bracket(parser, open) + 1)->kind == '(')
        diag_hint(parser->diagnostics, "brackets give parameters by their names, as in conv2d[S=2](x, w)");
    else if (written && !strchr(written, ':'))
        diag_hint(parser->diagnostics, "write %s", written);
    else
        diag_hint(parser->diagnostics, "write A(i, j): an index takes every value of its range by itself");
    return true;
}

/* i from 0 to N, i in range(N), i in [0, N), i = 0:N. */
static bool slip_range(const SyntaxError *error) {
    Parser *parser = error->parser;
    int start;
    bool in_body = parser->depth > 0 && !parser->in_schedule;
    const char *written = in_body ? rewritten_range(parser, error->position, &start) : NULL;
    if (!written)
        return false;
    diag(parser->diagnostics, DIAG_malformed_range, loc_join(token_at(parser, start)->loc, error->loc));
    diag_hint(parser->diagnostics, "write %s; its end is the first value beyond it", written);
    return true;
}

/* The type in parentheses that end before the token, as in (float)x(i); NULL: there is none. */
static const char *cast_type(const SyntaxError *error, int close) {
    const Token *word = token_at(error->parser, close - 1);
    if (close < 2 || token_at(error->parser, close)->kind != ')' || token_at(error->parser, close - 2)->kind != '(')
        return NULL;
    ElementType type = word->kind == TYPE ? word->type : word->kind == IDENT ? foreign_type(word->text) : TYPE_COUNT;
    return type < TYPE_COUNT ? element_info[type].spelling : NULL;
}

/* (float)x(i): found at the bracket; (int)x: found behind it; (int)x(i): found where x(i) were a target. */
static bool slip_cast(const SyntaxError *error) {
    Parser *parser = error->parser;
    if (parser->depth == 0 || parser->in_schedule)
        return false;
    int target = error->expected[ADD_ASSIGN] ? target_before(parser, error->position) : -1;
    int close = target > 0 ? target - 1 : error->position - (error->found->kind != ')');
    const char *type = cast_type(error, close), *written = type ? rewritten_cast(parser, type, close + 1) : NULL;
    if (!written)
        return false;
    Loc place = loc_join(token_at(parser, close - 2)->loc, token_at(parser, close)->loc);
    diag(parser->diagnostics, DIAG_foreign_spelling, place, loc_text(parser, place));
    diag_hint(parser->diagnostics, "a conversion is written %s", written);
    return true;
}

static bool slip_equals(const SyntaxError *error) {
    if (error->found->kind != '=' || !error->before || !ends_operand(error->before->kind) || !error->expected['*'])
        return false;
    diag(error->parser->diagnostics, DIAG_unexpected, error->found->loc, "'='");
    diag_hint(error->parser->diagnostics, "a comparison is written '=='");
    return true;
}

/* A closing bracket that does not match the innermost open one, or one where a statement could begin. A brace may close
 * everything that is open inside its block. */
static bool slip_stray_closer(const SyntaxError *error) {
    Parser *parser = error->parser;
    int kind = error->found->kind, open = open_bracket(parser, error->position);
    if (kind != ')' && kind != ']' && kind != '}')
        return false;
    bool matches = open >= 0 && (kind == '}' || closer_of(token_at(parser, open)->kind) == kind);
    if (matches && !error->expected['}'])
        return false;
    diag(parser->diagnostics, DIAG_stray_closer, error->found->loc, kind);
    return true;
}

/* The file is imported all the same, so that what it defines is not reported as missing. */
static bool slip_import_name(const SyntaxError *error) {
    Parser *parser = error->parser;
    if (!error->expected[STRING] || !error->before || error->before->kind != IMPORT ||
        !token_is_name(error->found->kind))
        return false;
    const char *name = token_text(parser, error->found);
    diag(parser->diagnostics, DIAG_expected, error->found->loc, "a file name in quotes", quoted(parser, error->found));
    diag_hint(parser->diagnostics, "write import \"%s\"", name);
    list_push(parser->arena, &parser->file->imports, ((AstImport){name, error->found->loc}));
    return true;
}

/* The integer 2^63 without a minus before it. */
static bool slip_two_to_63(const SyntaxError *error) {
    if (error->found->kind != TWO_TO_63)
        return false;
    diag(error->parser->diagnostics, DIAG_integer_range, error->found->loc, error->found->text);
    return true;
}

/* --- what was expected --- */

/* Groups of tokens that have a name. An earlier group takes its tokens from the later ones. */
typedef struct TokenGroup {
    int test; /* the group is expected if this token is */
    const char *words;
    const int *members; /* ends with 0 */
} TokenGroup;

static const int expression_members[] = {IDENT, INTEGER, REAL, DOT_DIGITS, TYPE, STRING, '(', '-', '!', 0};
static const int assignment_members[] = {'=', '(', ',', COMBINER_NAME, COMBINER_UPDATE, 0};
static const int item_members[] = {DEF, EXPORT, IMPORT, SCHEDULE, RULE, COMBINER, INSTR, 0};
static const int type_members[] = {TYPE, 0};
static const int name_members[] = {IDENT, COMBINER_NAME, 0};
static const int string_members[] = {STRING, 0};
static const int number_members[] = {INTEGER, 0};
static const int end_members[] = {0};

static const TokenGroup groups[] = {
    {'!', "an expression", expression_members},
    {ADD_ASSIGN, "an assignment, as '=' or '+=!'", assignment_members},
    {DEF, "a definition (def, export, import, schedule, rule, combiner or instr)", item_members},
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
    {')', "')'"},    {']', "']'"}, {'}', "'}'"}, {',', "','"}, {'{', "'{'"},
    {'(', "'('"},    {'=', "'='"}, {':', "':'"}, {'!', "'!'"}, {';', "';'"},
    {ARROW, "'->'"}, {IN, "'in'"}, {ON, "'on'"}, {AS, "'as'"}, {IDENTITY, "'identity'"},
};

enum { MOST_EXPECTED = 3 };

/* Takes all groups and tokens that the table has words for out of the set, and collects the words. */
static int collect_expected(bool *expected, const char **words, int most) {
    int count = 0;
    bool names = expected[IDENT];
    for (const TokenGroup *group = groups; group->words; group++) {
        if (!expected[group->test])
            continue;
        if (count < most)
            words[count] = group->words;
        count++;
        for (const int *member = group->members; *member; member++)
            expected[*member] = false;
    }
    for (size_t i = 0; i < sizeof single / sizeof *single; i++) {
        int kind = single[i].kind;
        bool keyword_as_name = names && token_is_name(kind);
        bool never_needed = kind == ';' && expected['}'];
        if (!expected[kind] || keyword_as_name || never_needed)
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

/* Shows the opening bracket if the closing one is missing. */
static void note_open_bracket(const SyntaxError *error) {
    int open = open_bracket(error->parser, error->position);
    if (open < 0)
        return;
    const Token *bracket = token_at(error->parser, open);
    size_t between = error->found->loc.begin - bracket->loc.begin;
    bool far = !error->found->kind || memchr(error->parser->source->text + bracket->loc.begin, '\n', between);
    if (error->expected[closer_of(bracket->kind)] && far)
        diag_note(error->parser->diagnostics, bracket->loc, "this '%c' is not closed", bracket->kind);
}

static void hint_header(const SyntaxError *error) {
    const Token *next = token_at(error->parser, error->position + 1);
    if (error->expected[ARROW])
        diag_hint(error->parser->diagnostics, "a definition begins: def name(float(M, N) input) -> (output) {");
    else if (error->expected[DEF] && error->found->kind == TYPE)
        diag_hint(error->parser->diagnostics, "a definition begins: def name(float(M, N) input) -> (output) {");
    else if (error->before && error->before->kind == EXPORT && error->found->kind == DEF && token_is_name(next->kind))
        diag_hint(error->parser->diagnostics, "leave out export here, and write export %s behind the def",
                  token_text(error->parser, next));
    else if (error->before && error->before->kind == ARROW && begins_operand(error->found->kind))
        diag_hint(error->parser->diagnostics, "results are written in parentheses: -> (%s)",
                  rewritten_results(error->parser, error->position));
    else if (error->expected[ON] && !error->expected[IDENT])
        diag_hint(error->parser->diagnostics, "a schedule begins: schedule name on x86 {");
}

/* After an operand almost everything is possible. Then the message says only what was found. */
static void report_expected(const SyntaxError *error) {
    Parser *parser = error->parser;
    bool expected[TOKEN_KINDS];
    memcpy(expected, error->expected, sizeof expected);
    const char *words[MOST_EXPECTED];
    int count = collect_expected(expected, words, MOST_EXPECTED);
    if (count == 0 || count > MOST_EXPECTED) {
        diag(parser->diagnostics, DIAG_unexpected, error->loc, quoted(parser, error->found));
    } else {
        diag(parser->diagnostics, DIAG_expected, error->loc, join_words(parser->arena, words, count),
             quoted(parser, error->found));
        hint_header(error);
    }
    note_open_bracket(error);
}

/* --- slips of headers and of values ------------------------------------------------------------------------------- */

static bool is_kind(const SyntaxError *error, int offset, int kind) {
    int position = error->position + offset;
    return position >= 0 && token_at(error->parser, position)->kind == kind;
}

static const char *type_hint(const Parser *parser, const char *word) {
    ElementType type = foreign_type(word);
    if (type < TYPE_COUNT)
        return arena_printf(parser->arena, "the type is called %s here", element_info[type].spelling);
    const char *nearest = nearest_type(word);
    return nearest ? arena_printf(parser->arena, "did you mean '%s'?", nearest)
                   : "the types are float, double, half, bfloat16, int8 to int64, uint8 to uint64 and bool";
}

bool is_unknown_type(Parser *parser, int position) {
    int after = position + 1;
    if (token_at(parser, position)->kind != IDENT)
        return false;
    if (token_at(parser, after)->kind == '(')
        after = closing_bracket(parser, after) + 1;
    return token_is_name(token_at(parser, after)->kind);
}

/* flaot(N) A, int n: a word is where a type should be. */
static bool slip_type(const SyntaxError *error) {
    int position = error->position - 1;
    if (!is_unknown_type(error->parser, position))
        return false;
    const Token *word = token_at(error->parser, position);
    diag(error->parser->diagnostics, DIAG_unknown_type, word->loc, word->text);
    diag_hint(error->parser->diagnostics, "%s", type_hint(error->parser, word->text));
    return true;
}

/* float A(N), float A[N], float[N] A. */
static bool slip_sizes(const SyntaxError *error) {
    Parser *parser = error->parser;
    bool bracket = error->found->kind == '[', behind = is_kind(error, -1, IDENT) && is_kind(error, -2, TYPE);
    if (!(bracket && is_kind(error, -1, TYPE)) && !((bracket || error->found->kind == '(') && behind))
        return false;
    int close = closing_bracket(parser, error->position);
    Loc sizes = {error->found->loc.file, error->found->loc.end, token_at(parser, close)->loc.begin};
    int name = behind ? error->position - 1 : close + 1, type = error->position - (behind ? 2 : 1);
    diag(parser->diagnostics, DIAG_sizes_place, error->found->loc);
    if (sizes.end > sizes.begin && token_is_name(token_at(parser, name)->kind))
        diag_hint(parser->diagnostics, "write %s(%s) %s", token_text(parser, token_at(parser, type)),
                  loc_text(parser, sizes), token_text(parser, token_at(parser, name)));
    return true;
}

static bool slip_in_header(const SyntaxError *error) {
    Parser *parser = error->parser;
    if (parser->depth > 0)
        return false;
    if (parser->untyped_at > 0 && parser->untyped_at == error->position - 1)
        return true; /* the missing type of the argument was reported */
    bool list = error->expected[')'] && error->expected[','];
    return (list && slip_type(error)) || slip_sizes(error);
}

/* Whether the word before the token, in the same brackets and statement, is `kind`. */
static bool follows(const SyntaxError *error, int kind) {
    const Parser *parser = error->parser;
    for (int i = error->position - 1; i > 0 && i > error->position - 12; i--) {
        int at = token_at(parser, i)->kind;
        if (at == kind)
            return true;
        if (at == WHERE || at == '{' || at == '}' || at == '?' || at == ':')
            return false;
    }
    return false;
}

/* The type of this language that a word stands for. */
static const char *converted_to(const Parser *parser, const Token *word) {
    ElementType type = word->kind == TYPE ? word->type : foreign_type(word->text);
    return type < TYPE_COUNT ? element_info[type].spelling : "int32";
}

/* first: where the operand begins that is converted to the type before the error; 0: it is not known. */
static const char *conversion_hint(const SyntaxError *error, int first) {
    const char *type = converted_to(error->parser, error->before);
    const char *written = first ? rewritten_cast(error->parser, type, first) : NULL;
    return written ? arena_printf(error->parser->arena, "a conversion is written %s", written)
                   : arena_printf(error->parser->arena, "a conversion is written %s(x)", type);
}

static bool is_one_of(const Token *word, const char *const *words) {
    for (; word->kind == IDENT && *words; words++)
        if (!strcmp(word->text, *words))
            return true;
    return false;
}

static const char *prefix_hint(const SyntaxError *error, int name) {
    const char *known = foreign_hint(token_text(error->parser, token_at(error->parser, name)));
    const char *written = known ? NULL : rewritten_operand(error->parser, name);
    return written ? arena_printf(error->parser->arena, "names have no prefix: write %s", written) : known;
}

/* x.f(): what stands before the point is the argument of f. */
static const char *method_hint(const SyntaxError *error) {
    static const char *const casts[] = {"astype", "to", "cast", "type", NULL};
    static const char *const transposes[] = {"T", "t", "mT", NULL};
    Parser *parser = error->parser;
    const Token *word = token_at(parser, error->position + 1), *type = token_at(parser, error->position + 3);
    Loc left = operand_before(parser, error->position);
    const char *operand = loc_text(parser, left);
    if (is_one_of(word, casts) && (type->kind == TYPE || type->kind == IDENT))
        return arena_printf(parser->arena, "a conversion is written %s(%s)", converted_to(parser, type), operand);
    if (is_one_of(word, transposes))
        return foreign_hint("transpose");
    for (int op = 0; op < OP_COUNT; op++)
        if (word->kind == IDENT && op_info[op].precedence == 0 && !strcmp(word->text, op_info[op].spelling))
            return arena_printf(parser->arena, "what a function takes stands behind it: %s(%s)", word->text, operand);
    return word->kind == IDENT ? foreign_hint(word->text) : NULL;
}

/* np.exp(x), x.exp(), A.shape. */
static const char *point_hint(const SyntaxError *error) {
    static const char *const prefixes[] = {"np",  "numpy", "math", "tf", "torch", "jnp", "jax", "tl",
                                           "tvm", "te",    "topi", "nn", "F",     "std", "cp",  NULL};
    bool prefixed = error->before && is_one_of(error->before, prefixes);
    const char *hint = error->found->kind != '.' ? NULL
                       : prefixed                ? prefix_hint(error, error->position + 1)
                                                 : method_hint(error);
    return hint ? hint : "the sizes of a tensor A are A.0, A.1, ...";
}

/* What is found in the place of an assignment. */
static const char *assignment_hint(const SyntaxError *error) {
    static const char *const words[] = {"max", "min", NULL};
    int found = error->found->kind;
    bool sign = found == '+' || found == '*' || is_one_of(error->found, words);
    if (sign && (is_kind(error, 1, '=') || is_kind(error, 1, '!') || is_kind(error, 1, COMBINER_NAME)))
        return "an assignment is one word without blanks, as in +=!, max=! and +=";
    if (found == EQUAL)
        return "an assignment is written '='";
    if (found == AND || found == OR)
        return "of several bools min=! is 'and', max=! is 'or'";
    if ((found == '+' || found == '-') && is_kind(error, 1, found))
        return arena_printf(error->parser->arena, "write %s += %s",
                            loc_text(error->parser, operand_before(error->parser, error->position)),
                            found == '+' ? "1" : "-1");
    return NULL;
}

/* ':' inside of the indices of a read. */
static const char *slice_hint(const SyntaxError *error) {
    int open = open_bracket(error->parser, error->position), before = error->before->kind;
    if (open < 1 || token_at(error->parser, open)->kind != '(' ||
        !token_is_name(token_at(error->parser, open - 1)->kind))
        return NULL;
    return before == '(' || before == ',' ? "an index takes every value of its range: write A(i)"
                                          : "a part is what an index with a range reads: A(i) where i in 0:N";
}

/* range(0, N, 2) before the error: with two ends it would be a range here. */
static bool is_stepped_range(const SyntaxError *error) {
    static const char *const words[] = {"range", "arange", "xrange", NULL};
    int open = open_bracket(error->parser, error->position - 1);
    return open > 0 && is_one_of(token_at(error->parser, open - 1), words);
}

/* Hints for what is found in the middle of a value. */
static const char *value_hint(const SyntaxError *error) {
    int found = error->found->kind, before = error->before ? error->before->kind : 0;
    bool new = found == MAX_ASSIGN_NEW || found == MIN_ASSIGN_NEW || found == ADD_ASSIGN_NEW || found == MUL_ASSIGN_NEW;
    if (new &&before == '=')
        return "it stands in the place of '=': B(i) max=! A(i, j)";
    if (found == '.' || found == DOT_DIGITS)
        return point_hint(error);
    if (error->expected[ADD_ASSIGN] && assignment_hint(error))
        return assignment_hint(error);
    if (found == ':' && is_kind(error, 1, ':') && prefix_hint(error, error->position + 2))
        return prefix_hint(error, error->position + 2);
    if (found == ':' && error->before && slice_hint(error))
        return slice_hint(error);
    if (found == ':' && error->expected['{'])
        return "statements stand in braces: { ... }";
    if (found == ',' && error->expected['}'] && is_kind(error, 2, IN))
        return "a range follows the statement: where i in 0:N";
    if (found == ',' && error->expected['}'] && token_is_name(token_at(error->parser, error->position + 1)->kind))
        return "nothing stands between statements: leave the ',' out";
    if (found == '>' && before == TYPE && is_kind(error, -2, '<'))
        return conversion_hint(error, error->position + 1);
    if ((found == '+' || found == '-') && is_kind(error, 1, found) && error->expected['}'])
        return "one is added by an assignment: y += 1";
    if (before == TYPE && begins_operand(found))
        return conversion_hint(error, error->position);
    if (found == ')' && before == TYPE)
        return conversion_hint(error, 0);
    if (found == TYPE && error->expected['}'])
        return "a tensor needs no declaration: its first assignment defines it, with the type of its value";
    if (found == ',' && before == INTEGER && is_kind(error, 1, INTEGER))
        return "a decimal point is written '.'";
    if (found == '<' && error->expected[ADD_ASSIGN] && is_kind(error, 1, '-'))
        return "an assignment is written '='";
    if (error->expected[':'] && before == ')' && follows(error, IN) && is_stepped_range(error))
        return "ranges count up by one: write A(2 * i) for every second element";
    if (found == IN && !error->expected['{'])
        return "a range is written i in 0:N, without parentheses";
    if (found == ':' && error->expected[','] && is_kind(error, -2, ':'))
        return "ranges count up by one: write A(2 * i) for every second element";
    if (found == IN || (found == '{' && before == SCAN))
        return "the steps have an index: scan t { ... }; it takes its range from what it indexes, or from where";
    if (found == '}' && error->expected[':'] && follows(error, '?'))
        return "a choice has two sides: condition ? a : b";
    if (found == ':' && follows(error, '='))
        return "a range is written i in 0:N";
    if (follows(error, IN))
        return "a range is written i in 0:N; its end is the first value beyond it";
    return NULL;
}

static int item_kind(const SyntaxError *error);

static const char *schedule_hint(const SyntaxError *error) {
    if (error->parser->depth == 0 && item_kind(error) == RULE)
        return "a rule begins: rule name on x86 applies reduction, extent[0] >= 64 {";
    int open = open_bracket(error->parser, error->position);
    if (error->found->kind == '[' || (open >= 0 && token_at(error->parser, open)->kind == '['))
        return "a loop is STAGE.INDEX, as in parallel(C.i)";
    if (error->found->kind == '.')
        return "a statement names the loop in parentheses: parallel(C.i)";
    return NULL;
}

/* The kind of the token that began the current item. */
static int item_kind(const SyntaxError *error) {
    int at = error->position - 1;
    while (at > 0 && !is_item_start(error->parser, at))
        at--;
    return at >= 0 ? token_at(error->parser, at)->kind : 0;
}

/* Words that begin items in other languages. */
static const char *item_hint(const SyntaxError *error) {
    static const char def[] = "a definition begins: def name(float(M, N) input) -> (output) {";
    static const char import[] = "another file is imported whole: import \"nn\"";
    static const char *const words[][2] = {
        {"fn", def},         {"func", def},    {"function", def}, {"fun", def},        {"void", def},  {"kernel", def},
        {"include", import}, {"from", import}, {"using", import}, {"require", import}, {"use", import}};
    const Token *word = error->found;
    for (size_t i = 0; word->kind == IDENT && i < sizeof words / sizeof *words; i++)
        if (!strcmp(word->text, words[i][0]))
            return words[i][1];
    static const char *const items[] = {"def", "export", "import", "schedule", "rule", "combiner", "instr"};
    const char *nearest = word->kind == IDENT ? spelling_nearest(word->text, items, 7) : NULL;
    if (nearest)
        return arena_printf(error->parser->arena, "did you mean '%s'?", nearest);
    bool statement = word->kind == IDENT &&
                     (is_kind(error, 1, '(') || begins_assignment(token_at(error->parser, error->position + 1)->kind));
    return statement ? "statements stand in the braces of a def" : NULL;
}

static const char *header_hint(const SyntaxError *error) {
    int found = error->found->kind, before = error->before ? error->before->kind : 0, item = item_kind(error);
    bool sizes = open_bracket(error->parser, error->position) > 0 &&
                 token_at(error->parser, open_bracket(error->parser, error->position) - 1)->kind == TYPE;
    if (error->expected[DEF] && found == IDENT)
        return item_hint(error);
    if (item == EXPORT && found == INTEGER && before == '(')
        return "sizes are bound by their names: export f(N=10)";
    if (item == EXPORT && found == ',')
        return "each function has an export of its own";
    if (item == COMBINER && error->expected[IDENTITY] && (found == '{' || found == '('))
        return "a combiner has an identity, which leaves other values as they are: identity (0) of a sum, identity "
               "(-inf) of a maximum";
    if (item == COMBINER)
        return "a combiner begins: combiner name(float a; float b) associative commutative identity (0) {";
    if (found == ';' && error->expected[','])
        return "arguments are separated by ','";
    if (found == '<' && before && item == DEF)
        return "sizes come from the arguments; other parameters stand in brackets: def f[K=2](float(N) x)";
    if (found == ':' && error->expected['{'])
        return "the statements of a def stand in braces: { ... }";
    if (before == CONST)
        return "const stands before the type of an argument: const float(N) A";
    if (before == INOUT || is_kind(error, -2, INOUT))
        return "inout stands before the type of a result, which has sizes: -> (inout float(N) y)";
    if (before == TYPE && found == '*')
        return "an array has sizes: float(N) A";
    if (sizes && (found == '*' || found == '?' || found == ':'))
        return "each size is a name or a number: float(M, N) A";
    return NULL;
}

/* Reports what is expected, as usual, with a hint. */
static bool slip_in_value(const SyntaxError *error) {
    const Parser *parser = error->parser;
    bool in_schedule = parser->in_schedule && !error->expected[DEF]; /* where an item may begin it has ended */
    const char *hint = in_schedule ? schedule_hint(error) : parser->depth > 0 ? value_hint(error) : header_hint(error);
    if (!hint)
        return false;
    report_expected(error);
    diag_hint(error->parser->diagnostics, "%s", hint);
    return true;
}

/* Whether the scanner's last message was about this token. */
static bool is_mistake(const Parser *parser, const Token *token) {
    int last = parser->next_mistake - 1;
    return last >= 0 && parser->tokens->mistakes.items[last].loc.begin == token->loc.begin;
}

void report_syntax_error(Parser *parser, int position, const bool *expected) {
    static bool (*const slips[])(const SyntaxError *) = {
        slip_two_to_63,  slip_stray_closer, slip_item_within, slip_text_within, slip_in_header,
        slip_for,        slip_foreign_word, slip_range,       slip_cast,        slip_missing_operator,
        slip_incomplete, slip_brackets,     slip_equals,      slip_import_name, slip_in_value,
    };
    SyntaxError error = {
        .parser = parser,
        .position = position,
        .found = token_at(parser, position),
        .before = position > 0 ? token_at(parser, position - 1) : NULL,
        .expected = expected,
    };
    error.loc = error.found->loc;
    if (!error.found->kind && error.before)
        error.loc.begin = error.loc.end = error.before->loc.end;
    parser->recover_from = position;
    if (error.found->kind == INVALID || is_mistake(parser, error.found))
        return; /* the scanner has reported it */
    for (size_t i = 0; i < sizeof slips / sizeof *slips; i++)
        if (slips[i](&error))
            return;
    report_expected(&error);
}
