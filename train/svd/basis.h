/* train/svd/basis.h - the input features of the nodes of one graph, before normalisation and hops (library
 * internal). */
#ifndef MO_BASIS_H
#define MO_BASIS_H

#include "train/inside.h"
#include "train/svd/svd.h"

/* The quality of several decompositions: the largest residual and the largest orthogonality error (mo_svd_factors). */
typedef struct mo_basis_quality {
    double residual, orthogonality;
} mo_basis_quality;

/* Reports the quality of a graph's features to the options' notice. */
void mo_tell_quality(const mo_feature_options *options, const mo_graph *graph, const mo_features *features);

/* Input and results of one of the two decompositions. */
typedef struct mo_basis_side {
    mo_tape *t;
    int64_t width; /* columns wanted */
    mo_svd_options svd;
    mo_tensor *S; /* singular values [rank] */
    mo_basis_quality quality;
} mo_basis_side;

/* stream: of the test matrix; any two decompositions of a data set use different ones. */
static inline mo_basis_side mo_basis_side_of(mo_tape *t, int64_t width, const mo_feature_options *o, uint64_t stream) {
    return (mo_basis_side){
        .t = t, .width = width, .svd = {0, o->power_iterations, MO_SVD_EXACT_BELOW, o->seed, stream}};
}

/* P_A = (U + V) sqrt(S) of a normalised adjacency, and P_X = U sqrt(S) of node features: [n, width], padded with zeros
 * beyond the rank; the columns of P_X in falling order of S or, if `reversed`, in rising order, zeros first. */
mo_tensor *mo_structure_basis(mo_basis_side *s, const mo_csr *A);
mo_tensor *mo_attribute_basis(mo_basis_side *s, const mo_csr *X, bool reversed);

/* X0 [nodes of graph g, dim] float32 on the tape; all work is done in the tape's context. quality: the larger errors of
 * the two decompositions. */
mo_tensor *mo_node_basis(
    mo_tape *t, const mo_graph *graph, int64_t g, const mo_feature_options *options, mo_basis_quality *quality);

#endif
