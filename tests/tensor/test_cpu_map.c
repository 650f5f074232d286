/* tests/tensor/test_cpu_map.c - elementwise kernels, copies and fills against the C library, element by element. */
#include "tests/tensor/cpu_views.h"

static double phi(double x) {
    return exp(-x * x / 2) / sqrt(2 * M_PI);
}

static double Phi(double x) {
    return erfc(-x / sqrt(2)) / 2;
}

/* The functions of backend.h, written once more in double. */
static double expected1(mo_map1 f, double a, double b, double x) {
    switch (f) {
    case MO_MAP_NEG:
        return -x;
    case MO_MAP_EXP:
        return exp(x);
    case MO_MAP_LOG:
        return log(x);
    case MO_MAP_SQRT:
        return sqrt(x);
    case MO_MAP_RELU:
        return x > 0 ? x : 0;
    case MO_MAP_ABS:
        return fabs(x);
    case MO_MAP_SQUARE:
        return x * x;
    case MO_MAP_SIN:
        return sin(x);
    case MO_MAP_COS:
        return cos(x);
    case MO_MAP_LOG1P:
        return log1p(x);
    case MO_MAP_ERF:
        return erf(x);
    case MO_MAP_TANH:
        return tanh(x);
    case MO_MAP_SIGMOID:
        return 1 / (1 + exp(-x));
    case MO_MAP_SOFTPLUS:
        return log1p(exp(x));
    case MO_MAP_GELU:
        return x * Phi(x);
    case MO_MAP_SIGN:
        return x > 0 ? 1 : x < 0 ? -1 : 0;
    case MO_MAP_STEP:
        return x > 0;
    case MO_MAP_SCALE:
        return a * x + b;
    case MO_MAP_POW:
        return pow(x, a);
    case MO_MAP_CLAMP:
        return fmin(fmax(x, a), b);
    case MO_MAP_CLAMP_MASK:
        return a <= x && x <= b;
    case MO_MAP_LEAKY_RELU:
        return x > 0 ? x : a * x;
    case MO_MAP_LEAKY_STEP:
        return x > 0 ? 1 : a;
    case MO_MAP_GELU_SLOPE:
        return Phi(x) + x * phi(x);
    case MO_MAP_GELU_CURVE:
        return (2 - x * x) * phi(x);
    }
    fail();
    return 0;
}

static double expected2(mo_map2 f, double x1, double x2) {
    switch (f) {
    case MO_MAP_ADD:
        return x1 + x2;
    case MO_MAP_SUB:
        return x1 - x2;
    case MO_MAP_MUL:
        return x1 * x2;
    case MO_MAP_DIV:
        return x1 / x2;
    case MO_MAP_RELU_MASK:
        return x2 > 0 ? x1 : 0;
    case MO_MAP_DIV_OR_0:
        return x2 == 0 ? 0 : x1 / x2;
    case MO_MAP_MAX:
        return fmax(x1, x2);
    case MO_MAP_MIN:
        return fmin(x1, x2);
    case MO_MAP_GREATER_EQUAL:
        return x1 >= x2;
    case MO_MAP_POWER:
        return pow(x1, x2);
    }
    fail();
    return 0;
}

/* Values in [-4, 4), or (0, 4] for the functions of positive numbers. */
static void spread(const mo_view *v, bool positive) {
    for (int64_t i = 0; i < count_of(v); i++) {
        double x = 4 * element(v, i);
        set_element(v, i, positive ? fabs(x) + 0.01 : x);
    }
}

static void check1(mo_context *ctx, mo_map1 f, const mo_view *x, const mo_view *y) {
    const double a = 0.3, b = 1.7;
    mo_kernels_of(ctx, x->dtype)->map1(ctx, f, a, b, x, y);
    char what[40];
    snprintf(what, sizeof what, "map1 %d %s", (int)f, mo_dtype_name(x->dtype));
    double a_rounded = x->dtype == MO_F32 ? (float)a : a, b_rounded = x->dtype == MO_F32 ? (float)b : b;
    for (int64_t i = 0; i < count_of(x); i++) {
        double expected = expected1(f, a_rounded, b_rounded, element(x, i));
        assert_near(what, i, element(y, i), expected, 8 * epsilon_of(x->dtype) * (fabs(expected) + 0.5));
    }
}

