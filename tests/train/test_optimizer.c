/* tests/train/test_optimizer.c - SGD against plain double loops; clipping; gradients that must change nothing.
 * tests/golden has PyTorch's steps of AdamW. */
#include "tests/scratch.h"
#include "train/run/optimizer.h"

enum { N = 2, ROWS = 3, COLUMNS = 5, SIZE = ROWS * COLUMNS };

static const mo_adamw_options defaults = {
    .lr = 1e-2, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8, .weight_decay = 1e-2, .clip = 1};

/* Two parameters, a matrix and a scalar, and gradients times a scale. */
typedef struct problem {
    mo_tensor *p[N], *g[N];
} problem;

static void fill(mo_tensor *T, uint64_t stream, double scale) {
    double value[SIZE];
    mo_random r = mo_random_at(5, MO_PURPOSE_CHECK, stream);
    for (int64_t i = 0; i < mo_numel(T); i++)
        value[i] = scale * mo_random_normal(&r);
    HELD(mo_tensor) *wide = mo_tensor_create_from(mo_tensor_context(T), MO_F64, mo_ndim(T), T->shape, value);
    assert_int_equal(mo_tensor_copy(T, wide), MO_OK);
}

static problem problem_create(mo_context *ctx, mo_dtype real, double scale) {
    problem q;
    q.p[0] = mo_parameter(ctx, "weight", real, 2, (int64_t[]){ROWS, COLUMNS});
    q.p[1] = mo_parameter(ctx, "temperature", real, 0, NULL);
    for (int i = 0; i < N; i++) {
        q.g[i] = mo_tensor_create(ctx, real, q.p[i]->ndim, q.p[i]->shape);
        fill(q.p[i], (uint64_t)i, 1);
        fill(q.g[i], (uint64_t)(10 + i), scale);
    }
    return q;
}

static void held_problem(problem *q) {
    for (int i = 0; i < N; i++) {
        mo_tensor_release(q->p[i]);
        mo_tensor_release(q->g[i]);
    }
}

static void read_all(mo_tensor *const *T, double *out) {
    for (int i = 0; i < N; i++) {
        HELD(mo_tensor) *wide = mo_tensor_create(T[i]->ctx, MO_F64, T[i]->ndim, T[i]->shape);
        mo_tensor_copy(wide, T[i]);
        mo_tensor_read(wide, out, (size_t)mo_numel(T[i]) * sizeof *out);
        out += mo_numel(T[i]);
    }
}

enum { TOTAL = SIZE + 1 };

/* SGD number by number: m <- momentum m + g, p <- (1 - lr decay) p - lr m, with g clipped to the norm. */
static double reference_step(const mo_sgd_options *o, double lr, const double *g, double *p, double *m) {
    double norm = 0;
    for (int i = 0; i < TOTAL; i++)
        norm += g[i] * g[i];
    norm = sqrt(norm);
    double factor = o->clip > 0 ? fmin(1, o->clip / (norm + 1e-6)) : 1;
    for (int i = 0; i < TOTAL; i++) {
        m[i] = o->momentum * m[i] + factor * g[i];
        p[i] = (1 - lr * o->weight_decay) * p[i] - lr * m[i];
    }
    return norm;
}

/* Takes ten steps with growing gradients, of which some are clipped, in three forms of SGD. */
TEST_OF(steps_equal_the_formulas, scratch *s) {
    const mo_sgd_options options[] = {{0}, {.momentum = 0.9}, {.momentum = 0.5, .weight_decay = 0.1, .clip = 1}};
    const mo_dtype types[] = {MO_F32, MO_F64};
    const double tolerance[] = {2e-6, 1e-14}; /* ten steps of rounding on values of order 1 */
    for (int k = 0; k < 6; k++) {
        HELD(problem) q = problem_create(s->ctx, types[k / 3], 0.1);
        HELD(mo_optimizer) *o = mo_sgd_create(s->ctx, q.p, N, &options[k % 3]);
        double p[TOTAL], m[TOTAL] = {0}, g[TOTAL], got[TOTAL], norm;
        read_all(q.p, p);
        for (int step = 1; step <= 10; step++) {
            for (int i = 0; i < N; i++)
                fill(q.g[i], (uint64_t)(100 * step + i), 0.1 * step);
            read_all(q.g, g);
            double expected = reference_step(&options[k % 3], 0.1, g, p, m);
            assert_int_equal(mo_optimizer_step(o, q.g, 0.1, &norm), MO_OK);
            assert_true(fabs(norm - expected) < 1e-6 * expected);
        }
        read_all(q.p, got);
        for (int i = 0; i < TOTAL; i++)
            assert_true(fabs(got[i] - p[i]) < tolerance[k / 3]);
    }
}

