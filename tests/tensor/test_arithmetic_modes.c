/* tests/tensor/test_arithmetic_modes.c - a thread that does not round to nearest, or flushes subnormal numbers to zero,
 * is refused by name and left unchanged; once it has the usual mode, results have the usual bits. */
#include "ops/ops.h"
#include "tests/scratch.h"

#include <fenv.h>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

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
