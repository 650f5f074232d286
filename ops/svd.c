/* ops/svd.c - U, s and V with A = U diag(s) V^T, thin, batched.
 *
 * A [.., m, n], k = min(m, n) -> U [.., m, k] and V [.., n, k] with orthonormal columns, s [.., k] >= 0 in falling
 * order; float32 or float64. A pair of columns has an arbitrary sign: the entry of largest magnitude of U's column (the
 * first of equal ones) is made positive. Errors: fewer than two axes; A not finite, not converged (named); a gradient
 * through U or V if two singular values differ by at most 1e-8 (float32: 1e-4) of the matrix's largest, or if one is as
 * close to 0 and V, or the part of U outside A's range, needs it. s has a gradient at equal values too; at s = 0, where
 * it has a kink, that is 0. Saved: nothing beyond U, s and V.
 *
 * With S = diag(s), dP = U^T dA V, C = U^T dU and D = V^T dV (antisymmetric): dP = C S + dS - S D, so ds = diag(dP),
 * and with F_ij = 1 / (s_j^2 - s_i^2) off the diagonal, 0 on it, C = F * (dP S + S dP^T), D = F * (S dP + dP^T S); dU =
 * U C + (I - U U^T) dA V S^-1, and dV likewise. Hence, with G = U^T U_bar and H = V^T V_bar (Townsend 2016), M =
 * diag(s_bar) + (F * (G - G^T)) S + S (F * (H - H^T)), A_bar = (U M + (U_bar - U G) S^-1) V^T + U S^-1 (V_bar - V H)^T.
 * F_ij s_j is taken as (s_j / (s_i + s_j)) / (s_j - s_i), which neither over- nor underflows. */
#include "ops/inside.h"
#include "ops/rules/factor.h"
#include "ops/rules/shapes.h"
#include "ops/rules/spectrum.h"

#include <string.h>

static bool svd_shape(mo_call *c) {
    const mo_tensor *A = c->in[0];
    int64_t left[MO_MAX_AXES], right[MO_MAX_AXES];
    if (!mo_call_real(c, 0, 0))
        return false;
    if (A->ndim < 2)
        return mo_call_fail(c, MO_INVALID, "expected matrices [.., m, n]");
    memcpy(left, A->shape, sizeof left);
    memcpy(right, A->shape, sizeof right);
    int row = A->ndim - 2, column = A->ndim - 1;
    left[column] = right[column] = A->shape[row] < A->shape[column] ? A->shape[row] : A->shape[column];
    right[row] = A->shape[column];
    if (!mo_call_output(c, 0, A->dtype, A->ndim, left) || !mo_call_output(c, 2, A->dtype, A->ndim, right))
        return false;
    left[row] = left[column];
    return mo_call_output(c, 1, A->dtype, A->ndim - 1, left);
}

static void svd_forward(mo_call *c) {
    mo_tensor *wide, *square;
    if (!mo_factor_svd(c, false, c->out[1], &wide, &square))
        return;
    mo_view U, V;
    mo_svd_views(c->in[0], wide, square, &U, &V);
    mo_fix_signs(c, U, U, mo_tensor_view(c->out[0]));
    mo_fix_signs(c, U, V, mo_tensor_view(c->out[2]));
}

/* Returns X^T X_bar - X_bar^T X. */
static mo_tensor *turn(mo_tape *t, mo_tensor *X, mo_tensor *X_bar) {
    mo_tensor *G = mo_matmul(t, mo_transpose(t, X), X_bar);
    return mo_sub(t, G, mo_transpose(t, G));
}

/* Returns (X_bar - X X^T X_bar) S^-1, s being a row. */
static mo_tensor *outside(mo_tape *t, mo_tensor *X, mo_tensor *X_bar, mo_tensor *s) {
    mo_tensor *within = mo_matmul(t, X, mo_matmul(t, mo_transpose(t, X), X_bar));
    return mo_div(t, mo_sub(t, X_bar, within), s);
}

static void svd_vjp(mo_vjp *v) {
    mo_tape *t = v->t;
    mo_tensor *U = v->out[0], *s = v->out[1], *V = v->out[2];
    mo_tensor *U_bar = v->out_bar[0], *s_bar = v->out_bar[1], *V_bar = v->out_bar[2], *M = NULL;
    int64_t m = mo_dim(U, -2), n = mo_dim(V, -2), k = mo_dim(s, -1);
    mo_spectrum text = {"svd", "U or V", "singular value", V_bar || m > k};
    if ((U_bar || V_bar) && !mo_check_spectrum(t, s, &text))
        return;
    mo_tensor *row = mo_with_axis(t, s, MO_AXIS(-2), 1), *column = mo_with_axis(t, s, MO_AXIS(-1), 1);
    mo_tensor *sums = mo_add(t, column, row);
    if (U_bar)
        M = mo_mul(t, turn(t, U, U_bar), mo_div_or_zero(t, row, sums));
    if (V_bar) {
        mo_tensor *of_V = mo_mul(t, turn(t, V, V_bar), mo_div_or_zero(t, column, sums));
        M = M ? mo_add(t, M, of_V) : of_V;
    }
    M = M ? mo_div_or_zero(t, M, mo_sub(t, row, column)) : NULL;
    if (s_bar) { /* times 1, and 0 at s = 0 */
        mo_tensor *S_bar = mo_diagonal_embed(t, mo_mul(t, s_bar, mo_stop_gradient(t, mo_div_or_zero(t, s, s))));
        M = M ? mo_add(t, M, S_bar) : S_bar;
    }
    mo_tensor *left = mo_matmul(t, U, M);
    if (U_bar && m > k)
        left = mo_add(t, left, outside(t, U, U_bar, row));
    mo_tensor *A_bar = mo_matmul(t, left, mo_transpose(t, V));
    if (V_bar && n > k)
        A_bar = mo_add(t, A_bar, mo_matmul(t, U, mo_transpose(t, outside(t, V, V_bar, row))));
    v->in_bar[0] = A_bar;
}

static double svd_flops(const mo_call *c) {
    double k = (double)mo_dim(c->out[1], -1), m = (double)mo_dim(c->in[0], -2), n = (double)mo_dim(c->in[0], -1);
    return (double)mo_numel(c->out[1]) * (6 * (m > n ? m : n) * k + 20 * k * k); /* Golub and Van Loan 2013, 8.6 */
}

static const mo_sample svd_samples[] = {
    {"tall", "general[5, 3]"},
    {"wide", "general[2, 4]"},
    {"square", "general[4, 4]"},
    {"batch", "general[2, 2, 3, 2]"},
    {"one", "general[1, 1]"},
    {"vector", "[3]", .error = "svd: expected matrices [.., m, n]; got [3]"},
};

const mo_op mo_op_svd = {
    .name = "svd",
    .n_out = 3,
    .reads_out = 7,
    .shape = svd_shape,
    .forward = svd_forward,
    .vjp = svd_vjp,
    .flops = svd_flops,
    MO_SAMPLES(svd_samples),
};

void mo_svd(mo_tape *t, mo_tensor *A, mo_tensor **U, mo_tensor **s, mo_tensor **V) {
    mo_tensor *out[3] = {NULL};
    mo_apply_all(t, &mo_op_svd, (mo_tensor *[]){A}, 1, NULL, out);
    if (U)
        *U = out[0];
    if (s)
        *s = out[1];
    if (V)
        *V = out[2];
}
