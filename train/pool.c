/* train/pool.c - the graphs of a run, opened once, each for the tasks it can serve, with frozen features.
 *
 * Features for links are computed from the graph without the links that episodes ask about; nodes and graphs use the
 * full one. A graph named twice is kept once. */
#include "train/pool.h"

#include "tensor/storage.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Preparation of a pool: where to report to. */
typedef struct opening {
    mo_pool *pool;
    const mo_feature_options *options; /* with the cache */
    mo_notice notice;
    void *state;
} opening;

static void tell(const opening *o, const mo_graph *graph, mo_task task, int64_t links) {
    char line[512];
    if (!o->notice)
        return;
    snprintf(line, sizeof line, "features: %s:%s, %" PRId64 " nodes, %" PRId64 " edges%s", graph->name,
        mo_task_name(task), graph->nodes, graph->nnz / 2 - links, links ? " after masking" : "");
    o->notice(line, o->state);
}

/* Parses "name:nc+lp": the tasks as bits (0: none named) and the length of the name. -1 on failure. */
static int parse_tasks(mo_context *ctx, const char *name, size_t *length) {
    const char *colon = strrchr(name, ':');
    *length = strlen(name);
    if (!colon || strchr(colon, '/'))
        return 0;
    int tasks = 0;
    for (const char *at = colon + 1;; at += 3) {
        int task = 0;
        while (task < MO_TASKS && strncmp(at, mo_task_name((mo_task)task), 2) != 0)
            task++;
        if (task == MO_TASKS || (at[2] && at[2] != '+')) {
            mo_fail(ctx, MO_INVALID, "pool: \"%s\": expected nc, lp or gc, joined by +, after the colon, found \"%s\"",
                name, at);
            return -1;
        }
        tasks |= 1 << task;
        if (!at[2])
            break;
    }
    *length = (size_t)(colon - name);
    return tasks;
}

static mo_source *add_source(mo_pool *pool) {
    if (pool->n == pool->capacity) {
        int capacity = pool->capacity ? 2 * pool->capacity : 16;
        mo_source *grown = mo_host_alloc(pool->ctx, (size_t)capacity * sizeof *grown);
        if (!grown)
            return NULL;
        if (pool->n)
            memcpy(grown, pool->source, (size_t)pool->n * sizeof *grown);
        mo_host_free(pool->ctx, pool->source, (size_t)pool->capacity * sizeof *grown);
        pool->source = grown;
        pool->capacity = capacity;
    }
    mo_source *s = &pool->source[pool->n++];
    memset(s, 0, sizeof *s);
    return s;
}

/* Links held out of the graph, as many non-edges (where there are), and features of what is left. */
static void prepare_links(const opening *o, mo_source *s) {
    double share = o->pool->link_share, nodes = (double)s->graph->nodes, edges = (double)(s->graph->nnz / 2);
    double negatives = fmin(fmax(1, round(share * edges)), nodes * (nodes - 1) / 2 - edges);
    s->links = mo_links_create(s->graph, share, (int64_t)negatives, o->options->seed);
    if (!s->links)
        return;
    tell(o, s->graph, MO_TASK_LP, s->links->n_positive);
    s->features = mo_features_open(s->links->masked, o->options);
    s->owns_features = true;
}

/* Features of the full graph, shared with the source that has them. */
static void prepare_graph(const opening *o, mo_source *s) {
    const mo_pool *pool = o->pool;
    for (int i = 0; i < pool->n - 1; i++)
        if (pool->source[i].graph == s->graph && pool->source[i].task != MO_TASK_LP)
            s->features = pool->source[i].features;
    if (s->features)
        return;
    tell(o, s->graph, s->task, 0);
    s->features = mo_features_open(s->graph, o->options);
    s->owns_features = true;
}

/* The graph of equal content that the pool has already, or NULL. */
static mo_graph *find_graph(const mo_pool *pool, const mo_graph *graph) {
    for (int i = 0; i < pool->n; i++)
        if (memcmp(pool->source[i].graph->hash, graph->hash, sizeof graph->hash) == 0)
            return pool->source[i].graph;
    return NULL;
}

