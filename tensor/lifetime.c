/* tensor/lifetime.c - keeps track of a context's living objects: its tensors, its tapes, and released tensors that
 * nodes still point to.
 *
 * A node holds pointers to its inputs. A released tensor is therefore buried: its header, without its value, stays
 * until every tape that had nodes at that moment has been reset; in debug mode until its context is released. */
#include "tensor/objects.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { NAMES = 4 };

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

void mo_holder_open(mo_context *ctx, mo_holder *h, const int64_t *nodes) {
    *h = (mo_holder){.next = ctx->tapes, .nodes = nodes, .since = ctx->burials};
    if (h->next)
        h->next->previous = h;
    ctx->tapes = h;
}

static void free_header(mo_tensor *T) {
    free(T->name);
    mo_host_free(T->ctx, T, sizeof *T);
}

/* Frees the headers that were buried before the first node of every tape was recorded: no node can point to them. */
static void free_buried(mo_context *ctx) {
    if (ctx->debug)
        return;
    uint64_t oldest = ctx->burials;
    for (const mo_holder *h = ctx->tapes; h; h = h->next)
        if (*h->nodes && h->since < oldest)
            oldest = h->since;
    while (ctx->buried && ctx->buried->burial < oldest) {
        mo_tensor *T = ctx->buried;
        ctx->buried = T->next;
        free_header(T);
    }
    mo_free_released_csr(ctx, oldest);
}

void mo_holder_emptied(mo_context *ctx, mo_holder *h) {
    h->since = ctx->burials;
    if (ctx->buried || ctx->released)
        free_buried(ctx);
}

void mo_holder_close(mo_context *ctx, mo_holder *h) {
    if (h->previous)
        h->previous->next = h->next;
    else if (ctx->tapes == h)
        ctx->tapes = h->next;
    if (h->next)
        h->next->previous = h->previous;
    if (ctx->buried || ctx->released)
        free_buried(ctx);
}

bool mo_must_stay(const mo_context *ctx) {
    if (ctx->debug)
        return true;
    for (const mo_holder *h = ctx->tapes; h; h = h->next)
        if (*h->nodes)
            return true;
    return false;
}

void mo_free_all_buried(mo_context *ctx) {
    while (ctx->buried) {
        mo_tensor *T = ctx->buried;
        ctx->buried = T->next;
        ctx->counters.bytes_live += (int64_t)sizeof *T;
        free_header(T);
    }
}

void mo_tensor_hold(mo_tensor *T) {
    T->holders++;
}

void mo_tensor_let_go(mo_tensor *T) {
    if (--T->holders == 0 && T->freed == MO_FREED_BY_RELEASE)
        mo_bury(T);
}

void mo_bury(mo_tensor *T) {
    mo_context *ctx = T->ctx;
    T->freed = MO_FREED_BY_RELEASE;
    T->storage = NULL;
    T->grad = NULL;
    if (T->holders)
        return;
    if (ctx->debug) /* bytes_live does not count headers of released tensors */
        ctx->counters.bytes_live -= (int64_t)sizeof *T;
    else if (!mo_must_stay(ctx)) {
        free_header(T);
        return;
    }
    T->burial = ctx->burials++;
    if (ctx->buried)
        ctx->last_buried->next = T;
    else
        ctx->buried = T;
    ctx->last_buried = T;
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
    int64_t tapes = 0, bytes = ctx->counters.bytes_live - ctx->empty_bytes;
    for (const mo_holder *h = ctx->tapes; h; h = h->next)
        tapes++;
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
