/* apart.c - checks that no output overwrites an input, another output or the tuning database. Before a search it also
 * checks that the outputs can be written.
 *
 * Files are compared by their identity, before anything is compiled, so that a long search does not end in a refusal.
 */
#include "driver/driver.h"
#include <errno.h>
#include <string.h>

typedef enum Use { USE_WRITTEN, USE_INPUT, USE_DATABASE } Use;

typedef LIST(struct UsedFile {
    const char *path;
    Use use;
    FileIdentity identity;
}) UsedFiles;

static void add_file(Compilation *c, UsedFiles *files, Use use, const char *path) {
    if (path)
        list_push(c->arena, files, ((struct UsedFile){path, use, file_identity(c->arena, path)}));
}

static void add_outputs(Compilation *c, const Target *const *targets, UsedFiles *files) {
    const Options *o = c->options;
    if (o->mode != MODE_RUN)
        for (int t = 0; t < o->targets.count; t++)
            add_file(c, files, USE_WRITTEN, output_path(c, targets[t], t == 0));
    if (o->mode != MODE_RUN && o->dependencies)
        add_file(c, files, USE_WRITTEN, depfile_path(c, output_path(c, targets[0], true)));
    add_file(c, files, USE_WRITTEN, o->header);
    add_file(c, files, USE_WRITTEN, o->emit_schedule);
    for (int i = 0; i < o->run_outputs.count; i++)
        add_file(c, files, USE_WRITTEN, o->run_outputs.items[i].path);
}

/* The log is added to, not written as a whole: it has to be a file of its own. */
static void add_log(Compilation *c, UsedFiles *files) {
    if (c->options->level == LEVEL_TUNE)
        add_file(c, files, USE_WRITTEN, c->options->log);
}

/* The database and the files that SQLite may keep beside it. */
static void add_database(Compilation *c, UsedFiles *files) {
    const char *path = c->options->database ? c->options->database : database_default_path(c->arena);
    const char *file;
    for (int f = 0; path && (file = database_file(c->arena, path, f)); f++)
        add_file(c, files, USE_DATABASE, file);
}

/* Two files that are only read may be the same, and so may two files of the database. Files are sorted by their use,
 * outputs first. */
static bool collide(const struct UsedFile *a, const struct UsedFile *b) {
    return (a->use != b->use || a->use == USE_WRITTEN) && file_is_same(&a->identity, &b->identity);
}

static void refuse(const struct UsedFile *output, const struct UsedFile *other) {
    bool again = strcmp(output->path, other->path) != 0;
    if (output->use == USE_INPUT)
        complain("the input file '%s' is the tuning database '%s'", output->path, other->path);
    else if (other->use == USE_INPUT)
        complain("the output '%s' is the input file '%s'", output->path, other->path);
    else if (other->use == USE_DATABASE)
        complain("the output '%s' is the tuning database '%s'", output->path, other->path);
    else
        complain("'%s' is to be written twice%s%s%s", output->path, again ? ", also as '" : "",
                 again ? other->path : "", again ? "'" : "");
}

bool files_are_apart(Compilation *c, const Target *const *targets) {
    UsedFiles files = {0};
    add_outputs(c, targets, &files);
    add_log(c, &files);
    for (int i = 0; i < c->module->files.count; i++)
        add_file(c, &files, USE_INPUT, c->module->files.items[i]);
    for (int i = 0; i < c->options->run_inputs.count; i++)
        add_file(c, &files, USE_INPUT, c->options->run_inputs.items[i].path);
    add_database(c, &files);
    for (int i = 0; i < files.count; i++)
        for (int j = i + 1; j < files.count; j++)
            if (collide(&files.items[i], &files.items[j])) {
                refuse(&files.items[i], &files.items[j]);
                return false;
            }
    return true;
}

static bool open_log(Compilation *c) {
    const char *path = c->options->log;
    c->log = path ? record_log_open(c->arena, path) : NULL;
    if (path && !c->log)
        complain("cannot write '%s': %s", path, strerror(errno));
    return !path || c->log;
}

bool close_log(Compilation *c) {
    record_log_close(c->log);
    if (c->log && c->log->trouble)
        complain("cannot write '%s': %s", c->log->path, strerror(c->log->trouble));
    return !c->log || !c->log->trouble;
}

bool outputs_can_be_written(Compilation *c, const Target *const *targets) {
    UsedFiles files = {0};
    add_outputs(c, targets, &files);
    for (int i = 0; i < files.count; i++)
        if (!can_write_whole(files.items[i].path)) {
            complain("cannot write '%s': %s", files.items[i].path, strerror(errno));
            return false;
        }
    return open_log(c);
}

/* Inputs with the same name in several folders have the same output here. */
bool inputs_are_apart(Arena *arena, const Options *options) {
    int count = options->mode == MODE_RUN || options->mode == MODE_SYNTAX ? 0 : options->files.count;
    FileIdentity *outputs = ARENA_ARRAY(arena, FileIdentity, count + 1);
    for (int i = 0; i < count; i++) {
        const char *path = default_output(arena, options, options->files.items[i]);
        outputs[i] = file_identity(arena, path);
        for (int j = 0; j < i; j++)
            if (file_is_same(&outputs[i], &outputs[j])) {
                complain("'%s' is to be written twice, for '%s' and for '%s'", path, options->files.items[j],
                         options->files.items[i]);
                return false;
            }
    }
    return true;
}
