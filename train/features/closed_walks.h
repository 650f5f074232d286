/* train/features/closed_walks.h - closed walks of P = D^-1 A at one node (library internal). */
#ifndef MO_CLOSED_WALKS_H
#define MO_CLOSED_WALKS_H

#include "train/features/example_rows.h"

enum { MO_RETURNS = 3 };

/* What a thread holds of a node, in one cache line, while it follows the two-step walks from another, u. Share and
 * count are zero before and after mo_closed_walks_of. */
typedef struct mo_walk_end {
    double share;   /* the probability to end here: an entry of row u of P^2 */
    int32_t count;  /* number of walks */
    int32_t degree; /* of the node itself */
} mo_walk_end;

typedef struct mo_closed_walks {
    double back[MO_RETURNS]; /* probabilities of return after 2, 3, 4 steps */
    double triangles;        /* closed walks of three steps: 2 for each triangle */
    double cycles;           /* pairs of two-step walks that meet at another node: 1 for each cycle of four */
    int64_t reached;         /* number of nodes at the end of some two-step walk, including the node itself */
} mo_closed_walks;

/* Returns scratch for each of the context's threads, [threads, nodes], which the caller frees; NULL on failure. */
mo_walk_end *mo_walk_ends(const mo_graph *graph);

/* Computes the walks of node u exactly, with a thread's scratch w [nodes]; takes time proportional to the number of
 * two-step walks from u. */
mo_closed_walks mo_closed_walks_of(const mo_graph *graph, int64_t u, mo_walk_end *w);

/* Fills out[i], except cycles, for node[i], whatever the number of its two-step walks. Exact: triangles, and the return
 * probabilities after two and three steps. The return probability after four steps is estimated from 256 walks, with a
 * standard error of at most 1/32 of the largest 1 / d of a neighbour; the number of reached nodes from 256 ranks, with
 * a standard error of 6.3%. Bits do not depend on the number of threads. Returns false on failure. */
bool mo_sampled_walks(const mo_graph *graph, const int64_t *node, int64_t n, mo_closed_walks *out);

#endif
