/* tests/ops/test_logistic_large.c - a softmax regression so large that its products use several threads
 * (tensor/cpu/fits/logistic.h): it reaches its optimum at any thread count. */
#include "ops/ops.h"
#include "tensor/storage.h"
#include "tests/suite.h"

enum { N = 4200, D = 256, C = 5, LENGTH = (D + 1) * C };

#define LAMBDA 2.0

/* Draws rows around the means of their classes; column j is divided by spread^(j / D). */
static double *rows_of(double spread) {
    double *X = test_memory((size_t)N * D * sizeof *X);
    uint64_t state = 7;
    assert_non_null(X);
    for (int64_t i = 0; i < N; i++)
        for (int64_t j = 0; j < D; j++) {
            double sum = 0;
            for (int k = 0; k < 4; k++) {
                state = state * 6364136223846793005u + 1442695040888963407u;
                sum += (double)(int64_t)state * 0x1p-63;
            }
            X[i * D + j] = (sum + 0.3 * cos((double)(j * (i % C + 1)))) * pow(spread, -(double)j / D);
        }
    return X;
}

/* Returns the label of row i: for one row in eleven not the class from which it was drawn, so that classes overlap. */
static int64_t label_of(int64_t i) {
    return i * 7 % 11 == 0 ? (i + 1) % C : i % C;
}

static mo_tensor *labels(mo_tape *t, mo_dtype dtype) {
    int64_t *y = test_memory(N * sizeof *y), size = N;
    assert_non_null(y);
    for (int64_t i = 0; i < N; i++)
        y[i] = label_of(i);
    mo_tensor *Y = mo_one_hot(t, mo_from(t, MO_I64, 1, &size, y), C, dtype);
    return Y;
}

static mo_tensor *fit(mo_tape *t, mo_tensor *X, mo_dtype dtype) {
    return mo_logistic(t, X, labels(t, dtype), mo_scalar(t, dtype, LAMBDA), MO_INTERCEPT_FREE);
}

static void fit_with(int threads, mo_dtype dtype, const double *X, double *W) {
    mo_context *ctx = mo_context_create(&(mo_context_options){.threads = threads});
    mo_tape *t = mo_tape_create(ctx, MO_EVAL);
    mo_tensor *rows = mo_cast(t, mo_from(t, MO_F64, 2, (int64_t[]){N, D}, X), dtype);
    if (mo_tensor_read(mo_cast(t, fit(t, rows, dtype), MO_F64), W, LENGTH * sizeof *W) != MO_OK)
        fail_msg("%s: %s", mo_dtype_name(dtype), mo_context_status(ctx)->message);
    mo_tape_release(t);
    mo_context_release(ctx);
}

/* Returns the norm of the objective's gradient at W, relative to that at 0, by plain loops. */
static double relative_gradient(const double *X, const double *W) {
    double G[LENGTH] = {0}, G0[LENGTH] = {0}, now = 0, start = 0;
    for (int64_t i = 0; i < N; i++) {
        double F[C], sum = 0;
        int64_t y = label_of(i);
        for (int c = 0; c < C; c++) {
            F[c] = W[D * C + c];
            for (int64_t j = 0; j < D; j++)
                F[c] += X[i * D + j] * W[j * C + c];
            sum += F[c] = exp(F[c]);
        }
        for (int64_t j = 0; j <= D; j++)
            for (int c = 0; c < C; c++) {
                double x = j < D ? X[i * D + j] : 1;
                G[j * C + c] += x * (F[c] / sum - (c == y));
                G0[j * C + c] += x * (1.0 / C - (c == y));
            }
    }
    for (int64_t i = 0; i < LENGTH; i++) {
        double g = G[i] + (i < D * C ? LAMBDA * W[i] : 0);
        now += g * g;
        start += G0[i] * G0[i];
    }
    return sqrt(now / start);
}

TEST(gradient_vanishes_at_any_thread_count) {
    static const double spread[] = {1, 1000};
    double first[LENGTH], again[LENGTH];
    for (int k = 0; k < 2; k++) {
        double *X = rows_of(spread[k]);
        for (int dtype = MO_F32; dtype <= MO_F64; dtype++) {
            fit_with(1, (mo_dtype)dtype, X, first);
            double left = relative_gradient(X, first);
            if (!(left < (dtype == MO_F64 ? 1e-12 : 1e-4)))
                fail_msg("%s, spread %g: gradient %g of the first", mo_dtype_name((mo_dtype)dtype), spread[k], left);
            for (int threads = 2; threads <= 3; threads++) {
                fit_with(threads, (mo_dtype)dtype, X, again);
                assert_memory_equal(first, again, sizeof first);
            }
        }
    }
}
