/* tools/cli/progress.c - shows step, loss, accuracy by family, steps per second and the remaining time.
 *
 * Loss and accuracies are exponential means over about the last fifty steps, as single episodes vary too much. */
#include "tools/cli/progress.h"

#include "tensor/library.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

bool can_redraw(FILE *stream) {
    const char *kind = getenv("TERM");
    return isatty(fileno(stream)) && (!kind || strcmp(kind, "dumb"));
}

bool redraw(FILE *stream, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fputc('\r', stream);
    vfprintf(stream, format, arguments);
    va_end(arguments);
    fputs("\033[K", stream); /* clears what remains of a longer previous line */
    return fflush(stream) == 0;
}

void clear_line(FILE *stream) {
    fputs("\r\033[K", stream);
}

/* ---- phases ---- */

enum { FIRST_SECONDS = 5, MOST_SECONDS = 60 };

static struct {
    bool going, shown; /* shown: the terminal has a line that can be overwritten */
    char what[128];
    pthread_t thread;
} phase; /* global, as the process has one phase at a time */
static pthread_mutex_t phase_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t phase_over = PTHREAD_COND_INITIALIZER;

/* Allocates nothing and locks no stream, as the command's own work goes on in another thread. */
static void show_phase(double seconds, bool terminal) {
    char line[192];
    int n = snprintf(
        line, sizeof line, "%s%s, %.0f s%s", terminal ? "\r" : "", phase.what, seconds, terminal ? "\033[K" : "\n");
    phase.shown = write(STDERR_FILENO, line, (size_t)n) == n && terminal;
}

static void *watch_phase(void *state) {
    struct timespec due;
    bool terminal = can_redraw(stderr);
    double begun = mo_clock(CLOCK_MONOTONIC);
    clock_gettime(CLOCK_REALTIME, &due);
    due.tv_sec += FIRST_SECONDS;
    pthread_mutex_lock(&phase_lock);
    while (phase.going) {
        int code = pthread_cond_timedwait(&phase_over, &phase_lock, &due);
        double seconds = mo_clock(CLOCK_MONOTONIC) - begun;
        if (!phase.going || code != ETIMEDOUT)
            continue;
        show_phase(seconds, terminal);
        due.tv_sec += terminal ? 1 : seconds < MOST_SECONDS ? (time_t)seconds : MOST_SECONDS;
    }
    pthread_mutex_unlock(&phase_lock);
    return state;
}

void phase_begin(bool quiet, const char *format, ...) {
    phase_end();
    if (quiet)
        return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(phase.what, sizeof phase.what, format, arguments);
    va_end(arguments);
    phase.going = true; /* set before the thread reads it */
    if (pthread_create(&phase.thread, NULL, watch_phase, NULL) != 0)
        phase.going = false; /* without a thread, the phase prints nothing */
}

void phase_clear(void) {
    pthread_mutex_lock(&phase_lock);
    if (phase.shown)
        clear_line(stderr);
    phase.shown = false;
    pthread_mutex_unlock(&phase_lock);
}

void phase_end(void) {
    if (!phase.going)
        return;
    pthread_mutex_lock(&phase_lock);
    phase.going = false;
    pthread_cond_signal(&phase_over);
    pthread_mutex_unlock(&phase_lock);
    pthread_join(phase.thread, NULL);
    phase_clear();
}

progress progress_start(progress_form form, int64_t steps) {
    progress p = {.form = form, .every = steps < 20 ? 1 : steps < 2000 ? steps / 20 : 100, .loss = NAN};
    for (int task = 0; task < MO_TASKS; task++)
        p.accuracy[task] = NAN;
    p.started = mo_clock(CLOCK_MONOTONIC);
    return p;
}

/* The weight of a new value falls from 1 to 1/50, so that the first steps are a plain mean. */
static double running_mean(double mean, double value, int64_t count) {
    double weight = 1 / fmin((double)count, 50);
    return isnan(value) ? mean : isnan(mean) ? value : mean + weight * (value - mean);
}

static bool print_object(const mo_step_report *r) {
    json_t *accuracy = json_object();
    for (int task = 0; task < MO_TASKS; task++)
        json_object_set_new(accuracy, mo_task_name((mo_task)task), json_number(r->accuracy[task]));
    return print_json(json_pack("{s:I, s:I, s:o, s:o, s:o, s:o, s:o}", "step", (json_int_t)r->step, "steps",
        (json_int_t)r->steps, "loss", json_number(r->loss), "lr", json_number(r->lr), "gradient_norm",
        json_number(r->gradient_norm), "accuracy", accuracy, "seconds", json_number(r->seconds)));
}

static bool print_step_line(const progress *p, const mo_step_report *r) {
    double elapsed = mo_clock(CLOCK_MONOTONIC) - p->started, rate = (double)p->shown / fmax(elapsed, 1e-9);
    int64_t left = (int64_t)((double)(r->steps - r->step - 1) / rate);
    char families[128] = "";
    for (int task = 0; task < MO_TASKS; task++)
        if (!isnan(p->accuracy[task]))
            snprintf(families + strlen(families), sizeof families - strlen(families), "  %s %.1f%%",
                mo_task_name((mo_task)task), 100 * p->accuracy[task]);
    char line[256];
    snprintf(line, sizeof line, "step %" PRId64 "/%" PRId64 "  loss %.4f%s  %.1f steps/s  %" PRId64 ":%02d:%02d left",
        r->step + 1, r->steps, p->loss, families, rate, left / 3600, (int)(left / 60 % 60), (int)(left % 60));
    if (p->form == PROGRESS_TERMINAL)
        return redraw(stdout, "%s", line);
    return puts(line) != EOF && fflush(stdout) == 0;
}

bool progress_step(progress *p, const mo_step_report *r) {
    p->shown++;
    p->loss = running_mean(p->loss, r->loss, p->shown);
    for (int task = 0; task < MO_TASKS; task++)
        p->accuracy[task] = running_mean(p->accuracy[task], r->accuracy[task], p->shown);
    if (p->form == PROGRESS_QUIET)
        return true;
    if (p->form == PROGRESS_JSON)
        return print_object(r);
    double now = mo_clock(CLOCK_MONOTONIC);
    bool due = p->form == PROGRESS_TERMINAL ? now - p->shown_at >= 0.1 : (r->step + 1) % p->every == 0;
    if (!due && r->step + 1 < r->steps)
        return true;
    p->shown_at = now;
    return print_step_line(p, r);
}

void progress_end(const progress *p) {
    if (p->form == PROGRESS_TERMINAL && p->shown)
        putchar('\n');
}
