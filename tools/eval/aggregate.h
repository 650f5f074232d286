/* tools/eval/aggregate.h - one number per method: the paper's normalised aggregate. */
#ifndef AGGREGATE_H
#define AGGREGATE_H

#include "tools/eval/results.h"

/* S_t is the mean, over a task's cells, of a method's figure divided by the best figure of all methods in that cell; S
 * is the mean over the tasks that have cells. A cell is a data set and k (for links: a data set) by one protocol; the
 * figure is accuracy, for links AUC; beside the paper, links of k = 512 or without shots. Of several lists the cells
 * are those for which each has a figure. NaN if the method lacks a cell. */
typedef struct aggregate {
    char features[48], head[32];
    double S, family[MO_TASKS];
    int cells[MO_TASKS];
    int list;          /* the list that has the method's figures */
    const char *label; /* its label, borrowed; NULL of one list alone */
} aggregate;

/* The aggregates of all methods in n lists of results, best first; a stb_ds array, to be freed by arrfree. */
aggregate *aggregate_results(const results *const *lists, int n);
void print_aggregates(const aggregate *list);

/* Adds to each method its mean over the paper's k (4, 8, 16, 32, 64, 512) of every data set of nodes for which it has
 * all six, as the paper's table of readouts on frozen embeddings has them: k = 0, metric accuracy_over_k, no interval.
 */
void add_means_over_k(results *r);

#endif
