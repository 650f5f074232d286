/* tests/tensor/test_cpu_gemm.c - matrix products and grams against plain loops in double: float32 and float64,
 * and both in the mode bf16, which rounds the factors of float32 alone. */
#include "tensor/cpu/work.h"
#include "tests/tensor/cpu_views.h"

typedef struct sizes {
    int64_t batch, m, n, k;
} sizes;

/* The type of a product, and the math mode in which its factors are read. */
typedef struct kind {
    mo_dtype dtype;
    mo_math math;
} kind;

static const kind KINDS[] = {
    {MO_F32, MO_MATH_FP32}, {MO_F64, MO_MATH_FP32}, {MO_F32, MO_MATH_BF16}, {MO_F64, MO_MATH_BF16}};

enum { KIND_COUNT = sizeof KINDS / sizeof *KINDS };

/* Returns the nearest bf16, which has 7 bits after the point; of two equally near ones the even one. */
static double rounded(double value) {
    float x = (float)value;
    uint32_t word;
    memcpy(&word, &x, sizeof word);
    word = (word + 0x7fff + (word >> 16 & 1)) & 0xffff0000;
    memcpy(&x, &word, sizeof x);
    return x;
}

/* The epilogue and the scale factors of a product. */
typedef struct form {
    double alpha, beta;
    bool bias, addend, relu, biases; /* biases: a bias for each matrix */
} form;

