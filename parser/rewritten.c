/* rewritten.c - what hints suggest in place of what was written as in other languages: the same tokens as a piece of
 * this language.
 *
 * A suggestion is on one line without comments, and not long. Where the tokens are not what the suggestion is for, or
 * too many, there is none: NULL.
 */
#include "parser/gram.h"
#include "parser/parser.h"

#include <string.h>

enum { LONGEST = 80 };

static int kind_at(const Parser *parser, int position) {
    return token_at(parser, position)->kind;
}

static bool opens_bracket(int kind) {
    return kind == '(' || kind == '[';
}

static bool is_word(const Parser *parser, int position, const char *const *words) {
    const Token *token = token_at(parser, position);
    for (; token->kind == IDENT && *words; words++)
        if (!strcmp(token->text, *words))
            return true;
    return false;
}

/* --- tokens as text, with A[i][j] as A(i, j) ---------------------------------------------------------------------- */

/* Whether a bracket holds indices, not parameters: A[i], but not f[S=2]. */
static bool holds_indices(Parser *parser, int open) {
    int before = kind_at(parser, open - 1);
    bool named = token_is_name(kind_at(parser, open + 1)) && kind_at(parser, open + 2) == '=';
    return open > 0 && kind_at(parser, open) == '[' && (token_is_name(before) || before == ']') && !named;
}

static void add_token(Parser *parser, Text *text, int position) {
    const Token *token = token_at(parser, position);
    bool opens = holds_indices(parser, position);
    bool closes = token->kind == ']' && holds_indices(parser, open_bracket(parser, position));
    if (opens)
        text_add(text, "%s", kind_at(parser, position - 1) == ']' ? ", " : "(");
    else if (closes)
        text_add(text, "%s", kind_at(parser, position + 1) == '[' ? "" : ")");
    else
        text_add(text, "%.*s", (int)(token->loc.end - token->loc.begin), parser->source->text + token->loc.begin);
}

/* Whether a blank of the source before the token stays: not inside of brackets at their ends. */
static bool has_blank(const Parser *parser, int position) {
    int kind = kind_at(parser, position);
    return token_at(parser, position - 1)->loc.end < token_at(parser, position)->loc.begin && kind != ')' &&
           kind != ']' && kind != '[' && !opens_bracket(kind_at(parser, position - 1));
}

/* The tokens from first to last; NULL: there are none, or too many. */
static const char *tokens_text(Parser *parser, int first, int last) {
    Text text = {.arena = parser->arena};
    for (int i = first; i <= last && text.length <= LONGEST; i++) {
        text_add(&text, "%s", i > first && has_blank(parser, i) ? " " : "");
        add_token(parser, &text, i);
    }
    return first <= last && text.length <= LONGEST ? text.text : NULL;
}

/* --- the ends of expressions -------------------------------------------------------------------------------------- */

/* The last token of an operand without operators: "2", "A", "A(i)", "A[i][j]", "(...)", "float(...)". */
static int primary_end(Parser *parser, int first) {
    int last = opens_bracket(kind_at(parser, first)) ? closing_bracket(parser, first) : first;
    while (last == first ? token_is_name(kind_at(parser, last)) || kind_at(parser, last) == TYPE
                         : kind_at(parser, last) == ']') {
        if (!opens_bracket(kind_at(parser, last + 1)))
            break;
        last = closing_bracket(parser, last + 1);
    }
    return last;
}

/* The last token of the value that begins here: before `where`, the end of the block, or the next statement. */
static int value_end(Parser *parser, int first) {
    int at = first;
    for (int kind; (kind = kind_at(parser, at)) && kind != '}' && kind != WHERE && kind != ';' && kind != EQUIVALENT &&
                   kind != ',' && kind != ')' && kind != ']';
         at++) {
        bool operand = token_is_name(kind) || kind == INTEGER || kind == REAL || kind == TYPE;
        if (at > first && operand && (ends_operand(kind_at(parser, at - 1)) || kind_at(parser, at - 1) == ']'))
            break;
        at = opens_bracket(kind) ? closing_bracket(parser, at) : at;
    }
    return at - 1;
}

/* The value in parentheses, unless it is one operand. */
static const char *operand_text(Parser *parser, int first, int last) {
    const char *text = tokens_text(parser, first, last);
    if (!text)
        return "(...)";
    return primary_end(parser, first) == last ? text : arena_printf(parser->arena, "(%s)", text);
}

/* --- what is suggested -------------------------------------------------------------------------------------------- */

const char *rewritten_brackets(Parser *parser, int open) {
    for (int outer = open_bracket(parser, open); outer > 0; outer = open_bracket(parser, outer))
        open = holds_indices(parser, outer) ? outer : open;
    while (open > 0 && kind_at(parser, open - 1) == ']')
        open = open_bracket(parser, open - 1);
    int close = open < 1 ? 0 : closing_bracket(parser, open);
    while (kind_at(parser, close) == ']' && kind_at(parser, close + 1) == '[')
        close = closing_bracket(parser, close + 1);
    return holds_indices(parser, open) && kind_at(parser, close) == ']' ? tokens_text(parser, open - 1, close) : NULL;
}

