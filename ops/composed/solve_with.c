/* ops/composed/solve_with.c - X with A X = B by mo_solve or mo_solve_spd, with a policy for matrices that have no
 * solution or a bad one, and what is known of each system.
 *
 * A [.., n, n], B [.., n, m] -> X [.., n, m]; leading axes broadcast. float32 or float64. A matrix fails if its
 * factorization says so or its reciprocal condition is below options->least_rcond. Errors: those of the solves; a
 * matrix that fails, under the policies that raise. The policies:
 *
 *   - error: as mo_solve;
 *   - NaN: as mo_solve_or_nan; a matrix that only least_rcond refuses gets a diagonal of NaN;
 *   - shift: A + lambda I is solved for lambda = 0, then shift |A|, ten times that, up to largest_shift |A|, the first
 *     at which the matrix does not fail. Each matrix of a batch has its own lambda, which is data: X_bar reaches A and
 *     B as through a solve with A + lambda I, lambda fixed;
 *   - refine: mo_solve_refined, forward and adjoint.
 *
 * The solve itself is the op, with its bits; health and policies only read. */
#include "ops/composed/solve_with.h"
#include "ops/rules/factor.h"
#include "ops/rules/shapes.h"
#include "tensor/storage.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static bool check_systems(mo_context *ctx, const mo_tensor *A, const mo_tensor *B) {
    char a[160], b[160];
    if (!mo_ok(ctx))
        return false;
    if (mo_is_null(A) || mo_is_null(B)) {
        mo_fail(ctx, MO_INVALID, "solve_with: input %d is null", mo_is_null(A) ? 0 : 1);
        return false;
    }
    int ndim;
    int64_t shape[MO_MAX_AXES];
    bool fit = A->ndim >= 2 && mo_dim(A, -1) == mo_dim(A, -2) && mo_same_leading(A, B, A->ndim - 1);
    fit = fit || mo_systems_broadcast(A, B, &ndim, shape);
    if (!fit || !mo_dtype_is_real(A->dtype) || A->dtype != B->dtype)
        mo_fail(ctx, fit ? MO_MISMATCH : MO_INVALID,
            "solve_with: expected A [.., n, n] and B [.., n, m] with leading axes that broadcast, both float32 or both "
            "float64; got %s %s, %s %s",
            mo_shape_string(A, a, sizeof a), mo_dtype_name(A->dtype), mo_shape_string(B, b, sizeof b),
            mo_dtype_name(B->dtype));
    return mo_ok(ctx);
}

/* The options with their defaults; raises for what is out of range. */
static mo_solve_options checked_options(mo_context *ctx, const mo_solve_options *options, mo_dtype real) {
    mo_solve_options o = options ? *options : (mo_solve_options){0};
    o.shift = o.shift == 0 ? (real == MO_F64 ? DBL_EPSILON : FLT_EPSILON) : o.shift;
    o.largest_shift = o.largest_shift == 0 ? 1e-2 : o.largest_shift;
    if ((int)o.policy < MO_SOLVE_ERROR || o.policy > MO_SOLVE_REFINE)
        mo_fail(ctx, MO_INVALID, "solve_with: policy %d, expected %d to %d", (int)o.policy, MO_SOLVE_ERROR,
            MO_SOLVE_REFINE);
    else if (!(o.least_rcond >= 0 && o.least_rcond <= 1))
        mo_fail(ctx, MO_INVALID, "solve_with: least_rcond %g, expected 0 to 1", o.least_rcond);
    else if (!(o.shift > 0 && o.shift <= o.largest_shift && isfinite(o.largest_shift)))
        mo_fail(ctx, MO_INVALID, "solve_with: shifts from %g to %g, expected rising numbers above 0", o.shift,
            o.largest_shift);
    return o;
}

/* ---- which matrices fail ---- */

/* The figures of a batch on the host. */
typedef struct figures {
    int32_t *info;
    double *rcond, *size; /* of the matrices; |A|, times which shifts count */
} figures;

