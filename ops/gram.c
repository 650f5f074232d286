/* ops/gram.c - Y = X X^T, the inner products of the rows of X, batched: half of the products that a matmul would form.
 *
 * X [.., n, d] -> Y [.., n, n], symmetric to the last bit on the CPU; a transposed view is read in place. float32 or
 * float64. Errors: fewer than two axes. Saved: nothing beyond the input.
 *
 * dY = dX X^T + X dX^T; <Y_bar, dY> = <Y_bar X, dX> + <Y_bar^T X, dX>, hence
 *     X_bar = (Y_bar + Y_bar^T) X. */
#include "ops/inside.h"
#include "ops/rules/shapes.h"

#include <string.h>

static bool gram_shape(mo_call *c) {
    const mo_tensor *X = c->in[0];
    int64_t size[MO_MAX_AXES];
    if (!mo_call_real(c, 0, 0))
        return false;
    if (X->ndim < 2)
        return mo_call_fail(c, MO_INVALID, "expected matrices, two axes or more");
    memcpy(size, X->shape, sizeof size);
    size[X->ndim - 1] = size[X->ndim - 2];
    return mo_call_output(c, 0, X->dtype, X->ndim, size);
}

/* Returns a view of X, or of a copy if neither its rows nor its columns have unit stride. */
static mo_view readable(mo_call *c) {
    mo_view X = mo_tensor_view(c->in[0]);
    int64_t rows = X.shape[X.ndim - 2], columns = X.shape[X.ndim - 1];
    int64_t down = X.stride[X.ndim - 2], along = X.stride[X.ndim - 1];
    bool by_rows = along == 1 && down >= columns && down > 0, by_columns = down == 1 && along >= rows && along > 0;
    return (by_rows || by_columns) && down <= INT32_MAX && along <= INT32_MAX ? X : mo_call_dense(c, 0);
}

static void gram_forward(mo_call *c) {
    const mo_kernels *k = mo_kernels_of(c->ctx, c->in[0]->dtype);
    mo_view X = readable(c), Y = mo_tensor_view(c->out[0]);
    if (!mo_ok(c->ctx) || mo_numel(c->out[0]) == 0)
        return;
    if (k->gram)
        k->gram(c->ctx, &X, &Y);
    else
        k->gemm(c->ctx, &(mo_gemm){.A = X, .B = mo_swap_view(X), .C = Y, .alpha = 1});
}

static void gram_vjp(mo_vjp *v) {
    mo_tensor *Y_bar = v->out_bar[0]; /* X_bar = (Y_bar + Y_bar^T) X */
    v->in_bar[0] = mo_matmul(v->t, mo_add(v->t, Y_bar, mo_transpose(v->t, Y_bar)), v->in[0]);
}

static double gram_flops(const mo_call *c) {
    return (double)mo_numel(c->in[0]) * (double)(mo_dim(c->out[0], -1) + 1);
}

static const mo_sample gram_samples[] = {
    {"plain", "[3, 4]"},
    {"batch, more rows than columns", "[2, 4, 2]"},
    {"one row", "[1, 5]"},
    {"vector", "[4]", .error = "gram: expected matrices"},
};

const mo_op mo_op_gram = {
    .name = "gram",
    .reads_in = 1,
    .shape = gram_shape,
    .forward = gram_forward,
    .vjp = gram_vjp,
    .flops = gram_flops,
    MO_SAMPLES(gram_samples),
};

mo_tensor *mo_gram(mo_tape *t, mo_tensor *X) {
    return mo_apply(t, &mo_op_gram, &X, 1, NULL);
}
