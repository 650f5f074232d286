/* tests/ops/test_recompute.c - gradient checkpointing: no intermediate value stays, every run starts with the same
 * state, and what the function must not do is an error. The suites of all ops check its derivatives to order two. */
#include "ops/inside.h"
#include "tests/scratch.h"

enum { DEPTH = 24, WIDTH = 64 };

/* A chain of layers; a plain backward keeps the values of all of them. */
static mo_tensor *deep(mo_tape *t, mo_tensor *const *in, int n, void *state) {
    mo_tensor *X = in[0];
    for (int i = 0; i < DEPTH; i++)
        X = mo_tanh(t, mo_matmul(t, X, in[1]));
    return X;
}

static mo_tensor *filled(mo_context *ctx, double value) {
    mo_tensor *X = mo_tensor_create(ctx, MO_F64, 2, (int64_t[]){WIDTH, WIDTH});
    mo_tensor_fill(X, value);
    return mo_require_grad(X);
}

typedef struct cost {
    int64_t nodes, after_forward, peak;
    double gradient;
} cost;

/* Runs four chains of layers one after another, plain or recomputed. */
static cost run_stretches(mo_context *ctx, mo_tensor *const in[2], bool recompute) {
    HELD(mo_tape) *t = mo_tape_create(ctx, MO_RECORD);
    mo_context_reset_peaks(ctx);
    mo_tensor *part[2] = {in[0], in[1]}, *grad;
    for (int i = 0; i < 4; i++)
        part[0] = recompute ? mo_recompute(t, deep, part, 2, NULL, 0) : deep(t, part, 2, NULL);
    mo_tensor *y = mo_sum(t, part[0], MO_ALL, MO_DROP_AXES);
    cost c = {.nodes = mo_tape_nodes(t), .after_forward = mo_context_counters(ctx).tape_live};
    mo_grad(t, &y, NULL, 1, (mo_tensor *[]){in[1]}, &grad, 1, 0);
    c.peak = mo_context_counters(ctx).tape_peak;
    double g[WIDTH * WIDTH];
    mo_tensor_read(grad, g, sizeof g);
    c.gradient = g[WIDTH + 1];
    assert_true(mo_ok(ctx));
    return c;
}

TEST_OF(memory_holds_the_inside_of_one_stretch, mo_context *ctx) {
    HELD(mo_tensor) *X = filled(ctx, 0.3), *W = filled(ctx, 0.01);
    mo_tensor *in[2] = {X, W};
    cost plain = run_stretches(ctx, in, false), recomputed = run_stretches(ctx, in, true);
    const int64_t matrix = WIDTH * WIDTH * (int64_t)sizeof(double);
    print_message("after forward %lld and %lld KiB, at most %lld and %lld KiB\n", (long long)plain.after_forward / 1024,
        (long long)recomputed.after_forward / 1024, (long long)plain.peak / 1024, (long long)recomputed.peak / 1024);
    assert_int_equal(recomputed.nodes, 4 + 1);
    assert_true(plain.after_forward > 8 * DEPTH * matrix);
    assert_true(recomputed.after_forward <= 6 * matrix);
    assert_true(recomputed.peak <= (2 * DEPTH + 16) * matrix);
    /* The same ops on the same numbers in the same order, but OpenBLAS's kernels for unknown processors round by an
     * operand's address. */
    assert_true(fabs(recomputed.gradient - plain.gradient) <= 1e-13 * fabs(plain.gradient));
}

/* Draws from its state, which advances. */
static mo_tensor *masked(mo_tape *t, mo_tensor *const *in, int n, void *state) {
    return mo_dropout(t, mo_square(t, in[0]), 0.5, state);
}

TEST_OF(every_run_begins_with_the_same_state, mo_context *ctx) {
    HELD(mo_tape) *t = mo_tape_create(ctx, MO_RECORD);
    HELD(mo_tensor) *X = filled(ctx, 3);
    mo_tensor *grad;
    mo_random *r = malloc(sizeof *r);
    *r = mo_random_at(5, MO_PURPOSE_DROPOUT, 2);
    mo_tensor *Y = mo_keep(mo_recompute(t, masked, &X, 1, r, sizeof *r)), *y = mo_sum(t, Y, MO_ALL, MO_DROP_AXES);
    assert_int_equal(r->index, 0); /* only the copy of the state has advanced */
    free(r);
    mo_grad(t, &y, NULL, 1, &X, &grad, 1, 0);
    double value[WIDTH * WIDTH], g[WIDTH * WIDTH];
    mo_tensor_read(Y, value, sizeof value);
    mo_tensor_read(grad, g, sizeof g);
    assert_true(mo_ok(ctx));
    int kept = 0;
    for (int i = 0; i < WIDTH * WIDTH; i++) {
        kept += value[i] != 0;
        assert_true(g[i] == (value[i] != 0 ? 12 : 0) && value[i] == (value[i] != 0 ? 18 : 0));
    }
    assert_true(kept > WIDTH * WIDTH / 3 && kept < 2 * WIDTH * WIDTH / 3);
}

/* Reads a tensor that is not one of its inputs. */
static mo_tensor *captures(mo_tape *t, mo_tensor *const *in, int n, void *state) {
    return mo_mul(t, in[0], state);
}

TEST_OF(a_hidden_input_that_needs_a_gradient_is_an_error, mo_context *ctx) {
    HELD(mo_tape) *t = mo_tape_create(ctx, MO_RECORD);
    HELD(mo_tensor) *X = filled(ctx, 1), *hidden = filled(ctx, 2);
    mo_tensor *Y = mo_recompute(t, captures, &X, 1, mo_stop_gradient(t, hidden), 0); /* allowed, as it needs no
                                                                                      * gradient */
    assert_true(mo_ok(ctx) && mo_needs_grad(Y));
    assert_true(mo_is_null(mo_recompute(t, captures, &X, 1, hidden, 0)));
    assert_failed(ctx, MO_INVALID, PARTS("recompute: the function reads a tensor that needs a gradient", "[64, 64]"));
    char large[MO_MAX_STATE + 1] = {0};
    assert_true(mo_is_null(mo_recompute(t, captures, &X, 1, large, sizeof large)));
    assert_failed(ctx, MO_INVALID, PARTS("recompute: 257 bytes of state, expected at most 256"));
}

TEST_OF(in_eval_only_the_result_stays, mo_context *ctx) {
    HELD(mo_tape) *t = mo_tape_create(ctx, MO_EVAL);
    HELD(mo_tensor) *X = filled(ctx, 0.3), *W = filled(ctx, 0.01);
    mo_tensor *in[2] = {X, W};
    mo_recompute(t, deep, in, 2, NULL, 0);
    assert_int_equal(mo_context_counters(ctx).tape_live, WIDTH * WIDTH * sizeof(double));
    assert_int_equal(mo_tape_nodes(t), 0);
}
