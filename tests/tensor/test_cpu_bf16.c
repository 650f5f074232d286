/* tests/tensor/test_cpu_bf16.c - products in the mode bf16 on the CPU, against sums in double of products of rounded
 * factors. Skipped if the processor has no AVX512-BF16. */
#include "tests/tensor/cpu_views.h"

#include "tensor/cpu/fast/avx512.h"

#include <fenv.h>
#include <float.h>

typedef struct sizes {
    int64_t m, n, k;
} sizes;

/* Epilogues and scale factors. */
typedef struct form {
    double alpha, beta;
    bool bias, addend, relu, above;
} form;

static mo_context *rounding_context(int threads) {
    mo_context *ctx = keep_context(mo_context_create(&(mo_context_options){.threads = threads, .math = MO_MATH_BF16}));
    assert_true(mo_ok(ctx));
    return ctx;
}

/* The nearest number with 7 bits behind the point, of two equally near the one with an even last bit. */
static double rounded(double value) {
    float x = (float)value;
    uint32_t word;
    memcpy(&word, &x, sizeof word);
    word = (word + 0x7fff + (word >> 16 & 1)) & 0xffff0000;
    memcpy(&x, &word, sizeof x);
    return x;
}

/* Expected value of C[b, i, j] and the sum of its terms' magnitudes, which bounds the rounding error of the sum. */
static double expected_entry(const mo_gemm *g, const mo_view *before, int64_t number, double *magnitude) {
    int64_t n = g->C.shape[2], m = g->C.shape[1], k = g->A.shape[2];
    int64_t b = number / (m * n), i = number / n % m, j = number % n;
    double sum = 0, total = 0;
    for (int64_t l = 0; l < k; l++) {
        double x = rounded(value_at(&g->A, b * g->A.stride[0] + i * g->A.stride[1] + l * g->A.stride[2]));
        double y = rounded(value_at(&g->B, b * g->B.stride[0] + l * g->B.stride[1] + j * g->B.stride[2]));
        sum += x * y;
        total += fabs(x * y);
    }
    double rest[] = {g->beta != 0 ? g->beta * element(before, number) : 0, g->bias.data ? element(&g->bias, j) : 0,
        g->addend.data ? element(&g->addend, number) : 0};
    sum *= g->alpha;
    total *= fabs(g->alpha);
    for (int r = 0; r < 3; r++) {
        sum += rest[r];
        total += fabs(rest[r]);
    }
    *magnitude = total;
    bool below = g->above.data && !(element(&g->above, number) > 0);
    return below || (g->relu && sum < 0) ? 0 : sum;
}

/* Sums are float32: k roundings, of random sign. Full factors would be off by 2^-9 of the magnitudes. */
static void check_entries(const mo_gemm *g, const mo_view *before, const char *what) {
    double tolerance = epsilon_of(MO_F32) * (4 + 2 * sqrt((double)g->A.shape[2]));
    int64_t count = count_of(&g->C), step = count > 20000 ? count / 5000 | 1 : 1;
    for (int64_t i = 0; i < count; i += step) {
        double magnitude, expected = expected_entry(g, before, i, &magnitude);
        assert_near(what, i, element(&g->C, i), expected, tolerance * magnitude);
    }
}

/* Runs g with 1, 2 and 5 threads from the same C; checks the values once and the bits always. */
static void check_product(mo_gemm g, const char *what) {
    mo_view before = clone_view(&g.C), first = {0};
    const int threads[] = {1, 2, 5};
    for (int i = 0; i < 3; i++) {
        mo_context *ctx = rounding_context(threads[i]);
        memcpy(g.C.data, before.data, (size_t)count_of(&g.C) * sizeof(float));
        mo_kernels_of(ctx, MO_F32)->gemm(ctx, &g);
        assert_true(mo_ok(ctx));
        if (i == 0) {
            check_entries(&g, &before, what);
            first = clone_view(&g.C);
        }
        assert_same_bits(&first, &g.C);
    }
}

