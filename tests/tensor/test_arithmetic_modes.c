/* tests/tensor/test_arithmetic_modes.c - a thread that does not round to nearest, or flushes subnormal numbers to zero,
 * is refused by name and left unchanged; once it has the usual mode, results have the usual bits. */
#include "ops/ops.h"
#include "tests/openmp_workers.h"
#include "tests/scratch.h"

#include <fenv.h>

static const int roundings[] = {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
enum { ROUNDINGS = sizeof roundings / sizeof *roundings, N = 64 };

static const char *const refused = "the calling thread does not round to nearest, with which results would have other "
                                   "bits: call fesetenv(FE_DFL_ENV)";

/* Computes sums that depend on the rounding mode, and random numbers. */
static void compute(mo_context *ctx, double result[2 * N]) {
    mo_random r = mo_random_at(5, MO_PURPOSE_CHECK, 0);
    HELD(mo_tape) *t = mo_tape_create(ctx, MO_RECORD);
    double values[N];
    for (int i = 0; i < N; i++)
        result[N + i] = values[i] = mo_random_normal(&r);
    mo_tensor *X = mo_from(t, MO_F64, 2, (int64_t[]){8, 8}, values);
    mo_tensor *Y = mo_exp(t, mo_matmul(t, X, mo_softmax(t, X, MO_AXIS(1))));
    mo_tensor_read(Y, result, N * sizeof *result);
}

TEST_OF(other_roundings_are_refused, scratch *s) {
    double usual[2 * N], after[2 * N];
    compute(s->ctx, usual);
    for (int i = 0; i < ROUNDINGS; i++) {
        fesetround(roundings[i]);
        compute(s->ctx, after);
        HELD(mo_context) *own = mo_context_create(&(mo_context_options){.threads = 2});
        int left = fegetround();
        fesetround(FE_TONEAREST);
        assert_int_equal(left, roundings[i]);
        assert_failed(s->ctx, MO_STATE, PARTS(refused));
        assert_failed(own, MO_STATE, PARTS("context: ", refused));
        compute(s->ctx, after);
        assert_memory_equal(after, usual, sizeof usual);
        compute(own, after);
        assert_memory_equal(after, usual, sizeof usual);
        assert_true(mo_ok(s->ctx) && mo_ok(own));
    }
    print_message("%d rounding modes refused\n", ROUNDINGS);
}

/* Sets the flags that a program linked with -ffast-math has. */
TEST_OF(flushing_to_zero_is_refused, scratch *s) {
#if defined(__x86_64__)
    static const unsigned flushes[] = {0x8000, 0x0040, 0x8040};
    double usual[2 * N], after[2 * N];
    compute(s->ctx, usual);
    for (size_t i = 0; i < sizeof flushes / sizeof *flushes; i++) {
        unsigned before = _mm_getcsr();
        _mm_setcsr(before | flushes[i]);
        compute(s->ctx, after);
        unsigned left = _mm_getcsr();
        _mm_setcsr(before);
        assert_int_equal(left & 0x8040, flushes[i]);
        assert_failed(s->ctx, MO_STATE, PARTS("the calling thread flushes subnormal numbers to zero"));
        compute(s->ctx, after);
        assert_memory_equal(after, usual, sizeof usual);
    }
#else
    skip("FTZ and DAZ are bits of x86");
#endif
}

#if defined(__x86_64__)
enum { WORKERS = 4, ELEMENTS = 1 << 15, SQUARE = 128 };

static void compute_subnormal(mo_context *ctx, double *product, double *square) {
    HELD(mo_tape) *t = mo_tape_create(ctx, MO_EVAL);
    mo_tensor *A = mo_full(t, MO_F64, 1, (int64_t[]){ELEMENTS}, 1e-160);
    mo_tensor *X = mo_full(t, MO_F64, 2, (int64_t[]){SQUARE, SQUARE}, 1e-160);
    mo_tensor_read(mo_mul(t, A, mo_scale(t, A, 1e5, 0)), product, ELEMENTS * sizeof *product);
    mo_tensor_read(mo_matmul(t, X, mo_scale(t, X, 1e3, 0)), square, SQUARE * SQUARE * sizeof *square);
    expect_ok(ctx);
}

TEST(threads_that_flush_to_zero_change_no_bit_and_keep_their_mode) {
    HELD(mo_context) *one = mo_context_create(&(mo_context_options){.threads = 1});
    double *product[2], *square[2];
    for (int i = 0; i < 2; i++) {
        product[i] = test_memory(ELEMENTS * sizeof(double));
        square[i] = test_memory(SQUARE * SQUARE * sizeof(double));
    }
    int threads =
        omp_get_num_procs() < WORKERS ? omp_get_num_procs() : WORKERS; /* a larger team would be another one */
    if (threads < 2)
        skip("one processor");
    set_in_workers(threads, 0, 0);
    compute_subnormal(one, product[0], square[0]);
    assert_true(product[0][0] > 0 && square[0][0] > 0);
    set_in_workers(threads, 0, FLUSHES);
    for (int i = 0; i < 100; i++) {
        /* a new context: one that has seen other programs take processor time can use one thread */
        HELD(mo_context) *all = mo_context_create(&(mo_context_options){.threads = threads});
        compute_subnormal(all, product[1], square[1]);
        assert_memory_equal(product[1], product[0], ELEMENTS * sizeof(double));
        assert_memory_equal(square[1], square[0], SQUARE * SQUARE * sizeof(double));
    }
    assert_int_equal(set_in_workers(threads, FLUSHES, 0), threads - 1);
}
#endif
