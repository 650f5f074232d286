/* tests/cli/plugin_planted.c - a shared object of one op, C = A B for matrices, four times: right, and with one mistake
 * each that differences at its square sample do not show. */
#include "ops/inside.h"

#include <string.h>

static bool shape(mo_call *c) {
    const mo_tensor *A = c->in[0], *B = c->in[1];
    int n = mo_ndim(A);
    if (!mo_call_real(c, 0, 1) || n < 2 || n > 3 || mo_ndim(B) != n || mo_dim(A, -1) != mo_dim(B, -2) ||
        mo_dim(A, 0) != mo_dim(B, 0))
        return mo_call_fail(c, MO_INVALID, "expected square matrices or a batch of them");
    mo_view a = mo_tensor_view(c->in[0]);
    return mo_call_output(c, 0, a.dtype, n, a.shape);
}

/* Plain loops in double, over the numbers of either type. */
static void forward(mo_call *c) {
    mo_view a = mo_call_dense(c, 0), b = mo_call_dense(c, 1), y = mo_tensor_view(c->out[0]);
    int64_t n = mo_dim(c->in[0], -1), batch = mo_ndim(c->in[0]) == 3 ? mo_dim(c->in[0], 0) : 1;
    for (int64_t i = 0; i < batch * n * n; i++) {
        int64_t row = i - i % n, column = i - i % (n * n) + i % n;
        double sum = 0;
        for (int64_t k = 0; k < n; k++)
            if (y.dtype == MO_F64)
                sum += ((double *)a.data)[row + k] * ((double *)b.data)[column + k * n];
            else
                sum += ((float *)a.data)[row + k] * ((float *)b.data)[column + k * n];
        if (y.dtype == MO_F64)
            ((double *)y.data)[i] = sum;
        else
            ((float *)y.data)[i] = (float)sum;
    }
}

static mo_tensor *A_bar(mo_vjp *v) {
    return mo_matmul(v->t, v->out_bar[0], mo_transpose(v->t, v->in[1]));
}

static mo_tensor *B_bar(mo_vjp *v) {
    return mo_matmul(v->t, mo_transpose(v->t, v->in[0]), v->out_bar[0]);
}

static void right(mo_vjp *v) {
    if (v->needs[0])
        v->in_bar[0] = A_bar(v);
    if (v->needs[1])
        v->in_bar[1] = B_bar(v);
}

static void slip(mo_vjp *v) {
    if (v->needs[0])
        v->in_bar[0] = A_bar(v);
    if (v->needs[0])
        v->in_bar[1] = B_bar(v);
}

static void wrong_in_batch(mo_vjp *v) {
    right(v);
    if (v->needs[1] && mo_ndim(v->in[1]) == 3)
        v->in_bar[1] = mo_scale(v->t, v->in_bar[1], 0.5, 0);
}

static const mo_sample samples[] = {
    {.name = "square", .in = "[3, 3] [3, 3]"},
};

static const mo_op as_it_should_be = {.name = "planted_right",
    .n_in = 2,
    .reads_in = 3,
    .shape = shape,
    .forward = forward,
    .vjp = right,
    MO_SAMPLES(samples)};
static const mo_op undeclared = {.name = "planted_reads",
    .n_in = 2,
    .reads_in = 1,
    .shape = shape,
    .forward = forward,
    .vjp = right,
    MO_SAMPLES(samples)};
static const mo_op needs = {.name = "planted_needs",
    .n_in = 2,
    .reads_in = 3,
    .shape = shape,
    .forward = forward,
    .vjp = slip,
    MO_SAMPLES(samples)};
static const mo_op batch = {.name = "planted_batch",
    .n_in = 2,
    .reads_in = 3,
    .shape = shape,
    .forward = forward,
    .vjp = wrong_in_batch,
    MO_SAMPLES(samples)};

static const mo_op *const ops[] = {&as_it_should_be, &undeclared, &needs, &batch};
MO_API const mo_op_list mo_ops = {MO_OP_ABI, sizeof(mo_op), 4, ops};
