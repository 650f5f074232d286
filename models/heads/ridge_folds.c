/* models/heads/ridge_folds.c - ridge regression, and what the fits without each fold say of its rows, for little more
 * than one fit.
 *
 * With X = [Zs | 1], F the rows of a fold and R those outside it:
 *     dual    A = X X^T + lambda I, alpha = A^-1 Y, W = X^T alpha,   held_F = Y_F - G_FF^-1 alpha_F,   G = A^-1
 *     primal  H = X^T X, B = X^T Y, W = (H + lambda I)^-1 B,   held_F = X_F (H - X_F^T X_F + lambda I)^-1 (B - X_F^T
 * Y_F) The first is leave-one-out with blocks for entries: the fit without F solves A_RR a = Y_R and says A_FR a of F;
 * the inverse by blocks has alpha_F = G_FF (Y_F - A_FR A_RR^-1 Y_R) (Allen 1974; Cawley and Talbot 2003 for kernels).
 * With A = L L^T, G_FF = U^T U for U = L^-1 with the columns of F, which is zero above F. */
#include "models/heads/folds.h"

/* I [n, n] above zeros, as many rows in all, for every matrix of A. */
static mo_tensor *first_columns(mo_tape *t, const mo_tensor *A, int64_t rows, int64_t n) {
    int64_t shape[MO_MAX_AXES];
    int ndim = mo_ndim(A);
    for (int i = 0; i < ndim; i++)
        shape[i] = mo_dim(A, i);
    shape[ndim - 2] = rows;
    shape[ndim - 1] = n;
    mo_tensor *E = mo_pad(t, mo_eye(t, mo_tensor_dtype(A), n), 0, 0, rows - n);
    return mo_broadcast_to(t, E, ndim, shape);
}

/* G_FF for the fold that starts at row `start`. */
static mo_tensor *inverse_block(mo_tape *t, mo_tensor *L, int64_t start, int64_t rows) {
    int64_t n = mo_dim(L, -1);
    int axis = mo_ndim(L) - 2;
    if (mo_is_null(L))
        return L;
    mo_tensor *below = mo_slice(t, mo_slice(t, L, axis, start, n), axis + 1, start, n);
    mo_tensor *U = mo_solve_triangular(t, below, first_columns(t, L, n - start, rows), true, false);
    return mo_matmul(t, mo_transpose(t, U), U);
}

/* The blocks of X X^T on and below the diagonal, which are all that a factorization reads. */
static mo_tensor *lower_gram(mo_tape *t, mo_tensor *X, const mo_folds *folds) {
    mo_tensor *rows[MO_MAX_FOLDS + 1];
    int64_t n = mo_dim(X, -2);
    int axis = mo_ndim(X) - 2, blocks = folds->n + (folds->stop[folds->n - 1] < n);
    for (int f = 0; f < blocks; f++) {
        int64_t stop = f < folds->n ? folds->stop[f] : n;
        mo_tensor *until = mo_slice(t, X, axis, 0, stop);
        mo_tensor *row = mo_matmul(t, mo_fold_rows(t, X, folds, f), mo_transpose(t, until));
        rows[f] = mo_pad(t, row, axis + 1, 0, n - stop);
    }
    return mo_concat(t, rows, blocks, axis);
}

static mo_tensor *dual(
    mo_tape *t, mo_tensor *X, mo_tensor *Y, mo_tensor *lambda, const mo_folds *folds, mo_tensor **held) {
    mo_tensor *Xt = mo_transpose(t, X), *L = mo_cholesky(t, mo_add_diag(t, lower_gram(t, X, folds), lambda));
    mo_tensor *alpha = mo_solve_triangular(t, L, mo_solve_triangular(t, L, Y, true, false), true, true);
    for (int f = 0; f < folds->n; f++) {
        int64_t start = mo_fold_start(folds, f);
        mo_tensor *G = inverse_block(t, L, start, folds->stop[f] - start);
        mo_tensor *error = mo_solve_spd(t, G, mo_fold_rows(t, alpha, folds, f));
        held[f] = mo_sub(t, mo_fold_rows(t, Y, folds, f), error);
    }
    return mo_matmul(t, Xt, alpha);
}

static mo_tensor *primal(
    mo_tape *t, mo_tensor *X, mo_tensor *Y, mo_tensor *lambda, const mo_folds *folds, mo_tensor **held) {
    mo_tensor *H[MO_MAX_FOLDS + 1], *B[MO_MAX_FOLDS + 1], *H_all = NULL, *B_all = NULL;
    for (int f = 0; f <= folds->n; f++) {
        mo_tensor *X_F = mo_fold_rows(t, X, folds, f), *Xt = mo_transpose(t, X_F);
        H[f] = mo_matmul(t, Xt, X_F);
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
    mo_tensor *rows[MO_MAX_FOLDS], *X = mo_append_ones(t, Zs);
    if (mo_is_null(X))
        return *held = X;
    bool smaller = mo_dim(X, -2) <= mo_dim(X, -1);
    mo_tensor *W = (smaller ? dual : primal)(t, X, Ys, parameters[0], folds, rows);
    *held = mo_fold_concat(t, rows, folds);
    return mo_matmul(t, mo_append_ones(t, Zq), W);
}
