/* ops/segment.c - sums and means over runs of rows: graphs of any size in one batch.
 *
 * segment_sum, segment_mean: X [n, ..], offset int64 [S + 1], rising from 0 to n -> Y [S, ..]; row s is the sum (mean)
 * of the rows offset(s) .. offset(s+1)-1, and 0 for an empty segment. segment_spread: X [S, ..] -> Y [n, ..], each row
 * of a segment is the segment's row of X (mean: divided by the number of rows). float32 or float64. Errors: offsets
 * that do not start at 0, fall, or do not end at n. Saved: nothing beyond the inputs.
 *
 * With the 0/1 membership matrix P [S, n] and the counts N = diag(P 1): sum Y = P X, mean Y = N^-1 P X, spread Y = P^T
 * X or P^T N^-1 X. All are linear, so sum, mean: X_bar = spread(Y_bar),   spread: X_bar = sum or mean of Y_bar. */
#include "ops/inside.h"
#include "ops/rules/indices.h"
#include "tensor/objects.h"

#include <inttypes.h>
#include <string.h>

/* rows: number of rows of segment_spread's output; segment_sum and segment_mean ignore it. */
typedef struct segment_options {
    bool mean;
    int64_t rows;
} segment_options;

extern const mo_op mo_op_segment_mean, mo_op_segment_spread, mo_op_segment_sum;

static bool output(mo_call *c, int64_t rows) {
    const mo_tensor *X = c->in[0];
    int64_t size[MO_MAX_AXES];
    memcpy(size, X->shape, sizeof size);
    size[0] = rows;
    return mo_call_output(c, 0, X->dtype, X->ndim, size);
}

static bool segment_shape(mo_call *c) {
    if (!mo_call_real(c, 0, 0))
        return false;
    if (c->in[0]->ndim < 1)
        return mo_call_fail(c, MO_INVALID, "expected rows [n, ..]");
    return mo_check_offsets(c, 1, c->in[0]->shape[0]) && output(c, c->in[1]->shape[0] - 1);
}

/* Returns the contiguous v [n, ..] as a matrix with n rows. */
static mo_view rows_view(mo_view v) {
    int64_t d = entry_length(&v);
    return (mo_view){v.data, v.dtype, 2, {v.shape[0], d}, {d, 1}};
}

static void segment_forward(mo_call *c) {
    const segment_options *o = c->attributes;
    mo_view x = rows_view(mo_call_dense(c, 0)), offset = mo_call_dense(c, 1), y = rows_view(mo_tensor_view(c->out[0]));
    if (mo_ok(c->ctx))
        mo_kernels_of(c->ctx, y.dtype)->segment_sum(c->ctx, o->mean, &x, &offset, &y);
}

static void segment_vjp(mo_vjp *v) {
    segment_options o = *(const segment_options *)v->attributes;
    o.rows = v->in[0]->shape[0];
    v->in_bar[0] = mo_apply(v->t, &mo_op_segment_spread, (mo_tensor *[]){v->out_bar[0], v->in[1]}, 2, &o);
}

static bool segment_spread_shape(mo_call *c) {
    const segment_options *o = c->attributes;
    if (!mo_call_real(c, 0, 0))
        return false;
    if (c->in[0]->ndim < 1 || c->in[1]->ndim != 1 || c->in[0]->shape[0] + 1 != c->in[1]->shape[0])
        return mo_call_fail(c, MO_INVALID, "expected one offset more than rows");
    return mo_check_offsets(c, 1, o->rows) && output(c, o->rows);
}

static void segment_spread_forward(mo_call *c) {
    const segment_options *o = c->attributes;
    mo_view x = rows_view(mo_call_dense(c, 0)), offset = mo_call_dense(c, 1), y = rows_view(mo_tensor_view(c->out[0]));
    if (mo_ok(c->ctx))
        mo_kernels_of(c->ctx, y.dtype)->segment_spread(c->ctx, o->mean, &x, &offset, &y);
}

