/* isl.c - what isl, the library for integer sets, takes for the questions that lowering asks of each candidate: the
 * evidence for answering them with arithmetic of our own (lower/nest/form.c). Compare with `make bench-lowering`.
 *
 * The program is a 3x3 convolution of 256 channels of 14x14 with its padding, its beginning and its relu as statements;
 * the candidate tiles it as a search does. Needs libisl alone; nothing of the compiler.
 */
#include "times.h"
#include <isl/aff.h>
#include <isl/flow.h>
#include <isl/map.h>
#include <isl/point.h>
#include <isl/set.h>
#include <isl/space.h>
#include <isl/union_map.h>
#include <isl/union_set.h>
#include <stdio.h>
#include <stdlib.h>

enum { RUNS = 200, STEPS = 12 /* dimensions of the candidate's time */ };

static const char domains[] =
    "{ P[c, y, x] : 0 <= c < 256 and 0 <= y < 16 and 0 <= x < 16; Z[m, h, w] : 0 <= m < 256 and 0 <= h < 14 and "
    "0 <= w < 14; U[m, h, w, c, kh, kw] : 0 <= m < 256 and 0 <= h < 14 and 0 <= w < 14 and 0 <= c < 256 and "
    "0 <= kh < 3 and 0 <= kw < 3; R[m, h, w] : 0 <= m < 256 and 0 <= h < 14 and 0 <= w < 14 }";
static const char writes[] = "{ P[c, y, x] -> p[c, y, x]; Z[m, h, w] -> o[m, h, w]; U[m, h, w, c, kh, kw] -> "
                             "o[m, h, w]; R[m, h, w] -> r[m, h, w] }";
static const char reads[] = "{ U[m, h, w, c, kh, kw] -> o[m, h, w]; U[m, h, w, c, kh, kw] -> p[c, h + kh, w + kw]; "
                            "R[m, h, w] -> o[m, h, w] }";
static const char source_order[] = "{ P[c, y, x] -> [0, c, y, x, 0, 0, 0]; Z[m, h, w] -> [1, m, h, w, 0, 0, 0]; "
                                   "U[m, h, w, c, kh, kw] -> [2, m, h, w, c, kh, kw]; "
                                   "R[m, h, w] -> [3, m, h, w, 0, 0, 0] }";
static const char candidate[] =
    "{ P[c, y, x] -> [0, c, y, x, 0, 0, 0, 0, 0, 0, 0, 0]; "
    "Z[m, h, w] -> [1, floor(m/32), h, floor(w/7), 0, 0, 0, 0, 0, 0, m%32, w%7]; "
    "U[m, h, w, c, kh, kw] -> [1, floor(m/32), h, floor(w/7), 1, floor(c/16), kh, kw, c%16, w%7, m%32, 0]; "
    "R[m, h, w] -> [1, floor(m/32), h, floor(w/7), 2, 0, 0, 0, 0, 0, m%32, w%7] }";
static const char tile[] =
    "[mo, h, wo, co, k] -> { U[m, y, w, c, kh, kw] : 32mo <= m < 32mo + 32 and y = h and 7wo <= w < 7wo + 7 and "
    "16co <= c < 16co + 16 and kh = k and 0 <= kw < 3 and 0 <= m < 256 and 0 <= w < 14 and 0 <= c < 256 }";

typedef struct Problem {
    isl_ctx *ctx;
    isl_union_map *flow, *schedule;
    isl_union_set *backwards; /* differences in time that are not positive */
    isl_set *tile;
    isl_map *access;
} Problem;

/* Flow dependences of the program, but for those of the sum with itself, which may be summed in any order. */
static isl_union_map *find_flow(isl_ctx *ctx) {
    const char *const texts[] = {reads, writes, source_order};
    isl_union_set *domain = isl_union_set_read_from_str(ctx, domains);
    isl_union_map *maps[3];
    for (int i = 0; i < 3; i++)
        maps[i] =
            isl_union_map_intersect_domain(isl_union_map_read_from_str(ctx, texts[i]), isl_union_set_copy(domain));
    isl_union_set_free(domain);
    isl_union_access_info *info = isl_union_access_info_from_sink(maps[0]);
    info = isl_union_access_info_set_must_source(info, maps[1]);
    info = isl_union_access_info_set_schedule_map(info, maps[2]);
    isl_union_flow *flow = isl_union_access_info_compute_flow(info);
    isl_union_map *all = isl_union_flow_get_must_dependence(flow);
    isl_union_flow_free(flow);
    return isl_union_map_subtract(all,
                                  isl_union_map_read_from_str(ctx, "{ U[m, h, w, c, kh, kw] -> U[a, b, d, e, f, g] }"));
}

