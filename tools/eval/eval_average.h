/* tools/eval/eval_average.h - the mean over several weights of one recipe, `mochi eval --average`. */
#ifndef EVAL_AVERAGE_H
#define EVAL_AVERAGE_H

#include "tools/eval/eval_run.h"

/* Raises, naming two files, unless all weights are of one recipe with the same settings. */
void require_one_recipe(evaluation *e);
/* Adds, for every figure of the first weights from item `first` on, the mean over all weights as features "average"
 * (readout of all examples: "average+T"): of each seed's or episode's values, so that differences stay paired. Prints
 * them with --json; else the figures that they are the means of are taken out of the list. */
void add_averages(evaluation *e, int first);

#endif
