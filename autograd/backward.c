/* autograd/backward.c - the reverse sweep: from the newest node to the oldest, each node's vjp turns the gradients of
 * its outputs into contributions to the gradients of its inputs. The sweep loops over a list, so a tape of any length
 * needs no stack. */
#include "autograd/slots.h"
#include "autograd/watch.h"

typedef struct run {
    mo_tape *t;
    mo_slots slots;
    unsigned flags;
    bool all_leaves;      /* mo_backward: every leaf that needs a gradient is wanted */
    mo_host_mark mark;    /* scratch arena at the start; the run frees back to here, so that runs can nest */
    mo_tensor *const *xs; /* mo_grad: nx tensors whose gradients are asked for */
    mo_tensor **grads;
    int nx;
} run;

/* ---- forward pass: which nodes lie between the wanted tensors and the roots ---- */

static bool slot_needed(run *r, mo_tensor *T) {
    if (!T->requires_grad)
        return false;
    mo_slot *s = mo_slot_of(&r->slots, T);
    if (s && r->all_leaves && !T->node) {
        if (T->freed)
            mo_fail_freed(T, "backward: a leaf of the loss");
        s->needed = s->wanted = true;
    }
    return s && s->needed;
}

static void mark_needed(run *r) {
    for (int64_t i = r->slots.first; i <= r->slots.last; i++) {
        const mo_node *node = r->t->nodes[i];
        bool any = false;
        for (int j = 0; j < node->n_in; j++)
            if (slot_needed(r, node->in[j]))
                any = true;
        for (int j = 0; any && j < node->n_out; j++)
            mo_slot_of(&r->slots, node->out[j])->needed = true;
    }
}

/* ---- contributions ---- */

static bool check_bar(run *r, const mo_node *node, int i, const mo_tensor *bar) {
    const mo_tensor *X = node->in[i];
    if (bar->ctx != r->t->ctx || (bar->tape && bar->tape != r->t))
        return mo_fail(r->t->ctx, MO_MISMATCH, "backward: the vjp of %s gave a tensor of another %s for input %d",
            node->op->name, bar->ctx != r->t->ctx ? "context" : "tape", i);
    if (!bar->storage)
        mo_fail_freed(bar, "backward: what a vjp gave");
    if (!mo_ok(r->t->ctx))
        return false;
    if (mo_same_form(bar, X))
        return true;
    char got[160], want[160];
    mo_fail(r->t->ctx, MO_INVALID, "backward: the vjp of %s gave %s %s for input %d, expected %s %s", node->op->name,
        mo_shape_string(bar, got, sizeof got), mo_dtype_name(bar->dtype), i, mo_shape_string(X, want, sizeof want),
        mo_dtype_name(X->dtype));
    return false;
}

/* ---- one node ---- */

/* Hands the results of a vjp to the slots of the inputs. Unless the gradients are recorded, frees everything else that
 * the vjp made. */
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
        if (!(r->flags & MO_CREATE_GRAPH)) /* a new header, so that each gradient can be dropped separately */
            bar = mo_tape_window(t, bar, bar->ndim, bar->shape, bar->stride, 0);
        in_bar[i] = keep[n++] = bar;
    }
    if (!(r->flags & MO_CREATE_GRAPH))
        mo_tape_sweep(t, mark, keep, n);
    for (int i = 0; i < node->n_in && mo_ok(t->ctx); i++)
        if (needs[i] && in_bar[i])
            mo_contribute(t, mo_slot_of(&r->slots, node->in[i]), in_bar[i], r->flags & MO_CREATE_GRAPH);
}

/* Returns whether the op's kernels have set the gradients: they compute no graph, and name no op to anomaly mode. */
static bool call_adjoint(mo_vjp *v) {
    mo_tape *t = v->t;
    if (v->create_graph || t->anomaly || !v->op->adjoint)
        return false;
    if (!t->ctx->engine->profiling)
        return v->op->adjoint(v);
    mo_watch_start start = mo_watch_begin(t->ctx);
    bool done = v->op->adjoint(v);
    mo_watch_adjoint(v, start, done);
    return done;
}

/* Runs a node's rule, one of its two. It may turn recording on and take gradients itself; unless a graph is being
 * created, the nodes that it records are dropped with its tensors. */
