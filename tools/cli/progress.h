/* tools/cli/progress.h - progress output: a redrawn line on a terminal, and the lines of a training run. */
#ifndef PROGRESS_H
#define PROGRESS_H

#include "tools/cli/command.h"

#include <stdio.h>

typedef enum progress_form {
    PROGRESS_QUIET = 0,
    PROGRESS_LINES,    /* one line every few steps, for pipes and files */
    PROGRESS_TERMINAL, /* one line, overwritten at each step */
    PROGRESS_JSON      /* one JSON object per step */
} progress_form;

typedef struct progress {
    progress_form form;
    int64_t every;                   /* steps between two lines */
    int64_t shown;                   /* steps that progress_step has seen */
    double loss, accuracy[MO_TASKS]; /* running means; NaN before the first value */
    double started, shown_at;        /* seconds, monotonic */
} progress;

/* Whether a line can be redrawn on the stream: a terminal that is not dumb. */
bool can_redraw(FILE *stream);
/* Draws a line over the previous one. Returns false if it could not be written. */
bool redraw(FILE *stream, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Clears the line. */
void clear_line(FILE *stream);

/* A phase is work without output of its own. If it takes more than a few seconds, a thread prints its name and seconds
 * on standard error: on a terminal in one overwritten line, else in lines, ever more rarely. Starting a phase ends the
 * one before; end the phase before printing anything but notices. quiet: prints nothing. */
void phase_begin(bool quiet, const char *format, ...) __attribute__((format(printf, 2, 3)));
void phase_end(void);
/* Clears the phase's line on the terminal, before a notice is printed. */
void phase_clear(void);

progress progress_start(progress_form form, int64_t steps);
/* Shows a step. Returns false if it could not be written. */
bool progress_step(progress *p, const mo_step_report *r);
/* Ends the line on the terminal. */
void progress_end(const progress *p);

#endif
