/* tests/tensor/test_streams.c - two contexts of a device share memory: a read in one waits for the other's work that
 * writes it, as their streams are ordered. The emulated device runs nothing until it is waited for, so there a missing
 * order always shows. Skipped if there is no CUDA device. */
#include "tests/device.h"
#include "tests/scratch.h"

enum { N = 1000 };

/* Reads the values of another context's tensor by way of `reader`. */
static void read_by(mo_context *reader, const mo_tensor *X, float *x) {
    mo_view memory = mo_tensor_view(X);
    mo_tensor *window = mo_tensor_wrap(reader, &memory, NULL, NULL);
    assert_int_equal(mo_tensor_read(window, x, N * sizeof *x), MO_OK);
    mo_tensor_release(window);
}

static mo_tensor *filled(mo_context *ctx, double value) {
    mo_tensor *X = mo_tensor_create(ctx, MO_F32, 1, (int64_t[]){N});
    mo_tensor_fill(X, value);
    return X;
}

static void check_shared(bool by_reader) {
    mo_context *writer = device_context(MO_CUDA), *reader = device_context(MO_CUDA);
    float x[N];
    mo_tensor *X = filled(writer, 3);
    mo_code code = by_reader ? mo_context_order(reader, mo_context_stream(writer), true)
                             : mo_context_order(writer, mo_context_stream(reader), false);
    assert_int_equal(code, MO_OK);
    read_by(reader, X, x);
    for (int i = 0; i < N; i++)
        assert_true(x[i] == 3);
    mo_tensor_release(X);
    assert_int_equal(mo_context_release(reader), MO_OK);
    assert_int_equal(mo_context_release(writer), MO_OK);
}

TEST(a_reader_waits_for_the_writer) {
    check_shared(true);
}

TEST(a_writer_lets_the_reader_wait) {
    check_shared(false);
}

TEST(default_streams_have_numbers) {
    mo_context *ctx = device_context(MO_CUDA);
    mo_tensor *X = filled(ctx, 1);
    for (uintptr_t number = 1; number <= 2; number++)
        for (int theirs_first = 0; theirs_first < 2; theirs_first++)
            assert_int_equal(mo_context_order(ctx, (void *)number, theirs_first), MO_OK);
    mo_tensor_release(X);
    assert_int_equal(mo_context_release(ctx), MO_OK);
}

TEST(a_capture_has_one_stream) {
    mo_context *ctx = device_context(MO_CUDA);
    assert_int_equal(mo_capture_begin(ctx, 0), MO_OK);
    assert_int_equal(mo_context_order(ctx, (void *)1, true), MO_STATE);
    assert_non_null(strstr(mo_context_status(ctx)->message, "another stream was put in order with it"));
    mo_clear_error(ctx);
    assert_int_equal(mo_context_release(ctx), MO_OK);
}

TEST(the_cpu_has_none) {
    mo_context *ctx = mo_context_create(&(mo_context_options){.threads = 1});
    assert_null(mo_context_stream(ctx));
    assert_int_equal(mo_context_order(ctx, NULL, true), MO_OK);
    assert_int_equal(mo_context_release(ctx), MO_OK);
}
