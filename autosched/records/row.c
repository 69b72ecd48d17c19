/* row.c - rows of the database as records. Every column is checked for type, length and range: the file may be damaged,
 * or made by somebody else.
 */
#include "autosched/records/database.h"

#include <limits.h>
#include <math.h>
#include <string.h>

static bool text_column(Arena *arena, sqlite3_stmt *row, int column, const char **text) {
    if (sqlite3_column_type(row, column) != SQLITE_TEXT)
        return false;
    const char *value = (const char *)sqlite3_column_text(row, column);
    if (!value || strlen(value) != (size_t)sqlite3_column_bytes(row, column))
        return false;
    *text = arena_strdup(arena, value);
    return true;
}

static bool int_column(sqlite3_stmt *row, int column, int *number) {
    int64_t value = sqlite3_column_int64(row, column);
    *number = (int)value;
    return sqlite3_column_type(row, column) == SQLITE_INTEGER && value >= 0 && value <= INT_MAX;
}

static bool real_column(sqlite3_stmt *row, int column, double *number) {
    *number = sqlite3_column_double(row, column);
    return sqlite3_column_type(row, column) == SQLITE_FLOAT;
}

static bool long_column(sqlite3_stmt *row, int column, int64_t *number) {
    *number = sqlite3_column_int64(row, column);
    return sqlite3_column_type(row, column) == SQLITE_INTEGER;
}

static bool score_column(sqlite3_stmt *row, int column, double *number) {
    *number = NAN;
    return sqlite3_column_type(row, column) == SQLITE_NULL || real_column(row, column, number);
}

static bool outcome_column(sqlite3_stmt *row, int column, Outcome *outcome) {
    int number = 0;
    bool typed = int_column(row, column, &number);
    *outcome = (Outcome)number;
    return typed;
}

static bool read_column(Arena *arena, sqlite3_stmt *row, int column, void *to) {
    switch (record_columns[column].kind) {
    case COLUMN_TEXT:
    case COLUMN_SCHEDULE: return text_column(arena, row, column, to);
    case COLUMN_INT: return int_column(row, column, to);
    case COLUMN_LONG:
    case COLUMN_DATE: return long_column(row, column, to);
    case COLUMN_OUTCOME: return outcome_column(row, column, to);
    case COLUMN_REAL: return real_column(row, column, to);
    case COLUMN_SCORE: return score_column(row, column, to);
    case COLUMN_KIND_COUNT: break;
    }
    return false;
}

bool database_row(Arena *arena, sqlite3_stmt *row, Record *record) {
    *record = (Record){0};
    for (int c = 0; c < RECORD_COLUMN_COUNT; c++)
        if (!read_column(arena, row, c, column_of(record, c)))
            return false;
    return !record_fault(record);
}

static void bind_column(sqlite3_stmt *statement, int column, const void *at) {
    int parameter = column + 1;
    const char *text;
    switch (record_columns[column].kind) {
    case COLUMN_TEXT:
    case COLUMN_SCHEDULE:
        text = *(const char *const *)at;
        sqlite3_bind_text(statement, parameter, text ? text : "", -1, SQLITE_STATIC);
        break;
    case COLUMN_INT: sqlite3_bind_int(statement, parameter, *(const int *)at); break;
    case COLUMN_LONG:
    case COLUMN_DATE: sqlite3_bind_int64(statement, parameter, *(const int64_t *)at); break;
    case COLUMN_OUTCOME: sqlite3_bind_int(statement, parameter, (int)*(const Outcome *)at); break;
    case COLUMN_REAL:
    case COLUMN_SCORE: sqlite3_bind_double(statement, parameter, *(const double *)at); break; /* NAN becomes NULL */
    case COLUMN_KIND_COUNT: break;
    }
}

void database_bind(sqlite3_stmt *statement, const Record *record) {
    for (int c = 0; c < RECORD_COLUMN_COUNT; c++)
        bind_column(statement, c, column_of(record, c));
}

bool database_note_row(sqlite3_stmt *row, SearchNote *note) {
    int exhausted;
    if (!int_column(row, 0, &note->trials) || !int_column(row, 1, &exhausted))
        return false;
    note->exhausted = exhausted != 0;
    return true;
}