static figures figures_open(mo_context *ctx, int64_t batch) {
    size_t n = (size_t)batch + 1;
    figures f = {malloc(n * sizeof *f.info), malloc(n * sizeof *f.rcond), malloc(n * sizeof *f.size)};
    if (!f.info || !f.rcond || !f.size)
        mo_fail(ctx, MO_MEMORY, "solve_with: out of memory for the figures of %" PRId64 " matrices", batch);
    return f;
}

static void figures_close(figures *f) {
    free(f->info);
    free(f->rcond);
    free(f->size);
}

static bool read_condition(mo_context *ctx, const mo_systems *s, figures *f) {
    size_t n = (size_t)s->batch;
    if (mo_ok(ctx) && mo_tensor_read(s->condition.info, f->info, n * sizeof *f->info) == MO_OK) {
        if (mo_is_null(s->condition.rcond))
            for (size_t i = 0; i < n; i++)
                f->rcond[i] = 1;
        else
            mo_tensor_read(s->condition.rcond, f->rcond, n * sizeof *f->rcond);
    }
    return mo_ok(ctx);
}

static bool system_fails(const mo_solve_options *o, const figures *f, int64_t i) {
    return f->info[i] != 0 || f->rcond[i] < o->least_rcond;
}

static const char *failure_reason(const mo_solve_options *o, const figures *f, int64_t i, char *text, size_t bytes) {
    if (f->info[i])
        return mo_info_reason(f->info[i], o->spd, text, bytes);
    snprintf(text, bytes, "has the reciprocal condition %.2g, expected at least %.2g", f->rcond[i], o->least_rcond);
    return text;
}

/* ---- policies ---- */

static void find_condition(mo_tape *t, mo_systems *s, bool measured) {
    mo_tensor *A = s->refined ? mo_cast(t, mo_stop_gradient(t, s->A), MO_F64) : s->A;
    if (mo_ok(mo_tape_context(t)))
        s->condition = mo_condition_of(t, A, s->spd, measured);
}

/* A with lambda [batch] on its diagonals; lambda becomes what A's dtype holds. */
static mo_tensor *shifted(mo_tape *t, mo_tensor *A, double *lambda, int64_t batch) {
    for (int64_t i = 0; i < batch && A->dtype == MO_F32; i++)
        lambda[i] = (float)lambda[i];
    mo_tensor *wide = mo_from(t, MO_F64, A->ndim - 2, A->shape, lambda);
    return mo_add_diag(t, A, mo_cast(t, wide, A->dtype));
}

/* Raises for the first matrix that fails, or (NaN) gives those that least_rcond alone refuses a diagonal of NaN. */
static void refuse_systems(mo_tape *t, const mo_solve_options *o, mo_systems *s, figures *f) {
    mo_context *ctx = mo_tape_context(t);
    bool any = false;
    for (int64_t i = 0; i < s->batch && mo_ok(ctx); i++) {
        char text[120];
        f->size[i] = system_fails(o, f, i) ? NAN : 0;
        any |= system_fails(o, f, i);
        if (o->policy != MO_SOLVE_NAN && system_fails(o, f, i))
            mo_fail_system(ctx, s, i, failure_reason(o, f, i, text, sizeof text));
    }
    if (any && mo_ok(ctx))
        s->A = shifted(t, s->A, f->size, s->batch);
}

/* Raises the shift of every matrix that fails. Returns whether one did; raises where the largest is not enough. */
static bool raise_shifts(mo_context *ctx, const mo_solve_options *o, mo_systems *s, const figures *f) {
    bool any = false;
    for (int64_t i = 0; i < s->batch && mo_ok(ctx); i++) {
        char why[120], text[240];
        double size = f->size[i] > 0 ? f->size[i] : 1;
        if (!system_fails(o, f, i))
            continue;
        double next = s->lambda[i] > 0 ? 10 * s->lambda[i] : o->shift * size;
        any = true;
        if (f->info[i] != -1 && next <= o->largest_shift * size * (1 + FLT_EPSILON)) {
            s->lambda[i] = next;
            continue;
        }
        snprintf(text, sizeof text, "%s with lambda %.2g on its diagonal, expected one of at most %.2g to help",
            failure_reason(o, f, i, why, sizeof why), s->lambda[i], o->largest_shift * size);
        mo_fail_system(ctx, s, i, f->info[i] == -1 ? why : text);
    }
    return any;
}

