/* tools/web/lab/lab_adjoint.c - experiment adjoint: the gradient of a loss in the hyper-parameters theta of an inner
 * problem F(w, theta) = 0, which iterations w <- w - h F(w, theta) solve. Four methods are compared by their error
 * against differences, memory and time. The gradient is useful: following it finds penalties, or a right-hand side,
 * whose solution does well on held-out data. */
#include "tools/web/lab/lab.h"

#include "tools/cli/memory.h"

#include "tensor/library.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- three problems
 *
 *     ridge      F = Z^T (Z w - y) / n + exp(theta) w                one penalty per feature
 *     logistic   F = Z^T (softmax(Z W) - Y) / n + exp(theta) W       one penalty per feature, three classes
 *     root       F = A x + x^3 - theta                               A symmetric positive definite */

enum { SAMPLES = 60, FEATURES = 12, CLASSES = 3, UNKNOWNS = 30 };

typedef struct problem problem;

/* A kind of problem as graph code: F, J = dF/dw, and the loss of a solution w. */
typedef struct problem_kind {
    const char *meaning;
    int ndim; /* number of axes of w */
    int64_t shape[2];
    mo_residual residual, jacobian; /* both get the problem as their state */
    mo_tensor *(*loss)(mo_tape *t, const problem *p, mo_tensor *w);
    /* computes w in closed form; if NULL, Newton's method with `jacobian` finds w */
    mo_tensor *(*solution)(mo_tape *t, problem *p, mo_tensor *theta);
} problem_kind;

struct problem {
    mo_context *ctx;
    problem_kind kind;                     /* the kind, with the shape of w in this problem */
    mo_tensor *theta;                      /* float64 leaf */
    mo_tensor *inputs, *targets;           /* data that w is fitted to; for the problem root inputs = A, and no
                                            * targets */
    mo_tensor *held_inputs, *held_targets; /* data on which the loss is measured */
    double step;                           /* h = 1 / the largest eigenvalue of J */
    double *reference;                     /* the gradient of the loss in theta by differences, owned */
};

/* Returns exp(theta) [d] as a column, so that it multiplies the rows of w [d, C]. */
static mo_tensor *penalty(mo_tape *t, mo_tensor *theta) {
    return mo_reshape(t, mo_exp(t, theta), 2, (int64_t[]){mo_dim(theta, 0), 1});
}

static mo_tensor *mean_over_samples(mo_tape *t, mo_tensor *Z, mo_tensor *R) {
    return mo_scale(t, mo_matmul(t, mo_transpose(t, Z), R), 1. / SAMPLES, 0);
}

/* ridge: w is [d, 1] */

static mo_tensor *ridge_residual(mo_tape *t, mo_tensor *w, mo_tensor *const *theta, int n, void *state) {
    const problem *p = state;
    (void)n;
    mo_tensor *R = mo_sub(t, mo_matmul(t, p->inputs, w), p->targets);
    return mo_add(t, mean_over_samples(t, p->inputs, R), mo_mul(t, penalty(t, theta[0]), w));
}

static mo_tensor *ridge_jacobian(mo_tape *t, mo_tensor *w, mo_tensor *const *theta, int n, void *state) {
    const problem *p = state;
    (void)w, (void)n;
    mo_tensor *C = mean_over_samples(t, p->inputs, p->inputs);
    return mo_add(t, C, mo_diagonal_embed(t, mo_exp(t, theta[0])));
}

static mo_tensor *ridge_solution(mo_tape *t, problem *p, mo_tensor *theta) {
    mo_tensor *A = ridge_jacobian(t, NULL, &theta, 1, p);
    return mo_solve_spd(t, A, mean_over_samples(t, p->inputs, p->targets));
}

static mo_tensor *held_squares(mo_tape *t, const problem *p, mo_tensor *w) {
    return mo_mean(t, mo_square(t, mo_sub(t, mo_matmul(t, p->held_inputs, w), p->held_targets)), MO_ALL, MO_DROP_AXES);
}

/* logistic: w is W [d, C] */

