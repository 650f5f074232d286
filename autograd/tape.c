/* autograd/tape.c - the tape: an arena of values, a list of headers and a list of nodes, all freed by one reset. */
#include "autograd/tape.h"

#include <string.h>

enum { MOST_REMAINS = 1 << 20 }; /* bytes */

mo_tape *mo_tape_create(mo_context *ctx, mo_mode mode) {
    mo_tape *t = ctx && mo_engine_of(ctx) ? mo_host_alloc(ctx, sizeof *t) : NULL;
    if (!t)
        return NULL;
    t->ctx = ctx;
    ctx->n_tapes++;
    t->arena = mo_arena_create(ctx);
    t->host = mo_host_arena_create(ctx);
    t->dead = mo_host_arena_create(ctx);
    t->graph = mo_host_arena_create(ctx);
    t->scratch = mo_host_arena_create(ctx);
    if (!t->arena || !t->host || !t->dead || !t->graph || !t->scratch) {
        mo_tape_release(t);
        return NULL;
    }
    mo_tape_set_mode(t, mode);
    return t;
}

bool mo_tape_lives(const mo_tape *t, const char *what) {
    if (t && t->released)
        mo_fail(t->ctx, MO_STATE, "%s: the tape was released by mo_tape_release", what);
    return t && !t->released;
}

void mo_tape_set_mode(mo_tape *t, mo_mode mode) {
    if (!t)
        return;
    t->mode = mode;
    t->recording = mode == MO_RECORD;
}

mo_mode mo_tape_mode(const mo_tape *t) {
    return t ? t->mode : MO_EVAL;
}

mo_tape *mo_tape_at(mo_tape *t, const char *file, int line) {
    if (t) {
        t->ctx->file = file;
        t->ctx->line = line;
    }
    return t;
}

mo_context *mo_tape_context(const mo_tape *t) {
    return t ? t->ctx : NULL;
}

int64_t mo_tape_nodes(const mo_tape *t) {
    return t ? t->n_nodes : 0;
}

const char *mo_tape_section(mo_tape *t, const char *name) {
    if (!mo_tape_lives(t, "tape_section"))
        return NULL;
    const char *before = t->section;
    if (!t->recording)
        return before;
    size_t bytes = name ? strlen(name) + 1 : 0;
    char *copy = name && mo_ok(t->ctx) ? mo_host_arena_alloc(t->host, bytes) : NULL;
    if (copy)
        memcpy(copy, name, bytes);
    t->section = copy;
    return before;
}

mo_running mo_tape_enter(mo_tape *t, const char *what, const void *frame) {
    mo_running outer = t->running;
    t->running = (mo_running){.what = what,
        .frame = frame,
        .mode = outer.what ? outer.mode : t->mode,
        .tensors = t->n_tensors,
        .nodes = t->n_nodes};
    return outer;
}

void mo_tape_leave(mo_tape *t, const mo_running *outer) {
    t->running = *outer;
}

bool mo_tape_made(const mo_tape *t, const mo_tensor *T) {
    for (int64_t i = t->n_tensors - 1; i >= t->running.tensors; i--)
        if (t->tensors[i] == T)
            return true;
    return false;
}

/* Returns whether nothing runs on the tape; raises if a function that the library calls wants to free what it runs on.
 * If the caller's frame does not lie below the frame that runs, that one was left by a jump: the tape then gets back
 * its state from before. */
static bool is_idle(mo_tape *t, const char *what, const void *caller) {
    if (!t->running.what)
        return true;
    if ((uintptr_t)caller < (uintptr_t)t->running.frame)
        return mo_fail(t->ctx, MO_STATE, "%s: called in %s, which is running on this tape", what, t->running.what);
    mo_tape_set_mode(t, t->running.mode);
    t->running = (mo_running){0};
    t->visiting = NULL;
    mo_host_arena_reset(t->scratch);
    return true;
}

/* Frees the storage of a header and marks the header: a later use of it raises an error. */
static void let_go(mo_tensor *T, mo_freed by) {
    mo_tensor_release(T->grad); /* set for a constant that was made a leaf */
    mo_storage_release(T->storage);
    T->grad = NULL;
    T->storage = NULL;
    T->node = NULL;
    T->requires_grad = false;
    T->freed = by;
}

/* Keeps the headers freed by this reset, which are marked, until the next reset. Frees the headers that the reset
 * before kept. */
static void change_host(mo_tape *t) {
    mo_host_arena *last = t->host;
    t->host = t->dead;
    t->dead = last;
    mo_host_arena_reset(t->host);
    mo_host_arena_match(t->host, last);
}

