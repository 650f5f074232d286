/* tests/tensor/test_cpu_reduce.c - reductions over every set of axes against plain loops in long double. */
#include "tests/tensor/cpu_views.h"

/* y for x with the axes in the bit set `reduced` summed away: stride 0 there. */
static mo_view reduced_view(const mo_view *x, int reduced) {
    int64_t kept[MO_MAX_AXES];
    for (int i = 0; i < x->ndim; i++)
        kept[i] = reduced >> i & 1 ? 1 : x->shape[i];
    mo_view y = new_view(x->dtype, x->ndim, kept);
    for (int i = 0; i < x->ndim; i++)
        if (reduced >> i & 1) {
            y.shape[i] = x->shape[i];
            y.stride[i] = 0;
        }
    return y;
}

static long double joined(mo_reduction kind, long double a, long double x) {
    if (kind == MO_REDUCE_MAX)
        return fmaxl(a, x);
    return a + (kind == MO_REDUCE_SUM ? x : x * x);
}

static void check(mo_context *ctx, mo_reduction kind, const mo_view *x, int reduced) {
    mo_view y = reduced_view(x, reduced);
    int64_t results = 1;
    for (int i = 0; i < x->ndim; i++)
        results *= reduced >> i & 1 ? 1 : x->shape[i];
    long double *expected = malloc((size_t)(results + 1) * sizeof *expected),
                *size = calloc((size_t)results + 1, sizeof *size);
    for (int64_t i = 0; i < results; i++)
        expected[i] = kind == MO_REDUCE_MAX ? -INFINITY : 0;
    for (int64_t i = 0; i < count_of(x); i++) {
        int64_t to = offset_of(&y, i);
        expected[to] = joined(kind, expected[to], element(x, i));
        size[to] += fabs(element(x, i));
    }
    mo_kernels_of(ctx, x->dtype)->reduce(ctx, kind, x, &y);
    char what[60];
    snprintf(
        what, sizeof what, "reduce %d over %d of %d axes %s", (int)kind, reduced, x->ndim, mo_dtype_name(x->dtype));
    /* Sums are formed in double: float32 loses nothing, float64 rounds at every term. */
    double terms = x->dtype == MO_F32 ? 0 : sqrt((double)count_of(x) / (double)(results + 1));
    double tolerance = kind == MO_REDUCE_MAX ? 0 : (4 + terms) * epsilon_of(x->dtype);
    for (int64_t i = 0; i < results; i++)
        assert_near(what, i, value_at(&y, i), (double)expected[i], tolerance * size[i]);
    free(expected);
    free(size);
}

TEST(every_set_of_axes_equals_loops) {
    mo_context *ctx = context_with(2);
    for (int d = 0; d < 2; d++) {
        mo_view x = UNIFORM_VIEW(REALS[d], 3, 3, 33, 1, 31, 20);
        mo_view turned = swapped(swapped(x, 0, 4), 1, 2);
        mo_view wide = x;
        wide.stride[1] = 0;
        for (int kind = 0; kind < 3; kind++)
            for (int reduced = 0; reduced < 32; reduced++) {
                check(ctx, (mo_reduction)kind, &x, reduced);
                check(ctx, (mo_reduction)kind, &turned, reduced);
                check(ctx, (mo_reduction)kind, &wide, reduced);
            }
    }
    free_views();
}

TEST(tall_wide_and_long_shapes_equal_loops) {
    mo_context *ctx = context_with(2);
    const int64_t shapes[][2] = {{5000, 70}, {3, 100003}, {700, 1023}, {100003, 3}, {1, 40000}, {40000, 1}, {1, 1}};
    for (int d = 0; d < 2; d++)
        for (int s = 0; s < 7; s++) {
            mo_view x = UNIFORM_VIEW(REALS[d], 4, shapes[s][0], shapes[s][1]);
            for (int kind = 0; kind < 3; kind++)
                for (int reduced = 0; reduced < 4; reduced++)
                    check(ctx, (mo_reduction)kind, &x, reduced);
        }
    free_views();
}

TEST(empty_sums_are_zero) {
    mo_context *ctx = context_with(2);
    for (int d = 0; d < 2; d++) {
        mo_view tall = NEW_VIEW(REALS[d], 0, 4), wide = NEW_VIEW(REALS[d], 4, 0);
        for (int kind = 0; kind < 3; kind++)
            for (int reduced = 0; reduced < 4; reduced++) {
                check(ctx, (mo_reduction)kind, &tall, reduced);
                check(ctx, (mo_reduction)kind, &wide, reduced);
            }
    }
    free_views();
}

/* A running float32 sum of 0.1 is off by 1e-2 here; ours is the rounded exact sum. */
TEST(float32_sum_of_a_million_keeps_seven_digits) {
    mo_context *ctx = context_with(2);
    mo_view x = NEW_VIEW(MO_F32, 1000, 1000);
    for (int64_t i = 0; i < count_of(&x); i++)
        set_element(&x, i, 0.1);
    const double exact = 1e6 * (double)0.1f;
    for (int turned = 0; turned < 2; turned++) {
        mo_view v = turned ? swapped(x, 0, 1) : x, all = reduced_view(&v, 3), columns = reduced_view(&v, 1);
        mo_kernels_of(ctx, MO_F32)->reduce(ctx, MO_REDUCE_SUM, &v, &all);
        assert_near("sum", 0, value_at(&all, 0), exact, 1e-7 * exact);
        mo_kernels_of(ctx, MO_F32)->reduce(ctx, MO_REDUCE_SUM, &v, &columns);
        assert_near("column", 0, value_at(&columns, 0), exact / 1000, 2e-7 * exact / 1000);
    }
    free_views();
}

TEST(maximum_of_not_a_number_is_one) {
    mo_context *ctx = context_with(2);
    for (int at = 0; at < 300; at += 37) {
        mo_view x = UNIFORM_VIEW(MO_F32, 1, 3, 100), y = reduced_view(&x, 3), columns = reduced_view(&x, 1);
        set_element(&x, at, NAN);
        mo_kernels_of(ctx, MO_F32)->reduce(ctx, MO_REDUCE_MAX, &x, &y);
        assert_true(isnan(value_at(&y, 0)));
        mo_kernels_of(ctx, MO_F32)->reduce(ctx, MO_REDUCE_MAX, &x, &columns);
        assert_true(isnan(value_at(&columns, at % 100)) && !isnan(value_at(&columns, (at + 1) % 100)));
    }
    free_views();
}
