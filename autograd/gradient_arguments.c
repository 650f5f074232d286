/* autograd/gradient_arguments.c - checks the arguments of mo_grad and mo_backward: that the tensors belong to the tape,
 * that their values are there, and that a gradient can reach the inputs. */
#include "autograd/tape.h"

#include <stdio.h>

static void fail_freed(const mo_tensor *T, const char *what, int i) {
    char text[80];
    snprintf(text, sizeof text, "grad: %s %d", what, i);
    mo_fail_freed(T, text);
}

bool mo_check_gradient_tensors(mo_tape *t, const char *what, mo_tensor *const *T, int n) {
    for (int i = 0; i < n && mo_ok(t->ctx); i++) {
        if (mo_is_null(T[i]))
            mo_fail(t->ctx, MO_INVALID, "grad: %s %d is null", what, i);
        else if (T[i]->ctx != t->ctx || (T[i]->tape && T[i]->tape != t))
            mo_fail(t->ctx, MO_MISMATCH, "grad: %s %d belongs to another %s", what, i,
                T[i]->ctx != t->ctx ? "context" : "tape");
        else if (T[i]->freed)
            fail_freed(T[i], what, i);
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
