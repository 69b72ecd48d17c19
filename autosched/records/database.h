/* database.h - what the files of the tuning database share. */
#ifndef AUTOSCHED_RECORDS_DATABASE_H
#define AUTOSCHED_RECORDS_DATABASE_H

#include "autosched/records/records.h"
#include <sqlite3.h>
#include <stdio.h>

struct Database {
    sqlite3 *handle;
    sqlite3_stmt *insert; /* prepared once, because it runs often */
    const char *path;
    bool failed;     /* damage was found in it */
    Waiting waiting; /* for another process that locks it */
    double patience; /* seconds */
};

extern const char *const outcome_names[OUTCOME_COUNT];
/* The Outcome with this name, or -1. */
int outcome_find(const char *name);

/* Runs one statement without results. False, without a message: sqlite3_errmsg has the reason. */
bool database_run(Database *database, const char *sql);
/* Gives the file of an older version the current layout, before it is changed. False: it cannot be written. */
bool database_begin_changes(Database *database);
/* Selects records; rest is "WHERE ..." and what follows it. NULL: sqlite3_errmsg has the reason. */
sqlite3_stmt *database_select(Database *database, const char *rest);
/* Reads a record from a row; copies texts. False: the row is damaged. */
bool database_row(Arena *arena, sqlite3_stmt *row, Record *record);
/* Reads a row of "SELECT trials, exhausted". */
bool database_note_row(sqlite3_stmt *row, SearchNote *note);

/* What prevents the record's text from being read back, or NULL. Such records come from a damaged database or an old
 * program, and are ignored. */
const char *record_fault(const Record *record);
/* Writes one record as reviewable text: a paragraph that ends with a blank line. */
void record_write(Text *text, const Record *record);
/* 2030-01-31T23:59:59Z */
void date_write(Text *text, int64_t date);
/* Reads paragraphs and passes each record to take, until that returns false. NULL at the end of a well-formed text,
 * else what is wrong, with *line. */
const char *records_read(Arena *arena, FILE *stream, bool (*take)(void *context, const Record *record), void *context,
                         int *line);

#endif
