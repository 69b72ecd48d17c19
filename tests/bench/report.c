/* report.c RESULTS PLOT - the tables and the plot of `make bench`: a row a workload, and for each operator the
 * geometric means of the ratios.
 *
 * RESULTS has a line for each side of each workload, its fields separated by tabs: set, workload, kind, threads, side,
 * GFLOP/s of the best and of the median call, their seconds, error, verdict, peak, way. The sides O2, tuned and loose
 * are tensorc's; of the others, which are libraries, the fastest counts. PLOT is written, an SVG.
 */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/bench/report.h"

static const char *const own_names[OWN_COUNT] = {[O2] = "O2", [TUNED] = "tuned", [LOOSE] = "loose"};

/* --- reading ------------------------------------------------------------------------------------------------------ */

static char *copy(const char *text) {
    char *made = strdup(text);
    if (!made)
        abort();
    return made;
}

/* Cuts a line at its tabs; how many fields there are. */
static int cut(char *line, char **fields, int most) {
    int count = 0;
    line[strcspn(line, "\r\n")] = '\0';
    for (char *at = line; at && count < most;) {
        char *tab = strchr(at, '\t');
        if (tab)
            *tab++ = '\0';
        fields[count++] = at;
        at = tab;
    }
    return count;
}

static Row *row_for(Report *report, char **fields) {
    int threads = atoi(fields[3]);
    for (int i = 0; i < report->count; i++)
        if (report->rows[i].threads == threads && !strcmp(report->rows[i].name, fields[1]) &&
            !strcmp(report->rows[i].set, fields[0]))
            return &report->rows[i];
    report->rows = realloc(report->rows, sizeof *report->rows * (size_t)(report->count + 1));
    if (!report->rows)
        abort();
    Row *row = &report->rows[report->count++];
    *row = (Row){.set = copy(fields[0]), .name = copy(fields[1]), .threads = threads};
    row->group = strcmp(row->set, "resnet18") ? copy(row->name) : "ResNet-18";
    if (strcmp(row->set, "resnet18"))
        row->group[strcspn(row->group, ".")] = '\0';
    return row;
}

static Speed *side_for(Row *row, const char *name, const char *way) {
    for (int s = 0; s < row->side_count; s++)
        if (!strcmp(row->sides[s].name, name))
            return &row->sides[s];
    if (row->side_count == MOST_SIDES)
        return NULL;
    row->sides[row->side_count] = (Speed){.name = copy(name), .way = copy(way)};
    return &row->sides[row->side_count++];
}

