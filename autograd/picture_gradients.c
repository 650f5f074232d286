/* autograd/picture_gradients.c - the gradients in a picture of a tape.
 *
 * While the graph still holds its values, a sweep that retains them gives the gradient of the loss in every value on
 * its way. After mo_backward only the leaves have theirs. */
#include "autograd/picture.h"

#include <stdlib.h>

/* The newest scalar of forward that needs a gradient. */
static int64_t find_loss(const mo_picture *p, const mo_tape *t) {
    for (int64_t i = p->n_tensors - 1; i >= 0; i--) {
        const mo_tensor *T = p->tensors[i];
        if (T->node && !t->nodes[T->node->index]->vjp_of && T->requires_grad && mo_numel(T) == 1)
            return i;
    }
    return -1;
}

/* Marks the values that the loss depends on and that need a gradient. Whether backward has consumed a node of them. */
static bool mark_reached(const mo_picture *p, const mo_tape *t, bool *reached) {
    bool consumed = false;
    reached[p->loss] = true;
    for (int64_t i = t->n_nodes - 1; i >= 0; i--) {
        json_t *node = mo_node_of(p, i);
        bool any = false;
        for (size_t k = 0; k < mo_n_listed(node, "out"); k++)
            any |= reached[mo_listed(node, "out", k)];
        for (size_t k = 0; any && k < mo_n_listed(node, "in"); k++) {
            int64_t in = mo_listed(node, "in", k);
            reached[in] |= p->tensors[in]->requires_grad;
        }
        consumed |= any && t->nodes[i]->released;
    }
    return consumed;
}

static void keep_if_small(mo_picture *p, int64_t i, const mo_tensor *g, const mo_print_options *options) {
    if (g && g->storage && mo_numel(g) > 0 && mo_numel(g) <= options->values)
        mo_picture_keep(p, 'g', i, g);
}

/* By a sweep that leaves the tape as it was. Where it fails (a value was changed in place), there are no gradients. */
static void sweep_gradients(mo_picture *p, mo_tape *t, const bool *reached, const mo_print_options *options) {
    mo_tensor **xs = calloc((size_t)p->n_tensors, sizeof *xs), **grads = calloc((size_t)p->n_tensors, sizeof *grads);
    mo_tensor *loss = (mo_tensor *)p->tensors[p->loss];
    int n = 0;
    for (int64_t i = 0; xs && grads && i < p->n_tensors; i++)
        if (reached[i])
            xs[n++] = (mo_tensor *)p->tensors[i];
    mo_scope scope = mo_scope_open(t);
    bool kept = loss->kept, swept = n > 0 && mo_grad(t, &loss, NULL, 1, xs, grads, n, MO_RETAIN) == MO_OK;
    loss->kept = kept;
    if (n > 0 && !swept)
        mo_clear_error(t->ctx);
    n = 0;
    for (int64_t i = 0; swept && i < p->n_tensors; i++)
        if (reached[i])
            keep_if_small(p, i, grads[n++], options);
    mo_scope_close(t, &scope, NULL, 0);
    free(xs);
    free(grads);
}

bool mo_picture_add_gradients(mo_picture *p, mo_tape *t, const mo_print_options *options) {
    p->loss = find_loss(p, t);
    bool *reached = p->loss >= 0 ? calloc((size_t)p->n_tensors, sizeof *reached) : NULL;
    bool consumed = reached && mark_reached(p, t, reached);
    if (reached && !consumed)
        sweep_gradients(p, t, reached, options);
    for (int64_t i = 0; reached && i < p->n_tensors; i++) {
        if (reached[i])
            json_object_set_new(mo_value_of(p, i), "reached", json_true());
        if (consumed && reached[i] && !p->tensors[i]->node && !p->tensors[i]->freed)
            keep_if_small(p, i, mo_grad_of(p->tensors[i]), options);
    }
    free(reached);
    return mo_ok(t->ctx);
}
