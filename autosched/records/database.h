/* database.h - what the files of the tuning database share. */
#ifndef AUTOSCHED_RECORDS_DATABASE_H
#define AUTOSCHED_RECORDS_DATABASE_H

#include "autosched/records/records.h"
#include <sqlite3.h>
#include <stdio.h>

struct Database {
    sqlite3 *handle;
    sqlite3_stmt *insert; /* prepared once: the one statement that runs often */
    const char *path;
    bool failed;     /* some of it was found to be damaged */
    Waiting waiting; /* for another process that has locked it */
    double patience; /* seconds */
};

extern const char *const outcome_names[OUTCOME_COUNT];
/* An Outcome, or -1. */
int outcome_find(const char *name);

/* One statement without results. False after printing nothing: sqlite3_errmsg has the reason. */
bool database_run(Database *database, const char *sql);
/* Rows of records: "WHERE ..." and what follows it. NULL: sqlite3_errmsg has the reason. */
sqlite3_stmt *database_select(Database *database, const char *rest);
/* Texts are copied. False: the row is damaged. */
bool database_row(Arena *arena, sqlite3_stmt *row, Record *record);
/* A row of "SELECT trials, exhausted". */
bool database_note_row(sqlite3_stmt *row, SearchNote *note);

/* NULL: the record's text reads back to it. Others, of a damaged database or an old program, are as if they were not
 * there. */
const char *record_fault(const Record *record);
/* The reviewable text of one record, a paragraph that a blank line ends. */
void record_write(Text *text, const Record *record);
/* 2030-01-31T23:59:59Z */
void date_write(Text *text, int64_t date);
/* Reads paragraphs and hands each record to take, until it answers false. NULL at the end of a well-formed text, else
 * what is wrong, with *line. */
const char *records_read(Arena *arena, FILE *stream, bool (*take)(void *context, const Record *record), void *context,
                         int *line);

#endif
