/* autograd/tape.c - the tape: an arena of values, a list of headers and a list of nodes, all freed by one reset. */
#include "autograd/tape.h"

#include <stdlib.h>
#include <string.h>

mo_tape *mo_tape_create(mo_context *ctx, mo_mode mode) {
    mo_tape *t = mo_host_alloc(ctx, sizeof *t);
    if (!t)
        return NULL;
    t->ctx = ctx;
    t->arena = mo_arena_create(ctx);
    t->host = mo_host_arena_create(ctx);
    t->graph = mo_host_arena_create(ctx);
    t->scratch = mo_host_arena_create(ctx);
    if (!t->arena || !t->host || !t->graph || !t->scratch) {
        mo_tape_release(t);
        return NULL;
    }
    mo_tape_set_mode(t, mode);
    return t;
}

void mo_tape_set_mode(mo_tape *t, mo_mode mode) {
    t->mode = mode;
    t->recording = mode == MO_RECORD;
}

mo_mode mo_tape_mode(const mo_tape *t) {
    return t->mode;
}

mo_context *mo_tape_context(const mo_tape *t) {
    return t->ctx;
}

int64_t mo_tape_nodes(const mo_tape *t) {
    return t->n_nodes;
}

void mo_tape_reset(mo_tape *t) {
    for (int64_t i = 0; i < t->n_tensors; i++) {
        mo_tensor_release(t->tensors[i]->grad); /* the gradient of a constant that was made a leaf */
        mo_storage_release(t->tensors[i]->storage);
    }
    t->n_tensors = 0;
    t->n_nodes = 0;
    t->n_slots = 0;
    t->spare_headers = NULL;
    mo_host_arena_reset(t->host);
    mo_host_arena_reset(t->graph);
    mo_arena_reset(t->arena);
}

void mo_tape_release(mo_tape *t) {
    if (!t)
        return;
    if (t->arena && t->host && t->graph)
        mo_tape_reset(t);
    mo_arena_release(t->arena);
    mo_host_arena_release(t->host);
    mo_host_arena_release(t->graph);
    mo_host_arena_release(t->scratch);
    mo_host_free(t->ctx, t->tensors, (size_t)t->capacity_tensors * sizeof *t->tensors);
    mo_host_free(t->ctx, t->nodes, (size_t)t->capacity_nodes * sizeof *t->nodes);
    mo_host_free(t->ctx, t, sizeof *t);
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
    T->dtype = dtype;
    T->ndim = ndim;
    if (ndim)
        memcpy(T->shape, shape, (size_t)ndim * sizeof *shape);
    mo_contiguous_strides(ndim, T->shape, T->stride);
    t->tensors[t->n_tensors++] = T;
    return T;
}

mo_tensor *mo_tape_tensor(mo_tape *t, mo_dtype dtype, int ndim, const int64_t *shape) {
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

void mo_tape_drop(mo_tape *t, mo_tensor *T) {
    (void)t;
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
        mo_tensor_release(T->grad);
        mo_storage_release(T->storage);
        T->storage = NULL;
        T->grad = t->spare_headers;
        t->spare_headers = T;
    }
    t->n_tensors = kept;
}

mo_tensor *mo_full(mo_tape *t, mo_dtype dtype, int ndim, const int64_t *shape, double value) {
    mo_tensor *T = mo_tape_tensor(t, dtype, ndim, shape);
    if (!mo_is_null(T))
        mo_tensor_fill(T, value);
    return T;
}

mo_tensor *mo_scalar(mo_tape *t, mo_dtype dtype, double value) {
    mo_tensor *T = mo_full(t, dtype, 0, NULL, value);
    if (!mo_is_null(T))
        mo_tensor_remember(T, value);
    return T;
}

mo_tensor *mo_from(mo_tape *t, mo_dtype dtype, int ndim, const int64_t *shape, const void *host) {
    mo_tensor *T = mo_tape_tensor(t, dtype, ndim, shape);
    if (!mo_is_null(T))
        mo_tensor_write(T, host, (size_t)mo_numel(T) * mo_dtype_size(dtype));
    return T;
}

mo_tensor *mo_stop_gradient(mo_tape *t, mo_tensor *X) {
    if (!mo_ok(t->ctx))
        return mo_null_tensor(t->ctx);
    if (mo_is_null(X))
        mo_fail(t->ctx, MO_INVALID, "stop_gradient: the input is null");
    else if (X->ctx != t->ctx || (X->tape && X->tape != t))
        mo_fail(t->ctx, MO_MISMATCH, "stop_gradient: the input belongs to another %s",
            X->ctx != t->ctx ? "context" : "tape");
    else
        mo_tensor_view(X); /* raises if the value has been released */
    if (!mo_ok(t->ctx))
        return mo_null_tensor(t->ctx);
    return mo_tape_window(t, X, X->ndim, X->shape, X->stride, 0);
}

mo_tensor *mo_keep(mo_tensor *X) {
    if (!mo_is_null(X))
        X->kept = true;
    return X;
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
        .vjp_of = t->visiting};
    t->n_slots += c->n_out;
    node->in = (mo_tensor **)(node + 1);
    node->out = node->in + c->n_in;
    node->saved = node->out + c->n_out;
    node->version = (uint64_t *)(node->saved + c->n_saved);
    memcpy(node->in, c->in, (size_t)c->n_in * sizeof *c->in);
    memcpy(node->out, c->out, (size_t)c->n_out * sizeof *c->out);
    memcpy(node->saved, c->saved, (size_t)c->n_saved * sizeof *c->saved);
    for (int i = 0; i < c->n_in; i++)
        node->version[i] = c->in[i]->storage->version;
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
}
