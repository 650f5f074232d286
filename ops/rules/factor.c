/* ops/rules/factor.c - factors of an op's input 0, and errors that name the matrix for which LAPACK's info is not 0. */
#include "ops/rules/factor.h"

#include "ops/rules/checks.h"
#include "ops/rules/shapes.h"
#include "tensor/library.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool mo_call_square(mo_call *c, int i) {
    const mo_tensor *A = c->in[i];
    if (A->ndim < 2 || mo_dim(A, -1) != mo_dim(A, -2))
        return mo_call_fail(c, MO_INVALID, "expected square matrices [.., n, n]");
    return true;
}

bool mo_call_system(mo_call *c) {
    const mo_tensor *A = c->in[0], *B = c->in[1];
    if (!mo_call_square(c, 0))
        return false;
    if (B->ndim > 0 && B->ndim < A->ndim && mo_dim(B, -1) == mo_dim(A, -1) &&
        (B->ndim < 2 || mo_dim(B, -2) != mo_dim(A, -1)))
        return mo_call_fail(
            c, MO_INVALID, "right-hand sides are matrices: reshape b to [%sn, 1]", B->ndim > 1 ? ".., " : "");
    if (!mo_same_leading(A, B, A->ndim - 1))
        return mo_call_fail(c, MO_INVALID,
            "expected right-hand sides with as many rows as the matrix, and leading axes that broadcast");
    return true;
}

/* Returns whether A and B are systems whose leading axes differ but broadcast; writes the broadcast axes. */
static bool systems_broadcast(const mo_tensor *A, const mo_tensor *B, int *ndim, int64_t *shape) {
    if (mo_is_null(A) || mo_is_null(B) || A->ndim < 2 || B->ndim < 2 || mo_same_leading(A, B, A->ndim - 2))
        return false;
    *ndim = mo_broadcast_shape(A->ndim - 2, A->shape, B->ndim - 2, B->shape, shape);
    return *ndim >= 0 && mo_dim(A, -2) == mo_dim(B, -2);
}

/* Returns B [.., n, k] as [n, .., k], so that its batch becomes columns; `back` undoes that. */
static mo_tensor *turn_columns(mo_tape *t, mo_tensor *B, bool back) {
    int axes[MO_MAX_AXES], last = mo_ndim(B) - 1;
    for (int i = 0; i < last; i++)
        axes[i] = back ? (i + 1) % last : (i + last - 1) % last;
    axes[last] = last;
    return mo_permute(t, B, axes);
}

mo_tensor *mo_apply_system(mo_tape *t, const mo_op *op, mo_tensor *A, mo_tensor *B, const void *attributes) {
    int ndim;
    int64_t shape[MO_MAX_AXES], size[MO_MAX_AXES];
    if (!systems_broadcast(A, B, &ndim, shape))
        return mo_apply(t, op, (mo_tensor *[]){A, B}, 2, attributes);
    if (A->ndim > 2) {
        A = mo_broadcast_onto(t, A, 2, ndim, shape);
        B = mo_broadcast_onto(t, B, 2, ndim, shape);
        return mo_apply(t, op, (mo_tensor *[]){A, B}, 2, attributes);
    }
    mo_tensor *turned = mo_contiguous(t, turn_columns(t, B, false));
    if (mo_is_null(turned))
        return turned;
    memcpy(size, turned->shape, sizeof size);
    int64_t columns = mo_numel(B) / (size[0] ? size[0] : 1);
    mo_tensor *wide = mo_reshape(t, turned, 2, (int64_t[]){size[0], columns});
    mo_tensor *X = mo_apply(t, op, (mo_tensor *[]){A, wide}, 2, attributes);
    size[0] = mo_is_null(X) ? 0 : X->shape[0];
    return mo_is_null(X) ? X : turn_columns(t, mo_reshape(t, X, B->ndim, size), true);
}

/* ---- info: one int32 word for each matrix ---- */

mo_tensor *mo_factor_info(mo_call *c, const mo_tensor *X) {
    mo_tensor *info = mo_call_temporary(c, MO_I32, X->ndim - 2, X->shape);
    if (!mo_is_null(info))
        mo_tensor_fill(info, 0);
    return info;
}

#pragma GCC diagnostic ignored "-Wformat-nonliteral"
static void fail_matrix(mo_context *ctx, const mo_note *note, int64_t position, mo_found found, mo_found before) {
    (void)before;
    char reason[160], which[80];
    if (found.integer == -1)
        snprintf(reason, sizeof reason, "holds a value that is not finite");
    else if (found.integer == -2)
        snprintf(reason, sizeof reason, "is singular to working precision");
    else
        snprintf(reason, sizeof reason, note->check.what, (int)found.integer);
    mo_note_fail(ctx, note, MO_NUMERICAL, "%s %s", mo_note_matrix(note, position, which, sizeof which), reason);
}

bool mo_check_factor_info(mo_call *c, const mo_tensor *info, const char *defect) {
    mo_check check = {
        .condition = MO_VALUES_ZERO, .values = mo_tensor_view(info), .what = defect, .raise = fail_matrix};
    return mo_call_check(c, check, c->in[0]);
}

