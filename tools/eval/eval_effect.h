/* tools/eval/eval_effect.h - the options of `mochi eval` that have no effect on what is evaluated. */
#ifndef EVAL_EFFECT_H
#define EVAL_EFFECT_H

#include "tools/eval/eval_subject.h"

/* The metrics of a task: bits as in eval_options. */
unsigned metrics_of(mo_task task);

/* Each ends the program by EXIT_USAGE with one line that names such an option: as far as the command line alone tells;
 * then by what the weights hold and the suite (NULL: none) asks for. */
void refuse_eval_words(const eval_options *o);
void refuse_eval_options(const eval_options *o, const subject *subjects, int n, const mo_suite *suite);

#endif
