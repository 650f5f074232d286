/* ops/rules/spectrum.c - signs of eigenvectors and singular vectors, and values that are too close. */
#include "ops/rules/spectrum.h"

#include "ops/rules/shapes.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

void mo_fix_signs(mo_call *c, mo_view by, mo_view X, mo_view Y) {
    const mo_kernels *k = mo_kernels_of(c->ctx, X.dtype);
    mo_view columns = mo_swap_view(by);
    mo_tensor *rows = mo_call_temporary(c, X.dtype, X.ndim, columns.shape);
    mo_tensor *magnitudes = mo_call_temporary(c, X.dtype, X.ndim, columns.shape);
    mo_tensor *places = mo_call_temporary(c, MO_I64, X.ndim - 1, columns.shape);
    mo_tensor *signs = mo_call_temporary(c, X.dtype, X.ndim - 1, columns.shape);
    mo_view row = mo_tensor_view(rows), magnitude = mo_tensor_view(magnitudes), place = mo_tensor_view(places),
            sign = mo_tensor_view(signs);
    if (!mo_ok(c->ctx) || !mo_numel(rows))
        return;
    c->ctx->backend->copy(c->ctx, &columns, &row);
    k->map1(c->ctx, MO_MAP_ABS, 0, 0, &row, &magnitude);
    k->argmax(c->ctx, &magnitude, &place);
    int last = X.ndim - 1; /* axis of the magnitudes among which the largest is found */
    place.shape[last] = place.stride[last] = sign.shape[last] = sign.stride[last] = 1;
    place.ndim = sign.ndim = X.ndim;
    mo_view entry = magnitude;
    entry.shape[last] = 1;
    mo_contiguous_strides(entry.ndim, entry.shape, entry.stride);
    k->take_along(c->ctx, &row, &place, &entry);
    k->map1(c->ctx, MO_MAP_SIGN, 0, 0, &entry, &sign);
    mo_view by_column = mo_swap_view(sign); /* [.., 1, k], equal in every row */
    by_column.shape[last - 1] = X.shape[last - 1];
    by_column.stride[last - 1] = 0;
    k->map2(c->ctx, MO_MAP_MUL, &X, &by_column, &Y);
}

/* ---- values too close ---- */

/* Raises the error for value number `position` - 1, over all matrices, and the one behind it, or 0. */
static bool fail_gap(
    mo_context *ctx, const mo_tensor *w, const mo_spectrum *of, int64_t position, bool zero, double gap) {
    int64_t n = mo_dim(w, -1), first = (position - 1) % n;
    char which[80] = "the matrix", pair[80];
    if (w->ndim > 1)
        snprintf(which, sizeof which, "matrix %" PRId64 " of %" PRId64, (position - 1) / n, mo_numel(w) / n);
    snprintf(pair, sizeof pair, zero ? " %" PRId64 : "s %" PRId64 " and %" PRId64, first, first + 1);
    mo_fail(ctx, MO_NUMERICAL,
        "%s: a gradient through %s was asked for, but %s%s of %s %s to a relative %.3g: %s has no derivative there",
        of->op, of->vectors, of->values, pair, which, zero ? "is 0" : "agree", gap, of->vectors);
    return false;
}

/* Looks at the n sorted values from position `first` on, which lie on the device. */
static bool check_matrix(
    mo_context *ctx, const mo_tensor *w, const mo_spectrum *of, const double *values, int64_t first, int64_t n) {
    enum { PIECE = 256 };
    double least = w->dtype == MO_F64 ? 1e-8 : 1e-4, ends[2], piece[PIECE];
    ctx->backend->download(ctx, &ends[0], values + first, sizeof *ends);
    ctx->backend->download(ctx, &ends[1], values + first + n - 1, sizeof *ends);
    double scale = fmax(fabs(ends[0]), fabs(ends[1]));
    for (int64_t start = 0; start + 1 < n; start += PIECE - 1) { /* consecutive pieces share a value */
        int64_t count = n - start < PIECE ? n - start : PIECE;
        ctx->backend->download(ctx, piece, values + first + start, (size_t)count * sizeof *piece);
        for (int64_t i = 1; i < count; i++)
            if (fabs(piece[i] - piece[i - 1]) <= least * scale)
                return fail_gap(
                    ctx, w, of, first + start + i, false, scale > 0 ? fabs(piece[i] - piece[i - 1]) / scale : 0);
    }
    if (of->zero && fabs(ends[1]) <= least * scale)
        return fail_gap(ctx, w, of, first + n, true, scale > 0 ? fabs(ends[1]) / scale : 0);
    return true;
}

bool mo_check_spectrum(mo_tape *t, const mo_tensor *w, const mo_spectrum *of) {
    int64_t n = mo_dim(w, -1), total = mo_numel(w);
    mo_tensor *copy = mo_tape_tensor(t, MO_F64, w->ndim, w->shape);
    if (mo_is_null(copy) || mo_tensor_copy(copy, w) != MO_OK)
        return false;
    mo_view values = mo_tensor_view(copy);
    for (int64_t first = 0; first < total; first += n)
        if (!check_matrix(mo_tape_context(t), w, of, values.data, first, n))
            return false;
    return true;
}
