/* tests/autograd/test_gradcheck.c - the checker accepts right rules, certifies them, and names what it cannot check.
 * test_wrong_rules.c tests that it finds wrong rules. */
#include "tests/toy_ops.h"

static const fixtures around_each = {toy_create, toy_release};

/* ---- C = A B for [3, 3]; each test chooses the rule ---- */

static void product_forward(mo_call *c) {
    mo_gemm g = {.A = mo_tensor_view(c->in[0]), .B = mo_tensor_view(c->in[1]), .C = mo_tensor_view(c->out[0])};
    g.alpha = 1;
    mo_kernels_of(c->ctx, g.C.dtype)->gemm(c->ctx, &g);
}

static void swap_forward(mo_call *c) {
    const mo_tensor *X = c->in[0];
    mo_call_view(c, 2, X->shape, (int64_t[]){X->stride[1], X->stride[0]}, 0);
}

static bool swap_shape(mo_call *c) {
    return mo_call_real(c, 0, 0);
}

static void swap_vjp(mo_vjp *v) {
    v->in_bar[0] = mo_apply(v->t, v->op, v->out_bar, 1, NULL);
}

static const mo_sample square_samples[] = {
    {.name = "square", .in = "[3, 3] [3, 3]"},
};

static const mo_op swap_op = {.name = "swap",
    .n_in = 1,
    .is_view = true,
    .shape = swap_shape,
    .forward = swap_forward,
    .vjp = swap_vjp,
    MO_SAMPLES(square_samples)};

static mo_tensor *product(mo_vjp *v, mo_tensor *A, mo_tensor *B) {
    return mo_apply(v->t, v->op, (mo_tensor *[]){A, B}, 2, NULL);
}

static mo_tensor *swapped(mo_vjp *v, mo_tensor *A) {
    return mo_apply(v->t, &swap_op, &A, 1, NULL);
}

static void right_vjp(mo_vjp *v) {
    if (v->needs[0])
        v->in_bar[0] = product(v, v->out_bar[0], swapped(v, v->in[1]));
    if (v->needs[1])
        v->in_bar[1] = product(v, swapped(v, v->in[0]), v->out_bar[0]);
}

/* The rule treats the cotangent as data. Order 1 is right, but the jvp is lost: it differentiates in the cotangent. */
static void cut_cotangent(mo_vjp *v) {
    mo_tensor *bar = mo_stop_gradient(v->t, v->out_bar[0]);
    if (v->needs[0])
        v->in_bar[0] = product(v, bar, swapped(v, v->in[1]));
    if (v->needs[1])
        v->in_bar[1] = product(v, swapped(v, v->in[0]), bar);
}

static mo_op product_with(void (*vjp)(mo_vjp *v)) {
    return (mo_op){.name = "product",
        .n_in = 2,
        .reads_in = 3,
        .shape = toy_shape,
        .forward = product_forward,
        .vjp = vjp,
        .samples = square_samples,
        .n_samples = 1};
}

TEST_OF(right_rules_pass_both_orders, toy *y) {
    mo_op op = product_with(right_vjp);
    for (int order = 1; order <= 2; order++) {
        mo_check_result r = mo_check_op(y->ctx, &op, order, 1);
        if (!r.pass || r.samples != 1)
            fail_msg("order %d, %d samples: %s", order, r.samples, r.worst);
    }
}

TEST_OF(the_certificate_sees_a_lost_cotangent, toy *y) {
    mo_op right = product_with(right_vjp), cut = product_with(cut_cotangent);
    mo_check_result r = mo_check_op(y->ctx, &right, 0, 1);
    if (!r.pass || r.samples != 1)
        fail_msg("%d samples: %s", r.samples, r.worst);
    assert_true(mo_check_op(y->ctx, &cut, 1, 1).pass);
    r = mo_check_op(y->ctx, &cut, 0, 1);
    assert_false(r.pass);
    assert_non_null(strstr(r.worst, "sample \"square\": <J v, w> 0, <v, J^T w> "));
}

TEST_OF(ops_without_samples_fail, toy *y) {
    mo_op op = product_with(right_vjp);
    op.n_samples = 0;
    assert_false(mo_check_op(y->ctx, &op, 1, 1).pass);
}

/* Samples that the op refuses, then those that cannot be read. */
TEST_OF(samples_of_no_use_are_failures_by_name, toy *y) {
    static const char refused[] = "sample \"square\": product: ", unread[] = "op product, sample square: expected ";
    static const struct {
        const char *in, *message;
    } wrong[] = {{"[3, 3] [4, 3]", "sample \"square\": product: expected equal sizes"}, {NULL, refused},
        {"[3, 4", unread}, {"3 4", unread}, {"cube[3]", unread}, {"index<7[3]", unread}, {"[3, x]", unread},
        {"[-1]", unread}, {"[3];", unread}, {"spd", unread}, {"[1, 1, 1, 1, 1, 1, 1, 1, 1]", unread}};
    mo_op op = product_with(right_vjp);
    mo_sample s = square_samples[0];
    op.samples = &s;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        s.in = wrong[i].in;
        mo_check_result r = mo_check_op(y->ctx, &op, 1, 1);
        bool named = wrong[i].message != unread || strstr(r.worst, s.in);
        if (r.pass || !named || !strstr(r.worst, wrong[i].message))
            fail_msg("%s: %s", s.in, r.worst);
        assert_true(mo_ok(y->ctx));
    }
}

/* ---- a user's graph code ---- */

static void cubic(mo_tape *t, mo_tensor *const *in, int n_in, mo_tensor **out, int n_out, void *state) {
    assert_int_equal(n_in + n_out, 3);
    mo_tensor *x = *(bool *)state ? mo_stop_gradient(t, in[0]) : in[0];
    out[0] = toy_mul(t, toy_mul(t, x, in[1]), in[0]);
}

TEST_OF(functions_are_checked_like_ops, toy *y) {
    mo_tensor *in[] = {toy_leaf(y, 2, 3), toy_leaf(y, -1, 0.5)};
    bool cut = false;
    for (int order = 0; order <= 2; order++)
        assert_true(mo_check_function(y->ctx, cubic, &cut, in, 2, 1, order, 1e-7, 5).pass);
    cut = true;
    mo_check_result r = mo_check_function(y->ctx, cubic, &cut, in, 2, 1, 1, 1e-7, 5);
    assert_false(r.pass);
    assert_non_null(strstr(r.worst, "input 0"));
    /* jvp and vjp have the same wrong Jacobian, so the certificate, which compares them, passes */
    assert_true(mo_check_function(y->ctx, cubic, &cut, in, 2, 1, 0, 1e-10, 5).pass);
    assert_values(in[0], 2, 3); /* the checker restored the values */
}
