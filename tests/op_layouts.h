/* tests/op_layouts.h - an op as a function of leaves that can be moved in any direction, for each layout of its inputs.
 * Leaves of symmetric or triangular inputs are projected onto that set, then all leaves are laid out.
 *
 * The sizes of a sample can be replaced; an input can be a view with a stride of 0 along one axis. */
#ifndef OP_LAYOUTS_H
#define OP_LAYOUTS_H

#include "tests/op_variants.h"
#include "tests/tangents.h"

typedef enum layout { PLAIN, STRIDED, REPEATED } layout;

/* An op, one of its samples, and the layout of its inputs. It is the state of graph code, so it outlives the tape's
 * reset. */
typedef struct laid_out {
    const mo_op *op;
    op_sample sample;
    layout layout;
    int repeated_input, repeated_axis; /* for REPEATED: the input, and its axis of stride 0, along which the leaf has
                                        * size 1 */
    mo_context *ctx;
    _Alignas(16) char prepared[256];
    mo_tensor *in[MO_MAX_INPUTS]; /* leaves */
} laid_out;

/* Projects X: to the mean of X and its transpose, or to its lower triangle. */
static inline mo_tensor *on_its_set(mo_tape *t, mo_draw draw, mo_tensor *X) {
    if (draw == MO_DRAW_TRIANGULAR)
        return mo_tril(t, X);
    if (draw != MO_DRAW_SPD && draw != MO_DRAW_SYMMETRIC)
        return X;
    return mo_scale(t, mo_add(t, X, mo_transpose(t, X)), 0.5, 0);
}

/* Returns X as a view of a larger array, with its axes in reversed order in memory. If an axis is free for it, NaN lies
 * between any two elements: nothing may read it. */
static inline mo_tensor *strided(mo_tape *t, mo_tensor *X) {
    int axes[MO_MAX_AXES], n = X->ndim;
    int64_t size[MO_MAX_AXES];
    for (int i = 0; i < n; i++)
        axes[i] = n - 1 - i;
    mo_tensor *R = mo_contiguous(t, mo_permute(t, X, axes));
    if (n < MO_MAX_AXES && mo_dtype_is_real(X->dtype)) {
        for (int i = 0; i < n; i++)
            size[i] = R->shape[i];
        size[n] = 1;
        mo_tensor *gap = mo_full(t, X->dtype, n + 1, size, NAN);
        mo_tensor *both[] = {mo_reshape(t, R, n + 1, size), gap};
        R = mo_reshape(t, mo_slice(t, mo_concat(t, both, 2, MO_AXIS(n)), MO_AXIS(n), 0, 1), n, size);
    }
    return mo_permute(t, R, axes);
}

static inline mo_tensor *lay_out(mo_tape *t, const laid_out *l, int i, mo_tensor *X) {
    const mo_sample_input *in = &l->sample.in[i];
    X = on_its_set(t, in->draw, X);
    if (l->layout == STRIDED && mo_ok(mo_tape_context(t)))
        return strided(t, X);
    if (l->layout == REPEATED && i == l->repeated_input)
        return mo_broadcast_to(t, X, in->ndim, in->shape);
    return X;
}

/* Applies the op to its inputs; a mo_function. */
static inline void laid_out_function(
    mo_tape *t, mo_tensor *const *in, int n_in, mo_tensor **out, int n_out, void *state) {
    laid_out *l = state;
    mo_tensor *X[MO_MAX_INPUTS];
    for (int i = 0; i < n_in; i++)
        X[i] = lay_out(t, l, i, in[i]);
    mo_apply_all(t, l->op, X, n_in, l->sample.prepare ? l->prepared : l->sample.attributes, out);
}

/* Draws the leaves. */
static inline void laid_out_open(laid_out *l, mo_context *ctx, mo_random *r) {
    l->ctx = ctx;
    if (l->sample.prepare)
        l->sample.prepare(ctx, MO_F64, l->prepared);
    for (int i = 0; i < l->sample.n_in; i++) {
        mo_sample_input in = l->sample.in[i];
        if (l->layout == REPEATED && i == l->repeated_input)
            in.shape[l->repeated_axis] = 1;
        l->in[i] = mo_sample_tensor(ctx, &in, MO_F64, r);
    }
}

