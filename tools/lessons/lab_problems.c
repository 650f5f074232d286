/* tools/lessons/lab_problems.c - three inner problems whose gradient is useful: it tells which
 * penalties, or which right-hand side, give a solution that does well on data it was not fitted to.
 *
 *     ridge      F = Z^T (Z w - y) / n + exp(theta) w                one penalty per feature
 *     logistic   F = Z^T (softmax(Z W) - Y) / n + exp(theta) W       one penalty per feature, three classes
 *     root       F = A x + x^3 - theta                               A symmetric positive definite */
#include "tools/lessons/lab.h"

#include <stdlib.h>

enum { SAMPLES = 60, FEATURES = 12, CLASSES = 3, UNKNOWNS = 30 };

/* theta [d] as a column, so that it multiplies rows of w [d, C]. */
static mo_tensor *lab_penalty(mo_tape *t, mo_tensor *theta) {
    return mo_reshape(t, mo_exp(t, theta), 2, (int64_t[]){mo_dim(theta, 0), 1});
}

static mo_tensor *mean_over_samples(mo_tape *t, mo_tensor *Z, mo_tensor *R) {
    return mo_scale(t, mo_matmul(t, mo_transpose(t, Z), R), 1. / SAMPLES, 0);
}

/* ---- ridge: w [d, 1] ---- */

static mo_tensor *ridge_residual(mo_tape *t, mo_tensor *w, mo_tensor *const *theta, int n, void *state) {
    const lab_problem *p = state;
    (void)n;
    mo_tensor *R = mo_sub(t, mo_matmul(t, p->inputs, w), p->targets);
    return mo_add(t, mean_over_samples(t, p->inputs, R), mo_mul(t, lab_penalty(t, theta[0]), w));
}

static mo_tensor *ridge_jacobian(mo_tape *t, mo_tensor *w, mo_tensor *const *theta, int n, void *state) {
    const lab_problem *p = state;
    (void)w, (void)n;
    mo_tensor *C = mean_over_samples(t, p->inputs, p->inputs);
    return mo_add(t, C, mo_diagonal_embed(t, mo_exp(t, theta[0])));
}

static mo_tensor *ridge_solution(mo_tape *t, const lab_problem *p, mo_tensor *theta) {
    mo_tensor *A = ridge_jacobian(t, NULL, &theta, 1, (void *)(uintptr_t)p);
    return mo_solve_spd(t, A, mean_over_samples(t, p->inputs, p->targets));
}

static mo_tensor *squared_loss(mo_tape *t, const lab_problem *p, mo_tensor *w) {
    return mo_mean(t, mo_square(t, mo_sub(t, mo_matmul(t, p->held_inputs, w), p->held_targets)), MO_ALL, MO_DROP_AXES);
}

/* ---- logistic: W [d, C] ---- */

static mo_tensor *logistic_residual(mo_tape *t, mo_tensor *W, mo_tensor *const *theta, int n, void *state) {
    const lab_problem *p = state;
    (void)n;
    mo_tensor *R = mo_sub(t, mo_softmax(t, mo_matmul(t, p->inputs, W), MO_AXIS(-1)), p->targets);
    return mo_add(t, mean_over_samples(t, p->inputs, R), mo_mul(t, lab_penalty(t, theta[0]), W));
}

