/* merge.c - objects that are merged are one object: programs of two C texts, merged, linked and run. */
#include "lang/files.h"
#include "objects.h"
#include "tests/tap.h"

#include <stdlib.h>
#include <string.h>

static const char *folder;

/* The object of two texts; NULL when they are refused. */
static char *merged_of(Arena *arena, const char *first, const char *second, size_t *bytes) {
    size_t counts[2];
    char *objects[] = {compile_c(arena, first, &counts[0]), compile_c(arena, second, &counts[1])};
    if (!objects[0] || !objects[1]) {
        diag_line("the C compiler fails");
        exit(1);
    }
    return objects_merge(objects, counts, 2, bytes);
}

static const char *path_of(Arena *arena, const char *name) {
    return arena_printf(arena, "%s/%s", folder, name);
}

/* Whether a program with the merged object and a main of C returns 0. */
static bool runs(Arena *arena, const char *merged, size_t bytes, const char *text) {
    const char *object = path_of(arena, "merged.o"), *source = path_of(arena, "main.c");
    const char *program = path_of(arena, "program");
    return write_whole(object, merged, bytes) && write_whole(source, text, strlen(text)) &&
           command_works(
               arena_printf(arena, "%s -w -o '%s' '%s' '%s' && '%s'", c_compiler(), program, source, object, program));
}

static bool command_on_merged(Arena *arena, const char *command) {
    return command_works(arena_printf(arena, command, path_of(arena, "merged.o")));
}

static void test_calls_and_data(Arena *arena) {
    size_t bytes;
    char *merged = merged_of(arena,
                             "extern int table[4]; int second(int), calls(void);\n"
                             "static int count; static const char *words[] = {\"one\", \"two\"};\n"
                             "__attribute__((visibility(\"hidden\"))) int inner(int x) { count++; return x + 1; }\n"
                             "int first(int x) { return inner(x) + table[x] + second(x); }\n"
                             "int first_count(void) { return count; }\n"
                             "const char *word(int i) { return words[i]; }\n",
                             "__attribute__((visibility(\"hidden\"))) int inner(int x);\n"
                             "static int count = 10; static const char *words[] = {\"two\", \"three\"};\n"
                             "static double scale(double x) { return x * 3.25; }\n"
                             "int table[4] = {5, 6, 7, 8}; int none[1000];\n"
                             "int second(int x) { count += 2; none[x] = inner(x); return (int)scale(none[x]); }\n"
                             "int second_count(void) { return count; }\n"
                             "const char *other(int i) { return words[i]; }\n",
                             &bytes);
    ok(merged, "two objects that use each other are merged");
    if (!merged)
        return;
    ok(runs(arena, merged, bytes,
            "#include <string.h>\n"
            "int first(int), first_count(void), second_count(void); const char *word(int), *other(int);\n"
            "int inner(int x) { return 99; }\n"
            "int main(void) { int got = first(2);\n"
            "    return got != 3 + 7 + 9 || first_count() != 2 || second_count() != 12 || inner(0) != 99 ||\n"
            "           strcmp(word(0), \"one\") || strcmp(word(1), other(0)) || strcmp(other(1), \"three\"); }\n"),
       "calls, data of all kinds, strings; a hidden name is the object's own");
    ok(command_on_merged(arena, "readelf -SrsW '%s' 2>&1 | grep -i -e warning -e error | grep -q . && exit 1; exit 0"),
       "readelf finds no fault");
    ok(command_on_merged(arena, "test $(readelf -SW '%s' | grep -c ' \\.text ') = 1"), "sections of a name are one");
    free(merged);
}

/* Assembly that a text brings along, in a group that linkers keep once. */
#define GROUP                                                                                                          \
    "__asm__(\".section .text.shared,\\\"axG\\\",@progbits,shared,comdat\\n.weak shared\\n.hidden shared\\n\"\n"       \
    "        \".type shared,@function\\nshared:\\n\" RETURN_7 \"\\n.size shared, .-shared\\n.text\\n\");\n"
#define RETURNING                                                                                                      \
    "#if defined __x86_64__\n#define RETURN_7 \"movl $7, %eax\\nret\"\n"                                               \
    "#else\n#define RETURN_7 \"mov w0, #7\\nret\"\n#endif\n"

static void test_groups(Arena *arena) {
    static const char uses[] = "__attribute__((visibility(\"hidden\"))) extern int shared(void);\n"
                               "int both(void); int second(void) { return shared(); }\n";
    static const char brings[] = RETURNING GROUP "int shared(void), second(void);\n"
                                                 "int both(void) { return shared() + second(); }\n";
    size_t bytes;
    char *merged = merged_of(arena, brings, uses, &bytes);
    ok(merged && runs(arena, merged, bytes,
                      RETURNING GROUP "int both(void), shared(void);\n"
                                      "int main(void) { return both() + shared() != 21; }\n"),
       "what is in a group stays there: a linker keeps one of it");
    ok(command_on_merged(arena, "readelf -gW '%s' | grep -q 'COMDAT group.*\\[shared\\] contains 1 section'"),
       "the group is named by its symbol");
    free(merged);
}

static void test_refused(Arena *arena) {
    size_t bytes, count;
    char *object = compile_c(arena, "int f(void) { return 1; }\n", &count);
    char *garbage = arena_strdup(arena, "this is no object, whatever its name says, and it is longer than a header is");
    ok(!merged_of(arena, "int f(void) { return 1; }\n", "int f(void) { return 2; }\n", &bytes),
       "two definitions of a name are refused");
    ok(!objects_merge((char *[]){object, garbage}, (size_t[]){count, strlen(garbage)}, 2, &bytes),
       "what is no object is refused");
    ok(!objects_merge((char *[]){object, object}, (size_t[]){count, 20}, 2, &bytes), "half an object is refused");
}

int main(void) {
    Arena *arena = arena_new();
    folder = work_folder_make(arena);
    test_calls_and_data(arena);
    test_groups(arena);
    test_refused(arena);
    work_folder_remove(folder);
    arena_free(arena);
    done_testing();
}