/* Also frees the memory of the test. */
static inline void laid_out_close(laid_out *l) {
    free_test_memory();
    for (int i = 0; i < l->sample.n_in; i++)
        mo_tensor_release(l->in[i]);
    if (l->sample.finish)
        l->sample.finish(l->ctx, l->prepared);
}

/* "matmul, sample \"batch\", strided: [3, 2, 4] [3, 4, 5]" */
static inline const char *laid_out_name(const laid_out *l) {
    static const char *const layouts[] = {"plain", "strided", "repeated"};
    static char text[600];
    char shape[160];
    int n = snprintf(text, sizeof text, "%s, sample \"%s\", %s:", l->op->name, l->sample.name, layouts[l->layout]);
    for (int i = 0; i < l->sample.n_in && n < 400; i++)
        n += snprintf(text + n, sizeof text - (size_t)n, " %s%s", mo_shape_string(l->in[i], shape, sizeof shape),
            l->layout == REPEATED && i == l->repeated_input ? " repeated" : "");
    return text;
}

/* Whether input i can be repeated along an axis. A matrix axis, or an input whose elements must differ, cannot. */
static inline bool may_repeat(const op_sample *s, int i, int axis) {
    const mo_sample_input *in = &s->in[i];
    return mo_draw_is_differentiable(in->draw) && in->draw != MO_DRAW_DISTINCT && in->shape[axis] > 1 &&
           (!is_matrix(in) || axis < in->ndim - 2);
}

/* Whether the op accepts these sizes and strides. If not, clears its error, which must be a refusal. */
static inline bool laid_out_is_taken(laid_out *l) {
    HELD(mo_tape) *t = mo_tape_create(l->ctx, MO_RECORD);
    mo_tensor *out[MO_MAX_OUTPUTS];
    laid_out_function(t, l->in, l->sample.n_in, out, mo_op_outputs(l->op), l);
    mo_code code = mo_context_status(l->ctx)->code;
    if (code != MO_OK && code != MO_INVALID && code != MO_MISMATCH && code != MO_NUMERICAL)
        fail_msg("%s: %s", laid_out_name(l), mo_context_status(l->ctx)->message);
    mo_clear_error(l->ctx);
    return code == MO_OK;
}

/* <J v, w> and <v, J^T w> sum the same products in different orders; systems have conditions below 100. */
static const double dot_tolerance = 1e-12;
/* The allowed error at each order: mostly 1e-9, but the quotient's rounding grows where f bends within a step. */
static const double quotient_tolerance[] = {0, 1e-6, 1e-5};

typedef struct layout_tally {
    int checked, alive; /* alive: the derivative is not zero everywhere */
    double dot, quotient;
} layout_tally;

/* Fails unless both errors, at orders one and two, are within their tolerances. */
static inline void check_laid_out(laid_out *l, layout_tally *sum, uint64_t seed) {
    for (int order = 1; order <= 2; order++) {
        graph_code g = {.ctx = l->ctx, .f = laid_out_function, .state = l, .in = l->in, .n_in = l->sample.n_in};
        g.n_out = mo_op_outputs(l->op);
        g.order = order;
        g.r = mo_random_at(seed, MO_PURPOSE_CHECK, (uint64_t)order);
        tangent_errors e = tangent_errors_of(&g);
        if (!mo_ok(l->ctx))
            fail_msg("%s: order %d: %s", laid_out_name(l), order, mo_context_status(l->ctx)->message);
        if (!(e.dot <= dot_tolerance && e.quotient <= quotient_tolerance[order]))
            fail_msg("%s: order %d: <J v, w> and <v, J^T w> differ by %.3g, J v and its quotient by %.3g",
                laid_out_name(l), order, e.dot, e.quotient);
        sum->alive += order == 1 && e.any;
        sum->dot = fmax(sum->dot, e.dot);
        sum->quotient = fmax(sum->quotient, e.quotient);
    }
    sum->checked++;
}

#endif