static mo_tensor *logistic_residual(mo_tape *t, mo_tensor *W, mo_tensor *const *theta, int n, void *state) {
    const problem *p = state;
    (void)n;
    mo_tensor *R = mo_sub(t, mo_softmax(t, mo_matmul(t, p->inputs, W), MO_AXIS(-1)), p->targets);
    return mo_add(t, mean_over_samples(t, p->inputs, R), mo_mul(t, penalty(t, theta[0]), W));
}

/* Returns J with J[(a, c), (b, e)] = mean_i z_ia z_ib (p_ic [c = e] - p_ic p_ie) + exp(theta_a) [a = b] [c = e]. */
static mo_tensor *logistic_jacobian(mo_tape *t, mo_tensor *W, mo_tensor *const *theta, int n, void *state) {
    const problem *p = state;
    (void)n;
    const int64_t d = mo_dim(p->inputs, 1), C = CLASSES, N = SAMPLES;
    mo_tensor *P = mo_softmax(t, mo_matmul(t, p->inputs, W), MO_AXIS(-1));
    mo_tensor *Pc = mo_reshape(t, P, 3, (int64_t[]){N, C, 1}), *Pe = mo_reshape(t, P, 3, (int64_t[]){N, 1, C});
    mo_tensor *B = mo_sub(t, mo_diagonal_embed(t, P), mo_mul(t, Pc, Pe));
    mo_tensor *Za = mo_reshape(t, p->inputs, 3, (int64_t[]){N, d, 1}),
              *Zb = mo_reshape(t, p->inputs, 3, (int64_t[]){N, 1, d});
    mo_tensor *ZZ = mo_reshape(t, mo_mul(t, Za, Zb), 2, (int64_t[]){N, d * d});
    mo_tensor *J = mean_over_samples(t, ZZ, mo_reshape(t, B, 2, (int64_t[]){N, C * C})); /* rows (a, b), columns (c,
                                                                                          * e) */
    J = mo_permute(t, mo_reshape(t, J, 4, (int64_t[]){d, d, C, C}), (int[]){0, 2, 1, 3});
    J = mo_reshape(t, mo_contiguous(t, J), 2, (int64_t[]){d * C, d * C});
    mo_tensor *ones = mo_full(t, MO_F64, 2, (int64_t[]){d, C}, 1);
    mo_tensor *ridge = mo_reshape(t, mo_mul(t, penalty(t, theta[0]), ones), 1, (int64_t[]){d * C});
    return mo_add(t, J, mo_diagonal_embed(t, ridge));
}

static mo_tensor *held_cross_entropy(mo_tape *t, const problem *p, mo_tensor *W) {
    return mo_softmax_cross_entropy(t, mo_matmul(t, p->held_inputs, W), p->held_targets, 0);
}

/* root: w is x [m] */

static mo_tensor *root_residual(mo_tape *t, mo_tensor *x, mo_tensor *const *theta, int n, void *state) {
    const problem *p = state;
    (void)n;
    mo_tensor *Ax = mo_matmul(t, p->inputs, mo_reshape(t, x, 2, (int64_t[]){mo_dim(x, 0), 1}));
    mo_tensor *cube = mo_mul(t, mo_square(t, x), x);
    return mo_sub(t, mo_add(t, mo_reshape(t, Ax, 1, (int64_t[]){mo_dim(x, 0)}), cube), theta[0]);
}

static mo_tensor *root_jacobian(mo_tape *t, mo_tensor *x, mo_tensor *const *theta, int n, void *state) {
    const problem *p = state;
    (void)theta, (void)n;
    return mo_add(t, p->inputs, mo_diagonal_embed(t, mo_scale(t, mo_square(t, x), 3, 0)));
}

static mo_tensor *held_distance(mo_tape *t, const problem *p, mo_tensor *x) {
    return mo_mean(t, mo_square(t, mo_sub(t, x, p->held_targets)), MO_ALL, MO_DROP_AXES);
}

static const char *const lab_problems[] = {"ridge", "logistic", "root"};

