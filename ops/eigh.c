/* ops/eigh.c - w and V with A V = V diag(w) for symmetric A, batched.
 *
 * A [.., n, n] -> w [.., n] in rising order, V [.., n, n] with orthonormal eigenvectors in its columns; float32 or
 * float64. The lower triangle of A is read; all of A must be finite. The sign of an eigenvector is arbitrary: the entry
 * of largest magnitude of each column (the first of equal ones) is made positive. Errors: A not square, not finite, not
 * converged (named); a gradient through V if two eigenvalues differ by at most 1e-8 (float32: 1e-4) of the matrix's
 * largest |w|, since V has no derivative at equal ones. Saved: nothing beyond w and V.
 *
 * With C = V^T dV (antisymmetric) and W = diag(w): V^T dA V = dW + C W - W C, so dw = diag(V^T dA V) and
 * C_ij = F_ij (V^T dA V)_ij, F_ij = 1 / (w_j - w_i) off the diagonal, 0 on it. Hence (Giles 2008, 3.1)
 *     M = V (diag(w_bar) + F * (V^T V_bar)) V^T,   A_bar = ½ (M + M^T) on the symmetric matrices. */
#include "ops/inside.h"
#include "ops/rules/factor.h"
#include "ops/rules/shapes.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

static bool eigh_shape(mo_call *c) {
    const mo_tensor *A = c->in[0];
    return mo_call_real(c, 0, 0) && mo_call_square(c, 0) && mo_call_output(c, 0, A->dtype, A->ndim - 1, A->shape) &&
           mo_call_output(c, 1, A->dtype, A->ndim, A->shape);
}

/* V = U with each column times the sign of its entry of largest magnitude. */
static void fix_signs(mo_call *c, mo_view U, mo_view V) {
    const mo_kernels *k = mo_kernels_of(c->ctx, U.dtype);
    mo_view columns = mo_swap_view(U);
    mo_tensor *rows = mo_call_temporary(c, U.dtype, U.ndim, columns.shape);
    mo_tensor *magnitudes = mo_call_temporary(c, U.dtype, U.ndim, columns.shape);
    mo_tensor *places = mo_call_temporary(c, MO_I64, U.ndim - 1, U.shape);
    mo_tensor *signs = mo_call_temporary(c, U.dtype, U.ndim - 1, U.shape);
    mo_view row = mo_tensor_view(rows), magnitude = mo_tensor_view(magnitudes), place = mo_tensor_view(places),
            sign = mo_tensor_view(signs);
    if (!mo_ok(c->ctx) || !mo_numel(rows))
        return;
    c->ctx->backend->copy(c->ctx, &columns, &row);
    k->map1(c->ctx, MO_MAP_ABS, 0, 0, &row, &magnitude);
    k->argmax(c->ctx, &magnitude, &place);
    int last = U.ndim - 1; /* axis of the magnitudes among which the largest is found */
    place.shape[last] = place.stride[last] = sign.shape[last] = sign.stride[last] = 1;
    place.ndim = sign.ndim = U.ndim;
    mo_view entry = magnitude;
    entry.shape[last] = 1;
    mo_contiguous_strides(entry.ndim, entry.shape, entry.stride);
    k->take_along(c->ctx, &row, &place, &entry);
    k->map1(c->ctx, MO_MAP_SIGN, 0, 0, &entry, &sign);
    mo_view by_column = mo_swap_view(sign); /* [.., 1, n], equal in every row */
    by_column.shape[last - 1] = U.shape[last];
    by_column.stride[last - 1] = 0;
    k->map2(c->ctx, MO_MAP_MUL, &U, &by_column, &V);
}

static void eigh_forward(mo_call *c) {
    const mo_tensor *A = c->in[0];
    mo_tensor *info = mo_factor_info(c, A), *copy = mo_call_temporary(c, A->dtype, A->ndim, A->shape);
    mo_view a = mo_tensor_view(A), u = mo_tensor_view(copy), i = mo_tensor_view(info);
    mo_view w = mo_tensor_view(c->out[0]), V = mo_tensor_view(c->out[1]);
    if (!mo_ok(c->ctx))
        return;
    c->ctx->backend->copy(c->ctx, &a, &u);
    mo_kernels_of(c->ctx, A->dtype)->syevd(c->ctx, &u, &w, &i);
    if (mo_check_factor_info(c, info, "has eigenvalues that did not converge (%d)"))
        fix_signs(c, u, V);
}

/* ---- distinct eigenvalues ---- */

static bool fail_gap(mo_context *ctx, const mo_tensor *w, int64_t position, double gap) {
    int64_t n = mo_dim(w, -1);
    char which[80] = "the matrix";
    if (w->ndim > 1)
        snprintf(which, sizeof which, "matrix %" PRId64 " of %" PRId64, position / n, mo_numel(w) / n);
    mo_fail(ctx, MO_NUMERICAL,
        "eigh: a gradient through V was asked for, but eigenvalues %" PRId64 " and %" PRId64
        " of %s agree to a relative %.3g: V has no derivative there",
        position % n - 1, position % n, which, gap);
    return false;
}

