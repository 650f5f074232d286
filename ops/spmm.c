/* ops/spmm.c - Y = A X for a sparse matrix A in compressed rows.
 *
 * A [n, m] CSR (not a tensor: it has no gradient and must outlive the tape), X [m, d] -> Y [n, d], float32 or float64
 * as A's values. Errors: X is not a matrix with one row per column of A; X and A have different dtypes. Saved: nothing.
 *
 * dY = A dX; <Y_bar, A dX> = <A^T Y_bar, dX>, hence X_bar = A^T Y_bar: this op on the transposed matrix, built once and
 * owned by A (A itself if it was declared symmetric). */
#include "ops/inside.h"
#include "tensor/objects.h"

#include <inttypes.h>

typedef struct spmm_options {
    const mo_csr *A;
} spmm_options;

static bool spmm_shape(mo_call *c) {
    const mo_csr *A = ((const spmm_options *)c->attributes)->A;
    const mo_tensor *X = c->in[0];
    if (!A)
        return mo_call_fail(c, MO_INVALID, "no sparse matrix");
    if (!mo_csr_lives(A, "spmm"))
        return false;
    if (A->ctx != c->ctx)
        return mo_call_fail(c, MO_MISMATCH, "the sparse matrix belongs to another context");
    if (X->dtype != A->values->dtype)
        return mo_call_fail(c, MO_MISMATCH, "expected %s, as the sparse values", mo_dtype_name(A->values->dtype));
    if (X->ndim != 2 || X->shape[0] != A->columns)
        return mo_call_fail(c, MO_INVALID,
            "a sparse matrix [%" PRId64 ", %" PRId64 "], expected as many rows as it has columns", A->rows, A->columns);
    return mo_call_output(c, 0, X->dtype, 2, (int64_t[]){A->rows, X->shape[1]});
}

static void spmm_forward(mo_call *c) {
    const mo_csr *A = ((const spmm_options *)c->attributes)->A;
    mo_csr_view a = mo_view_csr(A);
    mo_view y = mo_tensor_view(c->out[0]), x = mo_tensor_view(c->in[0]);
    if (x.stride[1] != 1)
        x = mo_call_dense(c, 0);
    if (mo_ok(c->ctx))
        mo_kernels_of(c->ctx, y.dtype)->spmm(c->ctx, &a, &x, &y);
}

static void spmm_vjp(mo_vjp *v) {
    const mo_csr *A = ((const spmm_options *)v->attributes)->A;
    v->in_bar[0] = mo_spmm(v->t, mo_csr_transposed(A), v->out_bar[0]);
}

static double spmm_flops(const mo_call *c) {
    const mo_csr *A = ((const spmm_options *)c->attributes)->A;
    return 2.0 * (double)A->nnz * (double)mo_dim(c->in[0], 1);
}

/* ---- samples: their matrices are made when the samples run ---- */

static void make(mo_context *ctx, mo_dtype real, void *attributes, const int64_t *size, const int64_t *row_pointer,
    const int32_t *column) {
    enum { MOST = 8 };
    float narrow[MOST];
    double wide[MOST];
    for (int i = 0; i < MOST; i++)
        narrow[i] = (float)(wide[i] = 0.5 * (i + 1) * (i % 3 ? 1 : -1));
    *(spmm_options *)attributes = (spmm_options){
        mo_csr_create(ctx, size[0], size[1], row_pointer, column, real, real == MO_F32 ? (const void *)narrow : wide)};
}

/* A [5, 3] whose rows 1 and 4 are empty; one row names a column twice. */
static void make_rectangular(mo_context *ctx, mo_dtype real, void *attributes) {
    make(ctx, real, attributes, (int64_t[]){5, 3}, (int64_t[]){0, 2, 2, 5, 6, 6}, (int32_t[]){2, 0, 1, 0, 1, 2});
}

/* A [4, 4] that is not symmetric. */
static void make_square(mo_context *ctx, mo_dtype real, void *attributes) {
    make(ctx, real, attributes, (int64_t[]){4, 4}, (int64_t[]){0, 1, 3, 6, 7}, (int32_t[]){1, 0, 3, 0, 1, 2, 3});
}

static void make_empty(mo_context *ctx, mo_dtype real, void *attributes) {
    make(ctx, real, attributes, (int64_t[]){2, 3}, (int64_t[]){0, 0, 0}, (int32_t[]){0});
}

static void finish(mo_context *ctx, void *attributes) {
    (void)ctx;
    mo_csr_release((mo_csr *)(uintptr_t)((spmm_options *)attributes)->A);
}

static const mo_sample spmm_samples[] = {
    {"rectangular", "[3, 4]", .prepare = make_rectangular, .finish = finish},
    {"not symmetric", "[4, 2]", .prepare = make_square, .finish = finish},
    {"no entries", "[3, 2]", .prepare = make_empty, .finish = finish},
    {"rows", "[5, 4]", .prepare = make_rectangular, .finish = finish,
        .error = "spmm: a sparse matrix [5, 3], expected as many rows as it has columns; got [5, 4]"},
};

const mo_op mo_op_spmm = {
    .name = "spmm",
    .attributes_size = sizeof(spmm_options),
    .shape = spmm_shape,
    .forward = spmm_forward,
    .vjp = spmm_vjp,
    .flops = spmm_flops,
    MO_SAMPLES(spmm_samples),
};

mo_tensor *mo_spmm(mo_tape *t, const mo_csr *A, mo_tensor *X) {
    return mo_apply(t, &mo_op_spmm, (mo_tensor *[]){X}, 1, &(spmm_options){A});
}
