/* autograd/profile.c - where the time goes: calls, seconds, FLOPs and bytes of every op, forward and backward apart.
 *
 * An entry is an op in one place: in the forward pass, or in the rule (vjp) of an op. Its seconds run from entering to
 * leaving mo_apply, less the seconds of the ops that it called itself, so that the sum over entries counts no time
 * twice. Its bytes count each distinct element of inputs and outputs once, which is the least that the algorithm must
 * touch. A kernel can move fewer bytes if they are in a cache; many kernels move more. An adjoint counts the FLOPs of
 * the forward for each factor of its products: twice, or once if the first input needs no gradient. */
#include "autograd/watch.h"
#include "tensor/library.h"

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
    mo_engine *engine = mo_engine_of(ctx);
    struct mo_profile *p = engine ? realloc(engine->profile, sizeof *p + (size_t)capacity * sizeof *p->entries) : NULL;
    if (!p) {
        mo_fail(ctx, MO_MEMORY, "profile: out of memory for %d entries", capacity);
        return NULL;
    }
    p->capacity = capacity;
    engine->profile = p;
    return p;
}

mo_code mo_profile_start(mo_context *ctx) {
    if (!mo_ok(ctx))
        return mo_code_of(ctx);
    struct mo_profile *p = resize(ctx, ctx->engine && ctx->engine->profile ? ctx->engine->profile->capacity : 64);
    if (p) {
        p->count = 0;
        p->seconds = p->inner = 0;
        p->since = mo_clock(CLOCK_MONOTONIC);
        ctx->engine->profiling = true;
    }
    return ctx->status.code;
}

void mo_profile_stop(mo_context *ctx) {
    if (!ctx || !ctx->engine)
        return;
    if (ctx->engine->profiling)
        ctx->engine->profile->seconds = mo_profile_seconds(ctx);
    ctx->engine->profiling = false;
}

double mo_profile_seconds(const mo_context *ctx) {
    const struct mo_profile *p = ctx && ctx->engine ? ctx->engine->profile : NULL;
    return !p ? 0 : ctx->engine->profiling ? mo_clock(CLOCK_MONOTONIC) - p->since : p->seconds;
}

/* ---- one execution ---- */

mo_watch_start mo_watch_begin(mo_context *ctx) {
    mo_context_wait(ctx); /* a device works ahead of the host: only finished work can be timed */
    mo_watch_start start = {.seconds = mo_clock(CLOCK_MONOTONIC), .inner = ctx->engine->profile->inner};
    ctx->engine->profile->inner = 0;
    return start;
}

static double touched(const mo_tensor *T) {
    double n = (double)mo_dtype_size(T->dtype);
    for (int i = 0; i < T->ndim; i++)
        if (T->stride[i] || T->shape[i] == 0)
            n *= (double)T->shape[i];
    return n;
}

/* Ends a measurement. Returns the entry of the same place as `at`, made if need be, with the time added; NULL without
 * memory, or if the execution failed. */
static mo_profile_entry *add_time(mo_context *ctx, mo_watch_start start, mo_profile_entry at) {
    mo_context_wait(ctx);
    struct mo_profile *p = ctx->engine->profile;
    double elapsed = mo_clock(CLOCK_MONOTONIC) - start.seconds, inner = p->inner;
    p->inner = start.inner + elapsed;
    int i = 0;
    while (i < p->count && (p->entries[i].op != at.op || p->entries[i].vjp_of != at.vjp_of ||
                               p->entries[i].backward != at.backward || p->entries[i].adjoint != at.adjoint))
        i++;
    if (!mo_ok(ctx) || (i == p->capacity && !(p = resize(ctx, 2 * p->capacity))))
        return NULL;
    if (i == p->count)
        p->entries[p->count++] = at;
    p->entries[i].calls++;
    p->entries[i].seconds += elapsed - inner;
    return &p->entries[i];
}

void mo_watch_adjoint(const mo_vjp *v, mo_watch_start start, bool done) {
    const mo_op *op = v->op;
    if (!done) { /* the enclosing op keeps the time of the ops that it had called */
        v->t->ctx->engine->profile->inner += start.inner;
        return;
    }
    mo_profile_entry *e =
        add_time(v->t->ctx, start, (mo_profile_entry){.op = op, .backward = true, .vjp_of = op, .adjoint = true});
    if (!e)
        return;
    mo_call forward = {.t = v->t, .ctx = v->t->ctx, .op = op, .n_in = v->n_in, .n_out = v->n_out};
    forward.attributes = v->attributes;
    for (int i = 0; i < v->n_in; i++) {
        forward.in[i] = v->in[i];
        e->bytes += touched(v->in[i]) + (v->needs[i] && v->in_bar[i] ? touched(v->in_bar[i]) : 0);
    }
    for (int i = 0; i < v->n_out; i++) {
        forward.out[i] = v->out[i];
        e->bytes += v->out_bar[i] ? touched(v->out_bar[i]) : 0;
    }
    double flops = op->flops ? op->flops(&forward) : (double)mo_numel(v->out[0]);
    e->flops += v->needs[0] ? 2 * flops : flops;
}

void mo_watch_end(const mo_call *c, mo_watch_start start) {
    const mo_op *rule = c->t->visiting && c->op != &mo_op_accumulate ? c->t->visiting->op : NULL;
    mo_profile_entry *e =
        add_time(c->ctx, start, (mo_profile_entry){.op = c->op, .backward = mo_in_backward(c), .vjp_of = rule});
    if (!e || c->op->is_view)
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
    struct mo_profile *p = ctx && ctx->engine ? ctx->engine->profile : NULL;
    if (!p)
        return 0;
    qsort(p->entries, (size_t)p->count, sizeof *p->entries, compare_entries);
    int n = p->count < capacity ? p->count : capacity;
    if (n > 0 && entries)
        memcpy(entries, p->entries, (size_t)n * sizeof *entries);
    return p->count;
}
