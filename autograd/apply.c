/* autograd/apply.c - running one op: check the inputs, let the shape rule validate, execute, record. */
#include "autograd/sample.h"
#include "autograd/watch.h"

#include "tensor/files/number_text.h"
#include "tensor/library.h"

#include <stdio.h>
#include <string.h>

void mo_call_inputs(const mo_call *c, char *text, size_t bytes) {
    size_t used = 0;
    text[0] = 0;
    for (int i = 0; i < c->n_in; i++) {
        char shape[160];
        const char *const words[] = {
            i ? ", " : "", mo_shape_string(c->in[i], shape, sizeof shape), " ", mo_dtype_name(c->in[i]->dtype)};
        for (int j = 0; j < 4; j++)
            used = mo_append_text(text, bytes, used, words[j]);
    }
}

bool mo_call_fail(mo_call *c, mo_code code, const char *format, ...) {
    if (!c)
        return false;
    char reason[512], inputs[400] = "";
    va_list args;
    va_start(args, format);
    mo_format_list(reason, sizeof reason, format, args);
    va_end(args);
    mo_call_inputs(c, inputs, sizeof inputs);
    mo_fail(c->ctx, code, "%s: %s; got %s", c->op->name, reason, c->n_in ? inputs : "no inputs");
    return false;
}

bool mo_call_real(mo_call *c, int first, int last) {
    if (!c)
        return false;
    if (first < 0 || last >= c->n_in)
        return mo_call_fail(c, MO_INVALID, "inputs %d to %d asked for, expected 0 to %d", first, last, c->n_in - 1);
    for (int i = first; i <= last; i++) {
        if (!mo_dtype_is_real(c->in[i]->dtype))
            return mo_call_fail(
                c, MO_MISMATCH, "input %d is %s, expected float32 or float64", i, mo_dtype_name(c->in[i]->dtype));
        if (c->in[i]->dtype != c->in[first]->dtype)
            return mo_call_fail(c, MO_MISMATCH, "inputs %d and %d differ in dtype", first, i);
    }
    return true;
}

bool mo_call_output(mo_call *c, int i, mo_dtype dtype, int ndim, const int64_t *shape) {
    if (!c)
        return false;
    if (i < 0 || i >= c->n_out)
        return mo_call_fail(c, MO_INVALID, "output %d declared, expected 0 to %d", i, c->n_out - 1);
    mo_tensor *T = mo_tape_tensor(c->t, dtype, ndim, shape);
    c->out[i] = T;
    return !mo_is_null(T);
}

/* Returns whether T, which a function of the op gave, is a tensor with a value and the caller may use it on this tape;
 * raises if not. */
static bool check_made(mo_call *c, const char *what, int i, const mo_tensor *T, bool or_leaf) {
    if (mo_is_null(T))
        return mo_call_fail(c, MO_INVALID, "%s %d is null", what, i);
    if (T->ctx != c->ctx || (T->tape ? T->tape != c->t : !or_leaf))
        return mo_call_fail(c, MO_MISMATCH, "%s %d belongs to %s", what, i,
            T->ctx != c->ctx ? "another context"
            : T->tape        ? "another tape"
                             : "no tape");
    if (!T->storage)
        mo_fail_freed(T, "%s", what);
    return mo_ok(c->ctx);
}

mo_tensor *mo_call_temporary(mo_call *c, mo_dtype dtype, int ndim, const int64_t *shape) {
    return c ? mo_tape_tensor(c->t, dtype, ndim, shape) : NULL;
}

mo_view mo_call_dense(mo_call *c, int i) {
    if (!c)
        return (mo_view){0};
    if (i < 0 || i >= c->n_in) {
        mo_call_fail(c, MO_INVALID, "input %d read, expected 0 to %d", i, c->n_in - 1);
        return (mo_view){0};
    }
    mo_tensor *X = c->in[i];
    mo_view from = mo_tensor_view(X);
    if (mo_is_contiguous(X) || !mo_ok(c->ctx)) {
        mo_contiguous_strides(from.ndim, from.shape, from.stride);
        return from;
    }
    mo_tensor *copy = mo_tape_tensor(c->t, X->dtype, X->ndim, X->shape);
    mo_view to = mo_tensor_view(copy);
    if (mo_ok(c->ctx))
        c->ctx->backend->copy(c->ctx, &from, &to);
    return to;
}

void mo_call_save(mo_call *c, mo_tensor *T) {
    if (!c || !mo_ok(c->ctx))
        return;
    if (c->n_saved == MO_MAX_SAVED)
        mo_call_fail(c, MO_INVALID, "more than %d by-products saved", MO_MAX_SAVED);
    else if (check_made(c, "by-product", c->n_saved, T, true))
        /* another node, or the user, can own what this call has not made: save a second header of the same values,
         * which is released separately */
        c->saved[c->n_saved++] = mo_tape_made(c->t, T) ? T : mo_tape_window(c->t, T, T->ndim, T->shape, T->stride, 0);
}

mo_tensor *mo_call_view(mo_call *c, int ndim, const int64_t *shape, const int64_t *stride, int64_t offset) {
    if (!c)
        return NULL;
    c->out[0] = mo_tape_window(c->t, c->in[0], ndim, shape, stride, offset);
    return c->out[0];
}

