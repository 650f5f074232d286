/* tests/ops/test_views.c - which reshapes are views, which memory views share, and the messages for bad indices. */
#include "ops/inside.h"
#include "tensor/storage.h"
#include "tests/suite.h"

typedef struct fixture {
    mo_context *ctx;
    mo_tape *t;
} fixture;

static int set_up(void **state) {
    fixture *f = malloc(sizeof *f);
    f->ctx = mo_context_create(NULL);
    f->t = mo_tape_create(f->ctx, MO_RECORD);
    *state = f;
    return 0;
}

static int tear_down(void **state) {
    fixture *f = *state;
    mo_tape_release(f->t);
    mo_context_release(f->ctx);
    free(f);
    return 0;
}

static const fixtures around_each = {set_up, tear_down};

/* Returns 0, 1, 2 .. in this shape. */
static mo_tensor *count_up(fixture *f, int ndim, const int64_t *shape) {
    double values[256];
    mo_tensor *T = mo_tape_tensor(f->t, MO_F64, ndim, shape);
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

static void expect_error(mo_context *ctx, mo_code code, const char *message) {
    assert_int_equal(mo_context_status(ctx)->code, code);
    assert_string_equal(mo_context_status(ctx)->message, message);
    mo_clear_error(ctx);
}

TEST(reshape_refuses_a_hidden_copy) {
    fixture *f = *state;
    mo_tensor *X = mo_transpose(f->t, count_up(f, 2, (int64_t[]){2, 3}));
    assert_true(mo_is_null(mo_reshape(f->t, X, 1, (int64_t[]){-1})));
    expect_error(f->ctx, MO_INVALID,
        "reshape: no view has shape [6] over these strides: call mo_contiguous first; got [3, 2] float64");
    mo_tensor *Y = mo_reshape(f->t, mo_contiguous(f->t, X), 1, (int64_t[]){-1});
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
TEST(reshape_is_a_view_exactly_where_one_exists) {
    fixture *f = *state;
    mo_tensor *X = count_up(f, 3, (int64_t[]){4, 6, 5});
    mo_tensor *views[] = {X, mo_slice(f->t, X, MO_AXIS(0), 1, 3), mo_slice(f->t, X, MO_AXIS(1), 2, 6),
        mo_slice(f->t, X, MO_AXIS(2), 1, 5), mo_permute(f->t, X, (int[]){2, 0, 1}),
        mo_permute(f->t, X, (int[]){1, 2, 0}),
        mo_broadcast_to(f->t, mo_slice(f->t, X, MO_AXIS(0), 0, 1), 3, (int64_t[]){4, 6, 5}),
        mo_slice(f->t, X, MO_AXIS(1), 3, 4)};
    int64_t shapes[][4] = {{-1, 1, 1, 1}, {2, -1, 1, 1}, {4, -1, 1, 1}, {-1, 5, 1, 1}, {2, 2, -1, 5}, {-1, 4, 1, 1},
        {5, 4, -1, 1}, {1, 5, -1, 4}, {-1, 2, 2, 1}, {5, -1, 3, 1}, {2, 3, -1, 4}};
    int made = 0;
    for (size_t i = 0; i < sizeof views / sizeof *views; i++)
        for (size_t j = 0; j < sizeof shapes / sizeof *shapes; j++) {
            int64_t n = mo_numel(views[i]), shape[4];
            double address[256];
            memcpy(shape, shapes[j], sizeof shape);
            mo_tensor_read(views[i], address, (size_t)n * sizeof *address);
            mo_tensor *Y = mo_reshape(f->t, views[i], 4, shape);
            assert_int_equal(!mo_is_null(Y), a_view_exists(address, n, shape));
            mo_clear_error(f->ctx);
            if (mo_is_null(Y))
                continue;
            assert_ptr_equal(Y->storage, X->storage);
            expect_values(Y, address, (int)n);
            made++;
        }
    assert_in_range(made, 30, 60); /* both outcomes occur */
}

TEST(strides_that_step_evenly_join) {
    fixture *f = *state;
    mo_tensor *X = count_up(f, 3, (int64_t[]){4, 6, 5});
    mo_tensor *rows =
        mo_slice(f->t, mo_reshape(f->t, X, 2, (int64_t[]){24, 5}), MO_AXIS(1), 0, 2); /* rows are 5 apart everywhere */
    mo_tensor *Y = mo_reshape(f->t, rows, 4, (int64_t[]){2, 3, 4, 2});
    assert_false(mo_is_null(Y));
    assert_int_equal(Y->stride[0], 60);
    assert_int_equal(Y->stride[1], 20);
    assert_int_equal(Y->stride[2], 5);
    assert_int_equal(Y->stride[3], 1);
}

TEST(contiguous_returns_what_already_is) {
    fixture *f = *state;
    mo_tensor *X = count_up(f, 2, (int64_t[]){3, 4});
    assert_ptr_equal(mo_contiguous(f->t, X), X);
    mo_tensor *Y = mo_contiguous(f->t, mo_transpose(f->t, X));
    assert_true(mo_is_contiguous(Y));
    assert_ptr_not_equal(Y->storage, X->storage);
}

TEST(views_share_their_storage) {
    fixture *f = *state;
    mo_tensor *X = count_up(f, 2, (int64_t[]){3, 3});
    mo_tensor *views[] = {mo_reshape(f->t, X, 1, (int64_t[]){9}), mo_transpose(f->t, X),
        mo_permute(f->t, X, (int[]){1, 0}), mo_slice(f->t, X, MO_AXIS(0), 1, 2),
        mo_broadcast_to(f->t, X, 3, (int64_t[]){5, 3, 3}), mo_diagonal(f->t, X)};
    for (size_t i = 0; i < sizeof views / sizeof *views; i++)
        assert_ptr_equal(views[i]->storage, X->storage);
    expect_values(views[5], (double[]){0, 4, 8}, 3);
}

TEST(a_write_through_a_view_is_noticed_by_backward) {
    fixture *f = *state;
    mo_tensor *X = mo_require_grad(mo_tensor_create_from(f->ctx, MO_F64, 2, (int64_t[]){2, 2}, (double[]){1, 2, 3, 4}));
    mo_tensor *Y = mo_matmul(f->t, X, mo_transpose(f->t, X));
    mo_tensor_fill(mo_slice(f->t, X, MO_AXIS(0), 0, 1), 7);
    assert_int_equal(mo_backward(f->t, mo_sum(f->t, Y, MO_ALL, MO_DROP_AXES)), MO_STATE);
    assert_non_null(strstr(mo_context_status(f->ctx)->message, "of matmul was changed in place"));
    mo_clear_error(f->ctx);
    mo_tape_reset(f->t);
    mo_tensor_release(X);
}

TEST(a_new_axis_goes_anywhere_and_repeats) {
    fixture *f = *state;
    mo_tensor *X = count_up(f, 2, (int64_t[]){2, 2}), *last = mo_with_axis(f->t, X, MO_AXIS(-1), 2);
    assert_int_equal(mo_dim(last, 2), 2);
    expect_values(mo_contiguous(f->t, last), (double[]){0, 0, 1, 1, 2, 2, 3, 3}, 8);
    expect_values(mo_contiguous(f->t, mo_with_axis(f->t, X, MO_AXIS(1), 2)), (double[]){0, 1, 0, 1, 2, 3, 2, 3}, 8);
    mo_tensor *first = mo_with_axis(f->t, mo_transpose(f->t, X), MO_AXIS(0), 1); /* an axis of size 1 fits any
                                                                                  * strides */
    assert_ptr_equal(first->storage, X->storage);
    assert_int_equal(mo_dim(first, 0), 1);
    expect_values(mo_contiguous(f->t, first), (double[]){0, 2, 1, 3}, 4);
    mo_with_axis(f->t, X, MO_AXIS(3), 1);
    expect_error(f->ctx, MO_INVALID, "with_axis: axis 3, expected -3 to 2; got [2, 2]");
    mo_with_axis(f->t, count_up(f, 6, (int64_t[]){1, 1, 1, 1, 1, 1}), MO_AXIS(0), 1);
    expect_error(f->ctx, MO_INVALID, "reshape: 7 axes, expected 0 to 6; got [1, 1, 1, 1, 1, 1] float64");
}

TEST(stack_puts_a_new_axis_anywhere) {
    fixture *f = *state;
    mo_tensor *X[] = {count_up(f, 1, (int64_t[]){2}), mo_scale(f->t, count_up(f, 1, (int64_t[]){2}), 1, 10)};
    expect_values(mo_stack(f->t, X, 2, MO_AXIS(0)), (double[]){0, 1, 10, 11}, 4);
    expect_values(mo_stack(f->t, X, 2, MO_AXIS(-1)), (double[]){0, 10, 1, 11}, 4);
    assert_true(mo_is_null(mo_stack(f->t, X, 2, MO_AXIS(2))));
    expect_error(f->ctx, MO_INVALID, "stack: axis 2, expected -2 to 1");
    mo_stack(f->t, X, MO_MAX_INPUTS + 1, MO_AXIS(0));
    expect_error(f->ctx, MO_INVALID, "stack: 41 inputs, expected 1 to 40");
    mo_concat(f->t, X, 0, MO_AXIS(0));
    expect_error(f->ctx, MO_INVALID, "concat: 0 inputs, expected 1 to 40");
}

static mo_tensor *integers(fixture *f, int ndim, const int64_t *shape, const int64_t *values) {
    return mo_from(f->t, MO_I64, ndim, shape, values);
}

TEST(a_bad_label_is_named_with_its_place) {
    fixture *f = *state;
    mo_one_hot(f->t, integers(f, 2, (int64_t[]){2, 3}, (int64_t[]){0, 1, 2, 3, 4, 7}), 5, MO_F32);
    expect_error(f->ctx, MO_INVALID, "one_hot: label 7 at [1, 2], expected 0 to 4; got [2, 3] int64");
    mo_one_hot(f->t, integers(f, 1, (int64_t[]){2}, (int64_t[]){0, -1}), 5, MO_F32);
    expect_error(f->ctx, MO_INVALID, "one_hot: label -1 at [1], expected 0 to 4; got [2] int64");
    mo_tensor *Y = mo_one_hot(f->t, integers(f, 1, (int64_t[]){2}, (int64_t[]){2, 0}), 3, MO_F64);
    expect_values(Y, (double[]){0, 0, 1, 1, 0, 0}, 6);
}

/* Index 600 is beyond the first piece that is read from a device. */
TEST(a_bad_index_is_found_anywhere) {
    fixture *f = *state;
    int64_t index[700] = {0};
    index[600] = INT64_MIN;
    mo_tensor *X = count_up(f, 2, (int64_t[]){3, 2}), *many = integers(f, 1, (int64_t[]){700}, index);
    mo_gather_rows(f->t, X, many);
    expect_error(f->ctx, MO_INVALID,
        "gather_rows: index -9223372036854775808 at [600], expected 0 to 2; got [3, 2] float64, [700] int64");
    mo_take_along(f->t, X, integers(f, 2, (int64_t[]){3, 1}, (int64_t[]){0, 1, 2}));
    expect_error(
        f->ctx, MO_INVALID, "take_along: index 2 at [2, 0], expected 0 to 1; got [3, 2] float64, [3, 1] int64");
    mo_segment_sum(f->t, X, integers(f, 1, (int64_t[]){4}, (int64_t[]){0, 2, 1, 3}));
    expect_error(f->ctx, MO_INVALID,
        "segment_sum: offset 2 is 1, expected no less than its predecessor 2; got [3, 2] float64, [4] int64");
    mo_segment_mean(f->t, X, integers(f, 1, (int64_t[]){2}, (int64_t[]){1, 3}));
    expect_error(f->ctx, MO_INVALID, "segment_mean: offset 0 is 1, expected 0; got [3, 2] float64, [2] int64");
}
