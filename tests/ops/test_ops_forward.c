/* tests/ops/test_ops_forward.c - every registered op gives the same result in both float types, for any strides of its
 * inputs and any number of threads. */
#include "tests/op_variants.h"

/* 2^-24 per rounding: samples have rows of at most a dozen terms and matrices of condition below 100, and gradients
 * pass through two or three such operations. */
static const double float32_tolerance = 1e-5;

static void compare_float_types(op_case *c) {
    op_case single = op_case_open(c->ctx, c->op, &c->sample, MO_F32);
    op_result got = op_case_plain(&single), expected = op_case_plain(c);
    assert_results_close(&single, &got, &expected, float32_tolerance);
    op_case_close(&single);
}

TEST(float32_agrees_with_float64) {
    print_message("%d samples\n", for_each_case(MO_F64, compare_float_types));
}

/* Compares results for other strides up to rounding, as products then take other code paths. */
static void compare_strides(op_case *c) {
    HELD(mo_tape) *t = mo_tape_create(c->ctx, MO_RECORD);
    mo_tensor *in[MO_MAX_INPUTS];
    for (int i = 0; i < c->sample.n_in; i++)
        in[i] = strided(t, c->in[i]);
    assert_case_fine(c);
    for (int i = 0; i < c->sample.n_in; i++)
        assert_true(mo_numel(in[i]) < 2 || mo_ndim(in[i]) == MO_MAX_AXES || !mo_is_contiguous(in[i]));
    op_result got = op_case_run(c, t, in);
    if (!mo_ok(c->ctx) && c->op->is_view && strstr(mo_context_status(c->ctx)->message, "mo_contiguous")) {
        mo_clear_error(c->ctx); /* refused: a view op never copies, and these strides allow no view */
    } else {
        assert_case_fine(c);
        op_result expected = op_case_plain(c);
        assert_results_close(c, &got, &expected, c->real == MO_F64 ? 1e-13 : 1e-6);
    }
}

TEST(strides_of_inputs_do_not_matter) {
    for_each_case(MO_F64, compare_strides);
    for_each_case(MO_F32, compare_strides);
}

static bool same_bits(const op_value *a, const op_value *b) {
    return a->n == b->n && (a->n < 0 || !memcmp(a->raw, b->raw, a->bytes));
}

static void assert_same_bits(const op_case *c, const op_result *got, const op_result *expected) {
    for (int i = 0; i < mo_op_outputs(c->op); i++)
        if (!same_bits(&got->out[i], &expected->out[i]))
            fail_msg("%s: output %d has other bits on two threads", op_case_name(c), i);
    for (int i = 0; i < c->sample.n_in; i++)
        if (!same_bits(&got->grad[i], &expected->grad[i]))
            fail_msg("%s: the gradient of input %d has other bits on two threads", op_case_name(c), i);
}

static void compare_threads_of(const mo_op *op, const op_sample *s, mo_dtype real) {
    HELD(mo_context) *one = op_context(1), *two = op_context(2);
    op_case a = op_case_open(one, op, s, real), b = op_case_open(two, op, s, real);
    op_result expected = op_case_plain(&a), got = op_case_plain(&b);
    assert_same_bits(&b, &got, &expected);
    op_case_close(&a);
    op_case_close(&b);
}

static void compare_threads(op_case *c) {
    compare_threads_of(c->op, &c->sample, c->real);
}

/* Makes the first axis of sample k of an op long, so that two threads share the work. */
static void compare_threads_of_long(mo_context *ctx, const char *name, int k, int64_t rows, mo_dtype real) {
    const mo_op *op = mo_find_op(ctx, name);
    op_sample s = op_sample_of(ctx, op, k);
    int64_t old = s.in[0].shape[0];
    for (int i = 0; i < s.n_in; i++)
        if (s.in[i].ndim && s.in[i].shape[0] == old)
            s.in[i].shape[0] = rows;
    compare_threads_of(op, &s, real);
}

/* Gives the inputs of sample k of an op these shapes. */
static void compare_threads_of_wide(mo_context *ctx, const char *name, int k, const int64_t (*shape)[3]) {
    const mo_op *op = mo_find_op(ctx, name);
    op_sample s = op_sample_of(ctx, op, k);
    for (int i = 0; i < s.n_in; i++)
        memcpy(s.in[i].shape, shape[i], sizeof shape[i]);
    compare_threads_of(op, &s, MO_F32);
}

TEST(threads_give_equal_bits) {
    HELD(mo_context) *ctx = op_context(1);
    for_each_case(MO_F32, compare_threads);
    const char *names[] = {"add", "mul", "exp", "relu", "sum", "max", "logsumexp", "softmax", "log_softmax",
        "softmax_cross_entropy", "layer_norm", "l2_normalize", "row_norm", "dropout", "contiguous", "append_ones",
        "linear"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        compare_threads_of_long(ctx, names[i], 0, 20011, MO_F32);
        compare_threads_of_long(ctx, names[i], 0, 20011, MO_F64);
    }
    compare_threads_of_long(ctx, "matmul", 0, 20011, MO_F32);
    compare_threads_of_long(ctx, "matmul", 1, 5003, MO_F32);
    compare_threads_of_long(ctx, "solve_spd", 1, 5003, MO_F32);
    compare_threads_of_wide(ctx, "svm_dual", 1, (int64_t[][3]){{256, 24, 24}, {256, 24, 4}, {256}});
    compare_threads_of_wide(ctx, "hop_attention", 0, (int64_t[][3]){{4, 300, 64}, {64, 128}, {64}, {1, 64}, {1}});
}
