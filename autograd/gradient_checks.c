/* autograd/gradient_checks.c - what the sweeps check: that the tensors given to them belong to the tape and have their
 * values, that a gradient can reach the inputs, and that a vjp reads the values that were recorded. */
#include "autograd/tape.h"

#include <stdio.h>

bool mo_check_gradient_tensors(mo_tape *t, const char *what, mo_tensor *const *T, int n) {
    for (int i = 0; i < n && mo_ok(t->ctx); i++) {
        if (mo_is_null(T[i]))
            mo_fail(t->ctx, MO_INVALID, "grad: %s %d is null", what, i);
        else if (T[i]->ctx != t->ctx || (T[i]->tape && T[i]->tape != t))
            mo_fail(t->ctx, MO_MISMATCH, "grad: %s %d belongs to another %s", what, i,
                T[i]->ctx != t->ctx ? "context" : "tape");
        else if (T[i]->freed)
            mo_fail_freed(T[i], "grad: %s %d", what, i);
        else if (!T[i]->storage)
            mo_fail(t->ctx, MO_STATE, "grad: %s %d%s%s was released by an earlier backward: pass MO_RETAIN to it", what,
                i, T[i]->node ? ", made by " : "", T[i]->node ? T[i]->node->op->name : "");
    }
    return mo_ok(t->ctx);
}

bool mo_check_gradient_lists(
    mo_tape *t, mo_tensor *const *ys, int ny, mo_tensor *const *xs, mo_tensor **grads, int nx) {
    if (mo_ok(t->ctx) && (ny < 0 || nx < 0 || (ny && !ys) || (nx && (!xs || !grads))))
        mo_fail(t->ctx, MO_INVALID,
            "grad: %d outputs and %d inputs, expected 0 or more of each in lists that are not NULL", ys ? ny : 0,
            xs && grads ? nx : 0);
    return mo_ok(t->ctx);
}

bool mo_check_gradient_path(mo_tape *t, mo_tensor *const *ys, int ny, unsigned flags) {
    for (int i = 0; i < ny; i++)
        if (ys[i]->requires_grad)
            return true;
    if (flags & MO_ALLOW_UNUSED || !mo_ok(t->ctx))
        return mo_ok(t->ctx);
    if (ny == 0)
        mo_fail(t->ctx, MO_INVALID, "grad: no outputs, expected 1 or more");
    else
        mo_fail(t->ctx, MO_INVALID,
            "grad: output 0%s%s depends on nothing that needs a gradient%s; pass MO_ALLOW_UNUSED if you want zeros",
            ys[0]->maker ? ", made by " : "", ys[0]->maker ? ys[0]->maker : "",
            t->mode == MO_EVAL ? " (the tape is in MO_EVAL)" : " (if it is a gradient, take it with MO_CREATE_GRAPH)");
    return false;
}

/* Checks the value of an input or output that had `version` when the node was recorded. */
static void check_value(
    mo_context *ctx, const mo_node *node, const mo_tensor *T, uint64_t version, const char *side, int i) {
    if (!T->freed && T->storage && T->storage->version == version)
        return;
    char what[500], place[256];
    snprintf(what, sizeof what, "backward: %s %d of %.100s%s", side, i, node->op->name,
        mo_place_of(node->out[0], place, sizeof place));
    if (T->freed)
        mo_fail_freed(T, "%s", what);
    else if (!T->storage)
        mo_fail(ctx, MO_STATE, "%s was released by an earlier backward: pass MO_RETAIN to it", what);
    else
        mo_fail(ctx, MO_STATE, "%s%s%s was changed in place after it was recorded", what, T->name ? ", " : "",
            T->name ? T->name : "");
}

bool mo_check_recorded(mo_context *ctx, const mo_node *node) {
    const mo_op *op = node->op;
    char place[256];
    if (node->released)
        mo_fail(ctx, MO_STATE, "backward: %s%s was consumed by an earlier backward: pass MO_RETAIN to it", op->name,
            mo_place_of(node->out[0], place, sizeof place));
    else if (!op->vjp)
        mo_fail(ctx, MO_UNSUPPORTED, "backward: %s%s has no vjp, and a gradient was asked for through it", op->name,
            mo_place_of(node->out[0], place, sizeof place));
    for (int i = 0; i < node->n_in && mo_ok(ctx); i++)
        if (op->reads_in >> i & 1)
            check_value(ctx, node, node->in[i], node->version[i], "input", i);
    for (int i = 0; i < node->n_out && mo_ok(ctx); i++)
        if (op->reads_out >> i & 1)
            check_value(ctx, node, node->out[i], node->version[node->n_in + i], "output", i);
    return mo_ok(ctx);
}
