/* tests/tensor/test_tensor.c - contexts, status and tensors: values in and out, errors that stay, released memory. */
#include "tensor/objects.h"
#include "tests/scratch.h"

TEST_OF(the_first_error_wins_and_stays_until_cleared, mo_context *ctx) {
    assert_true(mo_ok(ctx));
    mo_fail(ctx, MO_INVALID, "first %d", 1);
    mo_fail(ctx, MO_IO, "second");
    const mo_status *s = mo_context_status(ctx);
    assert_int_equal(s->code, MO_INVALID);
    assert_string_equal(s->message, "first 1");
    assert_non_null(strstr(s->file, "test_tensor.c"));
    assert_true(mo_is_null(mo_tensor_create(ctx, MO_F32, 0, NULL)));
    mo_clear_error(ctx);
    HELD(mo_tensor) *T = mo_tensor_create(ctx, MO_F32, 0, NULL);
    assert_false(mo_is_null(T));
}

TEST_OF(a_message_is_one_line, mo_context *ctx) {
    mo_fail(ctx, MO_INVALID, "head %s: no such \"%s\"", "a\nb\r", "\033[31m\tc\x7F \xC3\xA9");
    assert_told(ctx, MO_INVALID, "head a?b?: no such \"?[31m?c? \xC3\xA9\"");
}

TEST_OF(a_new_tensor_is_zero_and_row_major, mo_context *ctx) {
    HELD(mo_tensor) *T = mo_tensor_create(ctx, MO_F64, 3, (int64_t[]){2, 3, 4});
    double x[24], sum = 1;
    assert_int_equal(mo_tensor_read(T, x, sizeof x), MO_OK);
    for (int i = 0; i < 24; i++)
        sum += fabs(x[i]);
    assert_true(sum == 1);
    assert_int_equal(mo_numel(T), 24);
    assert_int_equal(mo_dim(T, -1), 4);
    assert_int_equal(mo_dim(T, 7), 1);
    assert_int_equal(mo_tensor_view(T).stride[0], 12);
    assert_true(mo_is_contiguous(T));
    char text[64];
    assert_string_equal(mo_shape_string(T, text, sizeof text), "[2, 3, 4]");
}

BARE_TEST(shapes_as_text_have_every_number_and_stop_at_the_end) {
    const int64_t shape[] = {0, -10, INT64_MAX, INT64_MIN};
    char text[64], unused = 'x';
    assert_string_equal(
        mo_format_shape(4, shape, text, sizeof text), "[0, -10, 9223372036854775807, -9223372036854775808]");
    assert_string_equal(mo_format_shape(0, shape, text, sizeof text), "[]");
    assert_string_equal(mo_format_shape(2, shape, text, 6), "[0, -");
    assert_string_equal(mo_format_shape(2, shape, text, 1), "");
    mo_format_shape(2, shape, &unused, 0);
    assert_int_equal(unused, 'x');
}

TEST_OF(sizes_that_overflow_or_are_negative_are_errors, mo_context *ctx) {
    assert_true(mo_is_null(mo_tensor_create(ctx, MO_F64, 3, (int64_t[]){1LL << 31, 1LL << 31, 4})));
    assert_failed(ctx, MO_MEMORY, PARTS("[2147483648, 2147483648, 4] has too many elements"));
    assert_true(mo_is_null(mo_tensor_create(ctx, MO_F64, 3, (int64_t[]){0, 1LL << 40, 1LL << 40})));
    mo_clear_error(ctx);
    assert_true(mo_is_null(mo_tensor_create(ctx, MO_F32, 1, (int64_t[]){-3})));
    assert_told(ctx, MO_INVALID, "tensor: axis 0 has size -3, expected 0 or more");
    assert_true(mo_is_null(mo_tensor_create(ctx, MO_F32, 7, (int64_t[]){1, 1, 1, 1, 1, 1, 1})));
    assert_failed(ctx, MO_INVALID, PARTS("7 axes"));
    assert_true(mo_is_null(mo_tensor_create(ctx, MO_F32, 1, (int64_t[]){1LL << 58})));
    assert_failed(ctx, MO_MEMORY, PARTS("out of memory"));
    assert_true(mo_is_null(mo_tensor_create(ctx, (mo_dtype)99, 0, NULL)));
    mo_clear_error(ctx);
}

