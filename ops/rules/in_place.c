/* ops/rules/in_place.c - products, norms, random numbers and factors written to the caller's memory. */
#include "ops/rules/in_place.h"

void mo_matmul_views(mo_context *ctx, double alpha, const mo_view *X, const mo_view *B, double beta, const mo_view *Z) {
    mo_gemm g = {.A = *X, .B = *B, .C = *Z, .alpha = alpha, .beta = beta};
    if (mo_ok(ctx))
        mo_kernels_of(ctx, Z->dtype)->gemm(ctx, &g);
}

void mo_matmul_into(double alpha, const mo_tensor *X, const mo_tensor *B, double beta, mo_tensor *Z) {
    mo_context *ctx = Z->ctx;
    if (!mo_ok(ctx))
        return;
    mo_view x = mo_tensor_view(X), b = mo_tensor_view(B), z = mo_tensor_view(Z);
    if (!mo_ok(ctx))
        return;
    Z->storage->version++;
    mo_matmul_views(ctx, alpha, &x, &b, beta, &z);
}

void mo_spmm_into(const mo_csr *A, int64_t first, const mo_view *X, const mo_view *Y) {
    mo_context *ctx = A->ctx;
    if (!mo_ok(ctx))
        return;
    mo_csr_view rows = mo_view_csr(A);
    rows.row_pointer.data = (int64_t *)rows.row_pointer.data + first;
    if (mo_ok(ctx))
        mo_kernels_of(ctx, Y->dtype)->spmm(ctx, &rows, X, Y);
}

void mo_layer_norm_into(mo_context *ctx, double epsilon, const mo_view *X, const mo_view *Y) {
    if (mo_ok(ctx))
        mo_kernels_of(ctx, Y->dtype)->layer_norm(ctx, epsilon, X, Y);
}

void mo_copy_into(mo_context *ctx, const mo_view *X, const mo_view *Y) {
    if (mo_ok(ctx))
        ctx->backend->copy(ctx, X, Y);
}

void mo_uniform_into(mo_tensor *T, double low, double high, const mo_random *position) {
    mo_context *ctx = T->ctx;
    if (!mo_ok(ctx) || mo_is_null(T))
        return;
    mo_view y = mo_tensor_view(T);
    T->storage->version++;
    mo_kernels_of(ctx, T->dtype)->random(ctx, false, low, high, position, &y);
}

mo_tensor *mo_column_figures(mo_tape *t, const mo_tensor *X, mo_column_figure figure) {
    mo_context *ctx = mo_tape_context(t);
    if (!mo_ok(ctx))
        return mo_null_tensor(ctx);
    mo_tensor *row = mo_full(t, X->dtype, 2, (int64_t[]){1, mo_dim(X, 1)}, 0);
    mo_view x = mo_tensor_view(X), y = mo_tensor_view(row);
    if (!mo_ok(ctx))
        return row;
    y.shape[0] = x.shape[0];
    y.stride[0] = 0;
    mo_reduction kind = figure == MO_COLUMN_MAX ? MO_REDUCE_MAX : MO_REDUCE_SUM_OF_SQUARES;
    mo_kernels_of(ctx, X->dtype)->reduce(ctx, kind, &x, &y);
    return row;
}

int mo_cholesky_in_place(mo_tape *t, mo_tensor *A) {
    mo_context *ctx = mo_tape_context(t);
    mo_tensor *info = mo_full(t, MO_I32, 0, NULL, 0);
    if (!mo_ok(ctx))
        return -1;
    mo_view a = mo_tensor_view(A), i = mo_tensor_view(info);
    A->storage->version++;
    mo_kernels_of(ctx, A->dtype)->potrf(ctx, &a, &i);
    double word = mo_item(info);
    return mo_ok(ctx) ? (int)word : -1;
}

int mo_eigh_in_place(mo_tape *t, mo_tensor *A, mo_tensor *w) {
    mo_context *ctx = mo_tape_context(t);
    mo_tensor *info = mo_full(t, MO_I32, 0, NULL, 0);
    if (!mo_ok(ctx))
        return -1;
    mo_view a = mo_tensor_view(A), values = mo_tensor_view(w), i = mo_tensor_view(info);
    A->storage->version++;
    w->storage->version++;
    mo_kernels_of(ctx, A->dtype)->syevd(ctx, &a, &values, &i);
    double word = mo_item(info);
    return mo_ok(ctx) ? (int)word : -1;
}
