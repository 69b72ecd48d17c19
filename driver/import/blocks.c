/* blocks.c - runs of steps that are there again, with other tensors, become one def that is called.
 *
 * Two runs are the same if their texts are, but for the names of tensors, which must stand at the same places, and if
 * what they take has the same types, and what they give is used at the same places. Their sizes may differ, as long as
 * no statement has them as numbers. The run that saves the most statements is made a def first; what is left, calls
 * included, is looked at again.
 */
#include "driver/import/importer.h"
#include "lang/map.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Steps of a run; how much a def saves at least. */
enum { SHORTEST = 2, LONGEST = 200, LEAST_SAVED = 3 };
/* So many defs are made, for so many steps: looking for them takes time. */
enum { MOST_BLOCKS = 32, MOST_STEPS = 20000 };

/* --- texts without names ------------------------------------------------------------------------------------------ */

/* A piece of a text: a name of the source, or what stands between names. */
typedef struct TextToken {
    const char *at;
    size_t length;
    Name *name; /* NULL: no name of a tensor or a size */
} TextToken;

static bool in_word(char c) {
    return isalnum((unsigned char)c) || c == '_' || c == '.';
}

static TextToken token_at(Import *import, const char *at) {
    TextToken token = {at, 1, NULL};
    bool word = in_word(*at), is_name = word && !isdigit((unsigned char)*at) && *at != '.';
    while (word ? in_word(at[token.length]) : at[token.length] && !in_word(at[token.length]))
        token.length++;
    if (is_name)
        token.name = name_find(&import->names, arena_strndup(import->arena, at, token.length));
    if (token.name && token.name->kind == NAME_RESERVED)
        token.name = NULL;
    return token;
}

typedef LIST(TextToken) TextTokens;

static TextTokens tokens_of(Import *import, const char *text) {
    TextTokens tokens = {0};
    while (*text) {
        TextToken token = token_at(import, text);
        list_push(import->arena, &tokens, token);
        text += token.length;
    }
    return tokens;
}

#define EACH_TOKEN(token, tokens)                                                                                      \
    for (const TextToken *token = (tokens).items; token < (tokens).items + (tokens).count; token++)

/* --- what is known of the steps ----------------------------------------------------------------------------------- */

typedef struct Steps {
    Import *import;
    Arena *scratch; /* of one look at runs */
    int count;
    TextTokens *tokens;
    uint64_t *kinds; /* hashes of the texts without names */
    Map defined;     /* the first step that mentions a name, plus 1 */
    Map last;        /* the last one, plus 1 */
} Steps;

static uint64_t hashed(uint64_t hash, const char *bytes, size_t length) {
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)bytes[i]) * 1099511628211u;
    return hash;
}

static int step_of(const Map *map, const Name *name) {
    return (int)(intptr_t)address_map_get(map, name) - 1;
}

static bool is_tensor(const TextToken *token) {
    return token->name && token->name->kind == NAME_TENSOR;
}

static void look_at_step(Steps *steps, int number) {
    Import *import = steps->import;
    uint64_t hash = 14695981039346656037u;
    steps->tokens[number] = tokens_of(import, import->steps.items[number].text);
    EACH_TOKEN(token, steps->tokens[number]) {
        bool tensor = is_tensor(token);
        hash = hashed(hash, tensor ? "@" : token->at, tensor ? 1 : token->length);
        if (tensor && step_of(&steps->defined, token->name) < 0)
            address_map_set(import->arena, &steps->defined, token->name, (void *)(intptr_t)(number + 1));
        if (tensor)
            address_map_set(import->arena, &steps->last, token->name, (void *)(intptr_t)(number + 1));
    }
    steps->kinds[number] = hash;
}

/* Inputs, weights and outputs of the model are there before all steps, or after them. */
static Steps look_at_steps(Import *import) {
    Steps steps = {.import = import, .count = import->steps.count};
    steps.kinds = ARENA_ARRAY(import->arena, uint64_t, steps.count + 1);
    steps.tokens = ARENA_ARRAY(import->arena, TextTokens, steps.count + 1);
    for (int i = 0; i < steps.count; i++)
        look_at_step(&steps, i);
    for (int i = 0; i < import->outputs.count; i++)
        address_map_set(import->arena, &steps.last, name_find(&import->names, import->outputs.items[i]->name),
                        (void *)(intptr_t)(steps.count + 1));
    return steps;
}

/* --- one run ------------------------------------------------------------------------------------------------------ */

typedef LIST(Name *) Names;

typedef struct StepRun {
    int begin, length;
    Names names; /* in the order of their first places */
    Names takes, gives;
    const char *text; /* with numbers for the names, and what they are */
} StepRun;

