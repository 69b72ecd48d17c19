/* text.c - records as reviewable text: a paragraph for each record, a word and its value on each line, then the
 * schedule's statements, indented. The text reads back to the same record, bit for bit; bytes of names that no terminal
 * should get stand as \x1B.
 */
#include "autosched/records/database.h"
#include "lang/terminal.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    INDENT = 4,
    TEXT_LIMIT = 16 << 20 /* bytes of a schedule or a program: more is damage */
};
static const char date_format[] = "%Y-%m-%dT%H:%M:%SZ";
static const int64_t last_date = 253402300799; /* the end of the year 9999, beyond which a date does not read back */

/* The fewest digits that read back to the same value. */
static void write_real(Text *text, double value) {
    char digits[40];
    for (int precision = 6; precision <= 17; precision++) {
        snprintf(digits, sizeof digits, "%.*g", precision, value);
        if (strtod(digits, NULL) == value)
            break;
    }
    text_add(text, "%s", digits);
}

bool column_is_absent(const RecordColumn *column, const void *at) {
    const char *text;
    switch (column->kind) {
    case COLUMN_TEXT: text = *(const char *const *)at; return !text || !*text;
    case COLUMN_INT: return *(const int *)at == 0;
    case COLUMN_DATE: return *(const int64_t *)at == 0;
    case COLUMN_REAL: return *(const double *)at == 0;
    case COLUMN_SCORE: return isnan(*(const double *)at);
    default: return false;
    }
}

/* The number of a byte that stands as \x and two digits of base 16; -1: there is none. */
static int escaped_byte(const char *text) {
    char digits[3] = {0};
    if (strncmp(text, "\\x", 2) || !isxdigit((unsigned char)text[2]) || !isxdigit((unsigned char)text[3]))
        return -1;
    memcpy(digits, text + 2, 2);
    return (int)strtol(digits, NULL, 16);
}

/* How many bytes the character has that a terminal shows as it is; 0: it is none. */
static size_t plain_bytes(const char *text, size_t length) {
    char shown[SHOWN_BYTES];
    size_t taken = shown_character(text, length, shown);
    return strlen(shown) == taken && !memcmp(shown, text, taken) ? taken : 0;
}

/* What a terminal may take for a command, or a reader for the end of the line, is escaped byte by byte. */
static void write_line(Text *text, const char *value) {
    for (size_t length = strlen(value), taken; length; value += taken, length -= taken) {
        taken = escaped_byte(value) < 0 ? plain_bytes(value, length) : 0;
        if (taken)
            text_add_bytes(text, value, taken);
        else
            text_add(text, "\\x%02X", (unsigned char)*value);
        taken += !taken;
    }
}

/* What write_line wrote. NULL: no text of a record is that. */
static const char *read_text(Arena *arena, const char *value) {
    char *text = arena_strdup(arena, value), *end = text;
    for (int byte; *value; *end++ = (char)byte) {
        byte = escaped_byte(value);
        value += byte < 0 ? 1 : 4;
        byte = byte < 0 ? (unsigned char)value[-1] : byte;
        if (!byte)
            return NULL;
    }
    *end = '\0';
    return *text ? text : NULL;
}

void date_write(Text *text, int64_t date) {
    struct tm parts;
    time_t seconds = (time_t)date;
    char shown[40] = "";
    if (gmtime_r(&seconds, &parts))
        strftime(shown, sizeof shown, date_format, &parts);
    text_add(text, "%s", shown);
}

static void write_column(Text *text, const RecordColumn *column, const void *at) {
    if (column->kind == COLUMN_SCHEDULE || (column->optional && column_is_absent(column, at)))
        return;
    text_add(text, "%s ", column->name);
    record_write_value(text, column, at);
    text_add(text, "\n");
}

