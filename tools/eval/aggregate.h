/* tools/eval/aggregate.h - one number per method: the paper's normalised aggregate. */
#ifndef AGGREGATE_H
#define AGGREGATE_H

#include "tools/eval/results.h"

/* S_t is the mean, over a task's cells, of a method's figure divided by the best figure of all methods in that cell; S
 * is the mean over the tasks that have cells. A cell is a data set and k (for links: a data set); the figure is
 * accuracy, for links AUC. NaN if the method lacks a cell. */
typedef struct aggregate {
    char features[48], head[32];
    double S, family[MO_TASKS];
    int cells[MO_TASKS];
} aggregate;

/* The aggregates of all methods in n lists of results, best first; a stb_ds array, to be freed by arrfree. */
aggregate *aggregate_results(const results *const *lists, int n);
void print_aggregates(const aggregate *list);

#endif
