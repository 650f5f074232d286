/* autograd/backward.c - the reverse sweep: from the newest node to the oldest, each node's vjp turns the gradients of
 * its outputs into contributions to those of its inputs. It loops over a list, so a tape of any length needs no stack.
 */
#include "autograd/slots.h"

#include <inttypes.h>
#include <string.h>

typedef struct run {
    mo_tape *t;
    mo_slots slots;
    unsigned flags;
    bool all_leaves; /* mo_backward: every leaf that needs a gradient is wanted */
} run;

/* ---- forward pass: which nodes lie between the wanted tensors and the roots ---- */

static bool slot_needed(run *r, mo_tensor *T) {
    if (!T->requires_grad)
        return false;
    mo_slot *s = mo_slot_of(&r->slots, T);
    if (s && r->all_leaves && !T->node)
        s->needed = s->wanted = true;
    return s && s->needed;
}

static void mark_needed(run *r) {
    for (int64_t i = r->slots.first; i <= r->slots.last; i++) {
        const mo_node *node = r->t->nodes[i];
        bool any = false;
        for (int j = 0; j < node->n_in; j++)
            any |= slot_needed(r, node->in[j]);
        for (int j = 0; any && j < node->n_out; j++)
            mo_slot_of(&r->slots, node->out[j])->needed = true;
    }
}

/* ---- contributions ---- */

/* Adds a contribution. Without a graph to create, a gradient nobody else holds is added to in place. */
static void contribute(run *r, mo_slot *slot, mo_tensor *bar) {
    mo_tape *t = r->t;
    if (!slot->grad) {
        slot->grad = bar;
        return;
    }
    if (r->flags & MO_CREATE_GRAPH) {
        slot->grad = mo_accumulate(t, slot->grad, bar);
        return;
    }
    bool own = slot->grad->storage->references == 1 && mo_is_contiguous(slot->grad) && slot->grad->storage->arena;
    bool spare = bar->storage->references == 1 && mo_is_contiguous(bar) && bar->storage->arena;
    if (own) {
        mo_accumulate_in_place(t, slot->grad, bar);
        mo_tape_drop(t, bar);
    } else if (spare) {
        mo_accumulate_in_place(t, bar, slot->grad);
        mo_tape_drop(t, slot->grad);
        slot->grad = bar;
    } else {
        mo_tensor *sum = mo_accumulate(t, slot->grad, bar);
        mo_tape_drop(t, slot->grad);
        mo_tape_drop(t, bar);
        slot->grad = sum;
    }
}

static bool check_bar(run *r, const mo_node *node, int i, const mo_tensor *bar) {
    const mo_tensor *X = node->in[i];
    if (bar->ndim == X->ndim && !memcmp(bar->shape, X->shape, (size_t)X->ndim * sizeof *X->shape) &&
        bar->dtype == X->dtype)
        return true;
    char got[160], want[160];
    mo_fail(r->t->ctx, MO_INVALID, "backward: the vjp of %s gave %s %s for input %d, expected %s %s", node->op->name,
        mo_shape_string(bar, got, sizeof got), mo_dtype_name(bar->dtype), i, mo_shape_string(X, want, sizeof want),
        mo_dtype_name(X->dtype));
    return false;
}

/* ---- one node ---- */

static bool check_value(run *r, const mo_node *node, const mo_tensor *T, uint64_t version, const char *side, int i) {
    mo_context *ctx = r->t->ctx;
    if (!T->storage)
        mo_fail(ctx, MO_STATE, "backward: %s %d of %s was released by an earlier backward: pass MO_RETAIN to that one",
            side, i, node->op->name);
    else if (T->storage->version != version)
        mo_fail(ctx, MO_STATE, "backward: %s %d of %s%s%s was changed in place after it was recorded", side, i,
            node->op->name, T->name ? ", " : "", T->name ? T->name : "");
    return mo_ok(ctx);
}

/* The values the vjp reads must be those that were recorded. */
static bool check_node(run *r, const mo_node *node) {
    mo_context *ctx = r->t->ctx;
    const mo_op *op = node->op;
    if (node->released)
        mo_fail(
            ctx, MO_STATE, "backward: %s was consumed by an earlier backward: pass MO_RETAIN to that one", op->name);
    else if (!op->vjp)
        mo_fail(ctx, MO_UNSUPPORTED, "backward: %s has no vjp, and a gradient was asked for through it", op->name);
    for (int i = 0; i < node->n_in && mo_ok(ctx); i++)
        if (op->reads_in >> i & 1)
            check_value(r, node, node->in[i], node->version[i], "input", i);
    for (int i = 0; i < node->n_out && mo_ok(ctx); i++)
        if (op->reads_out >> i & 1)
            check_value(r, node, node->out[i], node->version[node->n_in + i], "output", i);
    return mo_ok(ctx);
}