static bool needs_positive(mo_map1 f) {
    return f == MO_MAP_LOG || f == MO_MAP_SQRT || f == MO_MAP_POW;
}

TEST(every_function_equals_the_c_library) {
    mo_context *ctx = context_with(2);
    const int64_t sizes[] = {0, 1, 31, 33, 1023, 40000};
    for (int d = 0; d < 2; d++)
        for (int f = 0; f <= (int)MO_MAP_GELU_CURVE; f++)
            for (int s = 0; s < 6; s++) {
                mo_view x = UNIFORM_VIEW(REALS[d], 7, sizes[s]), y = NEW_VIEW(REALS[d], sizes[s]);
                spread(&x, needs_positive((mo_map1)f));
                check1(ctx, (mo_map1)f, &x, &y);
            }
    free_views();
}

TEST(large_arguments_do_not_overflow) {
    mo_context *ctx = context_with(1);
    const mo_map1 f[] = {MO_MAP_SIGMOID, MO_MAP_SIGMOID, MO_MAP_SOFTPLUS, MO_MAP_SOFTPLUS, MO_MAP_GELU, MO_MAP_GELU};
    const double x[] = {-1e4, 1e4, -1e4, 1e4, -1e4, 1e4}, expected[] = {0, 1, 0, 1e4, 0, 1e4};
    for (int d = 0; d < 2; d++)
        for (int i = 0; i < 6; i++) {
            mo_view in = NEW_VIEW(REALS[d], 1), out = NEW_VIEW(REALS[d], 1);
            set_element(&in, 0, x[i]);
            mo_kernels_of(ctx, REALS[d])->map1(ctx, f[i], 0, 0, &in, &out);
            assert_near("large argument", i, element(&out, 0), expected[i], 0);
        }
    free_views();
}

TEST(not_a_number_stays_one) {
    mo_context *ctx = context_with(1);
    const mo_map1 f[] = {MO_MAP_RELU, MO_MAP_SIGN, MO_MAP_CLAMP, MO_MAP_SOFTPLUS, MO_MAP_SIGMOID, MO_MAP_GELU};
    mo_view x = NEW_VIEW(MO_F32, 1), one = NEW_VIEW(MO_F32, 1), y = NEW_VIEW(MO_F32, 1);
    set_element(&x, 0, NAN);
    set_element(&one, 0, 1);
    const mo_kernels *k = mo_kernels_of(ctx, MO_F32);
    for (int i = 0; i < 6; i++) {
        k->map1(ctx, f[i], -1, 1, &x, &y);
        assert_true(isnan(element(&y, 0)));
    }
    for (int f2 = MO_MAP_MAX; f2 <= MO_MAP_MIN; f2++) {
        k->map2(ctx, (mo_map2)f2, &x, &one, &y);
        assert_true(isnan(element(&y, 0)));
        k->map2(ctx, (mo_map2)f2, &one, &x, &y);
        assert_true(isnan(element(&y, 0)));
    }
    free_views();
}

static void check2(mo_context *ctx, mo_map2 f, const mo_view *x1, const mo_view *x2, const mo_view *y) {
    mo_kernels_of(ctx, y->dtype)->map2(ctx, f, x1, x2, y);
    char what[40];
    snprintf(what, sizeof what, "map2 %d %s", (int)f, mo_dtype_name(y->dtype));
    for (int64_t i = 0; i < count_of(y); i++) {
        double expected = expected2(f, element(x1, i), element(x2, i));
        assert_near(what, i, element(y, i), expected, 4 * epsilon_of(y->dtype) * fabs(expected));
    }
}

