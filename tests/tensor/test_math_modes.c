/* tests/tensor/test_math_modes.c - products on CUDA in each math mode, plain, batched and with epilogues, by the
 * library and by our kernels: within the mode's bound of the exact product. Skipped if there is no CUDA device.
 *
 * The bound of an entry is a fraction of the sum of its terms' magnitudes |a b|. tf32 keeps 10 bits after the point of
 * each operand, and hardware can cut off the rest: 2^-10 each. bf16 keeps 7, rounded to nearest: 2^-9 each, 2^-8 in
 * all. Sums are float32 in every mode, with at most k roundings. */
#include "ops/inside.h"
#include "ops/rules/layers.h"
#include "tensor/objects.h"
#include "tests/drawn.h"
#include "tests/worst_of.h"

enum { MODES = 3, ROWS = 70, IN = 64, HIDDEN = 40, OUT = 8, LARGE = 512, MOST = LARGE * LARGE };

static const char *const mode_names[MODES] = {"fp32", "tf32", "bf16"};

static double bound_of(mo_math math, int64_t k) {
    static const double rounding[MODES] = {0, 0x1p-9, 0x1p-8};
    return rounding[math] + (double)(k + 2) * FLT_EPSILON;
}

/* How products are computed. libraries: value of MOCHI_CUDA_LIBRARIES. sizes: the library has an epilogue only if the
 * sizes are multiples of this (only the emulated device reads it); NULL: always. */
typedef struct way {
    const char *libraries, *sizes;
} way;

/* 16: the layers below have epilogues in part of their products; 4096: in none. */
static const way ways[] = {{"rule", NULL}, {"never", NULL}, {"rule", "4096"}, {"rule", "16"}};

static mo_tape *tape_in(mo_math math, const way *w) {
    mo_context *ctx = cuda_context(w->libraries, math);
    assert_true(mo_ok(ctx));
    return mo_tape_create(ctx, MO_RECORD);
}

/* Numbers of float32, also in float64. */
static mo_tensor *numbers(mo_tape *t, uint64_t seed, mo_dtype dtype, int ndim, const int64_t *shape) {
    return mo_require_grad(mo_cast(t, drawn(t, MO_F32, seed, ndim, shape), dtype));
}

static const fixtures around_all = {need_cuda, NULL};

/* ---- single products ---- */

/* Y = A B, with A [batch, m, k] and B [k, n], shared by the batch if one_B, else one per matrix; turned: transposed in
 * memory. */
typedef struct product_case {
    int64_t batch, m, k, n;
    bool turned_A, turned_B, one_B;
} product_case;

static mo_tensor *run_product(mo_tape *t, const product_case *c, mo_dtype dtype, bool magnitudes, mo_tensor **leaf) {
    int64_t a[] = {c->batch, c->turned_A ? c->k : c->m, c->turned_A ? c->m : c->k};
    int64_t b[] = {c->batch, c->turned_B ? c->n : c->k, c->turned_B ? c->k : c->n};
    int skip = c->one_B ? 1 : 0;
    leaf[0] = numbers(t, 1, dtype, 3, a);
    leaf[1] = numbers(t, 2, dtype, 3 - skip, b + skip);
    mo_tensor *A = magnitudes ? mo_abs(t, leaf[0]) : leaf[0], *B = magnitudes ? mo_abs(t, leaf[1]) : leaf[1];
    return mo_matmul(t, c->turned_A ? mo_transpose(t, A) : A, c->turned_B ? mo_transpose(t, B) : B);
}

static void read_product(mo_tape *t, const product_case *c, mo_dtype dtype, bool magnitudes, void *host) {
    mo_tensor *leaf[2], *Y = run_product(t, c, dtype, magnitudes, leaf);
    if (mo_tensor_read(Y, host, (size_t)mo_numel(Y) * mo_dtype_size(dtype)) != MO_OK)
        fail_msg("%s", mo_context_status(mo_tape_context(t))->message);
    mo_tape_reset(t);
}

