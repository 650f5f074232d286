/* tests/ops/test_ops_memory.c - out of memory in every op, its gradient and the functions made of ops
 * (tests/failing_memory.h). */
#include "autograd/sample.h"
#include "ops/inside.h"
#include "tests/failing_memory.h"
#include "train/train.h"

/* Float64 leaves, and in `total` the sum of the squares of all results. */
typedef struct sums {
    mo_tape *t;
    mo_tensor *A, *B, *S, *x, *total; /* A and B are [3, 3]; S is too, and positive definite; x is [3] */
} sums;

static mo_tensor *leaf(mo_context *ctx, int ndim, double first, double step) {
    double values[9];
    for (int i = 0; i < 9; i++)
        values[i] = first + step * i + (i % 4 == 0); /* 1 more on the diagonal makes it regular */
    return mo_require_grad(mo_tensor_create_from(ctx, MO_F64, ndim, (int64_t[]){3, 3}, values));
}

static sums sums_open(mo_context *ctx) {
    sums s = {.t = mo_tape_create(ctx, MO_RECORD), .A = leaf(ctx, 2, 0.3, 0.1), .B = leaf(ctx, 2, 1.1, -0.06)};
    s.S = mo_require_grad(
        mo_tensor_create_from(ctx, MO_F64, 2, (int64_t[]){3, 3}, (double[]){4, 1, 0.5, 1, 3, 0.2, 0.5, 0.2, 5}));
    s.x = leaf(ctx, 1, 0.4, 0.3);
    s.total = mo_scalar(s.t, MO_F64, 0);
    return s;
}

static void take(sums *s, mo_tensor *Y) {
    s->total = mo_add(s->t, s->total, mo_sum(s->t, mo_square(s->t, Y), MO_ALL, MO_DROP_AXES));
}

/* Returns the total plus its gradients, and frees everything. */
static double sums_close(sums *s) {
    mo_tensor *xs[] = {s->A, s->B, s->S, s->x}, *grad[4];
    double value = mo_item(s->total);
    mo_grad(s->t, &s->total, NULL, 1, xs, grad, 4, MO_ALLOW_UNUSED);
    for (int i = 0; i < 4 && mo_ok(mo_tape_context(s->t)); i++)
        value += mo_item(mo_sum(s->t, mo_abs(s->t, grad[i]), MO_ALL, MO_DROP_AXES));
    mo_tape_release(s->t);
    for (int i = 0; i < 4; i++)
        mo_tensor_release(xs[i]);
    return value;
}

/* Runs the first sample of an op and takes its gradients. */
static double sample(mo_tape *t, const mo_op *op) {
    mo_context *ctx = mo_tape_context(t);
    const mo_sample *s = &op->samples[0];
    mo_sample_input in[MO_MAX_SAMPLE_INPUTS];
    mo_tensor *X[MO_MAX_SAMPLE_INPUTS], *xs[MO_MAX_SAMPLE_INPUTS], *grad[MO_MAX_SAMPLE_INPUTS], *out[MO_MAX_OUTPUTS];
    mo_random r = mo_random_at(17, MO_PURPOSE_CHECK, 0);
    _Alignas(16) char prepared[256];
    int n = mo_sample_inputs(ctx, op, s, in), leaves = 0;
    double value = 0;
    if (s->prepare)
        s->prepare(ctx, MO_F64, prepared);
    for (int i = 0; i < n; i++) {
        X[i] = mo_sample_tensor(ctx, &in[i], MO_F64, &r);
        if (mo_needs_grad(X[i]))
            xs[leaves++] = X[i];
    }
    mo_apply_all(t, op, X, n, s->prepare ? prepared : s->attributes, out);
    for (int i = 0; i < mo_op_outputs(op) && mo_ok(ctx); i++)
        value += mo_item(mo_sum(t, mo_abs(t, mo_cast(t, out[i], MO_F64)), MO_ALL, MO_DROP_AXES));
    if (op->vjp && leaves && mo_ok(ctx))
        mo_grad(t, out, NULL, mo_op_outputs(op), xs, grad, leaves, MO_ALLOW_UNUSED);
    for (int i = 0; i < leaves && op->vjp && mo_ok(ctx); i++)
        value += mo_item(mo_sum(t, mo_abs(t, grad[i]), MO_ALL, MO_DROP_AXES));
    mo_tape_reset(t);
    for (int i = 0; i < n; i++)
        mo_tensor_release(X[i]);
    if (s->finish)
        s->finish(ctx, prepared);
    return value;
}

static double registered_ops(mo_context *ctx, scratch *unused) {
    mo_tape *t = mo_tape_create(ctx, MO_RECORD);
    double value = 0;
    mo_register_ops(ctx);
    for (int i = 0; i < mo_n_ops(ctx) && mo_ok(ctx); i++)
        value += sample(t, mo_op_at(ctx, i));
    mo_tape_release(t);
    return value;
}

