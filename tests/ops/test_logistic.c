/* tests/ops/test_logistic.c - logistic regression: the solution is optimal, with its derivatives, on every path of the
 * code; and rows that have no optimum are named. */
#include "models/inside.h"
#include "tests/drawn.h"
#include "tests/largest_difference.h"
#include "tests/scratch.h"

/* A batch of problems: rows around one mean per class, with means `spread` apart, and one-hot labels. */
typedef struct problem {
    int64_t batch, n, d, classes;
    double spread, lambda;
    mo_tensor *X, *Y, *lambda_tensor; /* float64 leaves of a tape */
} problem;

static void draw_problem(mo_tape *t, problem *p, uint64_t seed) {
    mo_random r = mo_random_at(seed, MO_PURPOSE_CHECK, 1);
    int64_t rows = p->batch * p->n;
    int64_t d = p->d, C = p->classes;
    double *x = test_memory((size_t)(rows * d + rows * C + C * d) * sizeof *x), *y = x + rows * d, *mean = y + rows * C;
    for (int64_t i = 0; i < C * d; i++)
        mean[i] = p->spread * mo_random_normal(&r);
    for (int64_t i = 0; i < rows; i++) {
        int64_t c = i % p->n % C;
        y[i * C + c] = 1;
        for (int64_t j = 0; j < d; j++)
            x[i * d + j] = mean[c * d + j] + mo_random_normal(&r);
    }
    p->X = mo_require_grad(mo_from(t, MO_F64, 3, (int64_t[]){p->batch, p->n, d}, x));
    p->Y = mo_require_grad(mo_from(t, MO_F64, 3, (int64_t[]){p->batch, p->n, C}, y));
    p->lambda_tensor = mo_require_grad(mo_from(t, MO_F64, 0, NULL, &p->lambda));
}

static double norm(mo_tape *t, mo_tensor *A) {
    return sqrt(mo_item(mo_sum(t, mo_square(t, mo_stop_gradient(t, A)), MO_ALL, MO_DROP_AXES)));
}

/* Returns the gradient of the objective at W, written out independently. */
static mo_tensor *objective_gradient(mo_tape *t, const problem *p, mo_tensor *W, mo_intercept intercept) {
    mo_tensor *Phi = intercept == MO_INTERCEPT_FREE ? mo_append_ones(t, p->X) : p->X;
    mo_tensor *R = mo_sub(t, mo_softmax(t, mo_matmul(t, Phi, W), MO_AXIS(-1)), p->Y);
    mo_tensor *penalty = mo_mul(t, p->lambda_tensor, mo_slice(t, W, MO_AXIS(1), 0, p->d));
    if (intercept == MO_INTERCEPT_FREE)
        penalty = mo_pad(t, penalty, MO_AXIS(1), 0, 1);
    return mo_add(t, mo_matmul(t, mo_transpose(t, Phi), R), penalty);
}

TEST_OF(the_gradient_vanishes_at_the_solution, mo_context *ctx) {
    static const problem problems[] = {
        {.batch = 1, .n = 40, .d = 7, .classes = 3, .spread = 1, .lambda = 1},
        {.batch = 3, .n = 15, .d = 30, .classes = 5, .spread = 1, .lambda = 0.1},
        {.batch = 1, .n = 20, .d = 30, .classes = 4, .spread = 4, .lambda = 1e-6}, /* separable: only the small penalty
                                                                                    * keeps W finite */
        {.batch = 2, .n = 60, .d = 5, .classes = 2, .spread = 0.1, .lambda = 1e-4},
        {.batch = 1, .n = 300, .d = 280, .classes = 7, .spread = 0.3, .lambda = 1}, /* so large that graph code solves
                                                                                     * it */
        {.batch = 2, .n = 30, .d = 12, .classes = 3, .spread = 30, .lambda = 100},
        {.batch = 1, .n = 1, .d = 4, .classes = 1, .spread = 1, .lambda = 1},
        {.batch = 2, .n = 40, .d = 60, .classes = 20, .spread = 1, .lambda = 1e-6},
        {.batch = 1, .n = 200, .d = 30, .classes = 20, .spread = 0.2, .lambda = 1e-6},
    };
    for (size_t i = 0; i < sizeof problems / sizeof *problems; i++)
        for (int intercept = MO_INTERCEPT_NONE; intercept <= MO_INTERCEPT_FREE; intercept++) {
            problem p = problems[i];
            HELD(mo_tape) *t = mo_tape_create(ctx, MO_EVAL);
            draw_problem(t, &p, 11);
            mo_tensor *W = mo_logistic(t, p.X, p.Y, p.lambda_tensor, (mo_intercept)intercept);
            double residual = norm(t, objective_gradient(t, &p, W, (mo_intercept)intercept));
            if (!mo_ok(ctx) || !(residual <= 1e-8))
                fail_msg("problem %zu, intercept %d: gradient norm %g; %s", i, intercept, residual,
                    mo_context_status(ctx)->message);
        }
}

