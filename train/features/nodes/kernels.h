/* train/features/nodes/kernels.h - kernels between the nodes of a graph, one an expert: what a few labelled nodes are
 * compared by (library internal). */
#ifndef MO_NODE_KERNELS_H
#define MO_NODE_KERNELS_H

#include "train/inside.h"

/* The experts of a graph, each a set of rows, one a node; k(x, y) = 1 + <x, y>, of S 1 + exp(-|x - y|^2 / (2 p)).
 * With X the attributes at unit length, A the adjacency, P = D^-1 A, A~ = D^-1/2 A D^-1/2, every row at unit length
 * unless it is zero, "centred" minus the mean row over all nodes:
 *
 *     Xc  X, centred                           PX  P X, centred            HX  X - P X, centred
 *     A1  A D^-1/2                             S   p structure columns (structure_columns.h)
 *     H   A~^2 (P_A + P_X), hop 2 of both blocks of the features (blocks.c), summed
 *
 * Xc, PX, HX need two columns of attributes or more, A1 and H edges, H features with blocks and two hops, S a column
 * that differs between nodes; what a graph has not is left out. No array [nodes, columns of X] is ever made. */
typedef struct mo_node_kernels mo_node_kernels;

/* graph: a single one; nodes: the features of its nodes, or NULL (no H); both borrowed until release. memory: bytes
 * that this may take while it is made, 0: what is free; asked before the work. Raises MO_MEMORY, with the bytes needed,
 * where it is not enough, MO_INVALID for a set of graphs, and MO_NUMERICAL for attributes whose squares float32 cannot
 * hold. Deterministic, whatever the number of threads. Returns NULL on failure; the status is that of the graph's
 * context. */
mo_node_kernels *mo_node_kernels_create(const mo_graph *graph, const mo_features *nodes, int64_t memory);
void mo_node_kernels_release(mo_node_kernels *k);

/* How many experts there are, and what expert e is called: borrowed. */
int mo_node_kernels_count(const mo_node_kernels *k);
const char *mo_node_kernels_name(const mo_node_kernels *k, int e);

/* How alike the attributes of neighbours are, in standard deviations of two nodes at random
 * (mo_attribute_assortativity); 0 of a graph without attributes. */
double mo_node_kernels_assortativity(const mo_node_kernels *k);

/* Adds an expert by rows [nodes, w] float32, copied and brought to unit length. The name is copied. Raises MO_INVALID
 * for a name that is taken and MO_NUMERICAL for a value that is not finite. Returns the status. */
mo_code mo_node_kernels_add(mo_node_kernels *k, const char *name, const float *rows, int64_t w);

/* K [E, n_a, n_b] float32, written: the kernels between the nodes a [n_a] and b [n_b], which may repeat and may be
 * none. What is made for b is kept while calls have the same b, so that b is the support and a what is compared to it,
 * a block at a time. Of dense attributes that is 12 bytes for each of n_b nodes and each column, and as much for up to
 * 1,024 nodes of a; of sparse ones 8 bytes for each of n_b nodes and each node that was asked for or is a neighbour of
 * one, 2 GiB at most. Raises MO_INVALID for a node that the graph has not. Not from two threads at once. Returns the
 * status. */
mo_code mo_node_kernels_gram(
    mo_node_kernels *k, const int64_t *a, int64_t n_a, const int64_t *b, int64_t n_b, float *K);

#endif
