/* tests/ops/test_arithmetic.c - elementwise ops at the edges of their domains, broadcasting both ways, casts. */
#include "ops/inside.h"
#include "tests/toy_ops.h"

/* The gradient in the leaf X of Y, whose cotangent is one. */
static mo_tensor *grad_in(toy *y, mo_tensor *Y, mo_tensor *X) {
    mo_tensor *g;
    assert_int_equal(mo_grad(y->t, &Y, NULL, 1, &X, &g, 1, MO_RETAIN), MO_OK);
    return g;
}

static void division_by_zero_is_infinite_or_zero_by_name(void **state) {
    toy *y = *state;
    mo_tensor *A = toy_leaf(y->ctx, 1, 6), *B = toy_leaf(y->ctx, 0, 2);
    mo_tensor *Q = mo_div(y->t, A, B), *Z = mo_div_or_zero(y->t, A, B);
    assert_true(isinf(at(Q, 0)) && at(Q, 1) == 3);
    assert_values(Z, 0, 3);
    assert_values(grad_in(y, Z, A), 0, 0.5);
    assert_values(grad_in(y, Z, B), 0, -1.5);
    assert_true(mo_ok(y->ctx));
    mo_tensor_release(A);
    mo_tensor_release(B);
}

static void kinks_and_domains_follow_the_convention(void **state) {
    toy *y = *state;
    mo_tensor *X = toy_leaf(y->ctx, 0, -4);
    mo_tensor *R = mo_relu(y->t, X), *S = mo_sqrt(y->t, X), *L = mo_log(y->t, X);
    assert_values(R, 0, 0);
    assert_values(grad_in(y, R, X), 0, 0); /* the kink included */
    assert_true(at(S, 0) == 0 && isnan(at(S, 1)));
    assert_true(isinf(at(L, 0)) && at(L, 0) < 0 && isnan(at(L, 1)));
    assert_true(isinf(at(grad_in(y, S, X), 0)));
    assert_true(mo_ok(y->ctx));
    mo_tensor_release(X);
}

static void gradients_have_the_shapes_of_their_inputs(void **state) {
    toy *y = *state;
    const int64_t column[] = {3, 1}, row[] = {2};
    mo_tensor *A = mo_require_grad(mo_tensor_create_from(y->ctx, MO_F64, 2, column, (double[]){1, 2, 3}));
    mo_tensor *B = mo_require_grad(mo_tensor_create_from(y->ctx, MO_F64, 1, row, (double[]){10, 20}));
    mo_tensor *Y = mo_mul(y->t, A, B);
    assert_int_equal(mo_dim(Y, 0), 3);
    assert_int_equal(mo_dim(Y, 1), 2);
    for (int i = 0; i < 6; i++)
        assert_true(at(Y, i) == (i / 2 + 1) * (i % 2 ? 20 : 10));
    mo_tensor *a = grad_in(y, Y, A), *b = grad_in(y, Y, B);
    assert_int_equal(mo_ndim(a), 2);
    for (int i = 0; i < 3; i++)
        assert_true(at(a, i) == 30);
    assert_int_equal(mo_ndim(b), 1);
    assert_values(b, 6, 6);
    mo_tensor_release(A);
    mo_tensor_release(B);
}

static void casts_carry_gradients_between_real_types_only(void **state) {
    toy *y = *state;
    mo_tensor *X = toy_leaf(y->ctx, 1.0 / 3, 2.75);
    assert_ptr_equal(mo_cast(y->t, X, MO_F64), X);
    mo_tensor *single = mo_cast(y->t, X, MO_F32), *whole = mo_cast(y->t, X, MO_I64);
    assert_int_equal(mo_tensor_dtype(single), MO_F32);
    assert_true(at(mo_cast(y->t, single, MO_F64), 0) == (double)(1.0f / 3));
    mo_tensor *g = grad_in(y, mo_mul(y->t, single, single), X);
    assert_int_equal(mo_tensor_dtype(g), MO_F64);
    assert_true(at(g, 0) == (double)(2 * (1.0f / 3)) && at(g, 1) == 5.5);
    assert_false(mo_needs_grad(whole));
    assert_values(mo_cast(y->t, whole, MO_F64), 0, 2); /* cut toward 0 */
    for (mo_dtype d = 0; d < MO_DTYPES; d++)
        assert_true(at(mo_cast(y->t, mo_cast(y->t, X, d), MO_F64), 1) == (mo_dtype_is_real(d) || d > MO_U8 ? 2.75 : 2));
    mo_tensor_release(X);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(division_by_zero_is_infinite_or_zero_by_name, toy_create, toy_release),
        cmocka_unit_test_setup_teardown(kinks_and_domains_follow_the_convention, toy_create, toy_release),
        cmocka_unit_test_setup_teardown(gradients_have_the_shapes_of_their_inputs, toy_create, toy_release),
        cmocka_unit_test_setup_teardown(casts_carry_gradients_between_real_types_only, toy_create, toy_release),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