/* An optimizer that gets another's moments and number of steps takes the same next step. */
TEST_OF(an_optimizer_goes_on_from_the_state_of_another, scratch *s) {
    double after[2][TOTAL], values[SIZE];
    HELD(problem) q = problem_create(s->ctx, MO_F64, 1);
    HELD(mo_optimizer) *o = mo_adamw_create(s->ctx, q.p, N, &defaults);
    HELD(mo_optimizer) *other = mo_adamw_create(s->ctx, q.p, N, &defaults);
    for (int step = 0; step < 3; step++)
        mo_optimizer_step(o, q.g, 1e-2, NULL);
    assert_int_equal(mo_optimizer_set_steps(other, mo_optimizer_steps(o)), MO_OK);
    assert_int_equal(mo_optimizer_steps(other), 3);
    for (int i = 0; i < N; i++)
        for (int order = 1; order <= 2; order++) {
            size_t bytes = (size_t)mo_numel(q.p[i]) * sizeof *values;
            mo_tensor_read(mo_optimizer_moment(o, i, order), values, bytes);
            mo_tensor_write(mo_optimizer_moment(other, i, order), values, bytes);
        }
    for (int k = 0; k < 2; k++) {
        fill(q.p[0], 0, 1);
        fill(q.p[1], 1, 1);
        assert_int_equal(mo_optimizer_step(k ? other : o, q.g, 1e-2, NULL), MO_OK);
        read_all(q.p, after[k]);
    }
    assert_memory_equal(after[0], after[1], sizeof after[0]);
    assert_null(mo_optimizer_moment(o, N, 1));
    assert_null(mo_optimizer_moment(o, -1, 1));
    assert_null(mo_optimizer_moment(o, 0, 3));
    mo_optimizer_set_steps(o, -1);
    assert_failed(s->ctx, MO_INVALID, PARTS("adamw: -1 steps taken"));
}

TEST_OF(norm_that_is_not_finite_changes_nothing, scratch *s) {
    const double bad[] = {NAN, INFINITY, -INFINITY};
    for (int k = 0; k < 3; k++) {
        HELD(problem) q = problem_create(s->ctx, MO_F32, 1);
        HELD(mo_optimizer) *o = mo_adamw_create(s->ctx, q.p, N, &defaults);
        double before[TOTAL], after[TOTAL];
        mo_optimizer_step(o, q.g, 1e-3, NULL);
        read_all(q.p, before);
        mo_tensor_fill(q.g[1], bad[k]);
        mo_optimizer_step(o, q.g, 1e-3, NULL);
        assert_failed(s->ctx, MO_NUMERICAL, PARTS("adamw: step 2", "temperature"));
        read_all(q.p, after);
        assert_memory_equal(before, after, sizeof before);
        assert_int_equal(o->step, 1);
    }
}

TEST_OF(gradient_may_have_any_strides, scratch *s) {
    double got[2][TOTAL];
    for (int strided = 0; strided < 2; strided++) {
        HELD(problem) q = problem_create(s->ctx, MO_F64, 1);
        HELD(mo_tape) *t = mo_tape_create(s->ctx, MO_EVAL);
        HELD(mo_optimizer) *o = mo_adamw_create(s->ctx, q.p, N, &defaults);
        double value[SIZE], turned[SIZE];
        mo_tensor_read(q.g[0], value, sizeof value);
        for (int i = 0; i < SIZE; i++)
            turned[i % COLUMNS * ROWS + i / COLUMNS] = value[i];
        mo_tensor *G[N] = {q.g[0], q.g[1]};
        if (strided)
            G[0] = mo_transpose(t, mo_from(t, MO_F64, 2, (int64_t[]){COLUMNS, ROWS}, turned));
        assert_int_equal(mo_optimizer_step(o, G, 1e-2, NULL), MO_OK);
        read_all(q.p, got[strided]);
    }
    assert_memory_equal(got[0], got[1], sizeof got[0]);
}