static void call_rule(run *r, mo_vjp *v) {
    mo_tape *t = r->t;
    mo_scope scope = mo_scope_open(t);
    mo_running outer = mo_tape_enter(t, v->op->name, __builtin_frame_address(0));
    if (!call_adjoint(v) && mo_ok(t->ctx))
        v->op->vjp(v);
    mo_tape_leave(t, &outer);
    t->mode = scope.mode;
    t->recording = scope.recording;
    if (!v->create_graph)
        mo_tape_drop_nodes(t, &scope);
}

static void release_node(run *r, mo_node *node) {
    if (r->flags & (MO_RETAIN | MO_CREATE_GRAPH))
        return;
    for (int i = 0; i < node->n_saved; i++)
        mo_tape_drop(node->saved[i]);
    for (int i = 0; i < node->n_out; i++)
        if (!node->out[i]->kept)
            mo_tape_drop(node->out[i]);
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
    if (!any || !mo_check_recorded(t->ctx, node))
        return;
    int64_t mark = t->n_tensors;
    const mo_node *outer = t->visiting;
    t->visiting = node;
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
        .in_bar = in_bar,
        .create_graph = (r->flags & MO_CREATE_GRAPH) != 0,
        .n_saved = node->n_saved};
    call_rule(r, &v);
    collect(r, node, needs, in_bar, mark);
    t->visiting = outer;
    for (int i = 0; i < node->n_out; i++)
        if (out_bar[i] && !out_slot[i]->wanted && !(r->flags & MO_CREATE_GRAPH)) {
            mo_tape_drop(out_bar[i]);
            out_slot[i]->grad = NULL;
        }
    release_node(r, node);
}

/* ---- the run ---- */

static bool seed_root(run *r, mo_tensor *y, mo_tensor *g) {
    mo_tape *t = r->t;
    y->kept = true; /* the caller reads it after the run */
    mo_slot *slot = y->requires_grad ? mo_slot_of(&r->slots, y) : NULL;
    if (!slot)
        return mo_ok(t->ctx);
    mo_tensor *bar = g;
    char got[160], want[160];
    if (!g)
        bar = mo_full(t, y->dtype, y->ndim, y->shape, 1);
    else if (!mo_same_form(g, y))
        mo_fail(t->ctx, MO_INVALID, "grad: cotangent %s %s, expected %s %s", mo_shape_string(g, got, sizeof got),
            mo_dtype_name(g->dtype), mo_shape_string(y, want, sizeof want), mo_dtype_name(y->dtype));
    else if (!(r->flags & MO_CREATE_GRAPH))
        bar = mo_tape_window(t, g, g->ndim, g->shape, g->stride, 0);
    if (!mo_ok(t->ctx))
        return false;
    mo_contribute(t, slot, bar, r->flags & MO_CREATE_GRAPH);
    return mo_ok(t->ctx);
}

static void sweep_nodes(run *r) {
    mo_tape *t = r->t;
    bool recording = t->recording;
    t->recording = (r->flags & MO_CREATE_GRAPH) != 0;
    for (int64_t i = r->slots.last; i >= r->slots.first && mo_ok(t->ctx); i--)
        visit(r, t->nodes[i]);
    t->recording = recording;
}

static bool begin(run *r, mo_tensor *const *ys, mo_tensor *const *gs, int ny) {
    mo_tape *t = r->t;
    r->mark = mo_host_arena_mark(t->scratch);
    if (!mo_slots_open(&r->slots, t, ys, ny, r->xs, r->nx))
        return false;
    for (int j = 0; j < r->nx; j++) {
        mo_slot *slot = mo_slot_of(&r->slots, r->xs[j]);
        if (slot)
            slot->needed = slot->wanted = true;
    }
    mark_needed(r);
    if (!mo_ok(t->ctx))
        return false;
    for (int i = 0; i < ny; i++)
        if (!seed_root(r, ys[i], gs ? gs[i] : NULL))
            return false;
    return true;
}

/* Adds the gradients of the leaves to the buffers that they own. */
static void deliver(run *r) {
    for (int64_t i = 0; i < r->slots.capacity && mo_ok(r->t->ctx); i++) {
        mo_tensor *leaf = r->slots.leaves[i].leaf, *g = r->slots.leaves[i].slot.grad;
        if (!leaf || !g || !leaf->requires_grad)
            continue;
        mo_leaf_add(r->t, leaf, g);
        mo_tape_drop(g);
    }
}

