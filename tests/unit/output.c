/* output.c - headers, make rules, and files written whole or not at all. */
#include "backends/backends.h"
#include "lang/files.h"
#include "objects.h"
#include "schedules.h"
#include "tests/tap.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char *folder;

static const char *at(Arena *arena, const char *name) {
    return arena_printf(arena, "%s/%s", folder, name);
}

static bool holds(const char *path, const char *text) {
    char found[256] = "";
    FILE *file = fopen(path, "r");
    size_t length = file ? fread(found, 1, sizeof found - 1, file) : 0;
    if (file)
        fclose(file);
    return file && length == strlen(text) && memcmp(found, text, length) == 0;
}

static int file_count(void) {
    DIR *list = opendir(folder);
    int count = 0;
    for (struct dirent *entry; (entry = readdir(list));)
        count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    closedir(list);
    return count;
}

/* --- files --- */

static void test_new_and_old(Arena *arena) {
    struct stat info;
    const char *path = at(arena, "a.o"), *link = at(arena, "link"), *dangling = at(arena, "dangling");
    umask(027);
    ok(write_whole(path, "one", 3) && holds(path, "one"), "a new file");
    ok(stat(path, &info) == 0 && (info.st_mode & 0777) == 0640, "with the permissions of the umask");
    ok(chmod(path, 0755) == 0 && write_whole(path, "second", 6) && holds(path, "second"), "an old file");
    ok(stat(path, &info) == 0 && (info.st_mode & 0777) == 0755, "keeps its permissions");
    ok(symlink("a.o", link) == 0 && write_whole(link, "3", 1) && holds(path, "3"), "through a link");
    ok(lstat(link, &info) == 0 && S_ISLNK(info.st_mode), "which stays one");
    ok(symlink("b.o", dangling) == 0 && write_whole(dangling, "4", 1) && holds(at(arena, "b.o"), "4"),
       "through a link to what is not there yet");
    ok(write_whole(path, "", 0) && holds(path, ""), "an empty file");
    FilePart parts[] = {{"on", 2}, {"", 0}, {"e", 1}};
    ok(write_whole_parts(path, parts, 3) && holds(path, "one"), "of parts");
    is_int(file_count(), 4, "no other files");
}

static bool fails_with(const char *path, int error) {
    errno = 0;
    return !write_whole(path, "text", 4) && errno == error;
}

static void test_failures(Arena *arena) {
    int before = file_count();
    ok(fails_with(at(arena, "none/a.o"), ENOENT), "a folder that is not there");
    ok(fails_with(folder, EISDIR), "a folder itself");
    ok(fails_with("", ENOENT), "no name");
    ok(fails_with(at(arena, "a.o/b"), ENOTDIR), "below a file");
    ok(symlink("loop", at(arena, "loop")) == 0 && fails_with(at(arena, "loop"), ELOOP), "a link to itself");
    unlink(at(arena, "loop"));
    if (access("/dev/full", W_OK) == 0)
        ok(fails_with("/dev/full", ENOSPC), "a full device");
    else
        skip(1, "no /dev/full");
    ok(write_whole("/dev/null", "text", 4), "a device");
    if (geteuid() == 0)
        skip(1, "root may write everywhere");
    else
        ok(chmod(at(arena, "a.o"), 0444) == 0 && fails_with(at(arena, "a.o"), EACCES),
           "a file that must not be written");
    is_int(file_count(), before, "nothing is left behind");
}

/* What waits to be printed on a full device is lost, which is said by the write after it, and by nothing later. */
static void test_full_output(void) {
    if (access("/dev/full", W_OK) != 0) {
        skip(1, "no /dev/full");
        return;
    }
    int status;
    fflush(NULL);
    pid_t child = fork();
    if (!child) {
        int full = open("/dev/full", O_WRONLY);
        bool ready = full >= 0 && dup2(full, STDOUT_FILENO) >= 0 && printf("before") > 0;
        _exit(!ready || !fails_with("-", ENOSPC) ? 1 : ferror(stdout) ? 2 : fflush(stdout) ? 3 : 0);
    }
    waitpid(child, &status, 0);
    ok(WIFEXITED(status) && WEXITSTATUS(status) == 0, "full standard output fails once");
}

