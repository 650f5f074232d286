/* tests/autograd/test_autograd.c - gradients, and gradients of gradients, on toy ops. */
#include "tests/toy_ops.h"

TEST_OF(grad_equals_backward, toy *y) {
    mo_tensor *a = toy_leaf(y, 2, 3), *b = toy_leaf(y, 5, 7), *grads[2];
    mo_tensor *loss = toy_sum(y->t, toy_mul(y->t, toy_mul(y->t, a, b), a)); /* loss = sum(a a b) */
    assert_int_equal(mo_grad(y->t, &loss, NULL, 1, (mo_tensor *[]){a, b}, grads, 2, MO_RETAIN), MO_OK);
    assert_values(grads[0], 2 * 2 * 5, 2 * 3 * 7);
    assert_values(grads[1], 4, 9);
    assert_null(mo_grad_of(a));
    assert_int_equal(mo_backward(y->t, loss), MO_OK);
    assert_values(mo_grad_of(a), at(grads[0], 0), at(grads[0], 1));
    assert_values(mo_grad_of(b), at(grads[1], 0), at(grads[1], 1));
}

TEST_OF(backward_adds_to_leaves_until_they_are_zeroed, toy *y) {
    mo_tensor *a = toy_leaf(y, 2, 3);
    for (int i = 1; i <= 3; i++) {
        mo_backward(y->t, toy_sum(y->t, toy_mul(y->t, a, a)));
        assert_values(mo_grad_of(a), 4 * i, 6 * i);
    }
    mo_zero_grad(a);
    assert_values(mo_grad_of(a), 0, 0);
}

TEST_OF(cotangents_weigh_the_outputs_and_may_be_missing, toy *y) {
    mo_tensor *a = toy_leaf(y, 2, 3), *g;
    mo_tensor *ys[] = {toy_mul(y->t, a, a), toy_add(y->t, a, a)};
    mo_tensor *gs[] = {mo_from(y->t, MO_F64, 1, (int64_t[]){2}, (double[]){10, 100}), NULL};
    assert_int_equal(mo_grad(y->t, ys, gs, 2, &a, &g, 1, 0), MO_OK);
    assert_values(g, 10 * 4 + 2, 100 * 6 + 2);
}

TEST_OF(gradients_of_intermediate_values, toy *y) {
    mo_tensor *a = toy_leaf(y, 2, 3), *b = toy_mul(y->t, a, a), *c = toy_mul(y->t, b, b), *grads[3];
    /* dc/dc, dc/db and dc/da */
    assert_int_equal(mo_grad(y->t, &c, NULL, 1, (mo_tensor *[]){c, b, a}, grads, 3, 0), MO_OK);
    assert_values(grads[0], 1, 1);
    assert_values(grads[1], 8, 18);
    assert_values(grads[2], 32, 108);
}

TEST_OF(unconnected_inputs_have_zero_gradient, toy *y) {
    mo_tensor *a = toy_leaf(y, 2, 3), *b = toy_leaf(y, 5, 7), *data = toy_leaf(y, 1, 1), *grads[3];
    data->requires_grad = false;
    mo_tensor *later = toy_mul(y->t, b, b), *root = toy_mul(y->t, a, data);
    assert_int_equal(mo_grad(y->t, &root, NULL, 1, (mo_tensor *[]){b, later, data}, grads, 3, 0), MO_OK);
    for (int i = 0; i < 3; i++)
        assert_values(grads[i], 0, 0);
}

