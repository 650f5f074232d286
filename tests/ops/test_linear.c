/* tests/ops/test_linear.c - the fused layer equals the ops that it replaces, in its value and in every gradient. */
#include "ops/inside.h"
#include "tensor/storage.h"
#include "tests/worst_of.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/suite.h"

/* The sizes and inputs of a layer. batch 0: X is a matrix; part: W is half of a matrix; turned: X is a transposed
 * view. */
typedef struct layer {
    int batch, rows, in, out;
    bool relu, b, R, part, turned;
} layer;

static mo_tensor *leaf(mo_context *ctx, mo_dtype dtype, int ndim, const int64_t *shape, mo_random *r) {
    mo_tensor *T = mo_tensor_create(ctx, dtype, ndim, shape);
    int64_t n = mo_numel(T);
    double *wide = malloc((size_t)n * sizeof *wide + 1);
    float *narrow = malloc((size_t)n * sizeof *narrow + 1);
    for (int64_t i = 0; i < n; i++)
        narrow[i] = (float)(wide[i] = mo_random_normal(r));
    mo_tensor_write(T, dtype == MO_F32 ? (void *)narrow : wide, (size_t)n * mo_dtype_size(dtype));
    free(wide);
    free(narrow);
    return mo_require_grad(T);
}

/* Returns relu(X W^T + b + R) from single ops. */
static mo_tensor *composed(mo_tape *t, const layer *l, mo_tensor *X, mo_tensor *W, mo_tensor *b, mo_tensor *R) {
    mo_tensor *Y = mo_matmul(t, X, mo_transpose(t, W));
    if (b)
        Y = mo_add(t, Y, b);
    if (R)
        Y = mo_add(t, Y, R);
    return l->relu ? mo_relu(t, Y) : Y;
}

static void read_doubles(const mo_tensor *T, double *x) {
    int64_t n = mo_numel(T);
    float *narrow = malloc((size_t)n * sizeof *narrow + 1);
    if (mo_tensor_dtype(T) == MO_F64)
        assert_int_equal(mo_tensor_read(T, x, (size_t)n * sizeof *x), MO_OK);
    else
        assert_int_equal(mo_tensor_read(T, narrow, (size_t)n * sizeof *narrow), MO_OK);
    for (int64_t i = 0; mo_tensor_dtype(T) == MO_F32 && i < n; i++)
        x[i] = narrow[i];
    free(narrow);
}

/* Fails if sums of k products differ too much: another order changes them by at most about k eps times their magnitude;
 * for standard normal numbers 8 k eps is a safe bound. */
static void expect_close(const char *what, const mo_tensor *got, const mo_tensor *want, double k) {
    int64_t n = mo_numel(want);
    double *a = malloc((size_t)n * sizeof *a + 1), *b = malloc((size_t)n * sizeof *b + 1);
    double eps = mo_tensor_dtype(want) == MO_F64 ? DBL_EPSILON : FLT_EPSILON, worst = 0;
    assert_int_equal(mo_numel(got), n);
    read_doubles(got, a);
    read_doubles(want, b);
    for (int64_t i = 0; i < n; i++)
        worst = worst_of(worst, fabs(a[i] - b[i]));
    if (!(worst <= 8 * k * eps))
        fail_msg("%s differs by %g, expected at most %g", what, worst, 8 * k * eps);
    free(a);
    free(b);
}

static void expect_equal_layers(mo_context *ctx, mo_dtype dtype, const layer *l, uint64_t seed) {
    mo_random r = mo_random_at(seed, MO_PURPOSE_CHECK, 0);
    int64_t x_size[] = {l->batch, l->rows, l->in}, y_size[] = {l->batch, l->rows, l->out};
    int64_t turned_size[] = {l->in, l->rows}, w_size[] = {l->out, l->part ? 2 * l->in : l->in};
    int skip = l->batch ? 0 : 1;
    mo_tape *t = mo_tape_create(ctx, MO_RECORD);
    mo_tensor *leaves[5] = {
        l->turned ? leaf(ctx, dtype, 2, turned_size, &r) : leaf(ctx, dtype, 3 - skip, x_size + skip, &r),
        leaf(ctx, dtype, 2, w_size, &r)};
    int n = 2;
    mo_tensor *b = l->b ? leaves[n++] = leaf(ctx, dtype, 1, &w_size[0], &r) : NULL;
    mo_tensor *R = l->R ? leaves[n++] = leaf(ctx, dtype, 3 - skip, y_size + skip, &r) : NULL;
    mo_tensor *G = leaf(ctx, dtype, 3 - skip, y_size + skip, &r);
    mo_tensor *X = l->turned ? mo_transpose(t, leaves[0]) : leaves[0];
    mo_tensor *W = l->part ? mo_slice(t, leaves[1], MO_AXIS(1), l->in, 2 * l->in) : leaves[1];
    mo_tensor *fused = l->relu || R ? mo_linear_relu(t, X, W, b, R) : mo_linear(t, X, W, b);
    mo_tensor *plain = composed(t, l, X, W, b, R), *got[4], *want[4];
    assert_string_equal(mo_context_status(ctx)->message, "");
    expect_close("value", fused, plain, l->in + 2);
    mo_grad(t, &fused, &G, 1, leaves, got, n, MO_RETAIN);
    mo_grad(t, &plain, &G, 1, leaves, want, n, MO_RETAIN);
    assert_string_equal(mo_context_status(ctx)->message, "");
    for (int i = 0; i < n; i++) {
        char what[32];
        snprintf(what, sizeof what, "gradient %d", i);
        expect_close(what, got[i], want[i], l->out + (l->batch ? l->batch : 1) * l->rows);
    }
    mo_tape_release(t);
    for (int i = 0; i < n; i++)
        mo_tensor_release(leaves[i]);
    mo_tensor_release(G);
}

