/* autograd/scope.c - scopes: free the intermediates of loops and ops before the tape is reset. */
#include "autograd/tape.h"

mo_scope mo_scope_open(mo_tape *t) {
    if (!mo_tape_lives(t, "scope_open"))
        return (mo_scope){.mode = MO_EVAL};
    mo_host_mark mark = mo_host_arena_mark(t->graph);
    return (mo_scope){.tape = t,
        .reset = t->resets,
        .mode = t->mode,
        .recording = t->recording,
        .tensors = t->n_tensors,
        .nodes = t->n_nodes,
        .slots = t->n_slots,
        .block = mark.block,
        .used = mark.used};
}

/* Returns whether a scope can be closed; raises if not. */
static bool check_scope(mo_tape *t, const mo_scope *scope, mo_tensor *const *keep, int n) {
    const char *wrong = NULL;
    if (!scope)
        wrong = "it is NULL";
    else if (scope->tape != t)
        wrong = "it was opened on another tape";
    else if (scope->reset != t->resets)
        wrong = "it was opened before the tape's last mo_tape_reset";
    else if (scope->tensors < t->running.tensors || scope->nodes < t->running.nodes)
        wrong = "it was opened outside the function that is running on the tape";
    else if (scope->tensors > t->n_tensors || scope->nodes > t->n_nodes)
        wrong = "a scope around it was closed before";
    if (wrong)
        return mo_fail(t->ctx, MO_STATE, "scope_close: the scope cannot be closed: %s", wrong);
    if (n < 0 || (n && !keep))
        return mo_fail(t->ctx, MO_INVALID, "scope_close: %d tensors to keep%s", n, keep ? "" : " in a NULL list");
    return true;
}

void mo_scope_close(mo_tape *t, const mo_scope *scope, mo_tensor *const *keep, int n) {
    if (!mo_tape_lives(t, "scope_close") || !check_scope(t, scope, keep, n))
        return;
    t->mode = scope->mode;
    t->recording = scope->recording;
    mo_tape_sweep(t, scope->tensors, keep, n);
    if (t->n_nodes == scope->nodes)
        return;
    for (int64_t i = scope->tensors; i < t->n_tensors; i++)
        if (t->tensors[i]->node) {
            t->tensors[i]->node = NULL;
            t->tensors[i]->requires_grad = false;
        }
    mo_tape_drop_nodes(t, scope);
}
