/* plot.c - the ratios of a report as an SVG: a panel for each number of threads, a line for each workload with a mark
 * for each of tensorc's sides, where 1 is the speed of the fastest library, and for each operator the geometric means.
 */
#include "tests/bench/report.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { LINE = 14, LEFT = 120, PANEL = 420, GAP = 30, TOP = 70, BOTTOM = 30 };

static const double lowest = 0.125, highest = 8;
static const char *const colours[] = {
    [O2_TO_LIBRARY] = "#8a8f98", [TUNED_TO_LIBRARY] = "#1f5fa8", [LOOSE_TO_ANY] = "#d9730d"};
static const char *const labels[] = {
    [O2_TO_LIBRARY] = "-O2", [TUNED_TO_LIBRARY] = "-O tune", [LOOSE_TO_ANY] = "-O tune -ffp-error"};
enum { DRAWN = 3 };

/* Where a ratio lies in a panel; those beyond the ends lie at the ends. */
static double x_of(int panel, double value) {
    double place = (log2(value) - log2(lowest)) / (log2(highest) - log2(lowest));
    return LEFT + panel * (PANEL + GAP) + PANEL * fmin(fmax(place, 0), 1);
}

static void draw_grid(FILE *file, int panel, int threads, int bottom) {
    for (double value = lowest; value <= highest; value *= 2) {
        double x = x_of(panel, value);
        fprintf(file, "<line x1='%.1f' y1='%d' x2='%.1f' y2='%d' stroke='%s' stroke-width='%s'/>\n", x, TOP, x, bottom,
                value == 1 ? "#333" : "#ddd", value == 1 ? "1.2" : "0.8");
        fprintf(file, "<text x='%.1f' y='%d' text-anchor='middle'>%g</text>\n", x, TOP - 6, value);
    }
    fprintf(file, "<text x='%.1f' y='%d' text-anchor='middle' font-weight='bold'>%d thread%s</text>\n", x_of(panel, 1),
            TOP - 22, threads, threads == 1 ? "" : "s");
}

static void draw_mean(FILE *file, int panel, int y, int which, Mean mean) {
    double x = x_of(panel, mean.value);
    fprintf(file, "<path d='M%.1f %d l5 5 l-5 5 l-5 -5 z' fill='%s'><title>%s: %.2f, the mean of %d</title></path>\n",
            x, y - 9, colours[which], labels[which], mean.value, mean.count);
}

static void draw_mark(FILE *file, int panel, int y, int which, const Row *row) {
    double value = row_ratio(row, which, false);
    if (value > 0)
        fprintf(file, "<circle cx='%.1f' cy='%d' r='3.4' fill='%s'><title>%s, %s: %.2f</title></circle>\n",
                x_of(panel, value), y - 4, colours[which], row->name, labels[which], value);
}

static bool has_row(const Report *report, const Row *row, int before) {
    for (int i = 0; i < before; i++)
        if (!strcmp(report->rows[i].name, row->name) && !strcmp(report->rows[i].set, row->set))
            return true;
    return false;
}

/* The lines of an operator, from y on; gives the y after them. */
static int draw_group(FILE *file, const Report *report, const char *group, int y) {
    fprintf(file, "<text x='6' y='%d' font-weight='bold'>%s</text>\n", y, group);
    for (int p = 0; p < report->thread_count; p++)
        for (int r = 0; r < DRAWN; r++) {
            Mean mean = report_mean(report, group, report->threads[p], r, false);
            if (mean.count)
                draw_mean(file, p, y, r, mean);
        }
    y += LINE;
    for (int i = 0; i < report->count; i++) {
        const Row *row = &report->rows[i];
        if (strcmp(row->group, group) || has_row(report, row, i))
            continue;
        fprintf(file, "<text x='%d' y='%d' text-anchor='end' fill='#555'>%s</text>\n", LEFT - 8, y, row->name);
        for (int j = i; j < report->count; j++)
            for (int p = 0; p < report->thread_count; p++)
                for (int r = 0; r < DRAWN; r++)
                    if (!strcmp(report->rows[j].name, row->name) && !strcmp(report->rows[j].set, row->set) &&
                        report->rows[j].threads == report->threads[p])
                        draw_mark(file, p, y, r, &report->rows[j]);
        y += LINE;
    }
    return y + LINE / 2;
}

static bool is_drawn(const Report *report, const char *group) {
    for (int p = 0; p < report->thread_count; p++)
        for (int r = 0; r < DRAWN; r++)
            if (report_mean(report, group, report->threads[p], r, false).count)
                return true;
    return false;
}

static int height_of(const Report *report) {
    int lines = 0, groups = 0;
    for (int g = 0; g < report->group_count; g++)
        groups += is_drawn(report, report->groups[g]);
    for (int i = 0; i < report->count; i++)
        lines += is_drawn(report, report->rows[i].group) && !has_row(report, &report->rows[i], i);
    return TOP + LINE + lines * LINE + groups * (LINE + LINE / 2) + BOTTOM;
}

static void draw_legend(FILE *file, const Report *report) {
    fprintf(file, "<text x='6' y='20' font-size='14' font-weight='bold'>speed / speed of the fastest library (best "
                  "calls)</text>\n");
    for (int r = 0, x = 400; r < DRAWN; r++, x += 90)
        if (r != LOOSE_TO_ANY || report->loose)
            fprintf(file, "<circle cx='%d' cy='16' r='4' fill='%s'/><text x='%d' y='20'>%s</text>\n", x, colours[r],
                    x + 8, labels[r]);
    fprintf(file, "<text x='6' y='38' fill='#555'>a diamond is the geometric mean of an operator</text>\n");
}

bool plot_write(const Report *report, const char *path) {
    int height = height_of(report), width = LEFT + report->thread_count * (PANEL + GAP) + GAP, y = TOP + LINE;
    FILE *file = fopen(path, "w");
    if (!file)
        return false;
    fprintf(file,
            "<svg xmlns='http://www.w3.org/2000/svg' width='%d' height='%d' font-family='sans-serif' font-size='11'>\n",
            width > 760 ? width : 760, height);
    fprintf(file, "<rect width='100%%' height='100%%' fill='white'/>\n");
    draw_legend(file, report);
    for (int p = 0; p < report->thread_count; p++)
        draw_grid(file, p, report->threads[p], height - BOTTOM);
    for (int g = 0; g < report->group_count; g++)
        if (is_drawn(report, report->groups[g]))
            y = draw_group(file, report, report->groups[g], y);
    fprintf(file, "</svg>\n");
    return !fclose(file);
}
