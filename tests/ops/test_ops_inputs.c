/* tests/ops/test_ops_inputs.c - every registered op treats its inputs right: one that is used twice, some that need no
 * gradient, and wrong ones. */
#include "tests/op_runs.h"

/* Whether one tensor can be both inputs i and j: equal shapes, both differentiable, and *both a draw that fits both. */
static bool exchangeable(const op_sample *s, int i, int j, mo_sample_input *both) {
    const mo_sample_input *a = &s->in[i], *b = &s->in[j];
    *both = a->draw == MO_DRAW_NORMAL ? *b : *a;
    return mo_draw_is_differentiable(a->draw) && mo_draw_is_differentiable(b->draw) && a->ndim == b->ndim &&
           !memcmp(a->shape, b->shape, (size_t)a->ndim * sizeof *a->shape) &&
           (a->draw == b->draw || a->draw == MO_DRAW_NORMAL || b->draw == MO_DRAW_NORMAL);
}

static int repeated; /* number of cases checked */

/* Compares X as inputs i and j with X and an equal twin. */
static void compare_repeated(op_case *c, int i, int j, const mo_sample_input *both) {
    mo_random r1 = mo_random_at(5, MO_PURPOSE_CHECK, 0), r2 = r1;
    mo_tensor *X = mo_sample_tensor(c->ctx, both, c->real, &r1), *twin = mo_sample_tensor(c->ctx, both, c->real, &r2);
    mo_tensor *in[MO_MAX_INPUTS];
    memcpy(in, c->in, sizeof in);
    mo_tape *t = mo_tape_create(c->ctx, MO_RECORD);
    in[i] = in[j] = X;
    op_result once = op_case_run(c, t, in);
    in[j] = twin;
    op_result apart = op_case_run(c, t, in);
    assert_case_fine(c);
    for (int64_t k = 0; k < apart.grad[i].n; k++)
        apart.grad[i].x[k] += apart.grad[j].x[k];
    assert_close(c, "gradient of repeated input", i, &once.grad[i], &apart.grad[i], 1e-13);
    assert_close(c, "gradient of repeated input", j, &once.grad[j], &apart.grad[i], 1e-13);
    assert_close(c, "output", 0, &once.out[0], &apart.out[0], 0);
    mo_tape_release(t);
    mo_tensor_release(X);
    mo_tensor_release(twin);
    repeated++;
}

static void compare_all_repeated(op_case *c) {
    mo_sample_input both;
    for (int i = 0; c->op->vjp && i < c->sample.n_in; i++)
        for (int j = i + 1; j < c->sample.n_in; j++)
            if (exchangeable(&c->sample, i, j, &both))
                compare_repeated(c, i, j, &both);
}

TEST(an_input_used_twice_gets_both_gradients) {
    for_each_case(MO_F64, compare_all_repeated);
    print_message("%d pairs of slots\n", repeated);
    assert_true(repeated >= 10);
}

/* Returns sum_i <G_i, out_i>. */
static mo_tensor *weighted(mo_tape *t, const op_case *c, mo_tensor *const *out, mo_tensor *const *gs) {
    mo_tensor *loss = NULL;
    for (int i = 0; i < mo_op_outputs(c->op); i++) {
        if (!gs[i])
            continue;
        mo_tensor *term = mo_sum(t, mo_mul(t, out[i], gs[i]), MO_ALL, MO_DROP_AXES);
        loss = loss ? mo_add(t, loss, term) : term;
    }
    return loss;
}

/* Runs mo_backward while only input k needs a gradient (-1: none), and compares with the full result. */
static void compare_alone(op_case *c, int k, const op_result *full) {
    HELD(mo_tape) *t = mo_tape_create(c->ctx, MO_RECORD);
    mo_tensor *out[MO_MAX_OUTPUTS], *gs[MO_MAX_OUTPUTS];
    for (int i = 0; i < c->sample.n_in; i++)
        c->in[i]->requires_grad = i == k;
    mo_apply_all(t, c->op, c->in, c->sample.n_in, op_case_attributes(c), out);
    assert_case_fine(c);
    op_cotangents(c, out, gs);
    mo_tensor *loss = weighted(t, c, out, gs);
    if (k < 0 && mo_tape_nodes(t) != 0)
        fail_msg("%s: recorded although no input needs a gradient", op_case_name(c));
    if (k >= 0 && loss && mo_needs_grad(loss))
        mo_backward(t, loss);
    assert_case_fine(c);
    for (int i = 0; i < c->sample.n_in; i++) {
        mo_tensor *grad = mo_grad_of(c->in[i]);
        if (i != k && grad)
            fail_msg("%s: input %d got a gradient although it needs none", op_case_name(c), i);
        if (i != k || !grad)
            continue;
        op_value got = op_value_of(grad);
        assert_close(c, "gradient of the only input", i, &got, &full->grad[i], 1e-13);
        mo_tensor_release(c->in[i]->grad);
        c->in[i]->grad = NULL;
    }
    for (int i = 0; i < mo_op_outputs(c->op); i++)
        mo_tensor_release(gs[i]);
}

static void compare_each_alone(op_case *c) {
    op_result full = op_case_plain(c);
    for (int k = -1; k < c->sample.n_in; k++)
        if (k < 0 || (c->op->vjp && mo_draw_is_differentiable(c->sample.in[k].draw)))
            compare_alone(c, k, &full);
}

TEST(inputs_that_need_no_gradient_get_none) {
    for_each_case(MO_F64, compare_each_alone);
}

static int refused; /* number of refusals */

