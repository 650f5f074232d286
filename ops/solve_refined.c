/* ops/solve_refined.c - X = A^-1 B by a factor in the precision of A and steps of refinement in float64, batched.
 *
 * A [.., n, n], B [.., n, m] -> X [.., n, m]; leading axes broadcast. float32 or float64. spd: A is symmetric positive
 * definite, by Cholesky, only its lower triangle is read; else A is regular, by LU. Errors: A not square, sizes that
 * differ, a matrix that has no solution in float64, named. Saved: the factor, and the pivots of LU.
 *
 * X_0 = A^-1 B by the factor, then X := X + A^-1 (B - A X), again by the factor, with X and the residual in float64
 * (Wilkinson 1963; Higham 2002, 12.1): each step leaves about kappa eps of the error, so that the result is that of
 * float64, rounded once, where kappa eps is below 1. Where a float32 factor fails, or its steps do not shrink, the
 * batch is factored in float64. One residual decides for all systems.
 *
 * A X = B;  dX = A^-1 (dB - dA X), hence, as in solve.c and solve_spd.c (Giles 2008, 2.3.1),
 *     B_bar = A^-T X_bar,   A_bar = -B_bar X^T,   spd: its symmetric part.
 * B_bar is this op again on (A, X_bar), transposed, refined with the saved factor. */
#include "ops/inside.h"
#include "ops/rules/condition.h"
#include "ops/rules/factor.h"
#include "ops/rules/shapes.h"

#include <math.h>
#include <string.h>

enum { MOST_STEPS = 12 };

static const double enough = 1e-9; /* a last step of this size, relative to X, in the precision of float32 results */

/* Inputs: A, B, then the factor (and the pivots of LU) in float32 or float64 if it is known. */
typedef struct refined_options {
    bool spd, transposed;
} refined_options;

static bool solve_refined_shape(mo_call *c) {
    const refined_options *o = c->attributes;
    const mo_tensor *A = c->in[0], *B = c->in[1];
    if (!mo_call_real(c, 0, 1) || !mo_call_system(c))
        return false;
    if (c->n_in > 2 && (c->n_in != (o->spd ? 3 : 4) || !mo_same_shape(c->in[2], A)))
        return mo_call_fail(c, MO_INVALID, "a factor that does not belong to A");
    return mo_call_output(c, 0, A->dtype, B->ndim, B->shape);
}

/* op(A) X = B in float64, and a factor of A. */
typedef struct refined_system {
    mo_tape *t;
    const refined_options *o;
    mo_tensor *A, *B; /* op(A) */
    mo_tensor *factor[2];
} refined_system;

/* ---- factors ---- */

/* Factors A, in its own precision. Returns whether all matrices have a factor; raises if they must. */
static bool refined_factor(mo_call *c, mo_tensor *A, mo_failure failure, refined_system *s) {
    mo_call own = *c;
    mo_tensor *info = NULL;
    own.in[0] = A;
    if (s->o->spd)
        s->factor[0] = mo_factor_spd(&own, failure, &info);
    else
        mo_factor_lu(&own, failure, &s->factor[0], &s->factor[1], &info);
    if (!mo_ok(c->ctx) || failure == MO_FAIL_CALL)
        return mo_ok(c->ctx);
    return mo_item(mo_sum(s->t, mo_square(s->t, mo_cast(s->t, info, MO_F64)), MO_ALL, MO_DROP_AXES)) == 0;
}

/* op(A)^-1 R by the factor, in its precision; every column is divided by its largest entry first, lest residuals leave
 * the range of float32. */
static mo_tensor *refined_rough(const refined_system *s, mo_tensor *R) {
    mo_tape *t = s->t;
    mo_tensor *size = mo_max(t, mo_abs(t, R), MO_AXIS(-2), MO_KEEP_AXES), *F = s->factor[0];
    mo_tensor *right = mo_cast(t, mo_div_or_zero(t, R, size), mo_tensor_dtype(F));
    mo_tensor *X =
        s->o->spd ? mo_solve_spd_factored(t, F, right, F) : mo_solve_factored(t, F, right, s->factor, s->o->transposed);
    return mo_mul(t, mo_cast(t, X, MO_F64), size);
}

/* ---- refinement ---- */

/* The largest entry of the step relative to that of X, over all columns; NaN if one is. */
static double relative_step(mo_tape *t, mo_tensor *step, mo_tensor *X) {
    mo_tensor *ratio = mo_div_or_zero(
        t, mo_max(t, mo_abs(t, step), MO_AXIS(-2), MO_DROP_AXES), mo_max(t, mo_abs(t, X), MO_AXIS(-2), MO_DROP_AXES));
    double sum = mo_item(mo_sum(t, ratio, MO_ALL, MO_DROP_AXES)),
           largest = mo_item(mo_max(t, ratio, MO_ALL, MO_DROP_AXES));
    return isfinite(sum) ? largest : NAN;
}

/* X by steps that shrink to half at least; *settled: to nothing. */
static mo_tensor *refine(const refined_system *s, bool *settled) {
    mo_tape *t = s->t;
    mo_tensor *X = refined_rough(s, s->B);
    double before = 1;
    *settled = false;
    for (int i = 0; i < MOST_STEPS && !*settled && mo_ok(mo_tape_context(t)); i++) {
        mo_scope scope = mo_scope_open(t);
        mo_tensor *step = refined_rough(s, mo_sub(t, s->B, mo_matmul(t, s->A, X)));
        double size = relative_step(t, step, X);
        *settled = size <= enough;
        bool shrinks = *settled || size < before / 2;
        X = shrinks ? mo_add(t, X, step) : X;
        mo_scope_close(t, &scope, &X, 1);
        if (!shrinks)
            break;
        before = size;
    }
    return X;
}

