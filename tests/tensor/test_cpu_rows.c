/* tests/tensor/test_cpu_rows.c - kernels on the rows of the last axis: softmax and its relatives, norms, losses,
 * sorting. */
#include "tests/tensor/cpu_views.h"

typedef struct fixture {
    mo_dtype dtype;
    int64_t rows, n;
    double scale;
    mo_context *ctx;
    const mo_kernels *k;
    mo_view x, y;
} fixture;

static const int64_t SIZES[][2] = {{0, 5}, {1, 1}, {31, 33}, {5, 1023}, {9000, 7}, {300, 512}};
enum { SIZE_COUNT = 6 };

static fixture begin(int size, int d, double scale, int threads) {
    fixture f = {.dtype = REALS[d], .rows = SIZES[size][0], .n = SIZES[size][1], .scale = scale};
    f.ctx = context_with(threads);
    f.k = mo_kernels_of(f.ctx, f.dtype);
    f.x = UNIFORM_VIEW(f.dtype, 11, f.rows, f.n);
    f.y = NEW_VIEW(f.dtype, f.rows, f.n);
    for (int64_t i = 0; i < count_of(&f.x); i++)
        set_element(&f.x, i, scale * element(&f.x, i));
    return f;
}

/* Computed in long double: differences of values near 1e4 keep the digits of float64. */
static long double log_sum_exp(const fixture *f, int64_t row) {
    long double m = -INFINITY, sum = 0;
    for (int64_t j = 0; j < f->n; j++)
        m = fmaxl(m, element(&f->x, row * f->n + j));
    for (int64_t j = 0; j < f->n; j++)
        sum += expl(element(&f->x, row * f->n + j) - m);
    return m + logl(sum);
}

TEST(softmax_and_logsumexp_equal_loops_up_to_1e4) {
    const double scales[] = {1, 100, 1e4};
    for (int c = 0; c < 2 * 3 * SIZE_COUNT; c++) {
        fixture f = begin(c / 6, c & 1, scales[c / 2 % 3], 2);
        mo_view log_y = NEW_VIEW(f.dtype, f.rows, f.n), sums = NEW_VIEW(f.dtype, f.rows);
        f.k->softmax(f.ctx, false, &f.x, &f.y);
        f.k->softmax(f.ctx, true, &f.x, &log_y);
        f.k->logsumexp(f.ctx, &f.x, &sums);
        double e = epsilon_of(f.dtype);
        for (int64_t i = 0; i < f.rows; i++) {
            long double sum = log_sum_exp(&f, i);
            assert_near("logsumexp", i, element(&sums, i), (double)sum, 4 * e * (1 + fabs((double)sum)));
            for (int64_t j = i * f.n; j < (i + 1) * f.n; j++) {
                double expected = (double)(element(&f.x, j) - sum), size = 8 * e * (1 + fabs(expected));
                assert_near("log_softmax", j, element(&log_y, j), expected, size);
                assert_near("softmax", j, element(&f.y, j), exp(expected), size * exp(expected) + 1e-44);
            }
        }
        free_views();
    }
}

TEST(masked_entries_have_probability_zero) {
    for (int d = 0; d < 2; d++) {
        fixture f = begin(2, d, 1, 1);
        mo_view sums = NEW_VIEW(f.dtype, f.rows);
        for (int64_t j = 0; j < f.n; j++) {
            set_element(&f.x, j, -INFINITY);
            set_element(&f.x, f.n + j, j == 3 ? 2 : -INFINITY);
        }
        f.k->softmax(f.ctx, false, &f.x, &f.y);
        f.k->logsumexp(f.ctx, &f.x, &sums);
        assert_true(element(&sums, 0) == -INFINITY && element(&sums, 1) == 2);
        for (int64_t j = 0; j < f.n; j++)
            assert_true(element(&f.y, f.n + j) == (j == 3));
        free_views();
    }
}

static double target_of(const mo_view *target, bool labels, int64_t row, int64_t c, int64_t n) {
    return labels ? element(target, row) == (double)c : element(target, row * n + c);
}

static void check_loss(int size, int d, double scale, double smoothing, bool labels) {
    fixture f = begin(size, d, scale, 2);
    mo_view target = labels ? NEW_VIEW(MO_I64, f.rows) : UNIFORM_VIEW(f.dtype, 5, f.rows, f.n);
    mo_view loss = NEW_VIEW(f.dtype, f.rows);
    for (int64_t i = 0; labels && i < f.rows; i++)
        set_element(&target, i, (double)(i * 7 % f.n));
    f.k->cross_entropy(f.ctx, smoothing, &f.x, &target, &loss);
    for (int64_t i = 0; i < f.rows; i++) {
        long double expected = 0, size_of_terms = 0, lse = log_sum_exp(&f, i);
        for (int64_t c = 0; c < f.n; c++) {
            double t = (1 - smoothing) * target_of(&target, labels, i, c, f.n) + smoothing / (double)f.n;
            expected += t * (lse - element(&f.x, i * f.n + c));
            size_of_terms += fabsl(t * (lse - element(&f.x, i * f.n + c)));
        }
        /* The rounding error is bounded by the loss, whatever the size of x. */
        double tolerance = 16 * epsilon_of(f.dtype) * ((double)size_of_terms + 1);
        assert_near("cross_entropy", i, element(&loss, i), (double)expected, tolerance);
    }
    free_views();
}