static void segment_spread_vjp(mo_vjp *v) {
    const segment_options *o = v->attributes;
    v->in_bar[0] =
        o->mean ? mo_segment_mean(v->t, v->out_bar[0], v->in[1]) : mo_segment_sum(v->t, v->out_bar[0], v->in[1]);
}

static const segment_options sum_of_rows = {.mean = false}, mean_of_rows = {.mean = true};

/* Samples with errors that segment_sum and segment_mean share. */
#define REFUSED                                                                                                        \
    {.name = "end",                                                                                                    \
        .in = "[9, 3] sorted<8>[5]",                                                                                   \
        .attributes = &sum_of_rows,                                                                                    \
        .error = "the last offset is 8, expected 9, the rows"},                                                        \
        {.name = "order", .in = "[9, 3] index<9>[64]", .attributes = &sum_of_rows, .error = "offset"}, {               \
        .name = "dtype", .in = "[2, 3] [2]", .attributes = &sum_of_rows,                                               \
        .error = "input 1 is float64, expected int64", .code = MO_MISMATCH                                             \
    }

static const mo_sample segment_sum_samples[] = {
    {"matrix", "[9, 3] sorted<9>[5]", &sum_of_rows},
    {"more segments than rows", "[3, 2] sorted<3>[8]", &sum_of_rows},
    REFUSED,
};

static const mo_sample segment_mean_samples[] = {
    {"matrix", "[9, 3] sorted<9>[5]", &mean_of_rows},
    {"vector", "[6] sorted<6>[3]", &mean_of_rows},
    {"more segments than rows", "[3, 2, 2] sorted<3>[8]", &mean_of_rows},
    REFUSED,
};

static const mo_sample segment_spread_samples[] = {
    {"sum", "[4, 3] sorted<9>[5]", &(const segment_options){false, 9}},
    {"mean", "[7, 2] sorted<4>[8]", &(const segment_options){true, 4}},
    {"counts", "[4, 3] sorted<9>[4]", &(const segment_options){false, 9},
        .error = "segment_spread: expected one offset more than rows"},
};

const mo_op mo_op_segment_sum = {
    .name = "segment_sum",
    .n_in = 2,
    .attributes_size = sizeof(segment_options),
    .reads_in = 2,
    .shape = segment_shape,
    .forward = segment_forward,
    .vjp = segment_vjp,
    MO_SAMPLES(segment_sum_samples),
};

const mo_op mo_op_segment_mean = {
    .name = "segment_mean",
    .n_in = 2,
    .attributes_size = sizeof(segment_options),
    .reads_in = 2,
    .shape = segment_shape,
    .forward = segment_forward,
    .vjp = segment_vjp,
    MO_SAMPLES(segment_mean_samples),
};

const mo_op mo_op_segment_spread = {
    .name = "segment_spread",
    .n_in = 2,
    .attributes_size = sizeof(segment_options),
    .reads_in = 2,
    .shape = segment_spread_shape,
    .forward = segment_spread_forward,
    .vjp = segment_spread_vjp,
    MO_SAMPLES(segment_spread_samples),
};

mo_tensor *mo_segment_sum(mo_tape *t, mo_tensor *X, mo_tensor *offset) {
    return mo_apply(t, &mo_op_segment_sum, (mo_tensor *[]){X, offset}, 2, &sum_of_rows);
}

mo_tensor *mo_segment_mean(mo_tape *t, mo_tensor *X, mo_tensor *offset) {
    return mo_apply(t, &mo_op_segment_mean, (mo_tensor *[]){X, offset}, 2, &mean_of_rows);
}

mo_tensor *mo_segment_spread(mo_tape *t, mo_tensor *X, mo_tensor *offset, int64_t rows) {
    return mo_apply(t, &mo_op_segment_spread, (mo_tensor *[]){X, offset}, 2, &(segment_options){false, rows});
}
