/* tools/eval/eval_ranks.h - an evaluation that several processes share. Every process calls these functions in the same
 * order; of one process alone they ask for nothing. */
#ifndef EVAL_RANKS_H
#define EVAL_RANKS_H

#include "tools/eval/eval_run.h"

/* Whether this process is the one that speaks and writes. */
bool eval_leads(const evaluation *e);
/* Whether no process has failed, which all then know of, and no output was lost. */
bool eval_agree(evaluation *e);
/* Whether all processes have the weights, the settings and the data sets of the first one; raises which differ. */
bool eval_same_settings(evaluation *e);
/* Whether a pool that was just opened (NULL: this process failed) has the same tasks in all of them. */
bool eval_same_sources(evaluation *e, const mo_pool *pool);

#endif