/* Returns the solution W, and the gradients of sum(W o G) for G = W in X, Y and lambda. */
static mo_tensor *solve(mo_tape *t, mo_tensor *const in[3], mo_intercept intercept, mo_tensor *grads[3]) {
    mo_tensor *W = mo_logistic(t, in[0], in[1], in[2], intercept),
              *G = mo_stop_gradient(t, W); /* W itself, without a gradient */
    mo_grad(t, &W, &G, 1, in, grads, 3, MO_RETAIN);
    return W;
}

/* A kernel solves small systems, graph code large ones. n = 400 is above the limit alone, n = 250 twice in a batch. */
TEST_OF(kernel_and_composed_iterations_agree, mo_context *ctx) {
    for (int64_t n = 250; n <= 400; n += 150) {
        problem p = {.batch = 1, .n = n, .d = 300, .classes = 3, .spread = 0.5, .lambda = 1};
        HELD(mo_tape) *t = mo_tape_create(ctx, MO_RECORD);
        draw_problem(t, &p, 13);
        mo_tensor *one[3], *two[3], *in[] = {p.X, p.Y, p.lambda_tensor};
        mo_tensor *W = solve(t, in, MO_INTERCEPT_FREE, one);
        for (int i = 0; i < 2; i++)
            in[i] = mo_concat(t, (mo_tensor *[]){in[i], in[i]}, 2, MO_AXIS(0));
        mo_tensor *V = solve(t, in, MO_INTERCEPT_FREE, two);
        assert_true(mo_ok(ctx));
        assert_true(largest_difference(W, mo_slice(t, V, MO_AXIS(0), 1, 2)) < 1e-9);
        assert_true(largest_difference(one[0], mo_slice(t, two[0], MO_AXIS(0), 1, 2)) < 1e-9);
        assert_true(largest_difference(one[1], mo_slice(t, two[1], MO_AXIS(0), 1, 2)) < 1e-9);
    }
}

TEST_OF(derivatives_hold_at_the_size_of_an_episode, mo_context *ctx) {
    static const mo_head_sample samples[] = {
        {.support = 20, .queries = 6, .dim = 32, .classes = 5}, {.support = 40, .queries = 6, .dim = 6, .classes = 4},
        {.support = 10, .queries = 4, .dim = 12, .classes = 2, .batch = 3},
        {.support = 24,
            .queries = 4,
            .dim = 20,
            .classes = 4}, /* more rows than columns, yet coordinates on the rows */
    };
    const mo_head *heads[] = {&mo_head_logistic, &mo_head_logistic_penalised};
    for (int h = 0; h < 2; h++) {
        mo_head head = *heads[h];
        head.samples = samples;
        head.n_samples = 4;
        mo_check_result r = mo_check_head(ctx, &head, 2, 15);
        if (!r.pass || !(r.error <= 1e-5))
            fail_msg("%s: error %g; %s", head.name, r.error, r.worst);
    }
}

