/* ops/recompute.c - gradient checkpointing: graph code that is recorded as one node and run again by backward (Griewank
 * and Walther 2000; Chen et al. 2016).
 *
 * X_1 .. X_n of any shapes and dtypes, F as graph code -> Y = F(X_1, .., X_n). The intermediates of F are freed before
 * the call returns; backward runs F again, differentiates that run and frees it. With several such calls, only one
 * call's intermediates are in memory at a time; each call costs one more forward. Errors: the errors of F; F reads
 * a tensor that needs a gradient and is not an input. Saved: nothing beyond the inputs.
 *
 * dY = sum_i dF/dX_i dX_i, hence X_i_bar = (dF/dX_i)^T Y_bar: the vjp of F, recorded anew, by the rules of its ops. If
 * the gradient itself is recorded, the second run stays on the tape with it: derivatives of every order equal the
 * derivatives of F, but F then takes as much memory as without checkpointing. */
#include "ops/inside.h"
#include "ops/rules/shapes.h"
#include "tensor/library.h"
#include "tensor/objects.h"

#include <string.h>

typedef struct recomputed {
    mo_graph_code F;
    void *outside; /* the caller's state, if it is not copied */
    size_t size;
    _Alignas(void *) unsigned char copy[MO_MAX_STATE];
} recomputed;

/* Returns F(in). F may change its state, such as a random position: every run starts with a copy of the same state. */
static mo_tensor *run_code(mo_tape *t, const recomputed *o, mo_tensor *const *in, int n) {
    recomputed own = *o;
    mo_tensor *Y = own.F(t, in, n, own.size ? own.copy : own.outside);
    mo_context *ctx = mo_tape_context(t);
    if (mo_ok(ctx) && (!Y || mo_is_null(Y)))
        mo_fail(ctx, MO_INVALID, "recompute: the function returned nothing and no error");
    return Y;
}

/* The shape is known only after F has run: an output without elements stands in for it. */
static bool recompute_shape(mo_call *c) {
    return mo_call_output(c, 0, MO_F32, 1, (int64_t[]){0});
}

static void recompute_forward(mo_call *c) {
    mo_tensor *in[MO_MAX_INPUTS];
    for (int i = 0; i < c->n_in; i++)
        in[i] = mo_stop_gradient(c->t, c->in[i]);
    mo_tensor *Y = run_code(c->t, c->attributes, in, c->n_in);
    if (!mo_ok(c->ctx))
        return;
    if (mo_needs_grad(Y))
        mo_call_fail(c, MO_INVALID, "the function reads a tensor that needs a gradient and is not among its inputs");
    c->out[0] = mo_stop_gradient(c->t, Y);
}

static void recompute_vjp(mo_vjp *v) {
    mo_tape *t = v->t;
    mo_tensor *in[MO_MAX_INPUTS], *at[MO_MAX_INPUTS], *bar[MO_MAX_INPUTS];
    int which[MO_MAX_INPUTS], n = 0;
    mo_tape_set_mode(t, MO_RECORD);
    for (int i = 0; i < v->n_in; i++) {
        in[i] = v->in[i];
        if (!v->needs[i])
            continue;
        /* A header of its own, so that this run has its own gradients. */
        in[i] = mo_reshape(t, in[i], in[i]->ndim, in[i]->shape);
        which[n] = i;
        at[n++] = in[i];
    }
    mo_tensor *Y = run_code(t, v->attributes, in, v->n_in), *Y_bar = v->out_bar[0];
    if (!mo_ok(mo_tape_context(t)))
        return;
    mo_grad(t, &Y, &Y_bar, 1, at, bar, n, v->create_graph ? MO_CREATE_GRAPH | MO_ALLOW_UNUSED : MO_ALLOW_UNUSED);
    for (int i = 0; i < n; i++)
        v->in_bar[which[i]] = bar[i];
}

/* ---- samples ---- */

/* Returns tanh(X W) with dropout, whose random position is the same in every run. */
static mo_tensor *masked_layer(mo_tape *t, mo_tensor *const *in, int n, void *state) {
    (void)n;
    (void)state;
    mo_random r = {7, MO_PURPOSE_DROPOUT, 1, 3};
    return mo_dropout(t, mo_tanh(t, mo_matmul(t, in[0], in[1])), 0.5, &r);
}

static mo_tensor *squared_rows(mo_tape *t, mo_tensor *const *in, int n, void *state) {
    (void)n;
    (void)state;
    return mo_square(t, mo_gather_rows(t, in[0], in[1]));
}

static mo_tensor *first_input(mo_tape *t, mo_tensor *const *in, int n, void *state) {
    (void)t;
    (void)n;
    (void)state;
    return in[0];
}

static mo_tensor *nothing(mo_tape *t, mo_tensor *const *in, int n, void *state) {
    (void)in;
    (void)n;
    (void)state;
    return mo_null_tensor(mo_tape_context(t));
}

static const mo_sample recompute_samples[] = {
    {"layer", "[3, 4] [4, 2]", &(const recomputed){.F = masked_layer}},
    {"an input without gradient", "[3, 2] index<3>[5]", &(const recomputed){.F = squared_rows}},
    {"the input itself", "[2, 3] [2]", &(const recomputed){.F = first_input}},
    {"nothing", "[3]", &(const recomputed){.F = nothing},
        .error = "recompute: the function returned nothing and no error"},
};

const mo_op mo_op_recompute = {
    .name = "recompute",
    .max_in = MO_MAX_INPUTS,
    .attributes_size = sizeof(recomputed),
    .reads_in = UINT64_MAX,
    .shape = recompute_shape,
    .forward = recompute_forward,
    .vjp = recompute_vjp,
    MO_SAMPLES(recompute_samples),
};

mo_tensor *mo_recompute(
    mo_tape *t, mo_graph_code F, mo_tensor *const *in, int n, const void *state, size_t state_size) {
    recomputed o = {.F = F, .outside = (void *)state, .size = state_size};
    mo_context *ctx = mo_tape_context(t);
    if (mo_ok(ctx) && state_size > sizeof o.copy)
        mo_fail(ctx, MO_INVALID, "recompute: %zu bytes of state, expected at most %d: pass state_size 0 and keep it",
            state_size, MO_MAX_STATE);
    if (!mo_given(ctx, "recompute", "the function", (void *)(uintptr_t)F) ||
        (state_size && !mo_given(ctx, "recompute", "the state", state)))
        return mo_null_tensor(ctx);
    if (state_size)
        memcpy(o.copy, state, state_size);
    return mo_apply(t, &mo_op_recompute, in, n, &o);
}
