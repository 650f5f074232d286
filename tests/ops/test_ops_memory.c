/* tests/ops/test_ops_memory.c - every op of ops/ops.h, with its gradient, where memory runs out
 * (tests/failing_memory.h). */
#include "autograd/inside.h"
#include "tests/failing_memory.h"
#include "train/train.h"

/* Leaves in float64, and the sum of the squares of what was computed from them. */
typedef struct sums {
    mo_tape *t;
    mo_tensor *A, *B, *S, *x, *total; /* [3, 3]; [3, 3]; the same, positive definite; [3] */
} sums;

static mo_tensor *leaf(mo_context *ctx, int ndim, double first, double step) {
    double values[9];
    for (int i = 0; i < 9; i++)
        values[i] = first + step * i + (i % 4 == 0); /* regular: 1 is added on the diagonal */
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

/* The total and its gradients; frees all. */
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

static double products(mo_context *ctx, scratch *unused) {
    (void)unused;
    sums s = sums_open(ctx);
    mo_tape *t = s.t;
    mo_csr *M = mo_csr_create(ctx, 3, 3, (int64_t[]){0, 2, 3, 4}, (int32_t[]){0, 1, 0, 2}, MO_F64, NULL);
    mo_csr_declare_symmetric(M);
    take(&s, mo_matmul(t, s.A, s.B));
    take(&s, mo_gram(t, s.A));
    take(&s, mo_linear(t, s.A, s.B, s.x));
    take(&s, mo_linear_relu(t, s.A, s.B, s.x, s.S));
    take(&s, mo_add_diag(t, s.A, mo_scalar(t, MO_F64, 2)));
    take(&s, mo_append_ones(t, s.A));
    take(&s, mo_tril(t, s.A));
    take(&s, mo_triu(t, s.A));
    take(&s, mo_diagonal(t, s.A));
    take(&s, mo_diagonal_embed(t, s.x));
    take(&s, mo_trace(t, s.A));
    take(&s, mo_mul(t, s.A, mo_eye(t, MO_F64, 3)));
    take(&s, mo_spmm(t, M, s.A));
    mo_tensor *entries = mo_slice(t, mo_reshape(t, s.B, 1, (int64_t[]){9}), MO_AXIS(0), 0, 4);
    take(&s, mo_spmm_values(t, M, entries, s.A));
    double value = sums_close(&s);
    mo_csr_release(M);
    return value;
}

static double factors(mo_context *ctx, scratch *unused) {
    (void)unused;
    sums s = sums_open(ctx);
    mo_tape *t = s.t;
    mo_tensor *Q, *R, *w, *V, *L = mo_cholesky(t, s.S);
    take(&s, mo_solve(t, s.A, s.B));
    take(&s, mo_solve_spd(t, s.S, s.B));
    take(&s, mo_solve_or_nan(t, s.A, s.B));
    take(&s, mo_solve_spd_or_nan(t, s.S, s.B));
    take(&s, mo_solve_triangular(t, s.A, s.B, MO_LOWER));
    take(&s, mo_cholesky_solve(t, L, s.B));
    mo_qr(t, s.A, &Q, &R);
    take(&s, mo_matmul(t, R, Q));
    take(&s, mo_least_squares(t, s.A, s.B));
    mo_eigh(t, s.S, &w, &V);
    take(&s, mo_mul(t, w, V));
    take(&s, mo_logdet(t, s.S));
    take(&s, mo_log_abs_det(t, s.A));
    take(&s, mo_quadratic_form(t, s.S, s.B));
    mo_tensor *Y = mo_one_hot(t, mo_from(t, MO_I64, 1, (int64_t[]){3}, (int64_t[]){0, 1, 0}), 2, MO_F64);
    for (int policy = MO_SOLVE_ERROR; policy <= MO_SOLVE_REFINE; policy++) {
        const mo_solve_options o = {.policy = (mo_solve_policy)policy, .spd = policy & 1, .least_rcond = 1e-6};
        mo_solve_health h;
        take(&s, mo_solve_with(t, s.S, s.B, &o, &h));
        take(&s, h.rcond);
        take(&s, mo_scalar(t, MO_F64, (double)mo_solve_warning(&h, 1e-30, NULL, 0)));
    }
    take(&s, mo_logistic(t, s.A, Y, mo_scalar(t, MO_F64, 0.5), MO_INTERCEPT_FREE));
    return sums_close(&s);
}

static double elements(mo_context *ctx, scratch *unused) {
    (void)unused;
    static mo_tensor *(*const unary[])(mo_tape *, mo_tensor *) = {
        mo_neg, mo_exp, mo_log, mo_sqrt, mo_square, mo_abs, mo_relu, mo_tanh, mo_sigmoid, mo_softplus, mo_gelu};
    static mo_tensor *(*const binary[])(mo_tape *, mo_tensor *, mo_tensor *) = {
        mo_add, mo_sub, mo_mul, mo_div, mo_div_or_zero, mo_pow_entries, mo_larger, mo_smaller};
    sums s = sums_open(ctx);
    mo_tape *t = s.t;
    for (size_t i = 0; i < sizeof unary / sizeof *unary; i++)
        take(&s, unary[i](t, s.A));
    for (size_t i = 0; i < sizeof binary / sizeof *binary; i++)
        take(&s, binary[i](t, s.A, s.x));
    take(&s, mo_scale(t, s.A, 2, 1));
    take(&s, mo_pow(t, s.A, 1.5));
    mo_tensor *larger = mo_greater_equal(t, s.A, s.B);
    take(&s, mo_where(t, larger, s.A, s.B));
    take(&s, mo_leaky_relu(t, s.B, 0.1));
    take(&s, mo_clamp(t, s.A, 0.5, 0.9));
    return sums_close(&s);
}

static double reductions(mo_context *ctx, scratch *unused) {
    (void)unused;
    sums s = sums_open(ctx);
    mo_tape *t = s.t;
    mo_random r = mo_random_at(3, MO_PURPOSE_OWN, 0);
    take(&s, mo_mean(t, s.A, MO_AXIS(0), MO_DROP_AXES));
    take(&s, mo_var(t, s.A, MO_AXIS(1), MO_KEEP_AXES, 1));
    take(&s, mo_max(t, s.A, MO_AXIS(0), MO_DROP_AXES));
    take(&s, mo_logsumexp(t, s.A, MO_AXIS(-1), MO_DROP_AXES));
    take(&s, mo_sum_to(t, s.A, 1, (int64_t[]){3}));
    take(&s, mo_cast(t, mo_argmax(t, s.A, MO_AXIS(0)), MO_F64));
    take(&s, mo_cumsum(t, s.A, MO_AXIS(0)));
    take(&s, mo_sort(t, s.A, MO_AXIS(1)));
    take(&s, mo_top_k(t, s.A, 2, MO_AXIS(1)));
    take(&s, mo_softmax(t, s.A, MO_AXIS(1)));
    take(&s, mo_log_softmax(t, s.A, MO_AXIS(0)));
    mo_tensor *labels = mo_from(t, MO_I64, 1, (int64_t[]){3}, (int64_t[]){0, 2, 1});
    take(&s, mo_softmax_cross_entropy(t, s.A, labels, 0.1));
    take(&s, mo_weighted_cross_entropy(t, s.A, labels, mo_exp(t, s.x), 0.1));
    take(&s, mo_binary_cross_entropy(t, s.A, s.B));
    take(&s, mo_mse(t, s.A, s.B));
    take(&s, mo_accuracy(t, s.A, labels));
    take(&s, mo_layer_norm(t, s.A, 1e-5));
    take(&s, mo_l2_normalize(t, s.A, 1e-12));
    take(&s, mo_row_norm(t, s.A));
    take(&s, mo_dropout(t, s.A, 0.5, &r));
    take(&s, mo_simplex_project(t, s.A));
    return sums_close(&s);
}

static double windows(mo_context *ctx, scratch *unused) {
    (void)unused;
    sums s = sums_open(ctx);
    mo_tape *t = s.t;
    mo_tensor *index = mo_from(t, MO_I64, 1, (int64_t[]){2}, (int64_t[]){2, 0}),
              *along = mo_from(t, MO_I64, 2, (int64_t[]){3, 2}, (int64_t[]){0, 1, 1, 2, 2, 0}),
              *offset = mo_from(t, MO_I64, 1, (int64_t[]){3}, (int64_t[]){0, 1, 3}), *both[] = {s.A, s.B};
    take(&s, mo_reshape(t, s.A, 1, (int64_t[]){-1}));
    take(&s, mo_contiguous(t, mo_transpose(t, s.A)));
    take(&s, mo_permute(t, s.A, (int[]){1, 0}));
    take(&s, mo_slice(t, s.A, MO_AXIS(0), 1, 3));
    take(&s, mo_pad(t, s.A, MO_AXIS(1), 1, 2));
    take(&s, mo_broadcast_to(t, s.x, 2, (int64_t[]){2, 3}));
    take(&s, mo_with_axis(t, s.A, MO_AXIS(0), 2));
    take(&s, mo_concat(t, both, 2, MO_AXIS(1)));
    take(&s, mo_stack(t, both, 2, MO_AXIS(0)));
    take(&s, mo_gather_rows(t, s.A, index));
    take(&s, mo_scatter_add_rows(t, mo_slice(t, s.A, MO_AXIS(0), 0, 2), index, 4));
    take(&s, mo_take_along(t, s.A, along));
    take(&s, mo_put_along(t, mo_slice(t, s.A, MO_AXIS(1), 0, 2), along, 3));
    take(&s, mo_segment_sum(t, s.A, offset));
    take(&s, mo_segment_mean(t, s.A, offset));
    take(&s, mo_segment_max(t, s.A, offset));
    take(&s, mo_segment_softmax(t, s.A, offset));
    return sums_close(&s);
}

/* ---- solvers ---- */

/* S x - b, and the function of which it is the gradient. */
static mo_tensor *affine(mo_tape *t, mo_tensor *x, mo_tensor *const *theta, int n, void *state) {
    (void)n;
    (void)state;
    return mo_sub(
        t, mo_reshape(t, mo_matmul(t, theta[0], mo_reshape(t, x, 2, (int64_t[]){3, 1})), 1, (int64_t[]){3}), theta[1]);
}

static mo_tensor *quadratic(mo_tape *t, mo_tensor *x, mo_tensor *const *theta, int n, void *state) {
    mo_tensor *half = mo_scale(t, mo_sub(t, affine(t, x, theta, n, state), theta[1]), 0.5, 0);
    return mo_sum(t, mo_mul(t, x, half), MO_AXIS(0), MO_DROP_AXES);
}

static mo_tensor *product(mo_tape *t, mo_tensor *const *in, int n, void *state) {
    (void)n;
    (void)state;
    return mo_tanh(t, mo_matmul(t, in[0], in[1]));
}

static double solvers(mo_context *ctx, scratch *unused) {
    (void)unused;
    sums s = sums_open(ctx);
    mo_tape *t = s.t;
    mo_tensor *theta[] = {s.S, s.x}, *x0 = mo_full(t, MO_F64, 1, (int64_t[]){3}, 0.3);
    mo_tensor *x = mo_conjugate_gradients(t, x0, affine, theta, 2, NULL);
    take(&s, x);
    take(&s, mo_implicit(t, mo_stop_gradient(t, x), affine, theta, 2, NULL));
    take(&s, mo_gmres(t, x0, affine, theta, 2, NULL));
    take(&s, mo_newton_krylov(t, x0, affine, theta, 2, NULL));
    take(&s, mo_lbfgs(t, x0, quadratic, theta, 2, NULL));
    take(&s, mo_projected_gradient(t, x0, quadratic, theta, 2, NULL));
    take(&s, mo_recompute(t, product, (mo_tensor *[]){s.A, s.B}, 2, NULL, 0));
    return sums_close(&s);
}

static double registered(mo_context *ctx, scratch *unused) {
    (void)unused;
    mo_register_ops(ctx);
    return mo_n_ops(ctx);
}

static void lack_of_memory_in_an_op_is_a_status(void **state) {
    static const named_scenario all[] = {{"products", products, 300}, {"factors", factors, 300},
        {"elements", elements, 300}, {"reductions", reductions, 300}, {"windows", windows, 300},
        {"solvers", solvers, 100}, {"registry", registered, 300}};
    fail_allocations(*state, all, sizeof all / sizeof *all);
}

int main(int argc, char **argv) {
    return run_with_failing_memory(
        argc, argv, lack_of_memory_in_an_op_is_a_status, "lack_of_memory_in_an_op_is_a_status");
}
