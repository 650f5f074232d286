/* models/heads/ridge_loo.c - ridge regression over a grid of penalties, with the leave-one-out prediction for each
 * support row.
 *
 * With Z1 = [Zs | 1] and K = Z1 Z1^T, one factorization per penalty gives the readout W and, as further right-hand
 * sides of the same system, the terms of leave-one-out (Allen 1974; Craven and Wahba 1979; the dual form: Rasmussen and
 * Williams 2006, section 5.4.2):
 *     dual    G = (K + lambda I)^-1, alpha = G Y, W = Z1^T alpha            Yloo_i = Y_i - alpha_i / G_ii
 *     primal  P = (Z1^T Z1 + lambda I)^-1, W = P Z1^T Y, h_i = z_i P z_i^T   Yloo_i = (z_i W - h_i Y_i) / (1 - h_i)
 * Both forms give the same result as n_s separate fits. 1 - h_i = lambda G_ii is positive for every lambda > 0.
 *
 * All copies of a row must be left out with it, or they give away its label. An example that the support has w_i times
 * counts w_i times in sum_i w_i |z_i W - Y_i|^2 + lambda |W|^2, the ridge of the rows sqrt(w_i) z_i and labels
 * sqrt(w_i) Y_i; the Yloo_i of this ridge is sqrt(w_i) times the example's. Copies after the first have weight 0: zero
 * rows, which have no effect and keep the shapes of a batch equal. For kernels G is diag(w)^-1/2 (K + lambda
 * diag(1/w))^-1 diag(w)^-1/2 on the rows with w > 0.
 *
 * In exact arithmetic, leaving the block of copies out of the fit of all rows gives the same result, Y_i - alpha_i /
 * (w_i G_ii - (w_i - 1) / lambda). But this denominator is a small difference of two numbers near w_i / lambda. In
 * float32, with 20 copies of each of 20 rows [20, 256], the errors of that formula at lambda = 0.03 and 0.001 are 2e-2
 * and 0.7. The scaled dual form has errors of 4e-7, the scaled primal form errors of 3e-4 and 1e-2. */
#include "models/heads/heads.h"
#include "tensor/library.h"

/* Returns (A + lambda I)^-1 [B | C] for each penalty. */
static mo_tensor *solve_both(mo_tape *t, mo_tensor *A, mo_tensor *lambda, mo_tensor *B, mo_tensor *C) {
    int64_t R = mo_dim(lambda, -1);
    mo_tensor *sides = mo_concat(t, (mo_tensor *[]){B, C}, 2, MO_AXIS(-1));
    return mo_solve_spd(
        t, mo_add_diag(t, mo_with_axis(t, A, MO_AXIS(-3), R), lambda), mo_with_axis(t, sides, MO_AXIS(-3), R));
}

static mo_tensor *columns(mo_tape *t, mo_tensor *X, int64_t first, int64_t stop) {
    return mo_is_null(X) ? X : mo_slice(t, X, MO_AXIS(-1), first, stop);
}

/* Returns an identity matrix for each matrix of K. */
static mo_tensor *identities(mo_tape *t, const mo_tensor *K) {
    int64_t shape[MO_MAX_AXES];
    for (int i = 0; i < mo_ndim(K); i++)
        shape[i] = mo_dim(K, i);
    return mo_broadcast_to(t, mo_eye(t, mo_tensor_dtype(K), mo_dim(K, -1)), mo_ndim(K), shape);
}

/* Returns X [.., R, n_s, C] divided by root; 0 where root is 0, at copies. */
static mo_tensor *unscaled(mo_tape *t, mo_tensor *X, mo_tensor *root) {
    return mo_div_or_zero(t, X, mo_with_axis(t, root, MO_AXIS(-3), 1));
}

void mo_scale_rows(mo_tape *t, mo_tensor *root, mo_tensor **K, mo_tensor **Ys) {
    *K = mo_mul(t, mo_mul(t, *K, root), mo_transpose(t, root));
    *Ys = mo_mul(t, *Ys, root);
}

void mo_kernel_inverse(mo_tape *t, mo_tensor *K, mo_tensor *Ys, mo_tensor *lambda, mo_tensor **G, mo_tensor **alpha) {
    int64_t n_s = mo_dim(K, -1), C = mo_dim(Ys, -1);
    mo_tensor *X = solve_both(t, K, lambda, Ys, identities(t, K));
    *alpha = columns(t, X, 0, C);
    *G = columns(t, X, C, C + n_s);
}

void mo_kernel_loo_fit(mo_tape *t, mo_tensor *K, mo_tensor *Ys, mo_tensor *weight, mo_tensor *lambda, mo_tensor **alpha,
    mo_tensor **Yloo) {
    *alpha = *Yloo = mo_null_tensor(mo_tape_context(t));
    if (mo_is_null(K))
        return;
    mo_tensor *G, *root = weight ? mo_root_columns(t, weight) : NULL;
    if (root)
        mo_scale_rows(t, root, &K, &Ys);
    mo_kernel_inverse(t, K, Ys, lambda, &G, alpha);
    mo_leave_one_out_of(t, G, Ys, root, alpha, Yloo);
}

