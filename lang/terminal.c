/* terminal.c - what is printed for people, escaped; the JSON array that messages are elements of. */
#include "lang/terminal.h"

#include <stdlib.h>
#include <string.h>

/* --- characters --- */

/* Neither longer than need be, nor a surrogate, nor beyond the last character. */
size_t utf8_character(const char *bytes, size_t length, uint32_t *number) {
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    unsigned char lead = length ? (unsigned char)*bytes : 0xFF;
    size_t wanted = lead < 0x80 ? 1 : lead >= 0xF0 && lead < 0xF8 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC0 ? 2 : 0;
    if (lead >= 0xF8 || wanted == 0 || wanted > length)
        return 0;
    *number = wanted == 1 ? lead : lead & (0x7Fu >> wanted);
    for (size_t i = 1; i < wanted; i++) {
        if (((unsigned char)bytes[i] & 0xC0) != 0x80)
            return 0;
        *number = *number << 6 | ((unsigned char)bytes[i] & 0x3F);
    }
    bool surrogate = *number >= 0xD800 && *number < 0xE000;
    return *number < least[wanted] || surrogate || *number > 0x10FFFF ? 0 : wanted;
}

/* What a terminal may take for a command, or what changes how the text around it looks. */
static bool is_printable(uint32_t number) {
    static const struct {
        uint32_t first, last;
    } hidden[] = {{0, 0x1F},         {0x7F, 0x9F},     {0xAD, 0xAD},     {0x61C, 0x61C},    {0x180E, 0x180E},
                  {0x200B, 0x200F},  {0x2028, 0x202E}, {0x2060, 0x206F}, {0xFEFF, 0xFEFF},  {0xFFF0, 0xFFFB},
                  {0xE0000, 0xE0FFF}};
    for (size_t i = 0; i < sizeof hidden / sizeof *hidden; i++)
        if (number >= hidden[i].first && number <= hidden[i].last)
            return false;
    return true;
}

size_t shown_character(const char *bytes, size_t length, char shown[SHOWN_BYTES]) {
    uint32_t number = 0;
    size_t taken = utf8_character(bytes, length, &number);
    if (taken <= 1 && (taken == 0 || !is_printable(number)))
        snprintf(shown, SHOWN_BYTES, "\\x%02X", (unsigned char)*bytes);
    else if (!is_printable(number))
        snprintf(shown, SHOWN_BYTES, "\\u%04X", (unsigned)number);
    else
        snprintf(shown, SHOWN_BYTES, "%.*s", (int)taken, bytes);
    return taken ? taken : 1;
}

typedef void Write(void *context, const char *bytes, size_t length);

static void write_shown(const char *text, size_t length, bool lines, Write *write, void *context) {
    char shown[SHOWN_BYTES];
    for (size_t i = 0; i < length;) {
        if (lines && (text[i] == '\n' || text[i] == '\t')) {
            write(context, &text[i++], 1);
            continue;
        }
        i += shown_character(text + i, length - i, shown);
        write(context, shown, strlen(shown));
    }
}

static void write_to_text(void *context, const char *bytes, size_t length) {
    text_add_bytes(context, bytes, length);
}

static void write_to_stream(void *context, const char *bytes, size_t length) {
    fwrite(bytes, 1, length, context);
}

static const char *shown(Arena *arena, const char *text, bool lines) {
    Text result = {.arena = arena};
    text_add_bytes(&result, "", 0);
    write_shown(text, strlen(text), lines, write_to_text, &result);
    return result.text;
}

const char *shown_text(Arena *arena, const char *text) {
    return shown(arena, text, true);
}

const char *shown_line(Arena *arena, const char *text) {
    return shown(arena, text, false);
}

/* --- JSON --- */

/* Of the process, as its standard error is. */
static struct JsonArray {
    FILE *stream; /* NULL: closed */
    int count;
    char *pending; /* the line that is being shown piece by piece */
    size_t length;
} array;

