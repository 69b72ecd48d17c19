/* model.c - how well the static model, which -O2 chooses by, ranks schedules whose times are known.
 *
 * usage: model [-v] DATABASE AGAIN FOLDER FILE.tensor...
 *
 * DATABASE holds what tuning the files' exports with one thread measured, AGAIN the same, measured another time; they
 * import from FOLDER. A line for each file: how many schedules both have; of estimated and measured times the part of
 * the pairs that both put in the same order, and the rank correlation; the mean speed of the five that the model puts
 * first against the fastest. In the end the means of these, the last one geometric. After each figure, in parentheses,
 * the same of the second measurement in place of the model: no model can be known to do better. With -v, a line for
 * each schedule too: microseconds measured, the second time too, and estimated, and what the estimate is made of.
 */
#include "autosched/model/profile.h"
#include "autosched/records/records.h"
#include "backends/backends.h"
#include "reading.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { CHOSEN = 5 };

typedef enum Timing { MEASURED, AGAIN, ESTIMATED, SOURCE_COUNT } Timing;

typedef struct Known {
    double seconds[SOURCE_COUNT];
    Estimate estimate;
} Known;

typedef struct Ranking {
    int count;
    Known *known; /* fastest first */
} Ranking;

static double seconds_in(Record *const *records, const int *counts, Timing timing, const char *schedule) {
    for (int i = 0; i < counts[timing]; i++)
        if (records[timing][i].outcome == OUTCOME_OK && strcmp(records[timing][i].schedule, schedule) == 0)
            return records[timing][i].seconds;
    return 0;
}

static Ranking known_schedules(Arena *arena, Database *const *databases, const Program *program, const Target *target) {
    const Task *task = task_new(arena, program, NULL);
    Record *records[ESTIMATED];
    int counts[ESTIMATED];
    for (int d = 0; d < ESTIMATED; d++)
        counts[d] = database_find(arena, databases[d], task->key, database_target(target), 1, &records[d]);
    Ranking ranking = {.known = ARENA_ARRAY(arena, Known, counts[MEASURED] + 1)};
    for (int i = 0; i < counts[MEASURED] && records[MEASURED][i].outcome == OUTCOME_OK; i++) {
        const char *text = records[MEASURED][i].schedule;
        double again = seconds_in(records, counts, AGAIN, text);
        Schedule *schedule = again > 0 ? task_schedule(arena, task, target, text) : NULL;
        Nest *nest = schedule ? nest_build(arena, program, schedule, NULL, target, NULL) : NULL;
        if (!nest)
            continue;
        Estimate estimate = static_estimate(profile_nest(arena, nest), target);
        ranking.known[ranking.count++] = (Known){{records[MEASURED][i].seconds, again, estimate.seconds}, estimate};
    }
    return ranking;
}

/* How many are faster; those that are as fast count half. */
static double rank_of(const Ranking *ranking, int item, Timing timing) {
    double value = ranking->known[item].seconds[timing], rank = 0;
    for (int i = 0; i < ranking->count; i++) {
        double other = ranking->known[i].seconds[timing];
        rank += other < value ? 1 : other == value ? 0.5 : 0;
    }
    return rank;
}

/* The part of the pairs that both put in the same order. Those whose times are equal say nothing. */
static double pairs_agreed(const Ranking *ranking, Timing timing) {
    double pairs = 0, agreed = 0;
    for (int i = 0; i < ranking->count; i++)
        for (int j = 0; j < i; j++) {
            const double *a = ranking->known[i].seconds, *b = ranking->known[j].seconds;
            pairs += a[MEASURED] != b[MEASURED];
            agreed += (a[MEASURED] - b[MEASURED]) * (a[timing] - b[timing]) > 0;
        }
    return pairs > 0 ? agreed / pairs : 1;
}

/* Spearman's. */
static double correlation(const Ranking *ranking, Timing timing) {
    double mean = ranking->count / 2.0, xy = 0, xx = 0, yy = 0;
    for (int i = 0; i < ranking->count; i++) {
        double x = rank_of(ranking, i, MEASURED) - mean, y = rank_of(ranking, i, timing) - mean;
        xy += x * y;
        xx += x * x;
        yy += y * y;
    }
    return xx > 0 && yy > 0 ? xy / sqrt(xx * yy) : 0;
}

