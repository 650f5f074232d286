/* autograd/recorded_values.c - checks that a vjp reads the values that were recorded: none released, none changed in
 * place since. */
#include "autograd/tape.h"

#include <stdio.h>

static void refuse_value(mo_context *ctx, const mo_node *node, const mo_tensor *T, const char *side, int i) {
    char what[500], place[256];
    snprintf(what, sizeof what, "backward: %s %d of %.100s%s", side, i, node->op->name,
        mo_place_of(node->out[0], place, sizeof place));
    if (T->freed)
        mo_fail_freed(T, what);
    else if (!T->storage)
        mo_fail(ctx, MO_STATE, "%s was released by an earlier backward: pass MO_RETAIN to it", what);
    else
        mo_fail(ctx, MO_STATE, "%s%s%s was changed in place after it was recorded", what, T->name ? ", " : "",
            T->name ? T->name : "");
}

static void check_value(
    mo_context *ctx, const mo_node *node, const mo_tensor *T, uint64_t version, const char *side, int i) {
    if (T->freed || !T->storage || T->storage->version != version)
        refuse_value(ctx, node, T, side, i);
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
