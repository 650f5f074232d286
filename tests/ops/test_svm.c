/* tests/ops/test_svm.c - the Crammer-Singer machine: optimal by its duality gap, differentiable on
 * its active set. */
#include "models/inside.h"
#include "tests/drawn.h"
#include "tests/largest_difference.h"

typedef struct problem {
    int64_t batch, n, d, classes, repeat; /* rows from `repeat` on copy earlier ones */
    double lambda, offset;                /* offset is added to every column of X */
    mo_tensor *X, *Y, *lambda_tensor;
} problem;

enum { LONG = 110 }; /* number of dual variables per item above which a fit takes thousands of launches */

static void draw_problem(mo_tape *t, problem *p) {
    mo_random r = mo_random_at(21, MO_PURPOSE_CHECK, 2);
    int64_t rows = p->batch * p->n;
    double *x = test_memory((size_t)(rows * p->d) * sizeof *x),
           *y = test_memory((size_t)(rows * p->classes) * sizeof *y);
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < p->d; j++)
            x[i * p->d + j] = i >= p->repeat ? x[(i - p->repeat) * p->d + j] : p->offset + mo_random_normal(&r);
        y[i * p->classes + i % p->classes] = 1;
    }
    p->X = mo_from(t, MO_F64, 3, (int64_t[]){p->batch, p->n, p->d}, x);
    p->Y = mo_from(t, MO_F64, 3, (int64_t[]){p->batch, p->n, p->classes}, y);
    p->lambda_tensor = mo_scalar(t, MO_F64, p->lambda);
}

/* Returns the head's logits for the queries X = Zs. */
static mo_tensor *svm_logits(mo_tape *t, mo_tensor *X, mo_tensor *Y, mo_tensor *lambda) {
    mo_tensor *parameters[] = {lambda, mo_scalar(t, mo_tensor_dtype(X), 0)};
    return mo_head_apply(t, &mo_head_svm, X, Y, X, parameters);
}

static double sum(mo_tape *t, mo_tensor *A) {
    return mo_item(mo_sum(t, A, MO_ALL, MO_DROP_AXES));
}

/* Checks that the primal value of the weights equals the dual value of alpha: then both are optimal. */
TEST_OF(primal_and_dual_values_meet, mo_tape *t) {
    mo_context *ctx = mo_tape_context(t);
    static const problem problems[] = {
        {.batch = 1, .n = 12, .d = 20, .classes = 3, .repeat = 12, .lambda = 1},
        {.batch = 3, .n = 30, .d = 4, .classes = 5, .repeat = 90, .lambda = 0.5},
        {.batch = 1, .n = 40, .d = 6, .classes = 2, .repeat = 15, .lambda = 0.1}, /* repeated rows, some with other
                                                                                   * labels */
        {.batch = 2, .n = 25, .d = 50, .classes = 4, .repeat = 50, .lambda = 30},
        {.batch = 1, .n = 60, .d = 3, .classes = 3, .repeat = 60, .lambda = 1e-3},
        {.batch = 1, .n = 1, .d = 3, .classes = 2, .repeat = 1, .lambda = 1},
        {.batch = 1, .n = 60, .d = 8, .classes = 3, .repeat = 60, .lambda = 1, .offset = 100}, /* sweeps over
                                                                                                * coordinates make no
                                                                                                * progress here */
    };
    for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
        problem p = problems[i];
        if (test_is_brief() && p.n * p.classes > LONG)
            continue;
        draw_problem(t, &p);
        mo_tensor *Xt = mo_transpose(t, p.X), *K = mo_matmul(t, p.X, Xt);
        mo_tensor *alpha = mo_svm_dual_variables(t, K, p.Y, p.lambda_tensor, NULL, 0, NULL), *A = mo_sub(t, p.Y, alpha);
        if (!mo_ok(ctx))
            fail_msg("problem %zu: %s", i, mo_context_status(ctx)->message);
        mo_tensor *W = mo_scale(t, mo_matmul(t, Xt, A), 1 / p.lambda, 0), *F = mo_matmul(t, p.X, W);
        double penalty = p.lambda / 2 * sum(t, mo_square(t, W));
        double hinge = sum(t, mo_max(t, mo_scale(t, mo_sub(t, F, p.Y), 1, 1), MO_AXIS(2), MO_KEEP_AXES));
        double primal = hinge - sum(t, mo_mul(t, p.Y, F)) + penalty, dual = sum(t, mo_mul(t, p.Y, A)) - penalty;
        double below = -mo_item(mo_max(t, mo_neg(t, alpha), MO_ALL, MO_DROP_AXES));
        mo_tensor *off = mo_scale(t, mo_sum(t, alpha, MO_AXIS(2), MO_KEEP_AXES), 1, -1);
        double rounding = 1e-12 * (double)(p.batch * p.n) / p.lambda; /* of the logits, X X^T A / lambda */
        if (!(fabs(primal - dual) <= 1e-9 * (1 + fabs(primal)) + rounding) || below < 0 ||
            sum(t, mo_abs(t, off)) > 1e-11)
            fail_msg("problem %zu: primal %.12g, dual %.12g, least alpha %g", i, primal, dual, below);
    }
}