TEST_OF(a_weight_of_two_is_a_row_twice, mo_context *ctx) {
    HELD(mo_tape) *t = mo_tape_create(ctx, MO_EVAL);
    double x[] = {1, 2, 0, 1, -1, 1, 1, 2}, y[] = {1, 0, 0, 1, 0, 1, 1, 0}, doubled[] = {2, 0, 0, 1, 0, 1};
    mo_tensor *lambda = mo_scalar(t, MO_F64, 0.5), *X = mo_from(t, MO_F64, 2, (int64_t[]){4, 2}, x);
    mo_tensor *twice = mo_logistic(t, X, mo_from(t, MO_F64, 2, (int64_t[]){4, 2}, y), lambda, MO_INTERCEPT_FREE);
    mo_tensor *weighted = mo_logistic(t, mo_slice(t, X, MO_AXIS(0), 0, 3),
        mo_from(t, MO_F64, 2, (int64_t[]){3, 2}, doubled), lambda, MO_INTERCEPT_FREE);
    assert_true(mo_ok(ctx));
    assert_true(largest_difference(twice, weighted) < 1e-12);
}

/* With two equal rows of more columns X X^T is singular, and coordinates on the rows can be only rounding. Solution and
 * gradient must be those of one row with the sum of the labels. */
TEST_OF(equal_rows_are_one_row_with_both_weights, mo_context *ctx) {
    enum { ROWS = 2, COLUMNS = 5, CLASSES = 7 };
    HELD(mo_tape) *t = mo_tape_create(ctx, MO_RECORD);
    for (uint64_t seed = 0; seed < 300; seed++) {
        mo_random r = mo_random_at(seed, MO_PURPOSE_CHECK, 2);
        double x[COLUMNS], y[ROWS * CLASSES];
        for (int i = 0; i < COLUMNS; i++)
            x[i] = mo_random_normal(&r);
        for (int i = 0; i < ROWS * CLASSES; i++)
            y[i] = 0.5 + mo_random_uniform(&r);
        mo_tensor *X = mo_require_grad(mo_from(t, MO_F64, 2, (int64_t[]){1, COLUMNS}, x));
        mo_tensor *Y = mo_from(t, MO_F64, 2, (int64_t[]){ROWS, CLASSES}, y), *lambda = mo_scalar(t, MO_F64, 1);
        mo_tensor *twice = mo_concat(t, (mo_tensor *[]){X, X}, 2, MO_AXIS(0)), *W[2], *grads[2];
        mo_tensor *sums = mo_add(t, mo_slice(t, Y, MO_AXIS(0), 0, 1), mo_slice(t, Y, MO_AXIS(0), 1, 2));
        W[0] = mo_logistic(t, twice, Y, lambda, MO_INTERCEPT_FREE);
        W[1] = mo_logistic(t, X, sums, lambda, MO_INTERCEPT_FREE);
        for (int k = 0; k < 2; k++)
            mo_grad(t, &W[k], &W[1], 1, &X, &grads[k], 1, MO_RETAIN);
        if (!mo_ok(ctx))
            fail_msg("seed %llu: %s", (unsigned long long)seed, mo_context_status(ctx)->message);
        double apart = largest_difference(W[0], W[1]), bent = largest_difference(grads[0], grads[1]);
        if (!(apart < 1e-7 && bent < 1e-6)) /* the iterations stop at a gradient of the objective below 1e-8 */
            fail_msg("seed %llu: solutions differ by %g, gradients by %g", (unsigned long long)seed, apart, bent);
        mo_tape_reset(t);
    }
}

/* The rows are separable or, if `twice`, each is there twice with different labels. float32 has too few digits for
 * either where the rows are long beside lambda; the weights were then off by a third. */
