/* ops/composed/solve_health.c - how accurate the solutions of a batch are, as data: the info of the factorizations,
 * reciprocal conditions, residual ratios, and the error to expect in X and in its gradients.
 *
 * A backward stable solve gives the X of a matrix A + E with |E| about eps |A|, so that the relative error of X is up
 * to eps |A| |A^-1| = eps / rcond (Higham 2002, 7.1). The adjoint solve has the same matrix, and A_bar = -B_bar X^T is
 * a product of the two solutions B_bar and X, so its error is of the same size.
 *
 * rcond is exact up to rounding: |A^-1| is the norm of an inverse in float64, by LU with partial pivoting. So rcond
 * is right for a float32 matrix however inaccurate float32 solves are; for a float64 matrix, rcond is dominated by
 * rounding where it comes near the epsilon of float64. */
#include "ops/inside.h"
#include "ops/rules/shapes.h"
#include "tensor/library.h"
#include "tensor/objects.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/* Returns the symmetric matrices that have the lower triangles of A. */
static mo_tensor *mirrored(mo_tape *t, mo_tensor *A) {
    mo_tensor *L = mo_tril(t, A), *D = mo_diagonal_embed(t, mo_diagonal(t, A));
    return mo_add(t, mo_sub(t, L, D), mo_transpose(t, L));
}

/* Returns |A| for every float64 matrix of A [.., m, n]: the largest column sum of magnitudes, [..]; 0 for an empty
 * matrix. */
static mo_tensor *matrix_norm(mo_tape *t, mo_tensor *A) {
    if (!mo_ok(mo_tape_context(t)) || mo_dim(A, -1) == 0)
        return mo_full(t, MO_F64, A->ndim - 2, A->shape, 0);
    return mo_max(t, mo_sum(t, mo_abs(t, A), MO_AXIS(-2), MO_DROP_AXES), MO_AXIS(-1), MO_DROP_AXES);
}

/* ---- condition numbers ---- */

/* The factors of copies of A, and the info of each; pivot is NULL for Cholesky. */
typedef struct factored {
    mo_tensor *F, *pivot, *info;
} factored;

static factored condition_factor(mo_tape *t, mo_tensor *A, bool spd) {
    mo_context *ctx = mo_tape_context(t);
    factored f = {.F = mo_tape_tensor(t, A->dtype, A->ndim, A->shape)};
    f.info = mo_full(t, MO_I32, A->ndim - 2, A->shape, 0);
    if (!spd) /* getrf sets no pivots if A is not finite, but getrs needs row numbers */
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

/* Returns |A^-1| for every float64 matrix of A, and its factors in *f; meaningless for a matrix that has no inverse by
 * f->info. */
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
    return matrix_norm(t, V);
}

/* Returns 1 / (|A| |A^-1|); 0 if `word`, the info of the factorization, says that A has no inverse. */
static double reciprocal(double size, double inverse, int32_t word) {
    double rcond = 1 / size / inverse;
    return word == -1 || word > 0 || !(rcond > 0 && isfinite(rcond)) ? 0 : rcond;
}

