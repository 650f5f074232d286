/* autograd/profile.c - where the time goes: calls, seconds, FLOPs and bytes of every op, forward and backward apart.
 *
 * An entry is an op in one place: in the forward pass, or in the rule (vjp) of an op. Its seconds run from entering to
 * leaving mo_apply, less the seconds of the ops that it called itself, so that the sum over entries counts no time
 * twice. Its bytes count each distinct element of inputs and outputs once, which is the least that the algorithm must
 * touch. A kernel can move fewer bytes if they are in a cache; many kernels move more. */
#include "autograd/watch.h"
#include "tensor/hidden.h"

#include <stdlib.h>
#include <string.h>

struct mo_profile {
    int capacity, count;
    double since;   /* start time; 0 while stopped */
    double seconds; /* seconds of the last profile, set by mo_profile_stop */
    double inner;   /* seconds of the ops that the running op has called */
    mo_profile_entry entries[];
};

static struct mo_profile *resize(mo_context *ctx, int capacity) {
    struct mo_profile *p = realloc(ctx->profile, sizeof *p + (size_t)capacity * sizeof *p->entries);
    if (!p) {
        mo_fail(ctx, MO_MEMORY, "profile: out of memory for %d entries", capacity);
        return NULL;
    }
    p->capacity = capacity;
    ctx->profile = p;
    return p;
}

mo_code mo_profile_start(mo_context *ctx) {
    if (!mo_ok(ctx))
        return mo_code_of(ctx);
    struct mo_profile *p = resize(ctx, ctx->profile ? ctx->profile->capacity : 64);
    if (p) {
        p->count = 0;
        p->seconds = p->inner = 0;
        p->since = mo_clock(CLOCK_MONOTONIC);
        ctx->profiling = true;
    }
    return ctx->status.code;
}

void mo_profile_stop(mo_context *ctx) {
    if (!ctx)
        return;
    if (ctx->profiling)
        ctx->profile->seconds = mo_profile_seconds(ctx);
    ctx->profiling = false;
}

double mo_profile_seconds(const mo_context *ctx) {
    if (!ctx || !ctx->profile)
        return 0;
    return ctx->profiling ? mo_clock(CLOCK_MONOTONIC) - ctx->profile->since : ctx->profile->seconds;
}

/* ---- one execution ---- */

mo_watch_start mo_watch_begin(mo_context *ctx) {
    mo_context_wait(ctx); /* a device works ahead of the host: only finished work can be timed */
    mo_watch_start start = {.seconds = mo_clock(CLOCK_MONOTONIC), .inner = ctx->profile->inner};
    ctx->profile->inner = 0;
    return start;
}

static double touched(const mo_tensor *T) {
    double n = (double)mo_dtype_size(T->dtype);
    for (int i = 0; i < T->ndim; i++)
        if (T->stride[i] || T->shape[i] == 0)
            n *= (double)T->shape[i];
    return n;
}

static mo_profile_entry *find_entry(mo_context *ctx, const mo_op *op, bool backward, const mo_op *vjp_of) {
    struct mo_profile *p = ctx->profile;
    for (int i = 0; i < p->count; i++)
        if (p->entries[i].op == op && p->entries[i].vjp_of == vjp_of && p->entries[i].backward == backward)
            return &p->entries[i];
    if (p->count == p->capacity && !(p = resize(ctx, 2 * p->capacity)))
        return NULL;
    p->entries[p->count] = (mo_profile_entry){.op = op, .backward = backward, .vjp_of = vjp_of};
    return &p->entries[p->count++];
}

void mo_watch_end(const mo_call *c, mo_watch_start start) {
    mo_context *ctx = c->ctx;
    mo_context_wait(ctx);
    double elapsed = mo_clock(CLOCK_MONOTONIC) - start.seconds, inner = ctx->profile->inner;
    ctx->profile->inner = start.inner + elapsed;
    if (!mo_ok(ctx))
        return;
    const mo_op *rule = c->t->visiting && c->op != &mo_op_accumulate ? c->t->visiting->op : NULL;
    mo_profile_entry *e = find_entry(ctx, c->op, mo_in_backward(c), rule);
    if (!e)
        return;
    e->calls++;
    e->seconds += elapsed - inner;
    if (c->op->is_view)
        return;
    for (int i = 0; i < c->n_in; i++)
        e->bytes += touched(c->in[i]);
    for (int i = 0; i < c->n_out; i++) {
        e->bytes += touched(c->out[i]);
        e->flops += c->op->flops ? 0 : (double)mo_numel(c->out[i]);
    }
    e->flops += c->op->flops ? c->op->flops(c) : 0;
}

/* ---- results ---- */

static int compare_entries(const void *a, const void *b) {
    const mo_profile_entry *x = a, *y = b;
    if (x->backward != y->backward)
        return x->backward - y->backward;
    return (x->seconds < y->seconds) - (x->seconds > y->seconds);
}

int mo_profile_entries(const mo_context *ctx, mo_profile_entry *entries, int capacity) {
    struct mo_profile *p = ctx ? ctx->profile : NULL;
    if (!p)
        return 0;
    qsort(p->entries, (size_t)p->count, sizeof *p->entries, compare_entries);
    int n = p->count < capacity ? p->count : capacity;
    if (n > 0 && entries)
        memcpy(entries, p->entries, (size_t)n * sizeof *entries);
    return p->count;
}
