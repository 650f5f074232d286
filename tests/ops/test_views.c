/* tests/ops/test_views.c - which reshapes are views, which memory views share, and the messages for bad indices. */
#include "ops/inside.h"
#include "tensor/objects.h"
#include "tests/drawn.h"

/* Returns 0, 1, 2 .. in this shape. */
static mo_tensor *count_up(mo_tape *t, int ndim, const int64_t *shape) {
    double values[256];
    mo_tensor *T = mo_tape_tensor(t, MO_F64, ndim, shape);
    for (int i = 0; i < mo_numel(T); i++)
        values[i] = i;
    mo_tensor_write(T, values, (size_t)mo_numel(T) * sizeof *values);
    return T;
}

static void expect_values(const mo_tensor *T, const double *want, int n) {
    double got[256];
    assert_int_equal(mo_numel(T), n);
    assert_int_equal(mo_tensor_read(T, got, (size_t)n * sizeof *got), MO_OK);
    for (int i = 0; i < n; i++)
        assert_true(got[i] == want[i]);
}

static void expect_error(mo_tape *t, const char *message) {
    assert_failed(mo_tape_context(t), MO_INVALID, PARTS(message));
}

TEST_OF(reshape_refuses_a_hidden_copy, mo_tape *t) {
    mo_tensor *X = mo_transpose(t, count_up(t, 2, (int64_t[]){2, 3}));
    assert_true(mo_is_null(mo_reshape(t, X, 1, (int64_t[]){-1})));
    expect_error(t, "reshape: no view has shape [6] over these strides: call mo_contiguous first; got [3, 2] float64");
    mo_tensor *Y = mo_reshape(t, mo_contiguous(t, X), 1, (int64_t[]){-1});
    expect_values(Y, (double[]){0, 3, 1, 4, 2, 5}, 6);
}

/* Whether some strides give these addresses in row-major order of the shape, in which it replaces a size of -1. */
static bool a_view_exists(const double *address, int64_t n, int64_t *shape) {
    int64_t stride[4], known = 1, step = n;
    for (int i = 0; i < 4; i++)
        known *= shape[i] == -1 ? 1 : shape[i];
    if (n % known != 0)
        return false;
    for (int i = 0; i < 4; i++) {
        shape[i] = shape[i] == -1 ? n / known : shape[i];
        step /= shape[i];
        stride[i] = shape[i] > 1 ? (int64_t)(address[step] - address[0]) : 0;
    }
    for (int64_t k = 0; k < n; k++) {
        int64_t rest = k, sum = 0;
        for (int i = 3; i >= 0; i--) {
            sum += rest % shape[i] * stride[i];
            rest /= shape[i];
        }
        if ((int64_t)(address[k] - address[0]) != sum)
            return false;
    }
    return true;
}

/* Splits and joins axes, also of size 1 and broadcast ones. The values are the elements' addresses. */
TEST_OF(reshape_is_a_view_exactly_where_one_exists, mo_tape *t) {
    mo_tensor *X = count_up(t, 3, (int64_t[]){4, 6, 5});
    mo_tensor *views[] = {X, mo_slice(t, X, MO_AXIS(0), 1, 3), mo_slice(t, X, MO_AXIS(1), 2, 6),
        mo_slice(t, X, MO_AXIS(2), 1, 5), mo_permute(t, X, (int[]){2, 0, 1}), mo_permute(t, X, (int[]){1, 2, 0}),
        mo_broadcast_to(t, mo_slice(t, X, MO_AXIS(0), 0, 1), 3, (int64_t[]){4, 6, 5}),
        mo_slice(t, X, MO_AXIS(1), 3, 4)};
    int64_t shapes[][4] = {{-1, 1, 1, 1}, {2, -1, 1, 1}, {4, -1, 1, 1}, {-1, 5, 1, 1}, {2, 2, -1, 5}, {-1, 4, 1, 1},
        {5, 4, -1, 1}, {1, 5, -1, 4}, {-1, 2, 2, 1}, {5, -1, 3, 1}, {2, 3, -1, 4}};
    int made = 0;
    for (size_t i = 0; i < sizeof views / sizeof *views; i++)
        for (size_t j = 0; j < sizeof shapes / sizeof *shapes; j++) {
            int64_t n = mo_numel(views[i]), shape[4];
            double address[256];
            memcpy(shape, shapes[j], sizeof shape);
            mo_tensor_read(views[i], address, (size_t)n * sizeof *address);
            mo_tensor *Y = mo_reshape(t, views[i], 4, shape);
            assert_int_equal(!mo_is_null(Y), a_view_exists(address, n, shape));
            mo_clear_error(mo_tape_context(t));
            if (mo_is_null(Y))
                continue;
            assert_ptr_equal(Y->storage, X->storage);
            expect_values(Y, address, (int)n);
            made++;
        }
    assert_in_range(made, 30, 60); /* both outcomes occur */
}

TEST_OF(contiguous_returns_what_already_is, mo_tape *t) {
    mo_tensor *X = count_up(t, 2, (int64_t[]){3, 4});
    assert_ptr_equal(mo_contiguous(t, X), X);
    mo_tensor *Y = mo_contiguous(t, mo_transpose(t, X));
    assert_true(mo_is_contiguous(Y));
    assert_ptr_not_equal(Y->storage, X->storage);
}

