/* crossover.c - what evolution finds with crossover by node, uniform and without, in as many proposals, with the static
 * model as the truth: nothing is measured, so that a seed always gives the same.
 *
 * usage: crossover FILE.tensor ...    prints a line for each export with three nodes or more: the geometric mean over
 * seeds of the best predicted time, relative to that without crossover; in how many seeds node is better and worse than
 * uniform; and the part of the children that the nest refused.
 */
#include "autosched/search/policies.h"
#include "reading.h"

#include <math.h>
#include <string.h>

enum { SEEDS = 10, POPULATION = 32, WAYS = 3, BUDGETS = 3 };
static const char *const ways[WAYS] = {"none", "uniform", "node"};
static const int budgets[BUDGETS] = {8, 24, 64}; /* generations */

/* The best predicted seconds. */
static double found(const Program *program, const Target *target, const char *way, int generations, uint64_t seed,
                    double *refused) {
    Arena *arena = arena_new();
    Space *space = space_new(arena, program, target, NULL);
    CostModel *model = model_open(arena, "static", 1);
    const char *policy = arena_printf(arena, "evolve:cold,crossover=%s,population=%d,generations=%d,random=0", way,
                                      POPULATION, generations);
    Search *search = search_open(arena, space, model, policy, seed);
    int *point;
    double best = search_propose(search, 1, &point) ? point_estimate(arena, space, point, -1) : HUGE_VAL;
    *refused += (double)search->refused / search->made;
    search_close(search);
    model_close(model);
    arena_free(arena);
    return best;
}

static void report(const Program *program, const Target *target, double sums[BUDGETS][WAYS]) {
    printf("%-20s", program->symbol);
    double refused = 0;
    for (int b = 0; b < BUDGETS; b++) {
        double logs[WAYS] = {0};
        int better = 0, worse = 0;
        for (int seed = 1; seed <= SEEDS; seed++) {
            double seconds[WAYS];
            for (int w = 0; w < WAYS; w++) {
                seconds[w] = found(program, target, ways[w], budgets[b], (uint64_t)seed, &refused);
                logs[w] += log(seconds[w]) / SEEDS;
            }
            better += seconds[2] < seconds[1];
            worse += seconds[2] > seconds[1];
        }
        printf("  %7.3f %7.3f %2d:%-2d", exp(logs[1] - logs[0]), exp(logs[2] - logs[0]), better, worse);
        for (int w = 0; w < WAYS; w++)
            sums[b][w] += logs[w] - logs[0];
        fflush(stdout);
    }
    printf(" %7.3f\n", refused / (SEEDS * WAYS * BUDGETS));
}

int main(int argc, char **argv) {
    Arena *arena = arena_new();
    double sums[BUDGETS][WAYS] = {{0}};
    int programs = 0;
    printf("%-20s", "proposals");
    for (int b = 0; b < BUDGETS; b++)
        printf("  uniform%6d  node  ", POPULATION * (budgets[b] + 1));
    printf(" refused\n");
    for (int f = 1; f < argc; f++) {
        Module *module = read_module(arena, argv[f], NULL);
        for (int i = 0; module && i < module->units.count; i++) {
            const Program *program = module->units.items[i].program;
            const Space *space = space_new(arena, program, target_find("x86-64-v4"), NULL);
            if (strstr(program->symbol, "_hand") || nodes_new(arena, space)->nodes.count < 3)
                continue;
            report(program, target_find("x86-64-v4"), sums);
            programs++;
        }
    }
    printf("%-20s", "geometric mean");
    for (int b = 0; b < BUDGETS && programs; b++)
        printf("  %7.3f %7.3f      ", exp(sums[b][1] / programs), exp(sums[b][2] / programs));
    printf("\n");
    arena_free(arena);
    return programs ? 0 : 2;
}