static void check_sizes(int64_t batch, sizes s, bool transpose_A, bool transpose_B, form f) {
    char what[160];
    snprintf(what, sizeof what, "[%d,%d,%d]%s x [%d,%d]%s", (int)batch, (int)s.m, (int)s.k, transpose_A ? "T" : "",
        (int)s.k, (int)s.n, transpose_B ? "T" : "");
    mo_view A = transpose_A ? UNIFORM_VIEW(MO_F32, 1, batch, s.k, s.m) : UNIFORM_VIEW(MO_F32, 1, batch, s.m, s.k);
    mo_view B = transpose_B ? UNIFORM_VIEW(MO_F32, 2, batch, s.n, s.k) : UNIFORM_VIEW(MO_F32, 2, batch, s.k, s.n);
    mo_view C = UNIFORM_VIEW(MO_F32, 3, batch, s.m, s.n), bias = UNIFORM_VIEW(MO_F32, 4, s.n);
    mo_view addend = UNIFORM_VIEW(MO_F32, 5, batch, s.m, s.n), above = UNIFORM_VIEW(MO_F32, 6, batch, s.m, s.n);
    mo_gemm g = {.A = transpose_A ? swapped(A, 1, 2) : A,
        .B = transpose_B ? swapped(B, 1, 2) : B,
        .C = C,
        .bias = f.bias ? bias : (mo_view){0},
        .addend = f.addend ? addend : (mo_view){0},
        .above = f.above ? above : (mo_view){0},
        .alpha = f.alpha,
        .beta = f.beta,
        .relu = f.relu};
    check_product(g, what);
    free_views();
}

static const form FORMS[] = {{.alpha = 1}, {.alpha = -0.5, .beta = 2}, {.alpha = 1, .bias = true, .relu = true},
    {.alpha = 2, .addend = true, .above = true}, {.alpha = 1, .beta = 1, .bias = true, .addend = true, .relu = true}};

static void need_the_instruction(void) {
    if (avx512_has_bf16())
        return;
    print_message("this processor has no AVX512-BF16\n");
    skip();
}

/* ---- values ---- */

static void small_products_of_every_form_round_their_factors(void **state) {
    (void)state;
    need_the_instruction();
    const int64_t size[] = {0, 1, 7, 17, 35};
    for (int i = 0; i < 125; i++)
        for (int way = 0; way < 4; way++)
            check_sizes(
                1 + i % 3, (sizes){size[i % 5], size[i / 5 % 5], size[i / 25]}, way & 1, way & 2, FORMS[(i + way) % 5]);
}

static void large_products_round_their_factors(void **state) {
    (void)state;
    need_the_instruction();
    const sizes tiled[] = {{1023, 130, 71}, {300, 1030, 64}, {90, 600, 1601}, {2000, 20, 40}};
    const sizes cut[] = {{20, 30, 9001}, {7, 130, 30001}};
    const sizes vectors[] = {{5000, 1, 601}, {1, 5000, 600}, {1, 1, 100001}, {600, 1, 9000}};
    for (int i = 0; i < 4; i++)
        for (int way = 0; way < 4; way++) {
            check_sizes(1, tiled[i], way & 1, way & 2, FORMS[way + 1]);
            check_sizes(1, vectors[i], way & 1, way & 2, FORMS[way]);
            if (i < 2)
                check_sizes(1 + i, cut[i], way & 1, way & 2, FORMS[way + 1]);
        }
    check_sizes(3000, (sizes){5, 4, 7}, true, false, FORMS[4]);
}

/* More columns, and more terms, than are packed together; batches whose matrices are not small. */
static void products_in_several_rounds_round_their_factors(void **state) {
    (void)state;
    need_the_instruction();
    for (int way = 0; way < 4; way++) {
        check_sizes(1, (sizes){9, 8200, 21}, way & 1, way & 2, FORMS[4 - way]);
        check_sizes(1, (sizes){20, 1500, 6001}, way & 1, way & 2, FORMS[way + 1]);
        check_sizes(2, (sizes){150, 140, 150}, way & 1, way & 2, FORMS[way + 1]);
        check_sizes(2, (sizes){4, 16000, 16}, way & 1, way & 2, FORMS[way + 1]); /* a thread's own, as it is small */
    }
}

