/* tools/gin/gin_weights.c - weights of a GIN as a file that `mochi eval` and `mochi embed` read, and its embeddings in
 * the place of hops, which every readout of an evaluation can read. */
#include "tools/gin/gin.h"

#include "tools/digest.h"
#include "train/run/trainer.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The graphs that it was trained on, as weights of `mochi train` name them. */
static char *gin_pool(const gin_graph *graphs, int n) {
    json_t *list = json_array();
    for (int i = 0; i < n; i++) {
        const mo_graph *graph = graphs[i].graph;
        json_array_append_new(list, json_pack("{s:s, s:o}", "data", graph->name, "xxh3",
                                        json_hash((uint64_t[]){graph->hash[1], graph->hash[0]})));
    }
    char *text = json_array_size(list) == (size_t)n ? json_dumps(list, JSON_COMPACT) : NULL;
    json_decref(list);
    return text;
}

/* The settings that mo_weights_read wants of weights it has no model for; the ridge on single hops is the paper's. */
static char *gin_metadata(const mo_feature_options *o, const char *pool) {
    char dim[24], hops[24], power[24], seed[24];
    snprintf(dim, sizeof dim, "%d", o->dim);
    snprintf(hops, sizeof hops, "%d", o->hops);
    snprintf(power, sizeof power, "%d", o->power_iterations);
    snprintf(seed, sizeof seed, "%" PRIu64, o->seed);
    json_t *m = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s}", "format",
        MO_WEIGHTS_FORMAT, "kind", GIN_KIND, "recipe", GIN_KIND, "rows", "nodes", "dim", dim, "hops", hops,
        "power_iterations", power, "feature_seed", seed, "combine", "sum", "hop_lambda", "10", "best_hop_nc", "-1",
        "best_hop_lp", "-1", "best_hop_gc", "-1", "pool", pool);
    char *text = m ? json_dumps(m, JSON_COMPACT) : NULL;
    json_decref(m);
    return text;
}

mo_code gin_write(const gin *g, const mo_feature_options *features, const gin_graph *graphs, int n, const char *path) {
    mo_array items[GIN_PARAMETERS];
    char *pool = mo_ok(g->ctx) ? gin_pool(graphs, n) : NULL, *metadata = pool ? gin_metadata(features, pool) : NULL;
    if (mo_ok(g->ctx) && !metadata)
        mo_fail(g->ctx, MO_MEMORY, "%s: out of memory for the metadata (names must be UTF-8)", path);
    for (int i = 0; i < GIN_PARAMETERS && mo_ok(g->ctx); i++)
        items[i] = (mo_array){.name = (char *)(uintptr_t)mo_tensor_name(g->p[i]), .tensor = g->p[i]};
    if (mo_ok(g->ctx))
        mo_safetensors_write(&(mo_arrays){.ctx = g->ctx, .count = GIN_PARAMETERS, .items = items}, metadata, path);
    free(metadata);
    free(pool);
    return mo_context_status(g->ctx)->code;
}

bool gin_is(const mo_weights *weights) {
    return weights && !strcmp(weights->kind, GIN_KIND);
}

static bool same_shape(const mo_tensor *a, const mo_tensor *b) {
    bool same = mo_ndim(a) == mo_ndim(b) && mo_tensor_dtype(a) == mo_tensor_dtype(b);
    for (int i = 0; same && i < mo_ndim(a); i++)
        same = mo_dim(a, i) == mo_dim(b, i);
    return same;
}

void gin_load(const mo_weights *weights, gin *g) {
    mo_context *ctx = weights->ctx;
    gin_create(ctx, weights->features.dim, 0, g);
    for (int i = 0; i < GIN_PARAMETERS && mo_ok(ctx); i++) {
        const char *name = mo_tensor_name(g->p[i]);
        const mo_tensor *value = mo_arrays_find(weights->arrays, name);
        if (!value || !same_shape(value, g->p[i]))
            mo_fail(ctx, MO_FORMAT, "weights of a GIN: %s is %s, expected float32 of the widths of dim %d", name,
                value ? "of another shape" : "absent", g->dim);
        else
            mo_tensor_copy(g->p[i], value);
    }
}

/* Hops [l + 1, nodes, d] of the source and the embeddings [nodes, d] of each network, in one tensor of the context. */
static mo_tensor *stack_embeddings(const gin *list, int n, const mo_source *source, const mo_csr *A) {
    mo_context *ctx = source->graph->ctx;
    mo_tensor *hops = mo_arrays_find(source->features->arrays, "hops"), *part[3] = {hops}, *owned = NULL;
    int64_t nodes = mo_dim(hops, 1), d = mo_dim(hops, 2);
    mo_tape *t = mo_tape_create(ctx, MO_EVAL);
    for (int i = 0; t && i < n; i++) {
        mo_tensor *X = mo_reshape(t, mo_slice(t, hops, MO_AXIS(0), 0, 1), 2, (int64_t[]){nodes, d});
        part[i + 1] = mo_reshape(t, gin_encode(t, &list[i], A, X), 3, (int64_t[]){1, nodes, d});
    }
    mo_tensor *all = t ? mo_concat(t, part, n + 1, MO_AXIS(0)) : NULL;
    if (mo_ok(ctx))
        owned = mo_tensor_clone(ctx, all);
    mo_tape_release(t);
    return owned;
}

mo_features *gin_features(const gin *list, int n, const mo_source *source) {
    mo_context *ctx = source->graph->ctx;
    bool links = source->task == MO_TASK_LP && source->links;
    mo_csr *A = mo_ok(ctx) && n <= 2 ? gin_adjacency(links ? source->links->masked : source->graph) : NULL;
    mo_features *f = A ? calloc(1, sizeof *f) : NULL;
    if (A && !f)
        mo_fail(ctx, MO_MEMORY, "embeddings of a GIN: out of memory");
    if (f) {
        *f = *source->features;
        f->hops += n;
        f->arrays = mo_arrays_create(ctx);
        mo_tensor *stack = f->arrays ? stack_embeddings(list, n, source, A) : NULL;
        if (stack)
            mo_arrays_take(f->arrays, "hops", stack);
    }
    mo_csr_release(A);
    if (mo_ok(ctx))
        return f;
    mo_features_release(f);
    return NULL;
}
