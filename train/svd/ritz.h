/* train/svd/ritz.h - eigenpairs of a symmetric matrix from a subspace and its image (library internal). */
#ifndef MO_RITZ_H
#define MO_RITZ_H

#include "train/inside.h"

/* Rayleigh-Ritz on the columns of Q = panel[0], nearly orthonormal, or (images) on those of [Q, A Q]. The panels are
 * [n, q]; the first `wanted` columns of panel[2] become the Ritz vectors, orthonormal to rounding, of the values theta
 * [wanted] of largest magnitude in falling order; of values +-s, equal up to the share `rounding`, s comes first. The
 * other two panels are scratch. Returns the largest |U^T U - I|. */
double mo_ritz_pairs(mo_tape *t, const mo_csr *A, mo_tensor *const panel[3], bool images, int64_t wanted,
    double rounding, double *theta);
/* Eigenpairs by magnitude of a small symmetric matrix T, contiguous, which is overwritten: vectors [.., wanted] in T's
 * coordinates with arbitrary signs; values theta. */
mo_tensor *mo_leading_eigenvectors(mo_tape *t, mo_tensor *T, int64_t wanted, double rounding, double *theta);
/* Makes the nearly orthonormal columns of U orthonormal to rounding. Returns the largest |U^T U - I|. */
double mo_reorthonormalize(mo_tape *t, mo_tensor *U);

#endif
