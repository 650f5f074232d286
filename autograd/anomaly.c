/* autograd/anomaly.c - anomaly mode: the first op whose result is not finite raises an error that says where and why.
 *
 * vjps are written with ops, so one check after each op covers backward too; the message names the rule that called the
 * op. Views compute nothing and are skipped. */
#include "autograd/watch.h"
#include "tensor/library.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

void mo_tape_set_anomaly(mo_tape *t, bool on) {
    if (t)
        t->anomaly = on;
}

/* The first element that is not finite. */
typedef struct culprit {
    int64_t at; /* row-major index of the element; -1: every element is finite */
    const char *value;
} culprit;

static culprit scan(const mo_tensor *T) {
    culprit found = {.at = -1};
    bool is_float = mo_dtype_is_real(T->dtype) || T->dtype == MO_F16 || T->dtype == MO_BF16;
    double *x = is_float && T->storage ? mo_host_values(T, MO_F64) : NULL;
    int64_t n = x ? mo_numel(T) : 0;
    for (int64_t i = 0; i < n && found.at < 0; i++)
        if (!isfinite(x[i]))
            found = (culprit){i, isnan(x[i]) ? "nan" : x[i] > 0 ? "inf" : "-inf"};
    free(x);
    return found;
}

/* Writes "nan at [1, 2] of output 0 [3, 4] float32". */
static void describe(char *text, size_t bytes, culprit found, const char *side, int i, const mo_tensor *T) {
    int64_t index[MO_MAX_AXES], rest = found.at;
    char at[160], shape[160];
    for (int a = T->ndim - 1; a >= 0; a--) {
        index[a] = rest % T->shape[a];
        rest /= T->shape[a];
    }
    snprintf(text, bytes, "%s at %s of %s %d%s%s %s %s", found.value, mo_format_shape(T->ndim, index, at, sizeof at),
        side, i, T->name ? ", " : "", T->name ? T->name : "", mo_shape_string(T, shape, sizeof shape),
        mo_dtype_name(T->dtype));
}

/* Writes "in the forward", or "in the backward, in the vjp of log (node 4)". */
static void describe_place(char *text, size_t bytes, const mo_call *c) {
    const mo_node *node = c->t->visiting;
    char line[256];
    if (!mo_in_backward(c))
        snprintf(text, bytes, "in the forward");
    else if (!node || c->op == &mo_op_accumulate)
        snprintf(text, bytes, "in the backward, adding contributions to a gradient");
    else
        snprintf(text, bytes, "in the backward, in the vjp of %s%s (node %" PRId64 ")", node->op->name,
            mo_place_of(node->out[0], line, sizeof line), node->index);
}

static void raise(const mo_call *c, int output, culprit found) {
    char result[320], source[320] = "", place[400], inputs[400];
    describe(result, sizeof result, found, "output", output, c->out[output]);
    describe_place(place, sizeof place, c);
    for (int i = 0; i < c->n_in && !source[0]; i++) {
        culprit held = scan(c->in[i]);
        if (held.at >= 0)
            describe(source, sizeof source, held, "input", i, c->in[i]);
    }
    mo_call_inputs(c, inputs, sizeof inputs);
    if (source[0])
        mo_fail(
            c->ctx, MO_NUMERICAL, "%s: %s %s, given %s: it was not finite before", c->op->name, result, place, source);
    else
        mo_fail(c->ctx, MO_NUMERICAL, "%s made %s %s, from finite inputs %s", c->op->name, result, place, inputs);
}

void mo_watch_values(const mo_call *c) {
    for (int i = 0; i < c->n_out && !c->op->is_view && mo_ok(c->ctx); i++) {
        culprit found = scan(c->out[i]);
        if (found.at >= 0 && mo_ok(c->ctx))
            raise(c, i, found);
    }
}