/* Runs the functions of ops/composed/. */
static double composed(mo_context *ctx, scratch *unused) {
    sums s = sums_open(ctx);
    mo_tape *t = s.t;
    mo_tensor *offset = mo_from(t, MO_I64, 1, (int64_t[]){3}, (int64_t[]){0, 2, 3}), *both[] = {s.A, s.B};
    mo_tensor *label = mo_from(t, MO_I64, 1, (int64_t[]){3}, (int64_t[]){0, 1, 0});
    mo_csr *M = mo_csr_create(ctx, 3, 3, (int64_t[]){0, 2, 3, 4}, (int32_t[]){0, 1, 0, 2}, MO_F64, NULL);
    mo_csr_declare_symmetric(M);
    take(&s, mo_spmm_values(t, M, mo_slice(t, mo_reshape(t, s.B, 1, (int64_t[]){9}), MO_AXIS(0), 0, 4), s.A));
    take(&s, mo_mul(t, mo_trace(t, s.A), mo_eye(t, MO_F64, 3)));
    take(&s, mo_linear_relu(t, s.A, s.B, s.x));
    take(&s, mo_solve_or_nan(t, s.A, s.B));
    take(&s, mo_solve_spd_or_nan(t, s.S, s.B));
    take(&s, mo_solve(t, s.S, mo_stack(t, both, 2, MO_AXIS(0))));
    take(&s, mo_cholesky_solve(t, mo_cholesky(t, s.S), s.B));
    take(&s, mo_var(t, s.A, MO_AXIS(0), MO_DROP_AXES, 1));
    take(&s, mo_mean(t, mo_with_axis(t, s.A, MO_AXIS(1), 2), MO_AXIS(0), MO_KEEP_AXES));
    take(&s, mo_mse(t, s.A, s.B));
    take(&s, mo_binary_cross_entropy(t, s.A, mo_sigmoid(t, s.B)));
    take(&s, mo_accuracy(t, s.A, label));
    take(&s, mo_segment_max(t, s.A, offset));
    take(&s, mo_segment_softmax(t, s.A, offset));
    mo_solve_health h;
    mo_solve_check(t, s.S, s.B, mo_solve_spd(t, s.S, s.B), true, &h);
    take(&s, h.rcond);
    take(&s, h.residual);
    double value = sums_close(&s);
    mo_csr_release(M);
    return value;
}

/* ---- solvers ---- */

/* S x - b, then the objective that has this gradient. */
static mo_tensor *affine(mo_tape *t, mo_tensor *x, mo_tensor *const *theta, int n, void *state) {
    return mo_sub(
        t, mo_reshape(t, mo_matmul(t, theta[0], mo_reshape(t, x, 2, (int64_t[]){3, 1})), 1, (int64_t[]){3}), theta[1]);
}

static mo_tensor *quadratic(mo_tape *t, mo_tensor *x, mo_tensor *const *theta, int n, void *state) {
    mo_tensor *half = mo_scale(t, mo_sub(t, affine(t, x, theta, n, state), theta[1]), 0.5, 0);
    return mo_sum(t, mo_mul(t, x, half), MO_AXIS(0), MO_DROP_AXES);
}

static mo_tensor *product(mo_tape *t, mo_tensor *const *in, int n, void *state) {
    return mo_tanh(t, mo_matmul(t, in[0], in[1]));
}

static double solvers(mo_context *ctx, scratch *unused) {
    sums s = sums_open(ctx);
    mo_tape *t = s.t;
    mo_tensor *theta[] = {s.S, s.x}, *x0 = mo_full(t, MO_F64, 1, (int64_t[]){3}, 0.3);
    mo_tensor *x = mo_newton_krylov(t, x0, affine, theta, 2, NULL);
    take(&s, x);
    take(&s, mo_implicit(t, mo_stop_gradient(t, x), affine, theta, 2, NULL));
    for (int symmetric = 0; symmetric < 2; symmetric++) {
        const mo_solver_options o = {.implicit = {.dense_limit = -1, .symmetric = symmetric}};
        take(&s, mo_newton_krylov(t, x0, affine, theta, 2, &o));
    }
    take(&s, mo_lbfgs(t, x0, quadratic, theta, 2, NULL));
    take(&s, mo_projected_gradient(t, x0, quadratic, theta, 2, NULL));
    take(&s, mo_recompute(t, product, (mo_tensor *[]){s.A, s.B}, 2, NULL, 0));
    return sums_close(&s);
}

static void lack_of_memory_in_an_op_is_a_status(void **state) {
    static const named_scenario all[] = {
        {"registered ops", registered_ops, 200}, {"composed", composed, 300}, {"solvers", solvers, 100}};
    fail_allocations(*state, all, sizeof all / sizeof *all);
}

int main(int argc, char **argv) {
    return run_with_failing_memory(
        argc, argv, lack_of_memory_in_an_op_is_a_status, "lack_of_memory_in_an_op_is_a_status");
}
