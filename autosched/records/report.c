/* report.c - tensorc db show and stats: the course of a task's searches, and what the database holds, as text. */
#include "autosched/records/database.h"
#include "lang/terminal.h"

#include <math.h>
#include <string.h>
#include <sys/stat.h>

/* --- the course of searches --- */

/* A name in one line: it comes from outside. */
static const char *or_dash(const Text *out, const char *text) {
    return text && *text ? shown_line(out->arena, text) : "-";
}

const char *share_of_peak(Arena *arena, const Record *record) {
    if (record->seconds <= 0 || record->operations <= 0 || record->peak <= 0)
        return "-";
    return arena_printf(arena, "%.1f%%", 100 * record->operations / record->seconds / record->peak);
}

static const char *number_text(Arena *arena, const char *format, double number, bool known)
    __attribute__((format(printf, 2, 0)));

static const char *number_text(Arena *arena, const char *format, double number, bool known) {
    return known ? arena_printf(arena, format, number) : "-";
}

static void add_head(Text *out, Database *database, const Record *record) {
    const char *program = database_program(out->arena, database, record->task);
    text_add(out, "%stask      %s\n", out->length ? "\n" : "", record->task);
    text_add(out, "function  %s (%s) of %s\n", or_dash(out, record->function), or_dash(out, record->operator),
             or_dash(out, record->file));
    text_add(out, "target    %s, threads %d, inputs %s\n", or_dash(out, record->target), record->threads,
             or_dash(out, record->inputs));
    text_add(out, "device    %s\ntoolchain %s\n", or_dash(out, record->device), or_dash(out, record->toolchain));
    if (program)
        text_add(out, "program\n%s", program);
    text_add(out, "%6s %-11s %14s %14s %12s %12s %12s %8s %9s %6s  %s\n", "trial", "outcome", "seconds", "best so far",
             "prediction", "reference", "undisturbed", "switches", "processor", "steal", "policy; model; why");
}

bool disturbance_is_known(const Disturbance *d) {
    return d->undisturbed || d->switches || d->processor_part > 0 || d->steal > 0;
}

/* What tells how far its time can be trusted. */
static void add_signals(Text *out, const Record *record) {
    Arena *arena = out->arena;
    const Disturbance *d = &record->disturbance;
    bool watched = disturbance_is_known(d);
    text_add(out, " %12s", number_text(arena, "%.6g", record->reference_seconds, record->reference_seconds > 0));
    text_add(out, " %12s", watched ? arena_printf(arena, "%d of %d", d->undisturbed, record->repeats) : "-");
    text_add(out, " %8s", number_text(arena, "%.0f", d->switches, watched));
    text_add(out, " %9s", number_text(arena, "%.0f%%", 100 * d->processor_part, watched));
    text_add(out, " %6s", number_text(arena, "%.0f%%", 100 * d->steal, watched));
}

static void add_trial(Text *out, const Record *record, double best) {
    Arena *arena = out->arena;
    bool good = record->outcome == OUTCOME_OK;
    text_add(out, "%6s %-11s %14s %14s %12s", number_text(arena, "%.0f", record->order, record->order > 0),
             outcome_names[record->outcome], number_text(arena, "%.6g", record->seconds, good),
             number_text(arena, "%.6g", best, best < HUGE_VAL),
             number_text(arena, "%.6g", record->prediction, !isnan(record->prediction)));
    add_signals(out, record);
    text_add(out, "  %s; %s", or_dash(out, record->policy), or_dash(out, record->model));
    text_add(out, "%s%s\n", good ? "" : "; ", good ? "" : or_dash(out, record->why));
}

static void add_best(Text *out, const Record *best) {
    if (best->outcome == OUTCOME_OK && best->seconds > 0)
        text_add(out, "best      %.6g s, %s of the peak\n%s", best->seconds, share_of_peak(out->arena, best),
                 best->schedule);
}

bool records_are_beside(const Record *a, const Record *b) {
    return !strcmp(a->task, b->task) && !strcmp(a->target, b->target) && a->threads == b->threads &&
           !strcmp(a->inputs, b->inputs);
}

