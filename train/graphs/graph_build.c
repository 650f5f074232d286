/* train/graphs/graph_build.c - builds a graph's adjacency from directed edges as files list them.
 *
 * Every edge is kept as (low end, high end, direction). Two stable counting sorts, by high end and then by low end,
 * sort each row of the upper triangle; one sweep drops repetitions, another mirrors the triangle. */
#include "train/graphs/graph_build.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void mo_edges_release(mo_edges *edges) {
    free(edges->u);
    free(edges->v);
    free(edges->weight);
    free(edges->time);
    *edges = (mo_edges){0};
}

/* Turns counts per bucket, stored one position to the right, into the first position of each bucket. */
static void accumulate_counts(int64_t *start, int64_t buckets) {
    for (int64_t b = 0; b < buckets; b++)
        start[b + 1] += start[b];
}

/* Sorts by high end: `by_high` receives low end and direction (1: listed from high to low); skips loops. Returns the
 * number of edges. start: [nodes + 1], zeroed; on return bucket h is start[h - 1] .. start[h] - 1. */
static int64_t sort_by_high(const mo_edges *edges, int64_t nodes, int64_t *start, uint32_t *by_high) {
    for (int64_t i = 0; i < edges->count; i++) {
        uint32_t u = edges->u[i], v = edges->v[i];
        if (u != v)
            start[(u > v ? u : v) + 1]++;
    }
    accumulate_counts(start, nodes);
    int64_t kept = start[nodes];
    for (int64_t i = 0; i < edges->count; i++) {
        uint32_t u = edges->u[i], v = edges->v[i];
        if (u < v)
            by_high[start[v]++] = u << 1;
        else if (u > v)
            by_high[start[u]++] = v << 1 | 1;
    }
    return kept;
}

/* Sorts by low end, stable, so that each row has its high ends in rising order. high_end: the end of each high end's
 * bucket; start: as in sort_by_high. */
static void sort_by_low(
    const uint32_t *by_high, const int64_t *high_end, int64_t nodes, int64_t *start, uint32_t *by_low) {
    int64_t count = nodes ? high_end[nodes - 1] : 0;
    for (int64_t i = 0; i < count; i++)
        start[(by_high[i] >> 1) + 1]++;
    accumulate_counts(start, nodes);
    for (int64_t high = 0, i = 0; high < nodes; high++)
        for (; i < high_end[high]; i++)
            by_low[start[by_high[i] >> 1]++] = (uint32_t)high << 1 | (by_high[i] & 1);
}

/* Keeps one entry per neighbour in every row, without its direction, and updates the row ends (`end`). Counts
 * repetitions: entries beyond the first of each direction. Returns the number of remaining entries. */
static int64_t drop_repeated(uint32_t *by_low, int64_t *end, int64_t nodes, int64_t *repeated) {
    int64_t kept = 0;
    for (int64_t low = 0, i = 0; low < nodes; low++) {
        int64_t stop = end[low];
        while (i < stop) {
            uint32_t high = by_low[i] >> 1;
            int64_t first = i;
            unsigned directions = 0;
            for (; i < stop && by_low[i] >> 1 == high; i++)
                directions |= 1u << (by_low[i] & 1);
            *repeated += i - first - (directions == 3 ? 2 : 1);
            by_low[kept++] = high;
        }
        end[low] = kept;
    }
    return kept;
}

/* Writes both triangles from the upper one, whose rows end at end[]. Rows are visited in rising order, so that a row
 * gets its lower neighbours, rising, before its own upper ones. */
static bool mirror_upper(mo_graph *graph, const uint32_t *upper, const int64_t *end, int64_t edges) {
    int64_t nodes = graph->nodes;
    graph->row_pointer = mo_host_array(graph->ctx, nodes + 1, sizeof *graph->row_pointer);
    graph->column = mo_host_array(graph->ctx, 2 * edges, sizeof *graph->column);
    int64_t *next = mo_host_array(graph->ctx, nodes, sizeof *next);
    if (!graph->row_pointer || !graph->column || !next) {
        free(next);
        return false;
    }
    graph->nnz = 2 * edges;
    for (int64_t low = 0, i = 0; low < nodes; low++) {
        graph->row_pointer[low + 1] += end[low] - i;
        for (; i < end[low]; i++)
            graph->row_pointer[upper[i] + 1]++;
    }
    accumulate_counts(graph->row_pointer, nodes);
    memcpy(next, graph->row_pointer, (size_t)nodes * sizeof *next);
    for (int64_t low = 0, i = 0; low < nodes; low++) {
        for (; i < end[low]; i++) {
            graph->column[next[low]++] = (int32_t)upper[i];
            graph->column[next[upper[i]]++] = (int32_t)low;
        }
    }
    free(next);
    return true;
}

