/* tests/tensor/test_cpu_bf16.c - the mode bf16 on the CPU: how factors are rounded (test_cpu_gemm.c tests its products
 * and grams). */
#include "tests/scratch.h"
#include "tests/tensor/cpu_views.h"

#include <fenv.h>

/* C [m, n] = A B of contiguous float32 matrices on one thread. */
static void multiply(int64_t m, int64_t n, int64_t k, float *A, float *B, float *C) {
    mo_context *ctx = context_of(1, MO_MATH_BF16);
    mo_gemm g = {.A = {A, MO_F32, 2, {m, k}, {k, 1}},
        .B = {B, MO_F32, 2, {k, n}, {n, 1}},
        .C = {C, MO_F32, 2, {m, n}, {n, 1}},
        .alpha = 1};
    mo_kernels_of(ctx, MO_F32)->gemm(ctx, &g);
    assert_true(mo_ok(ctx));
}

/* ---- single numbers ---- */

TEST(halves_round_to_even_in_every_rounding_mode) {
    const int modes[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
    float A[] = {1 + 0x1p-8f, 1 + 3 * 0x1p-8f, -1 - 0x1p-8f, 1 + 0x1.02p-8f, FLT_MAX}, one[] = {1}, C[5];
    const float expected[] = {1, 1 + 0x1p-6f, -1, 1 + 0x1p-7f, INFINITY};
    for (int i = 0; i < 4; i++) {
        mo_context *ctx = context_of(1, MO_MATH_BF16);
        mo_gemm g = {.A = {A, MO_F32, 2, {5, 1}, {1, 1}},
            .B = {one, MO_F32, 2, {1, 1}, {1, 1}},
            .C = {C, MO_F32, 2, {5, 1}, {1, 1}},
            .alpha = 1};
        fesetround(modes[i]);
        mo_kernels_of(ctx, MO_F32)->gemm(ctx, &g);
        fesetround(FE_TONEAREST);
        assert_memory_equal(C, expected, sizeof C);
    }
}

TEST(subnormal_factors_are_zero) {
    float A[] = {0x1p-127f, 0x1p-126f, 0x1p-90f, -0x1p-149f}, B[] = {0x1p30f, 0x1p20f}, C[8];
    const float expected[] = {0, 0, 0x1p-96f, 0x1p-106f, 0x1p-60f, 0x1p-70f, 0, 0};
    multiply(4, 2, 1, A, B, C);
    for (int i = 0; i < 8; i++)
        if (C[i] != expected[i])
            fail_msg("entry %d is %g, expected %g", i, (double)C[i], (double)expected[i]);
}

/* A NaN, or an infinity, in row 20 of A reaches the 19 entries of row 20 of C, and no other. */
TEST(nan_and_infinity_pass_through) {
    enum { M = 37, N = 19, K = 9 };
    const float odd[] = {NAN, INFINITY, -INFINITY};
    for (int o = 0; o < 3; o++) {
        float A[M * K], B[K * N], C[M * N];
        for (int i = 0; i < M * K; i++)
            A[i] = (float)(1 + i % 5);
        for (int i = 0; i < K * N; i++)
            B[i] = (float)(1 + i % 3);
        A[20 * K + 8] = odd[o];
        multiply(M, N, K, A, B, C);
        for (int i = 0; i < M * N; i++) {
            bool reached = i / N == 20;
            if (!(reached ? (o ? C[i] == odd[o] : isnan(C[i])) : isfinite(C[i])))
                fail_msg("%g in row 20: entry %d of row %d is %g", (double)odd[o], i % N, i / N, (double)C[i]);
        }
    }
}

TEST(a_context_on_the_cpu_has_no_tf32) {
    HELD(mo_context) *ctx = mo_context_create(&(mo_context_options){.threads = 1, .math = MO_MATH_TF32});
    assert_int_equal(mo_context_status(ctx)->code, MO_UNSUPPORTED);
}