/* Raises if two neighbours are too close among the n rising eigenvalues from position `first` on, which lie on the
 * device. */
static bool check_matrix(mo_context *ctx, const mo_tensor *w, const double *values, int64_t first, int64_t n) {
    enum { PIECE = 256 };
    double least = w->dtype == MO_F64 ? 1e-8 : 1e-4, ends[2], piece[PIECE];
    ctx->backend->download(ctx, &ends[0], values + first, sizeof *ends);
    ctx->backend->download(ctx, &ends[1], values + first + n - 1, sizeof *ends);
    double scale = fmax(fabs(ends[0]), fabs(ends[1]));
    for (int64_t start = 0; start + 1 < n; start += PIECE - 1) { /* consecutive pieces share an eigenvalue */
        int64_t count = n - start < PIECE ? n - start : PIECE;
        ctx->backend->download(ctx, piece, values + first + start, (size_t)count * sizeof *piece);
        for (int64_t i = 1; i < count; i++)
            if (piece[i] - piece[i - 1] <= least * scale)
                return fail_gap(ctx, w, first + start + i, scale > 0 ? (piece[i] - piece[i - 1]) / scale : 0);
    }
    return true;
}

static bool check_gaps(mo_tape *t, const mo_tensor *w) {
    int64_t n = mo_dim(w, -1), total = mo_numel(w);
    mo_tensor *copy = mo_tape_tensor(t, MO_F64, w->ndim, w->shape);
    if (mo_is_null(copy) || mo_tensor_copy(copy, w) != MO_OK)
        return false;
    mo_view values = mo_tensor_view(copy);
    for (int64_t first = 0; first < total; first += n)
        if (!check_matrix(mo_tape_context(t), w, values.data, first, n))
            return false;
    return true;
}

/* Returns F * (V^T V_bar), the part of M that comes through the eigenvectors. */
static mo_tensor *eigenvector_term(mo_tape *t, mo_tensor *w, mo_tensor *V, mo_tensor *V_bar) {
    int n = V->ndim;
    int64_t column[MO_MAX_AXES], row[MO_MAX_AXES];
    for (int i = 0; i < n; i++)
        column[i] = row[i] = V->shape[i];
    column[n - 1] = row[n - 2] = 1;
    mo_tensor *gaps = mo_sub(t, mo_reshape(t, w, n, row), mo_reshape(t, w, n, column)); /* w_j - w_i */
    return mo_div_or_zero(t, mo_matmul(t, mo_transpose(t, V), V_bar), gaps);
}

static void eigh_vjp(mo_vjp *v) {
    mo_tape *t = v->t;
    mo_tensor *w = v->out[0], *V = v->out[1], *w_bar = v->out_bar[0], *V_bar = v->out_bar[1], *inner = NULL;
    if (V_bar) {
        if (!check_gaps(t, w))
            return;
        inner = eigenvector_term(t, w, V, V_bar);
    }
    if (w_bar) {
        mo_tensor *W_bar = mo_diagonal_embed(t, w_bar);
        inner = inner ? mo_add(t, inner, W_bar) : W_bar;
    }
    mo_tensor *M = mo_matmul(t, mo_matmul(t, V, inner), mo_transpose(t, V));
    v->in_bar[0] = mo_scale(t, mo_add(t, M, mo_transpose(t, M)), 0.5, 0);
}

static double eigh_flops(const mo_call *c) {
    double n = (double)mo_dim(c->in[0], -1);
    return 9 * (double)mo_numel(c->in[0]) * n; /* Golub and Van Loan 2013, 8.3.3 */
}

static const mo_sample eigh_samples[] = {
    {"matrix", "symmetric[5, 5]"},
    {"batch", "symmetric[2, 3, 3]"},
    {"one", "symmetric[1, 1]"},
    {"not square", "[3, 4]", .error = "eigh: expected square matrices [.., n, n]; got [3, 4]"},
};

const mo_op mo_op_eigh = {
    .name = "eigh",
    .n_out = 2,
    .reads_out = 3,
    .shape = eigh_shape,
    .forward = eigh_forward,
    .vjp = eigh_vjp,
    .flops = eigh_flops,
    MO_SAMPLES(eigh_samples),
};

void mo_eigh(mo_tape *t, mo_tensor *A, mo_tensor **w, mo_tensor **V) {
    mo_tensor *out[2] = {NULL};
    mo_apply_all(t, &mo_op_eigh, (mo_tensor *[]){A}, 1, NULL, out);
    if (w)
        *w = out[0];
    if (V)
        *V = out[1];
}
