/* train/features/nodes/sampled_walks.h - the walks of nodes that have too many of two steps to take each (library
 * internal). */
#ifndef MO_SAMPLED_WALKS_H
#define MO_SAMPLED_WALKS_H

#include "train/features/closed_walks.h"

/* Fills out[i], but cycles, with the walks of node[i]. Exact: triangles, and the probabilities to be back after two and
 * three steps. The probability after four is estimated from 256 walks, with a standard error of 1/32 of the largest
 * 1 / d of a neighbour at most; the nodes reached from 256 ranks, with one of 6.3%. Equal whatever the number of
 * threads. Returns false on failure. */
bool mo_sampled_walks(const mo_graph *graph, const int64_t *node, int64_t n, mo_closed_walks *out);

#endif
