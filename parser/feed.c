/* feed.c - the feeder between scanner and grammar: delivers tokens in order, and after a syntax error finds the place
 * where parsing continues.
 *
 * In a block that place is the first token of a line that can begin a statement, or the brace that closes the block.
 * Outside it is the next item. If an item begins inside a block, the block was never closed, and the feeder delivers
 * the missing braces. Every recovery is later in the source than the one before, so parsing ends.
 */
#include "parser/gram.h"
#include "parser/parser.h"

const Token *token_at(const Parser *parser, int position) {
    int last = parser->tokens->list.count - 1;
    return &parser->tokens->list.items[position < 0 ? 0 : position < last ? position : last];
}

bool token_is_name(int kind) {
    return kind == IDENT || (kind >= EXPORT && kind <= IDENTITY);
}

bool ends_operand(int kind) {
    return token_is_name(kind) || kind == INTEGER || kind == TWO_TO_63 || kind == REAL || kind == DOT_DIGITS ||
           kind == ')';
}

bool begins_assignment(int kind) {
    return kind == '=' || kind == COMBINER_NAME || (kind >= ADD_ASSIGN && kind <= MAX_ASSIGN_NEW);
}

bool is_item_start(const Parser *parser, int position) {
    const Token *token = token_at(parser, position);
    int next = token_at(parser, position + 1)->kind, before = token_at(parser, position - 1)->kind;
    if (token->kind == DEF) /* but not a parameter */
        return token->first_on_line || (before != '[' && before != '(' && before != ',');
    if (!token->first_on_line)
        return false;
    if (token->kind == IMPORT)
        return next == STRING;
    return (token->kind == EXPORT || token->kind == SCHEDULE || token->kind == RULE || token->kind == COMBINER ||
            token->kind == INSTR) &&
           token_is_name(next);
}

/* The position after "name" or "name(...)". */
static int after_target(Parser *parser, int position) {
    return token_at(parser, position + 1)->kind == '(' ? closing_bracket(parser, position + 1) + 1 : position + 1;
}

/* Whether a statement that begins after this token needs nothing in between: an operand would need an operator. */
static bool ends_statement(int kind) {
    return ends_operand(kind) || kind == '{' || kind == '}' || kind == ';';
}

/* Whether a combiner that adds to its targets is at this position: "argmax=" after targets that begin a statement. In
 * "t(i) = x(i) argmax=y" x(i) is a value, and a statement begins after it. */
static bool is_update(Parser *parser, int position) {
    const Token *name = token_at(parser, position), *equals = token_at(parser, position + 1);
    if (name->kind != IDENT || equals->kind != '=' || name->loc.end != equals->loc.begin || name->first_on_line ||
        parser->in_schedule || parser->schedule || parser->depth == 0)
        return false;
    int start = target_before(parser, position);
    while (start > 0 && !token_at(parser, start)->first_on_line && token_at(parser, start - 1)->kind == ',')
        start = target_before(parser, start - 1);
    return start > 0 && ends_statement(token_at(parser, start - 1)->kind);
}

/* Whether a statement begins here: targets and an assignment, a scan, or in a schedule a primitive. At most
 * MOST_TARGETS targets are skipped. */
static bool is_statement_start(Parser *parser, int position) {
    int kind = token_at(parser, position)->kind;
    if ((kind == SCAN || kind == FOR) && token_is_name(token_at(parser, position + 1)->kind))
        return true;
    int after = after_target(parser, position);
    if (parser->in_schedule && after > position + 1)
        return true;
    enum { MOST_TARGETS = 100 };
    for (int i = 0; i < MOST_TARGETS && token_at(parser, after)->kind == ','; i++)
        after = after_target(parser, after + 1);
    return is_update(parser, after) || begins_assignment(token_at(parser, after)->kind) ||
           token_at(parser, position)->kind == COMBINER_NAME;
}

/* A name at the beginning of a line, after a line that may end a statement. Whatever follows it, a statement was
 * meant. */
static bool may_be_statement(Parser *parser, int position) {
    int open = open_bracket(parser, position), before = token_at(parser, position - 1)->kind;
    return open >= 0 && token_at(parser, open)->kind == '{' && (ends_operand(before) || before == '}');
}

/* Whether the token begins a line and parsing a statement can be tried again from it. */
static bool is_fresh_start(Parser *parser, int position) {
    const Token *token = token_at(parser, position);
    return position > parser->resumed_at && token->first_on_line &&
           (token_is_name(token->kind) || token->kind == COMBINER_NAME) &&
           (is_statement_start(parser, position) || may_be_statement(parser, position));
}

