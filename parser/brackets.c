/* brackets.c - which brackets of a source belong together, for messages: found when the first error asks for it. */
#include "parser/parser.h"

int closer_of(int open) {
    return open == '(' ? ')' : open == '[' ? ']' : open == '{' ? '}' : 0;
}

/* Finds the innermost open bracket before every token, and the closing one of every bracket. A closing brace closes
 * everything that is open inside its block. Any other closing bracket without its opening one is ignored. */
static void match_brackets(Parser *parser) {
    int count = parser->tokens->list.count, open = -1;
    int *openers = parser->openers = ARENA_ARRAY(parser->scratch, int, count);
    int *closers = parser->closers = ARENA_ARRAY(parser->scratch, int, count);
    for (int i = 0; i < count; i++) {
        int kind = token_at(parser, i)->kind;
        openers[i] = open;
        closers[i] = count - 1;
        if (closer_of(kind)) {
            open = i;
            continue;
        }
        for (; kind == '}' && open >= 0 && token_at(parser, open)->kind != '{'; open = openers[open])
            closers[open] = i;
        if (open >= 0 && closer_of(token_at(parser, open)->kind) == kind) {
            closers[open] = i;
            open = openers[open];
        }
    }
}

int open_bracket(Parser *parser, int position) {
    if (!parser->openers)
        match_brackets(parser);
    return parser->openers[position];
}

int closing_bracket(Parser *parser, int position) {
    if (!parser->openers)
        match_brackets(parser);
    return parser->closers[position];
}

int target_before(Parser *parser, int position) {
    int end = position - 1;
    if (end > 0 && token_at(parser, end)->kind == ')')
        end = open_bracket(parser, end) - 1; /* -2 if it closes nothing */
    return end >= 0 && token_is_name(token_at(parser, end)->kind) ? end : -1;
}
