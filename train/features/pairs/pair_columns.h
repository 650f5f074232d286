/* train/features/pairs/pair_columns.h - columns of pairs of nodes (library internal). */
#ifndef MO_PAIR_COLUMNS_H
#define MO_PAIR_COLUMNS_H

#include "train/features/example_rows.h"

#include <string.h>

enum { MO_WALK_COLUMNS = 7, MO_MATCH_COLUMNS = 7, MO_SIMILARITY_COLUMNS = 9 };
/* Columns that similarities.c reads: of the counts, of walks and of matches. */
enum { MO_COUNT_ADAMIC_ADAR = 0, MO_COUNT_ALLOCATION = 1, MO_COUNT_COMMON = 3, MO_COUNT_JACCARD = 4 };
enum { MO_WALK_THREE_STEPS = 2, MO_MATCH_COSINE = 5 };

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

/* ---- pair_reader.c: all columns of any pairs of nodes of one graph, whose basis is computed once ---- */

typedef enum mo_pair_kind {
    MO_PAIR_BANDS,
    MO_PAIR_EXTRAS,
    MO_PAIR_WALKS,
    MO_PAIR_MATCHES,
    MO_PAIR_SIMILARITIES,
    MO_PAIR_PARTS
} mo_pair_kind;

/* A part of the rows of links: its name, the name of its moments [2, outer, w], and the epsilon that standardises
 * it. */
typedef struct mo_pair_part {
    const char *name, *moments;
    double epsilon;
} mo_pair_part;
extern const mo_pair_part mo_pair_parts[MO_PAIR_PARTS];

/* Raw columns of n pairs: bands [2 (l + 1), n, n_bands], all other parts [1, n, w]. */
typedef struct mo_pair_values {
    mo_rows part[MO_PAIR_PARTS];
} mo_pair_values;

/* ---- similarities.c ---- */

/* Whether the ends of pair i have a neighbour in common. */
bool mo_pair_is_near(const mo_pair_values *values, int64_t i);
/* Fills the columns of similarities, from the other parts. */
void mo_pair_similarities(const mo_pair_list *p, const mo_pair_values *values);
/* The column that the other parts lack, from attributes x as for mo_pair_matches. Returns false on failure. */
bool mo_pair_neighbours(const mo_pair_list *p, const float *x, int64_t d, float *out);
/* Returns the kernel [1, n, m] between standardised similarities X [n, w] and Y [m, w]. */
mo_tensor *mo_pair_kernel(mo_tape *t, mo_tensor *X, mo_tensor *Y);

/* ---- the reader ---- */

typedef struct mo_pair_reader {
    mo_context *ctx;
    const mo_graph *graph; /* borrowed */
    int64_t dim, hops;
    int n_bands, n_extras;
    mo_features basis;
    mo_csr *A;
    float *spectrum; /* [2, dim]: the basis' singular values, as in "spectrum" */
    int n_segments;
    struct mo_band_part *segments;
} mo_pair_reader;

/* Computes the basis, or loads it from the cache. Returns NULL on failure. */
mo_pair_reader *mo_pair_reader_open(const mo_graph *graph, const mo_feature_options *o);
void mo_pair_reader_release(mo_pair_reader *r);

/* Zeroed arrays for n pairs; release them even on failure. */
bool mo_pair_values_reserve(const mo_pair_reader *r, int64_t n, mo_pair_values *values);
void mo_pair_values_release(mo_pair_values *values);
/* Fills the arrays; one pass over the hops of all nodes, whatever the number of pairs. Returns the status. */
mo_code mo_pair_reader_read(mo_pair_reader *r, const mo_pair_list *list, mo_pair_values *values);

/* candidates.c: lists pairs that are not linked and may be, some with each node, in proportion to n, as u * nodes + v,
 * u < v, rising, in a new array *key. Returns their number. */
int64_t mo_pair_candidates(const mo_pair_reader *r, int64_t n, int64_t **key);

#endif
