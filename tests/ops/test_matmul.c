/* tests/ops/test_matmul.c - errors of a product name the shapes that were given, though a batch is folded into one
 * product.
 */
#include "ops/inside.h"
#include "tests/toy_ops.h"

static void errors_name_the_shapes_as_given(void **state) {
    toy *y = *state;
    mo_tensor *A = mo_full(y->t, MO_F64, 3, (int64_t[]){2, 2, 2}, 1),
              *B = mo_full(y->t, MO_F64, 2, (int64_t[]){3, 4}, 1);
    mo_matmul(y->t, A, B);
    assert_failed(y->ctx, MO_INVALID,
        PARTS("matmul: inner sizes 2 and 3, expected equal; got [2, 2, 2] float64, [3, 4] float64"));
    mo_matmul(y->t, A, mo_full(y->t, MO_F32, 2, (int64_t[]){2, 4}, 1));
    assert_failed(y->ctx, MO_MISMATCH, PARTS("matmul: inputs 0 and 1 differ in dtype; got [2, 2, 2] float64"));
    mo_tensor *C = mo_matmul(y->t, A, mo_full(y->t, MO_F64, 2, (int64_t[]){2, 4}, 1));
    assert_int_equal(mo_ndim(C), 3);
    assert_true(at(C, 15) == 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(errors_name_the_shapes_as_given, toy_create, toy_release),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
