/* train/features/nodes/structure_columns.c - numbers that describe a node's position in its graph.
 *
 * With A the adjacency, d degrees, P = D^-1 A (zero rows where isolated), x = log(1 + d):
 *
 *     x; mean and standard deviation of x over the neighbours; P of that mean; largest x of a neighbour;
 *     clustering t / (d (d - 1) / 2), with t the triangles of a node; log(1 + t); log(n PageRank);
 *     the return probabilities of P after 2, 3, 4 steps; log(1 + nodes that P^2 reaches);
 *     P of clustering; P of 1 / d; P of log(n PageRank).
 *
 * PageRank restarts with .15 and is 30 rounds of r <- .15 / n + .85 P^T r (Page et al. 1999). n PageRank is 1 on
 * average over nodes with neighbours, so its logarithm is near 0. An isolated node gets 0 for P of this logarithm,
 * which is then no outlier. */
#include "train/features/nodes/structure_columns.h"

#include "tensor/cpu/tasks.h"
#include "tensor/library.h"
#include "train/features/closed_walks.h"
#include "train/features/gram_blocks.h"

#include <math.h>
#include <stdlib.h>

enum {
    LOG_DEGREE,
    NEAR_MEAN,
    NEAR_SD,
    NEAR_MEAN_MEAN,
    NEAR_LARGEST,
    CLUSTERING,
    LOG_TRIANGLES,
    LOG_RANK,
    BACK,
    LOG_REACHED = BACK + MO_RETURNS,
    CLUSTERING_MEAN,
    INVERSE_DEGREE_MEAN,
    RANK_MEAN,
    COLUMNS
};
_Static_assert((int)COLUMNS == MO_STRUCTURE_COLUMNS, "as many columns as declared");

enum { ROUNDS = 30, TASK = 256 };
/* In a graph with at most EXACT_WALKS two-step walks all are enumerated, which takes seconds. In a larger graph each
 * node has a limit, at least EXACT_WALKS_OF_NODE (mo_most_exact_walks). */
enum { EXACT_WALKS = 1 << 28, EXACT_WALKS_OF_NODE = 1 << 11 };
static const double RESTART = 0.15;

typedef float row[COLUMNS];

typedef struct average {
    const mo_graph *graph;
    row *S;
    int from, to;
} average;

static void average_some(const void *of, task_range some) {
    const average *a = of;
    const mo_graph *graph = a->graph;
    for (int64_t u = some.first; u < some.end; u++) {
        double sum = 0;
        for (int64_t e = graph->row_pointer[u]; e < graph->row_pointer[u + 1]; e++)
            sum += a->S[graph->column[e]][a->from];
        a->S[u][a->to] = degree(graph, u) ? (float)(sum / (double)degree(graph, u)) : 0;
    }
}

/* Column `to` becomes P times column `from`. */
static void average_neighbours(const mo_graph *graph, row *S, int from, int to) {
    const average a = {.graph = graph, .S = S, .from = from, .to = to};
    run_tasks(mo_context_threads(graph->ctx), graph->nodes, TASK, average_some, &a);
}

/* Columns computed from the degrees of a node and its neighbours. */
static void describe_degrees(const mo_graph *graph, int64_t u, float *x) {
    double d = (double)degree(graph, u), sum = 0, squares = 0, largest = 0, inverse = 0;
    for (int64_t e = graph->row_pointer[u]; e < graph->row_pointer[u + 1]; e++) {
        double dv = (double)degree(graph, graph->column[e]), log_degree = log1p(dv);
        sum += log_degree;
        largest = fmax(largest, log_degree);
        inverse += 1 / dv;
    }
    double mean = d > 0 ? sum / d : 0;
    for (int64_t e = graph->row_pointer[u]; e < graph->row_pointer[u + 1]; e++) {
        double apart = log1p((double)degree(graph, graph->column[e])) - mean;
        squares += apart * apart;
    }
    x[LOG_DEGREE] = (float)log1p(d);
    x[NEAR_MEAN] = (float)mean;
    x[NEAR_SD] = d > 0 ? (float)sqrt(squares / d) : 0;
    x[NEAR_LARGEST] = (float)largest;
    x[INVERSE_DEGREE_MEAN] = d > 0 ? (float)(inverse / d) : 0;
}

static void put_walks(const mo_graph *graph, int64_t u, const mo_closed_walks *walks, float *x) {
    double d = (double)degree(graph, u);
    x[CLUSTERING] = d > 1 ? (float)(walks->triangles / (d * (d - 1))) : 0;
    x[LOG_TRIANGLES] = (float)log1p(walks->triangles / 2);
    for (int k = 0; k < MO_RETURNS; k++)
        x[BACK + k] = (float)walks->back[k];
    x[LOG_REACHED] = (float)log1p((double)walks->reached);
}

/* The number of walks of two steps from u. */
static int64_t walks_of_two(const mo_graph *graph, int64_t u) {
    int64_t n = 0;
    for (int64_t e = graph->row_pointer[u]; e < graph->row_pointer[u + 1]; e++)
        n += degree(graph, graph->column[e]);
    return n;
}