TEST_OF(fits_of_few_long_rows_are_exact_in_float32, mo_context *ctx) {
    enum { ROWS = 30, WIDTH = 64 };
    for (int twice = 0; twice < 2; twice++)
        for (double size = 1; size <= 100; size *= 10)
            for (double penalty = 1; penalty > 1e-6; penalty /= 10) {
                HELD(mo_tape) *t = mo_tape_create(ctx, MO_EVAL);
                mo_tensor *half = drawn(t, MO_F64, 5, 2, (int64_t[]){ROWS / 2, WIDTH}), *W[2];
                mo_tensor *rest = twice ? half : drawn(t, MO_F64, 6, 2, (int64_t[]){ROWS / 2, WIDTH});
                mo_tensor *X = mo_scale(t, mo_concat(t, (mo_tensor *[]){half, rest}, 2, MO_AXIS(0)), size, 0);
                int64_t label[ROWS];
                for (int i = 0; i < ROWS; i++)
                    label[i] = (i + i / (ROWS / 2)) % 3;
                mo_tensor *Y = mo_one_hot(t, mo_from(t, MO_I64, 1, (int64_t[]){ROWS}, label), 3, MO_F64);
                for (int real = MO_F32; real <= MO_F64; real++)
                    W[real] = mo_cast(t,
                        mo_logistic(t, mo_cast(t, X, (mo_dtype)real), mo_cast(t, Y, (mo_dtype)real),
                            mo_scalar(t, (mo_dtype)real, penalty), MO_INTERCEPT_FREE),
                        MO_F64);
                expect_ok(ctx);
                double off = norm(t, mo_sub(t, W[MO_F32], W[MO_F64])) / norm(t, W[MO_F64]);
                if (!(off < 1e-3))
                    fail_msg("%s rows of size %g, lambda %g: the weights are off by %g", twice ? "equal" : "separable",
                        size, penalty, off);
            }
}

/* Columns of very different scale: the gradient cannot fall below the rounding of its own sum, 1e-8 of the largest
 * column. */
TEST_OF(columns_of_very_different_scale_are_no_obstacle, mo_context *ctx) {
    for (int wide = 0; wide < 2; wide++)
        for (int intercept = MO_INTERCEPT_NONE; intercept <= MO_INTERCEPT_FREE; intercept++) {
            problem p = {.batch = 1, .n = wide ? 30 : 120, .d = 40, .classes = 20, .spread = 0.3, .lambda = 1e-6};
            HELD(mo_tape) *t = mo_tape_create(ctx, MO_EVAL);
            draw_problem(t, &p, 5);
            double scale[40];
            for (int j = 0; j < 40; j++)
                scale[j] = pow(10, j % 7 - 3);
            p.X = mo_mul(t, mo_stop_gradient(t, p.X), mo_from(t, MO_F64, 1, (int64_t[]){40}, scale));
            mo_tensor *W = mo_logistic(t, p.X, p.Y, p.lambda_tensor, (mo_intercept)intercept);
            double residual = norm(t, objective_gradient(t, &p, W, (mo_intercept)intercept));
            if (!mo_ok(ctx) || !(residual <= 1e3 * 1e-8))
                fail_msg("wide %d, intercept %d: gradient norm %g; %s", wide, intercept, residual,
                    mo_context_status(ctx)->message);
        }
}

/* Half of the rows are there twice, far from 0, some with another label the second time, and the penalty is tiny: the
 * multipliers of such a pair cancel in the weights. A fit could end far above the objective of weights of 0. */
TEST_OF(equal_long_rows_are_not_fitted_worse_than_by_no_weights, mo_context *ctx) {
    enum { ROWS = 124, WIDTH = 234 };
    for (uint64_t seed = 0; seed < 6; seed++) {
        HELD(mo_tape) *t = mo_tape_create(ctx, MO_EVAL);
        mo_tensor *half = drawn(t, MO_F64, seed, 2, (int64_t[]){ROWS / 2, WIDTH});
        mo_tensor *X = mo_scale(t, mo_concat(t, (mo_tensor *[]){half, half}, 2, MO_AXIS(0)), 700, 15000);
        int64_t label[ROWS];
        for (int i = 0; i < ROWS; i++)
            label[i] = (i + (i % 10 == 9)) % 2;
        mo_tensor *Y = mo_one_hot(t, mo_from(t, MO_I64, 1, (int64_t[]){ROWS}, label), 2, MO_F64);
        mo_tensor *W = mo_logistic(t, X, Y, mo_scalar(t, MO_F64, 1e-2), MO_INTERCEPT_NONE);
        expect_ok(ctx);
        mo_tensor *P = mo_log_softmax(t, mo_matmul(t, X, W), MO_AXIS(-1));
        double loss = -mo_item(mo_sum(t, mo_mul(t, Y, P), MO_ALL, MO_DROP_AXES));
        printf("equal long rows, seed %d: loss %.3g, without weights %.3g\n", (int)seed, loss, ROWS * log(2));
        if (!(loss < ROWS * log(2)))
            fail_msg("seed %d: loss %g, without weights %g", (int)seed, loss, ROWS * log(2));
    }
}

