/* train/features/example_kernels.h - kernels between the examples of a source, one per expert: for nodes from
 * nodes/kernels.h, for graphs from sets/kernels.h (library internal). */
#ifndef MO_EXAMPLE_KERNELS_H
#define MO_EXAMPLE_KERNELS_H

#include "train/inside.h"

typedef struct mo_example_kernels mo_example_kernels;

/* source: its graph and features are borrowed until release. memory, errors: as for mo_node_kernels_create and
 * mo_set_kernels_create. Raises MO_UNSUPPORTED for links. Returns NULL on failure. */
mo_example_kernels *mo_example_kernels_create(const mo_source *source, int64_t memory);
void mo_example_kernels_release(mo_example_kernels *k);

/* mo_example_kernels_count: the number of experts (NULL: 0). mo_example_kernels_name: the name of expert e,
 * borrowed. */
int mo_example_kernels_count(const mo_example_kernels *k);
const char *mo_example_kernels_name(const mo_example_kernels *k, int e);

/* For nodes mo_node_kernels_assortativity; 0 for graphs and for NULL. */
double mo_example_kernels_assortativity(const mo_example_kernels *k);

/* Adds an expert from rows [nodes, w], float32 or float64, by mo_node_kernels_add. Raises MO_UNSUPPORTED for a set of
 * graphs and MO_INVALID for rows of another shape. Returns the status. */
mo_code mo_example_kernels_add(mo_example_kernels *k, const mo_graph *graph, const mo_expert *expert);

/* For graphs mo_set_kernels_refer; no effect for nodes. */
mo_code mo_example_kernels_refer(mo_example_kernels *k, const int64_t *labelled, int64_t n);

/* Writes K [E, n_a, n_b] float32: the kernels between the examples a [n_a] and b [n_b], by mo_node_kernels_gram or
 * mo_set_kernels_gram. Returns the status. */
mo_code mo_example_kernels_gram(
    mo_example_kernels *k, const int64_t *a, int64_t n_a, const int64_t *b, int64_t n_b, float *K);

#endif