TEST_OF(buffers_of_the_wrong_size_are_refused, mo_context *ctx) {
    HELD(mo_tensor) *T = mo_tensor_create(ctx, MO_F32, 1, (int64_t[]){3});
    float x[4] = {1, 2, 3, 4};
    assert_int_equal(mo_tensor_write(T, x, sizeof x), MO_INVALID);
    assert_told(ctx, MO_INVALID, "write: a buffer of 16 bytes, expected 12");
    assert_int_equal(mo_tensor_read(T, NULL, 12), MO_INVALID);
    mo_clear_error(ctx);
    assert_int_equal(mo_tensor_write(T, x, 12), MO_OK);
    assert_true(isnan(mo_item(T)));
    assert_failed(ctx, MO_INVALID, PARTS("item: tensor [3], expected one element"));
    assert_true(mo_is_null(mo_tensor_create_from(ctx, MO_F32, 1, (int64_t[]){3}, NULL)));
    assert_told(ctx, MO_INVALID, "tensor: a NULL buffer, expected 12 bytes");
}

TEST_OF(copy_converts_between_all_types, mo_context *ctx) {
    double x[] = {0, 1, 2, 100}, y[4];
    HELD(mo_tensor) *A = mo_tensor_create_from(ctx, MO_F64, 1, (int64_t[]){4}, x);
    HELD(mo_tensor) *B = mo_tensor_create(ctx, MO_F64, 1, (int64_t[]){4});
    for (int d = 0; d < MO_DTYPES; d++) {
        HELD(mo_tensor) *T = mo_tensor_create(ctx, (mo_dtype)d, 1, (int64_t[]){4});
        assert_int_equal(mo_tensor_copy(T, A), MO_OK);
        mo_tensor_fill(B, -1);
        assert_int_equal(mo_tensor_copy(B, T), MO_OK);
        mo_tensor_read(B, y, sizeof y);
        assert_memory_equal(x, y, sizeof x);
    }
    HELD(mo_tensor) *short_one = mo_tensor_create(ctx, MO_F64, 1, (int64_t[]){3});
    assert_int_equal(mo_tensor_copy(B, short_one), MO_INVALID);
    assert_told(ctx, MO_INVALID, "copy: source [3], expected [4]");
}

/* T is a transposed window onto memory of the test. The clones have its values in T's order, and outlive the memory. */
TEST_OF(a_clone_has_the_values_and_memory_of_its_own, mo_context *ctx) {
    HELD(mo_context) *other = mo_context_create(NULL);
    float x[] = {1, 2, 3, 4, 5, 6}, got[6];
    const float expected[] = {1, 4, 2, 5, 3, 6};
    HELD(mo_tensor) *T = mo_tensor_wrap(ctx, &(mo_view){x, MO_F32, 2, {3, 2}, {1, 3}}, NULL, NULL);
    HELD(mo_tensor) *first = mo_tensor_clone(ctx, T), *second = mo_tensor_clone(other, T);
    mo_tensor *C[] = {first, second};
    memset(x, 0, sizeof x);
    for (int i = 0; i < 2; i++) {
        assert_true(mo_is_contiguous(C[i]) && mo_dim(C[i], 0) == 3 && mo_tensor_dtype(C[i]) == MO_F32);
        assert_ptr_equal(mo_tensor_context(C[i]), i ? other : ctx);
        assert_int_equal(mo_tensor_read(C[i], got, sizeof got), MO_OK);
        assert_memory_equal(got, expected, sizeof got);
    }
    mo_fail(ctx, MO_NUMERICAL, "no factor");
    assert_true(mo_is_null(mo_tensor_clone(other, T)));
    assert_told(other, MO_NUMERICAL, "clone: the other context: no factor");
    mo_clear_error(ctx);
    assert_true(mo_is_null(mo_tensor_clone(ctx, mo_null_tensor(ctx))));
    assert_failed(ctx, MO_INVALID, PARTS("clone: the tensor is null"));
}

