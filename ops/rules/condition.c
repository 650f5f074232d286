/* ops/rules/condition.c - info words, reciprocal condition numbers and residual ratios of a batch, as data.
 *
 * rcond is exact up to rounding: |A^-1| is the norm of an inverse in float64, by LU with partial pivoting. The figure
 * of a float32 matrix is thus right however badly float32 itself fares; that of a float64 matrix is a figure of
 * rounding where it comes near the epsilon of float64. */
#include "ops/rules/condition.h"

#include "tensor/storage.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

mo_tensor *mo_mirrored(mo_tape *t, mo_tensor *A) {
    mo_tensor *L = mo_tril(t, A), *D = mo_diagonal_embed(t, mo_diagonal(t, A));
    return mo_add(t, mo_sub(t, L, D), mo_transpose(t, L));
}

mo_tensor *mo_matrix_norm(mo_tape *t, mo_tensor *A) {
    mo_context *ctx = mo_tape_context(t);
    if (!mo_ok(ctx) || mo_is_null(A))
        return mo_null_tensor(ctx);
    if (mo_dim(A, -1) == 0)
        return mo_full(t, MO_F64, A->ndim - 2, A->shape, 0);
    mo_tensor *columns = mo_sum(t, mo_abs(t, mo_cast(t, A, MO_F64)), MO_AXIS(-2), MO_DROP_AXES);
    return mo_max(t, columns, MO_AXIS(-1), MO_DROP_AXES);
}

/* ---- factors ---- */

/* The factors of copies of A, and their words; pivot is NULL for Cholesky. */
typedef struct factored {
    mo_tensor *F, *pivot, *info;
} factored;

static factored condition_factor(mo_tape *t, mo_tensor *A, bool spd) {
    mo_context *ctx = mo_tape_context(t);
    factored f = {.F = mo_tape_tensor(t, A->dtype, A->ndim, A->shape)};
    f.info = mo_full(t, MO_I32, A->ndim - 2, A->shape, 0);
    if (!spd) /* valid row numbers, for matrices that are not factored because they are not finite */
        f.pivot = mo_full(t, MO_I32, A->ndim - 1, A->shape, 1);
    if (!mo_ok(ctx))
        return f;
    mo_view a = mo_tensor_view(A), F = mo_tensor_view(f.F), info = mo_tensor_view(f.info);
    const mo_kernels *k = mo_kernels_of(ctx, A->dtype);
    ctx->backend->copy(ctx, &a, &F);
    if (spd) {
        k->potrf(ctx, &F, &info);
    } else {
        mo_view pivot = mo_tensor_view(f.pivot);
        k->getrf(ctx, &F, &pivot, &info);
    }
    return f;
}

/* |A^-1| of every matrix, A in float64; without a meaning where the word of `f` says that A has no factor. */
static mo_tensor *inverse_norm(mo_tape *t, mo_tensor *A, factored *f) {
    mo_context *ctx = mo_tape_context(t);
    *f = condition_factor(t, A, false);
    mo_tensor *V = mo_tape_tensor(t, MO_F64, A->ndim, A->shape), *I = mo_eye(t, MO_F64, mo_dim(A, -1));
    mo_tensor *all = mo_broadcast_to(t, I, A->ndim, A->shape);
    if (!mo_ok(ctx))
        return V;
    mo_view from = mo_tensor_view(all), v = mo_tensor_view(V), F = mo_tensor_view(f->F), p = mo_tensor_view(f->pivot);
    ctx->backend->copy(ctx, &from, &v);
    mo_kernels_of(ctx, MO_F64)->getrs(ctx, false, &F, &p, &v);
    return mo_matrix_norm(t, V);
}

/* ---- on the host ---- */

/* 1 / (|A| |V|); 0 where the word says that there is no V. */
static double reciprocal(double size, double inverse, int32_t word) {
    double rcond = 1 / size / inverse;
    return word == -1 || word > 0 || !(rcond > 0 && isfinite(rcond)) ? 0 : rcond;
}

/* The reciprocal condition of every matrix of the batch, as a tensor of the tape. */
static mo_tensor *condition_numbers(mo_tape *t, mo_tensor *A) {
    mo_context *ctx = mo_tape_context(t);
    if (mo_ok(ctx) && mo_dim(A, -1) == 0)
        return mo_full(t, MO_F64, A->ndim - 2, A->shape, 1);
    factored f;
    mo_tensor *inverse = inverse_norm(t, A, &f), *size = mo_matrix_norm(t, A), *rcond = mo_null_tensor(ctx);
    size_t batch = mo_ok(ctx) ? (size_t)mo_numel(f.info) : 0;
    double *a = malloc((batch + 1) * 2 * sizeof *a), *v = a + batch;
    int32_t *word = malloc((batch + 1) * sizeof *word);
    if (!a || !word)
        mo_fail(ctx, MO_MEMORY, "condition: out of memory for %zu figures", batch);
    else if (mo_tensor_read(size, a, batch * sizeof *a) == MO_OK &&
             mo_tensor_read(inverse, v, batch * sizeof *v) == MO_OK &&
             mo_tensor_read(f.info, word, batch * sizeof *word) == MO_OK) {
        for (size_t i = 0; i < batch; i++)
            a[i] = reciprocal(a[i], v[i], word[i]);
        rcond = mo_from(t, MO_F64, A->ndim - 2, A->shape, a);
    }
    free(a);
    free(word);
    return rcond;
}

/* ---- what others call ---- */

mo_conditioning mo_condition_of(mo_tape *t, mo_tensor *A, bool spd, bool measured) {
    mo_context *ctx = mo_tape_context(t);
    mo_conditioning c = {mo_null_tensor(ctx), mo_null_tensor(ctx)};
    mo_tensor *data = mo_stop_gradient(t, A);
    if (!mo_ok(ctx))
        return c;
    mo_scope scope = mo_scope_open(t);
    c.info = condition_factor(t, data, spd).info;
    if (measured)
        c.rcond = condition_numbers(t, mo_cast(t, spd ? mo_mirrored(t, data) : data, MO_F64));
    mo_scope_close(t, &scope, (mo_tensor *[]){c.info, c.rcond}, measured ? 2 : 1);
    if (!mo_ok(ctx))
        c = (mo_conditioning){mo_null_tensor(ctx), mo_null_tensor(ctx)};
    return c;
}

mo_tensor *mo_residual_ratio(mo_tape *t, mo_tensor *A, mo_tensor *X, mo_tensor *B) {
    mo_context *ctx = mo_tape_context(t);
    mo_tensor *a = mo_stop_gradient(t, A), *x = mo_stop_gradient(t, X), *b = mo_stop_gradient(t, B);
    if (!mo_ok(ctx))
        return mo_null_tensor(ctx);
    double eps = X->dtype == MO_F64 ? DBL_EPSILON : FLT_EPSILON, n = (double)mo_dim(A, -1);
    mo_scope scope = mo_scope_open(t);
    a = mo_cast(t, a, MO_F64);
    x = mo_cast(t, x, MO_F64);
    mo_tensor *residual = mo_matrix_norm(t, mo_sub(t, mo_matmul(t, a, x), mo_cast(t, b, MO_F64)));
    mo_tensor *size = mo_mul(t, mo_matrix_norm(t, a), mo_scale(t, mo_matrix_norm(t, x), n * eps, 0));
    mo_tensor *ratio = mo_where(t, residual, mo_div(t, residual, size), residual); /* 0 / 0 is 0 */
    mo_scope_close(t, &scope, &ratio, 1);
    return mo_ok(ctx) ? ratio : mo_null_tensor(ctx);
}
