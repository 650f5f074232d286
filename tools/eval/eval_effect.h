/* tools/eval/eval_effect.h - refuses options of `mochi eval` that have no effect. */
#ifndef EVAL_EFFECT_H
#define EVAL_EFFECT_H

#include "tools/eval/eval_subject.h"

/* The metrics of a task: bits as in eval_options. */
unsigned metrics_of(mo_task task);

/* Each ends the program with EXIT_USAGE and one line that names an option without effect: refuse_eval_words by the
 * command line alone, the other by the weights and the suite (NULL: none). */
void refuse_eval_words(const eval_options *o);
void refuse_eval_options(const eval_options *o, const subject *subjects, int n, const mo_suite *suite);

#endif
