/* ops/qr.c - Q and R with A = Q R, thin, by Householder reflections; batched.
 *
 * A [.., m, n] with m >= n -> Q [.., m, n] with orthonormal columns, R [.., n, n] upper triangular; float32 or float64.
 * The diagonal of R is positive, which makes both factors unique. Errors, which name the matrix: more columns than
 * rows, a value that is not finite, a column that is a combination of the columns before it (its part orthogonal to
 * them is below 8 m eps of its size), since Q and R have no derivative there. Saved: nothing beyond Q and R.
 *
 * A = Q R, Q^T Q = I, with C = Q^T dQ (antisymmetric): Q^T dA R^-1 = C + dR R^-1, and dR R^-1 is upper triangular, so C
 * and Q^T dA R^-1 have the same strict lower triangle. Hence (Walter and Lehmann 2012)
 *     M = R R_bar^T - Q_bar^T Q,   A_bar = (Q_bar + Q copyltu(M)) R^-T,
 * where copyltu makes a matrix symmetric by copying its lower triangle to the upper one. */
#include "ops/inside.h"
#include "ops/rules/checks.h"
#include "ops/rules/factor.h"
#include "ops/rules/shapes.h"

#include <float.h>
#include <inttypes.h>
#include <string.h>

static bool qr_shape(mo_call *c) {
    const mo_tensor *A = c->in[0];
    int64_t size[MO_MAX_AXES];
    if (!mo_call_real(c, 0, 0))
        return false;
    if (A->ndim < 2 || mo_dim(A, -2) < mo_dim(A, -1))
        return mo_call_fail(c, MO_INVALID, "expected matrices [.., m, n] with m >= n");
    memcpy(size, A->shape, sizeof size);
    size[A->ndim - 2] = size[A->ndim - 1];
    return mo_call_output(c, 0, A->dtype, A->ndim, A->shape) && mo_call_output(c, 1, A->dtype, A->ndim, size);
}

/* ---- independent columns ---- */

static void fail_column(mo_context *ctx, const mo_note *note, int64_t position, mo_found found, mo_found before) {
    (void)found;
    (void)before;
    int64_t n = note->check.shape[note->check.ndim - 1];
    char which[80];
    mo_note_fail(ctx, note, MO_NUMERICAL,
        "%s is rank-deficient: column %" PRId64 " is a combination of those before it, to working precision",
        mo_note_matrix(note, position / n, which, sizeof which), position % n);
}

/* Returns tolerance * max_i |R_ij|, a share of the size of column j, in float64. */
static mo_view least_diagonals(mo_call *c, mo_view R, double tolerance) {
    const mo_kernels *k = mo_kernels_of(c->ctx, R.dtype);
    mo_tensor *sizes = mo_call_temporary(c, R.dtype, R.ndim, R.shape);
    mo_tensor *columns = mo_call_temporary(c, R.dtype, R.ndim - 1, R.shape);
    mo_tensor *least = mo_call_temporary(c, MO_F64, R.ndim - 1, R.shape);
    mo_tensor *scaled = mo_call_temporary(c, R.dtype, R.ndim - 1, R.shape);
    mo_view size = mo_tensor_view(sizes), column = mo_tensor_view(columns), y = size, out = mo_tensor_view(scaled),
            wide = mo_tensor_view(least);
    if (!mo_ok(c->ctx))
        return wide;
    y.data = column.data;
    for (int i = 0; i < y.ndim; i++)
        y.stride[i] = i == y.ndim - 2 ? 0 : column.stride[i < y.ndim - 2 ? i : i - 1];
    k->map1(c->ctx, MO_MAP_ABS, 0, 0, &R, &size);
    k->reduce(c->ctx, MO_REDUCE_MAX, &size, &y);
    k->map1(c->ctx, MO_MAP_SCALE, tolerance, 0, &column, &out);
    c->ctx->backend->copy(c->ctx, &out, &wide);
    return wide;
}