void record_write_value(Text *text, const RecordColumn *column, const void *at) {
    const char *value;
    switch (column->kind) {
    case COLUMN_TEXT:
    case COLUMN_SCHEDULE:
        value = *(const char *const *)at;
        write_line(text, value ? value : "");
        break;
    case COLUMN_DATE: date_write(text, *(const int64_t *)at); break;
    case COLUMN_INT: text_add(text, "%d", *(const int *)at); break;
    case COLUMN_LONG: text_add(text, "%lld", (long long)*(const int64_t *)at); break;
    case COLUMN_REAL:
    case COLUMN_SCORE: write_real(text, *(const double *)at); break;
    case COLUMN_OUTCOME: text_add(text, "%s", outcome_names[*(const Outcome *)at]); break;
    case COLUMN_KIND_COUNT: break;
    }
}

/* A word, and indented lines below it. */
static void write_lines(Text *text, const char *word, const char *line) {
    text_add(text, "%s\n", word);
    while (*line) {
        size_t length = strcspn(line, "\n");
        text_add(text, "%*s", INDENT, "");
        text_add_bytes(text, line, length);
        text_add(text, "\n");
        line += length + (line[length] == '\n');
    }
}

void record_write(Text *text, const Record *record) {
    for (int c = 0; c < RECORD_COLUMN_COUNT; c++)
        write_column(text, &record_columns[c], column_of(record, c));
    if (record->program)
        write_lines(text, "program", record->program);
    write_lines(text, "schedule", record->schedule);
    text_add(text, "\n");
}

/* --- reading --- */

static bool read_integer(const char *value, int64_t low, int64_t high, int64_t *result) {
    char *end;
    errno = 0;
    long long number = strtoll(value, &end, 10);
    *result = number;
    return end != value && *end == '\0' && errno == 0 && number >= low && number <= high;
}

static bool read_real(const char *value, double *result) {
    char *end;
    *result = strtod(value, &end);
    return end != value && *end == '\0' && isfinite(*result);
}

static bool read_date(const char *value, int64_t *result) {
    struct tm parts = {0};
    const char *end = strptime(value, date_format, &parts);
    *result = (int64_t)timegm(&parts);
    return end && !*end && *result > 0;
}

static bool read_value(Arena *arena, const RecordColumn *column, const char *value, void *at) {
    int64_t integer;
    switch (column->kind) {
    case COLUMN_TEXT: return (*(const char **)at = read_text(arena, value)) != NULL;
    case COLUMN_INT:
        if (!read_integer(value, 0, INT32_MAX, &integer))
            return false;
        *(int *)at = (int)integer;
        return true;
    case COLUMN_LONG: return read_integer(value, INT64_MIN, INT64_MAX, at);
    case COLUMN_REAL: return read_real(value, at) && *(const double *)at >= 0;
    case COLUMN_SCORE: return read_real(value, at);
    case COLUMN_DATE: return read_date(value, at);
    case COLUMN_OUTCOME:
        integer = outcome_find(value);
        *(Outcome *)at = (Outcome)integer;
        return integer >= 0;
    case COLUMN_SCHEDULE:
    case COLUMN_KIND_COUNT: break;
    }
    return false;
}

/* The record being read: a bit for each column seen, and the lines of its texts. */
typedef struct Paragraph {
    Record record;
    uint64_t seen;
    Text program, schedule, *lines; /* lines: the one that the next lines belong to; NULL: none yet */
} Paragraph;

static Paragraph new_paragraph(Arena *arena) {
    return (Paragraph){.record = {.prediction = NAN}, .program = {.arena = arena}, .schedule = {.arena = arena}};
}

static Text *lines_named(Paragraph *paragraph, const char *word) {
    return strcmp(word, "schedule") == 0  ? &paragraph->schedule
           : strcmp(word, "program") == 0 ? &paragraph->program
                                          : NULL;
}

static const char *read_line(Arena *arena, Paragraph *paragraph, char *line) {
    Text *lines = paragraph->lines == &paragraph->schedule ? NULL : lines_named(paragraph, line);
    if (lines) {
        paragraph->lines = lines;
        text_add(lines, "%s", "");
        return NULL;
    }
    if (paragraph->lines) {
        if (strncmp(line, "    ", INDENT) != 0)
            return "expected a statement of the schedule, indented by four blanks";
        text_add(paragraph->lines, "%s\n", line + INDENT);
        return NULL;
    }
    char *blank = strchr(line, ' ');
    if (blank)
        *blank = '\0';
    for (int c = 0; c < RECORD_COLUMN_COUNT; c++) {
        if (strcmp(line, record_columns[c].name) != 0)
            continue;
        paragraph->seen |= UINT64_C(1) << c;
        bool valid = blank && read_value(arena, &record_columns[c], blank + 1, column_of(&paragraph->record, c));
        return valid ? NULL : arena_printf(arena, "bad value of '%s'", line);
    }
    return arena_printf(arena, "unknown word '%s'", line);
}

