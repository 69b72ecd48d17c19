/* assemble.c - a program that runs while tensorc is built: it makes parts of the runtime ready for objects to take.
 *
 *   assemble FILE.ll    prints C source: the part NAME_part (runtime.h) with its text, less the comments, and with its
 *                       assembly for each family of processors
 *
 * The assembly is optimized here, once. An object takes it as it is, in a tenth of the time that it takes to compile
 * the text. Its local labels get a prefix that those of compiled functions do not have.
 */
#include "backends/runtime/runtime.h"
#include "lang/tensorc.h"

#include <llvm-c/Core.h>
#include <llvm-c/Error.h>
#include <llvm-c/IRReader.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const Family families[] = {
#define FAMILY(name_, title_, architecture_, ...)                                                                      \
    {.name = #name_, .title = title_, .architecture = architecture_, __VA_ARGS__},
#include "lang/families.def"
#undef FAMILY
};
enum { FAMILY_COUNT = sizeof families / sizeof *families };

static _Noreturn void fail(const char *what, const char *why) {
    fprintf(stderr, "assemble: %s: %s\n", what, why ? why : "out of memory");
    exit(1);
}

/* --- text --- */

/* "dir/NAME.ll" -> NAME */
static const char *name_of(const char *path) {
    static char name[64];
    const char *base = strrchr(path, '/');
    snprintf(name, sizeof name, "%s", base ? base + 1 : path);
    name[strcspn(name, ".")] = '\0';
    return name;
}

/* The file without what follows a ';' on its lines, and without empty lines. The caller frees it. */
static char *read_text(const char *path) {
    FILE *file = fopen(path, "r"), *stream;
    char *text = NULL, *line = NULL;
    size_t bytes = 0, room = 0;
    if (!file || !(stream = open_memstream(&text, &bytes)))
        fail(path, "cannot be read");
    while (getline(&line, &room, file) >= 0) {
        size_t length = strcspn(line, ";\n");
        while (length && line[length - 1] == ' ')
            length--;
        if (length)
            fprintf(stream, "%.*s\n", (int)length, line);
    }
    free(line);
    fclose(file);
    fclose(stream);
    return text;
}

/* The text with something else in all places of a word. The caller frees it. */
static char *replace(const char *text, const char *word, const char *by) {
    char *result = NULL;
    size_t bytes = 0;
    FILE *stream = open_memstream(&result, &bytes);
    if (!stream)
        fail(word, NULL);
    for (const char *at; (at = strstr(text, word)); text = at + strlen(word))
        fprintf(stream, "%.*s%s", (int)(at - text), text, by);
    fputs(text, stream);
    fclose(stream);
    return result;
}

static void print_string(const char *text) {
    fputs("\n        \"", stdout);
    for (; *text; text++)
        if (*text == '\n')
            fputs(text[1] ? "\\n\"\n        \"" : "\\n", stdout);
        else if (*text == '\t')
            fputs("\\t", stdout);
        else
            printf(*text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
    fputs("\"", stdout);
}

/* --- assembly --- */

static LLVMTargetMachineRef machine_of(const Family *family, char *triple, size_t room) {
    LLVMTargetRef target;
    char *why = NULL;
    snprintf(triple, room, "%s-unknown-linux-gnu", family->architecture);
    if (LLVMGetTargetFromTriple(triple, &target, &why))
        fail(triple, why);
    return LLVMCreateTargetMachine(target, triple, "", "", LLVMCodeGenLevelDefault, LLVMRelocPIC, LLVMCodeModelDefault);
}

static LLVMModuleRef parse(LLVMContextRef context, const char *text, const char *path) {
    LLVMMemoryBufferRef buffer = LLVMCreateMemoryBufferWithMemoryRange(text, strlen(text), path, true);
    LLVMModuleRef module;
    char *why = NULL;
    if (LLVMParseIRInContext(context, buffer, &module, &why))
        fail(path, why);
    return module;
}

static void optimize(LLVMModuleRef module, LLVMTargetMachineRef machine) {
    LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
    LLVMErrorRef error = LLVMRunPasses(module, "default<Os>", machine, options);
    if (error)
        fail("passes", LLVMGetErrorMessage(error));
    LLVMDisposePassBuilderOptions(options);
}

/* The assembly of the text. The caller frees it. */
static char *assemble(const char *text, const Family *family, const char *path) {
    char triple[64], *why = NULL;
    LLVMTargetMachineRef machine = machine_of(family, triple, sizeof triple);
    LLVMContextRef context = LLVMContextCreate();
    LLVMModuleRef module = parse(context, text, path);
    LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(machine);
    LLVMMemoryBufferRef buffer;
    LLVMSetModuleDataLayout(module, layout);
    LLVMSetTarget(module, triple);
    optimize(module, machine);
    if (LLVMTargetMachineEmitToMemoryBuffer(machine, module, LLVMAssemblyFile, &why, &buffer))
        fail(triple, why);
    char prefix[80];
    snprintf(prefix, sizeof prefix, ".L%s.", name_of(path));
    char *assembly = replace(LLVMGetBufferStart(buffer), ".L", prefix);
    LLVMDisposeMemoryBuffer(buffer);
    LLVMDisposeTargetData(layout);
    LLVMDisposeModule(module);
    LLVMContextDispose(context);
    LLVMDisposeTargetMachine(machine);
    return assembly;
}

/* Directives that speak of the whole object, and remarks, are left out. */
static char *without_directives(char *assembly) {
    static const char *const left_out[] = {"\t.file\t", "\t.ident\t", "\t.addrsig", "\t.section\t\".note.GNU-stack\"",
                                           "\t#",       "#",          "//"};
    char *text = NULL, *end;
    size_t bytes = 0;
    FILE *stream = open_memstream(&text, &bytes);
    for (char *line = assembly; stream && *line; line = end) {
        bool kept = true;
        end = line + strcspn(line, "\n");
        end += *end == '\n';
        for (size_t i = 0; i < sizeof left_out / sizeof *left_out; i++)
            kept &= strncmp(line, left_out[i], strlen(left_out[i])) != 0;
        if (kept)
            fwrite(line, 1, (size_t)(end - line), stream);
    }
    if (!stream || fclose(stream))
        fail("assembly", NULL);
    free(assembly);
    return text;
}

/* --- the source --- */

static void print_part(const char *path) {
    char *text = read_text(path);
    puts("/* Made by backends/runtime/assemble.c. */\n#include \"backends/runtime/runtime.h\"\n");
    printf("const RuntimePart %s_part = {\n    .name = \"%s.ll\",\n    .text =", name_of(path), name_of(path));
    print_string(text);
    printf(",\n    .assemblies = {\n");
    for (int f = 0; f < FAMILY_COUNT; f++) {
        char *own = replace(text, RUNTIME_RELAX, families[f].relax);
        char *assembly = without_directives(assemble(own, &families[f], path));
        printf("        {\"%s\",", families[f].name);
        print_string(assembly);
        printf("},\n");
        free(own);
        free(assembly);
    }
    printf("        {0}}};\n");
    free(text);
}

int main(int count, char **arguments) {
    if (count != 2) {
        fprintf(stderr, "usage: assemble FILE.ll\n");
        return 2;
    }
    LLVMInitializeAllTargetInfos();
    LLVMInitializeAllTargets();
    LLVMInitializeAllTargetMCs();
    LLVMInitializeAllAsmPrinters();
    LLVMInitializeAllAsmParsers();
    print_part(arguments[1]);
    return ferror(stdout) || fflush(stdout) ? 1 : 0;
}
