/* train/orthonormal.c - Cholesky QR (Yamamoto et al. 2015), and Householder where that would fail.
 *
 * Y^T Y = L L^T,  Q = Y L^-T: almost all of the work is two matrix products. Q is orthonormal up to eps cond(Y)^2; a
 * second pass over Q, whose condition is near 1, brings that to eps. Where Y is too ill-conditioned for it (graphs of
 * low rank: stars, forests, repeated neighbourhoods), Householder reflections give a basis at any condition. */
#include "train/orthonormal.h"

#include "autograd/tape.h"
#include "ops/ops.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

/* A window onto the diagonal of a square matrix. */
static mo_tensor *diagonal_of(mo_tape *t, mo_tensor *M) {
    int64_t n = mo_dim(M, 0);
    return mo_is_null(M) ? M : mo_tape_window(t, M, 1, &n, &(int64_t){n + 1}, 0);
}

mo_tensor *mo_identity(mo_tape *t, mo_dtype real, int64_t n) {
    mo_tensor *I = mo_full(t, real, 2, (int64_t[]){n, n}, 0);
    if (n > 0)
        mo_tensor_fill(diagonal_of(t, I), 1);
    return I;
}

/* L of M = L L^T in place of M, and max L_ii / min L_ii <= cond(L); infinite where M is not positive definite. */
static double factor(mo_tape *t, mo_tensor *M) {
    mo_tensor *info = mo_full(t, MO_I32, 0, NULL, 0);
    if (!mo_ok(t->ctx))
        return INFINITY;
    mo_view m = mo_tensor_view(M), i = mo_tensor_view(info);
    mo_kernels_of(t->ctx, M->dtype)->potrf(t->ctx, &m, &i);
    if (mo_item(info) != 0)
        return INFINITY;
    mo_tensor *diagonal = mo_cast(t, diagonal_of(t, M), MO_F64);
    double largest = mo_item(mo_max(t, diagonal, 0, false));
    double smallest = -mo_item(mo_max(t, mo_neg(t, diagonal), 0, false));
    return largest / smallest;
}

/* NULL where Y is too ill-conditioned. The product with L^-1, an n x n solve, reads Y once; a solve with Y^T would
 * transpose Y twice. What the inverse loses, the second pass restores. */
static mo_tensor *cholesky_pass(mo_tape *t, mo_tensor *Y, double *condition) {
    mo_tensor *L = mo_matmul(t, mo_transpose(t, Y), Y);
    *condition = mo_ok(t->ctx) ? factor(t, L) : INFINITY;
    double epsilon = L->dtype == MO_F64 ? DBL_EPSILON : (double)FLT_EPSILON;
    if (!(*condition * *condition * epsilon < 1e-3))
        return NULL;
    mo_tensor *inverse = mo_solve_triangular(t, L, mo_identity(t, L->dtype, mo_dim(L, 0)), true, false);
    return mo_matmul(t, Y, mo_transpose(t, inverse));
}

static mo_tensor *householder(mo_tape *t, mo_tensor *Y) {
    int64_t n = mo_dim(Y, 1);
    mo_tensor *Q = mo_tape_tensor(t, Y->dtype, 2, Y->shape);
    mo_tensor *R = mo_tape_tensor(t, Y->dtype, 2, (int64_t[]){n, n});
    mo_tensor *info = mo_full(t, MO_I32, 0, NULL, 0);
    if (!mo_ok(t->ctx) || mo_tensor_copy(Q, Y) != MO_OK)
        return mo_null_tensor(t->ctx);
    mo_view q = mo_tensor_view(Q), r = mo_tensor_view(R), i = mo_tensor_view(info);
    mo_kernels_of(t->ctx, Y->dtype)->qr(t->ctx, &q, &r, &i);
    if (mo_ok(t->ctx) && mo_item(info) != 0) {
        char shape[160];
        mo_fail(t->ctx, MO_NUMERICAL, "orthonormalize: the matrix %s holds a value that is not finite",
            mo_shape_string(Y, shape, sizeof shape));
    }
    return Q;
}

mo_tensor *mo_orthonormalize(mo_tape *t, mo_tensor *Y, int passes, double *condition) {
    mo_tensor *Q = Y;
    double first = 1, later;
    for (int pass = 0; pass < passes && mo_ok(t->ctx) && mo_numel(Y) > 0; pass++) {
        mo_tensor *better = cholesky_pass(t, Q, pass == 0 ? &first : &later);
        Q = better ? better : householder(t, Q);
        if (!better)
            break;
    }
    if (condition)
        *condition = first;
    return Q;
}