const char *rewritten_update(Parser *parser, int position) {
    static const struct {
        const char *word, *assign, *before, *between, *after;
        bool twice; /* the target stands on both sides */
        bool bools;
    } forms[] = {
        {"-=", "+=", "-", "", "", false, false},      {"-=!", "+=!", "-", "", "", false, false},
        {"/=", "=", "", " / ", "", true, false},      {"%=", "=", "", " % ", "", true, false},
        {"&=", "=", "", " && ", "", true, true},      {"|=", "=", "", " || ", "", true, true},
        {"**=", "=", "pow(", ", ", ")", true, false},
    };
    const char *word = tokens_text(parser, position, position);
    int start = position - 1, last = value_end(parser, position + 1);
    while (start > 0 && (kind_at(parser, start) == ')' || kind_at(parser, start) == ']'))
        start = open_bracket(parser, start) - 1;
    bool named = start > 0 && token_is_name(kind_at(parser, start));
    const char *target = named ? tokens_text(parser, start, position - 1) : NULL;
    if (!target || last <= position)
        return NULL;
    const char *value = operand_text(parser, position + 1, last);
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (!strcmp(word, forms[i].word))
            return arena_printf(parser->arena, "%swrite %s %s %s%s%s%s%s", forms[i].bools ? "of bools, " : "", target,
                                forms[i].assign, forms[i].before, forms[i].twice ? target : "", forms[i].between, value,
                                forms[i].after);
    return NULL;
}

const char *rewritten_cast(Parser *parser, const char *type, int first) {
    bool sign = kind_at(parser, first) == '-' || kind_at(parser, first) == '!';
    int last = primary_end(parser, first + sign);
    bool bare = !sign && kind_at(parser, first) == '(' && last == closing_bracket(parser, first);
    const char *value = last < first ? NULL : tokens_text(parser, first + bare, last - bare);
    return value ? arena_printf(parser->arena, "%s(%s)", type, value) : NULL;
}

const char *rewritten_operand(Parser *parser, int first) {
    return tokens_text(parser, first, primary_end(parser, first));
}

const char *rewritten_results(Parser *parser, int first) {
    int last = first;
    while (kind_at(parser, last + 1) && kind_at(parser, last + 1) != '{' && kind_at(parser, last + 1) != ':')
        last++;
    const char *text = tokens_text(parser, first, last);
    return text ? text : "...";
}

/* --- ranges ------------------------------------------------------------------------------------------------------- */

/* The first token of the clause of `where` that the position is in; -1: it is in none. */
static int clause_start(Parser *parser, int position) {
    for (int at = position - 1; at > 0; at--) {
        int kind = kind_at(parser, at), open = open_bracket(parser, at);
        bool between = kind == ',' && open >= 0 && kind_at(parser, open) == '{';
        if (kind == WHERE || between)
            return at + 1;
        if (kind == '{' || kind == '}')
            return -1;
    }
    return -1;
}

typedef struct RangeTokens {
    int begin, begin_last; /* the tokens of the first value; begin_last < begin: it is 0 */
    int end, end_last;
    bool inclusive; /* the end is the last value itself */
} RangeTokens;

/* "range(N)", "range(1, N)", "[0, N)", "(0, N)", "[0, N]": the bracket is at `open`. False: it is none of these. */
static bool ends_in_brackets(Parser *parser, int open, bool function, RangeTokens *ends) {
    int comma = 0, at = open + 1;
    for (int kind; (kind = kind_at(parser, at)) && kind != ')' && kind != ']' && kind != '}'; at++) {
        if (kind == ',' && comma)
            return false; /* steps */
        comma = kind == ',' ? at : comma;
        at = opens_bracket(kind) ? closing_bracket(parser, at) : at;
    }
    *ends = (RangeTokens){open + 1, comma - 1, comma ? comma + 1 : open + 1, at - 1, kind_at(parser, at) == ']'};
    if (!comma)
        ends->begin_last = open;
    return (comma || function) && (kind_at(parser, at) == ')' || kind_at(parser, at) == ']');
}

/* "0 to N", "0 until N", and after "=" also "0:N". */
static bool ends_between(Parser *parser, int first, bool colon, RangeTokens *ends) {
    static const char *const words[] = {"to", "until", "upto", "till", "through", NULL};
    int at = first;
    while (kind_at(parser, at) && kind_at(parser, at) != '}' && kind_at(parser, at) != ',' &&
           !is_word(parser, at, words) && !(colon && kind_at(parser, at) == ':'))
        at++;
    bool found = is_word(parser, at, words) || kind_at(parser, at) == ':';
    *ends = (RangeTokens){first, at - 1, at + 1, found ? value_end(parser, at + 1) : at, false};
    return found && at > first;
}

const char *rewritten_range(Parser *parser, int position, int *start) {
    static const char *const from[] = {"from", "over", NULL};
    static const char *const range[] = {"range", "arange", "xrange", NULL};
    int name = *start = clause_start(parser, position), first = name + 2;
    int link = name < 0 ? 0 : kind_at(parser, name + 1);
    bool says = name > 0 && is_word(parser, name + 1, from);
    if (name < 0 || !token_is_name(kind_at(parser, name)) || (link != IN && link != '=' && !says))
        return NULL;
    RangeTokens ends;
    bool function = is_word(parser, first, range) && kind_at(parser, first + 1) == '(';
    bool brackets = function || (link == IN && opens_bracket(kind_at(parser, first)));
    if (brackets ? !ends_in_brackets(parser, first + function, function, &ends)
                 : !ends_between(parser, first, link != IN, &ends))
        return NULL;
    const char *begin = ends.begin_last < ends.begin ? "0" : tokens_text(parser, ends.begin, ends.begin_last);
    const char *end = tokens_text(parser, ends.end, ends.end_last);
    if (!begin || !end)
        return NULL;
    return arena_printf(parser->arena, "%s in %s:%s%s", token_at(parser, name)->text, begin, end,
                        ends.inclusive ? " + 1" : "");
}
