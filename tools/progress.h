/* tools/progress.h - what a training run shows while it runs. */
#ifndef PROGRESS_H
#define PROGRESS_H

#include "tools/command.h"

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

progress progress_start(progress_form form, int64_t steps);
/* Shows a step. False where it could not be written. */
bool progress_step(progress *p, const mo_step_report *r);
/* Ends the terminal's line. */
void progress_end(const progress *p);

#endif
