/* train/features/sets/kernels.h - kernels that compare the graphs of a set with a few labelled ones, one per expert
 * (library internal). */
#ifndef MO_SET_KERNELS_H
#define MO_SET_KERNELS_H

#include "train/inside.h"

/* The experts of a set, with d the degrees of a graph's n nodes, m its edges, t the triangles of a node, P = D^-1 A and
 * x = log(1 + d); "spread" means mean and standard deviation over the nodes of a graph:
 *
 *     st   log n, log(1 + m), 2 m / n, density; spread of x, P x, clustering, log(1 + t)
 *     lab  of each node label its share and log(1 + count); shares of the degrees 0 .. 15; log n, log(1 + m)
 *     at   of each attribute a, standardised over all nodes: spread of a and P a, mean of a x; if there are at
 *          most four attributes, also the means of a_i (P a)_i and of a_i a_j, i < j
 *     atx  at and lab
 *     wl   subtrees.c: the columns of the optimal assignment kernel, in full
 *
 * k(X, Y) = 1 + exp(-|x - y|^2 / (2 p)) for the first four, with every column standardised over the graphs of the set,
 * clipped to -4 .. 4, and p the number of columns that vary. For wl, k(X, Y) is 1 + the cosine of the rows. Node labels
 * are the 0-1 feature columns that are not attributes of a TU set; all other columns are attributes. Without attributes
 * at and atx are left out. So is an expert that is the same for all graphs, unless the kernels are inductive.
 *
 * Inductive kernels use the labelled graphs alone: "all nodes" and "the graphs of the set" mean those of labelled
 * graphs, and wl reads only columns that a labelled graph has. So the kernel between a graph and a labelled one does
 * not depend on other graphs, except for rounding and the choice of which feature columns are attributes. */
typedef struct mo_set_kernels mo_set_kernels;

/* set: borrowed until release. inductive: see above; call mo_set_kernels_refer before reading kernels. memory: the most
 * bytes to use (0: the free memory); if the kernels need more, raises MO_MEMORY before the work. Raises MO_INVALID for
 * a single graph. Returns NULL on failure. */
mo_set_kernels *mo_set_kernels_create(const mo_graph *set, bool inductive, int64_t memory);
void mo_set_kernels_release(mo_set_kernels *k);

/* Sets the labelled graphs of inductive kernels, n numbers, copied; no effect on other kernels. Raises MO_INVALID for a
 * graph outside the set. Returns the status. */
mo_code mo_set_kernels_refer(mo_set_kernels *k, const int64_t *graph, int64_t n);

/* mo_set_kernels_count: the number of experts. mo_set_kernels_name: the name of expert e, borrowed. */
int mo_set_kernels_count(const mo_set_kernels *k);
const char *mo_set_kernels_name(const mo_set_kernels *k, int e);

/* Writes K [E, n_a, n_b] float32: the kernels between the graphs a [n_a] and b [n_b], which can repeat and can be
 * empty. Raises MO_INVALID for a graph outside the set. Not thread-safe. Returns the status. */
mo_code mo_set_kernels_gram(mo_set_kernels *k, const int64_t *a, int64_t n_a, const int64_t *b, int64_t n_b, float *K);

#endif
