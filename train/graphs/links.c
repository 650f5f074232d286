/* train/graphs/links.c - link prediction without a leak: edges held out of the adjacency, and a fixed pool of
 * non-edges: of all, or of those two steps apart.
 *
 * Edges and non-edges u < v are numbered row by row; two binary searches turn such a rank into a pair, so that the
 * pairs of a large graph are never listed and a dense graph rejects no draws. */
#include "tensor/library.h"
#include "train/graphs/draw.h"
#include "train/graphs/graph_build.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The first entry of the upper triangle in each row, and the numbers of edges and non-edges before it. */
typedef struct upper_triangle {
    const mo_graph *graph;
    int64_t *first;     /* [nodes] */
    int64_t *edges;     /* [nodes + 1] */
    int64_t *non_edges; /* [nodes + 1] */
} upper_triangle;

static void release_upper(upper_triangle *upper) {
    free(upper->first);
    free(upper->edges);
    free(upper->non_edges);
}

static bool find_upper(const mo_graph *graph, upper_triangle *upper) {
    int64_t nodes = graph->nodes;
    *upper = (upper_triangle){
        .graph = graph,
        .first = mo_host_array(graph->ctx, nodes, sizeof(int64_t)),
        .edges = mo_host_array(graph->ctx, nodes + 1, sizeof(int64_t)),
        .non_edges = mo_host_array(graph->ctx, nodes + 1, sizeof(int64_t)),
    };
    if (!upper->first || !upper->edges || !upper->non_edges)
        return false;
    for (int64_t u = 0; u < nodes; u++) {
        int64_t i = graph->row_pointer[u], stop = graph->row_pointer[u + 1];
        while (i < stop && graph->column[i] < u)
            i++;
        upper->first[u] = i;
        upper->edges[u + 1] = upper->edges[u] + stop - i;
        upper->non_edges[u + 1] = upper->non_edges[u] + (nodes - 1 - u) - (stop - i);
    }
    return true;
}

static void edge_of_rank(const upper_triangle *upper, int64_t rank, int64_t *u, int64_t *v) {
    *u = mo_find_row(upper->edges, upper->graph->nodes, rank);
    *v = upper->graph->column[upper->first[*u] + rank - upper->edges[*u]];
}

/* w - u - 1 - i non-neighbours precede the i-th upper neighbour w of u: the pair is found from the neighbours alone. */
static void non_edge_of_rank(const upper_triangle *upper, int64_t rank, int64_t *u, int64_t *v) {
    *u = mo_find_row(upper->non_edges, upper->graph->nodes, rank);
    const int32_t *neighbour = upper->graph->column + upper->first[*u];
    int64_t place = rank - upper->non_edges[*u];
    int64_t low = 0, high = upper->edges[*u + 1] - upper->edges[*u]; /* neighbours before v */
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (neighbour[middle] - *u - 1 - middle <= place)
            low = middle + 1;
        else
            high = middle;
    }
    *v = *u + 1 + place + low;
}

typedef void (*pair_of_rank)(const upper_triangle *upper, int64_t rank, int64_t *u, int64_t *v);

/* Writes the pairs of the drawn ranks into two arrays of the links. */
static bool write_pairs(
    const upper_triangle *upper, pair_of_rank pair, const int64_t *rank, int64_t count, int64_t *ends[2]) {
    ends[0] = mo_host_array(upper->graph->ctx, count, sizeof **ends);
    ends[1] = mo_host_array(upper->graph->ctx, count, sizeof **ends);
    for (int64_t i = 0; ends[0] && ends[1] && i < count; i++)
        pair(upper, rank[i], &ends[0][i], &ends[1][i]);
    return ends[0] && ends[1];
}

static void *copy_array(mo_context *ctx, const void *array, int64_t count, size_t element) {
    void *copy = array ? mo_host_array(ctx, count, element) : NULL;
    if (copy && count > 0)
        memcpy(copy, array, (size_t)count * element);
    return copy;
}

