/* log.c - records as lines of JSON, added to a file: for experiments, which read them while a search goes on.
 *
 * A line is one write to a file that is opened to append, so that several searches may share it and a search that is
 * killed leaves whole lines. What the database replaces stays in the log: each line is what was measured then.
 */
#include "autosched/records/database.h"
#include "lang/files.h"
#include "lang/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

RecordLog *record_log_open(Arena *arena, const char *path) {
    int file = strcmp(path, "-") ? open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666) : dup(STDOUT_FILENO);
    if (file < 0)
        return NULL;
    RecordLog *log = ARENA_NEW(arena, RecordLog);
    *log = (RecordLog){.path = path, .file = file};
    return log;
}

void record_log_close(RecordLog *log) {
    if (log && close(log->file) && !log->trouble)
        log->trouble = errno;
}

static void write_member(FILE *stream, Arena *scratch, int column, const Record *record) {
    const RecordColumn *row = &record_columns[column];
    const void *at = column_of(record, column);
    if (row->optional && column_is_absent(row, at))
        return;
    fprintf(stream, ", \"%s\": ", row->name);
    if (row->kind == COLUMN_TEXT || row->kind == COLUMN_SCHEDULE) {
        json_string(stream, *(const char *const *)at);
        return;
    }
    Text text = {.arena = scratch};
    record_write_value(&text, row, at);
    if (row->kind == COLUMN_DATE || row->kind == COLUMN_OUTCOME)
        json_string(stream, text.text);
    else
        fputs(text.text, stream);
}

void record_log(RecordLog *log, const char *event, const Record *record) {
    char *line = NULL;
    size_t length = 0;
    FILE *stream = memory_given(open_memstream(&line, &length));
    Arena *scratch = arena_new();
    fputs("{\"event\": ", stream);
    json_string(stream, event);
    for (int c = 0; c < RECORD_COLUMN_COUNT; c++)
        write_member(stream, scratch, c, record);
    fputs("}\n", stream);
    fclose(stream);
    arena_free(scratch);
    ssize_t written = write(log->file, line, length);
    bool unread = written < 0 && !strcmp(log->path, "-") && nobody_reads_output();
    if (written != (ssize_t)length && !log->trouble && !unread)
        log->trouble = written < 0 ? errno : ENOSPC;
    free(line);
}