/* B and the addend common to a batch; a bias and an addend without a unit stride. */
static void one_B_may_serve_a_batch(void **state) {
    (void)state;
    need_the_instruction();
    mo_view A = UNIFORM_VIEW(MO_F32, 1, 3, 200, 101), B = UNIFORM_VIEW(MO_F32, 2, 101, 120), D = B;
    mo_view C = UNIFORM_VIEW(MO_F32, 3, 3, 200, 120), bias = UNIFORM_VIEW(MO_F32, 4, 120, 2);
    mo_view addend = UNIFORM_VIEW(MO_F32, 5, 3, 120, 200);
    D.ndim = 3;
    memcpy(D.shape, (int64_t[]){3, 101, 120}, 3 * sizeof *D.shape);
    memcpy(D.stride, (int64_t[]){0, 120, 1}, 3 * sizeof *D.stride);
    mo_gemm g = {.A = A, .B = D, .C = C, .addend = swapped(addend, 1, 2), .alpha = 1, .relu = true};
    check_product(g, "columns of the addend");
    bias.ndim = 1;
    g.bias = bias; /* every second number */
    check_product(g, "numbers of the bias");
    g.addend = (mo_view){0};
    check_product(g, "bias alone");
    free_views();
}

/* Operands without a unit stride, and one of them common to the batch. */
static void any_strides_give_the_same(void **state) {
    (void)state;
    need_the_instruction();
    mo_view A = UNIFORM_VIEW(MO_F32, 1, 3, 40, 51, 2), B = UNIFORM_VIEW(MO_F32, 2, 51, 60, 3);
    mo_view C = UNIFORM_VIEW(MO_F32, 3, 3, 40, 60);
    mo_gemm g = {.A = A, .B = {.data = B.data, .dtype = MO_F32, .ndim = 3, .shape = {3, 51, 60}}, .C = C, .alpha = 1};
    g.A.ndim = 3; /* every second element */
    g.B.stride[1] = 180;
    g.B.stride[2] = 3;
    check_product(g, "gaps");
    g.B.stride[2] = 0; /* every column the same */
    check_product(g, "broadcast columns");
    g.A.stride[1] = 0;
    check_product(g, "broadcast rows");
    free_views();
}

/* C [m, n] = A B of contiguous float32 matrices on one thread. */
static void multiply(int64_t m, int64_t n, int64_t k, float *A, float *B, float *C) {
    mo_context *ctx = rounding_context(1);
    mo_gemm g = {.A = {A, MO_F32, 2, {m, k}, {k, 1}},
        .B = {B, MO_F32, 2, {k, n}, {n, 1}},
        .C = {C, MO_F32, 2, {m, n}, {n, 1}},
        .alpha = 1};
    mo_kernels_of(ctx, MO_F32)->gemm(ctx, &g);
    assert_true(mo_ok(ctx));
    free_views();
}

/* ---- single numbers ---- */