/* J[(a, c), (b, e)] = mean_i z_ia z_ib (p_ic [c = e] - p_ic p_ie) + exp(theta_a) [a = b] [c = e] */
static mo_tensor *logistic_jacobian(mo_tape *t, mo_tensor *W, mo_tensor *const *theta, int n, void *state) {
    const lab_problem *p = state;
    (void)n;
    const int64_t d = mo_dim(p->inputs, 1), C = CLASSES, N = SAMPLES;
    mo_tensor *P = mo_softmax(t, mo_matmul(t, p->inputs, W), MO_AXIS(-1));
    mo_tensor *Pc = mo_reshape(t, P, 3, (int64_t[]){N, C, 1}), *Pe = mo_reshape(t, P, 3, (int64_t[]){N, 1, C});
    mo_tensor *B = mo_sub(t, mo_diagonal_embed(t, P), mo_mul(t, Pc, Pe));
    mo_tensor *Za = mo_reshape(t, p->inputs, 3, (int64_t[]){N, d, 1}),
              *Zb = mo_reshape(t, p->inputs, 3, (int64_t[]){N, 1, d});
    mo_tensor *ZZ = mo_reshape(t, mo_mul(t, Za, Zb), 2, (int64_t[]){N, d * d});
    mo_tensor *J = mean_over_samples(t, ZZ, mo_reshape(t, B, 2, (int64_t[]){N, C * C})); /* [a b, c e] */
    J = mo_permute(t, mo_reshape(t, J, 4, (int64_t[]){d, d, C, C}), (int[]){0, 2, 1, 3});
    J = mo_reshape(t, mo_contiguous(t, J), 2, (int64_t[]){d * C, d * C});
    mo_tensor *ones = mo_full(t, MO_F64, 2, (int64_t[]){d, C}, 1);
    mo_tensor *ridge = mo_reshape(t, mo_mul(t, lab_penalty(t, theta[0]), ones), 1, (int64_t[]){d * C});
    return mo_add(t, J, mo_diagonal_embed(t, ridge));
}

static mo_tensor *lab_cross_entropy(mo_tape *t, const lab_problem *p, mo_tensor *W) {
    return mo_softmax_cross_entropy(t, mo_matmul(t, p->held_inputs, W), p->held_targets, 0);
}

/* ---- root: x [m] ---- */

static mo_tensor *root_residual(mo_tape *t, mo_tensor *x, mo_tensor *const *theta, int n, void *state) {
    const lab_problem *p = state;
    (void)n;
    mo_tensor *Ax = mo_matmul(t, p->inputs, mo_reshape(t, x, 2, (int64_t[]){mo_dim(x, 0), 1}));
    mo_tensor *cube = mo_mul(t, mo_square(t, x), x);
    return mo_sub(t, mo_add(t, mo_reshape(t, Ax, 1, (int64_t[]){mo_dim(x, 0)}), cube), theta[0]);
}

static mo_tensor *root_jacobian(mo_tape *t, mo_tensor *x, mo_tensor *const *theta, int n, void *state) {
    const lab_problem *p = state;
    (void)theta, (void)n;
    return mo_add(t, p->inputs, mo_diagonal_embed(t, mo_scale(t, mo_square(t, x), 3, 0)));
}

static mo_tensor *lab_distance(mo_tape *t, const lab_problem *p, mo_tensor *x) {
    return mo_mean(t, mo_square(t, mo_sub(t, x, p->held_targets)), MO_ALL, MO_DROP_AXES);
}

const lab_kind lab_kinds[LAB_KINDS] = {
    {"ridge", "ridge regression, one penalty a feature", 2, {FEATURES, 1}, ridge_residual, ridge_jacobian, squared_loss,
        ridge_solution},
    {"logistic", "logistic regression in three classes, one penalty a feature", 2, {FEATURES, CLASSES},
        logistic_residual, logistic_jacobian, lab_cross_entropy, NULL},
    {"root", "the root x of A x + x^3 = theta", 1, {UNKNOWNS}, root_residual, root_jacobian, lab_distance, NULL},
};

/* ---- data ---- */

/* Standard normal times scale, plus shift. */
static mo_tensor *lab_draw(mo_context *ctx, mo_random *r, int ndim, const int64_t *shape, double scale, double shift) {
    mo_tensor *T = mo_tensor_create(ctx, MO_F64, ndim, shape);
    size_t bytes = (size_t)mo_numel(T) * sizeof(double);
    double *x = malloc(bytes + 1);
    for (int64_t i = 0; x && i < mo_numel(T); i++)
        x[i] = shift + scale * mo_random_normal(r);
    if (x)
        mo_tensor_write(T, x, bytes);
    else if (mo_ok(ctx))
        mo_fail(ctx, MO_MEMORY, "lab: out of memory");
    free(x);
    return T;
}

