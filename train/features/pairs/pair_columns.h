/* train/features/pairs/pair_columns.h - columns of pairs of nodes, beside the bands and counts of pair_rows.c (library
 * internal). */
#ifndef MO_PAIR_COLUMNS_H
#define MO_PAIR_COLUMNS_H

#include "train/features/example_rows.h"

enum { MO_WALK_COLUMNS = 7, MO_MATCH_COLUMNS = 7 };

/* n pairs (end[0][i], end[1][i]) of nodes of a graph that lacks their edge. */
typedef struct mo_pair_list {
    const mo_graph *graph;
    int64_t n;
    int64_t *const *end;
} mo_pair_list;

/* walks.c: out [n, MO_WALK_COLUMNS], zeroed. Returns false on failure. */
bool mo_pair_walks(const mo_pair_list *p, float *out);
/* matches.c: out [n, MO_MATCH_COLUMNS], zeroed, from unit rows x [nodes, d] of the attributes. */
bool mo_pair_matches(const mo_pair_list *p, const float *x, int64_t d, float *out);

/* x.y; declared here as bands and matches both are sums of such products. */
static inline float mo_pair_product(const float *restrict x, const float *restrict y, int64_t n) {
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t j = 0; j < n; j++)
        sum += x[j] * y[j];
    return sum;
}

#endif
