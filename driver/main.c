/* main.c - what the command line asks for: a subcommand, or the compilation of each file in turn. */
#include "driver/driver.h"
#include "driver/import/import.h"
#include "lang/terminal.h"
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

static int compile_all(Arena *arena, const Options *options) {
    int worst = 0;
    if (options->files.count > 1 && !inputs_are_apart(arena, options))
        return 1;
    for (int i = 0; i < options->files.count; i++) {
        int status = compile_file(options, options->files.items[i]);
        if (status > worst)
            worst = status;
    }
    return worst;
}

/* --db may be anywhere among the words. */
static int run_database_command(Arena *arena, int argc, char **argv) {
    const char *path = NULL;
    char **words = ARENA_ARRAY(arena, char *, argc + 1);
    int count = 0;
    for (int i = 2; i < argc; i++) {
        if (!strncmp(argv[i], "--db=", 5))
            path = argv[i] + 5;
        else if (!strcmp(argv[i], "--db") && i + 1 < argc)
            path = argv[++i];
        else
            words[count++] = argv[i];
    }
    path = path ? path : database_default_path(arena);
    if (!path)
        complain("there is no place for the tuning database: HOME is not set; name one with --db=FILE");
    return path ? database_command(count, words, path) : 1;
}

/* If standard input, output or error is closed, a stand-in takes its number, which no other file can get then. Nothing
 * can be read from it or written to it. */
static void keep_standard_files(void) {
    for (int i = 0; i <= STDERR_FILENO; i++) {
        int how = i == STDIN_FILENO ? O_RDONLY : O_PATH;
        if (fcntl(i, F_GETFD) < 0 && open("/dev/null", how | O_CLOEXEC) < 0)
            return;
    }
}

/* Asked before the options are read, so that errors in them are reported in JSON too. */
static bool wants_json(int argc, char **argv) {
    static const char option[] = "-fdiagnostics-format";
    const char *format = "";
    for (int i = 1; i < argc && strcmp(argv[i], "--"); i++)
        if (!strncmp(argv[i], option, strlen(option)) && argv[i][strlen(option)] == '=')
            format = argv[i] + sizeof option;
        else if (!strcmp(argv[i], option) && i + 1 < argc)
            format = argv[i + 1];
    return !strcmp(format, "json");
}

int main(int argc, char **argv) {
    keep_standard_files();
    signal(SIGPIPE,
           SIG_IGN); /* a dead worker, a closed pipe or a file that cannot grow is reported as an error, not by a
                      * signal */
    signal(SIGXFSZ, SIG_IGN);
    if (argc > 1 && !strcmp(argv[1], "--worker"))
        return worker_main(argc - 1, argv + 1);
    catch_memory_ends();
    keep_freed_memory();
    Arena *arena = arena_new();
    Options options;
    if (wants_json(argc, argv))
        json_open(stderr);
    int status;
    if (argc > 1 && !strcmp(argv[1], "db"))
        status = run_database_command(arena, argc, argv);
    else if (argc > 1 && !strcmp(argv[1], "import"))
        status = import_command(arena, argc - 2, argv + 2);
    else if (argc == 2 && !strcmp(argv[1], "help") && access(argv[1], F_OK))
        status = print_help();
    else
        status = options_read(arena, argc, argv, &options);
    if (status < 0)
        status = compile_all(arena, &options);
    arena_free(arena);
    if (!flush_standard_output()) { /* printed text must have arrived: a full disk behind it is an error too */
        complain("cannot write to standard output");
        status = status ? status : 1;
    }
    json_close();
    return status;
}