static _Noreturn void write_often(Arena *arena, char letter) {
    char text[200];
    memset(text, letter, sizeof text);
    for (int i = 0; i < 200; i++)
        if (!write_whole(at(arena, "shared"), text, 100 + (size_t)i % 100))
            _exit(1);
    _exit(0);
}

/* Several processes write one file, some of which are killed: it is whole, and what they left goes with the next write.
 */
static void test_together(Arena *arena) {
    enum { WRITERS = 6, KILLED = 3 };
    int before = file_count(), failed = 0, status;
    pid_t writers[WRITERS];
    fflush(NULL);
    for (int i = 0; i < WRITERS; i++)
        if (!(writers[i] = fork()))
            write_often(arena, (char)('a' + i));
    for (int i = 0; i < KILLED; i++) {
        nanosleep(&(struct timespec){0, 2000000}, NULL);
        kill(writers[i], SIGKILL);
    }
    for (int i = 0; i < WRITERS; i++)
        failed += waitpid(writers[i], &status, 0) != writers[i] || (i >= KILLED && status != 0);
    is_int(failed, 0, "several processes write one file");
    FILE *file = fopen(at(arena, "shared"), "r");
    char text[256] = "";
    size_t length = file ? fread(text, 1, sizeof text, file) : 0;
    if (file)
        fclose(file);
    ok(length >= 100 && length < 200 && strspn(text, (char[]){text[0], 0}) == length, "which is whole");
    ok(write_whole(at(arena, "shared"), "x", 1), "and written again");
    ok(unlink(at(arena, "shared")) == 0 && file_count() == before, "nothing is left of those that were killed");
}

/* A pipe of a name is written, not replaced. */
static void test_pipe(Arena *arena) {
    const char *path = at(arena, "pipe");
    char text[8] = "";
    int file = mkfifo(path, 0600) == 0 ? open(path, O_RDWR | O_NONBLOCK) : -1;
    ok(file >= 0 && write_whole(path, "text", 4) && read(file, text, 7) == 4 && !strcmp(text, "text"), "a pipe");
    close(file);
    unlink(path);
}

static bool same(Arena *arena, const char *a, const char *b) {
    FileIdentity one = file_identity(arena, a), two = file_identity(arena, b);
    return file_is_same(&one, &two);
}

static void test_identity(Arena *arena) {
    const char *path = at(arena, "same.o"), *there = at(arena, "there.o"), *link = at(arena, "linked");
    write_whole(there, "x", 1);
    ok(same(arena, there, at(arena, "./there.o")), "a file through ./");
    ok(!same(arena, there, path), "two files");
    ok(same(arena, path, at(arena, ".//same.o")), "a file that is not there yet, through ./");
    ok(symlink("same.o", link) == 0 && same(arena, path, link), "and through a link");
    unlink(link);
    ok(symlink(folder, link) == 0 && same(arena, path, arena_printf(arena, "%s/same.o", link)),
       "and through a link to its folder");
    unlink(link);
    ok(linkat(AT_FDCWD, there, AT_FDCWD, link, 0) == 0 && same(arena, there, link), "a file of two names");
    unlink(link);
    ok(same(arena, at(arena, "new/deep/x"), at(arena, "new/./other/../deep/x")), "in a folder that is not there yet");
    ok(!same(arena, at(arena, "new/deep/x"), at(arena, "new/x")), "two of them");
    ok(!same(arena, "-", "-") && !same(arena, "/dev/null", "/dev/null"), "standard output and devices take several");
    unlink(there);
}

/* --- make rules --- */

static void test_depfile(Arena *arena) {
    static const char *const files[] = {"a b.tensor", "c$d#e.tensor", "p:q\\ r"};
    is_text(emit_depfile(arena, "k.o", files, 1, true), "k.o: a\\ b.tensor\n", "one file");
    is_text(
        emit_depfile(arena, "k.o x.o", files, 3, true),
        "k.o x.o: \\\n  a\\ b.tensor \\\n  c$$d\\#e.tensor \\\n  p\\:q\\\\\\ r\n\nc$$d\\#e.tensor:\n\np\\:q\\\\\\ r:\n",
        "several, with rules of their own");
    is_text(make_escape(arena, "my file.o"), "my\\ file.o", "a target's name");
}

