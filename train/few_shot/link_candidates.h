/* train/few_shot/link_candidates.h - the nodes worth asking about as missing links of a node (library internal). */
#ifndef MO_LINK_CANDIDATES_H
#define MO_LINK_CANDIDATES_H

#include "train/inside.h"

/* Candidates of every node: no node is its own or a neighbour's. */
typedef struct mo_candidates {
    int64_t most;  /* per node */
    int32_t *node; /* [nodes, most]: rising */
    int32_t *n;    /* [nodes] */
} mo_candidates;

/* link_candidates.c: of every node the `most` of largest weight, half by walks of two and three steps and half by
 * attributes x [nodes, d] of unit length (NULL: all by walks). Release also on failure. */
bool mo_candidates_find(const mo_graph *graph, int64_t most, const float *x, int64_t d, mo_candidates *c);
void mo_candidates_release(mo_candidates *c);
/* Whether v is a candidate of u. */
bool mo_candidates_hold(const mo_candidates *c, int64_t u, int64_t v);

/* A list of nodes by falling weight, of equal ones the lower number first; kept as a heap whose first entry is the last
 * of the list. */
typedef struct mo_ranked {
    double weight;
    int32_t node;
} mo_ranked;
/* Offers an entry to the list of at most `most`; node: not in it. */
void mo_ranked_offer(mo_ranked *list, int32_t *n, int64_t most, mo_ranked entry);
/* Brings the list into its order. */
void mo_ranked_sort(mo_ranked *list, int32_t n);

/* near_rows.c: of every row of x [n, d] the `most` rows of largest inner product that a forest of random projections
 * finds: list [n, most], in no order, and their number. Rows of zeros have none. Returns false on failure. */
bool mo_near_rows(const mo_graph *graph, const float *x, int64_t d, int64_t most, mo_ranked *list, int32_t *count);

#endif