/* Fits in a context of its own, in float32 or float64. */
static void fit_with(int threads, mo_dtype real, const problem *p, double *W, size_t bytes) {
    HELD(mo_context) *ctx = mo_context_create(&(mo_context_options){.threads = threads});
    HELD(mo_tape) *t = mo_tape_create(ctx, MO_EVAL);
    mo_tensor *const given[] = {p->X, p->Y, p->lambda_tensor};
    mo_tensor *own[3], *in[3];
    for (int i = 0; i < 3; i++) {
        own[i] = mo_tensor_clone(ctx, given[i]);
        in[i] = mo_cast(t, own[i], real);
    }
    mo_tensor *V = mo_logistic(t, in[0], in[1], in[2], MO_INTERCEPT_FREE);
    if (mo_tensor_read(mo_cast(t, V, MO_F64), W, bytes) != MO_OK)
        fail_msg("%s: %s", mo_dtype_name(real), mo_context_status(ctx)->message);
    for (int i = 0; i < 3; i++)
        mo_tensor_release(own[i]);
}

/* So large that its products use several threads (tensor/cpu/fits/logistic.c), with columns of one scale and of many:
 * the optimum is reached, with the same bits at any thread count. */
TEST_OF(a_large_problem_reaches_its_optimum_at_any_thread_count, mo_context *ctx) {
    enum { D = 256, C = 5, LENGTH = (D + 1) * C };
    for (int many = 0; many < 2; many++) {
        problem p = {.batch = 1, .n = 4200, .d = D, .classes = C, .spread = 0.1, .lambda = 2};
        HELD(mo_tape) *t = mo_tape_create(ctx, MO_EVAL);
        double scale[D], first[LENGTH] = {0}, again[LENGTH];
        draw_problem(t, &p, 15);
        for (int j = 0; j < D; j++)
            scale[j] = pow(many ? 1000 : 1, -(double)j / D);
        p.X = mo_mul(t, mo_stop_gradient(t, p.X), mo_from(t, MO_F64, 1, (int64_t[]){D}, scale));
        mo_tensor *W = mo_from(t, MO_F64, 3, (int64_t[]){1, D + 1, C}, first);
        double start = norm(t, objective_gradient(t, &p, W, MO_INTERCEPT_FREE));
        for (int real = MO_F32; real <= MO_F64; real++) {
            fit_with(1, (mo_dtype)real, &p, first, sizeof first);
            W = mo_from(t, MO_F64, 3, (int64_t[]){1, D + 1, C}, first);
            double left = norm(t, objective_gradient(t, &p, W, MO_INTERCEPT_FREE)) / start;
            if (!(left < (real == MO_F64 ? 1e-12 : 1e-4)))
                fail_msg("%s, many scales %d: gradient %g of the first", mo_dtype_name((mo_dtype)real), many, left);
            for (int threads = 2; threads <= 3; threads++) {
                fit_with(threads, (mo_dtype)real, &p, again, sizeof again);
                assert_memory_equal(first, again, sizeof first);
            }
        }
    }
}

/* ---- which rows have an optimum ---- */

