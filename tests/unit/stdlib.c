/* The embedded standard library: found by name, and the same bytes as the files it was made of. */
#include "stdlib/stdlib.h"
#include "tests/tap.h"
#include <stdlib.h>

static bool same_as_file(const StdlibFile *embedded) {
    char path[4096];
    const char *sources = getenv("srcdir");
    snprintf(path, sizeof path, "%s/stdlib/%s.tensor", sources ? sources : ".", embedded->name);
    FILE *file = fopen(path, "rb");
    if (!file)
        return false;
    size_t at = 0;
    int byte;
    while ((byte = getc(file)) != EOF && at < embedded->length && embedded->text[at] == (char)byte)
        at++;
    fclose(file);
    return byte == EOF && at == embedded->length;
}

int main(void) {
    ok(stdlib_find("nn") != NULL && stdlib_find("instr") != NULL, "nn and instr are there");
    ok(stdlib_find("n") == NULL && stdlib_find("") == NULL, "other names are not");
    for (const StdlibFile *file = stdlib_files; file->name; file++) {
        ok(stdlib_find(file->name) == file, "%s is found", file->name);
        ok(same_as_file(file), "%s.tensor is embedded byte for byte", file->name);
    }
    return done_testing();
}
