/* train/features/nodes/sampled_walks.h - walk statistics of nodes with too many two-step walks to enumerate (library
 * internal). */
#ifndef MO_SAMPLED_WALKS_H
#define MO_SAMPLED_WALKS_H

#include "train/features/closed_walks.h"

/* Fills out[i], except cycles, for node[i]. Exact: triangles, and the return probabilities after two and three steps.
 * The return probability after four steps is estimated from 256 walks, with a standard error of at most 1/32 of the
 * largest 1 / d of a neighbour; the number of reached nodes from 256 ranks, with a standard error of 6.3%. Bits do not
 * depend on the number of threads. Returns false on failure. */
bool mo_sampled_walks(const mo_graph *graph, const int64_t *node, int64_t n, mo_closed_walks *out);

#endif