static int place_of(const Names *names, const Name *name) {
    for (int i = 0; i < names->count; i++)
        if (names->items[i] == name)
            return i;
    return -1;
}

static bool is_made_before(const Steps *steps, const StepRun *run, const Name *name) {
    const Operand *operand = name->operand;
    bool argument = operand && operand->known;
    for (int i = 0; operand && i < steps->import->inputs.count; i++)
        argument = argument || steps->import->inputs.items[i] == operand;
    return argument || step_of(&steps->defined, name) < run->begin;
}

static void add_name(const Steps *steps, StepRun *run, Text *text, Name *name) {
    Arena *arena = steps->scratch;
    int place = place_of(&run->names, name);
    if (place < 0) {
        place = run->names.count;
        list_push(arena, &run->names, name);
        if (is_made_before(steps, run, name)) {
            list_push(arena, &run->takes, name);
            text_add(text, "<%d:%d>", name->operand ? (int)name->operand->type : -1,
                     name->operand ? name->operand->rank : -1);
        } else if (step_of(&steps->last, name) >= run->begin + run->length) {
            list_push(arena, &run->gives, name);
            text_add(text, "<gives>");
        }
    }
    text_add(text, "@%d", place);
}

static StepRun run_at(const Steps *steps, int begin, int length) {
    StepRun run = {.begin = begin, .length = length};
    Text text = {.arena = steps->scratch};
    for (int i = begin; i < begin + length; i++)
        EACH_TOKEN(token, steps->tokens[i])
            if (is_tensor(token))
                add_name(steps, &run, &text, token->name);
            else
                text_add_bytes(&text, token->at, token->length);
    run.text = text.text;
    return run;
}

static bool takes_size(const StepRun *run, const char *name) {
    for (int k = 0; k < run->takes.count; k++)
        for (int d = 0; d < run->takes.items[k]->operand->rank; d++)
            if (sizes_equal(run->takes.items[k]->operand->shape[d], size_symbol(name)))
                return true;
    return false;
}

/* Whether the run can be a def: what it takes and gives are tensors with shapes, and what it takes has the run-time
 * sizes that its text has. */
static bool can_be_def(const Steps *steps, const StepRun *run) {
    for (int i = 0; i < run->takes.count; i++)
        if (!run->takes.items[i]->operand)
            return false;
    for (int i = 0; i < run->gives.count; i++)
        if (!run->gives.items[i]->operand)
            return false;
    for (int i = run->begin; i < run->begin + run->length; i++)
        EACH_TOKEN(token, steps->tokens[i])
            if (token->name && token->name->kind == NAME_SIZE && !takes_size(run, token->name->text))
                return false;
    return run->gives.count > 0;
}

/* --- the best one ------------------------------------------------------------------------------------------------- */

typedef struct StepWindow {
    uint64_t hash;
    int begin;
} StepWindow;

static int compare_windows(const void *a, const void *b) {
    const StepWindow *x = a, *y = b;
    return x->hash != y->hash ? (x->hash < y->hash ? -1 : 1) : x->begin - y->begin;
}

typedef LIST(StepRun) StepRuns;

/* The windows that do not overlap one before them; how many there are. */
static int apart(StepWindow *windows, int count, int length) {
    int kept = 0;
    for (int i = 0; i < count; i++)
        if (!kept || windows[i].begin >= windows[kept - 1].begin + length)
            windows[kept++] = windows[i];
    return kept;
}

/* The runs that are the same as the first one of the windows. */
static StepRuns same_runs(const Steps *steps, const StepWindow *windows, int count, int length) {
    StepRuns runs = {0};
    for (int i = 0; i < count; i++) {
        StepRun run = run_at(steps, windows[i].begin, length);
        if (can_be_def(steps, &run) && (!runs.count || !strcmp(run.text, runs.items[0].text)))
            list_push(steps->scratch, &runs, run);
    }
    return runs;
}

/* Whether an argument of the def is a weight in all runs. */
static bool is_weight(const StepRuns *runs, int take) {
    for (int run = 0; run < runs->count; run++)
        if (!runs->items[run].takes.items[take]->operand->known)
            return false;
    return true;
}

static int saved(int count, int length) {
    return (count - 1) * (length - 1) - 1;
}

/* What is saved, and less for each tensor beyond one that a call takes, weights apart, and beyond one that it gives: a
 * block of a network has one of each. */
static int score(const StepRuns *runs) {
    int takes = 0;
    for (int i = 0; runs->count && i < runs->items[0].takes.count; i++)
        takes += !is_weight(runs, i);
    if (runs->count < 2)
        return 0;
    return 4 * saved(runs->count, runs->items[0].length) / ((takes ? takes : 1) + runs->items[0].gives.count + 2);
}

