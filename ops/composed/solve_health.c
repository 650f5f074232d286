/* ops/composed/solve_health.c - what is known of the solutions of a batch, as data: info, reciprocal condition,
 * residual ratio, lambda, and the error that these leave in X and in its gradients.
 *
 * A backward stable solve gives the X of a matrix A + E with |E| about eps |A|, so that the relative error of X is up
 * to eps |A| |A^-1| = eps / rcond (Higham 2002, 7.1). The adjoint solve is one with the same matrix, and A_bar = -B_bar
 * X^T is the product of both: its error is of the same size. Refined, both are right to the rounding of X itself as
 * long as the residuals, in float64, are. */
#include "ops/composed/solve_with.h"
#include "tensor/storage.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const double two_digits = 1e-2;

void mo_fail_system(mo_context *ctx, const mo_systems *s, int64_t which, const char *reason) {
    if (s->batch == 1)
        mo_fail(ctx, MO_NUMERICAL, "solve_with: the matrix %s", reason);
    else
        mo_fail(ctx, MO_NUMERICAL, "solve_with: matrix %" PRId64 " of %" PRId64 " %s", which, s->batch, reason);
}

const char *mo_info_reason(int32_t word, bool spd, char *text, size_t bytes) {
    if (word == -1)
        snprintf(text, bytes, "holds a value that is not finite");
    else if (word == -2)
        snprintf(text, bytes, "is singular to working precision");
    else if (spd)
        snprintf(text, bytes, "is not positive definite (leading minor %d)", (int)word);
    else
        snprintf(text, bytes, "is singular (pivot %d is 0)", (int)word);
    return text;
}

/* min(1, eps / rcond), plus the rounding of X where the solve is one of higher precision. */
static mo_tensor *expected_error(mo_tape *t, const mo_systems *s, mo_tensor *rcond, mo_dtype real) {
    double own = real == MO_F64 ? DBL_EPSILON : FLT_EPSILON, eps = s->refined ? DBL_EPSILON : own;
    mo_tensor *smallest = mo_scale(t, rcond, 0, eps);
    return mo_scale(t, mo_div(t, smallest, mo_larger(t, rcond, smallest)), 1, s->refined ? own : 0);
}

void mo_fill_health(mo_tape *t, const mo_systems *s, mo_tensor *X, mo_solve_health *health) {
    mo_context *ctx = mo_tape_context(t);
    if (!mo_ok(ctx))
        return;
    int ndim = s->A->ndim - 2;
    mo_scope scope = mo_scope_open(t);
    mo_tensor *A = s->spd ? mo_mirrored(t, mo_stop_gradient(t, s->A)) : s->A;
    mo_tensor *figures[] = {mo_residual_ratio(t, A, X, s->B),
        s->lambda ? mo_from(t, MO_F64, ndim, s->A->shape, s->lambda) : mo_full(t, MO_F64, ndim, s->A->shape, 0),
        mo_smaller(t, expected_error(t, s, s->condition.rcond, X->dtype), mo_scalar(t, MO_F64, 1))};
    mo_scope_close(t, &scope, figures, 3);
    if (mo_ok(ctx))
        *health = (mo_solve_health){s->condition.info, s->condition.rcond, figures[0], figures[1], figures[2]};
}

/* The number of entries above the limit, or NaN, and the position of the largest. */
static int64_t count_above(const double *error, int64_t n, double limit, int64_t *worst) {
    int64_t count = 0;
    *worst = 0;
    for (int64_t i = 0; i < n; i++) {
        count += !(error[i] <= limit);
        *worst = !(error[i] <= error[*worst]) ? i : *worst;
    }
    return count;
}

int64_t mo_solve_warning(const mo_solve_health *health, double limit, char *text, size_t bytes) {
    if (text && bytes)
        text[0] = 0;
    if (!health || mo_is_null(health->error) || mo_is_null(health->rcond))
        return 0;
    int64_t n = mo_numel(health->error), worst, count = 0;
    size_t size = (size_t)n * sizeof(double);
    double *error = malloc(2 * size + 1), *rcond = error + n;
    if (!error)
        mo_fail(health->error->ctx, MO_MEMORY, "solve_warning: out of memory for %" PRId64 " figures", n);
    else if (mo_tensor_read(health->error, error, size) == MO_OK && mo_tensor_read(health->rcond, rcond, size) == MO_OK)
        count = count_above(error, n, limit > 0 ? limit : two_digits, &worst);
    if (count && text)
        snprintf(text, bytes,
            "solve_with: %" PRId64 " of %" PRId64
            " systems: errors above %.2g in X and in its gradients; matrix %" PRId64
            " has the reciprocal condition %.2g, an error of up to %.2g",
            count, n, limit > 0 ? limit : two_digits, worst, rcond[worst], error[worst]);
    free(error);
    return count;
}