TEST_OF(gradients_hold_at_the_size_of_an_episode, mo_tape *t) {
    static const mo_head_sample samples[] = {
        {.support = 20, .queries = 6, .dim = 30, .classes = 5},
        {.support = 40, .queries = 6, .dim = 5, .classes = 3},
        {.support = 10, .queries = 4, .dim = 12, .classes = 2, .batch = 3},
    };
    mo_head head = mo_head_svm;
    head.samples = samples;
    head.n_samples = 3;
    /* The solver ends at violations of some 1e-12, so the quotients are off by up to 2e-6, as the seed has it. */
    mo_check_result r = mo_check_head(mo_tape_context(t), &head, 1, 26);
    if (!r.pass || !(r.error <= 1e-6))
        fail_msg("error %g; %s", r.error, r.worst);
}

/* With rows of norm 2e3 and lambda = 1, Y - alpha would have no digit in float32. */
TEST_OF(long_rows_are_fitted_in_float32, mo_tape *t) {
    problem p = {.batch = 2, .n = 12, .d = 6, .classes = 3, .repeat = 24, .lambda = 1};
    draw_problem(t, &p);
    mo_tensor *long_rows = mo_scale(t, p.X, 1e3, 0);
    mo_tensor *expected = svm_logits(t, long_rows, p.Y, p.lambda_tensor);
    mo_tensor *X = mo_keep(mo_cast(t, long_rows, MO_F32)), *lambda = mo_scalar(t, MO_F32, 1), *grad;
    mo_require_grad(X);
    mo_tensor *found = svm_logits(t, X, mo_cast(t, p.Y, MO_F32), lambda);
    assert_int_equal(mo_tensor_dtype(found), MO_F32);
    mo_tensor *total = mo_sum(t, found, MO_ALL, MO_DROP_AXES);
    assert_true(largest_difference(mo_cast(t, found, MO_F64), expected) < 1e-4);
    assert_int_equal(mo_grad(t, &total, NULL, 1, &X, &grad, 1, 0), MO_OK);
    assert_int_equal(mo_tensor_dtype(grad), MO_F32);
}

TEST_OF(lambda_has_to_be_above_zero, mo_tape *t) {
    mo_context *ctx = mo_tape_context(t);
    problem p = {.batch = 1, .n = 4, .d = 3, .classes = 2, .repeat = 4, .lambda = 0};
    draw_problem(t, &p);
    mo_item(mo_sum(t, svm_logits(t, p.X, p.Y, p.lambda_tensor), MO_ALL, MO_DROP_AXES));
    assert_failed(ctx, MO_INVALID, PARTS("svm_dual: lambda 0, expected above 0"));
}

/* Returns the sum of the squared logits; `gradient`, unless NULL, receives its gradient. */
static double loss_of(mo_tape *t, const double z[12], double gradient[12]) {
    static const double y[] = {1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 1};
    mo_tensor *Z = mo_from(t, MO_F64, 2, (int64_t[]){6, 2}, z), *Y = mo_from(t, MO_F64, 2, (int64_t[]){6, 3}, y), *bar;
    mo_tensor *lambda = mo_scalar(t, MO_F64, 1);
    if (gradient)
        mo_require_grad(Z);
    mo_tensor *loss = mo_sum(t, mo_square(t, svm_logits(t, Z, Y, lambda)), MO_ALL, MO_DROP_AXES);
    double value = mo_item(loss);
    if (gradient && mo_grad(t, &loss, NULL, 1, &Z, &bar, 1, 0) == MO_OK)
        mo_tensor_read(bar, gradient, 12 * sizeof *gradient);
    mo_tape_reset(t);
    return value;
}

/* Equal support vectors can share alpha in many ways, but the weights are unique. */
TEST_OF(equal_rows_have_a_gradient, mo_tape *t) {
    mo_context *ctx = mo_tape_context(t);
    double z[] = {1, 0.5, 0.9, 0.2, 1, 0.5, -1, 0.3, 0.1, -0.4, -1, 0.3}, gradient[12];
    loss_of(t, z, gradient);
    expect_ok(ctx);
    for (int i = 0; i < 4; i++) { /* i < 2: entries of row 0, moved together with those of its copy, row 2; else entries
                                   * of row 1 */
        int other = i < 2 ? i + 4 : i;
        double moved[2], both = gradient[i] + (other != i ? gradient[other] : 0);
        for (int side = 0; side < 2; side++) {
            double at[12];
            memcpy(at, z, sizeof at);
            at[i] += side ? -1e-5 : 1e-5;
            at[other] = at[i];
            moved[side] = loss_of(t, at, NULL);
        }
        double slope = (moved[0] - moved[1]) / 2e-5;
        if (!(fabs(slope - both) <= 1e-5 * fmax(1, fabs(slope))))
            fail_msg("element %d: %.9g, by differences %.9g", i, both, slope);
    }
}