static bool check_columns(mo_call *c) {
    mo_view R = mo_tensor_view(c->out[1]), diagonal = mo_diagonal_view(R);
    double epsilon = R.dtype == MO_F64 ? DBL_EPSILON : (double)FLT_EPSILON;
    if (mo_numel(c->out[1]) == 0)
        return true;
    mo_check check = {.condition = MO_VALUES_ABOVE, .raise = fail_column};
    check.bounds = least_diagonals(c, R, 8 * (double)mo_dim(c->in[0], -2) * epsilon);
    check.values = mo_tensor_view(mo_call_temporary(c, MO_F64, diagonal.ndim, diagonal.shape));
    if (mo_ok(c->ctx))
        c->ctx->backend->copy(c->ctx, &diagonal, &check.values);
    return mo_call_check(c, check, c->out[1]);
}

static void qr_forward(mo_call *c) {
    const mo_tensor *A = c->in[0];
    mo_tensor *info = mo_factor_info(c, A);
    mo_view a = mo_tensor_view(A), q = mo_tensor_view(c->out[0]), r = mo_tensor_view(c->out[1]),
            i = mo_tensor_view(info);
    if (!mo_ok(c->ctx))
        return;
    c->ctx->backend->copy(c->ctx, &a, &q);
    mo_kernels_of(c->ctx, q.dtype)->qr(c->ctx, &q, &r, &i);
    if (mo_check_factor_info(c, info, "has no QR decomposition (LAPACK says %d)"))
        check_columns(c);
}

/* Returns M's lower triangle, mirrored into the upper one. */
static mo_tensor *copyltu(mo_tape *t, mo_tensor *M) {
    mo_tensor *lower = mo_tril(t, M), *diagonal = mo_diagonal_embed(t, mo_diagonal(t, M));
    return mo_add(t, lower, mo_transpose(t, mo_sub(t, lower, diagonal)));
}

static void qr_vjp(mo_vjp *v) {
    mo_tape *t = v->t;
    mo_tensor *Q = v->out[0], *R = v->out[1], *Q_bar = v->out_bar[0], *R_bar = v->out_bar[1], *M = NULL;
    if (R_bar)
        M = mo_matmul(t, R, mo_transpose(t, R_bar));
    if (Q_bar) {
        mo_tensor *turned = mo_matmul(t, mo_transpose(t, Q_bar), Q);
        M = M ? mo_sub(t, M, turned) : mo_neg(t, turned);
    }
    mo_tensor *S = mo_matmul(t, Q, copyltu(t, M));
    if (Q_bar)
        S = mo_add(t, Q_bar, S);
    v->in_bar[0] = mo_transpose(t, mo_solve_triangular(t, R, mo_transpose(t, S), MO_UPPER)); /* S R^-T */
}

static double qr_flops(const mo_call *c) {
    double m = (double)mo_dim(c->in[0], -2), n = (double)mo_dim(c->in[0], -1);
    return m * n > 0 ? (double)mo_numel(c->in[0]) / (m * n) * 4 * n * n * (m - n / 3) : 0;
}

static const mo_sample qr_samples[] = {
    {"tall", "general[5, 3]"},
    {"square", "general[4, 4]"},
    {"batch", "general[2, 2, 4, 2]"},
    {"one column", "[6, 1]"},
    {"wide", "[3, 4]", .error = "qr: expected matrices [.., m, n] with m >= n; got [3, 4]"},
};

const mo_op mo_op_qr = {
    .name = "qr",
    .n_out = 2,
    .reads_out = 3,
    .shape = qr_shape,
    .forward = qr_forward,
    .vjp = qr_vjp,
    .flops = qr_flops,
    MO_SAMPLES(qr_samples),
};

void mo_qr(mo_tape *t, mo_tensor *A, mo_tensor **Q, mo_tensor **R) {
    mo_tensor *out[2] = {NULL};
    mo_apply_all(t, &mo_op_qr, (mo_tensor *[]){A}, 1, NULL, out);
    if (Q)
        *Q = out[0];
    if (R)
        *R = out[1];
}
