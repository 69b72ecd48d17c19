/* model.c - how well the static model, which -O2 chooses by, ranks schedules whose times are known.
 *
 * usage: model [-v] DATABASE FOLDER FILE.tensor...
 *
 * DATABASE holds what tuning the files' exports with one thread measured; they import from FOLDER. A line for each
 * file: how many schedules are known, the rank correlation of estimated and measured times, the mean speed of the five
 * that the model puts first against the fastest, and in the end the geometric mean of these. With -v, a line for each
 * schedule too: microseconds measured and estimated, and what the estimate is made of.
 */
#include "autosched/model/profile.h"
#include "autosched/records/records.h"
#include "backends/backends.h"
#include "reading.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { CHOSEN = 5 };

typedef struct Known {
    double measured;
    Estimate estimate;
} Known;

typedef struct Ranking {
    int count;
    Known *known; /* fastest first */
} Ranking;

static Ranking known_schedules(Arena *arena, Database *database, const Program *program, const Target *target) {
    const Task *task = task_new(arena, program, NULL);
    Record *records;
    int count = database_find(arena, database, task->key, database_target(target), 1, &records);
    Ranking ranking = {.known = ARENA_ARRAY(arena, Known, count + 1)};
    for (int i = 0; i < count && records[i].outcome == OUTCOME_OK; i++) {
        Schedule *schedule = task_schedule(arena, task, target, records[i].schedule);
        Nest *nest = schedule ? nest_build(arena, program, schedule, NULL, target, NULL) : NULL;
        if (nest)
            ranking.known[ranking.count++] =
                (Known){records[i].seconds, static_estimate(profile_nest(arena, nest), target)};
    }
    return ranking;
}

static double seconds_of(const Known *known, bool measured) {
    return measured ? known->measured : known->estimate.seconds;
}

/* How many are faster; those that are as fast count half. */
static double rank_of(const Ranking *ranking, int item, bool measured) {
    double value = seconds_of(&ranking->known[item], measured), rank = 0;
    for (int i = 0; i < ranking->count; i++) {
        double other = seconds_of(&ranking->known[i], measured);
        rank += other < value ? 1 : other == value ? 0.5 : 0;
    }
    return rank;
}

/* Spearman's. */
static double correlation(const Ranking *ranking) {
    double mean = ranking->count / 2.0, xy = 0, xx = 0, yy = 0;
    for (int i = 0; i < ranking->count; i++) {
        double x = rank_of(ranking, i, true) - mean, y = rank_of(ranking, i, false) - mean;
        xy += x * y;
        xx += x * x;
        yy += y * y;
    }
    return xx > 0 && yy > 0 ? xy / sqrt(xx * yy) : 0;
}

/* The mean speed of the first few by the model, against the fastest. */
static double chosen_speed(const Ranking *ranking) {
    double sum = 0;
    int count = 0;
    for (int i = 0; i < ranking->count; i++)
        if (rank_of(ranking, i, false) < CHOSEN) {
            sum += ranking->known[0].measured / ranking->known[i].measured;
            count++;
        }
    return count ? sum / count : 1;
}

static void print_known(const Ranking *ranking) {
    for (int i = 0; i < ranking->count; i++) {
        const Estimate *e = &ranking->known[i].estimate;
        printf("    %10.1f, estimated %10.1f: compute %.1f, caches %.1f %.1f %.1f, rest %.1f; %.0f accumulators\n",
               ranking->known[i].measured * 1e6, e->seconds * 1e6, e->compute * 1e6, e->level[0] * 1e6,
               e->level[1] * 1e6, e->level[2] * 1e6, e->overhead * 1e6, e->accumulators);
    }
}

int main(int argc, char **argv) {
    Arena *arena = arena_new();
    const char *why = "";
    bool verbose = argc > 1 && strcmp(argv[1], "-v") == 0;
    int at = 1 + verbose, files = 0;
    Database *database = argc > at + 2 ? database_open(arena, argv[at], &why, NULL) : NULL;
    if (!database) {
        fprintf(stderr, "usage: model [-v] DATABASE FOLDER FILE.tensor...\n%s\n", why);
        return 2;
    }
    const Target *target = target_make(arena, "host", 1);
    double sum = 0;
    for (int i = at + 2; i < argc; i++) {
        Module *module = read_module(arena, argv[i], argv[at + 1]);
        if (!module)
            return 1;
        for (int u = 0; u < module->units.count; u++) {
            Ranking ranking = known_schedules(arena, database, module->units.items[u].program, target);
            printf("%-20s %4d schedules, rank correlation %5.2f, speed of the first by the model %.2f\n", argv[i],
                   ranking.count, correlation(&ranking), chosen_speed(&ranking));
            if (verbose)
                print_known(&ranking);
            sum += log(chosen_speed(&ranking));
            files++;
        }
    }
    printf("geometric mean: %.3f\n", files ? exp(sum / files) : 1);
    database_close(database);
    arena_free(arena);
    return 0;
}
