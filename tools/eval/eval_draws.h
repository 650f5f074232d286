/* tools/eval/eval_draws.h - the draws of an evaluation as files. */
#ifndef EVAL_DRAWS_H
#define EVAL_DRAWS_H

#include "tools/command.h"

/* Writes support and test of a plan into the folder `state`, which it makes where it is absent; for mo_eval_options; of
 * links also the graph without the test links, from which `mochi predict` sees them. A failure is an error of the
 * graph's context. */
void write_draw(const mo_source *source, const mo_plan *plan, int64_t k, int64_t repeat, void *state);

#endif
