/* train/svd/adjacency.h - the sparse matrices from which features are computed, for a whole graph or one of a set
 * (library internal). */
#ifndef MO_ADJACENCY_H
#define MO_ADJACENCY_H

#include "train/inside.h"

/* The entry of an edge: 1 / sqrt(d_i d_j), 0 if a degree is 0. */
double mo_normalized_entry(const int64_t *row_pointer, int64_t i, int64_t j);
/* D^-1/2 A D^-1/2 of the n nodes from `first` on, which have no edges to other nodes: row_pointer[first .. first + n]
 * and columns are indices in the whole data set. Every entry counts as 1, self-loops included; the degree of a row is
 * its number of entries. Declared symmetric (raises if it is not). Returns NULL on failure. */
mo_csr *mo_normalize_block(
    mo_context *ctx, int64_t first, int64_t n, const int64_t *row_pointer, const int32_t *column, mo_dtype real);
/* The features [n, graph->features] float32 of the n nodes from `first` on, in the given context. Returns NULL on
 * failure. */
mo_csr *mo_feature_block(mo_context *ctx, const mo_graph *graph, int64_t first, int64_t n);
/* Checks that the features, if they have more than one column, are finite and have squares within float32; raises at
 * the first that is not. */
bool mo_features_fit_products(const mo_graph *graph);

#endif
