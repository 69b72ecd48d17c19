/* database.h - what the files of the tuning database share. */
#ifndef AUTOSCHED_RECORDS_DATABASE_H
#define AUTOSCHED_RECORDS_DATABASE_H

#include "autosched/records/records.h"
#include <sqlite3.h>
#include <stdio.h>

struct Database {
    sqlite3 *handle;
    sqlite3_stmt *insert, *insert_task; /* prepared once, because they run often */
    const char *path;
    bool failed;     /* damage was found in it */
    Waiting waiting; /* for another process that locks it */
    double patience; /* seconds */
};

enum { SCHEMA_VERSION = 2 };

/* --- what a record has: the rows of columns.def --- */

typedef enum ColumnKind {
    COLUMN_TEXT,
    COLUMN_SCHEDULE, /* text of several lines */
    COLUMN_INT,      /* not negative */
    COLUMN_LONG,
    COLUMN_DATE,
    COLUMN_OUTCOME,
    COLUMN_REAL,  /* finite, not negative */
    COLUMN_SCORE, /* finite, or NAN: none */
    COLUMN_KIND_COUNT
} ColumnKind;

typedef struct RecordColumn {
    const char *name;
    ColumnKind kind;
    size_t offset; /* in a Record */
    bool optional;
} RecordColumn;

enum {
#define COLUMN(name, member, kind, use) RECORD_COLUMN_##name,
#include "autosched/records/columns.def"
#undef COLUMN
    RECORD_COLUMN_COUNT,
    KEY_COLUMNS = RECORD_COLUMN_schedule + 1
};
extern const RecordColumn record_columns[RECORD_COLUMN_COUNT];

/* Where a record has a column. */
static inline void *column_of(const Record *record, int column) {
    return (char *)record + record_columns[column].offset;
}

extern const char *const outcome_names[OUTCOME_COUNT];
/* The Outcome with this name, or -1. */
int outcome_find(const char *name);

/* --- schema.c: the tables --- */

/* The statements that make a new file's tables. */
const char *schema_tables(Arena *arena);
/* The names of a table's columns; for those that it lacks, their values. */
void schema_add_names(Text *sql, const Database *database, const char *table);
/* Moves the records of an older version's file to today's tables. False: it cannot be written. */
bool schema_renew(Database *database);

/* Runs one statement without results. False, without a message: sqlite3_errmsg has the reason. */
bool database_run(Database *database, const char *sql);
/* Gives the file of an older version the current layout, before it is changed. False: it cannot be written. */
bool database_begin_changes(Database *database);
/* Selects records; rest is "WHERE ..." and what follows it. NULL: sqlite3_errmsg has the reason. */
sqlite3_stmt *database_select(Database *database, const char *rest);
/* Binds a record's columns to a statement's parameters, in the order of columns.def. */
void database_bind(sqlite3_stmt *statement, const Record *record);
/* Reads a record from a row; copies texts. False: the row is damaged. */
bool database_row(Arena *arena, sqlite3_stmt *row, Record *record);
/* Reads a row of "SELECT trials, exhausted". */
bool database_note_row(sqlite3_stmt *row, SearchNote *note);

/* What prevents the record's text from being read back, or NULL. Such records come from a damaged database or an old
 * program, and are ignored. */
const char *record_fault(const Record *record);
/* Whether the record has nothing there, as one of an older version. */
bool column_is_absent(const RecordColumn *column, const void *at);
/* Writes a column's value in a line. */
void record_write_value(Text *text, const RecordColumn *column, const void *at);
/* Writes one record as reviewable text: a paragraph that ends with a blank line. */
void record_write(Text *text, const Record *record);
/* 2030-01-31T23:59:59Z */
void date_write(Text *text, int64_t date);
/* Reads paragraphs and passes each record to take, until that returns false. NULL at the end of a well-formed text,
 * else what is wrong, with *line. */
const char *records_read(Arena *arena, FILE *stream, bool (*take)(void *context, const Record *record), void *context,
                         int *line);

/* --- report.c: texts for people --- */

typedef enum ReportStatus {
    REPORT_GOOD,
    REPORT_NONE,    /* no task begins so */
    REPORT_SEVERAL, /* several tasks do */
    REPORT_DAMAGED,
    REPORT_UNREAD /* sqlite3_errmsg has the reason */
} ReportStatus;
/* The course of the searches for the task whose key begins with prefix: each trial, the best so far, the best one's
 * schedule. */
ReportStatus report_task(Text *out, Database *database, const char *prefix);
/* What the database holds, in numbers. */
ReportStatus report_all(Text *out, Database *database);
/* Of the operations that the target does at most, what the record reached: "12.3%"; "-": not known. */
const char *share_of_peak(Arena *arena, const Record *record);
/* Whether times of two records are of the same task, target, number of threads and inputs. */
bool records_are_beside(const Record *a, const Record *b);

#endif