void json_string(FILE *stream, const char *text) {
    size_t length = strlen(text);
    putc('"', stream);
    for (size_t i = 0; i < length;) {
        uint32_t number;
        size_t taken = utf8_character(text + i, length - i, &number);
        if (taken == 0)
            fputs("\\ufffd", stream);
        else if (number == '"' || number == '\\')
            fprintf(stream, "\\%c", (int)number);
        else if (!is_printable(number) && number >= 0x10000)
            fprintf(stream, "\\u%04x\\u%04x", 0xD7C0 + (unsigned)(number >> 10), 0xDC00 + (unsigned)(number & 0x3FF));
        else if (!is_printable(number))
            fprintf(stream, "\\u%04x", (unsigned)number);
        else
            fwrite(text + i, 1, taken, stream);
        i += taken ? taken : 1;
    }
    putc('"', stream);
}

bool json_is_open(void) {
    return array.stream != NULL;
}

bool json_open(FILE *stream) {
    if (array.stream)
        return false;
    array = (struct JsonArray){.stream = stream};
    fputs("[\n", stream);
    return true;
}

void json_next(FILE *stream) {
    fputs(array.count++ ? ",\n  " : "  ", stream);
}

/* What is said of no place in a source. */
static void json_message(const char *severity, const char *id, const char *message) {
    json_next(array.stream);
    fprintf(array.stream,
            "{\"file\": null, \"line\": 0, \"column\": 0, \"endLine\": 0, \"endColumn\": 0, \"severity\": \"%s\", "
            "\"id\": \"%s\", \"message\": ",
            severity, id);
    json_string(array.stream, message);
    fputs(", \"notes\": [], \"hints\": []}", array.stream);
}

static void json_end_line(void) {
    if (array.length)
        json_message("note", "report", array.pending);
    free(array.pending);
    array.pending = NULL;
    array.length = 0;
}

/* What is shown becomes an element when its line ends; a piece that no memory is left for is dropped. */
static void json_add(const char *text) {
    size_t length = strlen(text);
    char *grown = length ? realloc(array.pending, array.length + length + 1) : NULL;
    if (!grown)
        return;
    memcpy(grown + array.length, text, length + 1);
    array.pending = grown;
    array.length += length;
    if (grown[array.length - 1] != '\n')
        return;
    grown[--array.length] = 0;
    json_end_line();
}

void json_close(void) {
    if (!array.stream)
        return;
    json_end_line();
    fputs(array.count ? "\n]\n" : "]\n", array.stream);
    fflush(array.stream);
    array.stream = NULL;
}

/* --- showing --- */

/* Formatted in the buffer, or where that is too small in memory of its own; cut where there is none. */
static char *format_text(char *buffer, size_t room, const char *format, va_list arguments) {
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(buffer, room, format, arguments);
    char *text = length >= 0 && (size_t)length >= room ? malloc((size_t)length + 1) : NULL;
    if (text)
        vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    return text ? text : buffer;
}

enum { ROOM = 1024 };

void show(FILE *stream, const char *format, ...) {
    char buffer[ROOM];
    va_list arguments;
    va_start(arguments, format);
    char *text = format_text(buffer, sizeof buffer, format, arguments);
    va_end(arguments);
    if (array.stream && stream == array.stream)
        json_add(text);
    else
        write_shown(text, strlen(text), true, write_to_stream, stream);
    if (text != buffer)
        free(text);
}

void show_error_list(const char *id, const char *ending, const char *format, va_list arguments) {
    char buffer[ROOM];
    char *text = format_text(buffer, sizeof buffer, format, arguments);
    if (array.stream) {
        json_end_line();
        json_message("error", id, text);
    } else {
        fputs("tensorc: error: ", stderr);
        write_shown(text, strlen(text), false, write_to_stream, stderr);
        fprintf(stderr, "%s\n", ending);
    }
    if (text != buffer)
        free(text);
}

void show_error(const char *id, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    show_error_list(id, "", format, arguments);
    va_end(arguments);
}

void show_internal_error(const char *message) {
    if (json_is_open()) {
        show_error("internal_error", "internal error: %s", message);
        json_close();
    } else {
        show(stderr, "tensorc: internal error: %s\n", message);
    }
}
