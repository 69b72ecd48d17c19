/* tune_progress.c - what -O tune prints while it searches. On a terminal it is a line that is rewritten each second, in
 * a log one line now and then.
 *
 * A thread of its own keeps the time, whatever the search waits for. A lock protects what the searches reported last;
 * the thread reads nothing else of theirs. It blocks all signals, which the search has to receive.
 */
#include "driver/tune.h"
#include "lang/terminal.h"
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

static const double terminal_seconds = 1;

struct Progress {
    TunedFile *file;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t ended;
    double period;
    bool terminal, over;
};

typedef struct ShownTotals {
    int trials, failed;
    double best;
} ShownTotals;

static void add_shown(const ShownSearches *shown, ShownTotals *totals) {
    for (int i = 0; shown->function && i < shown->function->count; i++) {
        const TuneProgress *last = &shown->last[i];
        totals->trials += last->trials;
        totals->failed += last->failed;
        totals->best = last->best_seconds > 0 ? fmin(totals->best, last->best_seconds) : totals->best;
    }
}

static double seconds_to_go(const TunedFile *file, int trials, int limit, double now) {
    double left = trials > 0 ? (now - file->since) / trials * (limit - trials) : 0;
    return file->end > 0 ? (trials > 0 ? fmin(left, file->end - now) : file->end - now) : left;
}

/* Of several functions: those of all, and their part. */
static void add_all(Text *text, const TunedFile *file, ShownTotals *all, int *limit) {
    int functions = 0;
    *limit = 0;
    for (int f = 0; f < file->count; f++) {
        add_shown(&file->shown[f], all);
        *limit += file->shown[f].trials;
        functions += file->shown[f].function != NULL;
    }
    if (functions > 1)
        text_add(text, "; %d functions: %d/%d trials", functions, all->trials, *limit);
}

/* The task of the function that is searched now, by the stage that names it. */
static void add_task(Text *text, const ShownSearches *shown) {
    const TuneProgress *last = &shown->last[shown->program];
    size_t whole = strlen(shown->function->programs[0]->name);
    if (!last->task)
        return;
    bool within = !strncmp(last->task, shown->function->programs[0]->name, whole) && last->task[whole] == '.';
    text_add(text, ", now %s", last->task + (within ? whole + 1 : 0));
    if (last->share > 0)
        text_add(text, " (%.0f %% of it)", 100 * last->share);
}

/* The function that is searched now. */
static void add_current(Text *text, Arena *arena, const ShownSearches *shown, bool alone) {
    const Program *program = shown->function->programs[0];
    ShownTotals totals = {.best = HUGE_VAL};
    add_shown(shown, &totals);
    text_add(text, "tuning %s: %d", program->symbol, totals.trials);
    if (alone)
        text_add(text, "/%d", shown->trials);
    text_add(text, totals.trials == 1 && !alone ? " trial" : " trials");
    if (totals.failed)
        text_add(text, ", %d failed", totals.failed);
    if (totals.best < HUGE_VAL)
        text_add(text, ", best %s", speed_text(arena, totals.best, program_flops(program)));
    add_task(text, shown);
}

/* Cut at the width of the terminal, so that it stays one line. */
static void show_line(const Progress *progress) {
    const TunedFile *file = progress->file;
    double now = monotonic_seconds();
    Arena *arena = arena_new();
    Text text = {.arena = arena}, rest = {.arena = arena};
    ShownTotals all = {.best = HUGE_VAL};
    int limit;
    add_all(&rest, file, &all, &limit);
    text_add(&text, "%s", progress->terminal ? "\r\033[K\033[?7l" : "tensorc: ");
    add_current(&text, arena, &file->shown[file->current], !rest.text);
    text_add(&text, "%s, %.0f s", rest.text ? rest.text : "", now - file->since);
    double left = seconds_to_go(file, all.trials, limit, now);
    if (left > 0)
        text_add(&text, ", %.0f s to go", left);
    text_add(&text, "%s", progress->terminal ? "\033[?7h" : "\n");
    fputs(text.text, stderr);
    fflush(stderr);
    arena_free(arena);
}

static struct timespec time_of(double seconds) {
    return (struct timespec){(time_t)seconds, (long)((seconds - floor(seconds)) * 1e9)};
}

static void *tick(void *context) {
    Progress *progress = context;
    double *shown = &progress->file->last_line;
    pthread_mutex_lock(&progress->lock);
    while (!progress->over) {
        struct timespec until = time_of(*shown + progress->period);
        pthread_cond_timedwait(&progress->ended, &progress->lock, &until);
        if (progress->over || monotonic_seconds() < *shown + progress->period)
            continue;
        show_line(progress);
        *shown = monotonic_seconds();
    }
    pthread_mutex_unlock(&progress->lock);
    return NULL;
}

void show_progress(void *context, int function, int program, const TuneProgress *said) {
    TunedFile *file = context;
    Progress *progress = file->progress;
    if (progress)
        pthread_mutex_lock(&progress->lock);
    file->shown[function].last[program] = *said;
    file->shown[function].program = program;
    file->current = function;
    if (!progress)
        return;
    if (progress->terminal)
        show_line(progress);
    pthread_mutex_unlock(&progress->lock);
}

static bool start_thread(Progress *progress) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    bool started = pthread_create(&progress->thread, NULL, tick, progress) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started;
}

void progress_begin(TunedFile *file) {
    const Compilation *c = file->compilation;
    if (file->progress || json_is_open()) /* it consists of whole messages, and programs do not watch progress */
        return;
    Progress *progress = ARENA_NEW(c->arena, Progress);
    pthread_condattr_t clock;
    progress->file = file;
    progress->terminal = isatty(STDERR_FILENO);
    progress->period = progress->terminal ? terminal_seconds : c->options->progress;
    pthread_mutex_init(&progress->lock, NULL);
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&progress->ended, &clock);
    file->progress = start_thread(progress) ? progress : NULL; /* a search also works without this thread */
}

void progress_end(TunedFile *file) {
    Progress *progress = file->progress;
    if (!progress)
        return;
    pthread_mutex_lock(&progress->lock);
    progress->over = true;
    pthread_cond_signal(&progress->ended);
    pthread_mutex_unlock(&progress->lock);
    pthread_join(progress->thread, NULL);
    pthread_cond_destroy(&progress->ended);
    pthread_mutex_destroy(&progress->lock);
    if (progress->terminal)
        fputs("\r\033[K", stderr);
    file->progress = NULL;
}