/* Returns the reciprocal condition of every matrix of the batch, in float64. */
static mo_tensor *condition_numbers(mo_tape *t, mo_tensor *A) {
    mo_context *ctx = mo_tape_context(t);
    if (mo_ok(ctx) && mo_dim(A, -1) == 0)
        return mo_full(t, MO_F64, A->ndim - 2, A->shape, 1);
    factored f;
    mo_tensor *inverse = inverse_norm(t, A, &f), *size = matrix_norm(t, A), *rcond = mo_null_tensor(ctx);
    size_t batch = mo_ok(ctx) ? (size_t)mo_numel(f.info) : 0;
    double *a = malloc((batch + 1) * 2 * sizeof *a), *v = a + batch;
    int32_t *word = malloc((batch + 1) * sizeof *word);
    if (!a || !word)
        mo_fail(ctx, MO_MEMORY, "solve_check: out of memory for %zu figures", batch);
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

/* ---- the health of a solution ---- */

/* Returns |A X - B| / (n eps |A| |X|), all norms in float64; 0 where A X = B. */
static mo_tensor *residual_ratio(mo_tape *t, mo_tensor *A, mo_tensor *X, mo_tensor *B, double eps) {
    mo_tensor *residual = matrix_norm(t, mo_sub(t, mo_matmul(t, A, X), B));
    mo_tensor *size = mo_mul(t, matrix_norm(t, A), mo_scale(t, matrix_norm(t, X), (double)mo_dim(A, -1) * eps, 0));
    return mo_where(t, residual, mo_div(t, residual, size), residual); /* 0 / 0 is 0 */
}

static bool check_solution(mo_context *ctx, mo_tensor *A, mo_tensor *B, mo_tensor *X) {
    char a[160], b[160], x[160];
    mo_tensor *given[] = {A, B, X};
    for (int i = 0; i < 3; i++)
        if (mo_ok(ctx) && mo_is_null(given[i]))
            mo_fail(ctx, MO_INVALID, "solve_check: input %d is null", i);
    if (!mo_ok(ctx))
        return false;
    int64_t shape[MO_MAX_AXES];
    bool fit = A->ndim >= 2 && B->ndim >= 2 && mo_dim(A, -1) == mo_dim(A, -2) && mo_dim(B, -2) == mo_dim(A, -1);
    int leading = fit ? mo_broadcast_shape(A->ndim - 2, A->shape, B->ndim - 2, B->shape, shape) : -1;
    fit = leading >= 0 && X->ndim == leading + 2 && mo_dim(X, -2) == mo_dim(B, -2) && mo_dim(X, -1) == mo_dim(B, -1);
    for (int i = 0; fit && i < leading; i++)
        fit = X->shape[i] == shape[i];
    bool real = fit && mo_dtype_is_real(A->dtype) && A->dtype == B->dtype && A->dtype == X->dtype;
    if (!real)
        mo_fail(ctx, fit ? MO_MISMATCH : MO_INVALID,
            "solve_check: expected A [.., n, n], B [.., n, m] and the X of their solve, all float32 or all float64; "
            "got %s %s, %s %s, %s %s",
            mo_shape_string(A, a, sizeof a), mo_dtype_name(A->dtype), mo_shape_string(B, b, sizeof b),
            mo_dtype_name(B->dtype), mo_shape_string(X, x, sizeof x), mo_dtype_name(X->dtype));
    return real;
}

mo_code mo_solve_check(mo_tape *t, mo_tensor *A, mo_tensor *B, mo_tensor *X, bool spd, mo_solve_health *health) {
    mo_context *ctx = mo_tape_context(t);
    mo_tensor *null = mo_null_tensor(ctx);
    if (health)
        *health = (mo_solve_health){null, null, null, null};
    if (!mo_given(ctx, "solve_check", "the health", health) || !check_solution(ctx, A, B, X))
        return mo_code_of(ctx);
    double eps = X->dtype == MO_F64 ? DBL_EPSILON : FLT_EPSILON;
    mo_scope scope = mo_scope_open(t);
    mo_tensor *data = mo_stop_gradient(t, A), *info = condition_factor(t, data, spd).info;
    mo_tensor *wide = mo_cast(t, spd ? mirrored(t, data) : data, MO_F64), *rcond = condition_numbers(t, wide);
    mo_tensor *x = mo_cast(t, mo_stop_gradient(t, X), MO_F64), *b = mo_cast(t, mo_stop_gradient(t, B), MO_F64);
    mo_tensor *residual = mo_ok(ctx) ? residual_ratio(t, wide, x, b, eps) : null;
    rcond = mo_where(t, mo_cast(t, info, MO_F64), mo_smaller(t, rcond, mo_scale(t, rcond, 0, eps)), rcond);
    mo_tensor *smallest = mo_scale(t, rcond, 0, eps); /* eps / max(rcond, eps), at most 1 */
    mo_tensor *figures[] = {info, rcond, residual, mo_div(t, smallest, mo_larger(t, rcond, smallest))};
    mo_scope_close(t, &scope, figures, 4);
    if (mo_ok(ctx))
        *health = (mo_solve_health){figures[0], figures[1], figures[2], figures[3]};
    return mo_code_of(ctx);
}