/* make agrees: it rebuilds when a file of an odd name changes, and finds it. */
static void test_make(Arena *arena) {
    static const char *const names[] = {"in put$1#2.tensor"};
    const char *rule = emit_depfile(arena, "out", names, 1, false);
    const char *makefile = arena_printf(arena, "%s\t@echo made >$@\n", rule);
    const char *run = arena_printf(arena, "cd %s && make -s -f rules out", folder);
    if (!command_works("make --version")) {
        skip(2, "needs make");
        return;
    }
    ok(write_whole(at(arena, "rules"), makefile, strlen(makefile)) && !command_works(run), "make misses the file");
    ok(write_whole(at(arena, names[0]), "", 0) && command_works(run) && holds(at(arena, "out"), "made\n"),
       "make finds it");
}

/* --- headers --- */

static const char header_text[] = "def blur(half(H, W) register, bool(H) I, float new, const float(3) f) -> (O, O_) {\n"
                                  "    O(h, w) = register(h, w) * half(f(0)) where w in 1:W\n"
                                  "    O_(h, w) += (I(h) ? new : float(register(h, w))) + f(1)\n}\n";
static const char twice_text[] = "def rows(float(V, D) table, int32(L) ids) -> (O, P) {\n"
                                 "    O(l, d) = table(ids(l), d)\n    P(l, d) = table(ids(l), d) * 2\n}\n";

static int count_of(const char *text, const char *part) {
    int count = 0;
    while ((text = strstr(text, part)) != NULL)
        count++, text++;
    return count;
}

static int requirements_of(Arena *arena, const char *text, const char **header) {
    const Program *program = program_of_text(arena, text, NULL, 0);
    *header = emit_header(arena, &program, 1, "f.h", "f.tensor");
    return count_of(*header, " * Requires ") - program->size_count;
}

/* What follows from the requirement beside it is neither said nor checked. */
static void test_implied(Arena *arena) {
    const char *header;
    is_int(requirements_of(arena,
                           "def f(float(N) a, float(C) w) -> (y) { y(i) = a(i) * w(0) + a(i) * w(1) + w(2) }\n"
                           "export f\n",
                           &header),
           1, "of three extents the largest");
    is_int(count_of(header, "Requires 3 <= C || N <= 0."), 1, "also where no element may be read");
    is_int(requirements_of(arena,
                           "def f(int32(N) x, float(N) v) -> (float(B) h) where B > 0 { h(x(i) % B) +=! v(i) }\n"
                           "export f\n",
                           &header),
           1, "a remainder by the extent is inside, and the divisor not 0");
    is_int(count_of(header, "Requires B > 0."), 1, "where the header says so");
    is_int(requirements_of(arena, "def f(int32(N) x, float(B) v) -> (y) { y(i) = v(x(i) % (B - 1)) }\nexport f\n",
                           &header),
           2, "but not if the divisor may be negative");
    is_int(requirements_of(arena,
                           "def f(int32(N) x, float(B) v) -> (y) where B > 7 { y(i) = v(x(i) % 8) * v(x(i) % 9) }\n"
                           "export f\n",
                           &header),
           2, "or larger than the extent");
    requirements_of(arena,
                    "def f(float(N, M) a, float(G) s) -> (y) { y(i, j) = a(i, j) * (j / (M / G) + s(0)) }\nexport f\n",
                    &header);
    is_int(count_of(header, "1 <= G"), 0, "a divisor that is not 0 has one more than 0");
    ok(strstr(header, "Requires G != 0.\n * Requires M / G != 0.\n"), "what divides is checked in its order");
    requirements_of(arena, "def f(float(N) a, float(M) b) -> (c) { c(i) = a(i + 3) + b(i) + b(i + 1) }\nexport f\n",
                    &header);
    ok(strstr(header, "c: written, float(min(M, N - 2) - 1)\n"), "a minimum has no operand that another one implies");
    requirements_of(arena, "def f(float(N, int, H) I) -> (y) { y(i, j) = I(i, 0, j) }\nexport f\n", &header);
    ok(strstr(header, " I_: float(N, int_, H)\n") && strstr(header, "Requires I_ to have less") &&
           strstr(header, "Requires 1 <= int_ || "),
       "names are those of the prototype everywhere");
}