/* Adds the records of a row's task, those of a search in their order. */
static int add_course(Text *out, Database *database, sqlite3_stmt *row, bool *one_task) {
    Record best = {0}, last = {0}, record;
    int status;
    while ((status = sqlite3_step(row)) == SQLITE_ROW) {
        if (!database_row(out->arena, row, &record))
            return SQLITE_CORRUPT;
        *one_task &= !last.task || !strcmp(last.task, record.task);
        if (!last.task || !records_are_beside(&last, &record)) {
            add_best(out, &best);
            add_head(out, database, &record);
            best = (Record){.outcome = OUTCOME_COUNT, .seconds = HUGE_VAL};
        }
        if (record.outcome == OUTCOME_OK && record.seconds < best.seconds)
            best = record;
        add_trial(out, &record, best.seconds);
        last = record;
    }
    add_best(out, &best);
    return status;
}

ReportStatus report_task(Text *out, Database *database, const char *prefix) {
    sqlite3_stmt *row = database_select(database, "WHERE substr(task, 1, length(?)) = ? ORDER BY task, target, threads,"
                                                  " inputs, trial, date, schedule");
    bool one_task = true;
    if (!row)
        return REPORT_UNREAD;
    sqlite3_bind_text(row, 1, prefix, -1, SQLITE_STATIC);
    sqlite3_bind_text(row, 2, prefix, -1, SQLITE_STATIC);
    int status = add_course(out, database, row, &one_task);
    sqlite3_finalize(row);
    if (status != SQLITE_DONE)
        return status == SQLITE_CORRUPT ? REPORT_DAMAGED : REPORT_UNREAD;
    return !out->length ? REPORT_NONE : one_task ? REPORT_GOOD : REPORT_SEVERAL;
}

/* --- what there is --- */

/* Begins "SELECT ... FROM records" with the columns that an old file lacks. */
static sqlite3_stmt *select_from_records(Text *out, Database *database, const char *what) {
    Text sql = {.arena = out->arena};
    sqlite3_stmt *row;
    text_add(&sql, "WITH r AS (SELECT ");
    schema_add_names(&sql, database, "records");
    text_add(&sql, " FROM records) SELECT %s", what);
    return sqlite3_prepare_v2(database->handle, sql.text, -1, &row, NULL) == SQLITE_OK ? row : NULL;
}

static bool add_counts(Text *out, Database *database, const char *column) {
    const char *what = arena_printf(out->arena, "%s, count(*) FROM r GROUP BY 1 ORDER BY 2 DESC, 1", column);
    sqlite3_stmt *row = select_from_records(out, database, what);
    int status = SQLITE_ERROR;
    while (row && (status = sqlite3_step(row)) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(row, 0);
        if (!strcmp(column, "outcome") && (unsigned)sqlite3_column_int(row, 0) < OUTCOME_COUNT)
            name = outcome_names[sqlite3_column_int(row, 0)];
        text_add(out, "%-10s %8d  %s\n", column, sqlite3_column_int(row, 1), or_dash(out, name));
    }
    sqlite3_finalize(row);
    return status == SQLITE_DONE;
}

static bool add_totals(Text *out, Database *database) {
    sqlite3_stmt *row = select_from_records(
        out, database,
        "count(*), count(DISTINCT task), ifnull(min(nullif(date, 0)), 0), ifnull(max(date), 0), sum(wall) FROM r");
    bool found = row && sqlite3_step(row) == SQLITE_ROW;
    if (found) {
        text_add(out, "%-10s %8d\n%-10s %8d\n", "records", sqlite3_column_int(row, 0), "tasks",
                 sqlite3_column_int(row, 1));
        for (int end = 0; end < 2; end++) {
            text_add(out, "%-10s ", end ? "last" : "first");
            if (sqlite3_column_int64(row, 2 + end))
                date_write(out, sqlite3_column_int64(row, 2 + end));
            text_add(out, "%s\n", sqlite3_column_int64(row, 2 + end) ? "" : "-");
        }
        text_add(out, "%-10s %8.1f s\n", "trials", sqlite3_column_double(row, 4));
    }
    sqlite3_finalize(row);
    return found;
}

ReportStatus report_all(Text *out, Database *database) {
    static const char *const columns[] = {"outcome", "target", "threads", "policy", "model", "device", "toolchain"};
    struct stat file;
    bool good = add_totals(out, database);
    if (stat(database->path, &file) == 0)
        text_add(out, "%-10s %8lld\n", "bytes", (long long)file.st_size);
    for (size_t c = 0; c < sizeof columns / sizeof *columns && good; c++)
        good = add_counts(out, database, columns[c]);
    return good ? REPORT_GOOD : REPORT_UNREAD;
}