TEST_OF(views_share_their_storage, mo_tape *t) {
    mo_tensor *X = count_up(t, 2, (int64_t[]){3, 3});
    mo_tensor *views[] = {mo_reshape(t, X, 1, (int64_t[]){9}), mo_transpose(t, X), mo_permute(t, X, (int[]){1, 0}),
        mo_slice(t, X, MO_AXIS(0), 1, 2), mo_broadcast_to(t, X, 3, (int64_t[]){5, 3, 3}), mo_diagonal(t, X)};
    for (size_t i = 0; i < sizeof views / sizeof *views; i++)
        assert_ptr_equal(views[i]->storage, X->storage);
    expect_values(views[5], (double[]){0, 4, 8}, 3);
}

TEST_OF(a_write_through_a_view_is_noticed_by_backward, mo_tape *t) {
    mo_tensor *X = mo_require_grad(mo_from(t, MO_F64, 2, (int64_t[]){2, 2}, (double[]){1, 2, 3, 4}));
    mo_tensor *Y = mo_matmul(t, X, mo_transpose(t, X));
    mo_tensor_fill(mo_slice(t, X, MO_AXIS(0), 0, 1), 7);
    assert_int_equal(mo_backward(t, mo_sum(t, Y, MO_ALL, MO_DROP_AXES)), MO_STATE);
    assert_failed(mo_tape_context(t), MO_STATE, PARTS("of matmul was changed in place"));
}

TEST_OF(a_new_axis_goes_anywhere_and_repeats, mo_tape *t) {
    mo_tensor *X = count_up(t, 2, (int64_t[]){2, 2}), *last = mo_with_axis(t, X, MO_AXIS(-1), 2);
    assert_int_equal(mo_dim(last, 2), 2);
    expect_values(mo_contiguous(t, last), (double[]){0, 0, 1, 1, 2, 2, 3, 3}, 8);
    expect_values(mo_contiguous(t, mo_with_axis(t, X, MO_AXIS(1), 2)), (double[]){0, 1, 0, 1, 2, 3, 2, 3}, 8);
    mo_tensor *first = mo_with_axis(t, mo_transpose(t, X), MO_AXIS(0), 1); /* an axis of size 1 fits any
                                                                            * strides */
    assert_ptr_equal(first->storage, X->storage);
    assert_int_equal(mo_dim(first, 0), 1);
    expect_values(mo_contiguous(t, first), (double[]){0, 2, 1, 3}, 4);
    mo_with_axis(t, X, MO_AXIS(3), 1);
    expect_error(t, "with_axis: axis 3, expected -3 to 2; got [2, 2]");
    mo_with_axis(t, count_up(t, 6, (int64_t[]){1, 1, 1, 1, 1, 1}), MO_AXIS(0), 1);
    expect_error(t, "reshape: 7 axes, expected 0 to 6; got [1, 1, 1, 1, 1, 1] float64");
}

TEST_OF(stack_puts_a_new_axis_anywhere, mo_tape *t) {
    mo_tensor *X[] = {count_up(t, 1, (int64_t[]){2}), mo_scale(t, count_up(t, 1, (int64_t[]){2}), 1, 10)};
    expect_values(mo_stack(t, X, 2, MO_AXIS(0)), (double[]){0, 1, 10, 11}, 4);
    expect_values(mo_stack(t, X, 2, MO_AXIS(-1)), (double[]){0, 10, 1, 11}, 4);
    assert_true(mo_is_null(mo_stack(t, X, 2, MO_AXIS(2))));
    expect_error(t, "stack: axis 2, expected -2 to 1");
    mo_stack(t, X, MO_MAX_INPUTS + 1, MO_AXIS(0));
    expect_error(t, "stack: 41 inputs, expected 1 to 40");
    mo_concat(t, X, 0, MO_AXIS(0));
    expect_error(t, "concat: 0 inputs, expected 1 to 40");
}

static mo_tensor *integers(mo_tape *t, int ndim, const int64_t *shape, const int64_t *values) {
    return mo_from(t, MO_I64, ndim, shape, values);
}

TEST_OF(a_bad_label_is_named_with_its_place, mo_tape *t) {
    mo_one_hot(t, integers(t, 2, (int64_t[]){2, 3}, (int64_t[]){0, 1, 2, 3, 4, 7}), 5, MO_F32);
    expect_error(t, "one_hot: label 7 at [1, 2], expected 0 to 4; got [2, 3] int64");
    mo_tensor *Y = mo_one_hot(t, integers(t, 1, (int64_t[]){2}, (int64_t[]){2, 0}), 3, MO_F64);
    expect_values(Y, (double[]){0, 0, 1, 1, 0, 0}, 6);
}

/* Index 600 is beyond the first piece that is read from a device. */
TEST_OF(a_bad_index_is_found_anywhere, mo_tape *t) {
    int64_t index[700] = {0};
    index[600] = INT64_MIN;
    mo_tensor *X = count_up(t, 2, (int64_t[]){3, 2}), *many = integers(t, 1, (int64_t[]){700}, index);
    mo_gather_rows(t, X, many);
    expect_error(
        t, "gather_rows: index -9223372036854775808 at [600], expected 0 to 2; got [3, 2] float64, [700] int64");
    mo_segment_sum(t, X, integers(t, 1, (int64_t[]){4}, (int64_t[]){0, 2, 1, 3}));
    expect_error(
        t, "segment_sum: offset 2 is 1, expected no less than its predecessor 2; got [3, 2] float64, [4] int64");
    mo_segment_mean(t, X, integers(t, 1, (int64_t[]){2}, (int64_t[]){1, 3}));
    expect_error(t, "segment_mean: offset 0 is 1, expected 0; got [3, 2] float64, [2] int64");
}
