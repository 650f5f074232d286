/* train/features/nodes/kernels.h - kernels that compare a graph's nodes with a few labelled ones, one per expert
 * (library internal). */
#ifndef MO_NODE_KERNELS_H
#define MO_NODE_KERNELS_H

#include "train/inside.h"

/* The experts of a graph. Each has one row per node and the kernel k(x, y) = 1 + <x, y>, but S has 1 + exp(-|x - y|^2 /
 * (2 p)). With X the attributes at unit length, A the adjacency, P = D^-1 A, A~ = D^-1/2 A D^-1/2, every row at unit
 * length unless it is zero, "centred" minus the mean row over all nodes:
 *
 *     Xc  X, centred                           PX  P X, centred            HX  X - P X, centred
 *     A1  A D^-1/2                             S   p structure columns (structure_columns.h)
 *     H   A~^2 (P_A + P_X), hop 2 of both blocks of the features (blocks.c), summed
 *
 * Xc, PX, HX need two columns of attributes or more, A1 and H edges, H features with blocks and two hops, S a column
 * that differs between nodes; otherwise the expert is left out. No array [nodes, columns of X] is ever allocated. */
typedef struct mo_node_kernels mo_node_kernels;

/* graph: a single graph. nodes: the features of the graph's nodes, or NULL (no H). Both are borrowed until release.
 * memory: the most bytes to use (0: the free memory); if the kernels need more, raises MO_MEMORY, with the bytes
 * needed, before the work. Raises MO_INVALID for a set of graphs, and MO_NUMERICAL for attributes whose squares float32
 * cannot hold. Bits do not depend on the number of threads. Returns NULL on failure, with the status in the graph's
 * context. */
mo_node_kernels *mo_node_kernels_create(const mo_graph *graph, const mo_features *nodes, int64_t memory);
void mo_node_kernels_release(mo_node_kernels *k);

/* mo_node_kernels_count: the number of experts. mo_node_kernels_name: the name of expert e, borrowed. */
int mo_node_kernels_count(const mo_node_kernels *k);
const char *mo_node_kernels_name(const mo_node_kernels *k, int e);

/* How similar neighbours' attributes are, in standard deviations over random pairs of nodes
 * (mo_attribute_assortativity); 0 for a graph without attributes. */
double mo_node_kernels_assortativity(const mo_node_kernels *k);

/* Adds an expert with rows [nodes, w] float32, which are copied and scaled to unit length. The name is copied. Raises
 * MO_INVALID if the name is taken and MO_NUMERICAL if a value is not finite. Returns the status. */
mo_code mo_node_kernels_add(mo_node_kernels *k, const char *name, const float *rows, int64_t w);

/* Writes K [E, n_a, n_b] float32: the kernels between the nodes a [n_a] and b [n_b], which can repeat and can be empty.
 * Rows made for b are kept for the next call with the same b: pass the support as b, and blocks of queries as a. Dense
 * attributes keep 12 bytes per column for each node of b, and use as much for up to 1,024 nodes of a at a time. Sparse
 * attributes keep 8 bytes per node of b for each node requested so far and each of its neighbours, at most 2 GiB.
 * Raises MO_INVALID for a node outside the graph. Not thread-safe. Returns the status. */
mo_code mo_node_kernels_gram(
    mo_node_kernels *k, const int64_t *a, int64_t n_a, const int64_t *b, int64_t n_b, float *K);

#endif