/* A view of the shape of y onto x with stride 0 where the bits of `kept` are not set. */
static mo_view broadcast(mo_view x, const mo_view *y, int kept) {
    int64_t stride = 1;
    for (int i = y->ndim - 1; i >= 0; i--) {
        x.shape[i] = y->shape[i];
        x.stride[i] = kept >> i & 1 ? stride : 0;
        stride *= kept >> i & 1 ? y->shape[i] : 1;
    }
    x.ndim = y->ndim;
    return x;
}

TEST(every_broadcast_and_transposition_equals_loops) {
    mo_context *ctx = context_with(2);
    for (int d = 0; d < 2; d++)
        for (int kept = 0; kept < 64; kept++) {
            mo_view x1 = UNIFORM_VIEW(REALS[d], 1, 7, 33, 5), x2 = UNIFORM_VIEW(REALS[d], 2, 7, 33, 5);
            spread(&x1, true);
            spread(&x2, true);
            mo_view y = NEW_VIEW(REALS[d], 7, 33, 5);
            mo_view w1 = broadcast(x1, &y, kept & 7), w2 = broadcast(x2, &y, kept >> 3);
            for (int f = 0; f <= (int)MO_MAP_POWER; f++)
                check2(ctx, (mo_map2)f, &w1, &w2, &y);
            mo_view turned = swapped(y, 0, 2), t1 = swapped(w1, 0, 2), t2 = swapped(w2, 0, 2);
            check2(ctx, MO_MAP_SUB, &t1, &t2, &turned);
            mo_view flat = NEW_VIEW(REALS[d], 5, 33, 7);
            check2(ctx, MO_MAP_DIV, &t1, &t2, &flat);
        }
    free_views();
}

TEST(division_by_zero_is_zero_where_asked) {
    mo_context *ctx = context_with(1);
    mo_view x = NEW_VIEW(MO_F64, 3), z = NEW_VIEW(MO_F64, 3), y = NEW_VIEW(MO_F64, 3);
    set_element(&x, 1, 5);
    mo_kernels_of(ctx, MO_F64)->map2(ctx, MO_MAP_DIV_OR_0, &x, &z, &y);
    for (int i = 0; i < 3; i++)
        assert_true(element(&y, i) == 0);
    free_views();
}

TEST(where_picks_by_bytes_and_reals) {
    mo_context *ctx = context_with(2);
    for (int d = 0; d < 2; d++)
        for (int bytes = 0; bytes < 2; bytes++) {
            mo_view c = NEW_VIEW(bytes ? MO_U8 : REALS[d], 300, 200);
            mo_view x1 = UNIFORM_VIEW(REALS[d], 1, 300, 200), x2 = UNIFORM_VIEW(REALS[d], 2, 1, 200);
            mo_view y = NEW_VIEW(REALS[d], 300, 200), wide = broadcast(x2, &y, 2);
            for (int64_t i = 0; i < count_of(&c); i++)
                set_element(&c, i, i % 3 == 0);
            mo_kernels_of(ctx, REALS[d])->where(ctx, &c, &x1, &wide, &y);
            for (int64_t i = 0; i < count_of(&c); i++)
                assert_true(element(&y, i) == (i % 3 == 0 ? element(&x1, i) : element(&wide, i)));
        }
    free_views();
}

TEST(threads_change_no_bit) {
    for (int d = 0; d < 2; d++) {
        mo_view x = UNIFORM_VIEW(REALS[d], 1, 1023, 97), first = {0};
        for (int threads = 1; threads <= 5; threads++) {
            mo_context *ctx = context_with(threads);
            mo_view y = NEW_VIEW(REALS[d], 1023, 97);
            mo_kernels_of(ctx, REALS[d])->map1(ctx, MO_MAP_GELU, 0, 0, &x, &y);
            if (threads == 1)
                first = clone_view(&y);
            assert_same_bits(&first, &y);
        }
        free_views();
    }
}