/* Takes three steps with these options; `after` receives the parameters. */
static void after_three_steps(mo_context *ctx, const mo_adamw_options *options, double *after) {
    HELD(problem) q = problem_create(ctx, MO_F64, 1);
    HELD(mo_optimizer) *o = mo_adamw_create(ctx, q.p, N, options);
    for (int step = 0; step < 3; step++)
        assert_int_equal(mo_optimizer_step(o, q.g, 1e-2, NULL), MO_OK);
    read_all(q.p, after);
}

TEST_OF(zeroed_options_are_the_usual_ones, scratch *s) {
    double zeroed[TOTAL], usual[TOTAL];
    after_three_steps(s->ctx, &(mo_adamw_options){0}, zeroed);
    after_three_steps(s->ctx, &(mo_adamw_options){.beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8}, usual);
    assert_memory_equal(zeroed, usual, sizeof usual);
    after_three_steps(s->ctx, &(mo_adamw_options){.epsilon = 1e-8}, zeroed); /* if any option is set, betas of 0 mean
                                                                              * 0 */
    assert_true(memcmp(zeroed, usual, sizeof usual) != 0);
}

/* tests/train/test_wrong_uses.c has gradients of another shape, freed ones, and released parameters. */
TEST_OF(wrong_gradients_and_options_are_named, scratch *s) {
    HELD(problem) q = problem_create(s->ctx, MO_F64, 1);
    mo_adamw_options bad = defaults;
    bad.beta2 = 1;
    assert_null(mo_adamw_create(s->ctx, q.p, N, &bad));
    assert_failed(s->ctx, MO_INVALID, PARTS("adamw", "betas 0.9 and 1"));
    assert_null(mo_adamw_create(s->ctx, q.p, N, NULL));
    assert_failed(s->ctx, MO_INVALID, PARTS("adamw: options is NULL"));
    assert_null(mo_sgd_create(s->ctx, q.p, N, &(mo_sgd_options){.momentum = 1}));
    assert_failed(s->ctx, MO_INVALID, PARTS("sgd: momentum is 1, expected 0 or more and below 1"));
    assert_null(mo_sgd_create(s->ctx, q.p, N, &(mo_sgd_options){.clip = -1}));
    assert_failed(s->ctx, MO_INVALID, PARTS("sgd: clip is -1, expected 0 (none) or more"));
    assert_null(mo_sgd_create(s->ctx, NULL, N, &(mo_sgd_options){0}));
    assert_failed(s->ctx, MO_INVALID, PARTS("sgd: parameters is NULL"));
    HELD(mo_optimizer) *o = mo_sgd_create(s->ctx, q.p, N, &(mo_sgd_options){0});
    mo_optimizer_step(o, NULL, 0.1, NULL);
    assert_failed(s->ctx, MO_INVALID, PARTS("sgd: grads is NULL"));
    mo_optimizer_step(o, q.g, -1, NULL);
    assert_failed(s->ctx, MO_INVALID, PARTS("sgd", "-1"));
    mo_optimizer_step(o, (mo_tensor *[]){q.g[0], NULL}, 0.1, NULL);
    assert_failed(s->ctx, MO_INVALID, PARTS("sgd: the gradient of temperature, parameter 1, is null"));
    mo_optimizer_step(o, (mo_tensor *[]){q.g[0], mo_null_tensor(s->ctx)}, 0.1, NULL);
    assert_failed(s->ctx, MO_INVALID, PARTS("sgd: the gradient of temperature, parameter 1, is null"));
    mo_tensor_fill(q.g[1], NAN);
    mo_optimizer_step(o, q.g, 0.1, &(double){0});
    assert_failed(s->ctx, MO_NUMERICAL, PARTS("sgd: step 1: the norm of the gradient is nan in temperature"));
}