/* Zeros could be taken for a gradient; PyTorch raises here too. */
TEST_OF(outputs_that_need_no_gradient_are_an_error_unless_allowed, toy *y) {
    mo_tensor *a = toy_leaf(y, 2, 3), *data = toy_leaf(y, 1, 1), *g, *h;
    data->requires_grad = false;
    mo_tensor *root = toy_mul(y->t, data, data);
    assert_int_equal(mo_grad(y->t, &root, NULL, 1, &a, &g, 1, 0), MO_INVALID);
    assert_failed(y->ctx, MO_INVALID, PARTS("grad: output 0, made by toy_mul depends on nothing", "MO_ALLOW_UNUSED"));
    assert_true(mo_is_null(g));
    assert_int_equal(mo_grad(y->t, &root, NULL, 1, &a, &g, 1, MO_ALLOW_UNUSED), MO_OK);
    assert_values(g, 0, 0);
    mo_tensor *both[] = {root, toy_mul(y->t, a, a)}; /* one output that depends on a is enough */
    assert_int_equal(mo_grad(y->t, both, NULL, 2, &a, &g, 1, MO_RETAIN), MO_OK);
    assert_values(g, 4, 6);
    mo_tensor *slope = toy_sum(y->t, g); /* g has no graph, as mo_grad did not record it */
    assert_int_equal(mo_grad(y->t, &slope, NULL, 1, &a, &h, 1, 0), MO_INVALID);
    assert_failed(y->ctx, MO_INVALID, PARTS("made by toy_sum depends on nothing", "with MO_CREATE_GRAPH"));
    assert_int_equal(mo_grad(y->t, &both[1], NULL, 1, &a, &g, 1, MO_CREATE_GRAPH), MO_OK);
    assert_int_equal(mo_grad(y->t, &g, NULL, 1, &a, &h, 1, 0), MO_OK);
    assert_values(h, 2, 2);
    mo_tape_set_mode(y->t, MO_EVAL);
    root = toy_mul(y->t, a, a);
    mo_grad(y->t, &root, NULL, 1, &a, &g, 1, 0);
    assert_failed(y->ctx, MO_INVALID, PARTS("the tape is in MO_EVAL"));
    mo_grad(y->t, &root, NULL, 0, &a, &g, 1, 0);
    assert_failed(y->ctx, MO_INVALID, PARTS("grad: no outputs, expected 1 or more"));
    mo_grad(y->t, &root, NULL, 1, &a, &g, -1, 0);
    assert_failed(y->ctx, MO_INVALID, PARTS("1 outputs and -1 inputs"));
}

TEST_OF(only_tensors_that_need_it_get_a_gradient, toy *y) {
    mo_tensor *a = toy_leaf(y, 2, 3), *data = toy_leaf(y, 5, 7);
    data->requires_grad = false;
    mo_tensor *constant = mo_full(y->t, MO_F64, 1, (int64_t[]){2}, 3);
    mo_tensor *alone = toy_mul(y->t, data, constant);
    assert_false(mo_needs_grad(alone));
    assert_int_equal(mo_tape_nodes(y->t), 0);
    mo_backward(y->t, toy_sum(y->t, toy_mul(y->t, a, alone)));
    assert_values(mo_grad_of(a), 15, 21);
    assert_null(mo_grad_of(data));
    assert_null(mo_grad_of(constant));
}

TEST_OF(stop_gradient_holds_a_factor_fixed, toy *y) {
    mo_tensor *a = toy_leaf(y, 2, 3);
    mo_backward(y->t, toy_sum(y->t, toy_mul(y->t, a, mo_stop_gradient(y->t, a))));
    assert_values(mo_grad_of(a), 2, 3);
}

TEST_OF(constants_of_a_tape_can_be_leaves, toy *y) {
    mo_tensor *c = mo_require_grad(mo_from(y->t, MO_F64, 1, (int64_t[]){2}, (double[]){2, 3}));
    mo_backward(y->t, toy_sum(y->t, toy_mul(y->t, c, c)));
    assert_values(mo_grad_of(c), 4, 6);
    assert_int_equal(mo_context_status(y->ctx)->code, MO_OK);
    mo_require_grad(toy_mul(y->t, c, c));
    assert_failed(y->ctx, MO_STATE, PARTS("computed by toy_mul", "only leaves"));
}

