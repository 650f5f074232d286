/* train/features/example_kernels.h - kernels between the examples of a source, one an expert: between nodes those of
 * nodes/kernels.h, between graphs those of sets/kernels.h (library internal). */
#ifndef MO_EXAMPLE_KERNELS_H
#define MO_EXAMPLE_KERNELS_H

#include "train/inside.h"

typedef struct mo_example_kernels mo_example_kernels;

/* source: its graph and features are borrowed until release. memory, errors: as mo_node_kernels_create and
 * mo_set_kernels_create have them. Raises MO_UNSUPPORTED for links. Returns NULL on failure. */
mo_example_kernels *mo_example_kernels_create(const mo_source *source, int64_t memory);
void mo_example_kernels_release(mo_example_kernels *k);

/* How many experts there are (NULL: none), and what expert e is called: borrowed. */
int mo_example_kernels_count(const mo_example_kernels *k);
const char *mo_example_kernels_name(const mo_example_kernels *k, int e);

/* Of nodes mo_node_kernels_assortativity; 0 of graphs, and of NULL. */
double mo_example_kernels_assortativity(const mo_example_kernels *k);

/* Adds an expert by rows [nodes, w] of float32 or float64, as mo_node_kernels_add does. Raises MO_UNSUPPORTED for a set
 * of graphs and MO_INVALID for rows of another shape. Returns the status. */
mo_code mo_example_kernels_add(mo_example_kernels *k, const mo_graph *graph, const mo_expert *expert);

/* As mo_set_kernels_refer; of nodes nothing changes. */
mo_code mo_example_kernels_refer(mo_example_kernels *k, const int64_t *labelled, int64_t n);

/* K [E, n_a, n_b] float32, written: the kernels between the examples a [n_a] and b [n_b], as mo_node_kernels_gram and
 * mo_set_kernels_gram have them. Returns the status. */
mo_code mo_example_kernels_gram(
    mo_example_kernels *k, const int64_t *a, int64_t n_a, const int64_t *b, int64_t n_b, float *K);

#endif