/* The mean speed of the first few, against the fastest. */
static double chosen_speed(const Ranking *ranking, Timing timing) {
    double sum = 0;
    int count = 0;
    for (int i = 0; i < ranking->count; i++)
        if (rank_of(ranking, i, timing) < CHOSEN) {
            sum += ranking->known[0].seconds[MEASURED] / ranking->known[i].seconds[MEASURED];
            count++;
        }
    return count ? sum / count : 1;
}

static void print_known(const Ranking *ranking) {
    for (int i = 0; i < ranking->count; i++) {
        const Known *known = &ranking->known[i];
        const Estimate *e = &known->estimate;
        printf("    %10.1f, again %10.1f, estimated %10.1f: compute %.1f, caches %.1f %.1f %.1f, rest %.1f; %.0f "
               "accumulators\n",
               known->seconds[MEASURED] * 1e6, known->seconds[AGAIN] * 1e6, e->seconds * 1e6, e->compute * 1e6,
               e->level[0] * 1e6, e->level[1] * 1e6, e->level[2] * 1e6, e->overhead * 1e6, e->accumulators);
    }
}

/* --- figures --- */

typedef struct Figures {
    double pairs, correlation, speed;
} Figures;

/* Of one ranking by a timing, or their sums; the logarithm of the speed is added. */
static void add_figures(Figures *sum, const Figures *figures) {
    sum->pairs += figures->pairs;
    sum->correlation += figures->correlation;
    sum->speed += log(figures->speed);
}

static Figures figures_of(const Ranking *ranking, Timing timing) {
    return (Figures){pairs_agreed(ranking, timing), correlation(ranking, timing), chosen_speed(ranking, timing)};
}

static void print_figures(const Figures *model, const Figures *again) {
    printf("pairs in order %.3f (%.3f), rank correlation %5.2f (%.2f), speed of the first five %.3f (%.3f)\n",
           model->pairs, again->pairs, model->correlation, again->correlation, model->speed, again->speed);
}

static Figures mean_of(const Figures *sum, int count) {
    return (Figures){sum->pairs / count, sum->correlation / count, exp(sum->speed / count)};
}

/* False: the file has errors. */
static bool add_file(Arena *arena, Database *const *databases, const char *folder, const char *file, bool verbose,
                     Figures *sums, int *count) {
    const Target *target = target_make(arena, "host", 1);
    Module *module = read_module(arena, file, folder);
    for (int u = 0; module && u < module->units.count; u++) {
        Ranking ranking = known_schedules(arena, databases, module->units.items[u].program, target);
        Figures model = figures_of(&ranking, ESTIMATED), again = figures_of(&ranking, AGAIN);
        printf("%-20s %4d schedules, ", file, ranking.count);
        print_figures(&model, &again);
        if (verbose)
            print_known(&ranking);
        add_figures(&sums[0], &model);
        add_figures(&sums[1], &again);
        ++*count;
    }
    return module != NULL;
}

int main(int argc, char **argv) {
    Arena *arena = arena_new();
    const char *why = "";
    bool verbose = argc > 1 && strcmp(argv[1], "-v") == 0;
    int at = 1 + verbose, count = 0;
    Database *databases[ESTIMATED] = {NULL};
    for (int d = 0; d < ESTIMATED && argc > at + ESTIMATED + 1; d++)
        databases[d] = database_open(arena, argv[at + d], &why, NULL);
    if (!databases[MEASURED] || !databases[AGAIN]) {
        fprintf(stderr, "usage: model [-v] DATABASE AGAIN FOLDER FILE.tensor...\n%s\n", why);
        return 2;
    }
    Figures sums[2] = {{0}};
    for (int i = at + ESTIMATED + 1; i < argc; i++)
        if (!add_file(arena, databases, argv[at + ESTIMATED], argv[i], verbose, sums, &count))
            return 1;
    if (count > 0) {
        Figures model = mean_of(&sums[0], count), again = mean_of(&sums[1], count);
        printf("means: ");
        print_figures(&model, &again);
    }
    for (int d = 0; d < ESTIMATED; d++)
        database_close(databases[d]);
    arena_free(arena);
    return 0;
}