static void test_requirements(Arena *arena) {
    const Program *program = program_of_text(arena, twice_text, NULL, 0);
    const char *header = emit_header(arena, &program, 1, "rows.h", "rows.tensor");
    is_int(count_of(header, "Requires 0 <= ids(l) < V."), 1, "what two reads require is said once");
    is_int(count_of(header, "Requires table to have less than 2^63 bytes.\n"), 1, "that bytes fit is said in words");
    is_int(count_of(header, "O to have less than 2^63 bytes"), 1, "of results, too");
    is_int(count_of(header, "max("), 0, "and only so");
}

static void test_header(Arena *arena) {
    const Program *program = program_of_text(arena, header_text, (struct Binding[]){{"H", 7}}, 1);
    const char *header = emit_header(arena, &program, 1, "my-k.h", "odd */ name.tensor");
    ok(strstr(header, "int blur(int64_t W, const uint16_t *register_, const uint8_t *I_, float new_, const float *f, "
                      "uint16_t *O, float *O_);"),
       "the prototype: sizes, arguments, outputs, names that C and C++ allow");
    ok(strstr(header, "half(7, W)") && strstr(header, "H = 7"), "shapes and what was bound");
    ok(strstr(header, "element 0 is O(0, 1)"), "what indices count from");
    ok(strstr(header, "O_: read and written"), "an output whose old contents count");
    ok(strstr(header, "#define TENSORC_BAD_INDEX 2"), "statuses");
    ok(strstr(header, "struct blur_packed_f;\nint64_t blur_packed_f_size(void);\n"
                      "int blur_pack_f(const float *from, struct blur_packed_f *to);"),
       "what packs an argument, and the type of what it packs");
    const char *other = emit_header(arena, &program, 1, "my_k.h", "x.tensor");
    const char *guard = strstr(header, "#ifndef MY_K_H"), *other_guard = strstr(other, "#ifndef MY_K_H");
    ok(guard && other_guard && strcspn(guard, "\n") != strcspn(other_guard, "\n"), "guards of two headers differ");
    if (!header || !ok(write_whole(at(arena, "my-k.h"), header, strlen(header)), "written"))
        return;
    const char *twice = "#include \"my-k.h\"\n#include \"my-k.h\"\n#include \"tensorc_runtime.h\"\nint x;\n";
    const char *srcdir = getenv("srcdir") ? getenv("srcdir") : ".";
    write_whole(at(arena, "t.c"), twice, strlen(twice));
    const char *flags = arena_printf(arena, "-I%s -I%s/backends/runtime", folder, srcdir);
    ok(command_works(arena_printf(arena, "%s -std=c99 -pedantic -Wall -Wextra -Werror %s -fsyntax-only %s/t.c",
                                  c_compiler(), flags, folder)),
       "C99 takes it twice, beside the runtime's header");
    if (command_works("c++ --version"))
        ok(command_works(arena_printf(arena, "c++ -x c++ -std=c++98 -Wall -Wextra -Werror %s -fsyntax-only %s/t.c",
                                      flags, folder)),
           "and so does C++");
    else
        skip(1, "needs c++");
}

int main(void) {
    Arena *arena = arena_new();
    folder = work_folder_make(arena);
    test_new_and_old(arena);
    test_failures(arena);
    test_full_output();
    test_pipe(arena);
    test_together(arena);
    test_identity(arena);
    test_depfile(arena);
    test_make(arena);
    test_header(arena);
    test_requirements(arena);
    test_implied(arena);
    work_folder_remove(folder);
    arena_free(arena);
    return done_testing();
}
