/* tests/tensor/test_cpu_gemm.c - matrix products against plain loops in double. */
#include "tests/tensor/cpu_views.h"

#include "tensor/cpu/work.h"

typedef struct sizes {
    int64_t m, n, k;
} sizes;

/* Epilogues and scale factors. */
typedef struct form {
    double alpha, beta;
    bool bias, addend, relu, above, biases; /* biases: one for each matrix */
} form;

/* Expected value of C[b, i, j] and the sum of its terms' magnitudes, which bounds the rounding error. */
static double expected_entry(const mo_gemm *g, const mo_view *before, int64_t number, double *magnitude) {
    int64_t n = g->C.shape[2], m = g->C.shape[1], k = g->A.shape[2];
    int64_t b = number / (m * n), i = number / n % m, j = number % n;
    double sum = 0, total = 0;
    for (int64_t l = 0; l < k; l++) {
        double a = value_at(&g->A, b * g->A.stride[0] + i * g->A.stride[1] + l * g->A.stride[2]);
        double c = value_at(&g->B, b * g->B.stride[0] + l * g->B.stride[1] + j * g->B.stride[2]);
        sum += a * c;
        total += fabs(a * c);
    }
    sum *= g->alpha;
    total *= fabs(g->alpha);
    double rest[] = {g->beta != 0 ? g->beta * element(before, number) : 0,
        g->bias.data ? element(&g->bias, g->bias.ndim > 1 ? b * n + j : j) : 0,
        g->addend.data ? element(&g->addend, number) : 0};
    for (int i = 0; i < 3; i++) {
        sum += rest[i];
        total += fabs(rest[i]);
    }
    *magnitude = total;
    bool below = g->above.data && !(element(&g->above, number) > 0);
    return below || (g->relu && sum < 0) ? 0 : sum;
}

static void check_entries(const mo_gemm *g, const mo_view *before, const char *what) {
    double tolerance = epsilon_of(g->C.dtype) * (4 + 2 * sqrt((double)g->A.shape[2]));
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
        mo_context *ctx = context_with(threads[i]);
        memcpy(g.C.data, before.data, (size_t)count_of(&g.C) * mo_dtype_size(g.C.dtype));
        mo_kernels_of(ctx, g.C.dtype)->gemm(ctx, &g);
        assert_true(mo_ok(ctx));
        if (i == 0) {
            check_entries(&g, &before, what);
            first = clone_view(&g.C);
        }
        assert_same_bits(&first, &g.C);
    }
}

static void check_sizes(mo_dtype dtype, int64_t batch, sizes s, bool transpose_A, bool transpose_B, form f) {
    char what[160];
    snprintf(what, sizeof what, "%s [%d,%d,%d]%s x [%d,%d]%s", mo_dtype_name(dtype), (int)batch, (int)s.m, (int)s.k,
        transpose_A ? "T" : "", (int)s.k, (int)s.n, transpose_B ? "T" : "");
    mo_view A = transpose_A ? UNIFORM_VIEW(dtype, 1, batch, s.k, s.m) : UNIFORM_VIEW(dtype, 1, batch, s.m, s.k);
    mo_view B = transpose_B ? UNIFORM_VIEW(dtype, 2, batch, s.n, s.k) : UNIFORM_VIEW(dtype, 2, batch, s.k, s.n);
    mo_view C = UNIFORM_VIEW(dtype, 3, batch, s.m, s.n),
            bias = f.biases ? UNIFORM_VIEW(dtype, 4, batch, s.n) : UNIFORM_VIEW(dtype, 4, s.n);
    mo_view addend = UNIFORM_VIEW(dtype, 5, batch, s.m, s.n), above = UNIFORM_VIEW(dtype, 6, batch, s.m, s.n);
    mo_gemm g = {.A = transpose_A ? swapped(A, 1, 2) : A,
        .B = transpose_B ? swapped(B, 1, 2) : B,
        .C = C,
        .alpha = f.alpha,
        .beta = f.beta,
        .relu = f.relu};
    if (f.bias)
        g.bias = bias;
    if (f.addend)
        g.addend = addend;
    if (f.above)
        g.above = above;
    check_product(g, what);
    free_views();
}

