/* train/features/closed_walks.h - the random walk P = D^-1 A from a node and back to it (library internal). */
#ifndef MO_CLOSED_WALKS_H
#define MO_CLOSED_WALKS_H

#include "train/features/example_rows.h"

enum { MO_RETURNS = 3 };

/* Where walks of two steps from one node end; zero before and after mo_closed_walks_of. */
typedef struct mo_walk_ends {
    double *share;  /* [nodes]: the probability, row u of P^2 */
    int32_t *count; /* [nodes]: how many walks */
} mo_walk_ends;

typedef struct mo_closed_walks {
    double back[MO_RETURNS]; /* probabilities to be back after 2, 3, 4 steps */
    double triangles;        /* closed walks of three steps: 2 for each triangle */
    double cycles;           /* pairs of walks of two steps to one other node: 2 for each cycle of four */
    int64_t reached;         /* nodes that a walk of two steps can end at, the node itself among them */
} mo_closed_walks;

/* The walks of node u, exactly; takes as many steps as there are walks of two steps from u. */
mo_closed_walks mo_closed_walks_of(const mo_graph *graph, int64_t u, const mo_walk_ends *w);

#endif
