/* diag.c - collecting and printing diagnostics, as text while they arrive or as one JSON array at the end.
 *
 * The same message at the same place is shown once: a def that is instantiated several times is checked several times.
 */
#include "lang/diag.h"
#include "lang/terminal.h"

#include <stdlib.h>
#include <string.h>

typedef struct DiagRow {
    const char *name;
    Severity severity;
    const char *format;
} DiagRow;

static const DiagRow rows[DIAG_COUNT] = {
#define DIAGNOSTIC(id, severity, format) [DIAG_##id] = {#id, SEVERITY_##severity, format},
#include "lang/diagnostics.def"
#undef DIAGNOSTIC
};

static const char *const severity_names[] = {
    [SEVERITY_ERROR] = "error", [SEVERITY_WARNING] = "warning", [SEVERITY_WARNING_ALL] = "warning",
    [SEVERITY_NOTE] = "note",   [SEVERITY_HINT] = "hint",
};

typedef struct Attachment {
    Loc loc;
    const char *message;
} Attachment;

typedef struct Reported {
    DiagId id;
    Severity severity;
    Loc loc;
    const char *message;
    LIST(Attachment) notes, hints;
} Reported;

struct Diagnostics {
    Arena *arena;
    Sources *sources;
    DiagOptions options;
    LIST(Reported *) reported;
    Reported *last;     /* what notes and hints attach to; NULL when it was dropped */
    Attachment context; /* the last note on all that is reported; its message is NULL: none */
    int errors;
    bool muted;
};

Diagnostics *diag_new(Arena *arena, Sources *sources, DiagOptions options) {
    Diagnostics *diagnostics = ARENA_NEW(arena, Diagnostics);
    diagnostics->arena = arena;
    diagnostics->sources = sources;
    diagnostics->options = options;
    if (!diagnostics->options.stream)
        diagnostics->options.stream = stderr;
    return diagnostics;
}

int diag_error_count(const Diagnostics *diagnostics) {
    return diagnostics->errors;
}

/* Whether messages are printed as they arrive. */
static bool prints_text(const Diagnostics *diagnostics) {
    return !diagnostics->options.json && !diagnostics->options.silent;
}

bool diag_mute(Diagnostics *diagnostics, bool muted) {
    bool before = diagnostics->muted;
    diagnostics->muted = muted;
    return before;
}

bool diag_limit_reached(const Diagnostics *diagnostics) {
    return diagnostics->errors >= DIAGNOSTIC_ERROR_LIMIT;
}

/* --- the source line with a caret --- */

enum { SHOWN_COLUMNS = 150, SHOWN_BEFORE_CARET = 60 };

static bool is_continuation_byte(char byte) {
    return ((unsigned char)byte & 0xC0) == 0x80;
}

/* One source line, and the part of it that a message is about. */
typedef struct Excerpt {
    const char *line;
    size_t length, begin, end; /* begin <= end <= length */
} Excerpt;

static Excerpt excerpt_of(const Source *source, Loc loc) {
    size_t offset = loc.begin < source->length ? loc.begin : source->length, start = offset, stop = offset;
    while (start > 0 && source->text[start - 1] != '\n')
        start--;
    while (stop < source->length && source->text[stop] != '\n')
        stop++;
    if (stop > start && source->text[stop - 1] == '\r')
        stop--;
    size_t length = stop - start, begin = offset - start, end = loc.end > offset ? loc.end - start : begin;
    begin = begin < length ? begin : length;
    end = end < length ? end : length;
    return (Excerpt){source->text + start, length, begin, end > begin ? end : begin};
}

/* Cuts a long line to a window around the caret. */
static Excerpt excerpt_trim(Excerpt excerpt) {
    if (excerpt.begin > SHOWN_BEFORE_CARET && excerpt.length > SHOWN_COLUMNS) {
        size_t cut = excerpt.begin - SHOWN_BEFORE_CARET;
        while (cut < excerpt.begin && is_continuation_byte(excerpt.line[cut]))
            cut++;
        excerpt = (Excerpt){excerpt.line + cut, excerpt.length - cut, excerpt.begin - cut, excerpt.end - cut};
    }
    if (excerpt.length > SHOWN_COLUMNS) {
        excerpt.length = SHOWN_COLUMNS;
        while (excerpt.length > excerpt.begin && is_continuation_byte(excerpt.line[excerpt.length]))
            excerpt.length--;
        excerpt.end = excerpt.end < excerpt.length ? excerpt.end : excerpt.length;
    }
    return excerpt;
}

/* What is printed above and below one character of the line. Tabs stay tabs so that the caret stands right at any
 * tab width; what is escaped takes as many columns as it is shown in. */
