/* tools/progress.h - progress output: a line that is redrawn, on a terminal only; and the lines of a training run. */
#ifndef PROGRESS_H
#define PROGRESS_H

#include "tools/command.h"

#include <stdio.h>

typedef enum progress_form {
    PROGRESS_QUIET = 0,
    PROGRESS_LINES,    /* one line every few steps: pipes and files */
    PROGRESS_TERMINAL, /* one line that is overwritten */
    PROGRESS_JSON      /* one object per step */
} progress_form;

typedef struct progress {
    progress_form form;
    int64_t every;                   /* steps between two lines */
    int64_t shown;                   /* steps seen in this process */
    double loss, accuracy[MO_TASKS]; /* running means; NaN before the first value */
    double started, shown_at;        /* seconds, monotonic */
} progress;

/* Whether a line can be redrawn on the stream: a terminal that is not dumb. */
bool can_redraw(FILE *stream);
/* Draws a line over the previous one. Returns false if it could not be written. */
bool redraw(FILE *stream, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Clears the line. */
void clear_line(FILE *stream);

/* A phase that gives no sign of life of its own. Where it takes longer than a few seconds, a thread says so on standard
 * error: its name and its seconds, on a terminal in one line that is overwritten, else in lines, ever more seldom.
 * One ends where another begins, and before other lines than notices are printed. quiet: nothing is said. */
void phase_begin(bool quiet, const char *format, ...) __attribute__((format(printf, 2, 3)));
void phase_end(void);
/* Makes room for a notice amid a phase. */
void phase_clear(void);

progress progress_start(progress_form form, int64_t steps);
/* Shows a step. Returns false if it could not be written. */
bool progress_step(progress *p, const mo_step_report *r);
/* Ends the line on the terminal. */
void progress_end(const progress *p);

#endif
