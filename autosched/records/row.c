/* row.c - rows of the database as records. Every column is checked for type, length and range: the file may be damaged,
 * or made by somebody else.
 */
#include "autosched/records/database.h"

#include <limits.h>
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

bool database_row(Arena *arena, sqlite3_stmt *row, Record *record) {
    int outcome = 0;
    *record = (Record){.seed = sqlite3_column_int64(row, 8)};
    bool typed = text_column(arena, row, 0, &record->task) && text_column(arena, row, 1, &record->target) &&
                 int_column(row, 2, &record->threads) && text_column(arena, row, 3, &record->schedule) &&
                 int_column(row, 4, &outcome) && real_column(row, 5, &record->seconds) &&
                 real_column(row, 6, &record->spread) && int_column(row, 7, &record->repeats) &&
                 sqlite3_column_type(row, 8) == SQLITE_INTEGER;
    record->outcome = (Outcome)outcome;
    record->date = sqlite3_column_int64(row, 9);
    typed &= sqlite3_column_type(row, 9) == SQLITE_INTEGER;
    typed &= text_column(arena, row, 10, &record->function) && text_column(arena, row, 11, &record->file) &&
             text_column(arena, row, 12, &record->operator) && text_column(arena, row, 13, &record->inputs) &&
             text_column(arena, row, 14, &record->why);
    return typed && !record_fault(record);
}

bool database_note_row(sqlite3_stmt *row, SearchNote *note) {
    int exhausted;
    if (!int_column(row, 0, &note->trials) || !int_column(row, 1, &exhausted))
        return false;
    note->exhausted = exhausted != 0;
    return true;
}