TEST(products_stay_within_the_bound_of_their_mode) {
    static const product_case cases[] = {
        {.batch = 1, .m = ROWS, .k = IN, .n = HIDDEN},
        {.batch = 1, .m = ROWS, .k = 33, .n = 7, .turned_B = true},
        {.batch = 3, .m = 31, .k = 17, .n = 9, .turned_A = true},
        {.batch = 4, .m = 9, .k = 32, .n = 16, .turned_A = true, .turned_B = true},
        {.batch = 3, .m = 12, .k = 20, .n = 5, .turned_A = true, .one_B = true},
        {.batch = 1, .m = LARGE, .k = LARGE, .n = LARGE},
    };
    static double exact[MOST], magnitude[MOST];
    static float got[MOST];
    HELD(lone_tape) *cpu = mo_tape_create(device_context(MO_CPU), MO_RECORD);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int math = 0; math < MODES; math++) {
            const product_case *c = &cases[i];
            HELD(lone_tape) *t = tape_in((mo_math)math, &ways[0]);
            read_product(cpu, c, MO_F64, false, exact);
            read_product(cpu, c, MO_F64, true, magnitude);
            read_product(t, c, MO_F32, false, got);
            double worst = 0;
            for (int64_t k = 0; k < c->batch * c->m * c->n; k++)
                worst = worst_of(worst, fabs(got[k] - exact[k]) / magnitude[k]);
            if (!(worst <= bound_of((mo_math)math, c->k)))
                fail_msg("case %zu, %s: off by %g of the magnitudes, bound %g", i, mode_names[math], worst,
                    bound_of((mo_math)math, c->k));
            /* Fails if the mode is ignored. TF32 is only allowed: cuBLAS computes small sizes, and leading dimensions
             * that are not a multiple of 4, in float32. */
            if (math == MO_MATH_BF16 || (math == MO_MATH_TF32 && c->m == LARGE))
                assert_true(worst > bound_of(MO_MATH_FP32, c->k));
        }
}

/* ---- layers and their gradients ---- */

enum { LEAVES = 6, RESULTS = 1 + 2 * LEAVES };

typedef struct results {
    float x[RESULTS][ROWS * IN];
    int64_t n[RESULTS];
} results;

static void keep(results *out, int *n, const mo_tensor *T) {
    out->n[*n] = mo_numel(T);
    assert_int_equal(mo_tensor_read(T, out->x[(*n)++], (size_t)mo_numel(T) * sizeof(float)), MO_OK);
}

/* Runs three layers: the value, every gradient, and the gradient of <gradients, gradients>. */
static void run_layers(mo_tape *t, results *out) {
    static const int64_t shapes[LEAVES][2] = {{ROWS, IN}, {HIDDEN, IN}, {HIDDEN}, {OUT, HIDDEN}, {OUT}, {OUT, OUT}};
    mo_context *ctx = mo_tape_context(t);
    mo_tensor *leaf[LEAVES], *first[LEAVES], *second[LEAVES], *loss;
    for (int i = 0; i < LEAVES; i++)
        leaf[i] = numbers(t, (uint64_t)i, MO_F32, shapes[i][1] ? 2 : 1, shapes[i]);
    int n = 0;
    mo_tensor *Z = mo_linear(t, mo_linear_relu(t, leaf[0], leaf[1], leaf[2]), leaf[3], leaf[4]);
    mo_tensor *Y = mo_linear_relu(t, Z, leaf[5], leaf[4]);
    keep(out, &n, Y);
    loss = mo_mean(t, mo_square(t, Y), MO_ALL, MO_DROP_AXES);
    mo_grad(t, &loss, NULL, 1, leaf, first, LEAVES, MO_CREATE_GRAPH);
    loss = mo_scalar(t, MO_F32, 0);
    for (int i = 0; i < LEAVES; i++) {
        keep(out, &n, first[i]);
        loss = mo_add(t, loss, mo_mean(t, mo_square(t, first[i]), MO_ALL, MO_DROP_AXES));
    }
    mo_grad(t, &loss, NULL, 1, leaf, second, LEAVES, 0);
    for (int i = 0; i < LEAVES; i++)
        keep(out, &n, second[i]);
    expect_ok(ctx);
    mo_tape_reset(t);
}

/* Returns the root mean square of the difference, relative to that of b: if one entry of relu changes sides, few others
 * change. */
static double distance(const float *a, const float *b, int64_t n) {
    double difference = 0, size = 0;
    for (int64_t i = 0; i < n; i++) {
        difference += pow((double)a[i] - b[i], 2);
        size += pow((double)b[i], 2);
    }
    return difference == 0 ? 0 : sqrt(difference / size);
}