static const problem_kind kinds[] = {
    {"ridge regression, one penalty a feature", 2, {FEATURES, 1}, ridge_residual, ridge_jacobian, held_squares,
        ridge_solution},
    {"logistic regression in three classes, one penalty a feature", 2, {FEATURES, CLASSES}, logistic_residual,
        logistic_jacobian, held_cross_entropy, NULL},
    {"the root x of A x + x^3 = theta", 1, {UNKNOWNS}, root_residual, root_jacobian, held_distance, NULL},
};

/* Returns the solution, exact to rounding; the explicit Jacobian makes it differentiable in theta. */
static mo_tensor *solve_exactly(mo_tape *t, problem *p, mo_tensor *theta) {
    if (p->kind.solution)
        return p->kind.solution(t, p, theta);
    mo_tensor *start = mo_full(t, MO_F64, p->kind.ndim, p->kind.shape, 0);
    mo_solver_options o = {.implicit = {.jacobian = p->kind.jacobian, .state = p}, .tolerance = 1e-13};
    return mo_newton_krylov(t, start, p->kind.residual, &theta, 1, &o);
}

/* ---- data of the problems ---- */

/* Returns float64 numbers, standard normal times `scale`, plus `shift`. */
static mo_tensor *draw(mo_context *ctx, mo_random *r, int ndim, const int64_t *shape, double scale, double shift) {
    mo_tensor *T = mo_tensor_create(ctx, MO_F64, ndim, shape);
    size_t bytes = (size_t)mo_numel(T) * sizeof(double);
    double *x = needed(malloc(bytes + 1));
    for (int64_t i = 0; i < mo_numel(T); i++)
        x[i] = shift + scale * mo_random_normal(r);
    mo_tensor_write(T, x, bytes);
    free(x);
    return T;
}

/* Plants a solution and returns its targets for the inputs Z: scores with noise or, for logistic, one-hot rows of the
 * class with the largest score. */
static mo_tensor *plant(mo_tape *t, const problem *p, mo_random *r, mo_tensor *Z, mo_tensor *truth) {
    mo_tensor *noise = draw(p->ctx, r, 2, (int64_t[]){SAMPLES, p->kind.shape[1]}, 1, 0);
    mo_tensor *scores = mo_add(t, mo_matmul(t, Z, truth), noise);
    if (p->kind.shape[1] > 1)
        scores = mo_greater_equal(t, scores, mo_max(t, scores, MO_AXIS(1), MO_KEEP_AXES));
    mo_tensor *targets = mo_tensor_clone(p->ctx, scores);
    mo_tape_reset(t);
    mo_tensor_release(noise);
    return targets;
}

static void draw_regression(problem *p, mo_tape *t, mo_random *r) {
    const int64_t size[2] = {SAMPLES, p->kind.shape[0]};
    mo_tensor *truth = draw(p->ctx, r, 2, p->kind.shape, 1, 0);
    p->theta = mo_require_grad(draw(p->ctx, r, 1, &size[1], 0.3, -2));
    p->inputs = draw(p->ctx, r, 2, size, 1, 0);
    p->held_inputs = draw(p->ctx, r, 2, size, 1, 0);
    p->targets = plant(t, p, r, p->inputs, truth);
    p->held_targets = plant(t, p, r, p->held_inputs, truth);
    mo_tensor_release(truth);
}

/* A = G G^T / m + I / 5 */
static void draw_root(problem *p, mo_tape *t, mo_random *r) {
    const int64_t size[2] = {p->kind.shape[0], p->kind.shape[0]};
    mo_tensor *G = draw(p->ctx, r, 2, size, 1, 0);
    mo_tensor *C = mo_scale(t, mo_matmul(t, G, mo_transpose(t, G)), 1. / (double)size[0], 0);
    p->theta = mo_require_grad(draw(p->ctx, r, 1, size, 1, 0));
    p->inputs = mo_tensor_clone(p->ctx, mo_add_diag(t, C, mo_scalar(t, MO_F64, 0.2)));
    p->held_targets = draw(p->ctx, r, 1, size, 1, 0);
    mo_tape_reset(t);
    mo_tensor_release(G);
}