/* Hands the results of a vjp to the slots of the inputs; what else it made is freed. */
static void collect(run *r, const mo_node *node, const bool *needs, mo_tensor **in_bar, int64_t mark) {
    mo_tape *t = r->t;
    mo_tensor *keep[MO_MAX_INPUTS];
    int n = 0;
    for (int i = 0; i < node->n_in && mo_ok(t->ctx); i++) {
        if (!needs[i] || !in_bar[i] || mo_is_null(in_bar[i]) || !check_bar(r, node, i, in_bar[i])) {
            in_bar[i] = NULL;
            continue;
        }
        mo_tensor *bar = in_bar[i];
        if (!(r->flags & MO_CREATE_GRAPH)) /* a header of its own, so that each can be dropped by itself */
            bar = mo_tape_window(t, bar, bar->ndim, bar->shape, bar->stride, 0);
        in_bar[i] = keep[n++] = bar;
    }
    if (!(r->flags & MO_CREATE_GRAPH))
        mo_tape_sweep(t, mark, keep, n);
    for (int i = 0; i < node->n_in && mo_ok(t->ctx); i++)
        if (needs[i] && in_bar[i])
            contribute(r, mo_slot_of(&r->slots, node->in[i]), in_bar[i]);
}

static void release_node(run *r, mo_node *node) {
    if (r->flags & (MO_RETAIN | MO_CREATE_GRAPH))
        return;
    for (int i = 0; i < node->n_saved; i++)
        mo_tape_drop(r->t, node->saved[i]);
    for (int i = 0; i < node->n_out; i++)
        if (!node->out[i]->kept)
            mo_tape_drop(r->t, node->out[i]);
    node->released = true;
}

static void visit(run *r, mo_node *node) {
    mo_tape *t = r->t;
    mo_tensor *out_bar[MO_MAX_OUTPUTS] = {0}, *in_bar[MO_MAX_INPUTS] = {0};
    mo_slot *out_slot[MO_MAX_OUTPUTS];
    bool needs[MO_MAX_INPUTS] = {0}, reached = false, any = false;
    for (int i = 0; i < node->n_out; i++) {
        out_slot[i] = mo_slot_of(&r->slots, node->out[i]);
        out_bar[i] = out_slot[i]->grad;
        reached |= out_bar[i] != NULL;
    }
    for (int i = 0; reached && i < node->n_in; i++)
        any |= needs[i] = slot_needed(r, node->in[i]);
    if (!any || !check_node(r, node))
        return;
    int64_t mark = t->n_tensors;
    mo_vjp v = {.t = t,
        .op = node->op,
        .n_in = node->n_in,
        .n_out = node->n_out,
        .in = node->in,
        .out = node->out,
        .saved = node->saved,
        .out_bar = out_bar,
        .needs = needs,
        .attributes = node->attributes,
        .in_bar = in_bar};
    node->op->vjp(&v);
    collect(r, node, needs, in_bar, mark);
    for (int i = 0; i < node->n_out; i++)
        if (out_bar[i] && !out_slot[i]->wanted && !(r->flags & MO_CREATE_GRAPH)) {
            mo_tape_drop(t, out_bar[i]);
            out_slot[i]->grad = NULL;
        }
    release_node(r, node);
}

/* ---- the run ---- */

static bool seed_root(run *r, mo_tensor *y, mo_tensor *g) {
    mo_tape *t = r->t;
    mo_slot *slot = y->requires_grad ? mo_slot_of(&r->slots, y) : NULL;
    if (!slot)
        return mo_ok(t->ctx);
    mo_tensor *bar = g;
    char got[160], want[160];
    if (!g)
        bar = mo_full(t, y->dtype, y->ndim, y->shape, 1);
    else if (g->dtype != y->dtype || g->ndim != y->ndim ||
             memcmp(g->shape, y->shape, (size_t)y->ndim * sizeof *y->shape) != 0)
        mo_fail(t->ctx, MO_INVALID, "grad: cotangent %s %s, expected %s %s", mo_shape_string(g, got, sizeof got),
            mo_dtype_name(g->dtype), mo_shape_string(y, want, sizeof want), mo_dtype_name(y->dtype));
    else if (!(r->flags & MO_CREATE_GRAPH))
        bar = mo_tape_window(t, g, g->ndim, g->shape, g->stride, 0);
    if (!mo_ok(t->ctx))
        return false;
    contribute(r, slot, bar);
    return mo_ok(t->ctx);
}

/* The nodes that can matter: from the oldest wanted tensor to the newest root. */
static void node_range(mo_tensor *const *ys, int ny, mo_tensor *const *xs, int nx, int64_t *first, int64_t *last) {
    *last = -1;
    for (int i = 0; i < ny; i++)
        if (ys[i]->node && ys[i]->node->index > *last)
            *last = ys[i]->node->index;
    *first = nx ? INT64_MAX : 0;
    for (int i = 0; i < nx; i++) {
        int64_t index = xs[i]->node ? xs[i]->node->index : 0;
        if (index < *first)
            *first = index;
    }
    if (*first > *last) /* no path */
        *first = *last + 1;
}

