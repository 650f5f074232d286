/* train/graphs/other_graph.c - a graph kept with a fit, and the graph in which the fit is applied to another.
 *
 * Columns are matched by name, if both graphs have names, else by number. What a value or a gap has made a column of
 * (attribute_texts.c: `colour=red`, `age missing`) may be missing, as 0, or new, as nothing, if the column that it was
 * made of is known. */
#include "tensor/library.h"
#include "train/graphs/graph_build.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_KEPT = 1 << 26 /* edges and attributes of a graph that a file keeps */ };
static const char prefix[] = "graph.", counted[] = "graph.attributes";

void mo_graph_keep(const mo_graph *graph, mo_arrays *arrays) {
    const mo_graph *g = graph->loaded ? graph->loaded : graph;
    mo_graph bare = *g;
    bare.n_labels = bare.classes = bare.divisions = 0;
    bare.division = NULL;
    bare.class_name = NULL;
    mo_arrays *own = g->nnz + g->feature_nnz <= MOST_KEPT ? mo_graph_arrays(&bare) : NULL;
    for (int64_t i = 0; own && i < own->count && mo_ok(g->ctx); i++) {
        char name[80];
        snprintf(name, sizeof name, "%s%s", prefix, own->items[i].name);
        mo_arrays_take(arrays, name, mo_tensor_clone(g->ctx, own->items[i].tensor));
    }
    if (own && mo_ok(g->ctx))
        mo_arrays_take(arrays, counted, mo_tensor_create_from(g->ctx, MO_I64, 1, (int64_t[]){1}, &g->attributes));
    mo_arrays_release(own);
}

mo_graph *mo_graph_kept(const mo_arrays *arrays, const char *path) {
    mo_context *ctx = arrays ? arrays->ctx : NULL;
    if (!ctx || !mo_given(ctx, "graph_kept", "the path", path))
        return NULL;
    const mo_tensor *T = mo_arrays_find(arrays, counted);
    mo_arrays *own = T && mo_tensor_dtype(T) == MO_I64 && mo_numel(T) == 1 ? mo_arrays_create(ctx) : NULL;
    size_t skip = sizeof prefix - 1;
    for (int64_t i = 0; own && i < arrays->count && mo_ok(ctx); i++)
        if (!strncmp(arrays->items[i].name, prefix, skip) && arrays->items[i].tensor != T)
            mo_arrays_take(own, arrays->items[i].name + skip, mo_tensor_clone(ctx, arrays->items[i].tensor));
    mo_graph *graph = own && mo_ok(ctx) ? mo_graph_from_arrays(own, "the graph of the readout", path) : NULL;
    if (graph)
        mo_tensor_read(T, &graph->attributes, sizeof graph->attributes);
    mo_arrays_release(own);
    return graph;
}

/* ---- columns ---- */

/* The length of the name of the column that a column was made of; 0: it was made of none. */
static size_t made_of(const char *name) {
    const char *value = strchr(name, '=');
    return value ? (size_t)(value - name) : mo_gaps_of(name);
}

static int64_t find_column(const mo_graph *g, const char *name) {
    for (int64_t j = 0; j < g->features; j++)
        if (!strcmp(g->feature_name[j], name))
            return j;
    return -1;
}

/* Whether a column that only one of the graphs has may be passed over: the other has what it was made of. */
static bool is_passed_over(const mo_graph *other, const char *name) {
    size_t n = made_of(name);
    for (int64_t j = 0; n && j < other->features; j++) {
        const char *found = other->feature_name[j];
        if (!strncmp(found, name, n) && (!found[n] || made_of(found) == n))
            return true;
    }
    return false;
}