void mo_tape_drop_nodes(mo_tape *t, const mo_scope *scope) {
    mo_context *ctx = t->ctx;
    ctx->n_nodes -= t->n_nodes - scope->nodes;
    while (t->n_nodes > scope->nodes) {
        const mo_node *node = t->nodes[--t->n_nodes];
        for (int i = 0; i < node->n_in; i++)
            if (!node->in[i]->tape)
                mo_tensor_let_go(node->in[i]);
    }
    t->n_slots = scope->slots;
    mo_host_arena_rewind(t->graph, (mo_host_mark){scope->block, scope->used});
    if (ctx->released && !ctx->n_nodes && !ctx->debug)
        mo_free_released_csr(ctx);
}

void mo_tape_reset(mo_tape *t) {
    if (!mo_tape_lives(t, "tape_reset") || !is_idle(t, "tape_reset", __builtin_frame_address(0)))
        return;
    t->resets++;
    mo_tape_drop_nodes(t, &(mo_scope){0});
    for (int64_t i = 0; i < t->n_tensors; i++)
        let_go(t->tensors[i], MO_FREED_BY_RESET);
    t->n_tensors = 0;
    t->section = NULL;
    t->spare_headers = NULL;
    if (!t->ctx->debug)
        change_host(t);
    mo_arena_reset(t->arena);
}

void mo_tape_free_remains(mo_tape *t) {
    for (mo_tape *older; t; t = older) {
        older = t->older;
        t->ctx->counters.bytes_live += t->remains;
        mo_host_arena_release(t->host);
        mo_host_arena_release(t->dead);
        mo_host_free(t->ctx, t, sizeof *t);
    }
}

/* The context keeps the tape that was released last (in debug mode, every tape), uncounted, so that a use after release
 * is reported. Outside debug mode, tapes above MOST_REMAINS are freed. */
static void keep_remains(mo_tape *t) {
    mo_context *ctx = t->ctx;
    size_t bytes = sizeof *t + mo_host_arena_bytes(t->host) + mo_host_arena_bytes(t->dead);
    t->released = true;
    if (bytes > MOST_REMAINS && !ctx->debug) {
        mo_tape_free_remains(t);
        return;
    }
    if (ctx->debug)
        t->older = ctx->engine->remains;
    else
        mo_tape_free_remains(ctx->engine->remains);
    ctx->engine->remains = t;
    t->remains = (int64_t)bytes;
    ctx->counters.bytes_live -= t->remains;
}

void mo_tape_release(mo_tape *t) {
    if (!mo_tape_lives(t, "tape_release") || !is_idle(t, "tape_release", __builtin_frame_address(0)))
        return;
    bool complete = t->arena && t->host && t->dead && t->graph && t->scratch;
    if (complete)
        mo_tape_reset(t);
    t->ctx->n_tapes--;
    mo_arena_release(t->arena);
    mo_host_arena_release(t->graph);
    mo_host_arena_release(t->scratch);
    mo_host_free(t->ctx, t->tensors, (size_t)t->capacity_tensors * sizeof *t->tensors);
    mo_host_free(t->ctx, t->nodes, (size_t)t->capacity_nodes * sizeof *t->nodes);
    if (complete)
        keep_remains(t);
    else
        mo_tape_free_remains(t);
}

/* Makes room for one more pointer in a growing list. */
static bool reserve(mo_context *ctx, void ***list, int64_t n, int64_t *capacity) {
    if (n < *capacity)
        return true;
    int64_t more = *capacity ? 2 * *capacity : 256;
    void **grown = mo_host_alloc(ctx, (size_t)more * sizeof *grown);
    if (!grown)
        return false;
    if (n)
        memcpy(grown, *list, (size_t)n * sizeof *grown);
    mo_host_free(ctx, *list, (size_t)*capacity * sizeof *grown);
    *list = grown;
    *capacity = more;
    return true;
}

mo_tensor *mo_tape_header(mo_tape *t, mo_dtype dtype, int ndim, const int64_t *shape) {
    if (!mo_ok(t->ctx) || mo_shape_numel(t->ctx, "tape", ndim, shape) < 0)
        return NULL;
    if ((unsigned)dtype >= MO_DTYPES) {
        mo_fail(t->ctx, MO_INVALID, "tape: unknown dtype %d", (int)dtype);
        return NULL;
    }
    if (!reserve(t->ctx, (void ***)&t->tensors, t->n_tensors, &t->capacity_tensors))
        return NULL;
    mo_tensor *T = t->spare_headers;
    if (T) {
        t->spare_headers = T->grad;
        memset(T, 0, sizeof *T);
    } else {
        T = mo_host_arena_alloc(t->host, sizeof *T);
        if (!T)
            return NULL;
    }
    T->ctx = t->ctx;
    T->tape = t;
    T->file = t->ctx->file;
    T->line = t->ctx->line;
    T->dtype = dtype;
    T->ndim = ndim;
    if (ndim)
        memcpy(T->shape, shape, (size_t)ndim * sizeof *shape);
    mo_contiguous_strides(ndim, T->shape, T->stride);
    t->tensors[t->n_tensors++] = T;
    return T;
}

