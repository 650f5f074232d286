/* tools/train/repeat_run.h - takes the last steps of a run again, in a folder of its own. */
#ifndef REPEAT_RUN_H
#define REPEAT_RUN_H

#include "tools/train/recipe.h"

typedef struct repeat {
    const char *run;   /* the folder of the run */
    char folder[512];  /* of the repetition */
    recipe recipe;     /* of run.json */
    char *settings;    /* as in run.json; owned */
    mo_pool *pool;     /* owned */
    bool digest;       /* the run has digests */
    bool solves;       /* its log has the health of solves */
    bool from_start;   /* there is no earlier checkpoint: from step 0 */
    int64_t from, end; /* steps to take: from .. end - 1 */
    int64_t newest;    /* the step of checkpoint.safetensors */
} repeat;

/* Finds the checkpoints of the run; most: of steps, 0: any number. Returns the status. */
mo_code repeat_prepare(mo_context *ctx, repeat *r, int64_t most);
/* Makes the folder and takes the steps, with a stop and a resumption halfway; a signal ends it after the current step.
 * Returns the status. */
mo_code repeat_steps(mo_context *ctx, repeat *r);
/* The halfway step, at which the repetition stops and is resumed. */
int64_t repeat_stop(const repeat *r);
/* Removes the folder. */
void repeat_release(repeat *r);

#endif
