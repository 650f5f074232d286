/* tests/ops/test_diagonal.c - identity and trace, which are made of diagonals. */
#include "ops/inside.h"
#include "tests/toy_ops.h"

static void the_identity_has_ones_on_its_diagonal_alone(void **state) {
    toy *y = *state;
    for (int d = 0; d < 2; d++) {
        mo_tensor *I = mo_eye(y->t, d ? MO_F64 : MO_F32, 3), *wide = mo_cast(y->t, I, MO_F64);
        assert_int_equal(mo_tensor_dtype(I), d ? MO_F64 : MO_F32);
        assert_true(mo_ndim(I) == 2 && mo_dim(I, 0) == 3 && mo_dim(I, 1) == 3);
        for (int i = 0; i < 9; i++)
            assert_true(at(wide, i) == (i % 4 == 0));
    }
    assert_int_equal(mo_numel(mo_eye(y->t, MO_F64, 0)), 0);
}

/* A batch of two: sums of the diagonals, and the identity, weighted, as their gradient. */
static void the_trace_of_each_matrix_has_the_identity_as_gradient(void **state) {
    toy *y = *state;
    double a[] = {1, 2, 3, 4, 5, 6, 7, 8}, weights[] = {10, 20}, expected[] = {10, 0, 0, 10, 20, 0, 0, 20};
    mo_tensor *A = mo_require_grad(mo_from(y->t, MO_F64, 3, (int64_t[]){2, 2, 2}, a)), *grad;
    mo_tensor *T = mo_trace(y->t, A), *g = mo_from(y->t, MO_F64, 1, (int64_t[]){2}, weights);
    assert_values(T, 5, 13);
    assert_int_equal(mo_grad(y->t, &T, &g, 1, &A, &grad, 1, 0), MO_OK);
    for (int i = 0; i < 8; i++)
        assert_true(at(grad, i) == expected[i]);
}

static void the_trace_of_what_is_not_square_is_an_error(void **state) {
    toy *y = *state;
    assert_true(mo_is_null(mo_trace(y->t, mo_full(y->t, MO_F64, 2, (int64_t[]){2, 3}, 1))));
    assert_failed(y->ctx, MO_INVALID, PARTS("diagonal: expected square matrices [.., n, n]; got [2, 3] float64"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_identity_has_ones_on_its_diagonal_alone, toy_create, toy_release),
        cmocka_unit_test_setup_teardown(the_trace_of_each_matrix_has_the_identity_as_gradient, toy_create, toy_release),
        cmocka_unit_test_setup_teardown(the_trace_of_what_is_not_square_is_an_error, toy_create, toy_release),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
