/* tests/tensor/test_libraries.c - the vendor's libraries and our kernels give the same results, and our kernels compute
 * what a library refuses. Skipped if there is no CUDA device. */
#include "ops/inside.h"
#include "tensor/objects.h"
#include "tests/device.h"
#include "tests/scratch.h"
#include "tests/worst_of.h"

enum { ROWS = 300, COLUMNS = 700, WIDTH = 600, NARROW = 48, LINES = 6, LENGTH = 5001, VERY_WIDE = 1 << 17 };

static const fixtures around_all = {need_cuda, NULL};

/* The largest difference of two arrays on the host. */
static double difference(const float *a, const float *b, int n) {
    double worst = 0;
    for (int i = 0; i < n; i++)
        worst = worst_of(worst, isnan(a[i]) && isnan(b[i]) ? 0 : a[i] == b[i] ? 0 : fabs((double)a[i] - b[i]));
    return worst;
}

static void read_values(const mo_tensor *T, void *host) {
    if (mo_tensor_read(T, host, (size_t)mo_numel(T) * mo_dtype_size(mo_tensor_dtype(T))) != MO_OK)
        fail_msg("%s", mo_context_status(mo_tensor_context(T))->message);
}

/* ---- softmax ---- */

static const char *const words[] = {"always", "never", "rule"};

/* softmax or its logarithm, and its gradient for a random cotangent, computed as `dtype`. */
typedef struct softmax_results {
    double y[LINES * LENGTH], x_bar[LINES * LENGTH];
} softmax_results;

/* Values of which each row is difficult in its own way: random, large, with -Inf among them, with one NaN, -Inf alone,
 * and equal. */
static double difficult(mo_random *r, int row, int j) {
    double draw = mo_random_normal(r);
    switch (row) {
    case 1:
        return j % 2 ? 1e4 : -1e4;
    case 2:
        return j % 3 ? draw : -INFINITY;
    case 3:
        return j == 1234 ? NAN : draw;
    case 4:
        return -INFINITY;
    case 5:
        return 1e4;
    default:
        return draw;
    }
}

/* The rows of X are taken from row `first` of a matrix on: from its second row on, their address is one that the
 * library refuses. */
static void softmax_of(mo_tape *t, mo_dtype dtype, bool log, int64_t first, softmax_results *out) {
    static double x[(LINES + 1) * LENGTH], g[LINES * LENGTH];
    mo_random r = mo_random_at(5, MO_PURPOSE_CHECK, 0);
    for (int i = 0; i < LINES * LENGTH; i++) {
        x[first * LENGTH + i] = difficult(&r, i / LENGTH, i % LENGTH);
        g[i] = mo_random_normal(&r);
    }
    mo_tensor *whole = mo_require_grad(mo_cast(t, mo_from(t, MO_F64, 2, (int64_t[]){LINES + 1, LENGTH}, x), dtype));
    mo_tensor *X = mo_slice(t, whole, MO_AXIS(0), first, first + LINES), *X_bar;
    mo_tensor *G = mo_cast(t, mo_from(t, MO_F64, 2, (int64_t[]){LINES, LENGTH}, g), dtype);
    mo_tensor *Y = log ? mo_log_softmax(t, X, MO_AXIS(-1)) : mo_softmax(t, X, MO_AXIS(-1));
    read_values(mo_cast(t, Y, MO_F64), out->y);
    mo_grad(t, &Y, &G, 1, &X, &X_bar, 1, 0);
    read_values(mo_cast(t, X_bar, MO_F64), out->x_bar);
    mo_tape_reset(t);
}

static double largest_of(const double *row) {
    double largest = DBL_MIN;
    for (int j = 0; j < LENGTH; j++)
        largest = isfinite(row[j]) ? fmax(largest, fabs(row[j])) : largest;
    return largest;
}

/* The largest difference of a row's values relative to b, or to `least` where b is smaller. A NaN or an infinity must
 * be in the same place. */
static double row_difference(const double *a, const double *b, double least) {
    double worst = 0;
    for (int j = 0; j < LENGTH; j++)
        if (a[j] != b[j] && !(isnan(a[j]) && isnan(b[j])))
            worst = worst_of(worst, fabs(a[j] - b[j]) / fmax(fabs(b[j]), least));
    return worst;
}

/* The bound: each of LENGTH additions of a sum rounds once, and so do the exponentials. The adjoint subtracts, so its
 * values are only as good as the row's largest. */
TEST(softmax_of_difficult_rows_agrees_with_the_cpu_every_way) {
    static softmax_results expected, got;
    HELD(lone_tape) *cpu = mo_tape_create(device_context(MO_CPU), MO_RECORD);
    for (int w = 0; w < 3; w++) {
        HELD(lone_tape) *t = mo_tape_create(cuda_context(words[w], MO_MATH_FP32), MO_RECORD);
        for (int i = 0; i < 8; i++) {
            mo_dtype dtype = i % 2 ? MO_F64 : MO_F32;
            bool log = i / 2 % 2;
            int64_t first = i / 4;
            softmax_of(cpu, dtype, log, first, &expected);
            softmax_of(t, dtype, log, first, &got);
            double bound = LENGTH * (dtype == MO_F64 ? DBL_EPSILON : FLT_EPSILON);
            for (int row = 0; row < LINES; row++) {
                const double *want = expected.x_bar + row * LENGTH;
                double y = row_difference(got.y + row * LENGTH, expected.y + row * LENGTH, DBL_MIN);
                double x_bar = row_difference(got.x_bar + row * LENGTH, want, largest_of(want));
                if (!(y <= bound && x_bar <= bound))
                    fail_msg("libraries %s, %s, log %d, from row %" PRId64 ", row %d: off by %g, its gradient by %g",
                        words[w], mo_dtype_name(dtype), log, first, row, y, x_bar);
            }
        }
    }
}