static bool has_source(const mo_pool *pool, const mo_graph *graph, mo_task task) {
    for (int i = 0; i < pool->n; i++)
        if (pool->source[i].graph == graph && pool->source[i].task == task)
            return true;
    return false;
}

/* Adds the sources of one graph; it is taken over with the first of them. */
static void add_graph(const opening *o, mo_graph *graph, bool taken, int tasks, const char *name) {
    mo_pool *pool = o->pool;
    mo_context *ctx = pool->ctx;
    int added = 0;
    for (int task = 0; task < MO_TASKS && mo_ok(ctx); task++) {
        bool can = mo_graph_has_task(graph, (mo_task)task), wanted = tasks ? tasks >> task & 1 : can;
        if (!wanted)
            continue;
        if (!can)
            mo_fail(ctx, MO_INVALID, "pool: \"%s\" asks for %s, which the data set cannot serve", name,
                mo_task_name((mo_task)task));
        else if (has_source(pool, graph, (mo_task)task))
            mo_fail(ctx, MO_INVALID, "pool: \"%s\" is in the pool for %s already", name, mo_task_name((mo_task)task));
        mo_source *s = mo_ok(ctx) ? add_source(pool) : NULL;
        if (!s)
            break;
        s->graph = graph;
        s->task = (mo_task)task;
        s->owns_graph = !taken;
        taken = true;
        added++;
        if (task == MO_TASK_LP)
            prepare_links(o, s);
        else
            prepare_graph(o, s);
    }
    if (mo_ok(ctx) && !added)
        mo_fail(ctx, MO_INVALID, "pool: \"%s\" serves no task: expected labels or a single graph with edges", name);
    if (!taken)
        mo_graph_release(graph);
}

static void open_name(const opening *o, const char *name) {
    mo_context *ctx = o->pool->ctx;
    size_t length;
    int tasks = parse_tasks(ctx, name, &length);
    char *bare = tasks < 0 ? NULL : mo_host_alloc(ctx, length + 1);
    if (!bare)
        return;
    memcpy(bare, name, length);
    mo_graph *graph = mo_graph_open(ctx, bare);
    mo_host_free(ctx, bare, length + 1);
    if (!graph)
        return;
    mo_graph *known = find_graph(o->pool, graph);
    if (known)
        mo_graph_release(graph);
    add_graph(o, known ? known : graph, known != NULL, tasks, name);
}

mo_pool *mo_pool_open(mo_context *ctx, const char *const *names, int n, const mo_feature_options *options,
    double link_share, mo_notice notice, void *state) {
    if (mo_ok(ctx) && n < 1)
        mo_fail(ctx, MO_INVALID, "pool: expected the name of a data set, found none");
    if (mo_ok(ctx) && !(link_share > 0 && link_share < 1))
        mo_fail(ctx, MO_INVALID, "pool: the share of links is %g, expected between 0 and 1", link_share);
    mo_pool *pool = mo_ok(ctx) ? mo_host_alloc(ctx, sizeof *pool) : NULL;
    if (!pool)
        return NULL;
    *pool = (mo_pool){.ctx = ctx, .options = *options, .link_share = link_share};
    pool->options.cache = NULL;
    opening o = {.pool = pool, .options = options, .notice = notice, .state = state};
    for (int i = 0; i < n && mo_ok(ctx); i++)
        open_name(&o, names[i]);
    if (mo_ok(ctx))
        return pool;
    mo_pool_release(pool);
    return NULL;
}

/* Later sources borrow from earlier ones and links from their graph, so the last goes first. */
void mo_pool_release(mo_pool *pool) {
    if (!pool)
        return;
    for (int i = pool->n - 1; i >= 0; i--) {
        mo_source *s = &pool->source[i];
        if (s->owns_features)
            mo_features_release(s->features);
        mo_links_release(s->links);
        if (s->owns_graph)
            mo_graph_release(s->graph);
    }
    mo_host_free(pool->ctx, pool->source, (size_t)pool->capacity * sizeof *pool->source);
    mo_host_free(pool->ctx, pool, sizeof *pool);
}

int mo_pool_size(const mo_pool *pool) {
    return pool->n;
}

const mo_source *mo_pool_source(const mo_pool *pool, int i) {
    return i >= 0 && i < pool->n ? &pool->source[i] : NULL;
}
