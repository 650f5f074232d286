/* train/svd/adjacency.h - the sparse matrices from which features are computed, for a whole graph or one of a set
 * (library internal). */
#ifndef MO_ADJACENCY_H
#define MO_ADJACENCY_H

#include "train/inside.h"

/* D^-1/2 A D^-1/2 of the n nodes from `first` on, which have no edges to other nodes: row_pointer[first .. first + n]
 * and columns are indices in the whole data set. weight: the entries, above 0, of the whole data set (NULL: all 1);
 * self-loops count. The degree of a row is the sum of its entries. Declared symmetric (raises if it is not). Returns
 * NULL on failure. */
mo_csr *mo_normalize_block(mo_context *ctx, int64_t first, int64_t n, const int64_t *row_pointer, const int32_t *column,
    const float *weight, mo_dtype real);
/* The features [n, graph->features] float32 of the n nodes from `first` on, in the given context; on a CPU the graph's
 * own, which must outlive the matrix. Returns NULL on failure. */
mo_csr *mo_feature_block(mo_context *ctx, const mo_graph *graph, int64_t first, int64_t n);
/* Returns whether all features are at most 1e18 in magnitude, so that float32 can sum up their squares; raises at the
 * first that is larger or not a number. */
bool mo_features_fit_products(const mo_graph *graph);

#endif
