/* tests/tensor/test_cpu_gram.c - X X^T against plain loops in double, the same at any thread count, and exactly
 * symmetric. */
#include "tests/tensor/cpu_views.h"

static void check_entries(const mo_view *X, const mo_view *Y, const char *what) {
    int64_t n = X->shape[1], d = X->shape[2], count = count_of(Y), step = count > 20000 ? count / 5000 | 1 : 1;
    double tolerance = epsilon_of(Y->dtype) * (4 + 2 * sqrt((double)d));
    for (int64_t at = 0; at < count; at += step) {
        int64_t b = at / (n * n), i = at / n % n, j = at % n;
        double sum = 0, total = 0;
        for (int64_t k = 0; k < d; k++) {
            const int64_t *s = X->stride;
            double x = value_at(X, b * s[0] + i * s[1] + k * s[2]), y = value_at(X, b * s[0] + j * s[1] + k * s[2]);
            sum += x * y;
            total += fabs(x * y);
        }
        assert_near(what, at, element(Y, at), sum, tolerance * total);
        assert_true(element(Y, at) == element(Y, b * n * n + j * n + i));
    }
}

static void check(mo_view X, const char *what) {
    mo_view Y = UNIFORM_VIEW(X.dtype, 3, X.shape[0], X.shape[1], X.shape[1]), first = {0};
    const int threads[] = {1, 2, 5};
    for (int i = 0; i < 3; i++) {
        mo_context *ctx = context_with(threads[i]);
        mo_kernels_of(ctx, X.dtype)->gram(ctx, &X, &Y);
        assert_true(mo_ok(ctx));
        if (i == 0) {
            check_entries(&X, &Y, what);
            first = clone_view(&Y);
        }
        assert_same_bits(&first, &Y);
    }
}

/* Small sizes, computed by loops; one block; several blocks; X by rows and by columns; batches. */
TEST(gram_is_that_of_plain_loops) {
    static const int64_t sizes[][3] = {{1, 1, 1}, {1, 5, 0}, {4, 7, 9}, {1, 16, 40}, {2, 33, 65}, {1, 129, 70},
        {1, 300, 33}, {3, 257, 20}, {9, 130, 31}, {1, 513, 100}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int dtype = MO_F32; dtype <= MO_F64; dtype++) {
            int64_t b = sizes[i][0], n = sizes[i][1], d = sizes[i][2];
            mo_view X = UNIFORM_VIEW((mo_dtype)dtype, 1, b, n, d), Xt = UNIFORM_VIEW((mo_dtype)dtype, 2, b, d, n);
            mo_view wide = UNIFORM_VIEW((mo_dtype)dtype, 4, b, n, d + 5);
            char what[96];
            snprintf(what, sizeof what, "%s [%d,%d,%d]", mo_dtype_name((mo_dtype)dtype), (int)b, (int)n, (int)d);
            check(X, what);
            check(swapped(Xt, 1, 2), what);
            mo_view part = wide;
            part.shape[2] = d;
            check(part, what);
            free_views();
        }
}
