/* tests/ops/test_top_k.c - order and running sums along any axis: ties, NaN, gradients at the right places. */
#include "ops/inside.h"
#include "tests/toy_ops.h"

/* Sorting leaves scratch memory with the context: what it holds without a tape is counted after a first sort. */
static int create(void **state) {
    if (toy_create(state) != 0)
        return -1;
    toy *y = *state;
    int64_t before = mo_context_counters(y->ctx).bytes_live;
    mo_tape *t = mo_tape_create(y->ctx, MO_EVAL);
    mo_sort(t, mo_full(t, MO_F64, 1, (int64_t[]){64}, 0), MO_AXIS(0));
    mo_tape_release(t);
    y->empty += mo_context_counters(y->ctx).bytes_live - before;
    return mo_ok(y->ctx) ? 0 : -1;
}

static mo_tensor *leaf(toy *y, int64_t m, int64_t n, const double *x) {
    return mo_require_grad(mo_from(y->t, MO_F64, 2, (int64_t[]){m, n}, x));
}

static void expect(const char *what, const mo_tensor *T, int n, const double *expected) {
    assert_int_equal(mo_numel(T), n);
    for (int i = 0; i < n; i++)
        if (!(at(T, i) == expected[i] || (isnan(at(T, i)) && isnan(expected[i]))))
            fail_msg("%s, element %d: %g, expected %g", what, i, at(T, i), expected[i]);
}

static void sorting_falls_with_ties_in_order_and_nan_first(void **state) {
    toy *y = *state;
    mo_tensor *X = leaf(y, 2, 4, (double[]){1, 3, 3, 2, -1, NAN, 0, -2}), *grad, *Y = mo_sort(y->t, X, MO_AXIS(-1));
    expect("sorted", Y, 8, (double[]){3, 3, 2, 1, NAN, 0, -1, -2});
    mo_tensor *g = mo_from(y->t, MO_F64, 2, (int64_t[]){2, 4}, (double[]){1, 2, 3, 4, 5, 6, 7, 8});
    assert_int_equal(mo_grad(y->t, &Y, &g, 1, &X, &grad, 1, 0), MO_OK);
    expect("gradient", grad, 8, (double[]){4, 1, 2, 3, 7, 5, 6, 8});
}

static void the_largest_along_the_first_axis(void **state) {
    toy *y = *state;
    mo_tensor *X = leaf(y, 3, 2, (double[]){1, 6, 5, 2, 3, 4}), *grad, *Y = mo_top_k(y->t, X, 2, MO_AXIS(0));
    assert_int_equal(mo_dim(Y, 0), 2);
    expect("largest", Y, 4, (double[]){5, 6, 3, 4});
    mo_tensor *g = mo_from(y->t, MO_F64, 2, (int64_t[]){2, 2}, (double[]){1, 2, 3, 4});
    assert_int_equal(mo_grad(y->t, &Y, &g, 1, &X, &grad, 1, 0), MO_OK);
    expect("gradient", grad, 6, (double[]){0, 2, 1, 0, 3, 4});
    mo_top_k(y->t, X, -1, MO_AXIS(0));
    assert_failed(y->ctx, MO_INVALID, PARTS("top_k: ", "expected 0 to 3"));
    mo_sort(y->t, X, MO_AXIS(2));
    assert_failed(y->ctx, MO_INVALID, PARTS("sort: axis 2 is not one of [3, 2]"));
}

static void running_sums_along_either_axis(void **state) {
    toy *y = *state;
    mo_tensor *X = leaf(y, 2, 3, (double[]){1, 2, 3, 4, 5, 6}), *grad, *Y = mo_cumsum(y->t, X, MO_AXIS(0));
    expect("columns", Y, 6, (double[]){1, 2, 3, 5, 7, 9});
    expect("rows", mo_cumsum(y->t, X, MO_AXIS(-1)), 6, (double[]){1, 3, 6, 4, 9, 15});
    assert_int_equal(mo_grad(y->t, &Y, NULL, 1, &X, &grad, 1, 0), MO_OK);
    expect("gradient", grad, 6, (double[]){2, 2, 2, 1, 1, 1});
    mo_cumsum(y->t, X, MO_AXIS(-3));
    assert_failed(y->ctx, MO_INVALID, PARTS("cumsum: axis -3 is not one of [2, 3]"));
}

/* 20 million ones in float32: a sum in float32 would stop at 2^24. */
static void running_sums_are_formed_in_double(void **state) {
    toy *y = *state;
    int64_t n = 20000000;
    mo_tensor *Y = mo_cumsum(y->t, mo_full(y->t, MO_F32, 1, &n, 1), MO_AXIS(0));
    assert_true(mo_item(mo_slice(y->t, Y, MO_AXIS(0), n - 1, n)) == (double)n);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(sorting_falls_with_ties_in_order_and_nan_first, create, toy_release),
        cmocka_unit_test_setup_teardown(the_largest_along_the_first_axis, create, toy_release),
        cmocka_unit_test_setup_teardown(running_sums_along_either_axis, create, toy_release),
        cmocka_unit_test_setup_teardown(running_sums_are_formed_in_double, create, toy_release),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