TEST_OF(tapes_share_parameters, toy *y) {
    HELD(mo_tensor) *p = mo_parameter(y->ctx, "weight", MO_F64, 1, (int64_t[]){2});
    mo_tensor_write(p, (double[]){2, 3}, 16);
    HELD(mo_tape) *other = mo_tape_create(y->ctx, MO_RECORD);
    mo_tensor *first = toy_sum(y->t, toy_mul(y->t, p, p)), *second = toy_sum(other, toy_mul(other, p, p));
    mo_backward(other, second);
    assert_values(mo_grad_of(p), 4, 6);
    mo_backward(y->t, first);
    assert_values(mo_grad_of(p), 8, 12);
    assert_string_equal(mo_tensor_name(p), "weight");
}

/* Y = X^3. Its rule does not know the derivative: it asks the tape for the gradient of X X X. */
static void cube_forward(mo_call *c) {
    mo_view x = mo_tensor_view(c->in[0]), y = mo_tensor_view(c->out[0]);
    mo_kernels_of(c->ctx, y.dtype)->map1(c->ctx, MO_MAP_POW, 3, 0, &x, &y);
}

static void cube_vjp(mo_vjp *v) {
    mo_tape *t = v->t;
    mo_tape_set_mode(t, MO_RECORD); /* the rule records even if the caller does not */
    mo_tensor *one = mo_full(t, MO_F64, v->in[0]->ndim, v->in[0]->shape, 1), *x = toy_mul(t, v->in[0], one);
    mo_tensor *y = toy_mul(t, toy_mul(t, x, x), x);
    mo_grad(t, &y, v->out_bar, 1, &x, &v->in_bar[0], 1, MO_CREATE_GRAPH);
}

static const mo_op cube_op = {.name = "cube",
    .n_in = 1,
    .reads_in = 1,
    .shape = toy_shape,
    .forward = cube_forward,
    .vjp = cube_vjp,
    .samples = (const mo_sample[]){{.name = "vector", .in = "[3]"}},
    .n_samples = 1};

TEST_OF(more_attributes_than_a_node_holds_are_refused, toy *y) {
    mo_op wide = cube_op;
    wide.attributes_size = 4 * MO_MAX_ATTRIBUTES;
    mo_tensor *a = toy_leaf(y, 2, -3);
    assert_true(mo_is_null(mo_apply(y->t, &wide, &a, 1, NULL)));
    assert_failed(y->ctx, MO_INVALID, PARTS("apply: the options of op cube are 4096 bytes, expected at most 1024"));
}

TEST_OF(a_rule_may_take_gradients_itself, toy *y) {
    mo_tensor *a = toy_leaf(y, 2, -3);
    mo_tensor *loss = toy_sum(y->t, mo_apply(y->t, &cube_op, &a, 1, NULL));
    int64_t nodes = mo_tape_nodes(y->t);
    assert_int_equal(mo_backward(y->t, loss), MO_OK);
    assert_values(mo_grad_of(a), 12, 27);
    assert_int_equal(mo_tape_nodes(y->t), nodes); /* the nodes that the rule recorded are freed */
    mo_zero_grad(a);
    assert_int_equal(mo_backward(y->t, toy_sum(y->t, mo_apply(y->t, &cube_op, &a, 1, NULL))), MO_OK);
    assert_values(mo_grad_of(a), 12, 27);
    mo_check_result r = mo_check_op(y->ctx, &cube_op, 2, 11);
    expect_pass(r);
}

static mo_mode mode_seen;

static void watching_vjp(mo_vjp *v) {
    mode_seen = mo_tape_mode(v->t);
    cube_vjp(v);
}

/* The rule of the cube sets a mode; the rule that runs next finds the mode that a rule finds which runs first. */
TEST_OF(a_rules_mode_ends_with_it, toy *y) {
    mo_op watching = cube_op;
    mo_mode seen[2];
    watching.vjp = watching_vjp;
    for (int first = 0; first < 2; first++) {
        mo_tensor *a = toy_leaf(y, 1, 2);
        mo_tensor *inner = mo_apply(y->t, first ? &cube_op : &watching, &a, 1, NULL);
        mo_tensor *loss = toy_sum(y->t, mo_apply(y->t, first ? &watching : &cube_op, &inner, 1, NULL));
        mo_tape_set_mode(y->t, MO_EVAL);
        assert_int_equal(mo_backward(y->t, loss), MO_OK);
        assert_int_equal(mo_tape_mode(y->t), MO_EVAL);
        mo_tape_set_mode(y->t, MO_RECORD);
        seen[first] = mode_seen;
    }
    assert_int_equal(seen[0], seen[1]);
}

