/* tests/tensor/test_streams.c - memory that two contexts of a device share is read behind the work that writes it, by
 * an order between their streams. The emulated device does nothing before it is waited for, so that a missing order is
 * seen there every time. Skipped if there is no CUDA device. */
#include "ops/inside.h"
#include "tests/device.h"
#include "tests/scratch.h"

enum { N = 1000 };

static mo_tensor *filled(mo_context *ctx, double value) {
    mo_tensor *X = mo_tensor_create(ctx, MO_F32, 1, (int64_t[]){N});
    mo_tensor_fill(X, value);
    return X;
}

/* The reader waits for the writer, or the writer lets the reader wait. */
TEST(a_reader_reads_behind_the_writer) {
    for (int by_reader = 0; by_reader < 2; by_reader++) {
        HELD(mo_context) *writer = device_context(MO_CUDA), *reader = device_context(MO_CUDA);
        HELD(mo_tensor) *X = filled(writer, 3);
        mo_view memory = mo_tensor_view(X);
        float x[N];
        mo_code code = by_reader ? mo_context_order(reader, mo_context_stream(writer), true)
                                 : mo_context_order(writer, mo_context_stream(reader), false);
        assert_int_equal(code, MO_OK);
        HELD(mo_tensor) *window = mo_tensor_wrap(reader, &memory, NULL, NULL);
        assert_int_equal(mo_tensor_read(window, x, sizeof x), MO_OK);
        for (int i = 0; i < N; i++)
            assert_true(x[i] == 3);
    }
}

TEST(default_streams_have_numbers) {
    HELD(mo_context) *ctx = device_context(MO_CUDA);
    HELD(mo_tensor) *T = filled(ctx, 1);
    assert_false(mo_is_null(T));
    for (uintptr_t number = 1; number <= 2; number++)
        for (int theirs_first = 0; theirs_first < 2; theirs_first++)
            assert_int_equal(mo_context_order(ctx, (void *)number, theirs_first), MO_OK);
}

/* Between devices values pass through host memory. On hardware each device's context has a thread of its own: the
 * runtime's current device is the thread's. */
TEST(values_pass_between_devices) {
    if (mo_device_count(MO_CUDA) == 1)
        setenv("MOCHI_CUDA_HOST_DEVICES", "2", 1); /* the emulated device alone reads it */
    mo_context *first = device_context(MO_CUDA), *second;
    if (mo_device_count(MO_CUDA) < 2) {
        mo_context_release(first);
        skip("one device of CUDA, expected two");
    }
    second = mo_context_create(&(mo_context_options){.device = MO_CUDA, .index = 1});
    mo_tensor *X = filled(first, 5), *Y = mo_tensor_clone(second, X);
    float x[N];
    assert_int_equal(mo_tensor_read(Y, x, sizeof x), MO_OK);
    assert_true(x[0] == 5 && x[N - 1] == 5);
    unsetenv("MOCHI_CUDA_HOST_DEVICES");
    mo_tensor_release(X);
    mo_tensor_release(Y);
    assert_int_equal(mo_context_release(second), MO_OK);
    assert_int_equal(mo_context_release(first), MO_OK);
}

TEST(a_capture_has_one_stream) {
    HELD(mo_context) *ctx = device_context(MO_CUDA);
    assert_int_equal(mo_capture_begin(ctx, 0), MO_OK);
    assert_int_equal(mo_context_order(ctx, (void *)1, true), MO_STATE);
    assert_failed(ctx, MO_STATE, PARTS("another stream was put in order with it"));
}

TEST(the_cpu_has_none) {
    HELD(mo_context) *ctx = mo_context_create(&(mo_context_options){.threads = 1});
    assert_null(mo_context_stream(ctx));
    assert_int_equal(mo_context_order(ctx, NULL, true), MO_OK);
}