static void read_sizes(mo_tape *t, const mo_systems *s, figures *f) {
    mo_scope scope = mo_scope_open(t);
    mo_tensor *A = mo_stop_gradient(t, s->A), *size = mo_matrix_norm(t, s->spd ? mo_mirrored(t, A) : A);
    mo_tensor_read(size, f->size, (size_t)s->batch * sizeof *f->size);
    mo_scope_close(t, &scope, NULL, 0);
}

static void find_shifts(mo_tape *t, const mo_solve_options *o, mo_systems *s, figures *f, bool measured) {
    mo_context *ctx = mo_tape_context(t);
    mo_tensor *A = s->A, *data = mo_stop_gradient(t, A);
    read_sizes(t, s, f);
    s->lambda = calloc((size_t)s->batch + 1, sizeof *s->lambda);
    if (!s->lambda)
        mo_fail(ctx, MO_MEMORY, "solve_with: out of memory for %" PRId64 " shifts", s->batch);
    while (mo_ok(ctx) && raise_shifts(ctx, o, s, f) && mo_ok(ctx)) {
        s->A = shifted(t, data, s->lambda, s->batch);
        find_condition(t, s, measured);
        read_condition(ctx, s, f);
    }
    if (s->A != A && mo_ok(ctx))
        s->A = shifted(t, A, s->lambda, s->batch);
}

static void apply_policy(mo_tape *t, const mo_solve_options *o, mo_systems *s, bool asked) {
    mo_context *ctx = mo_tape_context(t);
    bool measured = asked || o->least_rcond > 0, shifts = o->policy == MO_SOLVE_SHIFT;
    if (!measured && !shifts)
        return;
    find_condition(t, s, measured);
    figures f = figures_open(ctx, s->batch);
    if (read_condition(ctx, s, &f)) {
        if (shifts)
            find_shifts(t, o, s, &f, measured);
        else if (o->least_rcond > 0)
            refuse_systems(t, o, s, &f);
    }
    figures_close(&f);
}

static mo_tensor *solve_systems(mo_tape *t, const mo_systems *s, mo_solve_policy policy) {
    if (s->refined)
        return mo_solve_refined(t, s->A, s->B, s->spd);
    if (policy == MO_SOLVE_NAN)
        return s->spd ? mo_solve_spd_or_nan(t, s->A, s->B) : mo_solve_or_nan(t, s->A, s->B);
    return s->spd ? mo_solve_spd(t, s->A, s->B) : mo_solve(t, s->A, s->B);
}

mo_tensor *mo_solve_with(
    mo_tape *t, mo_tensor *A, mo_tensor *B, const mo_solve_options *options, mo_solve_health *health) {
    mo_context *ctx = mo_tape_context(t);
    mo_tensor *null = mo_null_tensor(ctx);
    if (health)
        *health = (mo_solve_health){null, null, null, null, null};
    mo_solve_options o = {0};
    if (check_systems(ctx, A, B))
        o = checked_options(ctx, options, A->dtype);
    if (!mo_ok(ctx))
        return null;
    int ndim;
    int64_t shape[MO_MAX_AXES];
    if (mo_systems_broadcast(A, B, &ndim, shape)) {
        A = mo_broadcast_onto(t, A, 2, ndim, shape);
        B = mo_broadcast_onto(t, B, 2, ndim, shape);
    }
    if (!mo_ok(ctx))
        return null;
    mo_systems s = {.A = A, .B = B, .spd = o.spd, .refined = o.policy == MO_SOLVE_REFINE, .batch = 1};
    for (int i = 0; i < A->ndim - 2; i++)
        s.batch *= A->shape[i];
    apply_policy(t, &o, &s, health != NULL);
    mo_tensor *X = mo_ok(ctx) ? solve_systems(t, &s, o.policy) : null;
    if (health)
        mo_fill_health(t, &s, X, health);
    free(s.lambda);
    return mo_ok(ctx) ? X : null;
}
