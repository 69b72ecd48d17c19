/* text.c - records as reviewable text: a paragraph for each record, a word and its value on each line, then the
 * schedule's statements, indented. The text reads back to the same record, bit for bit.
 */
#include "autosched/records/database.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef enum FieldKind { FIELD_TEXT, FIELD_INT, FIELD_LONG, FIELD_REAL, FIELD_OUTCOME, FIELD_DATE } FieldKind;

typedef struct Field {
    const char *name;
    FieldKind kind;
    size_t offset;
    bool optional;
} Field;

#define FIELD(name, kind, optional)                                                                                    \
    { #name, FIELD_##kind, offsetof(Record, name), optional }
static const Field fields[] = {FIELD(task, TEXT, false),       FIELD(target, TEXT, false),  FIELD(threads, INT, false),
                               FIELD(outcome, OUTCOME, false), FIELD(why, TEXT, true),      FIELD(seconds, REAL, false),
                               FIELD(spread, REAL, false),     FIELD(repeats, INT, false),  FIELD(seed, LONG, false),
                               FIELD(date, DATE, true),        FIELD(function, TEXT, true), FIELD(operator, TEXT, true),
                               FIELD(file, TEXT, true),        FIELD(inputs, TEXT, true)};
#undef FIELD
enum {
    FIELD_COUNT = sizeof fields / sizeof *fields,
    INDENT = 4,
    SCHEDULE_LIMIT = 16 << 20 /* bytes: more is damage */
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

static bool is_absent(const Field *field, const void *at) {
    const char *value = field->kind == FIELD_TEXT ? *(const char *const *)at : NULL;
    return field->optional && (field->kind == FIELD_DATE ? *(const int64_t *)at == 0 : !value || !*value);
}

/* Replaces what a line cannot hold by blanks. */
static void write_line(Text *text, const char *value) {
    for (; *value; value++)
        text_add(text, "%c", (unsigned char)*value < ' ' ? ' ' : *value);
}

void date_write(Text *text, int64_t date) {
    struct tm parts;
    time_t seconds = (time_t)date;
    char shown[40] = "";
    if (gmtime_r(&seconds, &parts))
        strftime(shown, sizeof shown, date_format, &parts);
    text_add(text, "%s", shown);
}

static void write_field(Text *text, const Field *field, const void *at) {
    if (is_absent(field, at))
        return;
    text_add(text, "%s ", field->name);
    switch (field->kind) {
    case FIELD_TEXT: write_line(text, *(const char *const *)at); break;
    case FIELD_DATE: date_write(text, *(const int64_t *)at); break;
    case FIELD_INT: text_add(text, "%d", *(const int *)at); break;
    case FIELD_LONG: text_add(text, "%lld", (long long)*(const int64_t *)at); break;
    case FIELD_REAL: write_real(text, *(const double *)at); break;
    case FIELD_OUTCOME: text_add(text, "%s", outcome_names[*(const Outcome *)at]); break;
    }
    text_add(text, "\n");
}

void record_write(Text *text, const Record *record) {
    for (int f = 0; f < FIELD_COUNT; f++)
        write_field(text, &fields[f], (const char *)record + fields[f].offset);
    text_add(text, "schedule\n");
    for (const char *line = record->schedule; *line;) {
        size_t length = strcspn(line, "\n");
        text_add(text, "%*s", INDENT, "");
        text_add_bytes(text, line, length);
        text_add(text, "\n");
        line += length + (line[length] == '\n');
    }
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
    return end != value && *end == '\0' && isfinite(*result) && *result >= 0;
}

static bool read_date(const char *value, int64_t *result) {
    struct tm parts = {0};
    const char *end = strptime(value, date_format, &parts);
    *result = (int64_t)timegm(&parts);
    return end && !*end && *result > 0;
}

static bool read_field(Arena *arena, const Field *field, const char *value, void *at) {
    int64_t integer;
    switch (field->kind) {
    case FIELD_TEXT: *(const char **)at = arena_strdup(arena, value); return *value != '\0';
    case FIELD_INT:
        if (!read_integer(value, 0, INT32_MAX, &integer))
            return false;
        *(int *)at = (int)integer;
        return true;
    case FIELD_LONG: return read_integer(value, INT64_MIN, INT64_MAX, at);
    case FIELD_REAL: return read_real(value, at);
    case FIELD_DATE: return read_date(value, at);
    case FIELD_OUTCOME:
        integer = outcome_find(value);
        *(Outcome *)at = (Outcome)integer;
        return integer >= 0;
    }
    return false;
}

/* The record being read: a bit for each field seen, and the schedule's lines. */
typedef struct Paragraph {
    Record record;
    unsigned seen;
    bool in_schedule;
    Text schedule;
} Paragraph;

static const char *read_line(Arena *arena, Paragraph *paragraph, char *line) {
    if (paragraph->in_schedule) {
        if (strncmp(line, "    ", INDENT) != 0)
            return "expected a statement of the schedule, indented by four blanks";
        text_add(&paragraph->schedule, "%s\n", line + INDENT);
        return NULL;
    }
    if (strcmp(line, "schedule") == 0) {
        paragraph->in_schedule = true;
        return NULL;
    }
    char *blank = strchr(line, ' ');
    if (blank)
        *blank = '\0';
    for (int f = 0; f < FIELD_COUNT; f++) {
        if (strcmp(line, fields[f].name) != 0)
            continue;
        paragraph->seen |= 1u << f;
        bool valid = blank && read_field(arena, &fields[f], blank + 1, (char *)&paragraph->record + fields[f].offset);
        return valid ? NULL : arena_printf(arena, "bad value of '%s'", line);
    }
    return arena_printf(arena, "unknown word '%s'", line);
}

/* --- valid records --- */

/* Whether the text has no control bytes, which would not read back, or would reach a terminal. */
static bool is_plain(const char *text, const char *allowed) {
    for (; *text; text++)
        if (((unsigned char)*text < ' ' || *text == 127) && !strchr(allowed, *text))
            return false;
    return true;
}

static bool is_word(const char *text) {
    return text && *text && is_plain(text, "");
}

static bool is_schedule(const char *text) {
    return text && strlen(text) <= SCHEDULE_LIMIT && is_plain(text, "\n\t");
}

static bool is_figure(double value) {
    return isfinite(value) && value >= 0;
}

const char *record_fault(const Record *record) {
    if (!is_word(record->task) || !is_word(record->target) || !is_schedule(record->schedule))
        return "a word of the record is not one";
    if ((unsigned)record->outcome >= OUTCOME_COUNT || record->threads < 0 || record->repeats < 0 ||
        !is_figure(record->seconds) || !is_figure(record->spread) || record->date < 0 || record->date > last_date)
        return "a value of the record is out of its range";
    return record->outcome == OUTCOME_OK && record->seconds <= 0 ? "the outcome is ok, but there is no time" : NULL;
}

static const char *finish(Arena *arena, Paragraph *paragraph, bool (*take)(void *, const Record *), void *context) {
    if (!paragraph->seen && !paragraph->in_schedule)
        return NULL;
    for (int f = 0; f < FIELD_COUNT; f++)
        if (!(paragraph->seen >> f & 1) && !fields[f].optional)
            return arena_printf(arena, "the record lacks '%s'", fields[f].name);
    if (!paragraph->in_schedule)
        return "the record lacks 'schedule'";
    paragraph->record.schedule = paragraph->schedule.text ? paragraph->schedule.text : "";
    const char *fault = record_fault(&paragraph->record);
    if (fault)
        return fault;
    bool taken = take(context, &paragraph->record);
    *paragraph = (Paragraph){.schedule = {.arena = arena}};
    return taken ? NULL : "the record could not be stored";
}

const char *records_read(Arena *arena, FILE *stream, bool (*take)(void *context, const Record *record), void *context,
                         int *line) {
    Paragraph paragraph = {.schedule = {.arena = arena}};
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