static double largest_eigenvalue(mo_tape *t, problem *p, mo_tensor *w) {
    mo_tensor *values, *vectors, *theta = p->theta;
    mo_eigh(t, p->kind.jacobian(t, w, &theta, 1, p), &values, &vectors);
    return mo_item(mo_max(t, values, MO_ALL, MO_DROP_AXES));
}

/* ---- four methods
 *
 * analytic: no iterations; a solve finds w, with the adjoint of its formula and the explicit J. unrolled: the
 * iterations are recorded, and backward runs through all of them. implicit: the iterations are not recorded;
 * mo_implicit solves J^T u = w_bar at the last w. neumann: as implicit, but u = h (w_bar + (I - h J^T) w_bar + .. )
 * with as many terms as iterations (Lorraine et al. 2020). */

enum { ANALYTIC, UNROLLED, IMPLICIT, NEUMANN };

static mo_tensor *iterate(mo_tape *t, problem *p, int iterations, bool record) {
    mo_tensor *w = mo_full(t, MO_F64, p->kind.ndim, p->kind.shape, 0), *theta = p->theta;
    mo_mode mode = mo_tape_mode(t);
    if (!record)
        mo_tape_set_mode(t, MO_EVAL);
    mo_scope scope = mo_scope_open(t);
    for (int i = 0; i < iterations; i++) {
        mo_tensor *F = p->kind.residual(t, w, &theta, 1, p);
        w = mo_sub(t, w, mo_scale(t, F, p->step, 0));
        if (!record)
            mo_scope_close(t, &scope, &w, 1);
    }
    mo_tape_set_mode(t, mode);
    return w;
}

/* Returns -(dF/dtheta)^T u. */
static mo_tensor *neumann_gradient(mo_tape *t, problem *p, int iterations) {
    mo_tensor *w = mo_require_grad(iterate(t, p, iterations, false)), *theta = p->theta, *w_bar, *theta_bar;
    mo_tensor *loss = p->kind.loss(t, p, w), *F;
    mo_gradients(t, loss, &w, &w_bar, 1);
    F = p->kind.residual(t, w, &theta, 1, p);
    mo_tensor *state[2] = {mo_scale(t, w_bar, p->step, 0), mo_scale(t, w_bar, p->step, 0)}; /* state[0] is the current
                                                                                             * term, state[1] the sum */
    mo_scope scope = mo_scope_open(t);
    for (int k = 1; k < iterations; k++) {
        mo_tensor *Jv;
        mo_grad(t, &F, &state[0], 1, &w, &Jv, 1, MO_RETAIN);
        state[0] = mo_sub(t, state[0], mo_scale(t, Jv, p->step, 0));
        state[1] = mo_add(t, state[1], state[0]);
        mo_scope_close(t, &scope, state, 2);
    }
    mo_tensor *u = mo_neg(t, state[1]);
    mo_grad(t, &F, &u, 1, &theta, &theta_bar, 1, 0);
    return theta_bar;
}

static mo_tensor *differentiable_solution(mo_tape *t, problem *p, int method, int iterations) {
    mo_tensor *theta = p->theta;
    if (method == ANALYTIC)
        return solve_exactly(t, p, theta);
    mo_tensor *w = iterate(t, p, iterations, method == UNROLLED);
    if (method == UNROLLED)
        return w;
    return mo_implicit(t, w, p->kind.residual, &theta, 1,
        &(mo_implicit_options){.symmetric = true,
            .dense_limit = -1,
            .tolerance = 1e-12,
            .residual = -1, /* no limit on |F|: the lab studies unconverged iterations too */
            .state = p});
}

/* Returns the relative error of the loss's gradient in theta after `iterations` inner iterations. */
static double gradient_error(problem *p, int method, int iterations) {
    mo_tape *t = mo_tape_create(p->ctx, MO_RECORD);
    mo_tensor *theta = p->theta, *theta_bar = NULL;
    if (!t)
        return NAN;
    if (method == NEUMANN)
        theta_bar = neumann_gradient(t, p, iterations);
    else
        mo_gradients(t, p->kind.loss(t, p, differentiable_solution(t, p, method, iterations)), &theta, &theta_bar, 1);
    double error = mo_ok(p->ctx) ? lab_relative_error(theta_bar, p->reference, mo_numel(theta)) : NAN;
    mo_tape_release(t);
    return error;
}

