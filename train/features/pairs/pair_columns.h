/* train/features/pairs/pair_columns.h - columns of pairs of nodes, beside the bands and counts of pair_rows.c (library
 * internal). */
#ifndef MO_PAIR_COLUMNS_H
#define MO_PAIR_COLUMNS_H

#include "train/features/example_rows.h"

#include <string.h>

enum { MO_WALK_COLUMNS = 7, MO_MATCH_COLUMNS = 7 };

/* n pairs (end[0][i], end[1][i]) of nodes of a graph that lacks their edge. */
typedef struct mo_pair_list {
    const mo_graph *graph;
    int64_t n;
    int64_t *const *end;
} mo_pair_list;

/* walks.c: fills out [n, MO_WALK_COLUMNS], zeroed by the caller. Returns false on failure. */
bool mo_pair_walks(const mo_pair_list *p, float *out);
/* matches.c: fills out [n, MO_MATCH_COLUMNS], zeroed by the caller, from attributes x [nodes, d] with unit rows. */
bool mo_pair_matches(const mo_pair_list *p, const float *x, int64_t d, float *out);

typedef float mo_pair_lanes __attribute__((vector_size(16)));

/* The inner product x.y, shared by bands and matches. Four interleaved sums, written out so that every build adds in
 * the same order, as in tensor/cpu/lane_sum.h. */
static inline float mo_pair_product(const float *restrict x, const float *restrict y, int64_t n) {
    mo_pair_lanes sum = {0}, a, b;
    int64_t j = 0;
    for (; j + 4 <= n; j += 4) {
        memcpy(&a, x + j, sizeof a);
        memcpy(&b, y + j, sizeof b);
        sum += a * b;
    }
    for (; j < n; j++)
        sum[0] += x[j] * y[j];
    return sum[0] + sum[1] + sum[2] + sum[3];
}

#endif