TEST_OF(without_penalty_rows_that_overlap_have_their_optimum, mo_context *ctx) {
    HELD(mo_tape) *t = mo_tape_create(ctx, MO_EVAL);
    double x[] = {1, 1, 1, 0}, y[] = {1, 0, 1, 0, 0, 1, 0, 1}, w[4];
    mo_tensor *X = mo_from(t, MO_F64, 2, (int64_t[]){4, 1}, x), *Y = mo_from(t, MO_F64, 2, (int64_t[]){4, 2}, y);
    mo_tensor *W = mo_logistic(t, X, Y, mo_scalar(t, MO_F64, 0), MO_INTERCEPT_NONE);
    assert_int_equal(mo_tensor_read(W, w, 2 * sizeof *w), MO_OK); /* odds of 2 to 1 give W = +-log(2) / 2 */
    assert_true(fabs(w[0] - log(2) / 2) < 1e-12 && fabs(w[1] + log(2) / 2) < 1e-12);
}

typedef struct refusal {
    int64_t n, d, classes;
    double x[8], y[12], lambda;
    mo_intercept intercept;
    const char *message;
} refusal;

TEST_OF(what_has_no_optimum_is_refused_in_one_line, mo_context *ctx) {
    static const refusal cases[] = {
        {4, 1, 2, {1, 2, -1, -3}, {1, 0, 1, 0, 0, 1, 0, 1}, 0, MO_INTERCEPT_NONE, "separable"},
        {4, 1, 2, {1, 2, 3, 4}, {1, 0, 1, 0, 0, 1, 0, 1}, 0, MO_INTERCEPT_FREE, "the optimum is at infinity"},
        {4, 2, 2, {1, 1, 1, 1, 1, 0, 1, 0}, {1, 0, 0, 1, 1, 0, 1, 0}, 0, MO_INTERCEPT_NONE, "infinity"}, /* in part */
        {2, 2, 3, {1, 2, 3, 4}, {1, 0, 0, 0, 1, 0}, 1, MO_INTERCEPT_FREE, "class 2 of item 0 has no support"},
        {1, 2, 2, {1, 2}, {0, 1}, 1, MO_INTERCEPT_FREE, "class 0 of item 0 has no support"},
        {2, 2, 2, {1, 2, 3, 4}, {1, 0, 0, 1}, -1, MO_INTERCEPT_NONE, "lambda -1, expected 0 or above"},
        {2, 2, 2, {1, NAN, 3, 4}, {1, 0, 0, 1}, 1, MO_INTERCEPT_NONE, "not finite"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const refusal *c = &cases[i];
        HELD(mo_tape) *t = mo_tape_create(ctx, MO_EVAL);
        mo_tensor *X = mo_from(t, MO_F64, 2, (int64_t[]){c->n, c->d}, c->x);
        mo_tensor *Y = mo_from(t, MO_F64, 2, (int64_t[]){c->n, c->classes}, c->y);
        assert_true(mo_is_null(mo_logistic(t, X, Y, mo_scalar(t, MO_F64, c->lambda), c->intercept)));
        if (!strstr(mo_context_status(ctx)->message, c->message))
            fail_msg("case %zu: '%s'", i, mo_context_status(ctx)->message);
        mo_clear_error(ctx);
    }
}

/* All rows are equal, so the gradient is only rounding from the first step, in float32 too. */
TEST_OF(equal_rows_give_equal_classes, mo_context *ctx) {
    for (int real = 0; real < 2; real++) {
        HELD(mo_tape) *t = mo_tape_create(ctx, MO_EVAL);
        mo_dtype dtype = real ? MO_F64 : MO_F32;
        mo_tensor *X = mo_full(t, dtype, 2, (int64_t[]){12, 6}, 0.7), *label, *logits;
        int64_t y[12];
        for (int i = 0; i < 12; i++)
            y[i] = i % 3;
        label = mo_one_hot(t, mo_from(t, MO_I64, 1, (int64_t[]){12}, y), 3, dtype);
        mo_tensor *lambda = mo_scalar(t, dtype, 1);
        logits = mo_head_apply(t, &mo_head_logistic, X, label, X, &lambda);
        assert_true(mo_ok(ctx) && mo_item(mo_max(t, mo_abs(t, logits), MO_ALL, MO_DROP_AXES)) < 1e-5);
    }
}

/* If the penalty includes the intercept, repeated rows, a class without support and a single row all have an
 * optimum. */
TEST_OF(a_penalty_on_everything_always_has_an_optimum, mo_context *ctx) {
    HELD(mo_tape) *t = mo_tape_create(ctx, MO_EVAL);
    double x[] = {1, 2, 3, 1, 2, 3, 1, 2, 3}, y[] = {1, 0, 0, 0, 1, 0, 1, 0, 0}, logits[3];
    for (int64_t n = 1; n <= 3; n += 2) {
        mo_tensor *Zs = mo_from(t, MO_F64, 2, (int64_t[]){n, 3}, x), *Ys = mo_from(t, MO_F64, 2, (int64_t[]){n, 3}, y);
        mo_tensor *lambda = mo_scalar(t, MO_F64, 1e-3), *Zq = mo_slice(t, Zs, MO_AXIS(0), 0, 1);
        mo_tensor *L = mo_head_apply(t, &mo_head_logistic_penalised, Zs, Ys, Zq, &lambda);
        assert_int_equal(mo_tensor_read(L, logits, sizeof logits), MO_OK);
        assert_true(logits[0] > logits[1] && logits[1] >= logits[2] - 1e-12);
        assert_true(n == 1 || fabs(logits[0] - logits[1] - log(2)) < 1e-2); /* two rows of class 0, one of class 1 */
    }
}

/* Rows of the sizes 1e-4 to 0, fewer than columns: the fit and its adjoint end, and the weights are X^T (Y - P) /
 * lambda up to rounding. */
TEST_OF(tiny_rows_are_fitted, mo_context *ctx) {
    static const double sizes[] = {1e-4, 1e-6, 1e-9, 1e-12, 0};
    for (int k = 0; k < 60; k++) {
        HELD(mo_tape) *t = mo_tape_create(ctx, MO_RECORD);
        mo_dtype real = k % 2 ? MO_F32 : MO_F64;
        int64_t n = 2 + k % 7, C = 2 + k % 3 % (n > 2 ? 3 : 1), d = n + 11, label[8];
        double size = sizes[k % 5];
        C = C < n ? C : n;
        for (int64_t i = 0; i < n; i++)
            label[i] = i % C;
        mo_tensor *X = mo_scale(t, drawn(t, MO_F64, (uint64_t)k, 2, (int64_t[]){n, d}), size, 0), *bar;
        X = mo_require_grad(mo_contiguous(t, mo_cast(t, X, real)));
        mo_tensor *Y = mo_one_hot(t, mo_from(t, MO_I64, 1, &n, label), C, real);
        mo_tensor *W = mo_logistic(t, X, Y, mo_scalar(t, real, 1), MO_INTERCEPT_FREE);
        if (!mo_ok(ctx))
            fail_msg("size %g, %d rows: %s", size, (int)n, mo_context_status(ctx)->message);
        mo_tensor *F = mo_matmul(t, mo_append_ones(t, X), W), *R = mo_sub(t, Y, mo_softmax(t, F, MO_AXIS(-1)));
        mo_tensor *own = mo_slice(t, W, MO_AXIS(0), 0, d), *expected = mo_matmul(t, mo_transpose(t, X), R);
        double gap = mo_item(mo_max(t, mo_abs(t, mo_sub(t, own, expected)), MO_ALL, MO_DROP_AXES));
        assert_true(gap <= (real == MO_F32 ? 1e-4 : 1e-8) * size);
        mo_tensor *loss = mo_sum(t, mo_square(t, F), MO_ALL, MO_DROP_AXES);
        assert_int_equal(mo_grad(t, &loss, NULL, 1, &X, &bar, 1, 0), MO_OK);
        assert_true(isfinite(mo_item(mo_sum(t, bar, MO_ALL, MO_DROP_AXES))));
    }
}