TEST_OF(errors_of_backward_say_what_is_wrong, toy *y) {
    mo_tensor *a = toy_leaf(y, 2, 3), *data = toy_leaf(y, 2, 3), *g;
    data->requires_grad = false;
    mo_backward(y->t, toy_mul(y->t, a, a));
    assert_failed(y->ctx, MO_INVALID, PARTS("backward: the loss is [2], expected a scalar"));
    mo_gradients(y->t, toy_mul(y->t, a, a), &a, &g, 1);
    assert_failed(y->ctx, MO_INVALID, PARTS("gradients: the loss is [2], expected a scalar"));
    assert_true(mo_is_null(g));
    assert_int_equal(mo_gradients(y->t, toy_sum(y->t, toy_mul(y->t, a, a)), &a, &g, 1), MO_OK);
    assert_true(at(g, 0) == 4 && at(g, 1) == 6);
    mo_backward(y->t, toy_sum(y->t, data));
    assert_failed(y->ctx, MO_INVALID, PARTS("depends on nothing that needs a gradient"));
    mo_tensor *root = toy_mul(y->t, a, a), *wrong = mo_scalar(y->t, MO_F64, 1);
    mo_grad(y->t, &root, &wrong, 1, &a, &g, 1, 0);
    assert_failed(y->ctx, MO_INVALID, PARTS("cotangent [] float64, expected [2] float64"));
    assert_true(mo_is_null(g));
    mo_backward(y->t, NULL);
    assert_failed(y->ctx, MO_INVALID, PARTS("output 0 is null"));
    HELD(mo_tape) *other = mo_tape_create(y->ctx, MO_RECORD);
    toy_mul(other, root, a);
    assert_failed(y->ctx, MO_MISMATCH, PARTS("toy_mul: input 0 belongs to another tape"));
    mo_grad(other, &root, NULL, 1, &a, &g, 1, 0);
    assert_failed(y->ctx, MO_MISMATCH, PARTS("belongs to another tape"));
}

typedef struct heard {
    int calls;
    mo_code code;
    char message[1024];
} heard;

static void hear(const mo_status *status, void *state) {
    heard *h = state;
    h->calls++;
    h->code = status->code;
    snprintf(h->message, sizeof h->message, "%s", status->message);
}

static void refusing(mo_tape *t, mo_tensor *const *in, int n_in, mo_tensor **out, int n_out, void *state) {
    if (mo_ndim(in[0]) == 1)
        out[0] = toy_mul(t, in[0], in[0]);
    else
        mo_fail(mo_tape_context(t), MO_INVALID, "one axis alone");
}

/* on_error is called once for each first error, where it is raised; not for errors that the checker tries and
 * clears. */
BARE_TEST(on_error_hears_the_first_error) {
    heard h = {0};
    HELD(mo_context) *ctx = mo_context_create(&(mo_context_options){.on_error = hear, .on_error_state = &h});
    HELD(mo_tape) *t = mo_tape_create(ctx, MO_RECORD);
    HELD(mo_tensor) *a = toy_leaf_apart(ctx, 2, 3);
    assert_true(mo_check_function(ctx, refusing, NULL, &a, 1, 1, 2, 1e-6, 1).pass);
    assert_int_equal(h.calls, 0);
    toy_mul(t, a, mo_scalar(t, MO_F64, 1));
    assert_int_equal(h.calls, 1);
    assert_int_equal(h.code, MO_INVALID);
    assert_non_null(strstr(h.message, "toy_mul: expected equal sizes"));
    toy_mul(t, a, NULL);
    assert_int_equal(h.calls, 1); /* the first error stays, so no call */
    mo_clear_error(ctx);
    toy_mul(t, a, NULL);
    assert_int_equal(h.calls, 2);
    mo_clear_error(ctx);
}