static void sweep_nodes(run *r) {
    mo_tape *t = r->t;
    bool recording = t->recording;
    t->recording = (r->flags & MO_CREATE_GRAPH) != 0;
    for (int64_t i = r->slots.last; i >= r->slots.first && mo_ok(t->ctx); i--)
        visit(r, t->nodes[i]);
    t->recording = recording;
}

static bool check_tensors(mo_tape *t, const char *what, mo_tensor *const *T, int n) {
    for (int i = 0; i < n && mo_ok(t->ctx); i++) {
        if (mo_is_null(T[i]))
            mo_fail(t->ctx, MO_INVALID, "grad: %s %d is null", what, i);
        else if (T[i]->tape && T[i]->tape != t)
            mo_fail(t->ctx, MO_MISMATCH, "grad: %s %d belongs to another tape", what, i);
    }
    return mo_ok(t->ctx);
}

static bool begin(run *r, mo_tensor *const *ys, mo_tensor *const *gs, int ny, mo_tensor *const *xs, int nx) {
    mo_tape *t = r->t;
    int64_t first, last;
    node_range(ys, ny, xs, nx, &first, &last);
    if (!mo_slots_open(&r->slots, t, first, last))
        return false;
    for (int j = 0; j < nx; j++) {
        mo_slot *slot = mo_slot_of(&r->slots, xs[j]);
        if (slot)
            slot->needed = slot->wanted = true;
    }
    mark_needed(r);
    for (int i = 0; i < ny; i++)
        if (!seed_root(r, ys[i], gs ? gs[i] : NULL))
            return false;
    return true;
}

static void end(run *r) {
    if (--r->t->depth == 0)
        mo_host_arena_reset(r->t->scratch);
}

mo_code mo_grad(mo_tape *t, mo_tensor *const *ys, mo_tensor *const *gs, int ny, mo_tensor *const *xs, mo_tensor **grads,
    int nx, unsigned flags) {
    mo_context *ctx = t->ctx;
    run r = {.t = t, .flags = flags};
    for (int j = 0; j < nx; j++)
        grads[j] = mo_null_tensor(ctx);
    if (!check_tensors(t, "output", ys, ny) || !check_tensors(t, "input", xs, nx))
        return ctx->status.code;
    t->depth++;
    if (begin(&r, ys, gs, ny, xs, nx))
        sweep_nodes(&r);
    for (int j = 0; j < nx && mo_ok(ctx); j++) {
        mo_slot *slot = mo_slot_of(&r.slots, xs[j]);
        grads[j] = slot && slot->grad ? slot->grad : mo_full(t, xs[j]->dtype, xs[j]->ndim, xs[j]->shape, 0);
    }
    end(&r);
    return ctx->status.code;
}

/* Adds what arrived at the leaves to the buffers they own. */
static void deliver(run *r) {
    mo_context *ctx = r->t->ctx;
    for (int64_t i = 0; i < r->slots.capacity && mo_ok(ctx); i++) {
        mo_tensor *leaf = r->slots.leaves[i].leaf, *g = r->slots.leaves[i].slot.grad;
        if (!leaf || !g || !leaf->requires_grad)
            continue;
        bool fresh = !leaf->grad;
        if (fresh)
            leaf->grad = mo_tensor_create(ctx, leaf->dtype, leaf->ndim, leaf->shape);
        if (!mo_ok(ctx))
            leaf->grad = NULL;
        else
            mo_accumulate_in_place(r->t, leaf->grad, g);
        mo_tape_drop(r->t, g);
    }
}

mo_code mo_backward(mo_tape *t, mo_tensor *loss) {
    mo_context *ctx = t->ctx;
    run r = {.t = t, .all_leaves = true};
    if (!mo_ok(ctx) || !check_tensors(t, "output", &loss, 1))
        return ctx->status.code;
    char text[160];
    if (mo_numel(loss) != 1)
        mo_fail(
            ctx, MO_INVALID, "backward: the loss is %s, expected a scalar", mo_shape_string(loss, text, sizeof text));
    else if (!loss->requires_grad)
        mo_fail(ctx, MO_INVALID, "backward: the loss depends on nothing that needs a gradient%s",
            t->mode == MO_EVAL ? " (the tape is in MO_EVAL)" : "");
    if (!mo_ok(ctx))
        return ctx->status.code;
    t->depth++;
    loss->kept = true; /* the caller reads it */
    if (begin(&r, &loss, NULL, 1, NULL, 0)) {
        if (!loss->node) /* the loss is itself a leaf */
            slot_needed(&r, loss);
        sweep_nodes(&r);
        deliver(&r);
    }
    end(&r);
    return ctx->status.code;
}
