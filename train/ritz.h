/* train/ritz.h - eigenpairs of a symmetric matrix from a subspace and its image (library internal). */
#ifndef MO_RITZ_H
#define MO_RITZ_H

#include "autograd/autograd.h"

/* Rayleigh-Ritz on the columns of Q = panel[0], near orthonormal, or (images) on those of [Q, A Q]. The panels are
 * [n, q]; the first `wanted` columns of panel[2] become the Ritz vectors, orthonormal to rounding, of the values of
 * largest magnitude theta [wanted], falling; of +-s, equal up to the share `rounding`, s first. The other two are
 * scratch afterwards. Returns the largest |U^T U - I|. */
double mo_ritz_pairs(mo_tape *t, const mo_csr *A, mo_tensor *const panel[3], bool images, int64_t wanted,
    double rounding, double *theta);
/* Eigenpairs by magnitude of a small symmetric matrix T, contiguous, which is overwritten: vectors [.., wanted] in T's
 * coordinates, their signs left open; values theta. */
mo_tensor *mo_leading_eigenvectors(mo_tape *t, mo_tensor *T, int64_t wanted, double rounding, double *theta);
/* Makes the columns of U, near orthonormal, so to rounding. Returns the largest |U^T U - I|. */
double mo_polish(mo_tape *t, mo_tensor *U);

#endif