TEST(linear_equals_its_composition) {
    (void)state;
    static const layer layers[] = {
        {.rows = 7, .in = 5, .out = 3},
        {.rows = 300, .in = 64, .out = 48, .b = true},
        {.rows = 200, .in = 33, .out = 16, .b = true, .relu = true},
        {.rows = 200, .in = 32, .out = 16, .b = true, .R = true, .relu = true},
        {.rows = 50, .in = 8, .out = 12, .R = true, .relu = true},
        {.batch = 4, .rows = 9, .in = 6, .out = 5, .b = true},
        {.batch = 4, .rows = 9, .in = 6, .out = 5, .b = true, .R = true, .relu = true},
        {.rows = 40, .in = 16, .out = 8, .b = true, .relu = true, .part = true},
        {.rows = 40, .in = 16, .out = 8, .b = true, .turned = true},
        {.rows = 1, .in = 1, .out = 1, .b = true, .relu = true},
    };
    mo_context *ctx = mo_context_create(NULL);
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++) {
        expect_equal_layers(ctx, MO_F64, &layers[i], i);
        expect_equal_layers(ctx, MO_F32, &layers[i], i);
    }
    mo_context_release(ctx);
}

/* relu(X W1^T + b1 + R) W2^T + b2: its value, every gradient, and the gradients of the sum of their squares. */
TEST(perceptron_equals_its_layers) {
    (void)state;
    enum { LEAVES = 6, ROWS = 60, IN = 9, HIDDEN = 33, OUT = 4 };
    static const int64_t shapes[LEAVES][2] = {{ROWS, IN}, {HIDDEN, IN}, {HIDDEN}, {ROWS, HIDDEN}, {OUT, HIDDEN}, {OUT}};
    mo_context *ctx = mo_context_create(NULL);
    mo_tape *t = mo_tape_create(ctx, MO_RECORD);
    mo_random r = mo_random_at(9, MO_PURPOSE_CHECK, 0);
    mo_tensor *l[LEAVES], *value[2], *first[2][LEAVES], *second[2][LEAVES];
    for (int i = 0; i < LEAVES; i++)
        l[i] = leaf(ctx, MO_F64, shapes[i][1] ? 2 : 1, shapes[i], &r);
    value[0] = mo_perceptron(t, l[0], l[1], l[2], l[3], l[4], l[5]);
    value[1] = mo_linear(t, mo_linear_relu(t, l[0], l[1], l[2], l[3]), l[4], l[5]);
    expect_close("value", value[0], value[1], IN + HIDDEN);
    for (int k = 0; k < 2; k++) {
        mo_tensor *loss = mo_sum(t, mo_square(t, value[k]), MO_ALL, MO_DROP_AXES), *squares = mo_scalar(t, MO_F64, 0);
        mo_grad(t, &loss, NULL, 1, l, first[k], LEAVES, MO_CREATE_GRAPH);
        for (int i = 0; i < LEAVES; i++)
            squares = mo_add(t, squares, mo_mean(t, mo_square(t, first[k][i]), MO_ALL, MO_DROP_AXES));
        mo_grad(t, &squares, NULL, 1, l, second[k], LEAVES, MO_RETAIN);
    }
    assert_string_equal(mo_context_status(ctx)->message, "");
    for (int i = 0; i < LEAVES; i++) {
        expect_close("gradient", first[0][i], first[1][i], 100 * ROWS * HIDDEN);
        expect_close("second gradient", second[0][i], second[1][i], 1e4 * ROWS * HIDDEN);
    }
    mo_tape_release(t);
    for (int i = 0; i < LEAVES; i++)
        mo_tensor_release(l[i]);
    mo_context_release(ctx);
}