static const form FORMS[] = {{.alpha = 1}, {.alpha = -0.5, .beta = 2}, {.alpha = 1, .bias = true, .relu = true},
    {.alpha = 2, .addend = true, .above = true}, {.alpha = 1, .beta = 1, .bias = true, .addend = true, .relu = true},
    {.alpha = 1, .bias = true, .biases = true, .relu = true}};

static void every_transposition_and_epilogue_equals_loops(void **state) {
    (void)state;
    const int64_t size[] = {0, 1, 2, 31, 33};
    for (int d = 0; d < 2; d++)
        for (int i = 0; i < 125; i++)
            for (int f = 0; f < 5; f++)
                check_sizes(REALS[d], 1 + i % 3, (sizes){size[i % 5], size[i / 5 % 5], size[i / 25]}, f & 1,
                    (f ^ i) & 1, FORMS[f]);
}

static void tiled_products_equal_loops(void **state) {
    (void)state;
    const sizes list[] = {{1023, 130, 70}, {513, 300, 257}, {300, 1030, 64}, {2000, 20, 40}, {900, 512, 33}};
    for (int d = 0; d < 2; d++)
        for (int i = 0; i < 5; i++)
            for (int f = 0; f < 4; f++)
                check_sizes(REALS[d], 1, list[i], f & 1, f & 2, FORMS[f + 1]);
}

/* More columns, and more terms, than kernels for packed operands pack together; a batch whose matrices are not small.
 */
static void products_in_several_rounds_equal_loops(void **state) {
    (void)state;
    for (int f = 0; f < 4; f++) {
        check_sizes(MO_F32, 1, (sizes){17, 8200, 21}, f & 1, f & 2, FORMS[f]);
        check_sizes(MO_F32, 1, (sizes){20, 1500, 3001}, f & 1, f & 2, FORMS[f + 1]);
        check_sizes(MO_F32, 3, (sizes){150, 140, 150}, f & 1, f & 2, FORMS[f + 1]);
    }
}

static void vectors_equal_loops(void **state) {
    (void)state;
    const sizes list[] = {{5000, 1, 600}, {1, 5000, 600}, {1, 1, 100000}, {600, 1, 9000}, {1, 600, 9000}, {1, 1, 33}};
    for (int d = 0; d < 2; d++)
        for (int i = 0; i < 6; i++)
            for (int f = 0; f < 4; f++)
                check_sizes(REALS[d], 1, list[i], f & 1, f & 2, FORMS[f]);
}

static void long_inner_sizes_are_cut_and_equal_loops(void **state) {
    (void)state;
    const sizes list[] = {{20, 30, 9000}, {7, 130, 30001}, {200, 10, 5000}};
    for (int d = 0; d < 2; d++)
        for (int i = 0; i < 3; i++)
            for (int f = 0; f < 4; f++)
                check_sizes(REALS[d], 1 + (i == 0), list[i], f & 1, f & 2, FORMS[f + 1]);
}

static void outer_products_equal_loops(void **state) {
    (void)state;
    for (int d = 0; d < 2; d++)
        for (int f = 0; f < 4; f++)
            check_sizes(REALS[d], 1, (sizes){3000, 257, 1}, f & 1, f & 2, FORMS[f]);
}

static void many_small_products_equal_loops(void **state) {
    (void)state;
    for (int d = 0; d < 2; d++) {
        check_sizes(REALS[d], 3000, (sizes){5, 4, 7}, true, false, FORMS[4]);
        check_sizes(REALS[d], 50, (sizes){33, 40, 65}, false, true, FORMS[2]);
    }
}

