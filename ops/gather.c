/* ops/gather.c - reads rows at integer positions, and adds to rows at such positions.
 *
 * gather_rows: X [n, ..], index int64 [m] -> Y [m, ..], Y_i = X_index(i); X may be int64 too (labels of a batch).
 * scatter_add_rows: X [m, ..], index [m] -> Y [n, ..], Y_index(i) += X_i from zeros, in rising i. float32 or float64.
 * Errors: sizes that do not fit; an index out of range, named with its position. Saved: nothing beyond the inputs.
 *
 * Reading is Y = P X with a 0/1 matrix P that has a single 1 in each row, adding is Y = P^T X. Both are linear, so
 *     gather_rows: X_bar = scatter_add_rows(Y_bar),   scatter_add_rows: X_bar = gather_rows(Y_bar). */
#include "ops/inside.h"
#include "ops/rules/indices.h"
#include "tensor/objects.h"

#include <inttypes.h>
#include <string.h>

/* checked: the op is the adjoint of a gather over n rows, which has checked the index. */
typedef struct scatter_options {
    int64_t n;
    bool checked;
} scatter_options;

extern const mo_op mo_op_scatter_add_rows;

static bool index_vector(mo_call *c, bool integers) {
    if (!(integers && c->in[0]->dtype == MO_I64) && !mo_call_real(c, 0, 0))
        return false;
    if (c->in[0]->ndim < 1 || c->in[1]->ndim != 1)
        return mo_call_fail(c, MO_INVALID, "expected rows [n, ..] and an index [m]");
    return true;
}

static bool gather_rows_shape(mo_call *c) {
    const mo_tensor *X = c->in[0];
    int64_t size[MO_MAX_AXES];
    if (!index_vector(c, true) || !mo_check_indices(c, 1, X->shape[0], "index"))
        return false;
    memcpy(size, X->shape, sizeof size);
    size[0] = c->in[1]->shape[0];
    return mo_call_output(c, 0, X->dtype, X->ndim, size);
}

static void gather_rows_forward(mo_call *c) {
    mo_view x = mo_call_dense(c, 0), index = mo_call_dense(c, 1), y = mo_tensor_view(c->out[0]);
    if (y.dtype == MO_I64) /* rows are copied bit by bit, so any dtype of 8 bytes will do */
        x.dtype = y.dtype = MO_F64;
    if (mo_ok(c->ctx))
        mo_kernels_of(c->ctx, y.dtype)->gather_rows(c->ctx, &x, &index, &y);
}

static void gather_rows_vjp(mo_vjp *v) {
    const scatter_options o = {.n = v->in[0]->shape[0], .checked = true};
    v->in_bar[0] = mo_apply(v->t, &mo_op_scatter_add_rows, (mo_tensor *[]){v->out_bar[0], v->in[1]}, 2, &o);
}

static const mo_sample gather_rows_samples[] = {
    {"repeats", "[3, 4] index<3>[7]"},
    {"vector", "[5] index<5>[3]"},
    {"three axes", "[4, 2, 3] index<4>[2]"},
    {"labels", "index<9>[5] index<5>[3]"},
    {"range", "[2, 4] index<1000>[9]", .error = "expected 0 to 1; got [2, 4] float64, [9] int64"},
    {"real index", "[2, 4] [2]", .error = "gather_rows: input 1 is float64, expected int64", .code = MO_MISMATCH},
    {"matrix of indices", "[2, 4] index<2>[2, 2]", .error = "an index [m]"},
};

const mo_op mo_op_gather_rows = {
    .name = "gather_rows",
    .n_in = 2,
    .reads_in = 2,
    .shape = gather_rows_shape,
    .forward = gather_rows_forward,
    .vjp = gather_rows_vjp,
    MO_SAMPLES(gather_rows_samples),
};

mo_tensor *mo_gather_rows(mo_tape *t, mo_tensor *X, mo_tensor *index) {
    return mo_apply(t, &mo_op_gather_rows, (mo_tensor *[]){X, index}, 2, NULL);
}

/* ---- scatter_add_rows ---- */

static bool scatter_add_rows_shape(mo_call *c) {
    const mo_tensor *X = c->in[0];
    const scatter_options *o = c->attributes;
    bool known = o->checked && c->ctx->backend->check; /* on the host, the index can have changed since */
    int64_t n = o->n, size[MO_MAX_AXES];
    if (!index_vector(c, false))
        return false;
    if (X->shape[0] != c->in[1]->shape[0])
        return mo_call_fail(
            c, MO_INVALID, "%" PRId64 " rows and %" PRId64 " indices, expected equal", X->shape[0], c->in[1]->shape[0]);
    if (!known && !mo_check_indices(c, 1, n, "index"))
        return false;
    memcpy(size, X->shape, sizeof size);
    size[0] = n;
    return mo_call_output(c, 0, X->dtype, X->ndim, size);
}

static void scatter_add_rows_forward(mo_call *c) {
    mo_view x = mo_call_dense(c, 0), index = mo_call_dense(c, 1), y = mo_tensor_view(c->out[0]);
    if (mo_ok(c->ctx))
        mo_kernels_of(c->ctx, y.dtype)->scatter_add_rows(c->ctx, &x, &index, &y);
}

static void scatter_add_rows_vjp(mo_vjp *v) {
    v->in_bar[0] = mo_gather_rows(v->t, v->out_bar[0], v->in[1]);
}

static const mo_sample scatter_add_rows_samples[] = {
    {"repeats", "[7, 4] index<3>[7]", &(const scatter_options){.n = 3}},
    {"rows left empty", "[2, 3] index<6>[2]", &(const scatter_options){.n = 6}},
    {"range", "[9, 4] index<1000>[9]", &(const scatter_options){.n = 2}, .error = "expected 0 to 1"},
    {"counts", "[3, 4] index<2>[2]", &(const scatter_options){.n = 2},
        .error = "scatter_add_rows: 3 rows and 2 indices, expected equal"},
};

const mo_op mo_op_scatter_add_rows = {
    .name = "scatter_add_rows",
    .n_in = 2,
    .attributes_size = sizeof(scatter_options),
    .reads_in = 2,
    .shape = scatter_add_rows_shape,
    .forward = scatter_add_rows_forward,
    .vjp = scatter_add_rows_vjp,
    MO_SAMPLES(scatter_add_rows_samples),
};

mo_tensor *mo_scatter_add_rows(mo_tape *t, mo_tensor *X, mo_tensor *index, int64_t n) {
    return mo_apply(t, &mo_op_scatter_add_rows, (mo_tensor *[]){X, index}, 2, &(scatter_options){.n = n});
}
