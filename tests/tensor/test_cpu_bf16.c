/* tests/tensor/test_cpu_bf16.c - the mode bf16 on the CPU: how factors are rounded, and which results the mode does not
 * change (test_cpu_gemm.c tests its products). Skipped if the processor has no AVX512-BF16. */
#include "tensor/cpu/fast/avx512.h"
#include "tests/scratch.h"
#include "tests/tensor/cpu_views.h"

#include <fenv.h>

static void need_the_instruction(void) {
    if (avx512_has_bf16())
        return;
    skip("this processor has no AVX512-BF16");
}

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
    need_the_instruction();
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

TEST(subnormal_factors_and_sums_are_zero) {
    need_the_instruction();
    float A[] = {0x1p-127f, 0x1p-126f, 0x1p-100f, -0x1p-149f}, B[] = {0x1p30f, 0x1p-30f}, C[8];
    const float expected[] = {0, 0, 0x1p-96f, 0, 0x1p-70f, 0, 0, 0};
    multiply(4, 2, 1, A, B, C);
    for (int i = 0; i < 8; i++)
        if (C[i] != expected[i])
            fail_msg("entry %d is %g, expected %g", i, (double)C[i], (double)expected[i]);
}

/* A NaN, or an infinity, in row 20 of A reaches the 19 entries of row 20 of C, and no other. */
TEST(nan_and_infinity_pass_through) {
    need_the_instruction();
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

/* ---- which products the mode changes ---- */

TEST(grams_are_symmetric_products) {
    need_the_instruction();
    const int64_t sizes_of[][2] = {{5, 3}, {70, 1601}, {300, 64}};
    for (int i = 0; i < 3; i++) {
        int64_t n = sizes_of[i][0], d = sizes_of[i][1];
        mo_view X = UNIFORM_VIEW(MO_F32, 1, n, d), Y = NEW_VIEW(MO_F32, n, n), Z = NEW_VIEW(MO_F32, n, n);
        mo_context *ctx = context_of(2, MO_MATH_BF16);
        mo_kernels_of(ctx, MO_F32)->gram(ctx, &X, &Y);
        mo_kernels_of(ctx, MO_F32)->gemm(ctx, &(mo_gemm){.A = X, .B = swapped(X, 0, 1), .C = Z, .alpha = 1});
        assert_same_bits(&Y, &Z);
        for (int64_t r = 0; r < n * n; r++)
            assert_true(element(&Y, r) == element(&Y, r % n * n + r / n));
        free_test_memory();
    }
}

TEST(float64_stays_as_it_is) {
    need_the_instruction();
    mo_view A = UNIFORM_VIEW(MO_F64, 1, 40, 70), B = UNIFORM_VIEW(MO_F64, 2, 70, 50);
    mo_view C = NEW_VIEW(MO_F64, 40, 50), D = NEW_VIEW(MO_F64, 40, 50);
    mo_context *ctx = context_of(2, MO_MATH_BF16), *full = context_with(2);
    mo_kernels_of(ctx, MO_F64)->gemm(ctx, &(mo_gemm){.A = A, .B = B, .C = C, .alpha = 1});
    mo_kernels_of(full, MO_F64)->gemm(full, &(mo_gemm){.A = A, .B = B, .C = D, .alpha = 1});
    assert_same_bits(&C, &D);
}

/* Needs no AVX512-BF16. */
TEST(a_context_has_the_mode_if_the_processor_has_it) {
    HELD(mo_context) *ctx = mo_context_create(&(mo_context_options){.threads = 1, .math = MO_MATH_BF16});
    assert_int_equal(mo_context_status(ctx)->code, avx512_has_bf16() ? MO_OK : MO_UNSUPPORTED);
    assert_true(avx512_has_bf16() || strstr(mo_context_status(ctx)->message, "no AVX512-BF16"));
    HELD(mo_context) *other = mo_context_create(&(mo_context_options){.threads = 1, .math = MO_MATH_TF32});
    assert_int_equal(mo_context_status(other)->code, MO_UNSUPPORTED);
}
