/* tensor/lifetime.c - keeps track of a context's living objects, and of the headers of released tensors.
 *
 * Nodes and optimizers hold the tensors that they point to. A released tensor is buried: its header, without its value,
 * stays while it is held, and beyond that as one of the RECENT headers that were released last, so that a use after the
 * release raises an error that names the tensor. In debug mode every header stays until its context is released. */
#include "tensor/objects.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { NAMES = 4, RECENT = 256 };

void mo_tensor_unlist(mo_tensor *T) {
    if (mo_is_null(T) || !T->listed)
        return;
    if (T->previous)
        T->previous->next = T->next;
    else
        T->ctx->tensors = T->next;
    if (T->next)
        T->next->previous = T->previous;
    T->previous = T->next = NULL;
    T->listed = false;
}

static void free_oldest(mo_context *ctx) {
    mo_tensor *T = ctx->buried;
    ctx->buried = T->next;
    ctx->n_buried--;
    free(T->name);
    free(T);
}

void mo_free_all_buried(mo_context *ctx) {
    while (ctx->buried)
        free_oldest(ctx);
}

void mo_bury(mo_tensor *T) {
    mo_context *ctx = T->ctx;
    T->freed = MO_FREED_BY_RELEASE;
    T->storage = NULL;
    T->grad = NULL;
    if (T->holders)
        return;
    mo_host_uncount(ctx, sizeof *T);
    if (ctx->buried)
        ctx->last_buried->next = T;
    else
        ctx->buried = T;
    ctx->last_buried = T;
    if (++ctx->n_buried > RECENT && !ctx->debug)
        free_oldest(ctx);
}

void mo_tensor_hold(mo_tensor *T) {
    T->holders++;
}

void mo_tensor_let_go(mo_tensor *T) {
    if (--T->holders == 0 && T->freed == MO_FREED_BY_RELEASE)
        mo_bury(T);
}

/* Writes ", 3 tensors (W [4, 32], [7], ..)": the newest ones first. */
static size_t name_tensors(const mo_context *ctx, char *text, size_t bytes) {
    int64_t n = 0;
    size_t used = 0;
    char names[512] = "", shape[160];
    for (const mo_tensor *T = ctx->tensors; T; T = T->next, n++)
        if (n < NAMES)
            used += (size_t)snprintf(names + used, sizeof names - used, "%s%.60s%s%s", n ? ", " : "",
                T->name ? T->name : "", T->name ? " " : "", mo_shape_string(T, shape, sizeof shape));
    if (!n)
        return 0;
    return (size_t)snprintf(
        text, bytes, ", %" PRId64 " tensor%s (%s%s)", n, n > 1 ? "s" : "", names, n > NAMES ? ", .." : "");
}

bool mo_context_in_use(mo_context *ctx) {
    int64_t tapes = ctx->n_tapes, bytes = ctx->counters.bytes_live - ctx->empty_bytes;
    if (!tapes && !ctx->n_csr && !ctx->tensors)
        return false;
    char text[800] = "";
    size_t used = 0;
    if (tapes)
        used += (size_t)snprintf(text, sizeof text, ", %" PRId64 " tape%s", tapes, tapes > 1 ? "s" : "");
    used += name_tensors(ctx, text + used, sizeof text - used);
    if (ctx->n_csr)
        used += (size_t)snprintf(
            text + used, sizeof text - used, ", %" PRId64 " CSR matri%s", ctx->n_csr, ctx->n_csr > 1 ? "ces" : "x");
    mo_fail(ctx, MO_STATE,
        "context_release: %s (%" PRId64 " bytes) must be released before their context; nothing was freed", text + 2,
        bytes);
    return true;
}
