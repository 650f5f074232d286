/* train/episodes/episode_rows.h - the list of feature rows that an episode needs, made before its tensors, so that a
 * thread can fetch the rows ahead (library internal). */
#ifndef MO_EPISODE_ROWS_H
#define MO_EPISODE_ROWS_H

#include "tensor/arena.h"
#include "train/episodes/pool.h"
#include "train/features/row_stack.h"

/* The rows of an episode; the lists are in a host arena. */
typedef struct mo_row_list {
    const mo_source *source;
    int64_t n, *row;            /* nodes or examples, in the order of the episode's rows */
    int64_t examples, *example; /* for rows of nodes: the distinct examples of the plan, in rising order, or */
    bool in_order;              /* in the plan's: the support, then the queries */
    int64_t *segment;           /* for sets of graphs: [examples + 1], the first row of each graph */
} mo_row_list;

/* Returns false on failure. The source and the arena must outlive the list; the plan need not. */
bool mo_list_rows(mo_host_arena *host, const mo_source *source, const mo_plan *plan, mo_row_list *r, mo_context *ctx);

/* Lists the arrays in host memory or in mapped files from which an episode reads rows; returns their number. */
int mo_episode_arrays(const mo_source *source, const mo_tensor *array[MO_MOST_PIECES]);
/* The tensors of the episode. ready: its rows, made ready; NULL: they are read now. */
mo_code mo_episode_tensors(
    mo_tape *t, const mo_plan *plan, const mo_row_list *r, const mo_ready_rows *ready, mo_episode *e);
/* support_weight of mo_episode for a plan; NULL if its support repeats no example, or on failure. */
mo_tensor *mo_plan_weight(mo_tape *t, const mo_plan *plan);
/* Weights float64 [n] of rows with these labels: the rows of a class, n_c of them, get the total weight s (n_c + 32),
 * with s such that the mean weight is 1. Without weights a ridge predicts mostly the class with most labels, but few
 * labels say little about class sizes. The figures are accuracy, negative log-likelihood and balanced accuracy, means
 * over 25 graphs ("in proportion": to the class sizes):
 *     labels of a class             1 to 4 at random     3 on average, in proportion    30, in proportion
 *     every row counts 1            50.3 1.20  47.9      61.7 1.05  43.8                77.4 .596  59.4
 *     these weights                 52.1 1.13  50.2      63.3 .96   47.1                77.6 .582  61.9
 *     every class counts as much    52.2 1.13  50.4      63.5 .95   47.4                76.8 .596  63.1
 * NULL if all classes have the same number of rows, or on failure. */
mo_tensor *mo_class_weight(mo_tape *t, const int64_t *label, int64_t n, int64_t classes);
/* Gives the episode e the rows of n examples, as tensors of the tape. */
void mo_example_tensors(
    mo_tape *t, const mo_source *source, const int64_t *example, int64_t n, const mo_ready_rows *ready, mo_episode *e);

#endif