/* Sets the weights from both directions of the listed edges. If all weights are equal, the graph gets none. */
static bool set_weights(mo_graph *graph, const mo_edges *edges) {
    graph->weight = mo_host_array(graph->ctx, graph->nnz, sizeof *graph->weight);
    if (!graph->weight)
        return false;
    for (int64_t i = 0; i < edges->count; i++)
        for (int turned = 0; turned < 2 && edges->u[i] != edges->v[i]; turned++) {
            uint32_t u = turned ? edges->v[i] : edges->u[i], v = turned ? edges->u[i] : edges->v[i];
            float *weight = &graph->weight[mo_graph_place(graph, u, v)];
            *weight = edges->weight[i] > *weight ? edges->weight[i] : *weight;
        }
    bool equal = true;
    for (int64_t e = 0; equal && e < graph->nnz; e++)
        equal = graph->weight[e] == graph->weight[0];
    if (equal) {
        free(graph->weight);
        graph->weight = NULL;
    }
    return true;
}

/* Sets the times, as set_weights the weights. */
static bool set_times(mo_graph *graph, const mo_edges *edges) {
    graph->time = mo_host_array(graph->ctx, graph->nnz, sizeof *graph->time);
    for (int64_t e = 0; graph->time && e < graph->nnz; e++)
        graph->time[e] = INFINITY;
    for (int64_t i = 0; graph->time && i < edges->count; i++)
        for (int turned = 0; turned < 2 && edges->u[i] != edges->v[i]; turned++) {
            uint32_t u = turned ? edges->v[i] : edges->u[i], v = turned ? edges->u[i] : edges->v[i];
            double *time = &graph->time[mo_graph_place(graph, u, v)];
            *time = fmin(*time, edges->time[i]);
        }
    return graph->time;
}

bool mo_graph_set_edges(mo_graph *graph, int64_t nodes, mo_edges *edges) {
    if (nodes < 0 || nodes >= MO_GRAPH_LARGEST) {
        mo_fail(graph->ctx, MO_INVALID, "graph %s: expected 0..%lld nodes, found %lld", graph->name,
            (long long)MO_GRAPH_LARGEST - 1, (long long)nodes);
        mo_edges_release(edges);
        return false;
    }
    graph->nodes = nodes;
    int64_t *high_end = mo_host_array(graph->ctx, nodes + 1, sizeof *high_end);
    int64_t *low_end = mo_host_array(graph->ctx, nodes + 1, sizeof *low_end);
    uint32_t *by_high = mo_host_array(graph->ctx, edges->count, sizeof *by_high);
    bool read_again = edges->weight || edges->time;
    uint32_t *own = read_again ? mo_host_array(graph->ctx, edges->count, sizeof *own) : NULL;
    bool done = high_end && low_end && by_high && (own || !read_again);
    if (done) {
        int64_t count = sort_by_high(edges, nodes, high_end, by_high);
        graph->dropped_loops += edges->count - count;
        uint32_t *by_low = own ? own : edges->u; /* if the ends are not read again, reuses the memory of the low ends */
        sort_by_low(by_high, high_end, nodes, low_end, by_low);
        free(by_high);
        by_high = NULL;
        int64_t kept = count ? drop_repeated(by_low, low_end, nodes, &graph->dropped_duplicates) : 0;
        done = mirror_upper(graph, by_low, low_end, kept) && (!edges->weight || set_weights(graph, edges)) &&
               (!edges->time || set_times(graph, edges));
    }
    free(own);
    free(by_high);
    free(high_end);
    free(low_end);
    mo_edges_release(edges);
    return done;
}

/* The sorted distinct values of an array, owned by the caller. */
static int64_t *distinct_values(mo_context *ctx, const int64_t *value, int64_t n, int64_t *distinct) {
    int64_t *sorted = mo_host_array(ctx, n, sizeof *sorted);
    if (sorted && n > 0)
        memcpy(sorted, value, (size_t)n * sizeof *sorted);
    *distinct = sorted ? mo_sort_distinct(sorted, n) : 0;
    return sorted;
}

bool mo_graph_set_classes(mo_graph *graph, const int64_t *value, int64_t n) {
    int64_t *sorted = distinct_values(graph->ctx, value, n, &graph->classes);
    graph->label = mo_host_array(graph->ctx, n, sizeof *graph->label);
    if (sorted && graph->label) {
        graph->n_labels = n;
        for (int64_t i = 0; i < n; i++)
            graph->label[i] = mo_find_sorted(sorted, graph->classes, value[i]);
    }
    free(sorted);
    return sorted && graph->label;
}

bool mo_graph_set_labels(mo_graph *graph, int64_t *label, int64_t n, const char *path, bool of_lines) {
    graph->label = label;
    graph->n_labels = label ? n : 0;
    for (int64_t i = 0; i < graph->n_labels; i++) {
        if (label[i] >= n)
            return mo_fail(graph->ctx, MO_FORMAT,
                of_lines ? "%s:%lld: expected a class in 0..%lld, or a negative number for none, found %lld"
                         : "%s: labels[%lld]: expected a class in 0..%lld, or a negative number for none, found %lld",
                path, (long long)i + of_lines, (long long)n - 1, (long long)label[i]);
        label[i] = label[i] < 0 ? -1 : label[i];
        graph->classes = label[i] >= graph->classes ? label[i] + 1 : graph->classes;
    }
    return label;
}