TEST_OF(rows_that_are_no_numbers_are_an_error, mo_tape *t) {
    mo_context *ctx = mo_tape_context(t);
    const double wrong[] = {NAN, INFINITY};
    for (int i = 0; i < 2; i++) {
        const double z[] = {1, 2, wrong[i], 1, -1, -2}, y[] = {1, 0, 0, 1, 0, 1};
        mo_tensor *Z = mo_from(t, MO_F64, 2, (int64_t[]){3, 2}, z), *Y = mo_from(t, MO_F64, 2, (int64_t[]){3, 2}, y);
        mo_tensor *lambda = mo_scalar(t, MO_F64, 1);
        mo_item(mo_sum(t, svm_logits(t, Z, Y, lambda), MO_ALL, MO_DROP_AXES));
        assert_failed(ctx, MO_NUMERICAL, PARTS("the rows or lambda hold a value that is not finite"));
    }
}

/* 16385 rows are more than the kernel matrix may have. */
TEST_OF(many_rows_are_refused_by_name, mo_tape *t) {
    mo_context *ctx = mo_tape_context(t);
    mo_tensor *Z = mo_full(t, MO_F32, 2, (int64_t[]){16385, 2}, 1), *lambda = mo_scalar(t, MO_F32, 1);
    assert_true(mo_is_null(svm_logits(t, Z, Z, lambda)));
    assert_failed(ctx, MO_UNSUPPORTED, PARTS("16385 rows, expected at most 16384", "scikit-learn's LinearSVC"));
}

/* Columns of sizes 1 to 1e5: the fit ends, and says what to do. */
TEST_OF(a_fit_of_raw_columns_ends, mo_tape *t) {
    mo_context *ctx = mo_tape_context(t);
    enum { N = 60, D = 3 };
    static const double unit[D] = {1e5, 10, 1};
    mo_random r = mo_random_at(21, MO_PURPOSE_CHECK, 7);
    double z[N * D], y[N * 2] = {0};
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < D; j++)
            z[i * D + j] = unit[j] * (1 + mo_random_uniform(&r));
        y[2 * i + (mo_random_uniform(&r) < 0.5)] = 1;
    }
    mo_tensor *Z = mo_from(t, MO_F64, 2, (int64_t[]){N, D}, z), *Y = mo_from(t, MO_F64, 2, (int64_t[]){N, 2}, y);
    mo_tensor *parameters[] = {mo_scalar(t, MO_F64, 1), mo_scalar(t, MO_F64, 300)};
    mo_head_apply(t, &mo_head_svm, Z, Y, Z, parameters);
    mo_context_wait(ctx); /* a device says so when it is waited for */
    assert_failed(ctx, MO_NUMERICAL, PARTS("svm_dual: not converged within max_iter", "standardise the columns"));
    parameters[1] = mo_scalar(t, MO_F64, -1);
    mo_head_apply(t, &mo_head_svm, Z, Y, Z, parameters);
    assert_failed(ctx, MO_INVALID, PARTS("svm: max_iter -1, expected 0 to"));
}

/* The labels of rows whose margin is violated have a gradient; it is compared with differences along labels that keep
 * their sums. */
TEST_OF(labels_have_a_gradient, mo_tape *t) {
    problem p = {.batch = 1, .n = 12, .d = 3, .classes = 3, .repeat = 12, .lambda = 1};
    draw_problem(t, &p);
    mo_tensor *Y = mo_require_grad(mo_scale(t, p.Y, 0.7, 0.1)), *bar;
    mo_tensor *loss = mo_sum(t, mo_square(t, svm_logits(t, p.X, Y, p.lambda_tensor)), MO_ALL, MO_DROP_AXES);
    assert_int_equal(mo_grad(t, &loss, NULL, 1, &Y, &bar, 1, 0), MO_OK);
    double g[36], largest = 0;
    mo_tensor_read(bar, g, sizeof g);
    for (int i = 0; i < 12; i++) {
        double moved[36] = {0}, value[2];
        for (int side = 0; side < 2; side++) {
            moved[3 * i] = side ? -1e-5 : 1e-5;
            moved[3 * i + 1] = -moved[3 * i];
            mo_tensor *at = mo_add(t, mo_stop_gradient(t, Y), mo_from(t, MO_F64, 3, (int64_t[]){1, 12, 3}, moved));
            mo_tensor *F = svm_logits(t, p.X, at, p.lambda_tensor);
            value[side] = mo_item(mo_sum(t, mo_square(t, F), MO_ALL, MO_DROP_AXES));
        }
        double slope = (value[0] - value[1]) / 2e-5, found = g[3 * i] - g[3 * i + 1];
        largest = fmax(largest, fabs(slope));
        if (!(fabs(slope - found) <= 1e-5 * fmax(1, fabs(slope))))
            fail_msg("row %d: %.9g, by differences %.9g", i, found, slope);
    }
    assert_true(largest > 0.1);
}