/* The system in float64, of data. */
static refined_system refined_open(mo_call *c) {
    mo_tape *t = c->t;
    const refined_options *o = c->attributes;
    mo_tensor *A = mo_stop_gradient(t, c->in[0]), *B = mo_stop_gradient(t, c->in[1]);
    refined_system s = {.t = t, .o = o, .B = mo_cast(t, B, MO_F64)};
    s.A = mo_cast(t, o->spd ? mo_mirrored(t, A) : o->transposed ? mo_transpose(t, A) : A, MO_F64);
    return s;
}

static void solve_refined_forward(mo_call *c) {
    refined_system s = refined_open(c);
    bool wide = c->in[0]->dtype == MO_F64, settled = false;
    mo_tensor *A = mo_stop_gradient(c->t, c->in[0]), *X = NULL;
    if (!mo_ok(c->ctx))
        return;
    if (c->n_in > 2) {
        s.factor[0] = mo_stop_gradient(c->t, c->in[2]);
        s.factor[1] = s.o->spd ? NULL : mo_stop_gradient(c->t, c->in[3]);
        wide = s.factor[0]->dtype == MO_F64;
    }
    bool given = s.factor[0] || refined_factor(c, A, wide ? MO_FAIL_CALL : MO_FAIL_ITEM, &s);
    bool empty = mo_numel(s.B) == 0;
    if (given && !empty && mo_ok(c->ctx))
        X = refine(&s, &settled);
    if (!wide && (!given || (!settled && !empty)) && mo_ok(c->ctx)) {
        mo_tensor *exact = mo_cast(c->t, A, MO_F64);
        if (refined_factor(c, exact, MO_FAIL_CALL, &s) && !empty)
            X = refine(&s, &settled);
    }
    if (!mo_ok(c->ctx))
        return;
    if (!empty) {
        mo_view x = mo_tensor_view(X), out = mo_tensor_view(c->out[0]);
        c->ctx->backend->copy(c->ctx, &x, &out);
    }
    for (int i = 0; i < (s.o->spd ? 1 : 2); i++)
        mo_call_save(c, s.factor[i]);
}

extern const mo_op mo_op_solve_refined;

static void solve_refined_vjp(mo_vjp *v) {
    mo_tape *t = v->t;
    refined_options o = *(const refined_options *)v->attributes;
    mo_tensor *in[4] = {v->in[0], v->out_bar[0]}, *X = v->out[0];
    bool transposed = o.transposed;
    memcpy(in + 2, v->saved, (size_t)v->n_saved * sizeof *in);
    o.transposed = !transposed && !o.spd;
    mo_tensor *B_bar = mo_apply(t, &mo_op_solve_refined, in, 2 + v->n_saved, &o);
    if (v->needs[0]) {
        mo_tensor *left = transposed ? X : B_bar, *right = transposed ? B_bar : X;
        mo_tensor *M = mo_matmul(t, mo_scale(t, left, o.spd ? -0.5 : -1, 0), mo_transpose(t, right));
        v->in_bar[0] = o.spd ? mo_add(t, M, mo_transpose(t, M)) : M;
    }
    v->in_bar[1] = B_bar;
}

/* One step is enough for a matrix of moderate condition. */
static double solve_refined_flops(const mo_call *c) {
    double n = (double)mo_dim(c->in[0], -1), cube = n * (double)mo_numel(c->in[0]);
    bool spd = ((const refined_options *)c->attributes)->spd;
    return (c->n_in > 2 ? 0 : cube * (spd ? 1 : 2) / 3) + 6 * n * (double)mo_numel(c->out[0]);
}

/* ---- samples ---- */

static const refined_options regular = {0}, transposed = {.transposed = true}, definite = {.spd = true};

static const mo_sample solve_refined_samples[] = {
    {"three columns", "general[5, 5] [5, 3]"},
    {"transposed", "general[4, 4] [4, 2]", &transposed},
    {"batch", "general[2, 2, 3, 3] [2, 2, 3, 1]"},
    {"positive definite, batch", "spd[3, 4, 4] [3, 4, 2]", &definite},
    {"not square", "[3, 4] [3, 1]", .error = "solve_refined: expected square matrices [.., n, n]; got [3, 4]"},
    {"a factor without pivots", "general[3, 3] [3, 1] [3, 3]",
        .error = "solve_refined: a factor that does not belong to A"},
    {"indefinite", "symmetric[2, 4, 4] [2, 4, 1]", &definite,
        .error = "solve_refined: matrix 0 of 2 is not positive definite (leading minor", .code = MO_NUMERICAL},
};

const mo_op mo_op_solve_refined = {
    .name = "solve_refined",
    .n_in = 2,
    .max_in = 4,
    .attributes_size = sizeof(refined_options),
    .reads_in = 1,
    .reads_out = 1,
    .shape = solve_refined_shape,
    .forward = solve_refined_forward,
    .vjp = solve_refined_vjp,
    .flops = solve_refined_flops,
    MO_SAMPLES(solve_refined_samples),
};

mo_tensor *mo_solve_refined(mo_tape *t, mo_tensor *A, mo_tensor *B, bool spd) {
    return mo_apply_system(t, &mo_op_solve_refined, A, B, spd ? &definite : &regular);
}