static void halves_round_to_even_in_every_rounding_mode(void **state) {
    (void)state;
    need_the_instruction();
    const int modes[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
    float A[] = {1 + 0x1p-8f, 1 + 3 * 0x1p-8f, -1 - 0x1p-8f, 1 + 0x1.02p-8f, FLT_MAX}, one[] = {1}, C[5];
    const float expected[] = {1, 1 + 0x1p-6f, -1, 1 + 0x1p-7f, INFINITY};
    for (int i = 0; i < 4; i++) {
        mo_context *ctx = rounding_context(1);
        mo_gemm g = {.A = {A, MO_F32, 2, {5, 1}, {1, 1}},
            .B = {one, MO_F32, 2, {1, 1}, {1, 1}},
            .C = {C, MO_F32, 2, {5, 1}, {1, 1}},
            .alpha = 1};
        fesetround(modes[i]);
        mo_kernels_of(ctx, MO_F32)->gemm(ctx, &g);
        fesetround(FE_TONEAREST);
        free_views();
        assert_memory_equal(C, expected, sizeof C);
    }
}

static void subnormal_factors_and_sums_are_zero(void **state) {
    (void)state;
    need_the_instruction();
    float A[] = {0x1p-127f, 0x1p-126f, 0x1p-100f, -0x1p-149f}, B[] = {0x1p30f, 0x1p-30f}, C[8];
    const float expected[] = {0, 0, 0x1p-96f, 0, 0x1p-70f, 0, 0, 0};
    multiply(4, 2, 1, A, B, C);
    for (int i = 0; i < 8; i++)
        if (C[i] != expected[i])
            fail_msg("entry %d is %g, expected %g", i, (double)C[i], (double)expected[i]);
}

/* A NaN, or an infinity, in row 20 of A reaches the 19 entries of row 20 of C, and no other. */
static void nan_and_infinity_pass_through(void **state) {
    (void)state;
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

/* ---- what else the mode concerns ---- */

static void grams_are_symmetric_products(void **state) {
    (void)state;
    need_the_instruction();
    const int64_t sizes_of[][2] = {{5, 3}, {70, 1601}, {300, 64}};
    for (int i = 0; i < 3; i++) {
        int64_t n = sizes_of[i][0], d = sizes_of[i][1];
        mo_view X = UNIFORM_VIEW(MO_F32, 1, n, d), Y = NEW_VIEW(MO_F32, n, n), Z = NEW_VIEW(MO_F32, n, n);
        mo_context *ctx = rounding_context(2);
        mo_kernels_of(ctx, MO_F32)->gram(ctx, &X, &Y);
        mo_kernels_of(ctx, MO_F32)->gemm(ctx, &(mo_gemm){.A = X, .B = swapped(X, 0, 1), .C = Z, .alpha = 1});
        assert_same_bits(&Y, &Z);
        for (int64_t r = 0; r < n * n; r++)
            assert_true(element(&Y, r) == element(&Y, r % n * n + r / n));
        free_views();
    }
}

static void float64_stays_as_it_is(void **state) {
    (void)state;
    need_the_instruction();
    mo_view A = UNIFORM_VIEW(MO_F64, 1, 40, 70), B = UNIFORM_VIEW(MO_F64, 2, 70, 50);
    mo_view C = NEW_VIEW(MO_F64, 40, 50), D = NEW_VIEW(MO_F64, 40, 50);
    mo_context *ctx = rounding_context(2), *full = context_with(2);
    mo_kernels_of(ctx, MO_F64)->gemm(ctx, &(mo_gemm){.A = A, .B = B, .C = C, .alpha = 1});
    mo_kernels_of(full, MO_F64)->gemm(full, &(mo_gemm){.A = A, .B = B, .C = D, .alpha = 1});
    assert_same_bits(&C, &D);
    free_views();
}

static void repeated_products_allocate_nothing(void **state) {
    (void)state;
    need_the_instruction();
    mo_context *ctx = rounding_context(2);
    mo_view A = UNIFORM_VIEW(MO_F32, 1, 900, 300), B = UNIFORM_VIEW(MO_F32, 2, 300, 200);
    mo_view C = NEW_VIEW(MO_F32, 900, 200);
    mo_gemm g = {.A = A, .B = B, .C = C, .alpha = 1};
    mo_kernels_of(ctx, MO_F32)->gemm(ctx, &g);
    int64_t before = mo_context_counters(ctx).allocations;
    mo_kernels_of(ctx, MO_F32)->gemm(ctx, &g);
    assert_int_equal(before, mo_context_counters(ctx).allocations);
    free_views();
}

/* Runs on every processor. */
static void a_context_has_the_mode_if_the_processor_has_it(void **state) {
    (void)state;
    mo_context *ctx = keep_context(mo_context_create(&(mo_context_options){.threads = 1, .math = MO_MATH_BF16}));
    assert_int_equal(mo_context_status(ctx)->code, avx512_has_bf16() ? MO_OK : MO_UNSUPPORTED);
    assert_true(avx512_has_bf16() || strstr(mo_context_status(ctx)->message, "no AVX512-BF16"));
    ctx = keep_context(mo_context_create(&(mo_context_options){.threads = 1, .math = MO_MATH_TF32}));
    assert_int_equal(mo_context_status(ctx)->code, MO_UNSUPPORTED);
    free_views();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_products_of_every_form_round_their_factors),
        cmocka_unit_test(large_products_round_their_factors),
        cmocka_unit_test(products_in_several_rounds_round_their_factors),
        cmocka_unit_test(one_B_may_serve_a_batch),
        cmocka_unit_test(any_strides_give_the_same),
        cmocka_unit_test(halves_round_to_even_in_every_rounding_mode),
        cmocka_unit_test(subnormal_factors_and_sums_are_zero),
        cmocka_unit_test(nan_and_infinity_pass_through),
        cmocka_unit_test(grams_are_symmetric_products),
        cmocka_unit_test(float64_stays_as_it_is),
        cmocka_unit_test(repeated_products_allocate_nothing),
        cmocka_unit_test(a_context_has_the_mode_if_the_processor_has_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