/* Fills grads; zeros where no path leads. */
static void hand_over(run *r) {
    for (int j = 0; j < r->nx && mo_ok(r->t->ctx); j++) {
        mo_slot *slot = mo_slot_of(&r->slots, r->xs[j]);
        mo_tensor *X = r->xs[j];
        r->grads[j] = slot && slot->grad ? slot->grad : mo_full(r->t, X->dtype, X->ndim, X->shape, 0);
    }
}

static mo_code run_sweep(run *r, const char *what, mo_tensor *const *ys, mo_tensor *const *gs, int ny) {
    mo_tape *t = r->t;
    mo_running outer = mo_tape_enter(t, what, __builtin_frame_address(0));
    if (begin(r, ys, gs, ny)) {
        sweep_nodes(r);
        (r->all_leaves ? deliver : hand_over)(r);
    }
    mo_host_arena_rewind(t->scratch, r->mark);
    mo_tape_leave(t, &outer);
    return t->ctx->status.code;
}

/* Checks the arguments, runs the sweep and fills grads. */
static mo_code take_gradients(run *r, mo_tensor *const *ys, mo_tensor *const *gs, int ny) {
    mo_tape *t = r->t;
    mo_context *ctx = mo_tape_context(t);
    for (int j = 0; r->grads && j < r->nx; j++)
        r->grads[j] = mo_null_tensor(ctx);
    if (!mo_tape_lives(t, "grad"))
        return mo_code_of(ctx);
    bool fine = mo_check_gradient_lists(t, ys, ny, r->xs, r->grads, r->nx) &&
                mo_check_gradient_tensors(t, "output", ys, ny) && mo_check_gradient_tensors(t, "input", r->xs, r->nx) &&
                mo_check_gradient_path(t, ys, ny, r->flags);
    for (int i = 0; fine && gs && i < ny; i++)
        fine = !gs[i] || mo_check_gradient_tensors(t, "cotangent", &gs[i], 1);
    if (!fine)
        return ctx->status.code;
    return run_sweep(r, "grad", ys, gs, ny);
}

mo_code mo_grad(mo_tape *t, mo_tensor *const *ys, mo_tensor *const *gs, int ny, mo_tensor *const *xs, mo_tensor **grads,
    int nx, unsigned flags) {
    run r = {.t = t, .flags = flags, .xs = xs, .grads = grads, .nx = nx};
    return take_gradients(&r, ys, gs, ny);
}

/* Raises MO_INVALID unless the loss is one number. */
static bool is_scalar_loss(mo_context *ctx, const char *caller, const mo_tensor *loss) {
    char text[160];
    if (mo_ok(ctx) && mo_numel(loss) != 1)
        mo_fail(
            ctx, MO_INVALID, "%s: the loss is %s, expected a scalar", caller, mo_shape_string(loss, text, sizeof text));
    return mo_ok(ctx);
}

mo_code mo_gradients(mo_tape *t, mo_tensor *loss, mo_tensor *const *xs, mo_tensor **grads, int n) {
    mo_context *ctx = mo_tape_context(t);
    if (mo_tape_lives(t, "gradients") && mo_check_gradient_tensors(t, "output", &loss, 1))
        is_scalar_loss(ctx, "gradients", loss);
    return mo_grad(t, &loss, NULL, 1, xs, grads, n, 0);
}

mo_code mo_backward(mo_tape *t, mo_tensor *loss) {
    mo_context *ctx = mo_tape_context(t);
    run r = {.t = t, .all_leaves = true};
    if (!mo_tape_lives(t, "backward") || !mo_ok(ctx) || !mo_check_gradient_tensors(t, "output", &loss, 1))
        return mo_code_of(ctx);
    if (is_scalar_loss(ctx, "backward", loss) && !loss->requires_grad)
        mo_fail(ctx, MO_INVALID, "backward: the loss depends on nothing that needs a gradient%s",
            t->mode == MO_EVAL ? " (the tape is in MO_EVAL)" : "");
    if (!mo_ok(ctx))
        return ctx->status.code;
    return run_sweep(&r, "backward", &loss, NULL, 1);
}