/* The places of the best runs so far, of which there are none at first. */
typedef struct Best {
    StepWindow *windows;
    int count, length, score;
} Best;

static void best_of_length(const Steps *steps, int length, StepWindow *windows, Best *best) {
    int count = steps->count - length + 1;
    for (int i = 0; i < count; i++)
        windows[i] = (StepWindow){
            hashed(14695981039346656037u, (const char *)(steps->kinds + i), sizeof *steps->kinds * (size_t)length), i};
    qsort(windows, (size_t)count, sizeof *windows, compare_windows);
    for (int begin = 0, end; begin < count; begin = end) {
        for (end = begin + 1; end < count && windows[end].hash == windows[begin].hash;)
            end++;
        int separate = apart(windows + begin, end - begin, length);
        if (saved(separate, length) <= best->score)
            continue;
        arena_reset(steps->scratch);
        StepRuns runs = same_runs(steps, windows + begin, separate, length);
        if (score(&runs) <= best->score)
            continue;
        *best = (Best){best->windows, runs.count, length, score(&runs)};
        for (int i = 0; i < runs.count; i++)
            best->windows[i].begin = runs.items[i].begin;
    }
}

static StepRuns best_runs(const Steps *steps) {
    Best best = {ARENA_ARRAY(steps->import->arena, StepWindow, steps->count + 1), 0, 0, LEAST_SAVED - 1};
    StepWindow *windows = ARENA_ARRAY(steps->import->arena, StepWindow, steps->count + 1);
    int longest = steps->count / 2 < LONGEST ? steps->count / 2 : LONGEST;
    for (int length = SHORTEST; length <= longest; length++)
        best_of_length(steps, length, windows, &best);
    arena_reset(steps->scratch);
    return same_runs(steps, best.windows, best.count, best.length);
}

/* --- the def ------------------------------------------------------------------------------------------------------ */

/* The sizes of the def: those that are equal in all runs have one name, or are the number. */
typedef struct BlockSizes {
    Import *import;
    const StepRuns *runs;
    LIST(struct BlockSize {
        int take;      /* it stands there first, */
        int dimension; /* in this one */
        const char *name;
    })
    sizes;
} BlockSizes;

static Size size_in_run(const BlockSizes *s, int run, int take, int dimension) {
    return s->runs->items[run].takes.items[take]->operand->shape[dimension];
}

static bool is_same_size(const BlockSizes *s, int take, int dimension, int other, int other_dimension) {
    for (int run = 0; run < s->runs->count; run++)
        if (!sizes_equal(size_in_run(s, run, take, dimension), size_in_run(s, run, other, other_dimension)))
            return false;
    return true;
}

static bool is_one_size(const BlockSizes *s, int take, int dimension) {
    for (int run = 1; run < s->runs->count; run++)
        if (!sizes_equal(size_in_run(s, run, take, dimension), size_in_run(s, 0, take, dimension)))
            return false;
    Size size = size_in_run(s, 0, take, dimension);
    return size_known(size) || (size.factor == 1 && !size.addend && !strchr(size.symbol, ' '));
}

static bool is_size_taken(const BlockSizes *s, const char *name) {
    for (int i = 0; i < s->sizes.count; i++)
        if (!strcmp(s->sizes.items[i].name, name))
            return true;
    return name_find(&s->import->names, name);
}

/* A letter for the place of the dimension, with a number if it is taken. */
static const char *new_size_name(const BlockSizes *s, int rank, int dimension) {
    static const char letters[][6] = {"", "C", "ND", "NLD", "NCHW", "NCTHW"};
    char letter = rank < 6 ? letters[rank][dimension] : 'S';
    const char *name = format(s->import, "%c", letter);
    for (int i = 2; is_size_taken(s, name); i++)
        name = format(s->import, "%c%d", letter, i);
    return name;
}

static Size block_size(BlockSizes *s, int take, int dimension) {
    if (is_one_size(s, take, dimension))
        return size_in_run(s, 0, take, dimension);
    for (int i = 0; i < s->sizes.count; i++)
        if (is_same_size(s, take, dimension, s->sizes.items[i].take, s->sizes.items[i].dimension))
            return size_symbol(s->sizes.items[i].name);
    struct BlockSize size = {take, dimension, NULL};
    size.name = new_size_name(s, s->runs->items[0].takes.items[take]->operand->rank, dimension);
    list_push(s->import->arena, &s->sizes, size);
    return size_symbol(size.name);
}