/* Returns the expected C[b, i, j]; *magnitude receives the sum of |terms|, which bounds the rounding error. */
static double expected_entry(const mo_gemm *g, mo_math math, const mo_view *before, int64_t number, double *magnitude) {
    int64_t n = g->C.shape[2], m = g->C.shape[1], k = g->A.shape[2];
    int64_t b = number / (m * n), i = number / n % m, j = number % n;
    double sum = 0, total = 0;
    for (int64_t l = 0; l < k; l++) {
        double a = value_at(&g->A, b * g->A.stride[0] + i * g->A.stride[1] + l * g->A.stride[2]);
        double c = value_at(&g->B, b * g->B.stride[0] + l * g->B.stride[1] + j * g->B.stride[2]);
        bool narrow = math == MO_MATH_BF16 && g->A.dtype == MO_F32;
        double term = narrow ? rounded(a) * rounded(c) : a * c;
        sum += term;
        total += fabs(term);
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
    return g->relu && sum < 0 ? 0 : sum;
}

/* Allows k roundings of random sign. In bf16 mode, factors left unrounded would be off by 2^-9 of the magnitude, and
 * fail. */
static void check_entries(const mo_gemm *g, mo_math math, const mo_view *before, const char *what) {
    double tolerance = epsilon_of(g->C.dtype) * (4 + 2 * sqrt((double)g->A.shape[2]));
    int64_t count = count_of(&g->C), step = count > 20000 ? count / 5000 | 1 : 1;
    for (int64_t i = 0; i < count; i += step) {
        double magnitude, expected = expected_entry(g, math, before, i, &magnitude);
        assert_near(what, i, element(&g->C, i), expected, tolerance * magnitude);
    }
}

/* Runs g, as the gram X X^T of A = X if `gram`, with 1, 2 and 5 threads from the same C; checks the values once and the
 * bits always. */
static void check_runs(mo_gemm g, mo_math math, bool gram, const char *what) {
    mo_view before = clone_view(&g.C), first = {0};
    const int threads[] = {1, 2, 5};
    for (int i = 0; i < 3; i++) {
        mo_context *ctx = context_of(threads[i], math);
        memcpy(g.C.data, before.data, (size_t)count_of(&g.C) * mo_dtype_size(g.C.dtype));
        if (gram)
            mo_kernels_of(ctx, g.C.dtype)->gram(ctx, &g.A, &g.C);
        else
            mo_kernels_of(ctx, g.C.dtype)->gemm(ctx, &g);
        assert_true(mo_ok(ctx));
        if (i == 0) {
            check_entries(&g, math, &before, what);
            first = clone_view(&g.C);
        }
        assert_same_bits(&first, &g.C);
    }
}

static void check_product(mo_gemm g, mo_math math, const char *what) {
    check_runs(g, math, false, what);
}

static void check_sizes(kind of, sizes s, bool transpose_A, bool transpose_B, form f) {
    char what[160];
    snprintf(what, sizeof what, "%s, math %d [%d,%d,%d]%s x [%d,%d]%s", mo_dtype_name(of.dtype), (int)of.math,
        (int)s.batch, (int)s.m, (int)s.k, transpose_A ? "T" : "", (int)s.k, (int)s.n, transpose_B ? "T" : "");
    mo_view A =
        transpose_A ? UNIFORM_VIEW(of.dtype, 1, s.batch, s.k, s.m) : UNIFORM_VIEW(of.dtype, 1, s.batch, s.m, s.k);
    mo_view B =
        transpose_B ? UNIFORM_VIEW(of.dtype, 2, s.batch, s.n, s.k) : UNIFORM_VIEW(of.dtype, 2, s.batch, s.k, s.n);
    mo_gemm g = {.A = transpose_A ? swapped(A, 1, 2) : A,
        .B = transpose_B ? swapped(B, 1, 2) : B,
        .C = UNIFORM_VIEW(of.dtype, 3, s.batch, s.m, s.n),
        .alpha = f.alpha,
        .beta = f.beta,
        .relu = f.relu};
    if (f.bias)
        g.bias = f.biases ? UNIFORM_VIEW(of.dtype, 4, s.batch, s.n) : UNIFORM_VIEW(of.dtype, 4, s.n);
    if (f.addend)
        g.addend = UNIFORM_VIEW(of.dtype, 5, s.batch, s.m, s.n);
    check_product(g, of.math, what);
}

static const form FORMS[] = {{.alpha = 1}, {.alpha = -0.5, .beta = 2}, {.alpha = 1, .bias = true, .relu = true},
    {.alpha = 2, .addend = true}, {.alpha = 1, .beta = 1, .bias = true, .addend = true, .relu = true},
    {.alpha = 1, .bias = true, .biases = true, .relu = true}};

TEST(small_products_of_every_form_equal_loops) {
    const int64_t size[] = {0, 1, 2, 7, 31, 33};
    for (int k = 0; k < KIND_COUNT; k++)
        for (int i = 0; i < 216; i++)
            for (int way = 0; way < 4; way++)
                check_sizes(KINDS[k], (sizes){1 + i % 3, size[i % 6], size[i / 6 % 6], size[i / 36]}, way & 1, way & 2,
                    FORMS[(i + way) % 6]);
}

static const sizes LARGE[] = {
    {1, 1023, 130, 71}, {1, 513, 300, 257}, {1, 300, 1030, 64}, {1, 90, 600, 1601}, {1, 2000, 20, 40}, /* tiles */
    {1, 9, 8200, 21}, {1, 20, 1500, 6001}, /* many columns, and many terms */
    {3, 150, 140, 150}, {2, 4, 16000, 16}, /* batches of larger matrices; matrices of few rows */
    {1, 5000, 1, 601}, {1, 1, 5000, 600}, {1, 1, 1, 100001}, {1, 600, 1, 9000}, {1, 1, 33, 9000}, /* vectors */
    {2, 20, 30, 9001}, {1, 7, 130, 30001}, {1, 200, 10, 5000}, /* an inner size that is split */
    {1, 3000, 257, 1}, {3000, 5, 4, 7}, {50, 33, 40, 65},      /* outer products; many small ones */
};

TEST(large_products_equal_loops) {
    for (int k = 0; k < 3; k++) /* for float64 the mode changes nothing */
        for (int i = 0; i < (int)(sizeof LARGE / sizeof *LARGE); i++)
            for (int way = 0; way < 4; way++)
                check_sizes(KINDS[k], LARGE[i], way & 1, way & 2, FORMS[(i + way) % 6]);
}

/* Operands without a unit stride, a matrix B that the whole batch shares, an addend stored in columns. */
TEST(any_strides_equal_loops) {
    for (int k = 0; k < KIND_COUNT; k++) {
        mo_dtype dtype = KINDS[k].dtype;
        mo_math math = KINDS[k].math;
        mo_view A = UNIFORM_VIEW(dtype, 1, 3, 40, 51, 2), B = UNIFORM_VIEW(dtype, 2, 51, 60, 3);
        mo_gemm g = {.A = A,
            .B = {B.data, dtype, 3, {3, 51, 60}, {0, 180, 3}},
            .C = UNIFORM_VIEW(dtype, 3, 3, 40, 60),
            .alpha = 1};
        g.A.ndim = 3; /* every second element */
        check_product(g, math, "gaps");
        g.B.stride[2] = 0; /* every column the same */
        check_product(g, math, "broadcast columns");
        g.A.stride[1] = 0;
        check_product(g, math, "broadcast rows");
        g.addend = swapped(UNIFORM_VIEW(dtype, 4, 3, 60, 40), 1, 2);
        check_product(g, math, "transposed addend");
        free_test_memory();
    }
}

/* If the batch shares B, its rows are joined into one product; bias and addend have no unit stride. */
TEST(one_B_may_serve_a_batch) {
    for (int k = 0; k < KIND_COUNT; k++) {
        mo_dtype dtype = KINDS[k].dtype;
        mo_math math = KINDS[k].math;
        mo_view B = UNIFORM_VIEW(dtype, 2, 101, 120), bias = UNIFORM_VIEW(dtype, 4, 120, 2);
        mo_gemm g = {.A = UNIFORM_VIEW(dtype, 1, 30, 20, 101),
            .B = {B.data, dtype, 3, {30, 101, 120}, {0, 120, 1}},
            .C = UNIFORM_VIEW(dtype, 3, 30, 20, 120),
            .addend = swapped(UNIFORM_VIEW(dtype, 5, 30, 120, 20), 1, 2),
            .alpha = 1,
            .relu = true};
        check_product(g, math, "columns of the addend");
        g.bias = (mo_view){bias.data, dtype, 1, {120}, {2}};
        check_product(g, math, "numbers of the bias");
        g.addend = (mo_view){0};
        check_product(g, math, "bias alone");
        free_test_memory();
    }
}

TEST(beta_zero_ignores_what_was_there) {
    mo_context *ctx = context_with(2);
    const sizes list[] = {{1, 3, 4, 5}, {1, 200, 200, 200}, {1, 20, 20, 9000}, {1, 500, 1, 300}};
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
}

TEST(blas_may_be_called_by_every_thread) {
    mo_context *ctx = context_with(3);
    assert_int_equal(blas_threads(ctx), 3);
}

TEST(repeated_calls_allocate_nothing) {
    const sizes list[] = {{1, 20, 20, 9000}, {1, 900, 200, 300}};
    for (int k = 0; k < KIND_COUNT; k++)
        for (int i = 0; i < 2; i++) {
            mo_dtype dtype = KINDS[k].dtype;
            mo_context *ctx = context_of(2, KINDS[k].math);
            mo_gemm g = {.A = UNIFORM_VIEW(dtype, 1, 1, list[i].m, list[i].k),
                .B = UNIFORM_VIEW(dtype, 2, 1, list[i].k, list[i].n),
                .C = NEW_VIEW(dtype, 1, list[i].m, list[i].n),
                .alpha = 1};
            mo_kernels_of(ctx, dtype)->gemm(ctx, &g);
            int64_t before = mo_context_counters(ctx).allocations;
            mo_kernels_of(ctx, dtype)->gemm(ctx, &g);
            assert_int_equal(before, mo_context_counters(ctx).allocations);
        }
}

/* The gram X X^T is exactly symmetric. */
static void check_gram(mo_math math, mo_view X) {
    char what[96];
    snprintf(what, sizeof what, "gram of %s, math %d [%d,%d,%d]", mo_dtype_name(X.dtype), (int)math, (int)X.shape[0],
        (int)X.shape[1], (int)X.shape[2]);
    int64_t n = X.shape[1];
    mo_view Y = UNIFORM_VIEW(X.dtype, 3, X.shape[0], n, n), turned = swapped(Y, 1, 2);
    check_runs((mo_gemm){.A = X, .B = swapped(X, 1, 2), .C = Y, .alpha = 1}, math, true, what);
    for (int64_t i = 0; i < count_of(&Y); i++)
        assert_true(element(&Y, i) == element(&turned, i));
}

/* Small sizes, computed by loops; one block; several blocks; X by rows, by columns and in part; batches. */
TEST(gram_is_that_of_plain_loops) {
    const sizes list[] = {{.batch = 1, .m = 1, .k = 1}, {.batch = 1, .m = 5, .k = 0}, {.batch = 4, .m = 7, .k = 9},
        {.batch = 1, .m = 16, .k = 40}, {.batch = 2, .m = 33, .k = 65}, {.batch = 1, .m = 129, .k = 70},
        {.batch = 1, .m = 300, .k = 33}, {.batch = 3, .m = 257, .k = 20}, {.batch = 9, .m = 130, .k = 31},
        {.batch = 1, .m = 513, .k = 100}, {.batch = 1, .m = 70, .k = 1601}};
    for (int i = 0; i < 11 * KIND_COUNT; i++) {
        sizes s = list[i / KIND_COUNT];
        mo_dtype dtype = KINDS[i % KIND_COUNT].dtype;
        mo_math math = KINDS[i % KIND_COUNT].math;
        check_gram(math, UNIFORM_VIEW(dtype, 1, s.batch, s.m, s.k));
        check_gram(math, swapped(UNIFORM_VIEW(dtype, 2, s.batch, s.k, s.m), 1, 2));
        mo_view part = UNIFORM_VIEW(dtype, 4, s.batch, s.m, s.k + 5);
        part.shape[2] = s.k;
        check_gram(math, part);
        free_test_memory();
    }
}
