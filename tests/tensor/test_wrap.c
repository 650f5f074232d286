/* tests/tensor/test_wrap.c - the caller's memory as a tensor: nothing is copied, and the owner is called once, when the
 * tensor and all windows onto it are gone. */
#include "ops/ops.h"
#include "tests/toy_ops.h"

static void count(void *state) {
    ++*(int *)state;
}

static mo_view matrix_of(void *data, mo_dtype dtype, int64_t rows, int64_t columns, int64_t between) {
    return (mo_view){data, dtype, 2, {rows, columns}, {between, 1}};
}

TEST_OF(the_memory_is_read_where_it_lies, toy *y) {
    double x[] = {1, 2, -1, 3, 4, -1};
    int done = 0;
    mo_view memory = matrix_of(x, MO_F64, 2, 2, 3);
    mo_tensor *X = mo_require_grad(mo_tensor_wrap(y->ctx, &memory, count, &done)), *g;
    assert_ptr_equal(mo_tensor_view(X).data, x);
    mo_tensor *loss = mo_sum(y->t, mo_square(y->t, X), MO_ALL, MO_DROP_AXES);
    assert_true(mo_item(loss) == 30);
    assert_int_equal(mo_grad(y->t, &loss, NULL, 1, &X, &g, 1, 0), MO_OK);
    assert_true(at(g, 0) == 2 && at(g, 1) == 4 && at(g, 2) == 6 && at(g, 3) == 8);
    mo_tensor_fill(X, 7);
    assert_true(x[0] == 7 && x[4] == 7 && x[2] == -1 && x[5] == -1);
    mo_tensor_release(X);
    assert_int_equal(done, 1);
}

TEST_OF(the_owner_is_told_after_the_last_window, toy *y) {
    float x[] = {1, 2, 3, 4, 5, 6};
    int done = 0;
    mo_view memory = matrix_of(x, MO_F32, 2, 3, 3);
    mo_tensor *X = mo_tensor_wrap(y->ctx, &memory, count, &done);
    mo_tensor *row = mo_slice(y->t, X, MO_AXIS(0), 1, 2);
    mo_tensor_release(X);
    assert_int_equal(done, 0);
    assert_true(mo_item(mo_sum(y->t, row, MO_ALL, MO_DROP_AXES)) == 15);
    mo_tape_reset(y->t);
    assert_int_equal(done, 1);
}

TEST_OF(nothing_of_an_empty_tensor_is_read, toy *y) {
    int done = 0;
    mo_view none = matrix_of(NULL, MO_F32, 0, 3, 3);
    mo_tensor *X = mo_tensor_wrap(y->ctx, &none, count, &done);
    assert_true(mo_ok(y->ctx) && mo_numel(X) == 0);
    assert_true(mo_item(mo_sum(y->t, X, MO_ALL, MO_DROP_AXES)) == 0);
    mo_tape_reset(y->t);
    mo_tensor_release(X);
    assert_int_equal(done, 1);
}

/* A tensor of 4 elements with stride 0, all of them one number of the caller's. */
TEST_OF(a_stride_of_0_repeats, toy *y) {
    double x = 3;
    HELD(mo_tensor) *X = mo_tensor_wrap(y->ctx, &(mo_view){&x, MO_F64, 1, {4}, {0}}, NULL, NULL);
    assert_true(mo_item(mo_sum(y->t, X, MO_ALL, MO_DROP_AXES)) == 12);
}

static void refused(toy *y, const mo_view *memory, mo_code code, const char *part) {
    int done = 0;
    assert_true(mo_is_null(mo_tensor_wrap(y->ctx, memory, count, &done)));
    assert_failed(y->ctx, code, PARTS(part));
    assert_int_equal(done, 0);
}

TEST_OF(refused_memory_stays_with_its_owner, toy *y) {
    double x[4] = {0};
    int64_t far = INT64_MAX / 2;
    refused(y, NULL, MO_INVALID, "wrap: no memory given");
    refused(y, &(mo_view){x, MO_DTYPES, 1, {4}, {1}}, MO_INVALID, "wrap: unknown dtype 7");
    refused(y, &(mo_view){x, MO_F64, 7, {4}, {1}}, MO_INVALID, "wrap: 7 axes, expected 0 to 6");
    refused(y, &(mo_view){x, MO_F64, 1, {-4}, {1}}, MO_INVALID, "wrap: axis 0 has size -4");
    refused(y, &(mo_view){x, MO_F64, 1, {4}, {-1}}, MO_INVALID, "wrap: axis 0 has stride -1, expected 0 or more");
    refused(y, &(mo_view){x, MO_F64, 2, {2, 2}, {far, 1}}, MO_MEMORY, "reaches too far");
    refused(y, &(mo_view){NULL, MO_F64, 1, {4}, {1}}, MO_INVALID, "wrap: a NULL buffer, expected 32 bytes");
    refused(y, &(mo_view){(char *)x + 4, MO_F64, 1, {3}, {1}}, MO_INVALID, "expected a multiple of 8 bytes");
}
