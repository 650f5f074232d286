/* train/episodes/pool_features.c - chooses for each source of a pool the graph of its features, and the place where
 * they are made and kept.
 *
 * Features outside the device belong to a CPU context that the pool owns. A graph is in host memory, so a copy of its
 * struct in that context shares its arrays. */
#include "train/episodes/pool.h"

#include "tensor/files/number_text.h"
#include "tensor/storage.h"
#include "train/features/feature_memory.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

static void tell_pool(const mo_pool *pool, const mo_graph *graph, mo_task task, int64_t links) {
    char line[512];
    if (!pool->notice)
        return;
    snprintf(line, sizeof line, "features: %s:%s, %" PRId64 " nodes, %" PRId64 " edges%s%s%.300s", graph->name,
        mo_task_name(task), graph->nodes, graph->nnz / 2 - links, links ? " after masking" : "",
        graph->left_out ? "; left out: " : "", graph->left_out ? graph->left_out : "");
    pool->notice(line, pool->state);
}

static mo_feature_place choose_place(const mo_pool *pool, const mo_graph *graph, mo_task task) {
    double needed, left;
    char line[512];
    if (pool->options.place != MO_FEATURES_AUTO)
        return pool->options.place;
    if (mo_features_fit(pool->ctx, graph, task, &pool->options, &needed, &left))
        return MO_FEATURES_ON_DEVICE;
    mo_format(line, sizeof line,
        "features: %s:%s need %.2f GB, the device has %.2f GB left for features: they stay in host memory", graph->name,
        mo_task_name(task), 1e-9 * needed, 1e-9 * fmax(left, 0));
    if (pool->notice)
        pool->notice(line, pool->state);
    return MO_FEATURES_ON_HOST;
}

/* The context for features at that place. Returns NULL on failure. */
static mo_context *context_of(mo_pool *pool, mo_feature_place place) {
    mo_context *ctx = pool->ctx;
    if (place == MO_FEATURES_ON_DEVICE || mo_context_device(ctx) == MO_CPU)
        return ctx;
    if (!pool->host)
        pool->host = mo_context_create(&(mo_context_options){.threads = mo_context_threads(ctx)});
    if (!pool->host)
        mo_fail(ctx, MO_MEMORY, "features: out of memory for a context of the CPU");
    return pool->host;
}

static void open_features(mo_pool *pool, mo_source *s) {
    mo_feature_options o = pool->options;
    const mo_graph *graph = s->links ? s->links->masked : s->graph;
    mo_context *ctx = pool->ctx, *own;
    o.place = choose_place(pool, graph, s->task);
    own = context_of(pool, o.place);
    if (!own)
        return;
    mo_graph copy = *graph;
    mo_links links = s->links ? *s->links : (mo_links){0};
    copy.ctx = own;
    links.masked = &copy;
    s->features = mo_task_features_open(&copy, s->task, s->links ? &links : NULL, &o);
    if (own != ctx && !mo_ok(own)) {
        const mo_status *status = mo_context_status(own);
        mo_fail(ctx, status->code, "%s", status->message);
        mo_clear_error(own);
    }
    s->owns_features = true;
}

void mo_pool_prepare_links(mo_pool *pool, mo_source *s, double share) {
    double nodes = (double)s->graph->nodes, edges = (double)(s->graph->nnz / 2);
    double negatives = fmin(fmax(1, round(share * edges)), nodes * (nodes - 1) / 2 - edges);
    s->links = mo_links_create(s->graph, share, (int64_t)negatives, pool->options.seed);
    if (!s->links)
        return;
    tell_pool(pool, s->graph, MO_TASK_LP, s->links->n_positive);
    open_features(pool, s);
}

void mo_pool_prepare_graph(mo_pool *pool, mo_source *s) {
    for (int i = 0; i < pool->n - 1; i++)
        if (pool->source[i].graph == s->graph && pool->source[i].task != MO_TASK_LP)
            s->features = pool->source[i].features;
    if (s->features)
        return;
    tell_pool(pool, s->graph, s->task, 0);
    open_features(pool, s);
}