static int next_item(const Parser *parser, int position) {
    while (token_at(parser, position)->kind && !is_item_start(parser, position))
        position++;
    return position;
}

/* The position after the braces of "? in {...}" if the error is in them. They end on their line. */
static int after_choices(const Parser *parser, int position) {
    while (parser->in_choices && token_at(parser, position)->kind && !token_at(parser, position)->first_on_line)
        if (token_at(parser, position++)->kind == '}')
            break;
    return position;
}

/* Finds the next statement. Braces that open after the error belong to the skipped part. A schedule that is parsed
 * alone has no block around it. */
static int next_statement(Parser *parser, int position) {
    bool alone = parser->schedule != NULL;
    for (int nested = 0;; position++) {
        int kind = token_at(parser, position)->kind;
        if (!kind || (!alone && is_item_start(parser, position)))
            return position;
        if (kind == '}' && nested == 0 && !(alone && parser->depth == 0))
            return position;
        if (nested == 0 && is_fresh_start(parser, position))
            return position;
        nested += kind == '{';
        nested -= kind == '}' && nested > 0;
    }
}

static int recovery_position(Parser *parser) {
    bool in_block = parser->depth > 0 || parser->schedule;
    bool used = parser->current > parser->resumed_at; /* whether the token of the last recovery was delivered */
    int earliest = parser->resumed_at + used;
    int position = after_choices(parser, parser->recover_from > earliest ? parser->recover_from : earliest);
    position = in_block ? next_statement(parser, position) : next_item(parser, position);
    if (!token_at(parser, position)->kind || is_item_start(parser, position))
        parser->missing_closers = parser->depth;
    parser->stuck = position == parser->resumed_at ? parser->stuck + 1 : 0;
    ENSURE(parser->stuck < 3);
    return parser->resumed_at = position;
}

/* Counts the open blocks, by the token that the grammar has just accepted. */
static void count_braces(Parser *parser, int kind) {
    if (kind == '{' && token_at(parser, parser->current - 1)->kind == IN)
        parser->in_choices = true;
    else if (kind == '}' && parser->in_choices)
        parser->in_choices = false;
    else if (kind == '{')
        parser->depth++;
    else if (kind == '}')
        parser->depth--;
    else if (parser->depth == 0 && !parser->schedule && is_item_start(parser, parser->current))
        parser->in_schedule = kind == SCHEDULE || kind == RULE;
}

/* The hint of a mistake: written out where it is a whole statement. */
static const char *mistake_hint(Parser *parser, const Mistake *mistake) {
    int position = parser->next;
    while (position > 0 && token_at(parser, position)->loc.begin > mistake->loc.begin)
        position--;
    bool here = mistake->id == DIAG_foreign_spelling && token_at(parser, position)->loc.begin == mistake->loc.begin;
    const char *update = here ? rewritten_update(parser, position) : NULL;
    return update ? update : mistake->hint;
}

/* Reports the mistakes that the scanner found before a place. */
static void report_mistakes(Parser *parser, uint32_t before) {
    for (; parser->next_mistake < parser->tokens->mistakes.count; parser->next_mistake++) {
        const Mistake *mistake = &parser->tokens->mistakes.items[parser->next_mistake];
        if (mistake->loc.begin > before)
            return;
        diag(parser->diagnostics, mistake->id, mistake->loc, mistake->argument);
        const char *hint = mistake_hint(parser, mistake);
        if (hint)
            diag_hint(parser->diagnostics, "%s", hint);
    }
}

static Token take_token(Parser *parser) {
    Token token = *token_at(parser, parser->next);
    report_mistakes(parser, token.loc.begin);
    if (is_update(parser, parser->next))
        token.kind = COMBINER_UPDATE;
    parser->current = parser->next;
    if (token.kind)
        parser->next++;
    return token;
}

/* The empty place before the next token. */
static Loc empty_place(const Parser *parser) {
    Loc loc = token_at(parser, parser->next)->loc;
    return (Loc){loc.file, loc.begin, loc.begin};
}

Token feed_token(Parser *parser) {
    Token token = {.loc = empty_place(parser)};
    if (parser->first_token) {
        token.kind = parser->first_token;
        parser->first_token = 0;
    } else if (parser->resynchronise) {
        parser->next = recovery_position(parser);
        parser->resynchronise = parser->in_choices = false;
        token.kind = RESYNC;
    } else {
        count_braces(parser, parser->delivered);
        if (parser->missing_closers > 0) {
            parser->missing_closers--;
            token.kind = '}';
        } else {
            token = take_token(parser);
        }
    }
    return parser->delivered = token.kind, token;
}