static bool allocate_features(mo_graph *graph, int64_t columns, int64_t nnz) {
    graph->features = columns;
    graph->feature_nnz = nnz;
    graph->feature_pointer = mo_host_array(graph->ctx, graph->nodes + 1, sizeof *graph->feature_pointer);
    graph->feature_column = mo_host_array(graph->ctx, nnz, sizeof *graph->feature_column);
    graph->feature_value = mo_host_array(graph->ctx, nnz, sizeof *graph->feature_value);
    return mo_ok(graph->ctx);
}

/* Names the columns `attribute 1` .., and those of kinds `label=KIND`. */
static bool name_columns(mo_graph *graph, int64_t columns, const int64_t *sorted, int64_t kinds) {
    char name[40];
    graph->feature_name = mo_host_array(graph->ctx, columns + kinds, sizeof *graph->feature_name);
    for (int64_t j = 0; graph->feature_name && j < columns + kinds; j++) {
        if (j < columns)
            snprintf(name, sizeof name, "attribute %" PRId64, j + 1);
        else
            snprintf(name, sizeof name, "label=%" PRId64, sorted[j - columns]);
        graph->feature_name[j] = mo_text_copy(graph->ctx, name);
    }
    return mo_ok(graph->ctx);
}

bool mo_graph_set_features(mo_graph *graph, const float *value, int64_t columns, const int64_t *kind) {
    int64_t n = graph->nodes, nnz = kind ? n : 0, kinds = 0;
    int64_t *sorted = kind ? distinct_values(graph->ctx, kind, n, &kinds) : NULL;
    for (int64_t i = 0; i < n * columns; i++)
        nnz += value[i] != 0;
    bool done = mo_ok(graph->ctx) && allocate_features(graph, columns + kinds, nnz);
    for (int64_t i = 0, at = 0; done && i < n; i++) {
        for (int64_t j = 0; j < columns; j++)
            if (value[i * columns + j] != 0) {
                graph->feature_column[at] = (int32_t)j;
                graph->feature_value[at++] = value[i * columns + j];
            }
        if (kind) {
            graph->feature_column[at] = (int32_t)(columns + mo_find_sorted(sorted, kinds, kind[i]));
            graph->feature_value[at++] = 1;
        }
        graph->feature_pointer[i + 1] = at;
    }
    if (done && kind) /* so that the kinds of another set can be told from these */
        done = name_columns(graph, columns, sorted, kinds);
    free(sorted);
    return done;
}

double mo_sorted_median(double *x, int64_t n) {
    mo_sort_numbers(x, n);
    return (x[(n - 1) / 2] + x[n / 2]) / 2;
}

/* The entries of the wanted columns: those of column j that are neither 0 nor gaps are value[start[j]] to
 * value[start[j + 1] - 1]; gaps[j] counts its gaps. */
typedef struct gathered_columns {
    int64_t *start, *gaps;
    float *value;
} gathered_columns;

static bool gather_columns(const mo_graph *graph, const bool *wanted, gathered_columns *c) {
    int64_t columns = graph->features, *at = mo_host_array(graph->ctx, columns, sizeof *at);
    c->start = mo_host_array(graph->ctx, columns + 1, sizeof *c->start);
    c->gaps = mo_host_array(graph->ctx, columns, sizeof *c->gaps);
    for (int pass = 0; pass < 2 && mo_ok(graph->ctx); pass++) { /* count, then copy */
        for (int64_t e = 0; e < graph->feature_nnz; e++) {
            int32_t j = graph->feature_column[e];
            float x = graph->feature_value[e];
            c->gaps[j] += !pass && isnan(x);
            if (!wanted[j] || x == 0 || isnan(x))
                continue;
            if (pass)
                c->value[at[j]] = x;
            at[j]++;
        }
        for (int64_t j = 0; j < columns && !pass; j++) {
            c->start[j + 1] = c->start[j] + at[j];
            at[j] = c->start[j];
        }
        if (!pass)
            c->value = mo_host_array(graph->ctx, c->start[columns], sizeof *c->value);
    }
    free(at);
    return mo_ok(graph->ctx);
}

bool mo_graph_sort_columns(const mo_graph *graph, const bool *wanted, mo_take_column *take, void *state) {
    gathered_columns c = {0};
    double *x = mo_host_array(graph->ctx, graph->nodes, sizeof *x);
    bool done = x && gather_columns(graph, wanted, &c);
    for (int64_t j = 0; done && j < graph->features; j++) {
        int64_t n = graph->nodes - c.gaps[j];
        if (!wanted[j] || n < 1)
            continue;
        memset(x, 0, (size_t)n * sizeof *x);
        for (int64_t i = 0; c.start[j] + i < c.start[j + 1] && i < n; i++) /* a file can list an entry twice */
            x[i] = c.value[c.start[j] + i];
        double median = mo_sorted_median(x, n);
        take(state, j, median, x, n);
    }
    free(c.start);
    free(c.gaps);
    free(c.value);
    free(x);
    return done;
}
