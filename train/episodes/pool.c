/* train/episodes/pool.c - the graphs of a run, each opened once for the tasks it supports, with frozen features.
 *
 * Features for links are computed from the graph without the links that are episodes' examples; nodes and graphs use
 * the full graph. A graph that is named twice, for different tasks, is kept once.
 *
 * Features outside the device belong to a CPU context that the pool owns. A graph is in host memory, so a copy of its
 * struct in that context shares its arrays. */
#include "train/episodes/pool.h"
#include "tensor/files/number_text.h"
#include "tensor/library.h"
#include "tensor/objects.h"
#include "train/features/example_rows.h"
#include "train/features/feature_memory.h"
#include "train/features/nodes/diffuse.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the features of a source, and the place where they are made and kept ---- */

static void tell_source(const mo_pool *pool, const mo_graph *graph, mo_task task, int64_t links) {
    char line[1024];
    if (!pool->notice)
        return;
    snprintf(line, sizeof line, "features: %s:%s, %" PRId64 " nodes, %" PRId64 " edges%s%s%.300s%s%.300s", graph->name,
        mo_task_name(task), graph->nodes, graph->nnz / 2 - links, links ? " after masking" : "",
        graph->left_out ? "; left out: " : "", graph->left_out ? graph->left_out : "",
        graph->recoded ? "; attributes: " : "", graph->recoded ? graph->recoded : "");
    pool->notice(line, pool->state);
}

static const double FOR_STEPS = 0.25; /* this share of a device's memory is left for episodes and gradients */

