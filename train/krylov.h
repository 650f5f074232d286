/* train/krylov.h - orthonormal bases of block Krylov spaces of a symmetric matrix (library internal). */
#ifndef MO_KRYLOV_H
#define MO_KRYLOV_H

#include "autograd/autograd.h"

/* K [n, m], m = blocks x b: an orthonormal basis of span(Q, A Q, .., A^(blocks - 1) Q), filled up where that has fewer
 * dimensions; T [m, m] float64: K^T A K, of which the lower triangle is filled. */
typedef struct mo_krylov {
    mo_tensor *K, *T;
} mo_krylov;

/* From an orthonormal block Q [n, b] of the tape; n >= m. Failure is in the context's status. */
mo_krylov mo_krylov_basis(mo_tape *t, const mo_csr *A, mo_tensor *Q, int64_t blocks);

#endif
