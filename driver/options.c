/* options.c - reads the command line by the table in options.def.
 *
 * Options that take a name (target, search, cost model, letters) list the names for the value "help". Every usage error
 * is one line and ends with exit status 2.
 */
#include "driver/options.h"
#include "backends/backends.h"
#include "config.h"
#include "driver/driver.h"
#include "lang/spelling.h"
#include "lang/terminal.h"
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef enum OptionForm { FORM_FLAG, FORM_JOINED, FORM_EQUALS, FORM_PREFIX } OptionForm;
typedef enum OptionGroup {
    GROUP_OUTPUT,
    GROUP_CODE,
    GROUP_TUNE,
    GROUP_REPORT,
    GROUP_MAKE,
    GROUP_MESSAGES,
    GROUP_COUNT
} OptionGroup;
typedef enum OptionId {
#define OPTION(id, ...) OPT_##id,
#include "driver/options.def"
#undef OPTION
    OPT_COUNT
} OptionId;

/* An option on the command line, for the reader of its row. */
typedef struct GivenOption {
    Arena *arena;
    const char *spelling, *text; /* text: the value; NULL: of a flag */
    int number;                  /* of the row */
    Options *options;
    void *to; /* the row's field of them */
} GivenOption;
typedef int ReadOption(const GivenOption *given); /* returns STATUS_GO_ON, or the status to end with */
#define OPTION(id, form, spelling, argument, group, reader, field, number, help) static ReadOption read_##reader;
#include "driver/options.def"
#undef OPTION