static mo_feature_place choose_place(const mo_pool *pool, const mo_graph *graph, mo_task task) {
    const mo_feature_options *o = &pool->options;
    bool blocks = o->form == MO_ROWS_PER_EXAMPLE;
    size_t held, unused;
    char line[512];
    if (o->place != MO_FEATURES_AUTO)
        return o->place;
    if (!mo_device_memory(pool->ctx, &held, &unused))
        return MO_FEATURES_ON_DEVICE;
    int64_t rows = !blocks ? o->hops + 1 : task == MO_TASK_NC ? MO_BLOCKS * (o->hops + 1 + MO_DIFFUSED) : 0;
    double needed = mo_estimate_memory(graph, o, rows); /* rows of links and of graphs are small */
    double left = (double)unused - FOR_STEPS * (double)(held + unused);
    if (needed <= left)
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
        pool->host =
            mo_context_create(&(mo_context_options){.threads = mo_context_threads(ctx), .memory = ctx->memory});
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

/* Holds out a share of the graph's links and as many non-edges (or all, if there are fewer), and makes features of the
 * remaining graph. */
static void prepare_links(mo_pool *pool, mo_source *s, double share) {
    double nodes = (double)s->graph->nodes, edges = (double)(s->graph->nnz / 2);
    double negatives = fmin(fmax(1, round(share * edges)), nodes * (nodes - 1) / 2 - edges);
    s->links = mo_links_create(s->graph, share, (int64_t)negatives, pool->options.seed);
    if (!s->links || (pool->near && !mo_links_keep_near(s->graph, s->links, pool->options.seed)))
        return;
    tell_source(pool, s->graph, MO_TASK_LP, s->links->n_positive);
    open_features(pool, s);
}

/* Gives a source features of the full graph, shared with other sources of this graph. */
static void prepare_graph(mo_pool *pool, mo_source *s) {
    for (int i = 0; i < pool->n - 1; i++)
        if (pool->source[i].graph == s->graph && pool->source[i].task != MO_TASK_LP)
            s->features = pool->source[i].features;
    if (s->features)
        return;
    tell_source(pool, s->graph, s->task, 0);
    open_features(pool, s);
}

/* ---- the pool ---- */

/* Parses the "0.1" after the @ of an item; returns false after raising. */
static bool parse_share(mo_context *ctx, const char *item, const char *text, double *share) {
    char *end;
    *share = mo_read_number(text, &end);
    if (end == text || *end || !(*share > 0 && *share < 1))
        mo_fail(ctx, MO_INVALID, "pool: \"%s\": expected a share of links between 0 and 1 after @, found \"%s\"", item,
            text);
    return mo_ok(ctx);
}

/* Parses "name:nc+lp@0.1": returns the tasks as bits (0: none given), the length of the name, and the share if given.
 * Returns -1 on failure. */
static int parse_item(mo_context *ctx, const char *item, size_t *length, double *share) {
    const char *colon = strrchr(item, ':'), *at = strrchr(item, '@');
    size_t stop = strlen(item);
    if (at && !strchr(at, '/') && !strchr(at, ':')) {
        stop = (size_t)(at - item);
        if (!parse_share(ctx, item, at + 1, share))
            return -1;
    }
    *length = stop;
    if (!colon || strchr(colon, '/'))
        return 0;
    int tasks = 0;
    for (const char *word = colon + 1;; word += 3) {
        int task = 0;
        while (task < MO_TASKS && strncmp(word, mo_task_name((mo_task)task), 2) != 0)
            task++;
        if (task == MO_TASKS || (word + 2 != item + stop && word[2] != '+')) {
            mo_fail(ctx, MO_INVALID, "pool: \"%s\": expected nc, lp or gc, joined by +, after the colon, found \"%s\"",
                item, word);
            return -1;
        }
        tasks |= 1 << task;
        if (word + 2 == item + stop)
            break;
    }
    *length = (size_t)(colon - item);
    return tasks;
}

static mo_source *add_pool_source(mo_pool *pool) {
    if (!mo_host_array_grow(pool->ctx, &pool->source, &pool->capacity, pool->n + 1, sizeof *pool->source))
        return NULL;
    mo_source *s = &pool->source[pool->n++];
    memset(s, 0, sizeof *s);
    return s;
}

/* The pool's graph with equal content, or NULL. */
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

/* Removes the last source, and releases what it owns of features, links and graph. */
static void drop_last(mo_pool *pool) {
    mo_source *s = &pool->source[--pool->n];
    if (s->owns_features)
        mo_features_release(s->features);
    mo_links_release(s->links);
    if (s->owns_graph)
        mo_graph_release(s->graph);
}

/* Adds a source for one task of a graph that is in the pool or about to join it. Returns NULL on failure. */
static mo_source *add_task(mo_pool *pool, mo_graph *graph, mo_task task) {
    mo_context *ctx = pool->ctx;
    if (!mo_graph_has_task(graph, task))
        mo_fail(ctx, MO_INVALID,
            "pool: %s cannot serve %s: expected %s, found %" PRId64 " graphs, %" PRId64 " edges and %" PRId64
            " classes%s",
            graph->name, mo_task_name(task),
            task == MO_TASK_LP   ? "a single graph with edges"
            : task == MO_TASK_NC ? "a single graph with labels of 2 classes or more"
                                 : "a set of graphs with labels of 2 classes or more",
            graph->graphs, graph->nnz / 2, graph->classes,
            task == MO_TASK_NC && !graph->n_labels ? "; put labels.csv beside edges.csv" : "");
    else if (has_source(pool, graph, task))
        mo_fail(ctx, MO_INVALID, "pool: %s is in the pool for %s already", graph->name, mo_task_name(task));
    mo_source *s = mo_ok(ctx) ? add_pool_source(pool) : NULL;
    if (s) {
        s->graph = graph;
        s->task = task;
    }
    return s;
}

/* Takes over the graph as it was loaded, unless it is in the pool already. */
static mo_code add_graph(mo_pool *pool, mo_graph *loaded, unsigned tasks, double link_share) {
    mo_context *ctx = pool->ctx;
    mo_graph *known = find_graph(pool, loaded);
    mo_graph *graph = known ? mo_graph_hold(known) : mo_graph_scale(loaded, &pool->options);
    bool taken = known != NULL, any = false;
    if (!known || (known != loaded && known->loaded != loaded))
        mo_graph_release(loaded);
    if (!graph)
        return mo_code_of(ctx);
    pool->version++;
    for (int task = 0; task < MO_TASKS && mo_ok(ctx); task++) {
        if (!(tasks ? tasks >> task & 1 : mo_graph_has_task(graph, (mo_task)task)))
            continue;
        mo_source *s = add_task(pool, graph, (mo_task)task);
        if (!s)
            break;
        any = true;
        s->owns_graph = !taken;
        taken = true;
        if (task == MO_TASK_LP)
            prepare_links(pool, s, link_share);
        else
            prepare_graph(pool, s);
        if (!mo_ok(ctx))
            drop_last(pool);
    }
    if (mo_ok(ctx) && !any)
        mo_fail(ctx, MO_INVALID, "pool: %s serves no task: expected labels, or a single graph", graph->name);
    if (known || !taken)
        mo_graph_release(graph);
    return mo_code_of(ctx);
}

mo_code mo_pool_add(mo_pool *pool, mo_graph *graph, unsigned tasks) {
    if (!pool || !mo_given(pool->ctx, "pool", "the graph", graph)) {
        mo_graph_release(graph);
        return pool ? mo_code_of(pool->ctx) : MO_INVALID;
    }
    return add_graph(pool, graph, tasks, pool->link_share);
}

void mo_pool_set_families(mo_pool *pool, const double weight[MO_TASKS]) {
    if (!pool || !mo_given(pool->ctx, "pool", "the families' weights", weight))
        return;
    pool->version++;
    memcpy(pool->family, weight, sizeof pool->family);
}

void mo_pool_set_near(mo_pool *pool, bool near) {
    if (!pool)
        return;
    pool->version++;
    pool->near = near;
}

mo_code mo_pool_add_name(mo_pool *pool, const char *name) {
    if (!pool || !mo_given(pool->ctx, "pool", "the name of a data set", name))
        return pool ? mo_code_of(pool->ctx) : MO_INVALID;
    mo_context *ctx = pool->ctx;
    size_t length;
    double share = pool->link_share;
    int tasks = parse_item(ctx, name, &length, &share);
    char *bare = tasks < 0 ? NULL : mo_host_alloc(ctx, length + 1);
    if (!bare)
        return mo_code_of(ctx);
    memcpy(bare, name, length);
    mo_graph *graph = mo_graph_open(ctx, bare);
    mo_host_free(ctx, bare, length + 1);
    if (graph)
        add_graph(pool, graph, (unsigned)tasks, share);
    return mo_code_of(ctx);
}

mo_pool *mo_pool_create(
    mo_context *ctx, const mo_feature_options *options, double link_share, mo_notice notice, void *state) {
    if (mo_ok(ctx) && !(link_share > 0 && link_share < 1))
        mo_fail(ctx, MO_INVALID, "pool: the share of links is %g, expected between 0 and 1", link_share);
    mo_pool *pool = mo_given(ctx, "pool", "options", options) ? mo_host_alloc(ctx, sizeof *pool) : NULL;
    if (!pool)
        return NULL;
    *pool = (mo_pool){.ctx = ctx,
        .options = *options,
        .link_share = link_share,
        .family = {1, 1, 1},
        .notice = notice,
        .state = state};
    if (!options->notice) {
        pool->options.notice = notice;
        pool->options.notice_state = state;
    }
    if (options->attributes == MO_ATTRIBUTES_AUTO)
        pool->options.attributes = MO_ATTRIBUTES_SCALED;
    pool->options.cache = options->cache ? strdup(options->cache) : NULL;
    if (options->cache && !pool->options.cache)
        mo_fail(ctx, MO_MEMORY, "pool: out of memory");
    if (mo_fields_check(ctx, "pool", mo_feature_fields, &pool->options))
        return pool;
    mo_pool_release(pool);
    return NULL;
}

mo_pool *mo_pool_open(mo_context *ctx, const char *const *names, int n, const mo_feature_options *options,
    double link_share, mo_notice notice, void *state) {
    if (mo_ok(ctx) && (n < 1 || !names))
        mo_fail(ctx, MO_INVALID, "pool: expected the name of a data set, found none");
    mo_pool *pool = mo_pool_create(ctx, options, link_share, notice, state);
    for (int i = 0; i < n && pool && mo_ok(ctx); i++)
        mo_pool_add_name(pool, names[i]);
    if (mo_ok(ctx))
        return pool;
    mo_pool_release(pool);
    return NULL;
}

/* Later sources borrow from earlier ones, so the last is released first. */
void mo_pool_release(mo_pool *pool) {
    if (!pool || pool->holders-- > 0)
        return;
    while (pool->n)
        drop_last(pool);
    mo_context_release(pool->host);
    free((char *)pool->options.cache);
    free(pool->source);
    mo_host_free(pool->ctx, pool, sizeof *pool);
}

int mo_pool_size(const mo_pool *pool) {
    return pool ? pool->n : 0;
}

const mo_source *mo_pool_source(const mo_pool *pool, int i) {
    return pool && i >= 0 && i < pool->n ? &pool->source[i] : NULL;
}

mo_pool *mo_pool_for(mo_context *ctx, mo_model *model, const char *const *names, int n) {
    if (!mo_given(ctx, "pool", "the model", model))
        return NULL;
    double dim = mo_model_setting(model, "dim");
    mo_feature_options options = {
        .form = model->encoder.of_examples ? MO_ROWS_PER_EXAMPLE : MO_ROWS_PER_NODE,
        .dim = dim >= 1 ? (int)dim : 256, /* no `dim`: the model reads any width; recipe `best` has 256 */
        .hops = (int)mo_model_setting(model, "hops"),
        .power_iterations = 2,
    };
    return n == 0 ? mo_pool_create(ctx, &options, 0.2, NULL, NULL)
                  : mo_pool_open(ctx, names, n, &options, 0.2, NULL, NULL);
}