/* What the names of an argument end with in all runs, from a word on; or its name in the first one. */
static const char *argument_name(Import *import, const StepRuns *runs, int take) {
    const char *first = runs->items[0].takes.items[take]->text, *end = first + strlen(first), *same = first;
    for (int run = 1; run < runs->count; run++) {
        const char *other = runs->items[run].takes.items[take]->text, *at = end, *other_end = other + strlen(other);
        while (at > same && other_end > other && at[-1] == other_end[-1]) {
            at--;
            other_end--;
        }
        same = at > same ? at : same;
    }
    while (same > first && *same && same[-1] != '_')
        same++;
    return same > first && isalpha((unsigned char)*same) ? fresh_name(import, same) : first;
}

/* The names that the statements of the def have instead of those of the first run. */
static Names argument_names(Import *import, const StepRuns *runs) {
    Names names = {0};
    for (int i = 0; i < runs->items[0].takes.count; i++) {
        Name *name = ARENA_NEW(import->arena, Name);
        *name = *runs->items[0].takes.items[i];
        name->text = argument_name(import, runs, i);
        list_push(import->arena, &names, name);
    }
    return names;
}

static const char *block_head(Import *import, const StepRuns *runs, const Names *names, const char *name) {
    const StepRun *first = &runs->items[0];
    BlockSizes sizes = {.import = import, .runs = runs};
    LIST(const char *) words = {0}, results = {0};
    for (int weight = 0; weight < 2; weight++)
        for (int i = 0; i < first->takes.count; i++) {
            const Operand *operand = first->takes.items[i]->operand;
            Size *shape = new_shape(import, operand->rank);
            if (is_weight(runs, i) != weight)
                continue;
            for (int d = 0; d < operand->rank; d++)
                shape[d] = block_size(&sizes, i, d);
            const char *declared = declared_tensor(import, weight ? "const " : "", operand->type, names->items[i]->text,
                                                   operand->rank, shape);
            list_push(import->arena, &words, declared);
        }
    for (int i = 0; i < first->gives.count; i++)
        list_push(import->arena, &results, first->gives.items[i]->text);
    Text text = {.arena = import->arena};
    add_head(&text, name, words.items, words.count, results.items, results.count);
    return text.text;
}

static const char *renamed(Import *import, const StepRun *run, const Names *names, TextTokens statements) {
    Text text = {.arena = import->arena};
    EACH_TOKEN(token, statements) {
        int take = token->name ? place_of(&run->takes, token->name) : -1;
        if (take >= 0)
            text_add(&text, "%s", names->items[take]->text);
        else
            text_add_bytes(&text, token->at, token->length);
    }
    return text.text;
}

static void add_block(const Steps *steps, const StepRuns *runs, const char *name) {
    Import *import = steps->import;
    Text text = {.arena = import->arena};
    Names names = argument_names(import, runs);
    const StepRun *first = &runs->items[0];
    text_add(&text, "%s", block_head(import, runs, &names, name));
    for (int i = 0; i < first->length; i++)
        add_statements(&text, renamed(import, first, &names, steps->tokens[first->begin + i]));
    text_add(&text, "}\n");
    list_push(import->arena, &import->blocks, text.text);
}

static const char *block_call(Import *import, const StepRuns *runs, const StepRun *run, const char *name) {
    LIST(const char *) words = {0}, results = {0};
    for (int weight = 0; weight < 2; weight++)
        for (int i = 0; i < run->takes.count; i++)
            if (is_weight(runs, i) == weight)
                list_push(import->arena, &words, run->takes.items[i]->text);
    for (int i = 0; i < run->gives.count; i++)
        list_push(import->arena, &results, run->gives.items[i]->text);
    return format(import, "    %s = %s(%s)\n", joined(import, results.items, results.count, ", "), name,
                  joined(import, words.items, words.count, ", "));
}

/* The steps with calls in place of the runs. */
static void put_calls(Import *import, const StepRuns *runs, const char *name) {
    int to = 0, next = 0, from = 0;
    while (from < import->steps.count)
        if (next < runs->count && from == runs->items[next].begin) {
            Step call = {block_call(import, runs, &runs->items[next], name)};
            from += runs->items[next++].length;
            import->steps.items[to++] = call;
        } else
            import->steps.items[to++] = import->steps.items[from++];
    import->steps.count = to;
}

/* Whether there was a block. */
static bool find_block(Import *import, Arena *scratch) {
    Steps steps = look_at_steps(import);
    steps.scratch = scratch;
    StepRuns runs = best_runs(&steps);
    if (runs.count < 2)
        return false;
    const char *name = fresh_name(import, "block");
    name_find(&import->names, name)->kind = NAME_RESERVED;
    add_block(&steps, &runs, name);
    put_calls(import, &runs, name);
    return true;
}

void find_blocks(Import *import) {
    Arena *scratch = arena_new();
    while (import->steps.count <= MOST_STEPS && import->blocks.count < MOST_BLOCKS && find_block(import, scratch))
        arena_reset(scratch);
    arena_free(scratch);
}
