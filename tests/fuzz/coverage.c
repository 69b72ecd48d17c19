/* coverage.c - which features of the language and which primitives the cases had, alone and together.
 *
 * A feature of the language is a piece of text that a program with it contains: so the table says what was really in
 * the sources, whatever made them.
 */
#include "fuzz.h"
#include <string.h>

const char *const fault_names[FAULT_COUNT] = {"none", "refused program", "mismatch",       "memory", "status",
                                              "text", "alternative",     "internal error", "crash",  "timeout"};

typedef struct Feature {
    const char *name, *texts[3]; /* all of them occur */
} Feature;

static const Feature features[] = {
    {"sum", {" +=! "}},
    {"product", {" *=! "}},
    {"minimum", {" min=! "}},
    {"maximum", {" max=! "}},
    {"sum from before", {" += "}},
    {"product from before", {" *= "}},
    {"minimum from before", {" min= "}},
    {"maximum from before", {" max= "}},
    {"two reductions", {"r_a", "r_b"}},
    {"else value", {" else "}},
    {"else edge", {" else edge"}},
    {"else wrap", {" else wrap"}},
    {"else reflect", {" else reflect"}},
    {"choice", {" ? "}},
    {"predicate", {"#if"}},
    {"scatter", {"#scatter"}},
    {"range up to an index", {":min("}},
    {"tuple", {"combiner "}},
    {"scan", {"scan t"}},
    {"call", {"def g"}},
    {"several results of a call", {"-> (b, m)"}},
    {"let", {"#let"}},
    {"range not from 0", {"#from"}},
    {"size of a tensor", {"X.0"}},
    {"const", {"const "}},
    {"inout", {"inout "}},
    {"scalar", {" s0"}},
    {"half", {"half("}},
    {"bfloat16", {"bfloat16("}},
    {"float", {"float("}},
    {"double", {"double("}},
    {"int8", {"int8("}},
    {"int16", {"int16("}},
    {"int32", {"int32("}},
    {"int64", {"int64("}},
    {"uint8", {"uint8("}},
    {"uint16", {"uint16("}},
    {"uint32", {"uint32("}},
    {"uint64", {"uint64("}},
    {"bool", {"bool("}},
    {"run-time sizes", {"symbolic="}},
    {"version for a size", {" bound="}},
    {"version up to a size", {" limited="}},
    {"strict", {" strict=1"}},
    {"function", {"exp("}},
    {"quotient", {" / "}},
    {"remainder", {" % "}},
    {"hole", {" in {"}},
    {"hole with a name", {"?h"}},
    {"constraint", {"require("}},
    {"product of an instruction", {"import \"instr\""}},
    {"device", {"target=device"}},
    {"constant of a file", {".npy\""}},
    {"epilogue", {"#epilogue"}},
};
enum { FEATURES = sizeof features / sizeof *features };
_Static_assert((int)FEATURES <= (int)FEATURE_LIMIT, "FEATURE_LIMIT");

static bool has_feature(const char *text, const Feature *feature) {
    for (int i = 0; i < 3 && feature->texts[i]; i++)
        if (!strstr(text, feature->texts[i]))
            return false;
    return true;
}

void count_features(Counters *counters, const char *text, const Schedule *schedule) {
    bool used[PRIM_COUNT] = {false};
    for (int i = 0; schedule && i < schedule->count; i++)
        used[schedule->prims[i].op] = true;
    for (int a = 0; a < PRIM_COUNT; a++) {
        counters->with[a] += used[a];
        for (int b = 0; b < PRIM_COUNT; b++)
            counters->pairs[a][b] += used[a] && used[b];
    }
    for (int f = 0; f < FEATURES; f++) {
        if (!has_feature(text, &features[f]))
            continue;
        counters->features[f]++;
        for (int a = 0; a < PRIM_COUNT; a++)
            counters->both[f][a] += used[a];
    }
}

/* All members are int64_t. */
void counters_add(Counters *sum, const Counters *more) {
    for (size_t i = 0; i < sizeof *sum / sizeof(int64_t); i++)
        ((int64_t *)sum)[i] += ((const int64_t *)more)[i];
}

static void print_primitives(const Counters *c, FILE *stream) {
    fprintf(stream, "%-16s %12s %12s %12s\n", "primitive", "accepted", "refused", "cases with");
    for (int a = 0; a < PRIM_COUNT; a++)
        fprintf(stream, "%-16s %12lld %12lld %12lld\n", prim_info[a].spelling, (long long)c->accepted[a],
                (long long)c->rejected[a], (long long)c->with[a]);
    fprintf(stream, "pairs of primitives in no case:");
    int missing = 0;
    for (int a = 0; a < PRIM_COUNT; a++)
        for (int b = a + 1; b < PRIM_COUNT; b++)
            if (!c->pairs[a][b])
                fprintf(stream, "%s %s+%s", missing++ ? "," : "", prim_info[a].spelling, prim_info[b].spelling);
    fprintf(stream, "%s\n", missing ? "" : " none");
}

static void print_features(const Counters *c, FILE *stream) {
    fprintf(stream, "%-26s %10s   %s\n", "feature", "cases", "never with");
    for (int f = 0; f < FEATURES; f++) {
        fprintf(stream, "%-26s %10lld  ", features[f].name, (long long)c->features[f]);
        for (int a = 0; a < PRIM_COUNT; a++)
            if (!c->both[f][a])
                fprintf(stream, " %s", prim_info[a].spelling);
        fprintf(stream, "\n");
    }
}

void counters_print(const Counters *c, double cpu_seconds, FILE *stream) {
    print_primitives(c, stream);
    print_features(c, stream);
    fprintf(stream,
            "%lld cases: %lld compared, %lld under schedules that are refused, %lld too large, %lld too long, "
            "%lld with a bad status, %lld completed, %lld by algorithms, %lld compiled (-O0 %lld, -O1 %lld, -O2 %lld, "
            "schedules %lld)\n",
            (long long)c->cases, (long long)c->run, (long long)c->refused, (long long)c->too_large,
            (long long)c->too_long, (long long)c->bad_status, (long long)c->completed, (long long)c->named,
            (long long)c->objects, (long long)c->levels[0], (long long)c->levels[1], (long long)c->levels[2],
            (long long)c->levels[3]);
    for (int f = 1; f < FAULT_COUNT; f++)
        fprintf(stream, "%s%s %lld", f > 1 ? ", " : "", fault_names[f], (long long)c->faults[f]);
    fprintf(stream, "; %.1f CPU seconds, %.2f ms a case\n", cpu_seconds,
            c->cases ? 1e3 * cpu_seconds / (double)c->cases : 0);
}
