/* tools/eval/aggregate.h - one number a method: the paper's normalised aggregate. */
#ifndef AGGREGATE_H
#define AGGREGATE_H

#include "tools/eval/results.h"

/* S_t, the mean over a task's cells of a method's figure over the best one of any method there, and S, the mean over
 * the tasks that have cells. A cell is a data set and k (of links a data set); figures are accuracy, of links AUC. NaN
 * where the method lacks a cell. */
typedef struct aggregate {
    char features[48], head[32];
    double S, family[MO_TASKS];
    int cells[MO_TASKS];
} aggregate;

/* All methods of n lists of results together, best first; an array of stb_ds, to be freed by arrfree. */
aggregate *aggregate_results(const results *const *lists, int n);
void print_aggregates(const aggregate *list);

#endif
