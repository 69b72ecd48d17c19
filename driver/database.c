/* database.c - the tuning database of a compilation: opened when it is first needed, and what is said where that fails.
 */
#include "driver/driver.h"
#include <errno.h>
#include <unistd.h>

/* A search needs its database. At other levels the database only makes code faster, so compiling continues without
 * it. */
static void refuse_database(Compilation *c, const char *why, bool damaged) {
    const char *remedy = damaged ? "delete the file, or name another with --db=FILE" : "name another with --db=FILE";
    if (c->options->level == LEVEL_TUNE)
        complain("%s; %s", why, remedy);
    else
        diag(c->diagnostics, DIAG_database, (Loc){0},
             arena_printf(c->arena, "%s; compiling without it (%s)", why, remedy));
}

/* Below -O tune a missing database is not an error: nothing was tuned yet. */
Database *compilation_database(Compilation *c) {
    if (c->database || c->database_tried)
        return c->database;
    c->database_tried = true;
    const Options *o = c->options;
    const char *path = o->database ? o->database : database_default_path(c->arena), *why = "";
    bool create = o->level == LEVEL_TUNE && !o->frozen, damaged;
    if (!path) {
        if (o->level == LEVEL_TUNE)
            complain("there is no place for the tuning database: HOME is not set; name one with --db=FILE");
        return NULL;
    }
    bool there = !access(path, F_OK) || (errno != ENOENT && errno != ENOTDIR);
    if (!create && !there) {
        if (o->frozen)
            complain("there is no tuning database '%s' (--tune-frozen)", path);
        return NULL;
    }
    WaitLimit limit = {c->stop, c->tune_deadline};
    c->database =
        database_open_within(c->arena, path, create ? DATABASE_TO_WRITE : DATABASE_TO_READ, limit, &why, &damaged);
    if (!c->database)
        refuse_database(c, why, damaged);
    return c->database;
}

/* What was compiled is there by now: a read that failed is a warning. */
void close_database(Compilation *c) {
    if (c->database && database_failed(c->database))
        diag(c->diagnostics, DIAG_database, (Loc){0},
             "a record of the tuning database could not be read, so it may be damaged; where this comes again, delete "
             "the file, or name another with --db=FILE");
    database_close(c->database);
}