/* Targets of a planted solution, for the inputs Z: scores with noise, or the class of the largest as one-hot rows. */
static mo_tensor *lab_planted(mo_tape *t, const lab_kind *kind, mo_random *r, mo_tensor *Z, mo_tensor *truth) {
    mo_context *ctx = mo_tape_context(t);
    mo_tensor *noise = lab_draw(ctx, r, 2, (int64_t[]){SAMPLES, kind->shape[1]}, 1, 0);
    mo_tensor *scores = mo_add(t, mo_matmul(t, Z, truth), noise);
    if (kind->shape[1] > 1)
        scores = mo_greater_equal(t, scores, mo_max(t, scores, MO_AXIS(1), MO_KEEP_AXES));
    mo_tensor *targets = mo_tensor_clone(ctx, scores);
    mo_tape_reset(t);
    mo_tensor_release(noise);
    return targets;
}

static void draw_regression(lab_problem *p, mo_tape *t, mo_random *r) {
    const int64_t size[2] = {SAMPLES, p->kind->shape[0]};
    mo_tensor *truth = lab_draw(p->ctx, r, 2, p->kind->shape, 1, 0);
    p->theta = mo_require_grad(lab_draw(p->ctx, r, 1, &size[1], 0.3, -2));
    p->inputs = lab_draw(p->ctx, r, 2, size, 1, 0);
    p->held_inputs = lab_draw(p->ctx, r, 2, size, 1, 0);
    p->targets = lab_planted(t, p->kind, r, p->inputs, truth);
    p->held_targets = lab_planted(t, p->kind, r, p->held_inputs, truth);
    mo_tensor_release(truth);
}

/* A = G G^T / m + I / 5 */
static void draw_root(lab_problem *p, mo_tape *t, mo_random *r) {
    const int64_t size[2] = {p->kind->shape[0], p->kind->shape[0]};
    mo_tensor *G = lab_draw(p->ctx, r, 2, size, 1, 0);
    mo_tensor *C = mo_scale(t, mo_matmul(t, G, mo_transpose(t, G)), 1. / (double)size[0], 0);
    p->theta = mo_require_grad(lab_draw(p->ctx, r, 1, size, 1, 0));
    p->inputs = mo_tensor_clone(p->ctx, mo_add_diag(t, C, mo_scalar(t, MO_F64, 0.2)));
    p->held_targets = lab_draw(p->ctx, r, 1, size, 1, 0);
    mo_tape_reset(t);
    mo_tensor_release(G);
}

static double largest_eigenvalue(mo_tape *t, const lab_problem *p, mo_tensor *w) {
    mo_tensor *values, *vectors, *theta = p->theta;
    mo_eigh(t, p->kind->jacobian(t, w, &theta, 1, (void *)(uintptr_t)p), &values, &vectors);
    return mo_item(mo_max(t, values, MO_ALL, MO_DROP_AXES));
}

void lab_open(lab_problem *p, mo_context *ctx, const lab_kind *kind, uint64_t seed, int64_t n) {
    *p = (lab_problem){.ctx = ctx, .own = *kind};
    p->kind = &p->own;
    p->own.shape[0] = n ? n : kind->shape[0];
    mo_random r = mo_random_at(seed, MO_PURPOSE_CHECK, (uint64_t)(kind - lab_kinds));
    mo_tape *t = mo_tape_create(ctx, MO_EVAL);
    if (!t)
        return;
    if (kind->ndim == 1)
        draw_root(p, t, &r);
    else
        draw_regression(p, t, &r);
    double start = largest_eigenvalue(t, p, mo_full(t, MO_F64, kind->ndim, p->kind->shape, 0)),
           end = largest_eigenvalue(t, p, lab_solve(t, p, p->theta));
    p->step = 1 / (start > end ? start : end);
    mo_tape_release(t);
}

void lab_close(lab_problem *p) {
    mo_tensor *all[] = {p->theta, p->inputs, p->targets, p->held_inputs, p->held_targets};
    for (int i = 0; i < 5; i++)
        mo_tensor_release(all[i]);
}

mo_tensor *lab_solve(mo_tape *t, const lab_problem *p, mo_tensor *theta) {
    const lab_kind *kind = p->kind;
    if (kind->solution)
        return kind->solution(t, p, theta);
    mo_tensor *start = mo_full(t, MO_F64, kind->ndim, kind->shape, 0);
    mo_solver_options o = {.implicit = {.jacobian = kind->jacobian, .state = (void *)(uintptr_t)p}, .tolerance = 1e-13};
    return mo_newton_krylov(t, start, kind->residual, &theta, 1, &o);
}