static size_t print_character(FILE *stream, Excerpt excerpt, size_t at, char *caret) {
    char shown[SHOWN_BYTES];
    size_t length = excerpt.line[at] == '\t' ? 1 : shown_character(excerpt.line + at, excerpt.length - at, shown);
    bool tab = excerpt.line[at] == '\t', escaped = strlen(shown) != length;
    for (size_t column = 0; caret && column < (escaped && !tab ? strlen(shown) : 1); column++) {
        if (at + length <= excerpt.begin)
            putc(tab ? '\t' : ' ', stream);
        else if (*caret == '^' || at < excerpt.end)
            putc(*caret, stream), *caret = '~';
    }
    if (!caret)
        fputs(tab ? "\t" : shown, stream);
    return length;
}

static void print_excerpt(FILE *stream, const Source *source, Loc loc) {
    Excerpt excerpt = excerpt_trim(excerpt_of(source, loc));
    char caret = '^';
    for (size_t i = 0; i < excerpt.length;)
        i += print_character(stream, excerpt, i, NULL);
    putc('\n', stream);
    for (size_t i = 0; i < excerpt.length && (i <= excerpt.begin || i < excerpt.end);)
        i += print_character(stream, excerpt, i, &caret);
    fputs(caret == '^' ? "^\n" : "\n", stream);
}

static void print_text(const Diagnostics *diagnostics, Severity severity, Loc loc, const char *message,
                       const char *suffix) {
    FILE *stream = diagnostics->options.stream;
    const Source *source = source_get(diagnostics->sources, loc.file);
    if (!source) {
        show(stream, "tensorc: %s: %s%s\n", severity_names[severity], message, suffix);
        return;
    }
    int line, column;
    source_position(source, loc.begin, &line, &column);
    const char *name = shown_line(diagnostics->arena, source->name);
    show(stream, "%s:%d:%d: %s: %s%s\n", name, line, column, severity_names[severity], message, suffix);
    print_excerpt(stream, source, loc);
}

/* --- reporting --- */

enum { MESSAGE_BYTES = 2000, MESSAGE_END = 200 };

/* Of a message that names something endless, the beginning and the end. */
static const char *message_of(Arena *arena, const char *format, va_list arguments) {
    const char *message = arena_vprintf(arena, format, arguments);
    size_t length = strlen(message), end = length - MESSAGE_END, cut = MESSAGE_BYTES - MESSAGE_END;
    if (length <= MESSAGE_BYTES)
        return message;
    while (is_continuation_byte(message[end]))
        end++;
    while (cut > 0 && is_continuation_byte(message[cut]))
        cut--;
    return arena_printf(arena, "%.*s...%s", (int)cut, message, message + end);
}

static bool is_repetition(const Diagnostics *diagnostics, DiagId id, Loc loc, const char *message) {
    for (int i = 0; i < diagnostics->reported.count; i++) {
        const Reported *other = diagnostics->reported.items[i];
        if (other->id == id && other->loc.file == loc.file && other->loc.begin == loc.begin &&
            other->loc.end == loc.end && !strcmp(other->message, message))
            return true;
    }
    return false;
}

static bool is_silenced(const DiagOptions *options, Severity severity) {
    bool warning = severity == SEVERITY_WARNING || severity == SEVERITY_WARNING_ALL;
    return warning && (options->no_warnings || (severity == SEVERITY_WARNING_ALL && !options->all_warnings));
}

static bool is_inside(Loc loc, Loc place) {
    return loc.file == place.file && loc.begin >= place.begin && loc.end <= place.end;
}

/* Nothing more is attached to what was reported last. */
static void end_last(Diagnostics *diagnostics) {
    const Attachment *context = &diagnostics->context;
    if (diagnostics->last && context->message && !is_inside(diagnostics->last->loc, context->loc))
        diag_note(diagnostics, context->loc, "%s", context->message);
    diagnostics->last = NULL;
}

void diag_context(Diagnostics *diagnostics, Loc loc, const char *text) {
    end_last(diagnostics);
    diagnostics->context = (Attachment){loc, text};
}