static const struct OptionRow {
    OptionForm form;
    const char *spelling, *argument;
    OptionGroup group;
    ReadOption *read;
    size_t offset; /* of the field in Options */
    int number;
    const char *help;
} rows[OPT_COUNT] = {
#define OPTION(id, form, spelling, argument, group, reader, field, number, help)                                       \
    {FORM_##form, spelling, argument, GROUP_##group, read_##reader, offsetof(Options, field), number, help},
#include "driver/options.def"
#undef OPTION
};

static const char *const group_titles[GROUP_COUNT] = {"What to write", "Code", "Tuning", "Reports", "Make", "Messages"};

enum { STATUS_GO_ON = -1, STATUS_USAGE = 2 };

void complain(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    show_error_list("command_line", "", format, arguments);
    va_end(arguments);
}

/* --- help --- */

static void print_option(const struct OptionRow *row) {
    char left[64];
    const char *separator = row->form == FORM_EQUALS ? "=" : row->form == FORM_JOINED ? " " : "";
    snprintf(left, sizeof left, "%s%s%s", row->spelling, *row->argument ? separator : "", row->argument);
    printf("  %-22s", left);
    const char *pad = strlen(left) >= 22 ? "\n                        " : "";
    for (const char *line = row->help; *line;) {
        size_t length = strcspn(line, "\n");
        printf("%s%.*s\n", pad, (int)length, line);
        line += length + (line[length] == '\n');
        pad = "                        ";
    }
}

int print_help(void) {
    puts("usage: tensorc [options] FILE.tensor ...   compile tensor comprehensions to objects\n"
         "       tensorc import NET.onnx [-o NET.tensor] [-DSIZE=NUMBER]   make source of an ONNX model\n"
         "       tensorc db COMMAND                  look after the tuning database ('tensorc db help')");
    for (int group = 0; group < GROUP_COUNT; group++) {
        printf("\n%s:\n", group_titles[group]);
        for (int i = 0; i < OPT_COUNT; i++)
            if ((int)rows[i].group == group && *rows[i].help)
                print_option(&rows[i]);
    }
    puts("\nOperators: import \"nn\" and import \"instr\"; OPERATORS.md, beside README.md, lists them.");
    puts("Exit status: 0 done, 1 errors in the input or in writing, 2 wrong usage, 3 internal error.");
    return 0;
}

static int print_settings(const NamedChoice *choice) {
    const Setting *setting = choice->settings;
    if (!setting)
        printf("%s has no settings\n", choice->name);
    for (; setting && setting->name; setting++)
        if (setting->kind == SETTING_FLAG)
            printf("  %-16s %s\n", setting->name, setting->summary);
        else if (setting->kind == SETTING_WORD)
            printf("  %-16s %s (%s)\n", setting->name, setting->summary, setting->words[(int)setting->standard]);
        else
            printf("  %-16s %s (%g)\n", setting->name, setting->summary, setting->standard);
    return 0;
}

static int print_choices(const NamedChoice *choices) {
    for (; choices->name; choices++)
        printf("  %-16s %s\n", choices->name, choices->summary);
    return 0;
}

static int print_letters(void) {
    puts("  p                the syntax tree\n"
         "  c                the checked program\n"
         "  n                the loop nest of the schedule, and the loops that are built from it");
    for (int i = 0; i < pass_count; i++)
        printf("  %c                %s: %s\n", pass_table[i].letter, pass_table[i].name, pass_table[i].summary);
    return 0;
}

/* --- values --- */

static int usage(const char *format, ...) __attribute__((format(printf, 1, 2)));
static int usage(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    show_error_list("usage", " (see tensorc --help)", format, arguments);
    va_end(arguments);
    return STATUS_USAGE;
}

static int read_integer(const char *spelling, const char *text, int64_t low, int64_t high, int64_t *value) {
    char *end;
    errno = 0;
    long long number = strtoll(text, &end, 0);
    if (!*text || *end || errno)
        return usage("%s needs an integer, not '%s'", spelling, text);
    if (number < low || number > high)
        return usage("%s needs an integer from %lld to %lld, not %s", spelling, (long long)low, (long long)high, text);
    *value = number;
    return STATUS_GO_ON;
}

/* The row's number is the least count. */
static int read_count(const GivenOption *given) {
    int64_t number = 0;
    int status = read_integer(given->spelling, given->text, given->number, INT_MAX, &number);
    if (status == STATUS_GO_ON)
        *(int *)given->to = (int)number;
    return status;
}

static int read_seed(const GivenOption *given) {
    char *end;
    errno = 0;
    *(uint64_t *)given->to = strtoull(given->text, &end, 0);
    if (!*given->text || *end || errno || *given->text == '-')
        return usage("%s needs an integer that is not negative, not '%s'", given->spelling, given->text);
    return STATUS_GO_ON;
}

static int read_time(const GivenOption *given) {
    char *end;
    double number = strtod(given->text, &end);
    static const struct {
        const char *unit;
        double seconds;
    } units[] = {{"", 1}, {"s", 1}, {"m", 60}, {"min", 60}, {"h", 3600}};
    for (size_t i = 0; end != given->text && i < sizeof units / sizeof *units; i++)
        if (!strcmp(end, units[i].unit) && number > 0 && isfinite(number)) {
            *(double *)given->to = number * units[i].seconds;
            return STATUS_GO_ON;
        }
    return usage("%s needs a time such as 90s, 15m or 2h, not '%s'", given->spelling, given->text);
}

static int read_error(const GivenOption *given) {
    char *end;
    double number = strtod(given->text, &end);
    if (end == given->text || *end || !(number >= 0 && number < 1))
        return usage("%s needs a number from 0 to 1, not '%s'", given->spelling, given->text);
    *(double *)given->to = number;
    return STATUS_GO_ON;
}

static int read_define(const GivenOption *given) {
    const char *text = given->text, *equals = strchr(text, '=');
    size_t length = equals ? (size_t)(equals - text) : 0;
    if (!length || strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") != length)
        return usage("-D needs NAME=VALUE, not '%s'", text);
    Define define = {.name = arena_strndup(given->arena, text, length)};
    int status =
        read_integer(arena_printf(given->arena, "-D%s", define.name), equals + 1, INT64_MIN, INT64_MAX, &define.value);
    list_push(given->arena, &given->options->defines, define);
    return status;
}

static int read_named_file(const GivenOption *given) {
    const char *text = given->text, *equals = strchr(text, '=');
    if (!equals || equals == text || !equals[1])
        return usage("%s needs NAME=FILE.npy, not '%s'", given->spelling, text);
    NamedFile file = {.name = arena_strndup(given->arena, text, (size_t)(equals - text)), .path = equals + 1};
    list_push(given->arena, (NamedFiles *)given->to, file);
    return STATUS_GO_ON;
}

static int read_level(const GivenOption *given) {
    static const char *const names[] = {"0", "1", "2", "3", "tune"};
    if (!*given->text) { /* -O alone, as for cc */
        *(Level *)given->to = LEVEL_1;
        return STATUS_GO_ON;
    }
    for (int i = 0; i < 5; i++)
        if (!strcmp(given->text, names[i])) {
            *(Level *)given->to = (Level)i;
            return STATUS_GO_ON;
        }
    return usage("-O needs 0, 1, 2, 3 or tune, not '%s'", given->text);
}

static int read_targets(const GivenOption *given) {
    if (!strcmp(given->text, "help"))
        return print_targets();
    given->options->targets.count = 0;
    for (const char *at = given->text;; at++) {
        size_t length = strcspn(at, ",");
        if (!length)
            return usage("--target needs names, not '%s'", given->text);
        list_push(given->arena, &given->options->targets, arena_strndup(given->arena, at, length));
        at += length;
        if (!*at)
            return STATUS_GO_ON;
    }
}

static int read_text(const GivenOption *given) {
    *(const char **)given->to = given->text;
    return *given->text ? STATUS_GO_ON : usage("%s needs a name", given->spelling);
}

static int read_choice(const GivenOption *given, const NamedChoice *choices) {
    if (!strcmp(given->text, "help"))
        return print_choices(choices);
    *(const char **)given->to = given->text;
    int row = choice_row(given->text, choices);
    if (row < 0)
        return usage("%s: no '%s'; %s=help lists the names", given->spelling, given->text, given->spelling);
    if (!strcmp(given->text + strlen(choices[row].name), ":help"))
        return print_settings(&choices[row]);
    double *values;
    const char *wrong = choice_read(given->arena, given->text, choices, &row, &values);
    return wrong ? usage("%s: %s", given->spelling, wrong) : STATUS_GO_ON;
}

static int read_search(const GivenOption *given) {
    return read_choice(given, search_policies);
}

static int read_scheduler(const GivenOption *given) {
    return read_choice(given, scheduler_policies);
}

static int read_cost_model(const GivenOption *given) {
    return read_choice(given, cost_models);
}

static int read_folder(const GivenOption *given) {
    list_push(given->arena, &given->options->paths, given->text);
    return STATUS_GO_ON;
}

static int read_letters(const GivenOption *given) {
    if (!strcmp(given->text, "help"))
        return print_letters();
    for (const char *letter = given->text; *letter; letter++) {
        bool known = strchr("pcn", *letter) != NULL;
        for (int i = 0; i < pass_count; i++)
            known |= pass_table[i].letter == *letter;
        if (!known)
            return usage("-d: no letter '%c'; -d help lists them", *letter);
    }
    *(const char **)given->to = given->text;
    return STATUS_GO_ON;
}

static int read_format(const GivenOption *given) {
    bool json = *(bool *)given->to = !strcmp(given->text, "json");
    return json || !strcmp(given->text, "text")
               ? STATUS_GO_ON
               : usage("%s needs text or json, not '%s'", given->spelling, given->text);
}

/* --- flags --- */

static int read_flag(const GivenOption *given) {
    *(bool *)given->to = given->number;
    return STATUS_GO_ON;
}

static int read_mode(const GivenOption *given) {
    *(Mode *)given->to = (Mode)given->number;
    return STATUS_GO_ON;
}

static int read_help(const GivenOption *given) {
    (void)given;
    return print_help();
}

static int read_version(const GivenOption *given) {
    (void)given;
    puts("tensorc " PACKAGE_VERSION);
    return 0;
}

static int read_target_list(const GivenOption *given) {
    (void)given;
    return print_targets();
}

/* --- options --- */

/* The row of a word, and its value if that is in the same word. The longest spelling wins (-MF before -M...). */
static int find_option(const char *word, const char **value) {
    int best = -1;
    size_t best_length = 0;
    for (int i = 0; i < OPT_COUNT; i++) {
        size_t length = strlen(rows[i].spelling);
        if (strncmp(word, rows[i].spelling, length) || length < best_length)
            continue;
        const char *rest = word + length;
        bool fits = rows[i].form == FORM_FLAG ? !*rest : rows[i].form == FORM_EQUALS ? !*rest || *rest == '=' : true;
        if (!fits)
            continue;
        best = i;
        best_length = length;
        *value = *rest ? rest + (rows[i].form == FORM_EQUALS) : rows[i].form == FORM_PREFIX ? rest : NULL;
    }
    return best;
}

/* -O takes the next word only if it is exactly "tune". */
static bool takes_next_word(int id, const char *value, const char *next) {
    if (rows[id].form == FORM_FLAG)
        return false;
    if (id == OPT_LEVEL)
        return !*value && next && !strcmp(next, "tune");
    return !value;
}

/* -O tuned: a word that cannot be a file. */
static bool is_misspelt_level(const char *next) {
    return next && *next != '-' && strcmp(next, "tune") != 0 && !strpbrk(next, "./") && access(next, F_OK) != 0;
}

/* A hint for options of other compilers. */
static const char *foreign_option(const char *word) {
    static const char *const names[][2] = {
        {"-march", "--target=NAME; the processor of this machine is the default"},
        {"-mcpu", "--target=NAME; the processor of this machine is the default"},
        {"-mtune", "--target=NAME; the processor of this machine is the default"},
        {"-m", "--target=NAME+FEATURE has a feature more"},
        {"-fopenmp", "parallel loops need no option, here and in linking"},
        {"-ffast-math", "sums may be in any order by default; -fstrict forbids it"},
        {"-l", "the object is linked by cc"},
        {"-L", "the object is linked by cc"},
        {"-shared", "the object is linked by cc"},
        {"-std", "the language has one version"},
        {"-Os", "the levels are -O0 to -O3 and -O tune"},
        {"-?", "--help lists the options"},
        {"-help", "--help lists the options"},
        {"-version", "--version prints it"},
        {"-V", "--version prints it"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t length = strlen(names[i][0]);
        bool prefix = length == 2 && strchr("mlL", names[i][0][1]);
        if (!strncmp(word, names[i][0], length) && (prefix || !word[length] || word[length] == '='))
            return names[i][1];
    }
    return NULL;
}

static int unknown_option(Arena *arena, const char *word) {
    if (foreign_option(word))
        return usage("unknown option '%s': %s", word, foreign_option(word));
    const char *spellings[OPT_COUNT];
    for (int i = 0; i < OPT_COUNT; i++)
        spellings[i] = rows[i].spelling;
    enum { SHORT = 4 }; /* shorter words are near to every option */
    const char *nearest = strlen(word) < SHORT
                              ? NULL
                              : spelling_nearest(arena_strndup(arena, word, strcspn(word, "=")), spellings, OPT_COUNT);
    return nearest ? usage("unknown option '%s'; did you mean '%s'?", word, nearest)
                   : usage("unknown option '%s'", word);
}

static int read_word(Arena *arena, char **argv, int *at, Options *options) {
    const char *word = argv[*at], *value = NULL;
    int id = find_option(word, &value);
    if (id < 0)
        return unknown_option(arena, word);
    if (id == OPT_LEVEL && !*value && is_misspelt_level(argv[*at + 1]))
        return usage("-O needs 0, 1, 2, 3 or tune, not '%s'", argv[*at + 1]);
    if (takes_next_word(id, value, argv[*at + 1])) {
        value = argv[++*at];
        if (!value)
            return usage("%s needs %s", word, rows[id].argument);
    }
    const struct OptionRow *row = &rows[id];
    return row->read(&(GivenOption){arena, row->spelling, value, row->number, options, (char *)options + row->offset});
}

static bool mode_takes_header(Mode mode) {
    return mode != MODE_SYNTAX && mode != MODE_RUN;
}

/* A report on schedules that was asked for; -fsyntax-only does not choose schedules. */
static const char *schedule_report(const Options *options) {
    return options->explain                                              ? "--explain-schedule"
           : options->features                                           ? "--dump-features"
           : options->emit_schedule                                      ? "--emit-schedule"
           : options->dump && options->dump[strspn(options->dump, "pc")] ? "-d with letters other than p and c"
                                                                         : NULL;
}

static int check_together(const Options *options) {
    if (!options->files.count)
        return usage("no input file");
    bool many = options->files.count > 1;
    if (many && (options->out || options->header || options->depfile || options->emit_schedule))
        return usage("-o, --header, -MF and --emit-schedule need a single input file");
    if (!options->dependencies && (options->depfile || options->depfile_target || options->phony))
        return usage("%s needs -MD", options->depfile ? "-MF" : options->depfile_target ? "-MT" : "-MP");
    if (options->dependencies && !options->depfile && options->out && !strcmp(options->out, "-"))
        return usage("-MD needs -MF when the output is not a file");
    if (options->mode == MODE_RUN && options->out)
        return usage("-run writes no output file");
    if (options->mode != MODE_RUN && options->run_outputs.count)
        return usage("--output needs -run");
    if (options->mode != MODE_RUN && options->level != LEVEL_TUNE && options->run_inputs.count)
        return usage("--input needs -run or -O tune");
    if (options->header && !mode_takes_header(options->mode))
        return usage("--header needs an output");
    if (options->mode == MODE_SYNTAX && schedule_report(options))
        return usage("%s reports nothing with -fsyntax-only", schedule_report(options));
    if (options->frozen && options->level != LEVEL_TUNE)
        return usage("--tune-frozen needs -O tune");
    if (options->targets.count > 1 && (options->mode == MODE_RUN || (options->out && !strcmp(options->out, "-"))))
        return usage("several targets need output files");
    return STATUS_GO_ON;
}

static void limit_jobs(Arena *arena, Options *options) {
    const char *why;
    int jobs = build_jobs(arena, options->jobs, &why);
    if (why)
        show(stderr, "tensorc: warning: %d candidates are built at once, not %d: %s\n", jobs, options->jobs, why);
    options->jobs = jobs;
}

int options_read(Arena *arena, int argc, char **argv, Options *options) {
    *options = (Options){.level = LEVEL_2, .progress = 60};
    options->search = search_policies[0].name;
    options->cost_model = cost_models[0].name;
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    options->jobs = processors > 0 ? (int)processors : 1;
    bool only_files = false;
    for (int i = 1; i < argc; i++) {
        if (only_files || argv[i][0] != '-' || !argv[i][1]) {
            if (!*argv[i])
                return usage("an empty file name");
            list_push(arena, &options->files, argv[i]);
        } else if (!strcmp(argv[i], "--")) {
            only_files = true;
        } else {
            int status = read_word(arena, argv, &i, options);
            if (status != STATUS_GO_ON)
                return status;
        }
    }
    if (!options->targets.count)
        list_push(arena, &options->targets, "host");
    if (options->level == LEVEL_TUNE)
        limit_jobs(arena, options);
    return check_together(options);
}