/* Checks an input as far as that needs no knowledge of the op. Returns false if a check raised. */
static bool check_input(mo_call *c, int i) {
    mo_tensor *X = c->in[i];
    const char *name = c->op->name;
    if (mo_is_null(X))
        mo_fail(c->ctx, MO_INVALID, "%s: input %d is null", name, i);
    else if (X->ctx != c->ctx)
        mo_fail(c->ctx, MO_MISMATCH, "%s: input %d belongs to another context", name, i);
    else if (X->tape && X->tape != c->t)
        mo_fail(c->ctx, MO_MISMATCH, "%s: input %d belongs to another tape", name, i);
    else if (!X->storage)
        mo_fail_freed(X, "%s: the value of input %d", name, i);
    return mo_ok(c->ctx);
}

/* The default shape rule, for an op whose shape function is NULL. */
static bool shape_of_inputs(mo_call *c) {
    const mo_tensor *X = c->in[0];
    if (!mo_call_real(c, 0, c->n_in - 1))
        return false;
    for (int i = 1; i < c->n_in; i++)
        if (!mo_same_shape(c->in[i], X))
            return mo_call_fail(c, MO_INVALID, "expected equal shapes");
    return mo_call_output(c, 0, X->dtype, X->ndim, X->shape);
}

/* Returns whether the outputs are tensors that this call has made; raises if not. */
static bool check_outputs(mo_call *c) {
    for (int i = 0; i < c->n_out && mo_ok(c->ctx); i++)
        if (check_made(c, "output", i, c->out[i], false) && !mo_tape_made(c->t, c->out[i]))
            mo_call_fail(c, MO_INVALID, "output %d was made before the call", i);
    return mo_ok(c->ctx);
}

static bool check_call(mo_call *c, mo_tensor *const *in) {
    const mo_op *op = c->op;
    int least = mo_op_least_inputs(op), most = mo_op_most_inputs(op);
    if (!mo_ok(c->ctx) || !mo_goes_on(c->ctx) || !mo_usual_arithmetic(c->ctx, op->name))
        return false;
    if (c->n_in < least || c->n_in > most) {
        mo_fail(c->ctx, MO_INVALID, "%s: %d inputs, expected %d to %d", op->name, c->n_in, least, most);
        return false;
    }
    for (int i = 0; i < c->n_in; i++) {
        c->in[i] = in[i];
        if (!check_input(c, i))
            return false;
    }
    return (op->shape ? op->shape : shape_of_inputs)(c) && (op->is_view || check_outputs(c));
}

bool mo_call_recorded(const mo_call *c) {
    if (!c || !c->t->recording)
        return false;
    for (int i = 0; i < c->n_in; i++)
        if (c->in[i]->requires_grad)
            return true;
    return false;
}

static mo_code execute(mo_call *c, mo_tensor *const *in, mo_tensor **out) {
    mo_tape *t = c->t;
    mo_scope scope = mo_scope_open(t);
    mo_running outer = mo_tape_enter(t, c->op->name, __builtin_frame_address(0));
    for (int i = 0; i < c->n_out; i++)
        out[i] = mo_null_tensor(c->ctx);
    if (check_call(c, in)) {
        c->op->forward(c);
        check_outputs(c);
    }
    if (t->anomaly)
        mo_watch_values(c);
    mo_tape_leave(t, &outer);
    if (!mo_ok(c->ctx)) {
        mo_scope_close(t, &scope, NULL, 0);
        return c->ctx->status.code;
    }
    t->recording = scope.recording;
    bool record = mo_call_recorded(c);
    mo_tensor *keep[MO_MAX_OUTPUTS + MO_MAX_SAVED];
    int n = 0;
    for (int i = 0; i < c->n_out; i++)
        keep[n++] = c->out[i];
    for (int i = 0; record && i < c->n_saved; i++)
        keep[n++] = c->saved[i];
    mo_scope_close(t, &scope, keep, n);
    if (record)
        mo_tape_record(t, c);
    for (int i = 0; i < c->n_out; i++) {
        out[i] = c->out[i];
        out[i]->maker = c->op->name;
    }
    return c->ctx->status.code;
}

mo_code mo_apply_all(
    mo_tape *t, const mo_op *op, mo_tensor *const *in, int n_in, const void *attributes, mo_tensor **out) {
    mo_context *ctx = mo_tape_context(t);
    if (!mo_tape_lives(t, op && op->name ? op->name : "op") || !op || !out || (n_in > 0 && !in) ||
        !mo_check_op_form(ctx, "apply", op)) {
        mo_fail(ctx, MO_INVALID, "%s: no %s given", op && op->name ? op->name : "op",
            !op   ? "op"
            : out ? "inputs"
                  : "room for outputs");
        for (int i = 0; op && out && i < mo_op_outputs(op) && i < MO_MAX_OUTPUTS; i++)
            out[i] = mo_null_tensor(ctx);
        return mo_code_of(ctx);
    }
    static const _Alignas(16) char zeros[MO_MAX_ATTRIBUTES];
    mo_call c = {.t = t, .ctx = t->ctx, .op = op, .n_in = n_in, .n_out = mo_op_outputs(op)};
    c.attributes = attributes || !op->attributes_size ? attributes : zeros;
    if (!t->ctx->engine->profiling)
        return execute(&c, in, out);
    mo_watch_start start = mo_watch_begin(t->ctx);
    mo_code code = execute(&c, in, out);
    mo_watch_end(&c, start);
    return code;
}

mo_tensor *mo_apply(mo_tape *t, const mo_op *op, mo_tensor *const *in, int n_in, const void *attributes) {
    mo_tensor *out[MO_MAX_OUTPUTS] = {mo_null_tensor(mo_tape_context(t))};
    mo_apply_all(t, op, in, n_in, attributes, out);
    return out[0];
}