/* All vectors whose first entry that is not 0 is negative, and the zero vector. */
static isl_union_set *not_positive(isl_ctx *ctx) {
    isl_set *all = isl_set_from_point(isl_point_zero(isl_space_set_alloc(ctx, 0, STEPS)));
    for (int step = 0; step < STEPS; step++) {
        isl_set *first = isl_set_universe(isl_space_set_alloc(ctx, 0, STEPS));
        for (int before = 0; before < step; before++)
            first = isl_set_fix_si(first, isl_dim_set, (unsigned)before, 0);
        all = isl_set_union(all, isl_set_upper_bound_si(first, isl_dim_set, (unsigned)step, -1));
    }
    return isl_union_set_from_set(all);
}

static int is_legal(const Problem *p) {
    isl_union_map *moved = isl_union_map_apply_domain(isl_union_map_copy(p->flow), isl_union_map_copy(p->schedule));
    moved = isl_union_map_apply_range(moved, isl_union_map_copy(p->schedule));
    isl_union_set *deltas = isl_union_map_deltas(moved);
    isl_union_set *bad = isl_union_set_intersect(deltas, isl_union_set_copy(p->backwards));
    int legal = isl_union_set_is_empty(bad) == isl_bool_true;
    isl_union_set_free(bad);
    return legal;
}

static int make_schedule(const Problem *p) {
    isl_union_map *made = isl_union_map_read_from_str(p->ctx, candidate);
    isl_union_map_free(made);
    return 1;
}

/* What the tile reads of p, as a box: its first indices over the loops around it, and its extents. */
static int find_box(const Problem *p) {
    isl_set *image = isl_set_apply(isl_set_copy(p->tile), isl_map_copy(p->access));
    isl_fixed_box *box = isl_set_get_simple_fixed_box_hull(image);
    int valid = isl_fixed_box_is_valid(box) == isl_bool_true;
    isl_fixed_box_free(box);
    isl_set_free(image);
    return valid;
}

static void report(const char *what, int (*question)(const Problem *), const Problem *p) {
    double times[RUNS];
    int yes = 0;
    for (int i = 0; i < RUNS; i++) {
        double since = microseconds();
        yes += question(p);
        times[i] = microseconds() - since;
    }
    sort_times(times, RUNS);
    printf("%-46s %8.0f %8.0f   (%d of %d: yes)\n", what, times[RUNS / 2], times[0], yes, RUNS);
}

/* isl's sets are linear in the sizes: an index with a stride or a row length that is known at run time is none. */
static void report_affine(isl_ctx *ctx, const char *what, const char *set) {
    isl_set *read = isl_set_read_from_str(ctx, set);
    printf("%-46s %s\n", what, read != NULL ? "can be said" : "cannot be said");
    isl_set_free(read);
}

int main(void) {
    isl_ctx *ctx = isl_ctx_alloc();
    double since = microseconds();
    Problem p = {.ctx = ctx, .flow = find_flow(ctx)};
    printf("%-46s %8s %8s\n", "isl, microseconds", "median", "least");
    printf("%-46s %8.0f\n", "dependences, once a program", microseconds() - since);
    p.schedule = isl_union_map_read_from_str(ctx, candidate);
    p.backwards = not_positive(ctx);
    p.tile = isl_set_read_from_str(ctx, tile);
    p.access = isl_map_read_from_str(ctx, "{ U[m, h, w, c, kh, kw] -> p[c, h + kh, w + kw] }");
    report("a candidate's schedule map, from text", make_schedule, &p);
    report("is the candidate legal?", is_legal, &p);
    report("the box of one access of its tile", find_box, &p);
    fflush(stdout);
    report_affine(ctx, "S*h + kh < H, S a size", "[H, S] -> { [h, kh] : 0 <= h and S*h + kh < H }");
    report_affine(ctx, "0 <= h*W + w < H*W", "[H, W] -> { [h, w] : 0 <= h*W + w < H*W }");
    isl_union_map_free(p.flow);
    isl_union_map_free(p.schedule);
    isl_union_set_free(p.backwards);
    isl_set_free(p.tile);
    isl_map_free(p.access);
    isl_ctx_free(ctx);
    return 0;
}