static void read_side(Report *report, char **fields) {
    Row *row = row_for(report, fields);
    row->peak = fmax(row->peak, atof(fields[11]));
    row->lowest_peak = row->lowest_peak > 0 ? fmin(row->lowest_peak, atof(fields[11])) : atof(fields[11]);
    Speed *side = side_for(row, fields[4], fields[12]);
    if (!strcmp(fields[10], "WRONG"))
        row->wrong = copy(fields[4]);
    if (!side || side->count == MOST_PROCESSES)
        return;
    if (atof(fields[5]) > side->best)
        side->way = copy(fields[12]);
    side->best = fmax(side->best, atof(fields[5]));
    side->error = fmax(side->error, atof(fields[9]));
    side->medians[side->count++] = atof(fields[6]);
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median of the processes' medians; the fastest of the libraries. */
static void finish_row(Row *row) {
    for (int i = 0; i < row->side_count; i++) {
        Speed *side = &row->sides[i], *to = strncmp(side->name, "loose:", 6) ? &row->library : &row->winograd;
        qsort(side->medians, (size_t)side->count, sizeof *side->medians, by_value);
        side->median = side->medians[side->count / 2];
        for (int s = 0; s < OWN_COUNT; s++)
            if (!strcmp(side->name, own_names[s]))
                to = &row->own[s];
        if (side->best > to->best)
            *to = *side;
    }
}

/* The machine's peak is the highest that was seen: what else runs only ever lowers it. */
static void share_peak(Report *report) {
    for (int i = 0; i < report->count; i++)
        for (int j = 0; j < report->count; j++)
            if (report->rows[i].threads == report->rows[j].threads)
                report->rows[i].peak = fmax(report->rows[i].peak, report->rows[j].peak);
}

static bool read_results(Report *report, const char *path) {
    FILE *file = fopen(path, "r");
    char line[4096], *fields[RESULT_FIELDS];
    while (file && fgets(line, sizeof line, file))
        if (cut(line, fields, RESULT_FIELDS) == RESULT_FIELDS && atoi(fields[3]))
            read_side(report, fields);
    for (int i = 0; i < report->count; i++)
        finish_row(&report->rows[i]);
    share_peak(report);
    return file && !fclose(file);
}

/* --- ratios ------------------------------------------------------------------------------------------------------- */

/* 0 where one of them is not there. */
static double ratio(double a, double b) {
    return a > 0 && b > 0 ? a / b : 0;
}

double row_ratio(const Row *row, Ratio which, bool median) {
    const Speed *o2 = &row->own[O2], *tuned = &row->own[TUNED], *loose = &row->own[LOOSE], *library = &row->library;
    const Speed *any = row->winograd.best > library->best ? &row->winograd : library;
    const Speed *pairs[RATIO_COUNT][2] = {[O2_TO_LIBRARY] = {o2, library},
                                          [TUNED_TO_LIBRARY] = {tuned, library},
                                          [LOOSE_TO_ANY] = {loose, any},
                                          [TUNED_TO_ANY] = {tuned, any},
                                          [O2_TO_TUNED] = {o2, tuned}};
    const Speed *a = pairs[which][0], *b = pairs[which][1];
    return median ? ratio(a->median, b->median) : ratio(a->best, b->best);
}

Mean report_mean(const Report *report, const char *group, int threads, Ratio which, bool median) {
    Mean mean = {0};
    double logs = 0;
    for (int i = 0; i < report->count; i++) {
        const Row *row = &report->rows[i];
        double value = row_ratio(row, which, median);
        if (row->threads != threads || value == 0 || (strcmp(group, row->group) && strcmp(group, row->set)))
            continue;
        logs += log(value);
        mean.least = mean.count++ ? fmin(mean.least, value) : value;
    }
    mean.value = mean.count ? exp(logs / mean.count) : 0;
    return mean;
}

/* --- text --------------------------------------------------------------------------------------------------------- */

static void print_speed(const Speed *speed) {
    if (speed->best > 0)
        printf(" %7.1f %7.1f", speed->best, speed->median);
    else
        printf(" %7s %7s", "-", "-");
}

static void print_number(double value) {
    if (value > 0)
        printf(" %6.2f", value);
    else
        printf(" %6s", "-");
}

/* "library" is the fastest by direct algorithms, "any" the fastest of all, Winograd's among them. */
static void print_head(int threads, bool loose) {
    printf("\nGFLOP/s of the best and of the median call with %d thread%s, and ratios of the best\n", threads,
           threads == 1 ? "" : "s");
    printf("%-16s %15s %15s%s %15s  %6s %6s%s %6s %6s\n", "", "-O2", "-O tune", loose ? "     -ffp-error" : "",
           "library", "O2/", "tuned/", loose ? " loose/" : "", "O2/", "of");
    printf("%-16s %7s %7s %7s %7s%s %7s %7s  %6s %6s%s %6s %6s %7s  %s\n", "workload", "best", "median", "best",
           "median", loose ? "    best  median" : "", "best", "median", "lib", "lib", loose ? "    any" : "", "tuned",
           "peak", "error", "layout; library and its way");
}

static const Speed *fastest_own(const Row *row) {
    const Speed *best = &row->own[O2];
    for (int s = 0; s < OWN_COUNT; s++)
        if (row->own[s].best > best->best)
            best = &row->own[s];
    return best;
}

static void print_row(const Row *row, bool loose) {
    const Speed *fastest = fastest_own(row);
    printf("%-16s", row->name);
    print_speed(&row->own[O2]);
    print_speed(&row->own[TUNED]);
    if (loose)
        print_speed(&row->own[LOOSE]);
    print_speed(&row->library);
    printf(" ");
    print_number(row_ratio(row, O2_TO_LIBRARY, false));
    print_number(row_ratio(row, TUNED_TO_LIBRARY, false));
    if (loose)
        print_number(row_ratio(row, LOOSE_TO_ANY, false));
    print_number(row_ratio(row, O2_TO_TUNED, false));
    printf(" %5.0f%% %7.0e  %s", 100 * ratio(fastest->best, row->peak), fastest->error,
           fastest->way ? fastest->way : "");
    if (row->library.name)
        printf("; %s, %s", row->library.name, row->library.way);
    if (row->winograd.name)
        printf("; %.1f by %s", row->winograd.best, row->winograd.way);
    if (row->lowest_peak < 0.9 * row->peak)
        printf("  (the machine was busy)");
    printf(row->wrong ? "  WRONG: %s\n" : "\n", row->wrong);
}

static const char *const ratio_names[RATIO_COUNT] = {[O2_TO_LIBRARY] = "-O2 / library",
                                                     [TUNED_TO_LIBRARY] = "-O tune / library",
                                                     [LOOSE_TO_ANY] = "-ffp-error / any",
                                                     [TUNED_TO_ANY] = "-O tune / any",
                                                     [O2_TO_TUNED] = "-O2 / -O tune"};

static void print_mean_line(const Report *report, const char *group, int threads) {
    printf("%-16s", group);
    for (int r = 0; r < RATIO_COUNT; r++) {
        Mean best = report_mean(report, group, threads, r, false),
             median = report_mean(report, group, threads, r, true);
        if (best.count)
            printf("  %6.2f %6.2f %6.2f", best.value, median.value, best.least);
        else
            printf("  %6s %6s %6s", "-", "-", "-");
    }
    printf("\n");
}

static void print_means(const Report *report, int threads) {
    printf("\ngeometric means of ratios with %d thread%s: of the best calls, of the median ones, and the least of the "
           "best\n",
           threads, threads == 1 ? "" : "s");
    printf("%-16s", "operator");
    for (int r = 0; r < RATIO_COUNT; r++)
        printf("  %-20s", ratio_names[r]);
    printf("\n");
    for (int g = 0; g < report->group_count; g++)
        print_mean_line(report, report->groups[g], threads);
    for (int g = 0; g < report->set_count; g++)
        if (strcmp(report->sets[g], "resnet18"))
            print_mean_line(report, report->sets[g], threads);
}

/* --- groups ------------------------------------------------------------------------------------------------------- */

static void add_name(const char **names, int *count, const char *name) {
    for (int i = 0; i < *count; i++)
        if (!strcmp(names[i], name))
            return;
    if (*count < MOST_GROUPS)
        names[(*count)++] = name;
}

static void find_groups(Report *report) {
    for (int i = 0; i < report->count; i++) {
        const Row *row = &report->rows[i];
        add_name(report->groups, &report->group_count, row->group);
        add_name(report->sets, &report->set_count, row->set);
        report->loose |= row->own[LOOSE].best > 0;
        report->most_threads = row->threads > report->most_threads ? row->threads : report->most_threads;
    }
}

static bool print_threads(const Report *report, int threads) {
    bool any = false;
    for (int i = 0; i < report->count; i++)
        if (report->rows[i].threads == threads) {
            if (!any)
                print_head(threads, report->loose);
            print_row(&report->rows[i], report->loose);
            any = true;
        }
    if (any)
        print_means(report, threads);
    return any;
}

int main(int argc, char **argv) {
    Report report = {0};
    if (argc != 3 || !read_results(&report, argv[1])) {
        fprintf(stderr, "usage: report RESULTS PLOT\n");
        return 2;
    }
    find_groups(&report);
    for (int threads = 1; threads <= report.most_threads; threads++)
        if (print_threads(&report, threads))
            report.threads[report.thread_count < MOST_PANELS ? report.thread_count++ : 0] = threads;
    return plot_write(&report, argv[2]) ? 0 : 1;
}