TEST(layers_agree_with_the_cpu_in_every_mode_and_way) {
    static const double bounds[MODES] = {1e-5, 2e-2, 1e-1};
    static results expected, got;
    HELD(lone_tape) *cpu = mo_tape_create(device_context(MO_CPU), MO_RECORD);
    run_layers(cpu, &expected);
    for (int math = 0; math < MODES; math++)
        for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
            if (ways[w].sizes)
                setenv("MOCHI_CUDA_HOST_EPILOGUE", ways[w].sizes, 1);
            HELD(lone_tape) *t = tape_in((mo_math)math, &ways[w]);
            run_layers(t, &got);
            unsetenv("MOCHI_CUDA_HOST_EPILOGUE");
            for (int i = 0; i < RESULTS; i++) {
                double d = distance(got.x[i], expected.x[i], expected.n[i]);
                if (got.n[i] != expected.n[i] || !(d <= bounds[math]))
                    fail_msg("%s, libraries %s, epilogues of multiples of %s: result %d is %g off", mode_names[math],
                        ways[w].libraries, ways[w].sizes ? ways[w].sizes : "1", i, d);
            }
        }
}

/* A layer writes the rows of its result and none behind them. */
TEST(a_layer_writes_its_own_rows_alone) {
    enum { MORE = 256 };
    static const int64_t rows[] = {1, ROWS, 127, 128, 129};
    static float kept[MORE * IN];
    for (int i = 0; i < MODES * 5; i++) {
        int64_t n = rows[i / MODES];
        HELD(lone_tape) *t = tape_in((mo_math)(i % MODES), &ways[0]);
        mo_context *ctx = mo_tape_context(t);
        mo_tensor *X = numbers(t, 1, MO_F32, 2, (int64_t[]){MORE, IN});
        mo_tensor *W = numbers(t, 2, MO_F32, 2, (int64_t[]){IN, IN});
        mo_gemm g = {.A = mo_tensor_view(X), .B = mo_tensor_view(W), .C = mo_tensor_view(X), .alpha = 1, .relu = true};
        mo_tensor *Y = mo_full(t, MO_F32, 2, (int64_t[]){MORE, IN}, 7);
        g.C = mo_tensor_view(Y);
        g.A.shape[0] = g.C.shape[0] = n;
        mo_kernels_of(ctx, MO_F32)->gemm(ctx, &g);
        assert_int_equal(mo_tensor_read(Y, kept, sizeof kept), MO_OK);
        for (int64_t e = n * IN; e < MORE * IN; e++)
            if (kept[e] != 7)
                fail_msg("%s, %" PRId64 " rows: value %" PRId64 " of row %" PRId64 " was overwritten by %g",
                    mode_names[i % MODES], n, e % IN, e / IN, (double)kept[e]);
    }
}

/* relu(x W^T) of a row with a NaN: our kernels keep it; what cuBLAS's epilogue does is not documented, and is said.
 * Where it drops the NaN, the gradient of the weights has it all the same: 0 times NaN. So no step is taken. */
TEST(a_nan_behind_relu_reaches_the_gradient) {
    float x[4] = {1, NAN, 1, 1}, w[4] = {1, 1, 1, 1}, y[2] = {0, 0}, w_bar[2];
    for (size_t i = 0; i < 2; i++) { /* with the library if the rule takes it; then never */
        HELD(lone_tape) *t = tape_in(MO_MATH_FP32, &ways[i]);
        mo_tensor *X = mo_from(t, MO_F32, 2, (int64_t[]){2, 2}, x), *W_bar;
        mo_tensor *W = mo_require_grad(mo_tensor_create_from(mo_tape_context(t), MO_F32, 2, (int64_t[]){1, 2}, w));
        mo_tensor *b = mo_from(t, MO_F32, 1, (int64_t[]){1}, w), *Y = mo_linear_relu(t, X, W, b);
        mo_tensor *loss = mo_sum(t, Y, MO_ALL, MO_DROP_AXES);
        assert_int_equal(mo_tensor_read(Y, y, sizeof y), MO_OK);
        assert_int_equal(mo_grad(t, &loss, NULL, 1, &W, &W_bar, 1, 0), MO_OK);
        assert_int_equal(mo_tensor_read(W_bar, w_bar, sizeof w_bar), MO_OK);
        assert_true(y[1] == 3 && isnan(w_bar[1]));
        if (i == 0)
            print_message("an epilogue with relu %s NaN\n", isnan(y[0]) ? "keeps" : "drops");
        else
            assert_true(isnan(y[0]));
        mo_tensor_release(W);
    }
}

