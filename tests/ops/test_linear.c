/* tests/ops/test_linear.c - the fused layer equals the ops that it replaces, in its value and in every gradient. */
#include "ops/inside.h"
#include "tests/drawn.h"
#include "tests/largest_difference.h"

/* The sizes and inputs of a layer. batch 0: X is a matrix; part: W is half of a matrix; turned: X is a transposed
 * view. */
typedef struct layer {
    int batch, rows, in, out;
    bool relu, b, part, turned;
} layer;

/* Returns relu(X W^T + b) from single ops. */
static mo_tensor *composed(mo_tape *t, const layer *l, mo_tensor *X, mo_tensor *W, mo_tensor *b) {
    mo_tensor *Y = mo_matmul(t, X, mo_transpose(t, W));
    if (b)
        Y = mo_add(t, Y, b);
    return l->relu ? mo_relu(t, Y) : Y;
}

/* Fails if sums of k products differ too much: another order changes them by at most about k eps times their magnitude;
 * for standard normal numbers 8 k eps is a safe bound. */
static void expect_close(mo_tape *t, const char *what, mo_tensor *got, mo_tensor *want, double k) {
    double eps = mo_tensor_dtype(want) == MO_F64 ? DBL_EPSILON : FLT_EPSILON;
    double worst = largest_difference(mo_cast(t, got, MO_F64), mo_cast(t, want, MO_F64));
    if (!(worst <= 8 * k * eps))
        fail_msg("%s differs by %g, expected at most %g", what, worst, 8 * k * eps);
}

static void expect_equal_layers(mo_tape *t, mo_dtype real, const layer *l, uint64_t seed) {
    mo_context *ctx = mo_tape_context(t);
    int64_t x_size[] = {l->batch, l->rows, l->in}, y_size[] = {l->batch, l->rows, l->out};
    int64_t turned_size[] = {l->in, l->rows}, w_size[] = {l->out, l->part ? 2 * l->in : l->in};
    int skip = l->batch ? 0 : 1;
    mo_tensor *leaves[3] = {
        l->turned ? drawn_leaf(t, real, seed, 2, turned_size) : drawn_leaf(t, real, seed, 3 - skip, x_size + skip),
        drawn_leaf(t, real, seed + 1, 2, w_size)};
    int n = 2;
    mo_tensor *b = l->b ? leaves[n++] = drawn_leaf(t, real, seed + 2, 1, &w_size[0]) : NULL;
    mo_tensor *G = drawn(t, real, seed + 4, 3 - skip, y_size + skip);
    mo_tensor *X = l->turned ? mo_transpose(t, leaves[0]) : leaves[0];
    mo_tensor *W = l->part ? mo_slice(t, leaves[1], MO_AXIS(1), l->in, 2 * l->in) : leaves[1];
    mo_tensor *fused = l->relu ? mo_linear_relu(t, X, W, b) : mo_linear(t, X, W, b);
    mo_tensor *plain = composed(t, l, X, W, b), *got[3], *want[3];
    assert_string_equal(mo_context_status(ctx)->message, "");
    expect_close(t, "value", fused, plain, l->in + 2);
    mo_grad(t, &fused, &G, 1, leaves, got, n, MO_RETAIN);
    mo_grad(t, &plain, &G, 1, leaves, want, n, MO_RETAIN);
    assert_string_equal(mo_context_status(ctx)->message, "");
    for (int i = 0; i < n; i++) {
        char what[32];
        snprintf(what, sizeof what, "gradient %d", i);
        expect_close(t, what, got[i], want[i], l->out + (l->batch ? l->batch : 1) * l->rows);
    }
    mo_tape_reset(t);
}

TEST_OF(linear_equals_its_composition, mo_tape *t) {
    static const layer layers[] = {
        {.rows = 7, .in = 5, .out = 3},
        {.rows = 300, .in = 64, .out = 48, .b = true},
        {.rows = 200, .in = 33, .out = 16, .b = true, .relu = true},
        {.rows = 200, .in = 32, .out = 16, .b = true, .relu = true},
        {.rows = 50, .in = 8, .out = 12, .relu = true},
        {.batch = 4, .rows = 9, .in = 6, .out = 5, .b = true},
        {.batch = 4, .rows = 9, .in = 6, .out = 5, .b = true, .relu = true},
        {.rows = 40, .in = 16, .out = 8, .b = true, .relu = true, .part = true},
        {.rows = 40, .in = 16, .out = 8, .b = true, .turned = true},
        {.rows = 1, .in = 1, .out = 1, .b = true, .relu = true},
    };
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++) {
        expect_equal_layers(t, MO_F64, &layers[i], 10 * i);
        expect_equal_layers(t, MO_F32, &layers[i], 10 * i);
    }
}
