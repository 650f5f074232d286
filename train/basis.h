/* train/basis.h - the input features of the nodes of one graph, before normalisation and hops (library internal). */
#ifndef MO_BASIS_H
#define MO_BASIS_H

#include "train/train.h"

/* X0 [nodes of graph g, dim] float32 on the tape, in whose context everything is computed. residual: the larger one of
 * the two decompositions. */
mo_tensor *mo_node_basis(
    mo_tape *t, const mo_graph *graph, int64_t g, const mo_feature_options *options, double *residual);

#endif
