/* tools/progress.h - what is shown while something runs: a line that is drawn over and over, to a terminal alone; and
 * the lines of a training run. */
#ifndef PROGRESS_H
#define PROGRESS_H

#include "tools/command.h"

#include <stdio.h>

typedef enum progress_form {
    PROGRESS_QUIET = 0,
    PROGRESS_LINES,    /* a line every few steps: pipes and files */
    PROGRESS_TERMINAL, /* one line that is overwritten */
    PROGRESS_JSON      /* an object a step */
} progress_form;

typedef struct progress {
    progress_form form;
    int64_t every;                   /* steps between two lines */
    int64_t shown;                   /* steps seen in this process */
    double loss, accuracy[MO_TASKS]; /* running means; NaN before the first value */
    double started, shown_at;        /* seconds, monotonic */
} progress;

/* Whether a line can be redrawn there: a terminal that is not a dumb one. */
bool can_redraw(FILE *stream);
/* Draws a line over the one before. False where it could not be written. */
bool redraw(FILE *stream, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Leaves nothing of it. */
void clear_line(FILE *stream);

progress progress_start(progress_form form, int64_t steps);
/* Shows a step. False where it could not be written. */
bool progress_step(progress *p, const mo_step_report *r);
/* Ends the terminal's line. */
void progress_end(const progress *p);

#endif