static void copy_content(mo_graph *masked, const mo_graph *graph) {
    mo_context *ctx = graph->ctx;
    masked->graphs = graph->graphs;
    masked->features = graph->features;
    masked->feature_nnz = graph->feature_nnz;
    masked->n_labels = graph->n_labels;
    masked->classes = graph->classes;
    masked->dropped_loops = graph->dropped_loops;
    masked->dropped_duplicates = graph->dropped_duplicates;
    masked->graph_offset = copy_array(ctx, graph->graph_offset, graph->graphs + 1, sizeof *graph->graph_offset);
    masked->feature_pointer = copy_array(ctx, graph->feature_pointer, graph->nodes + 1, sizeof *graph->feature_pointer);
    masked->feature_column = copy_array(ctx, graph->feature_column, graph->feature_nnz, sizeof *graph->feature_column);
    masked->feature_value = copy_array(ctx, graph->feature_value, graph->feature_nnz, sizeof *graph->feature_value);
    masked->label = copy_array(ctx, graph->label, graph->n_labels, sizeof *graph->label);
}

/* A copy of the graph without the edges of these ranks. */
static mo_graph *mask_edges(const upper_triangle *upper, const int64_t *rank, int64_t count) {
    const mo_graph *graph = upper->graph;
    int64_t n_edges = upper->edges[graph->nodes];
    uint8_t *held_out = mo_host_array(graph->ctx, n_edges, sizeof *held_out);
    mo_graph *masked = held_out ? mo_graph_new(graph->ctx, graph->name, graph->source) : NULL;
    if (!masked) {
        free(held_out);
        return NULL;
    }
    for (int64_t i = 0; i < count; i++)
        held_out[rank[i]] = 1;
    mo_edges edges = {0};
    bool fine = true;
    for (int64_t u = 0, e = 0; fine && u < graph->nodes; u++)
        for (int64_t i = upper->first[u]; fine && i < graph->row_pointer[u + 1]; i++, e++)
            fine = held_out[e] || (mo_edges_add(graph->ctx, &edges, u, graph->column[i]) &&
                                      (!graph->weight || mo_edges_weigh(graph->ctx, &edges, graph->weight[i])));
    free(held_out);
    if (fine && mo_graph_set_edges(masked, graph->nodes, &edges))
        copy_content(masked, graph);
    mo_edges_release(&edges);
    return mo_graph_finish(masked);
}

/* Returns where the column of the edge u < v stands; -1 if there is no such edge. */
static int64_t find_edge(const upper_triangle *upper, int64_t u, int64_t v) {
    const mo_graph *graph = upper->graph;
    if (u < 0 || u >= graph->nodes)
        return -1;
    for (int64_t at = upper->first[u]; at < graph->row_pointer[u + 1]; at++)
        if (graph->column[at] == v)
            return at;
    return -1;
}

mo_graph *mo_graph_without(const mo_graph *graph, int64_t *const ends[2], int64_t n) {
    upper_triangle upper = {0};
    if (!graph || !mo_given(graph->ctx, "graph_without", "ends", ends))
        return NULL;
    if (n < 0 || (n && (!ends[0] || !ends[1]))) {
        mo_fail(graph->ctx, MO_INVALID,
            "graph_without: %" PRId64 " edges%s, expected 0 or more, with both lists of ends", n,
            n < 0 ? "" : " and a NULL list");
        return NULL;
    }
    int64_t *rank = mo_host_array(graph->ctx, n, sizeof *rank);
    mo_graph *rest = NULL;
    if (rank && find_upper(graph, &upper)) {
        for (int64_t i = 0; i < n && mo_ok(graph->ctx); i++) {
            int64_t u = ends[0][i], at = find_edge(&upper, u, ends[1][i]);
            if (at < 0)
                mo_fail(graph->ctx, MO_INVALID,
                    "graph_without: pair %" PRId64 " is nodes %" PRId64 " and %" PRId64
                    ", expected an edge u < v of %s",
                    i, u, ends[1][i], graph->name);
            else
                rank[i] = upper.edges[u] + at - upper.first[u];
        }
        rest = mo_ok(graph->ctx) ? mask_edges(&upper, rank, n) : NULL;
    }
    release_upper(&upper);
    free(rank);
    return rest;
}

/* An edge by its rank among all. */
typedef struct dated {
    double time;
    int64_t rank, drawn;
} dated;

/* The latest first; edges of one time in the order in which they were drawn. */
static int compare_dated(const void *a, const void *b) {
    const dated *x = a, *y = b;
    if (x->time != y->time)
        return x->time < y->time ? 1 : -1;
    return (x->drawn > y->drawn) - (x->drawn < y->drawn);
}

