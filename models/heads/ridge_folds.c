/* models/heads/ridge_folds.c - ridge regression, and for each fold the predictions of a fit without the fold, at
 * little more than the cost of one fit.
 *
 * With X = [Zs | 1], F the rows of a fold, R all other rows and held_F the predictions for F by the fit without F, in
 * dual and in primal form:
 *     A = X X^T + lambda I, G = A^-1, alpha = G Y,   W = X^T alpha,         held_F = Y_F - G_FF^-1 alpha_F
 *     H = X^T X + lambda I, B = X^T Y,               W = H^-1 B,
 *                                    held_F = X_F (H - X_F^T X_F)^-1 (B - X_F^T Y_F)
 *
 * The dual form is the leave-one-out formula for blocks: the fit without F solves A_RR a = Y_R and predicts A_FR a for
 * F. The inverse of a block matrix gives alpha_F = G_FF (Y_F - A_FR A_RR^-1 Y_R), so G_FF^-1 alpha_F is the error of
 * that prediction (Allen 1974; Cawley and Talbot 2003 for kernels). With A = L L^T, G_FF = U^T U, where U is the
 * columns F of L^-1. Block by block: U_I = 0 above F, U_F = L_FF^-1, and below F, U_I = -L_II^-1 sum_J L_IJ U_J over
 * the blocks J from F to the block before I. */
#include "models/heads/heads.h"

/* Returns L_II^-1. */
static mo_tensor *inverse_block(mo_tape *t, mo_tensor *rows, const mo_folds *folds, int i) {
    mo_tensor *L = mo_transpose(t, mo_fold_rows(t, mo_transpose(t, rows), folds, i));
    int64_t shape[MO_MAX_AXES];
    int ndim = mo_ndim(L);
    for (int axis = 0; axis < ndim; axis++)
        shape[axis] = mo_dim(L, axis);
    mo_tensor *I = mo_is_null(L) ? L : mo_eye(t, mo_tensor_dtype(L), mo_dim(L, -1));
    return mo_solve_triangular(t, L, mo_broadcast_to(t, I, ndim, shape), MO_LOWER);
}

/* Returns G_FF of fold f. rows[i] and inverse[i]: the rows of L in block i, and L_II^-1. */
static mo_tensor *diagonal_block(
    mo_tape *t, mo_tensor *const *rows, mo_tensor *const *inverse, const mo_folds *folds, int f, int blocks) {
    mo_tensor *U = inverse[f];
    int axis = mo_ndim(U) - 2;
    for (int i = f + 1; i < blocks && !mo_is_null(U); i++) {
        mo_tensor *before = mo_slice(t, rows[i], MO_AXIS(axis + 1), mo_fold_start(folds, f), mo_fold_start(folds, i));
        mo_tensor *below = mo_neg(t, mo_matmul(t, inverse[i], mo_matmul(t, before, U)));
        U = mo_concat(t, (mo_tensor *[]){U, below}, 2, MO_AXIS(axis));
    }
    return mo_gram(t, mo_transpose(t, U));
}

/* The dual form. Zs has no column of ones; the bias is the last row of the W returned. */
static mo_tensor *dual(
    mo_tape *t, mo_tensor *Zs, mo_tensor *Y, mo_tensor *lambda, const mo_folds *folds, mo_tensor **held) {
    mo_tensor *rows[MO_MAX_FOLDS + 1], *inverse[MO_MAX_FOLDS + 1];
    int axis = mo_ndim(Zs) - 2,
        blocks = folds->n + (folds->stop[folds->n - 1] < mo_dim(Zs, axis)); /* plus one block of the rows in no fold */
    mo_tensor *L = mo_cholesky(t, mo_add_diag(t, mo_scale(t, mo_gram(t, Zs), 1, 1), lambda));
    mo_tensor *alpha = mo_cholesky_solve(t, L, Y);
    for (int i = 0; i < blocks; i++) {
        rows[i] = mo_fold_rows(t, L, folds, i);
        inverse[i] = inverse_block(t, rows[i], folds, i);
    }
    for (int f = 0; f < folds->n; f++) {
        mo_tensor *G = diagonal_block(t, rows, inverse, folds, f, blocks);
        mo_tensor *error = mo_solve_spd(t, G, mo_fold_rows(t, alpha, folds, f));
        held[f] = mo_sub(t, mo_fold_rows(t, Y, folds, f), error);
    }
    mo_tensor *W = mo_matmul(t, mo_transpose(t, Zs), alpha);
    return mo_concat(t, (mo_tensor *[]){W, mo_sum(t, alpha, MO_AXIS(axis), MO_KEEP_AXES)}, 2, MO_AXIS(axis));
}

static mo_tensor *primal(
    mo_tape *t, mo_tensor *X, mo_tensor *Y, mo_tensor *lambda, const mo_folds *folds, mo_tensor **held) {
    mo_tensor *H[MO_MAX_FOLDS + 1], *B[MO_MAX_FOLDS + 1], *H_all = NULL, *B_all = NULL;
    for (int f = 0; f <= folds->n; f++) {
        mo_tensor *Xt = mo_transpose(t, mo_fold_rows(t, X, folds, f));
        H[f] = mo_gram(t, Xt);
        B[f] = mo_matmul(t, Xt, mo_fold_rows(t, Y, folds, f));
        H_all = f ? mo_add(t, H_all, H[f]) : H[f];
        B_all = f ? mo_add(t, B_all, B[f]) : B[f];
    }
    for (int f = 0; f < folds->n; f++) {
        mo_tensor *A = mo_add_diag(t, mo_sub(t, H_all, H[f]), lambda);
        held[f] = mo_matmul(t, mo_fold_rows(t, X, folds, f), mo_solve_spd(t, A, mo_sub(t, B_all, B[f])));
    }
    return mo_solve_spd(t, mo_add_diag(t, H_all, lambda), B_all);
}

mo_tensor *mo_ridge_cross_validate(mo_tape *t, mo_tensor *Zs, mo_tensor *Ys, mo_tensor *Zq,
    mo_tensor *const *parameters, const mo_folds *folds, mo_tensor **held) {
    mo_tensor *rows[MO_MAX_FOLDS];
    if (mo_is_null(Zs) || mo_is_null(Zq))
        return *held = mo_null_tensor(mo_tape_context(t));
    int64_t d = mo_dim(Zs, -1);
    int axis = mo_ndim(Zs) - 2;
    bool smaller = mo_dim(Zs, -2) <= d + 1;
    mo_tensor *W = smaller ? dual(t, Zs, Ys, parameters[0], folds, rows)
                           : primal(t, mo_append_ones(t, Zs), Ys, parameters[0], folds, rows);
    *held = mo_fold_concat(t, rows, folds);
    return mo_add(t, mo_matmul(t, Zq, mo_slice(t, W, MO_AXIS(axis), 0, d)), mo_slice(t, W, MO_AXIS(axis), d, d + 1));
}