int64_t mo_most_exact_walks(const mo_graph *graph) {
    int64_t all = 0, share = graph->nodes ? EXACT_WALKS / graph->nodes : 0;
    for (int64_t u = 0; u < graph->nodes && all <= EXACT_WALKS; u++)
        all += degree(graph, u) * degree(graph, u);
    return all <= EXACT_WALKS ? INT64_MAX : share > EXACT_WALKS_OF_NODE ? share : EXACT_WALKS_OF_NODE;
}

/* The nodes with at most `most` two-step walks. */
typedef struct exact_nodes {
    const mo_graph *graph;
    int64_t most;
    mo_walk_end *ends; /* [threads, nodes] */
    row *S;
} exact_nodes;

static void describe_some(const void *of, task_range some) {
    const exact_nodes *w = of;
    const mo_graph *graph = w->graph;
    for (int64_t u = some.first; u < some.end; u++) {
        describe_degrees(graph, u, w->S[u]);
        if (walks_of_two(graph, u) <= w->most && mo_goes_on(graph->ctx)) {
            mo_closed_walks walks = mo_closed_walks_of(graph, u, w->ends + some.thread * graph->nodes);
            put_walks(graph, u, &walks, w->S[u]);
        }
    }
}

/* Lists nodes with more than `most` two-step walks, in order, in busy [nodes], and describes all others; returns the
 * number of busy nodes, or -1 on failure. */
static int64_t describe_exactly(const mo_graph *graph, int64_t most, row *S, int64_t *busy) {
    int64_t n_busy = 0;
    mo_walk_end *ends = mo_walk_ends(graph);
    const exact_nodes w = {.graph = graph, .most = most, .ends = ends, .S = S};
    if (mo_ok(graph->ctx))
        run_tasks(mo_context_threads(graph->ctx), graph->nodes, TASK, describe_some, &w);
    free(ends);
    for (int64_t u = 0; u < graph->nodes; u++)
        if (walks_of_two(graph, u) > most)
            busy[n_busy++] = u;
    return mo_ok(graph->ctx) ? n_busy : -1;
}

static bool describe_nodes(const mo_graph *graph, int64_t most, row *S) {
    int64_t *busy = mo_host_array(graph->ctx, graph->nodes, sizeof *busy);
    int64_t n = busy ? describe_exactly(graph, most, S, busy) : -1;
    mo_closed_walks *walks = n > 0 ? mo_host_array(graph->ctx, n, sizeof *walks) : NULL;
    bool done = n == 0 || (walks && mo_sampled_walks(graph, busy, n, walks));
    for (int64_t i = 0; i < n && done; i++)
        put_walks(graph, busy[i], &walks[i], S[busy[i]]);
    free(walks);
    free(busy);
    return done;
}

/* rank: r_u; share: r_u / d_u. */
typedef struct page_ranks {
    const mo_graph *graph;
    double *share, *rank;
} page_ranks;

static void rank_some(const void *of, task_range some) {
    const page_ranks *p = of;
    const mo_graph *graph = p->graph;
    for (int64_t u = some.first; u < some.end; u++) {
        double sum = 0;
        for (int64_t e = graph->row_pointer[u]; e < graph->row_pointer[u + 1]; e++)
            sum += p->share[graph->column[e]];
        p->rank[u] = RESTART / (double)graph->nodes + (1 - RESTART) * sum;
    }
}

/* Writes log(n PageRank). */
static bool rank_nodes(const mo_graph *graph, row *S) {
    int64_t n = graph->nodes;
    double *share = mo_host_array(graph->ctx, n, sizeof *share), *rank = mo_host_array(graph->ctx, n, sizeof *rank);
    const page_ranks p = {.graph = graph, .share = share, .rank = rank};
    bool done = share && rank;
    for (int64_t u = 0; u < n && done; u++)
        rank[u] = 1 / (double)n;
    for (int round = 0; round < ROUNDS && done; round++) {
        for (int64_t u = 0; u < n; u++)
            share[u] = degree(graph, u) ? rank[u] / (double)degree(graph, u) : 0;
        run_tasks(mo_context_threads(graph->ctx), n, TASK, rank_some, &p);
    }
    for (int64_t u = 0; u < n && done; u++)
        S[u][LOG_RANK] = (float)log((double)n * rank[u]);
    free(share);
    free(rank);
    return done;
}

int mo_structure_columns(const mo_graph *graph, int64_t most, float *out) {
    row *S = (row *)out;
    if (!mo_ok(graph->ctx) || !describe_nodes(graph, most, S) || !rank_nodes(graph, S))
        return -1;
    average_neighbours(graph, S, NEAR_MEAN, NEAR_MEAN_MEAN);
    average_neighbours(graph, S, CLUSTERING, CLUSTERING_MEAN);
    average_neighbours(graph, S, LOG_RANK, RANK_MEAN);
    return (int)mo_scale_columns(out, graph->nodes, COLUMNS, graph->counted, graph->n_counted, MO_KERNEL_CLIP);
}