mo_tensor *mo_tape_tensor(mo_tape *t, mo_dtype dtype, int ndim, const int64_t *shape) {
    if (!mo_tape_lives(t, "tensor"))
        return mo_null_tensor(mo_tape_context(t));
    mo_tensor *T = mo_tape_header(t, dtype, ndim, shape);
    if (!T)
        return mo_null_tensor(t->ctx);
    T->storage = mo_arena_storage(t->arena, (size_t)mo_numel(T) * mo_dtype_size(dtype));
    return T->storage ? T : mo_null_tensor(t->ctx);
}

mo_tensor *mo_tape_window(
    mo_tape *t, const mo_tensor *X, int ndim, const int64_t *shape, const int64_t *stride, int64_t offset) {
    mo_tensor *T = mo_tape_header(t, X->dtype, ndim, shape);
    if (!T)
        return mo_null_tensor(t->ctx);
    if (ndim)
        memcpy(T->stride, stride, (size_t)ndim * sizeof *stride);
    T->offset = X->offset + offset;
    T->storage = X->storage;
    mo_storage_retain(T->storage);
    return T;
}

void mo_tape_drop(mo_tensor *T) {
    mo_storage_release(T->storage);
    T->storage = NULL;
}

void mo_tape_sweep(mo_tape *t, int64_t mark, mo_tensor *const *keep, int n) {
    int64_t kept = mark;
    for (int64_t i = mark; i < t->n_tensors; i++) {
        mo_tensor *T = t->tensors[i];
        bool wanted = false;
        for (int k = 0; k < n && !wanted; k++)
            wanted = keep[k] == T;
        if (wanted) {
            t->tensors[kept++] = T;
            continue;
        }
        let_go(T, MO_FREED_BY_SCOPE);
        if (t->ctx->debug)
            continue;
        T->grad = t->spare_headers;
        t->spare_headers = T;
    }
    t->n_tensors = kept;
}

/* The node's arrays lie in one block: inputs, outputs, by-products, versions, options. */
void mo_tape_record(mo_tape *t, const mo_call *c) {
    int pointers = c->n_in + c->n_out + c->n_saved;
    size_t bytes =
        sizeof(mo_node) + (size_t)pointers * sizeof(void *) + (size_t)(c->n_in + c->n_out) * sizeof(uint64_t);
    bytes = (bytes + 15) / 16 * 16;
    if (!reserve(t->ctx, (void ***)&t->nodes, t->n_nodes, &t->capacity_nodes))
        return;
    mo_node *node = mo_host_arena_alloc(t->graph, bytes + c->op->attributes_size);
    if (!node)
        return;
    *node = (mo_node){.op = c->op,
        .n_in = c->n_in,
        .n_out = c->n_out,
        .n_saved = c->n_saved,
        .index = t->n_nodes,
        .first_slot = t->n_slots,
        .section = t->visiting ? t->visiting->section : t->section,
        .vjp_of = t->visiting};
    t->n_slots += c->n_out;
    node->in = (mo_tensor **)(node + 1);
    node->out = node->in + c->n_in;
    node->saved = node->out + c->n_out;
    node->version = (uint64_t *)(node->saved + c->n_saved);
    memcpy(node->in, c->in, (size_t)c->n_in * sizeof *c->in);
    memcpy(node->out, c->out, (size_t)c->n_out * sizeof *c->out);
    memcpy(node->saved, c->saved, (size_t)c->n_saved * sizeof *c->saved);
    for (int i = 0; i < c->n_in; i++) {
        node->version[i] = c->in[i]->storage->version;
        if (!c->in[i]->tape)
            mo_tensor_hold(c->in[i]);
    }
    for (int i = 0; i < c->n_out; i++) {
        node->version[c->n_in + i] = c->out[i]->storage->version;
        c->out[i]->node = node;
        c->out[i]->requires_grad = mo_dtype_is_real(c->out[i]->dtype);
    }
    if (c->op->attributes_size) {
        void *attributes = (char *)node + bytes;
        memcpy(attributes, c->attributes, c->op->attributes_size);
        node->attributes = attributes;
    }
    t->nodes[t->n_nodes++] = node;
    t->ctx->n_nodes++;
}