/* Ranks of `count` edges: drawn or, if edges have times, the last. NULL on failure. */
static int64_t *choose_edges(const upper_triangle *upper, mo_random *r, int64_t count) {
    const mo_graph *graph = upper->graph;
    int64_t n = upper->edges[graph->nodes];
    int64_t *rank = mo_draw_distinct(graph->ctx, r, n, graph->time ? n : count);
    dated *all = rank && graph->time ? mo_host_array(graph->ctx, n, sizeof *all) : NULL;
    for (int64_t i = 0; all && i < n; i++) {
        int64_t u = mo_find_row(upper->edges, graph->nodes, rank[i]);
        all[i] = (dated){graph->time[upper->first[u] + rank[i] - upper->edges[u]], rank[i], i};
    }
    if (all)
        qsort(all, (size_t)n, sizeof *all, compare_dated);
    for (int64_t i = 0; all && i < count; i++)
        rank[i] = all[i].rank;
    free(all);
    return rank;
}

static bool draw_positives(mo_links *links, const upper_triangle *upper, double share, uint64_t seed) {
    const mo_graph *graph = upper->graph;
    int64_t n_edges = upper->edges[graph->nodes];
    int64_t count = llround(share * (double)n_edges);
    count = count < 1 ? 1 : count > n_edges ? n_edges : count;
    mo_random r = mo_random_at(seed, MO_PURPOSE_MASK, 0);
    int64_t *rank = choose_edges(upper, &r, count);
    bool fine = rank && mo_ok(graph->ctx) && write_pairs(upper, edge_of_rank, rank, count, links->positive);
    links->n_positive = fine ? count : 0;
    links->masked = fine ? mask_edges(upper, rank, count) : NULL;
    free(rank);
    return links->masked != NULL;
}

static bool draw_negatives(mo_links *links, const upper_triangle *upper, int64_t count, uint64_t seed) {
    const mo_graph *graph = upper->graph;
    int64_t n_non_edges = upper->non_edges[graph->nodes];
    if (count < 0 || count > n_non_edges)
        return mo_fail(graph->ctx, MO_INVALID,
            "links of graph %s: expected 0..%lld negatives, the number of its non-edges, found %lld", graph->name,
            (long long)n_non_edges, (long long)count);
    mo_random r = mo_random_at(seed, MO_PURPOSE_NEGATIVE, 0);
    int64_t *rank = mo_draw_distinct(graph->ctx, &r, n_non_edges, count);
    bool fine = rank && write_pairs(upper, non_edge_of_rank, rank, count, links->negative);
    links->n_negative = fine ? count : 0;
    free(rank);
    return fine;
}

mo_links *mo_links_create(const mo_graph *graph, double share, int64_t negatives, uint64_t seed) {
    if (!graph) {
        return NULL;
    }
    mo_context *ctx = graph->ctx;
    if (!mo_ok(ctx))
        return NULL;
    if (!mo_graph_has_task(graph, MO_TASK_LP)) {
        mo_fail(ctx, MO_INVALID, "links of graph %s: expected a single graph with edges, found %lld graphs, %lld edges",
            graph->name, (long long)graph->graphs, (long long)graph->nnz / 2);
        return NULL;
    }
    if (!(share > 0 && share < 1)) {
        mo_fail(ctx, MO_INVALID, "links of graph %s: expected a share of masked edges between 0 and 1, found %g",
            graph->name, share);
        return NULL;
    }
    mo_links *links = mo_host_array(ctx, 1, sizeof *links);
    upper_triangle upper = {0};
    bool fine = links && find_upper(graph, &upper) && draw_negatives(links, &upper, negatives, seed) &&
                draw_positives(links, &upper, share, seed);
    release_upper(&upper);
    if (!fine) {
        mo_links_release(links);
        return NULL;
    }
    return links;
}

/* ---- pairs two steps apart ---- */

bool mo_graph_two_steps(const mo_graph *graph, int64_t u, int64_t v) {
    if (!graph || u < 0 || v < 0 || u >= graph->nodes || v >= graph->nodes)
        return false;
    int64_t i = graph->row_pointer[u], j = graph->row_pointer[v];
    while (i < graph->row_pointer[u + 1] && j < graph->row_pointer[v + 1]) {
        int32_t a = graph->column[i], b = graph->column[j];
        if (a == b)
            return true;
        i += a < b;
        j += b < a;
    }
    return false;
}

/* Writes the nodes v > u two steps from u, without a link in `whole`, to list (NULL: only counts them); returns their
 * number. seen [nodes]: u + 1 marks what was met from u. */