void mo_leave_one_out_of(
    mo_tape *t, mo_tensor *G, mo_tensor *Ys, mo_tensor *root, mo_tensor **alpha, mo_tensor **Yloo) {
    mo_tensor *G_ii = mo_diagonal(t, G);
    *Yloo = mo_sub(t, mo_with_axis(t, Ys, MO_AXIS(-3), 1), mo_div(t, *alpha, mo_with_axis(t, G_ii, MO_AXIS(-1), 1)));
    if (root) {
        *alpha = mo_mul(t, *alpha, mo_with_axis(t, root, MO_AXIS(-3), 1));
        *Yloo = unscaled(t, *Yloo, root);
    }
}

/* X X^T by matmul: see ridge.c. */
static void fit_dual(mo_tape *t, mo_tensor *Z1, mo_tensor *Ys, mo_tensor *lambda, mo_tensor **W, mo_tensor **Yloo) {
    mo_tensor *Z1t = mo_transpose(t, Z1), *alpha;
    mo_kernel_loo_fit(t, mo_matmul(t, Z1, Z1t), Ys, NULL, lambda, &alpha, Yloo);
    *W = mo_matmul(t, mo_with_axis(t, Z1t, MO_AXIS(-3), 1), alpha);
}

static void fit_primal(mo_tape *t, mo_tensor *Z1, mo_tensor *Ys, mo_tensor *lambda, mo_tensor **W, mo_tensor **Yloo) {
    int64_t n_s = mo_dim(Z1, -2), C = mo_dim(Ys, -1);
    mo_tensor *Z1t = mo_transpose(t, Z1), *Y = mo_with_axis(t, Ys, MO_AXIS(-3), 1);
    mo_tensor *X = solve_both(t, mo_matmul(t, Z1t, Z1), lambda, mo_matmul(t, Z1t, Ys), Z1t);
    mo_tensor *PZ1t = columns(t, X, C, C + n_s);
    mo_tensor *h =
        mo_sum(t, mo_mul(t, mo_with_axis(t, Z1t, MO_AXIS(-3), 1), PZ1t), MO_AXIS(mo_ndim(PZ1t) - 2), MO_DROP_AXES);
    h = mo_with_axis(t, h, MO_AXIS(-1), 1);
    *W = columns(t, X, 0, C);
    mo_tensor *fitted = mo_matmul(t, mo_with_axis(t, Z1, MO_AXIS(-3), 1), *W);
    *Yloo = mo_div(t, mo_sub(t, fitted, mo_mul(t, h, Y)), mo_scale(t, h, -1, 1));
}

void mo_ridge_loo_fit(mo_tape *t, mo_tensor *Zs, mo_tensor *Ys, mo_tensor *weight, mo_tensor *lambda,
    mo_ridge_form form, mo_tensor **W, mo_tensor **Yloo) {
    mo_context *ctx = mo_tape_context(t);
    if (W && Yloo)
        *W = *Yloo = mo_null_tensor(ctx);
    if (!mo_given(ctx, "ridge_loo", "W", W) || !mo_given(ctx, "ridge_loo", "Yloo", Yloo))
        return;
    int lead = mo_ndim(Zs) - 2;
    bool fits = lead >= 0 && mo_ndim(Ys) == lead + 2 && mo_ndim(lambda) == lead + 1 && mo_dim(Zs, -2) == mo_dim(Ys, -2);
    fits = fits && (!weight || (mo_ndim(weight) == lead + 1 && mo_dim(weight, -1) == mo_dim(Zs, -2)));
    for (int i = 0; i < lead && fits; i++)
        fits = mo_dim(Zs, i) == mo_dim(Ys, i) && mo_dim(Zs, i) == mo_dim(lambda, i) &&
               (!weight || mo_dim(Zs, i) == mo_dim(weight, i));
    if (!fits) {
        char z[160], y[160], l[160], w[160];
        mo_fail(ctx, MO_INVALID,
            "ridge_loo: expected Zs [.., n_s, d], Ys [.., n_s, C], weight [.., n_s], lambda [.., R]; got %s, %s, %s, "
            "%s",
            mo_shape_string(Zs, z, sizeof z), mo_shape_string(Ys, y, sizeof y),
            weight ? mo_shape_string(weight, w, sizeof w) : "none", mo_shape_string(lambda, l, sizeof l));
        return;
    }
    if (form == MO_RIDGE_AUTO)
        form = mo_dim(Zs, -2) <= mo_dim(Zs, -1) + 1 ? MO_RIDGE_DUAL : MO_RIDGE_PRIMAL;
    mo_tensor *Z1 = mo_append_ones(t, Zs), *root = weight ? mo_root_columns(t, weight) : NULL;
    if (root) {
        Z1 = mo_mul(t, Z1, root);
        Ys = mo_mul(t, Ys, root);
    }
    (form == MO_RIDGE_DUAL ? fit_dual : fit_primal)(t, Z1, Ys, lambda, W, Yloo);
    if (root)
        *Yloo = unscaled(t, *Yloo, root);
}

mo_tensor *mo_softmax_of_pairs(mo_tape *t, mo_tensor *X) {
    int64_t flat[MO_MAX_AXES], shape[MO_MAX_AXES];
    int ndim = mo_ndim(X);
    if (ndim < 2) /* the null tensor of an op that failed */
        return X;
    for (int i = 0; i < ndim; i++)
        flat[i] = shape[i] = mo_dim(X, i);
    flat[ndim - 2] = shape[ndim - 2] * shape[ndim - 1];
    return mo_reshape(t, mo_softmax(t, mo_reshape(t, X, ndim - 1, flat), MO_AXIS(-1)), ndim, shape);
}