/* softmax of one row of n values. */
static void softmax_row(const char *word, int n, float *y) {
    static float x[VERY_WIDE];
    mo_random r = mo_random_at(7, MO_PURPOSE_CHECK, 0);
    for (int i = 0; i < n; i++)
        x[i] = (float)mo_random_normal(&r);
    HELD(lone_tape) *t = mo_tape_create(cuda_context(word, MO_MATH_FP32), MO_RECORD);
    read_values(mo_softmax(t, mo_from(t, MO_F32, 2, (int64_t[]){1, n}, x), MO_AXIS(-1)), y);
}

/* cuDNN adds up in float32 and our kernel in float64, so some of the values differ in their last bits. */
TEST(wide_rows_are_the_librarys_and_narrow_ones_ours) {
    static float by_rule[VERY_WIDE], library[VERY_WIDE], own[VERY_WIDE];
    char text[256];
    mo_device_libraries(MO_CUDA, text, sizeof text);
    bool there = !strstr(text, "no cuDNN") && !strstr(text, "without cuDNN");
    for (int i = 0; i < 2; i++) {
        int n = i ? VERY_WIDE : NARROW;
        softmax_row("rule", n, by_rule);
        softmax_row("always", n, library);
        softmax_row("never", n, own);
        assert_memory_equal(by_rule, i ? library : own, (size_t)n * sizeof *own);
        assert_true(i == 0 || !there || memcmp(library, own, sizeof own) != 0);
    }
}

/* ---- sparse products ---- */

/* Y and again := the product of one random matrix with X [COLUMNS, d], read from column `first` on. Every seventh row
 * is empty. Row 8 has an entry in each column: a device may share such a long row among its threads. */
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
    HELD(mo_csr) *A = mo_csr_create(ctx, ROWS, COLUMNS, row, column, MO_F32, value);
    HELD(mo_tensor) *whole = mo_tensor_create_from(ctx, MO_F32, 2, (int64_t[]){COLUMNS, WIDTH + 8}, x);
    mo_tensor *X = mo_slice(t, whole, MO_AXIS(1), first, first + d);
    read_values(mo_spmm(t, A, X), Y);
    read_values(mo_spmm(t, A, X), again);
    mo_tape_reset(t);
}

TEST(sparse_products_are_those_of_the_cpu) {
    static float expected[ROWS * WIDTH], own[ROWS * WIDTH], again[ROWS * WIDTH];
    static const int64_t widths[] = {1, 2, 33, 130, WIDTH};
    HELD(lone_tape) *cpu = mo_tape_create(device_context(MO_CPU), MO_RECORD);
    HELD(lone_tape) *device = mo_tape_create(cuda_context("rule", MO_MATH_FP32), MO_RECORD);
    for (int i = 0; i < 10; i++) { /* first = 1: the rows of X begin at addresses that no load of 16 bytes can read */
        int64_t d = widths[i % 5], first = i / 5;
        int n = (int)(ROWS * d);
        sparse_products(cpu, d, first, expected, again);
        sparse_products(device, d, first, own, again);
        assert_memory_equal(own, again, (size_t)n * sizeof *again);
        assert_true(difference(expected, own, n) <= 1024 * FLT_EPSILON);
    }
}

/* Only the emulated device's libraries can be made to refuse. */
TEST(what_a_library_refuses_our_kernels_compute) {
    static softmax_results softmax, own;
    HELD(lone_tape) *without = mo_tape_create(cuda_context("never", MO_MATH_FP32), MO_RECORD),
                    *with = mo_tape_create(cuda_context("always", MO_MATH_FP32), MO_RECORD);
    softmax_of(without, MO_F32, false, 0, &own);
    setenv("MOCHI_CUDA_HOST_FAIL", "seam_softmax", 1);
    softmax_of(with, MO_F32, false, 0, &softmax);
    unsetenv("MOCHI_CUDA_HOST_FAIL");
    for (int row = 0; row < LINES; row++)
        assert_true(row_difference(softmax.y + row * LENGTH, own.y + row * LENGTH, DBL_MIN) <= LENGTH * FLT_EPSILON);
}

TEST(an_unknown_word_is_refused) {
    HELD(mo_context) *ctx = cuda_context("sometimes", MO_MATH_FP32);
    assert_failed(ctx, MO_INVALID, PARTS("cuda: MOCHI_CUDA_LIBRARIES is 'sometimes', expected rule, always or never"));
}

TEST(the_libraries_are_named) {
    char text[256];
    assert_true(mo_device_libraries(MO_CUDA, text, sizeof text));
    assert_non_null(strstr(text, "cuDNN"));
    assert_non_null(strstr(text, "cuSOLVER"));
    assert_false(mo_device_libraries(MO_CPU, text, sizeof text));
}