TEST_OF(values_as_text_stop_where_the_buffer_ends, mo_context *ctx) {
    static const double real[] = {1, 0.25, -3, 1e-6, 1.0 / 3, 123456, NAN, -INFINITY};
    static const int64_t whole[] = {1234567, -8};
    char text[200];
    const struct {
        mo_dtype dtype;
        int ndim;
        int64_t shape[3];
        size_t bytes;
        const char *expected;
    } rows[] = {{MO_F64, 2, {2, 2}, sizeof text, "[[1, 0.25], [-3, 1e-06]]"}, {MO_F64, 0, {0}, sizeof text, "1"},
        {MO_F64, 3, {1, 2, 2}, sizeof text, "[[[1, 0.25], [-3, 1e-06]]]"}, {MO_F64, 2, {2, 0}, sizeof text, "[]"},
        {MO_F64, 1, {8}, sizeof text, "[1, 0.25, -3, 1e-06, 0.33333, 1.2346e+05, nan, -inf]"},
        {MO_I64, 1, {2}, sizeof text, "[1234567, -8]"}, {MO_F64, 1, {8}, 20, "[1, 0.25, -3 .."},
        {MO_F64, 2, {2, 2}, 25, "[[1, 0.25], [-3, 1e-06]]"}, {MO_F64, 2, {2, 2}, 24, "[[1, 0.25], [-3 .."},
        {MO_F64, 1, {8}, 3, " ."}, {MO_F64, 1, {8}, 1, ""}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const void *host = rows[i].dtype == MO_I64 ? (const void *)whole : real;
        HELD(mo_tensor) *T = mo_tensor_create_from(ctx, rows[i].dtype, rows[i].ndim, rows[i].shape, host);
        assert_string_equal(mo_tensor_text(T, text, rows[i].bytes), rows[i].expected);
        assert_true(mo_ok(ctx));
    }
    assert_string_equal(mo_tensor_text(mo_null_tensor(ctx), text, sizeof text), "null");
    int64_t counted = mo_context_counters(ctx).bytes_live; /* only the first of many values are read */
    HELD(mo_tensor) *large = mo_tensor_create(ctx, MO_U8, 2, (int64_t[]){1 << 20, 2});
    mo_context_reset_peaks(ctx);
    assert_string_equal(mo_tensor_text(large, text, 16), "[[0, 0], [0 ..");
    assert_true(mo_context_counters(ctx).bytes_peak - counted < 3 << 20);
}

TEST_OF(item_reads_every_number_type, mo_context *ctx) {
    for (int d = MO_F32; d <= MO_U8; d++) {
        HELD(mo_tensor) *T = mo_tensor_create(ctx, (mo_dtype)d, 2, (int64_t[]){1, 1});
        mo_tensor_fill(T, 7);
        assert_true(mo_item(T) == 7);
    }
}

BARE_TEST(an_unknown_device_gives_a_context_in_error) {
    HELD(mo_context) *ctx = mo_context_create(&(mo_context_options){.device = (mo_device)9});
    assert_int_equal(mo_context_status(ctx)->code, MO_UNSUPPORTED);
}

/* A bound of memory counts what the context holds: tensors, tapes, and an array of a loader while it is made. */
TEST(a_bound_refuses_with_what_is_asked_held_and_allowed) {
    enum { MIB = 1 << 20 };
    HELD(mo_context) *ctx = mo_context_create(&(mo_context_options){.threads = 1, .memory = 4 * MIB});
    mo_tensor *half = mo_tensor_create(ctx, MO_U8, 1, (int64_t[]){2 * MIB});
    expect_ok(ctx);
    int64_t held = ctx->host_held;
    assert_true(mo_is_null(mo_tensor_create(ctx, MO_U8, 1, (int64_t[]){2 * MIB})));
    assert_failed(
        ctx, MO_MEMORY, PARTS("out of memory: 2.0M asked, 2.0M held, 4.0M allowed: raise --memory (memory of"));
    assert_int_equal(ctx->host_held, held);
    assert_null(mo_host_array(ctx, 2 * MIB, 1));
    assert_failed(ctx, MO_MEMORY, PARTS("2.0M asked, 2.0M held, 4.0M allowed"));
    int64_t capacity = 0, *grown = NULL;
    assert_false(mo_host_array_grow(ctx, &grown, &capacity, 2 * MIB, 1));
    assert_failed(ctx, MO_MEMORY, PARTS("2.0M held, 4.0M allowed"));
    mo_tape *t = mo_tape_create(ctx, MO_EVAL);
    assert_true(mo_is_null(mo_full(t, MO_F64, 1, (int64_t[]){MIB}, 1)));
    assert_failed(ctx, MO_MEMORY, PARTS("8.0M asked", "4.0M allowed"));
    mo_tape_release(t);
    mo_tensor_release(half);
    mo_tensor *again = mo_tensor_create(ctx, MO_U8, 1, (int64_t[]){3 * MIB}); /* what was given back can be taken */
    expect_ok(ctx);
    mo_tensor_release(again);
    mo_context *wrong = mo_context_create(&(mo_context_options){.memory = -1});
    assert_failed(wrong, MO_INVALID, PARTS("context: memory is -1 bytes, expected 0 (no bound) or more"));
    mo_context_release(wrong);
}

TEST_OF(counters_return_to_where_they_were, mo_context *ctx) {
    mo_counters before = mo_context_counters(ctx);
    mo_tensor *T = mo_tensor_create(ctx, MO_F64, 1, (int64_t[]){1000});
    assert_true(mo_context_counters(ctx).bytes_live >= before.bytes_live + 8000);
    assert_true(mo_context_counters(ctx).allocations > before.allocations);
    mo_tensor_release(T);
    assert_int_equal(mo_context_counters(ctx).bytes_live, before.bytes_live);
    mo_tensor_release(NULL);
    mo_tensor_release(mo_null_tensor(ctx));
}
