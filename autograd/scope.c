/* autograd/scope.c - scopes: free the intermediates of loops and ops before the tape is reset. */
#include "autograd/tape.h"

mo_scope mo_scope_open(mo_tape *t) {
    if (!mo_tape_lives(t, "scope_open"))
        return (mo_scope){.mode = MO_EVAL};
    mo_host_mark mark = mo_host_arena_mark(t->graph);
    return (mo_scope){.mode = t->mode,
        .recording = t->recording,
        .tensors = t->n_tensors,
        .nodes = t->n_nodes,
        .slots = t->n_slots,
        .block = mark.block,
        .used = mark.used};
}

void mo_tape_drop_nodes(mo_tape *t, const mo_scope *scope) {
    t->n_nodes = scope->nodes;
    t->n_slots = scope->slots;
    mo_host_arena_rewind(t->graph, (mo_host_mark){scope->block, scope->used});
}

void mo_scope_close(mo_tape *t, const mo_scope *scope, mo_tensor *const *keep, int n) {
    if (!mo_tape_lives(t, "scope_close") || !scope)
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
