/* tests/tensor/test_libraries.c - the vendor's libraries and our kernels give the same results, and our kernels compute
 * what a library refuses. Skipped if there is no CUDA device. */
#include "ops/inside.h"
#include "tensor/storage.h"
#include "tests/device.h"
#include "tests/scratch.h"
#include "tests/worst_of.h"

enum { ROWS = 300, COLUMNS = 200, WIDTH = 64 };

/* Returns a tape on a new context whose MOCHI_CUDA_LIBRARIES is `word`. */
static mo_tape *tape_with(const char *word) {
    setenv("MOCHI_CUDA_LIBRARIES", word, 1);
    mo_context *ctx = context_of_test(device_context(MO_CUDA));
    unsetenv("MOCHI_CUDA_LIBRARIES");
    return tape_of_test(mo_tape_create(ctx, MO_RECORD));
}

/* The largest difference of two arrays on the host. */
static double difference(const float *a, const float *b, int n) {
    double worst = 0;
    for (int i = 0; i < n; i++)
        worst = worst_of(worst, isnan(a[i]) && isnan(b[i]) ? 0 : a[i] == b[i] ? 0 : fabs((double)a[i] - b[i]));
    return worst;
}

static void read_floats(const mo_tensor *T, float *host) {
    if (mo_tensor_read(T, host, (size_t)mo_numel(T) * sizeof *host) != MO_OK)
        fail_msg("%s", mo_context_status(mo_tensor_context(T))->message);
}

/* Two products of one random matrix (every seventh row empty) with X [COLUMNS, d], read from column `first` on. */
static void sparse_products(mo_tape *t, int64_t d, int64_t first, float *Y, float *again) {
    mo_context *ctx = mo_tape_context(t);
    static int64_t row[ROWS + 1];
    static int32_t column[ROWS * 8];
    static float value[ROWS * 8], x[COLUMNS * (WIDTH + 8)];
    mo_random r = mo_random_at(6, MO_PURPOSE_CHECK, 0);
    int64_t nnz = 0;
    for (int i = 0; i < ROWS; i++, row[i] = nnz)
        for (int64_t k = i % 7 ? mo_random_below(&r, 8) : 0; k > 0; k--, nnz++) {
            column[nnz] = (int32_t)mo_random_below(&r, COLUMNS);
            value[nnz] = (float)mo_random_normal(&r);
        }
    for (int i = 0; i < COLUMNS * (WIDTH + 8); i++)
        x[i] = (float)mo_random_normal(&r);
    mo_csr *A = mo_csr_create(ctx, ROWS, COLUMNS, row, column, MO_F32, value);
    mo_tensor *whole = tensor_of_test(mo_tensor_create_from(ctx, MO_F32, 2, (int64_t[]){COLUMNS, WIDTH + 8}, x));
    mo_tensor *X = mo_slice(t, whole, MO_AXIS(1), first, first + d);
    read_floats(mo_spmm(t, A, X), Y);
    int64_t allocations = mo_context_counters(ctx).allocations;
    read_floats(mo_spmm(t, A, X), again);
    assert_true(mo_context_counters(ctx).allocations - allocations <= 1); /* at most its output; the library's workspace
                                                                           * is kept */
    mo_tape_reset(t);
    mo_csr_release(A);
}

TEST(sparse_products_agree_both_ways) {
    static float library[ROWS * WIDTH], own[ROWS * WIDTH], again[ROWS * WIDTH];
    static const int64_t widths[] = {1, 2, 33, WIDTH};
    mo_tape *always = tape_with("always"), *never = tape_with("never");
    for (int i = 0; i < 8; i++) { /* first = 1: X starts at an address that the library refuses */
        int64_t d = widths[i % 4], first = i / 4;
        int n = (int)(ROWS * d);
        sparse_products(always, d, first, library, again);
        assert_memory_equal(library, again, (size_t)n * sizeof *again);
        sparse_products(never, d, first, own, again);
        assert_memory_equal(own, again, (size_t)n * sizeof *again);
        assert_true(difference(library, own, n) <= 64 * FLT_EPSILON);
    }
}

/* Only the emulated device's libraries can be made to refuse. */
TEST(what_a_library_refuses_our_kernels_compute) {
    static const char *const refusals[] = {"seam_sparse_create", "seam_sparse_multiply"};
    static float Y[ROWS * WIDTH], again[ROWS * WIDTH], other[ROWS * WIDTH];
    mo_tape *never = tape_with("never");
    sparse_products(never, WIDTH, 0, other, again);
    for (int i = 0; i < 2; i++) {
        setenv("MOCHI_CUDA_HOST_FAIL", refusals[i], 1);
        mo_tape *always = tape_with("always");
        sparse_products(always, WIDTH, 0, Y, again);
        unsetenv("MOCHI_CUDA_HOST_FAIL");
        assert_true(difference(Y, other, ROWS * WIDTH) <= 64 * FLT_EPSILON);
    }
}

TEST(an_unknown_word_is_refused) {
    mo_context_release(device_context(MO_CUDA));
    setenv("MOCHI_CUDA_LIBRARIES", "sometimes", 1);
    mo_context *ctx = context_of_test(mo_context_create(&(mo_context_options){.device = MO_CUDA}));
    unsetenv("MOCHI_CUDA_LIBRARIES");
    assert_failed(ctx, MO_INVALID, PARTS("cuda: MOCHI_CUDA_LIBRARIES is 'sometimes', expected rule, always or never"));
}

TEST(the_libraries_are_named) {
    char text[256];
    mo_context_release(device_context(MO_CUDA));
    assert_true(mo_device_libraries(MO_CUDA, text, sizeof text));
    assert_non_null(strstr(text, "cuDNN"));
    assert_non_null(strstr(text, "cuSPARSE"));
    assert_false(mo_device_libraries(MO_CPU, text, sizeof text));
}