void diag(Diagnostics *diagnostics, DiagId id, Loc loc, ...) {
    const DiagOptions *options = &diagnostics->options;
    end_last(diagnostics);
    if (diagnostics->muted || is_silenced(options, rows[id].severity))
        return;
    va_list arguments;
    va_start(arguments, loc);
    const char *message = message_of(diagnostics->arena, rows[id].format, arguments);
    va_end(arguments);
    if (is_repetition(diagnostics, id, loc, message))
        return;
    bool promoted = rows[id].severity != SEVERITY_ERROR && options->warnings_are_errors;
    Severity severity = promoted ? SEVERITY_ERROR : rows[id].severity;
    if (severity == SEVERITY_ERROR && diagnostics->errors++ >= DIAGNOSTIC_ERROR_LIMIT)
        return;
    Reported *reported = ARENA_NEW(diagnostics->arena, Reported);
    *reported = (Reported){.id = id, .severity = severity, .loc = loc, .message = message};
    list_push(diagnostics->arena, &diagnostics->reported, reported);
    diagnostics->last = reported;
    if (prints_text(diagnostics))
        print_text(diagnostics, severity, loc, message, promoted ? " [-Werror]" : "");
}

void diag_note(Diagnostics *diagnostics, Loc loc, const char *format, ...) {
    if (!diagnostics->last)
        return;
    va_list arguments;
    va_start(arguments, format);
    Attachment note = {loc, message_of(diagnostics->arena, format, arguments)};
    va_end(arguments);
    list_push(diagnostics->arena, &diagnostics->last->notes, note);
    if (prints_text(diagnostics))
        print_text(diagnostics, SEVERITY_NOTE, loc, note.message, "");
}

void diag_hint(Diagnostics *diagnostics, const char *format, ...) {
    if (!diagnostics->last)
        return;
    va_list arguments;
    va_start(arguments, format);
    Attachment hint = {.message = message_of(diagnostics->arena, format, arguments)};
    va_end(arguments);
    list_push(diagnostics->arena, &diagnostics->last->hints, hint);
    if (prints_text(diagnostics))
        show(diagnostics->options.stream, "hint: %s\n", hint.message);
}

/* --- JSON --- */

/* file and the four positions; null and zeros without a place. */
static void print_json_place(const Diagnostics *diagnostics, Loc loc) {
    FILE *stream = diagnostics->options.stream;
    const Source *source = source_get(diagnostics->sources, loc.file);
    int line = 0, column = 0, end_line = 0, end_column = 0;
    fputs("\"file\": ", stream);
    if (source) {
        source_position(source, loc.begin, &line, &column);
        source_position(source, loc.end > loc.begin ? loc.end : loc.begin, &end_line, &end_column);
        json_string(stream, source->name);
    } else {
        fputs("null", stream);
    }
    fprintf(stream, ", \"line\": %d, \"column\": %d, \"endLine\": %d, \"endColumn\": %d", line, column, end_line,
            end_column);
}

static void print_json(const Diagnostics *diagnostics, const Reported *reported) {
    FILE *stream = diagnostics->options.stream;
    json_next(stream);
    putc('{', stream);
    print_json_place(diagnostics, reported->loc);
    fprintf(stream, ", \"severity\": \"%s\", \"id\": \"%s\", \"message\": ", severity_names[reported->severity],
            rows[reported->id].name);
    json_string(stream, reported->message);
    fputs(", \"notes\": [", stream);
    for (int i = 0; i < reported->notes.count; i++) {
        fputs(i ? ", {" : "{", stream);
        print_json_place(diagnostics, reported->notes.items[i].loc);
        fputs(", \"message\": ", stream);
        json_string(stream, reported->notes.items[i].message);
        putc('}', stream);
    }
    fputs("], \"hints\": [", stream);
    for (int i = 0; i < reported->hints.count; i++) {
        fputs(i ? ", " : "", stream);
        json_string(stream, reported->hints.items[i].message);
    }
    fputs("]}", stream);
}

static void print_json_array(const Diagnostics *diagnostics) {
    bool alone = json_open(diagnostics->options.stream);
    for (int i = 0; i < diagnostics->reported.count; i++)
        print_json(diagnostics, diagnostics->reported.items[i]);
    if (alone)
        json_close();
}

int diag_finish(Diagnostics *diagnostics) {
    end_last(diagnostics);
    int hidden = diagnostics->errors - DIAGNOSTIC_ERROR_LIMIT;
    if (diagnostics->options.json)
        print_json_array(diagnostics);
    else if (hidden > 0 && prints_text(diagnostics))
        fprintf(diagnostics->options.stream, "tensorc: too many errors: %d more %s not shown\n", hidden,
                hidden == 1 ? "is" : "are");
    fflush(diagnostics->options.stream);
    return diagnostics->errors;
}

_Noreturn void internal_error(const char *file, int line, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    char message[1024];
    size_t length = (size_t)vsnprintf(message, sizeof message - 1, format, arguments);
    length = length < sizeof message ? length : sizeof message - 1;
    snprintf(message + length, sizeof message - length, " (%s:%d)", file, line);
    va_end(arguments);
    show_internal_error(message);
    exit(3);
}