/* The columns of `now` as those of `old`, -1: passed over; free() it. NULL after raising. */
static int64_t *match_columns(const mo_graph *old, const mo_graph *now, const char *path) {
    bool named = old->feature_name && now->feature_name;
    int64_t *to = mo_host_array(now->ctx, now->features, sizeof *to);
    if (to && !named && old->features != now->features)
        mo_fail(now->ctx, MO_INVALID,
            "%s: the readout is of other data than %s, which have %" PRId64 " attributes, expected %" PRId64, path,
            now->name, now->features, old->features);
    for (int64_t j = 0; to && mo_ok(now->ctx) && j < now->features; j++) {
        to[j] = named ? find_column(old, now->feature_name[j]) : j;
        if (to[j] < 0 && !is_passed_over(old, now->feature_name[j]))
            mo_fail(now->ctx, MO_INVALID, "%s: the readout is of other data than %s: it knows no attribute '%.80s'",
                path, now->name, now->feature_name[j]);
    }
    for (int64_t j = 0; named && mo_ok(now->ctx) && j < old->features; j++)
        if (find_column(now, old->feature_name[j]) < 0 && !is_passed_over(now, old->feature_name[j]))
            mo_fail(now->ctx, MO_INVALID, "%s: the readout is of other data than %s, which lack the attribute '%.80s'",
                path, now->name, old->feature_name[j]);
    if (mo_ok(now->ctx))
        return to;
    free(to);
    return NULL;
}

/* ---- one in the other ---- */

typedef struct two_graphs {
    const mo_graph *old, *now;
    const int64_t *to; /* columns of now as those of old */
} two_graphs;

static int64_t named_as(const two_graphs *two, int64_t u) {
    char number[24];
    return mo_graph_find_example(two->now, mo_graph_example_name(two->old, u, number));
}

/* Whether node u of `old` is in `now`, by its name and those of its neighbours. */
static bool has_node(const two_graphs *two, int64_t u) {
    const mo_graph *g = two->old;
    int64_t v = named_as(two, u);
    for (int64_t e = g->row_pointer[u]; v >= 0 && e < g->row_pointer[u + 1]; e++)
        if (!mo_graph_has_edge(two->now, v, named_as(two, g->column[e])))
            return false;
    return v >= 0;
}

/* Writes which nodes of `now` those of the fit are. Only nodes without attributes are compared by their place in the
 * graph alone, so that they must be in it; all must be there by name, half of them with all of their edges. */
static bool find_nodes(const two_graphs *two, const int64_t *old_id, int64_t n, int64_t *id) {
    int64_t same = 0;
    bool all = two->old->graphs == 1 && !two->old->features;
    for (int64_t i = 0; all && i < n; i++) {
        id[i] = named_as(two, old_id[i]);
        all = id[i] >= 0;
        same += has_node(two, old_id[i]);
    }
    return all && 2 * same >= n;
}

/* ---- one beside the other ---- */

static bool add_edges(const mo_graph *g, int64_t first, bool weighted, mo_edges *edges) {
    bool fine = true;
    for (int64_t u = 0; fine && u < g->nodes; u++)
        for (int64_t e = g->row_pointer[u]; fine && e < g->row_pointer[u + 1]; e++)
            if (g->column[e] > u)
                fine = mo_edges_add(g->ctx, edges, first + u, first + g->column[e]) &&
                       (!weighted || mo_edges_weigh(g->ctx, edges, g->weight ? g->weight[e] : 1));
    return fine;
}

/* Appends the attributes of g, with columns in rising order. */
static void append_attributes(mo_graph *both, const mo_graph *g, const int64_t *to, int64_t first) {
    int64_t at = both->feature_pointer[first];
    for (int64_t u = 0; u < g->nodes; u++) {
        int64_t begin = at;
        for (int64_t e = g->feature_pointer[u]; e < g->feature_pointer[u + 1]; e++) {
            int64_t j = to ? to[g->feature_column[e]] : g->feature_column[e], k = at;
            if (j < 0)
                continue;
            for (; k > begin && both->feature_column[k - 1] > j; k--) {
                both->feature_column[k] = both->feature_column[k - 1];
                both->feature_value[k] = both->feature_value[k - 1];
            }
            both->feature_column[k] = (int32_t)j;
            both->feature_value[k] = g->feature_value[e];
            at++;
        }
        both->feature_pointer[first + u + 1] = at;
    }
    both->feature_nnz = at;
}