/* --- valid records --- */

/* Whether the text has no control characters, which would not read back, or would reach a terminal. */
static bool is_plain(const char *text, const char *allowed) {
    for (size_t length = strlen(text), taken; length; text += taken, length -= taken) {
        taken = strchr(allowed, *text) ? 1 : plain_bytes(text, length);
        if (!taken)
            return false;
    }
    return true;
}

static bool is_word(const char *text) {
    return text && *text && is_plain(text, "");
}

static bool is_lines(const char *text) {
    return text && strlen(text) <= TEXT_LIMIT && is_plain(text, "\n\t");
}

static bool is_figure(double value) {
    return isfinite(value) && value >= 0;
}

static bool is_in_range(const RecordColumn *column, const void *at) {
    switch (column->kind) {
    case COLUMN_INT: return *(const int *)at >= 0;
    case COLUMN_REAL: return is_figure(*(const double *)at);
    case COLUMN_SCORE: return !isinf(*(const double *)at);
    case COLUMN_DATE: return *(const int64_t *)at >= 0 && *(const int64_t *)at <= last_date;
    case COLUMN_OUTCOME: return (unsigned)*(const Outcome *)at < OUTCOME_COUNT;
    default: return true;
    }
}

const char *record_fault(const Record *record) {
    if (!is_word(record->task) || !is_word(record->target) || !is_lines(record->schedule))
        return "a word of the record is not one";
    for (int c = 0; c < RECORD_COLUMN_COUNT; c++)
        if (!is_in_range(&record_columns[c], column_of(record, c)))
            return "a value of the record is out of its range";
    if (record->program && (!is_lines(record->program) || !task_program_fits(record->task, record->program)))
        return "the program is not that of the task";
    return record->outcome == OUTCOME_OK && record->seconds <= 0 ? "the outcome is ok, but there is no time" : NULL;
}

static const char *finish(Arena *arena, Paragraph *paragraph, bool (*take)(void *, const Record *), void *context) {
    if (!paragraph->seen && !paragraph->lines)
        return NULL;
    for (int c = 0; c < RECORD_COLUMN_COUNT; c++)
        if (!(paragraph->seen >> c & 1) && !record_columns[c].optional && c != RECORD_COLUMN_schedule)
            return arena_printf(arena, "the record lacks '%s'", record_columns[c].name);
    if (!paragraph->schedule.text)
        return "the record lacks 'schedule'";
    paragraph->record.schedule = paragraph->schedule.text;
    paragraph->record.program = paragraph->program.text;
    const char *fault = record_fault(&paragraph->record);
    if (fault)
        return fault;
    bool taken = take(context, &paragraph->record);
    *paragraph = new_paragraph(arena);
    return taken ? NULL : "the record could not be stored";
}

const char *records_read(Arena *arena, FILE *stream, bool (*take)(void *context, const Record *record), void *context,
                         int *line) {
    Paragraph paragraph = new_paragraph(arena);
    const char *wrong = NULL;
    char *text = NULL;
    size_t capacity = 0;
    ssize_t length;
    for (*line = 1; !wrong && (length = getline(&text, &capacity, stream)) >= 0; ++*line) {
        if (strlen(text) != (size_t)length) {
            wrong = "a NUL byte";
            break;
        }
        text[strcspn(text, "\r\n")] = '\0';
        if (!*text)
            wrong = finish(arena, &paragraph, take, context);
        else if (*text != '#')
            wrong = read_line(arena, &paragraph, text);
        if (wrong)
            break;
    }
    if (!wrong && !feof(stream)) /* a read error, a folder, or no memory for a line */
        wrong = arena_printf(arena, "cannot read on: %s", strerror(errno));
    free(text);
    return wrong ? wrong : finish(arena, &paragraph, take, context);
}