/* ---- operands in bf16 are rounded like a cast, at any layout and address: tested by products with the identity
 * ---- */

enum { MOST_OPERAND = 513 * 513 };

/* An operand X [m, k] (2 matrices if `batch`): transposed, or without its first row or column, so that no address is a
 * multiple of 16 bytes. */
typedef struct operand_case {
    int64_t m, k;
    bool turned;
    int64_t first_row, first_column;
    bool batch;
} operand_case;

/* Returns normal numbers and, at every fifth place, a number half way between two of bf16. */
static mo_tensor *operand(mo_tape *t, const operand_case *c) {
    static float x[MOST_OPERAND];
    mo_random r = mo_random_at(3, MO_PURPOSE_CHECK, 0);
    int64_t matrices = c->batch ? 2 : 1, shape[] = {matrices, c->m, c->k};
    for (int64_t i = 0; i < matrices * c->m * c->k; i++) {
        double draw = mo_random_normal(&r);
        x[i] = i % 5 ? (float)draw : (draw < 0 ? -1 : 1) * (1 + (float)(1 + i % 4) * 0x1p-8f);
    }
    mo_tensor *X = mo_from(t, MO_F32, c->batch ? 3 : 2, c->batch ? shape : shape + 1, x);
    X = mo_slice(t, mo_slice(t, X, MO_AXIS(-2), c->first_row, c->m), MO_AXIS(-1), c->first_column, c->k);
    return c->turned ? mo_transpose(t, X) : X;
}

TEST(operands_of_bf16_are_rounded_as_a_cast_rounds) {
    static const operand_case cases[] = {
        {.m = 60, .k = 64},
        {.m = 13, .k = 5},
        {.m = 64, .k = 24, .turned = true},
        {.m = 14, .k = 7, .first_row = 1},
        {.m = 14, .k = 7, .first_row = 1, .turned = true},
        {.m = 9, .k = 33, .first_column = 1},
        {.m = 9, .k = 33, .first_column = 1, .turned = true},
        {.m = 1, .k = 17},
        {.m = 17, .k = 1, .turned = true},
        {.m = 5, .k = 513},
        {.m = 5, .k = 513, .turned = true},
        {.m = 513, .k = 7, .first_row = 2},
        {.m = 513, .k = 1},
        {.m = 6, .k = 41, .first_row = 1, .first_column = 1, .batch = true},
        {.m = 6, .k = 40, .batch = true},
        {.m = 7, .k = 33, .turned = true, .batch = true},
        {.m = 1, .k = 33, .batch = true},
        {.m = 33, .k = 1, .batch = true},
    };
    static float expected[MOST_OPERAND], got[MOST_OPERAND];
    HELD(lone_tape) *t = tape_in(MO_MATH_BF16, &ways[0]);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        mo_tensor *X = operand(t, &cases[i]), *Y[2];
        size_t bytes = (size_t)mo_numel(X) * sizeof(float);
        mo_tensor *rounded = mo_cast(t, mo_cast(t, X, MO_BF16), MO_F32);
        Y[0] = mo_matmul(t, X, mo_eye(t, MO_F32, mo_dim(X, -1)));
        Y[1] = mo_matmul(t, mo_eye(t, MO_F32, mo_dim(X, -2)), X);
        assert_int_equal(mo_tensor_read(rounded, expected, bytes), MO_OK);
        for (int side = 0; side < 2; side++) {
            assert_int_equal(mo_tensor_read(Y[side], got, bytes), MO_OK);
            for (int64_t k = 0; k < mo_numel(X); k++)
                if (got[k] != expected[k])
                    fail_msg("case %zu, side %d: value %" PRId64 " is %.9g, expected %.9g", i, side, k, (double)got[k],
                        (double)expected[k]);
        }
        mo_tape_reset(t);
    }
}