/* ---- the experiment ---- */

static double loss_at(problem *p, const double *theta, size_t bytes) {
    mo_tape *t = mo_tape_create(p->ctx, MO_EVAL);
    mo_tensor_write(p->theta, theta, bytes);
    double loss = t ? mo_item(p->kind.loss(t, p, solve_exactly(t, p, p->theta))) : NAN;
    mo_tape_release(t);
    return loss;
}

/* Computes p->reference: for each theta_i, (8 (L(e) - L(-e)) - (L(2 e) - L(-2 e))) / 12 e, with error O(e^4), about
 * 1e-12. */
static void take_differences(problem *p) {
    const int64_t n = mo_numel(p->theta);
    const size_t bytes = (size_t)n * sizeof(double);
    const double e = 1e-3;
    double *theta = needed(malloc(bytes + 1));
    p->reference = needed(malloc(bytes + 1));
    mo_tensor_read(p->theta, theta, bytes);
    for (int64_t i = 0; i < n && mo_ok(p->ctx); i++) {
        double value = theta[i], sum = 0;
        for (int k = 1; k <= 2; k++)
            for (int sign = -1; sign <= 1; sign += 2) {
                theta[i] = value + sign * k * e;
                sum += sign * (k == 1 ? 8 : -1) * loss_at(p, theta, bytes);
            }
        theta[i] = value;
        p->reference[i] = sum / (12 * e);
    }
    mo_tensor_write(p->theta, theta, bytes);
    free(theta);
}

static void *open_problem(mo_context *ctx, int which, char *lines, size_t bytes) {
    const problem_kind *kind = &kinds[which];
    problem *p = needed(calloc(1, sizeof *p));
    *p = (problem){.ctx = ctx, .kind = *kind};
    mo_random r = mo_random_at(0, MO_PURPOSE_CHECK, (uint64_t)which);
    mo_tape *t = mo_tape_create(ctx, MO_EVAL);
    if (!t)
        return p;
    (kind->ndim == 1 ? draw_root : draw_regression)(p, t, &r);
    double start = largest_eigenvalue(t, p, mo_full(t, MO_F64, kind->ndim, p->kind.shape, 0)),
           end = largest_eigenvalue(t, p, solve_exactly(t, p, p->theta));
    p->step = 1 / (start > end ? start : end);
    mo_tape_release(t);
    take_differences(p);
    snprintf(lines, bytes,
        "%s: %s\ngradient in %lld hyper-parameters, error relative to central differences in float64",
        lab_problems[which], kind->meaning, (long long)mo_numel(p->theta));
    return p;
}

/* Writes y[0] = the error, y[1] = the tape's peak bytes, y[2] = the time in milliseconds. */
static void measure_method(void *state, int method, double iterations, double *y) {
    problem *p = state;
    mo_context_reset_peaks(p->ctx);
    y[0] = gradient_error(p, method, (int)iterations); /* the first run warms up */
    y[1] = (double)mo_context_counters(p->ctx).tape_peak;
    double start = mo_clock(CLOCK_MONOTONIC);
    gradient_error(p, method, (int)iterations);
    y[2] = 1e3 * (mo_clock(CLOCK_MONOTONIC) - start);
}

static void close_problem(void *state) {
    problem *p = state;
    mo_tensor *all[] = {p->theta, p->inputs, p->targets, p->held_inputs, p->held_targets};
    for (int i = 0; i < 5; i++)
        mo_tensor_release(all[i]);
    free(p->reference);
    free(p);
}

const lab_experiment lab_adjoint = {
    .name = "adjoint",
    .series_name = "method",
    .series = {"analytic", "unrolled", "implicit", "neumann"},
    .x_name = "iterations",
    .columns = {{"error", 0}, {"tape KiB", 1024}, {"ms", 0}},
    .open = open_problem,
    .measure = measure_method,
    .close = close_problem,
};
