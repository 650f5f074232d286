/* train/features/pairs/pair_reader.h - columns of any pairs of nodes of one graph, whose basis is computed once
 * (library internal). */
#ifndef MO_PAIR_READER_H
#define MO_PAIR_READER_H

#include "train/features/pairs/pair_columns.h"

/* Raw columns of n pairs, in the order of the tensors' names. */
typedef struct mo_pair_values {
    float *bands;   /* [2, l + 1, n, n_bands] */
    float *extras;  /* [n, n_extras] */
    float *walks;   /* [n, MO_WALK_COLUMNS] */
    float *matches; /* [n, MO_MATCH_COLUMNS] */
} mo_pair_values;

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
/* The spectrum at the first column of every band: [2, n_bands]. */
void mo_pair_reader_spectrum(const mo_pair_reader *r, mo_tensor *spectrum);

#endif