/* Means and spreads are those of the examples of `old`, behind those of `now`. */
static void count_old(const two_graphs *two, mo_graph *both) {
    int64_t N = mo_graph_examples(two->old);
    both->counted = mo_host_array(both->ctx, N, sizeof *both->counted);
    both->n_counted = both->counted ? N : 0;
    for (int64_t i = 0; i < both->n_counted; i++)
        both->counted[i] = mo_graph_examples(two->now) + i;
}

/* `now` with its columns as those of `old` and, if `beside`, with `old` behind it. */
static mo_graph *join(const two_graphs *two, bool beside) {
    const mo_graph *old = two->old, *now = two->now;
    mo_context *ctx = now->ctx;
    int64_t nodes = now->nodes + (beside ? old->nodes : 0), nnz = now->feature_nnz + old->feature_nnz;
    bool weighted = now->weight || (beside && old->weight);
    mo_edges edges = {0};
    mo_graph *both = mo_graph_new(ctx, now->name, now->source);
    if (both && add_edges(now, 0, weighted, &edges) && (!beside || add_edges(old, now->nodes, weighted, &edges)))
        mo_graph_set_edges(both, nodes, &edges);
    mo_edges_release(&edges);
    if (both && mo_ok(ctx) && old->features) {
        both->features = old->features;
        both->attributes = old->attributes;
        both->feature_pointer = mo_host_array(ctx, nodes + 1, sizeof *both->feature_pointer);
        both->feature_column = mo_host_array(ctx, nnz, sizeof *both->feature_column);
        both->feature_value = mo_host_array(ctx, nnz, sizeof *both->feature_value);
    }
    if (both && mo_ok(ctx) && old->features) {
        append_attributes(both, now, two->to, 0);
        if (beside)
            append_attributes(both, old, NULL, now->nodes);
    }
    if (both && mo_ok(ctx) && old->graphs > 1) {
        both->graphs = now->graphs + (beside ? old->graphs : 0);
        both->graph_offset = mo_host_array(ctx, both->graphs + 1, sizeof *both->graph_offset);
        for (int64_t g = 0; both->graph_offset && g <= both->graphs; g++)
            both->graph_offset[g] =
                g <= now->graphs ? now->graph_offset[g] : now->nodes + old->graph_offset[g - now->graphs];
    }
    if (both && beside && mo_ok(ctx))
        count_old(two, both);
    return both ? mo_graph_finish(both) : NULL;
}

mo_graph *mo_graph_beside(
    const mo_graph *old, const mo_graph *now, const int64_t *old_id, int64_t n, const char *path, int64_t *id) {
    if (!old || !now)
        return NULL;
    mo_context *ctx = now->ctx;
    bool set = old->graphs > 1;
    if (!mo_given(ctx, "graph_beside", "the examples", old_id) || !mo_given(ctx, "graph_beside", "ids", id) ||
        !mo_given(ctx, "graph_beside", "the path", path))
        return NULL;
    if (mo_ok(ctx) && set != (now->graphs > 1))
        mo_fail(ctx, MO_INVALID, "%s: the readout is of other data than %s: of a %s, found a %s", path, now->name,
            set ? "set of graphs" : "single graph", set ? "single graph" : "set of graphs");
    for (int64_t i = 0; i < n && mo_ok(ctx); i++)
        if (old_id[i] < 0 || old_id[i] >= mo_graph_examples(old))
            mo_fail(ctx, MO_FORMAT, "%s: its labelled example %" PRId64 " is not one of its graph", path, old_id[i]);
    int64_t *to = mo_ok(ctx) ? match_columns(old, now, path) : NULL;
    const two_graphs two = {.old = old, .now = now, .to = to};
    mo_graph *in = to ? join(&two, false) : NULL;
    if (in && in->hash[0] == old->hash[0] && in->hash[1] == old->hash[1])
        memcpy(id, old_id, (size_t)n * sizeof *id);
    else if (in && !find_nodes(&two, old_id, n, id)) {
        mo_graph_release(in);
        in = join(&two, true);
        for (int64_t i = 0; i < n; i++)
            id[i] = mo_graph_examples(now) + old_id[i];
    }
    free(to);
    return in;
}
