/* tests/tensor/test_libraries.c - the vendor's libraries and our kernels give the same results, and our kernels compute
 * what a library refuses. Skipped if there is no CUDA device. */
#include "ops/inside.h"
#include "tensor/storage.h"
#include "tests/device.h"
#include "tests/scratch.h"
#include "tests/worst_of.h"

enum { ROWS = 300, COLUMNS = 700, WIDTH = 600 };

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

/* Y and again := the product of one random matrix with X [COLUMNS, d], read from column `first` on. Every seventh row
 * is empty; row 8 has an entry in each column, so many that a device may share it among its threads. */
static void sparse_products(mo_tape *t, int64_t d, int64_t first, float *Y, float *again) {
    mo_context *ctx = mo_tape_context(t);
    static int64_t row[ROWS + 1];
    static int32_t column[ROWS * 8 + COLUMNS];
    static float value[ROWS * 8 + COLUMNS], x[COLUMNS * (WIDTH + 8)];
    mo_random r = mo_random_at(6, MO_PURPOSE_CHECK, 0);
    int64_t nnz = 0;
    for (int i = 0; i < ROWS; i++, row[i] = nnz)
        for (int64_t k = i == 8 ? COLUMNS : i % 7 ? mo_random_below(&r, 8) : 0; k > 0; k--, nnz++) {
            column[nnz] = (int32_t)(i == 8 ? COLUMNS - k : mo_random_below(&r, COLUMNS));
            value[nnz] = (float)mo_random_normal(&r);
        }
    for (int i = 0; i < COLUMNS * (WIDTH + 8); i++)
        x[i] = (float)mo_random_normal(&r);
    mo_csr *A = mo_csr_create(ctx, ROWS, COLUMNS, row, column, MO_F32, value);
    mo_tensor *whole = tensor_of_test(mo_tensor_create_from(ctx, MO_F32, 2, (int64_t[]){COLUMNS, WIDTH + 8}, x));
    mo_tensor *X = mo_slice(t, whole, MO_AXIS(1), first, first + d);
    read_floats(mo_spmm(t, A, X), Y);
    read_floats(mo_spmm(t, A, X), again);
    mo_tape_reset(t);
    mo_csr_release(A);
}

TEST(sparse_products_are_those_of_the_cpu) {
    static float expected[ROWS * WIDTH], own[ROWS * WIDTH], again[ROWS * WIDTH];
    static const int64_t widths[] = {1, 2, 33, 130, WIDTH};
    mo_tape *cpu = tape_of_test(mo_tape_create(context_of_test(device_context(MO_CPU)), MO_RECORD));
    mo_tape *device = tape_with("rule");
    for (int i = 0; i < 10; i++) { /* first = 1: the rows of X begin at addresses that no load of 16 bytes can read */
        int64_t d = widths[i % 5], first = i / 5;
        int n = (int)(ROWS * d);
        sparse_products(cpu, d, first, expected, again);
        sparse_products(device, d, first, own, again);
        assert_memory_equal(own, again, (size_t)n * sizeof *again);
        assert_true(difference(expected, own, n) <= 1024 * FLT_EPSILON);
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
    assert_non_null(strstr(text, "cuSOLVER"));
    assert_false(mo_device_libraries(MO_CPU, text, sizeof text));
}
