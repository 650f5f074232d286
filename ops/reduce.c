/* ops/reduce.c - sums, means and variances over any set of axes, and the adjoint of broadcasting.
 *
 * X of any shape -> Y without the axes of the set, or with these axes kept at size 1; float32 or float64. An empty sum
 * is 0; an empty mean is an error. Other errors: an axis that X does not have. Saved: nothing.
 *
 * Every entry of X is a term of one sum: X_bar is Y_bar broadcast back along the summed axes. The mean is the sum
 * scaled, the variance a mean of squares about the mean (two passes: no cancellation of large means), and sum_to the
 * sum over those axes that broadcasting to the shape of X has repeated. */
#include "ops/inside.h"
#include "ops/rules/shapes.h"
#include "tensor/library.h"

#include <inttypes.h>
#include <string.h>

typedef struct reduction {
    unsigned axes;
    bool keep; /* keep the reduced axes, with size 1 */
} reduction;

static bool reduced(const reduction *r, int axis) {
    return r->axes >> axis & 1;
}

static bool sum_shape(mo_call *c) {
    const mo_tensor *X = c->in[0];
    const reduction *r = c->attributes;
    int64_t size[MO_MAX_AXES];
    int ndim = 0;
    if (!mo_call_real(c, 0, 0))
        return false;
    if (r->axes >> X->ndim)
        return mo_call_fail(c, MO_INVALID, "axes 0x%x, expected bits below %d, or MO_AXIS(-%d) to MO_AXIS(-1)", r->axes,
            X->ndim, X->ndim);
    for (int i = 0; i < X->ndim; i++)
        if (!reduced(r, i))
            size[ndim++] = X->shape[i];
        else if (r->keep)
            size[ndim++] = 1;
    return mo_call_output(c, 0, X->dtype, ndim, size);
}

static void sum_forward(mo_call *c) {
    const reduction *r = c->attributes;
    mo_view x = mo_tensor_view(c->in[0]), out = mo_tensor_view(c->out[0]), y = x;
    y.data = out.data;
    for (int i = 0, j = 0; i < x.ndim; i++) {
        y.stride[i] = reduced(r, i) ? 0 : out.stride[j];
        j += r->keep || !reduced(r, i);
    }
    mo_kernels_of(c->ctx, x.dtype)->reduce(c->ctx, MO_REDUCE_SUM, &x, &y);
}

static void sum_vjp(mo_vjp *v) {
    const reduction *r = v->attributes;
    const mo_tensor *X = v->in[0];
    int64_t size[MO_MAX_AXES];
    for (int i = 0; i < X->ndim; i++)
        size[i] = reduced(r, i) ? 1 : X->shape[i];
    mo_tensor *Y_bar = r->keep ? v->out_bar[0] : mo_reshape(v->t, v->out_bar[0], X->ndim, size);
    v->in_bar[0] = mo_broadcast_to(v->t, Y_bar, X->ndim, X->shape);
}

static double sum_flops(const mo_call *c) {
    return (double)mo_numel(c->in[0]);
}

static const mo_sample sum_samples[] = {
    {"all", "[3, 4]", &(reduction){3, false}},
    {"none", "[3, 4]", &(reduction){0, false}},
    {"all kept", "[3, 4]", &(reduction){3, true}},
    {"last", "[2, 3, 4]", &(reduction){4, false}},
    {"first kept", "[3, 4]", &(reduction){1, true}},
    {"two", "[2, 3, 2, 4]", &(reduction){5, false}},
    {"scalar", "[]", &(reduction){0, false}},
    {"of nothing", "[3, 0]", &(reduction){2, false}},
    {"axis", "[3, 4]", &(reduction){4, false},
        .error = "sum: axes 0x4, expected bits below 2, or MO_AXIS(-2) to MO_AXIS(-1); got [3, 4] float64"},
};

const mo_op mo_op_sum = {
    .name = "sum",
    .attributes_size = sizeof(reduction),
    .shape = sum_shape,
    .forward = sum_forward,
    .vjp = sum_vjp,
    .flops = sum_flops,
    MO_SAMPLES(sum_samples),
};

mo_tensor *mo_sum(mo_tape *t, mo_tensor *X, mo_axes axes, mo_reduced reduced) {
    return mo_apply(
        t, &mo_op_sum, (mo_tensor *[]){X}, 1, &(reduction){mo_resolve_axes(axes, mo_ndim(X)), reduced == MO_KEEP_AXES});
}

mo_tensor *mo_mean(mo_tape *t, mo_tensor *X, mo_axes axes, mo_reduced reduced) {
    mo_tensor *S = mo_sum(t, X, axes, reduced);
    if (mo_is_null(S) || mo_numel(S) == 0)
        return S;
    int64_t n = mo_numel(X) / mo_numel(S);
    if (n == 0) {
        char text[160];
        mo_fail(X->ctx, MO_INVALID, "mean: over no elements; got %s", mo_shape_string(X, text, sizeof text));
        return mo_null_tensor(X->ctx);
    }
    return mo_scale(t, S, 1 / (double)n, 0);
}

mo_tensor *mo_var(mo_tape *t, mo_tensor *X, mo_axes axes, mo_reduced reduced, int64_t correction) {
    mo_tensor *mean = mo_mean(t, X, axes, MO_KEEP_AXES);
    if (mo_is_null(mean) || mo_numel(mean) == 0)
        return mo_mean(t, X, axes, reduced);
    int64_t n = mo_numel(X) / mo_numel(mean);
    if (n <= correction || correction < 0) {
        char text[160];
        mo_fail(X->ctx, MO_INVALID,
            "var: correction %" PRId64 ", expected 0 or more and less than the %" PRId64 " elements of a sum; got %s",
            correction, n, mo_shape_string(X, text, sizeof text));
        return mo_null_tensor(X->ctx);
    }
    mo_tensor *squares = mo_square(t, mo_sub(t, X, mean));
    return mo_scale(t, mo_sum(t, squares, axes, reduced), 1 / (double)(n - correction), 0);
}

mo_tensor *mo_sum_to(mo_tape *t, mo_tensor *X, int ndim, const int64_t *size) {
    mo_context *ctx = mo_tape_context(t);
    if (!mo_given(ctx, "sum_to", "the input", X) || (ndim > 0 && !mo_given(ctx, "sum_to", "the shape", size)))
        return mo_null_tensor(ctx);
    if (mo_is_null(X) || (X->ndim == ndim && (ndim == 0 || !memcmp(X->shape, size, (size_t)ndim * sizeof *size))))
        return X;
    int lead = X->ndim - ndim;
    mo_axes axes = {0};
    bool fits = lead >= 0;
    for (int i = 0; fits && i < X->ndim; i++) {
        int64_t to = i < lead ? 1 : size[i - lead];
        fits = to == 1 || to == X->shape[i];
        if (to == 1 && X->shape[i] != 1)
            axes.bits |= MO_AXIS(i).bits;
    }
    if (!fits) {
        char got[160], want[160];
        mo_fail(X->ctx, MO_INVALID, "sum_to: %s, expected a shape that %s broadcasts to",
            mo_shape_string(X, got, sizeof got), mo_format_shape(ndim, size, want, sizeof want));
        return mo_null_tensor(X->ctx);
    }
    mo_tensor *Y = axes.bits ? mo_sum(t, X, axes, MO_KEEP_AXES) : X;
    return lead ? mo_reshape(t, Y, ndim, size) : Y; /* the reshape only removes axes of size 1 */
}
