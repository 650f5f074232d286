/* train/features/first_hop.h - hop 0 of a graph or of a set of graphs: X0 under the norm of the options, each graph by
 * itself (library internal).
 */
#ifndef MO_FIRST_HOP_H
#define MO_FIRST_HOP_H

#include "train/svd/basis.h"

/* One computation of features, shared by its threads. */
typedef struct mo_first_hop {
    const mo_graph *graph;
    const mo_feature_options *options;
    mo_tensor *hops;          /* [1 or more, nodes, dim]: hop 0 is filled */
    mo_basis_quality quality; /* the worst over all graphs */
} mo_first_hop;

/* Fills hop 0; returns false on failure. */
bool mo_first_hop_compute(mo_first_hop *j);
void mo_first_hop_worsen(mo_first_hop *j, mo_basis_quality quality);
/* Rows first .. first + n - 1 of hop k of [.., nodes, dim]. */
mo_view mo_rows_of_hop(const mo_tensor *hops, int64_t k, int64_t first, int64_t n);

#define MO_NORM_EPSILON 1e-5 /* of LayerNorm */

#endif