static int64_t list_near(const mo_graph *graph, const mo_graph *whole, int64_t u, int64_t *seen, int64_t *list) {
    int64_t n = 0;
    for (int64_t e = whole->row_pointer[u]; e < whole->row_pointer[u + 1]; e++)
        seen[whole->column[e]] = u + 1;
    for (int64_t e = graph->row_pointer[u]; e < graph->row_pointer[u + 1]; e++) {
        int64_t a = graph->column[e];
        for (int64_t i = graph->row_pointer[a]; i < graph->row_pointer[a + 1]; i++) {
            int64_t v = graph->column[i];
            if (v <= u || seen[v] == u + 1)
                continue;
            seen[v] = u + 1;
            if (list)
                list[n] = v;
            n++;
        }
    }
    return n;
}

/* Writes the pairs of rising ranks; first [nodes + 1]: the number of pairs before each node's. */
static void find_near(const mo_graph *graph, const mo_graph *whole, const int64_t *first, int64_t *seen, int64_t *list,
    const int64_t *rank, mo_near_pairs *near) {
    int64_t last = -1;
    memset(seen, 0, (size_t)graph->nodes * sizeof *seen);
    for (int64_t i = 0; i < near->n && mo_goes_on(graph->ctx); i++) {
        int64_t u = mo_find_row(first, graph->nodes, rank[i]);
        if (u != last)
            list_near(graph, whole, u, seen, list);
        last = near->end[0][i] = u;
        near->end[1][i] = list[rank[i] - first[u]];
    }
}

bool mo_near_pairs_draw(
    const mo_graph *graph, const mo_graph *whole, int64_t most, uint64_t seed, mo_near_pairs *near) {
    if (!graph || !mo_given(graph->ctx, "near pairs", "the whole graph", whole) ||
        !mo_given(graph->ctx, "near pairs", "near", near))
        return false;
    mo_context *ctx = graph->ctx;
    int64_t nodes = graph->nodes, *first = mo_host_array(ctx, nodes + 1, sizeof *first),
            *seen = mo_host_array(ctx, nodes, sizeof *seen), *list = mo_host_array(ctx, nodes, sizeof *list);
    *near = (mo_near_pairs){0};
    for (int64_t u = 0; first && seen && list && u < nodes && mo_goes_on(ctx); u++)
        first[u + 1] = first[u] + list_near(graph, whole, u, seen, NULL);
    if (mo_ok(ctx)) {
        mo_random r = mo_random_at(seed, MO_PURPOSE_NEGATIVE, 1);
        near->all = first[nodes];
        near->n = most < near->all ? most : near->all;
        int64_t *rank = mo_draw_distinct(ctx, &r, near->all, near->n);
        for (int side = 0; side < 2; side++)
            near->end[side] = mo_host_array(ctx, near->n, sizeof *near->end[side]);
        if (rank && mo_ok(ctx)) {
            mo_sort_distinct(rank, near->n);
            find_near(graph, whole, first, seen, list, rank, near);
        }
        free(rank);
    }
    free(first);
    free(seen);
    free(list);
    return mo_ok(ctx);
}

void mo_near_pairs_release(mo_near_pairs *near) {
    if (!near)
        return;
    free(near->end[0]);
    free(near->end[1]);
    *near = (mo_near_pairs){0};
}

bool mo_links_keep_near(const mo_graph *graph, mo_links *links, uint64_t seed) {
    if (!graph || !links)
        return false;
    int64_t n = 0, *const *end = links->positive;
    for (int64_t i = 0; i < links->n_positive; i++)
        if (mo_graph_two_steps(links->masked, end[0][i], end[1][i])) {
            end[0][n] = end[0][i];
            end[1][n++] = end[1][i];
        }
    mo_near_pairs near;
    if (!mo_near_pairs_draw(links->masked, graph, n, seed, &near))
        return false;
    for (int side = 0; side < 2; side++) {
        free(links->negative[side]);
        links->negative[side] = near.end[side];
    }
    links->n_positive = n;
    links->n_negative = near.n;
    return (n > 1 && near.n > 1) || mo_fail(graph->ctx, MO_INVALID,
                                        "links of graph %s: expected 2 or more held-out links and pairs without one, "
                                        "both two steps apart, found "
                                        "%" PRId64 " and %" PRId64,
                                        graph->name, n, near.n);
}

void mo_links_release(mo_links *links) {
    if (!links)
        return;
    for (int end = 0; end < 2; end++) {
        free(links->positive[end]);
        free(links->negative[end]);
    }
    mo_graph_release(links->masked);
    free(links);
}