/* Gives input i another dtype: the op must take it, or refuse it and name the dtype. */
static void compare_dtype(op_case *c, int i, mo_dtype dtype, const char *named) {
    mo_tape *t = mo_tape_create(c->ctx, MO_RECORD);
    mo_tensor *in[MO_MAX_INPUTS], *out[MO_MAX_OUTPUTS];
    memcpy(in, c->in, sizeof in);
    in[i] = mo_tensor_create(c->ctx, dtype, mo_ndim(c->in[i]), c->in[i]->shape);
    mo_tensor_fill(in[i], 1);
    mo_apply_all(t, c->op, in, c->sample.n_in, op_case_attributes(c), out);
    const mo_status *status = mo_context_status(c->ctx);
    mo_code code = mo_context_wait(c->ctx);
    refused += code == MO_MISMATCH;
    bool fits = code == MO_OK || code == MO_NUMERICAL || code == MO_MISMATCH || code == MO_INVALID;
    if (!fits || (code != MO_OK && !strstr(status->message, named)))
        fail_msg("%s, input %d of %s: %s", op_case_name(c), i, mo_dtype_name(dtype), status->message);
    mo_clear_error(c->ctx);
    mo_tape_release(t);
    mo_tensor_release(in[i]);
}

static void compare_dtypes(op_case *c) {
    for (int i = 0; i < c->sample.n_in; i++)
        if (mo_draw_is_differentiable(c->sample.in[i].draw)) {
            compare_dtype(c, i, MO_I64, "int64");
            compare_dtype(c, i, MO_F32, "float32");
        }
}

TEST(other_dtypes_are_refused_by_name) {
    for_each_case(MO_F64, compare_dtypes);
    print_message("%d inputs of another dtype refused\n", refused);
    assert_true(refused >= 200);
}

static void assert_rejected(mo_context *ctx, const mo_op *op, int k) {
    const mo_sample *e = &op->samples[k];
    mo_code expected = e->code ? e->code : MO_INVALID;
    op_sample s = op_sample_of(ctx, op, k), first = op_sample_of(ctx, op, 0);
    op_case c = op_case_open(ctx, op, &s, MO_F64);
    assert_case_fine(&c);
    HELD(mo_tape) *t = mo_tape_create(ctx, MO_RECORD);
    mo_tensor *out[MO_MAX_OUTPUTS];
    mo_apply_all(t, op, c.in, s.n_in, op_case_attributes(&c), out);
    mo_code code = mo_context_wait(ctx);
    const mo_status *status = mo_context_status(ctx);
    char start[64];
    snprintf(start, sizeof start, "%s: ", op->name);
    if (code != expected || status->code != expected)
        fail_msg("%s: code %s, expected %s (%s)", op_case_name(&c), mo_code_name(code), mo_code_name(expected),
            status->message);
    if (!strstr(status->message, e->error) || strncmp(status->message, start, strlen(start)) != 0 ||
        strchr(status->message, '\n'))
        fail_msg(
            "%s: message \"%s\", expected one line \"%s.. %s ..\"", op_case_name(&c), status->message, start, e->error);
    if (mo_context_device(ctx) != MO_CPU)
        mo_tape_reset(t); /* a device reads values after the call, so there is a result */
    for (int i = 0; i < mo_op_outputs(op) && mo_context_device(ctx) == MO_CPU; i++)
        assert_true(mo_is_null(out[i]));
    assert_int_equal(mo_tape_nodes(t), 0);
    mo_clear_error(ctx);
    op_case_close(&c);
    op_case again = op_case_open(ctx, op, &first, MO_F64);
    op_case_run(&again, t, again.in); /* tape and context can be used again */
    assert_case_fine(&again);
    op_case_close(&again);
}

TEST(wrong_inputs_give_their_error_and_no_harm) {
    HELD(mo_context) *ctx = op_context(1);
    int count = 0;
    for (int i = 0; i < mo_n_ops(ctx); i++) {
        const mo_op *op = mo_op_at(ctx, i);
        for (int k = mo_n_samples(op); k < op->n_samples; k++, count++)
            assert_rejected(ctx, op, k);
    }
    print_message("%d error samples\n", count);
}

/* Inputs that every op refuses before its shape rule is called. */
TEST(null_and_foreign_inputs_are_refused) {
    HELD(mo_context) *ctx = op_context(1), *other = op_context(1);
    HELD(mo_tape) *t = mo_tape_create(ctx, MO_RECORD), *second = mo_tape_create(ctx, MO_RECORD);
    mo_tensor *X = mo_full(t, MO_F64, 1, (int64_t[]){2}, 1);
    HELD(mo_tensor) *foreign = mo_tensor_create(other, MO_F64, 1, (int64_t[]){2});
    mo_exp(t, NULL);
    assert_failed(ctx, MO_INVALID, PARTS("exp: input 0 is null"));
    mo_softmax(t, NULL, MO_AXIS(0));
    assert_failed(ctx, MO_INVALID, PARTS("softmax: input 0 is null"));
    mo_logsumexp(t, NULL, MO_AXIS(0), MO_KEEP_AXES);
    assert_failed(ctx, MO_INVALID, PARTS("logsumexp: input 0 is null"));
    mo_mean(t, mo_null_tensor(ctx), MO_ALL, MO_DROP_AXES);
    assert_failed(ctx, MO_INVALID, PARTS("sum: input 0 is null"));
    mo_add(t, X, foreign);
    assert_failed(ctx, MO_MISMATCH, PARTS("add: input 1 belongs to another context"));
    mo_add(second, X, X);
    assert_failed(ctx, MO_MISMATCH, PARTS("add: input 0 belongs to another tape"));
}