/* Operands without a unit stride, a broadcast batch, and rows of C further apart than their length. */
static void any_strides_equal_loops(void **state) {
    (void)state;
    for (int d = 0; d < 2; d++) {
        mo_view A = UNIFORM_VIEW(REALS[d], 1, 3, 40, 50, 2), B = UNIFORM_VIEW(REALS[d], 2, 50, 60, 3);
        mo_view C = UNIFORM_VIEW(REALS[d], 3, 3, 40, 60), wide = UNIFORM_VIEW(REALS[d], 3, 3, 40, 60);
        mo_gemm g = {.A = A, .B = {.data = B.data, .dtype = B.dtype, .ndim = 3, .shape = {3, 50, 60}}, .C = C};
        g.A.ndim = 3; /* every second element */
        g.B.stride[1] = 180;
        g.B.stride[2] = 3;
        g.alpha = 1;
        check_product(g, "gaps");
        g.B.stride[2] = 0; /* every column the same */
        check_product(g, "broadcast columns");
        g.A.stride[1] = 0;
        check_product(g, "broadcast rows");
        g.addend = swapped(wide, 1, 2);
        g.addend.shape[1] = 40, g.addend.shape[2] = 60;
        g.addend.stride[1] = 1, g.addend.stride[2] = 40;
        check_product(g, "transposed addend");
        free_views();
    }
}

static void shared_right_operand_joins_the_rows(void **state) {
    (void)state;
    for (int d = 0; d < 2; d++) {
        mo_view A = UNIFORM_VIEW(REALS[d], 1, 30, 17, 64), B = UNIFORM_VIEW(REALS[d], 2, 1, 64, 96);
        mo_view C = UNIFORM_VIEW(REALS[d], 3, 30, 17, 96), bias = UNIFORM_VIEW(REALS[d], 4, 96);
        mo_gemm g = {.A = A, .B = B, .C = C, .alpha = 1, .bias = bias, .relu = true};
        g.B.shape[0] = 30;
        g.B.stride[0] = 0;
        check_product(g, "shared B");
        free_views();
    }
}

static void beta_zero_ignores_what_was_there(void **state) {
    (void)state;
    mo_context *ctx = context_with(2);
    const sizes list[] = {{3, 4, 5}, {200, 200, 200}, {20, 20, 9000}, {500, 1, 300}};
    for (int i = 0; i < 4; i++) {
        mo_view A = UNIFORM_VIEW(MO_F32, 1, 1, list[i].m, list[i].k),
                B = UNIFORM_VIEW(MO_F32, 2, 1, list[i].k, list[i].n);
        mo_view C = NEW_VIEW(MO_F32, 1, list[i].m, list[i].n);
        for (int64_t j = 0; j < count_of(&C); j++)
            set_element(&C, j, NAN);
        mo_gemm g = {.A = A, .B = B, .C = C, .alpha = 1};
        mo_kernels_of(ctx, MO_F32)->gemm(ctx, &g);
        for (int64_t j = 0; j < count_of(&C); j++)
            assert_true(isfinite(element(&C, j)));
    }
    free_views();
}

static void blas_may_be_called_by_every_thread(void **state) {
    (void)state;
    mo_context *ctx = context_with(3);
    assert_int_equal(blas_threads(ctx), 3);
    free_views();
}

static void repeated_calls_allocate_nothing(void **state) {
    (void)state;
    mo_context *ctx = context_with(2);
    mo_view A = UNIFORM_VIEW(MO_F32, 1, 1, 20, 9000), B = UNIFORM_VIEW(MO_F32, 2, 1, 9000, 20);
    mo_view C = NEW_VIEW(MO_F32, 1, 20, 20);
    mo_gemm g = {.A = A, .B = B, .C = C, .alpha = 1};
    mo_kernels_of(ctx, MO_F32)->gemm(ctx, &g);
    int64_t before = mo_context_counters(ctx).allocations;
    assert_true(before > 0);
    mo_kernels_of(ctx, MO_F32)->gemm(ctx, &g);
    assert_int_equal(before, mo_context_counters(ctx).allocations);
    free_views();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_transposition_and_epilogue_equals_loops),
        cmocka_unit_test(tiled_products_equal_loops),
        cmocka_unit_test(products_in_several_rounds_equal_loops),
        cmocka_unit_test(vectors_equal_loops),
        cmocka_unit_test(long_inner_sizes_are_cut_and_equal_loops),
        cmocka_unit_test(outer_products_equal_loops),
        cmocka_unit_test(many_small_products_equal_loops),
        cmocka_unit_test(any_strides_equal_loops),
        cmocka_unit_test(shared_right_operand_joins_the_rows),
        cmocka_unit_test(beta_zero_ignores_what_was_there),
        cmocka_unit_test(blas_may_be_called_by_every_thread),
        cmocka_unit_test(repeated_calls_allocate_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