TEST(cross_entropy_equals_its_definition) {
    const double scales[] = {1, 100, 1e4}, smoothing[] = {0, 0.1};
    for (int c = 0; c < SIZE_COUNT * 2 * 3 * 2 * 2; c++)
        check_loss(c % SIZE_COUNT, c / 6 & 1, scales[c / 12 % 3], smoothing[c / 36 & 1], c / 72 & 1);
}

TEST(layer_norm_equals_loops_far_from_zero) {
    for (int c = 0; c < 2 * 2 * SIZE_COUNT; c++) {
        fixture f = begin(c / 4, c & 1, 1, 2);
        double shift = c & 2 ? 1000 : 0;
        for (int64_t i = 0; i < f.rows * f.n; i++)
            set_element(&f.x, i, element(&f.x, i) + shift);
        f.k->layer_norm(f.ctx, 1e-5, &f.x, &f.y);
        for (int64_t i = 0; i < f.rows; i++) {
            long double mean = 0, variance = 0;
            for (int64_t j = 0; j < f.n; j++)
                mean += element(&f.x, i * f.n + j) / (long double)f.n;
            for (int64_t j = 0; j < f.n; j++)
                variance += powl(element(&f.x, i * f.n + j) - mean, 2) / (long double)f.n;
            for (int64_t j = 0; j < f.n; j++) {
                double expected = (double)((element(&f.x, i * f.n + j) - mean) / sqrtl(variance + 1e-5L));
                assert_near("layer_norm", i, element(&f.y, i * f.n + j), expected,
                    16 * epsilon_of(f.dtype) * (1 + fabs(expected)) + 0x1p-52 * 20 * shift);
            }
        }
        free_views();
    }
}

TEST(l2_normalize_equals_loops_and_spares_zero) {
    for (int c = 0; c < 2 * SIZE_COUNT; c++) {
        fixture f = begin(c / 2, c & 1, c & 1 ? 1 : 1e25, 2); /* squares of 1e25 overflow float32 */
        for (int64_t j = 0; j < f.n && f.rows > 0; j++)
            set_element(&f.x, j, 0);
        f.k->l2_normalize(f.ctx, 1e-12, &f.x, &f.y);
        for (int64_t i = 0; i < f.rows; i++) {
            double squares = 0;
            for (int64_t j = 0; j < f.n; j++)
                squares += pow(element(&f.x, i * f.n + j), 2);
            for (int64_t j = 0; j < f.n; j++)
                assert_near("l2_normalize", i, element(&f.y, i * f.n + j),
                    i == 0 ? 0 : element(&f.x, i * f.n + j) / sqrt(squares), 4 * epsilon_of(f.dtype));
        }
        free_views();
    }
}

TEST(argmax_takes_the_first_of_equals) {
    for (int c = 0; c < 2 * SIZE_COUNT; c++) {
        fixture f = begin(c / 2, c & 1, 3, 2);
        mo_view index = NEW_VIEW(MO_I64, f.rows);
        for (int64_t i = 0; i < f.rows * f.n; i++)
            set_element(&f.x, i, floor(element(&f.x, i)));
        f.k->argmax(f.ctx, &f.x, &index);
        for (int64_t i = 0; i < f.rows; i++) {
            int64_t best = (int64_t)element(&index, i);
            for (int64_t j = 0; j < f.n; j++)
                assert_true(element(&f.x, i * f.n + j) < element(&f.x, i * f.n + best) ||
                            (element(&f.x, i * f.n + j) == element(&f.x, i * f.n + best) && j >= best));
        }
        free_views();
    }
}

TEST(argsort_falls_and_keeps_the_order_of_equals) {
    for (int c = 0; c < 2 * SIZE_COUNT; c++) {
        fixture f = begin(c / 2, c & 1, 10, 2);
        mo_view order = NEW_VIEW(MO_I64, f.rows, f.n);
        for (int64_t i = 0; i < f.rows * f.n; i++)
            set_element(&f.x, i, floor(element(&f.x, i)));
        f.k->argsort(f.ctx, &f.x, &order);
        for (int64_t i = 0; i < f.rows; i++)
            for (int64_t j = 1; j < f.n; j++) {
                double a = element(&order, i * f.n + j - 1), b = element(&order, i * f.n + j);
                double at_a = element(&f.x, i * f.n + (int64_t)a), at_b = element(&f.x, i * f.n + (int64_t)b);
                assert_true(at_a > at_b || (at_a == at_b && a < b));
            }
        free_views();
    }
}

TEST(cumsum_runs_both_ways) {
    for (int c = 0; c < 4 * SIZE_COUNT; c++) {
        fixture f = begin(c / 4, c & 1, 1, 2);
        bool reversed = c & 2;
        f.k->cumsum(f.ctx, reversed, &f.x, &f.y);
        for (int64_t i = 0; i < f.rows; i++) {
            double sum = 0;
            for (int64_t k = 0; k < f.n; k++) {
                int64_t j = i * f.n + (reversed ? f.n - 1 - k : k);
                sum += element(&f.x, j);
                assert_near("cumsum", j, element(&f.y, j), sum, epsilon_of(f.dtype) * (1 + fabs(sum)));
            }
        }
        free_views();
    }
}