void mo_fill_failed(mo_call *c, const mo_tensor *info, const mo_tensor *T, double value) {
    int64_t batch = mo_numel(info), each = batch ? mo_numel(T) / batch : 0;
    int32_t *word = mo_host_values(info, MO_I32);
    mo_view all = mo_tensor_view(T);
    for (int64_t i = 0; word && i < batch; i++) {
        mo_view item = {.dtype = all.dtype, .ndim = 1, .shape = {each}, .stride = {1}};
        item.data = (char *)all.data + i * each * (int64_t)mo_dtype_size(all.dtype);
        if (word[i])
            c->ctx->backend->fill(c->ctx, value, &item);
    }
    free(word);
}

/* ---- factors ---- */

/* Raises an error if a word is not 0 (MO_FAIL_CALL), or fills the factors F of that matrix with NaN (MO_FAIL_ITEM).
 * Returns whether the context is free of errors. */
static bool resolve_info(
    mo_call *c, mo_failure failure, const mo_tensor *info, const mo_tensor *F, const char *defect) {
    if (failure == MO_FAIL_CALL)
        return mo_check_factor_info(c, info, defect);
    mo_fill_failed(c, info, F, NAN);
    return mo_ok(c->ctx);
}

mo_tensor *mo_factor_spd(mo_call *c, mo_failure failure, mo_tensor **info) {
    const mo_tensor *A = c->in[0];
    mo_tensor *L = mo_tape_tensor(c->t, A->dtype, A->ndim, A->shape), *words = mo_factor_info(c, A);
    if (!mo_ok(c->ctx))
        return NULL;
    mo_view a = mo_tensor_view(A), l = mo_tensor_view(L), i = mo_tensor_view(words);
    c->ctx->backend->copy(c->ctx, &a, &l);
    mo_kernels_of(c->ctx, A->dtype)->potrf(c->ctx, &l, &i);
    if (info)
        *info = words;
    return resolve_info(c, failure, words, L, "is not positive definite (leading minor %d)") ? L : NULL;
}

bool mo_factor_lu(mo_call *c, mo_failure failure, mo_tensor **LU, mo_tensor **pivot, mo_tensor **info) {
    const mo_tensor *A = c->in[0];
    *info = mo_factor_info(c, A);
    *LU = mo_tape_tensor(c->t, A->dtype, A->ndim, A->shape);
    *pivot = mo_tape_tensor(c->t, MO_I32, A->ndim - 1, A->shape);
    if (!mo_ok(c->ctx))
        return false;
    mo_view a = mo_tensor_view(A), lu = mo_tensor_view(*LU), p = mo_tensor_view(*pivot), i = mo_tensor_view(*info);
    c->ctx->backend->copy(c->ctx, &a, &lu);
    mo_kernels_of(c->ctx, A->dtype)->getrf(c->ctx, &lu, &p, &i);
    if (failure == MO_FAIL_ITEM)
        mo_fill_failed(c, *info, *pivot, 1); /* any valid row number: the rows are NaN */
    return resolve_info(c, failure, *info, *LU, "is singular (pivot %d is 0)");
}

/* The kernel takes matrices with at least as many columns as rows; of a tall A it decomposes A^T = V diag(s) U^T. */
bool mo_factor_svd(mo_call *c, bool kept, const mo_tensor *s, mo_tensor **wide, mo_tensor **square) {
    const mo_tensor *A = c->in[0];
    mo_view a = mo_tensor_view(A), w, p, values = mo_tensor_view(s), i;
    a = mo_dim(A, -2) > mo_dim(A, -1) ? mo_swap_view(a) : a;
    int64_t size[MO_MAX_AXES];
    memcpy(size, a.shape, sizeof size);
    size[a.ndim - 1] = size[a.ndim - 2];
    mo_tensor *info = mo_factor_info(c, A);
    *wide = kept ? mo_tape_tensor(c->t, A->dtype, a.ndim, a.shape) : mo_call_temporary(c, A->dtype, a.ndim, a.shape);
    *square = kept ? mo_tape_tensor(c->t, A->dtype, a.ndim, size) : mo_call_temporary(c, A->dtype, a.ndim, size);
    if (!mo_ok(c->ctx))
        return false;
    w = mo_tensor_view(*wide), p = mo_tensor_view(*square), i = mo_tensor_view(info);
    c->ctx->backend->copy(c->ctx, &a, &w);
    mo_kernels_of(c->ctx, A->dtype)->svd(c->ctx, &w, &p, &values, &i);
    return mo_check_factor_info(c, info, "has singular values that did not converge (%d)");
}

void mo_svd_views(const mo_tensor *A, const mo_tensor *wide, const mo_tensor *square, mo_view *U, mo_view *V) {
    bool tall = mo_dim(A, -2) > mo_dim(A, -1);
    *(tall ? U : V) = mo_swap_view(mo_tensor_view(wide));
    *(tall ? V : U) = mo_tensor_view(square);
}
