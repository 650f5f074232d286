/* train/features/closed_walks.c - closed walks of P = D^-1 A at one node: probabilities, triangles, cycles of four.
 *
 * The probability of return after four steps is sum_j Q_uj Q_ju with Q = P^2. The walk is reversible, that is, Q_ju =
 * Q_uj d_u / d_j, so row u of Q is enough.
 *
 * Nodes with too many two-step walks to enumerate are described by samples.
 *
 * Triangles: N+(v) are the neighbours of v of higher degree; in a graph of m edges they are at most sqrt(2 m). Each
 * triangle of u is one pair of v in N(u) and w in N+(v) with w in N(u) (Latapy 2008). It adds 2 / (d_u d_v d_w) to the
 * probability of return after three steps.
 *
 * Return after four steps, by a walk u v w v' u: the walks with w = u or v' = v have the exact probability
 *     (sum_v 1 / (d_u d_v))^2 + sum_v (s_v - 1 / d_u) / (d_u d_v^2),   s_v the sum of 1 / d_w over w in N(v).
 * The rest is the mean of [w != u, v' != v, v' in N(u)] / d_v' over all three-step walks, estimated by random ones.
 *
 * Nodes reached: every node draws ranks from an exponential distribution; the least rank among n nodes has the mean 1 /
 * n, so if K such least ranks sum to r, the estimate of n is (K - 1) / r (Cohen 1997). */
#include "train/features/closed_walks.h"

#include "tensor/cpu/tasks.h"
#include "tensor/library.h"

#include <math.h>
#include <stdlib.h>

mo_walk_end *mo_walk_ends(const mo_graph *graph) {
    int64_t n = mo_context_threads(graph->ctx) * graph->nodes;
    mo_walk_end *w = mo_host_array(graph->ctx, n, sizeof *w);
    for (int64_t i = 0; i < n && w; i++)
        w[i].degree = (int32_t)degree(graph, i % graph->nodes);
    return w;
}

mo_closed_walks mo_closed_walks_of(const mo_graph *graph, int64_t u, mo_walk_end *w) {
    const int64_t *first = graph->row_pointer;
    const int32_t *column = graph->column;
    double du = (double)degree(graph, u);
    mo_closed_walks out = {{0}, 0, 0, 0};
    for (int64_t i = first[u]; i < first[u + 1]; i++) {
        int64_t from = first[column[i]], end = first[column[i] + 1];
        double share = 1 / (du * (double)(end - from)); /* not again for each walk, as w could alias the columns */
        for (int64_t j = from; j < end; j++) {
            w[column[j]].share += share;
            w[column[j]].count++;
        }
    }
    out.back[0] = w[u].share;
    w[u].count = 0; /* walks to a neighbour and back are no cycles */
    for (int64_t i = first[u]; i < first[u + 1]; i++) {
        out.back[1] += w[column[i]].share / (double)degree(graph, column[i]);
        out.triangles += w[column[i]].count;
    }
    for (int64_t i = first[u]; i < first[u + 1]; i++)
        for (int64_t j = first[column[i]]; j < first[column[i] + 1]; j++) {
            int64_t v = column[j];
            double n = w[v].count;
            out.back[2] += w[v].share * w[v].share * du / (double)w[v].degree;
            out.cycles += n * (n - 1) / 2;
            out.reached += w[v].share > 0;
            w[v].share = 0; /* so that v counts once */
            w[v].count = 0;
        }
    return out;
}

/* ---- samples ---- */

enum { WALKS = 256, RANKS = 256, AT_ONCE = 8, TASK = 256, FEW = 8 };

/* Figures of all nodes, computed once. */
typedef struct surroundings {
    int64_t *first;  /* [nodes + 1] */
    int32_t *higher; /* N+(v) from first[v] on */
    double *inverse; /* [nodes]: s_v */
} surroundings;

static bool is_higher(const mo_graph *g, int64_t v, int64_t w) {
    return degree(g, w) > degree(g, v) || (degree(g, w) == degree(g, v) && w > v);
}

static bool find_surroundings(const mo_graph *g, surroundings *s) {
    int64_t n = 0;
    *s = (surroundings){mo_host_array(g->ctx, g->nodes + 1, sizeof *s->first),
        mo_host_array(g->ctx, g->nnz / 2, sizeof *s->higher), mo_host_array(g->ctx, g->nodes, sizeof *s->inverse)};
    for (int64_t v = 0; v < g->nodes && mo_ok(g->ctx); v++) {
        for (int64_t e = g->row_pointer[v]; e < g->row_pointer[v + 1]; e++) {
            if (is_higher(g, v, g->column[e]))
                s->higher[n++] = g->column[e];
            s->inverse[v] += 1 / (double)degree(g, g->column[e]);
        }
        s->first[v + 1] = n;
    }
    return mo_ok(g->ctx);
}

static void release_surroundings(surroundings *s) {
    free(s->first);
    free(s->higher);
    free(s->inverse);
}

/* The neighbour of u chosen by 32 random bits; its probability is within 2^-32 of 1 / d_u. */
static int64_t chosen_neighbour(const mo_graph *g, int64_t u, uint32_t bits) {
    return g->column[g->row_pointer[u] + (int64_t)(((uint64_t)bits * (uint64_t)degree(g, u)) >> 32)];
}

/* near [nodes]: marks the neighbours of u. */
static double back_after_four(const mo_graph *g, const surroundings *s, int64_t u, const bool *near) {
    double du = (double)degree(g, u), there = 0, same = 0, sampled = 0;
    for (int64_t e = g->row_pointer[u]; e < g->row_pointer[u + 1]; e++) {
        int64_t v = g->column[e];
        double dv = (double)degree(g, v);
        there += 1 / (du * dv);
        same += (s->inverse[v] - 1 / du) / (du * dv * dv);
    }
    mo_random r = mo_random_at(0, MO_PURPOSE_WALK, (uint64_t)u);
    double offset = mo_random_uniform(&r);
    for (int i = 0; i < WALKS && du > 0; i++) { /* first steps go to each neighbour of u in turn */
        uint64_t bits = mo_random_bits(&r);
        int64_t v = g->column[g->row_pointer[u] + (int64_t)((i + offset) / WALKS * du)];
        int64_t w = chosen_neighbour(g, v, (uint32_t)(bits >> 32)), back = chosen_neighbour(g, w, (uint32_t)bits);
        if (w != u && back != v && near[back])
            sampled += 1 / (double)degree(g, back);
    }
    return there * there + same + sampled / WALKS;
}

/* near: all false before and after. */
static void describe_walks(const mo_graph *g, const surroundings *s, int64_t u, bool *near, mo_closed_walks *out) {
    double du = (double)degree(g, u), triangles = 0, back = 0;
    for (int64_t e = g->row_pointer[u]; e < g->row_pointer[u + 1]; e++)
        near[g->column[e]] = true;
    for (int64_t e = g->row_pointer[u]; e < g->row_pointer[u + 1]; e++) {
        int64_t v = g->column[e];
        double dv = (double)degree(g, v);
        for (int64_t i = s->first[v]; i < s->first[v + 1]; i++)
            if (near[s->higher[i]]) {
                triangles += 2;
                back += 2 / (du * dv * (double)degree(g, s->higher[i]));
            }
    }
    out->triangles = triangles;
    out->back[0] = du > 0 ? s->inverse[u] / du : 0;
    out->back[1] = back;
    out->back[2] = back_after_four(g, s, u, near);
    for (int64_t e = g->row_pointer[u]; e < g->row_pointer[u + 1]; e++)
        near[g->column[e]] = false;
}

/* The listed nodes, with scratch near [threads, nodes]. */
typedef struct listed_nodes {
    const mo_graph *g;
    const surroundings *s;
    const int64_t *node;
    bool *near;
    mo_closed_walks *out;
} listed_nodes;

static void describe_some(const void *of, task_range some) {
    const listed_nodes *l = of;
    for (int64_t i = some.first; i < some.end; i++)
        if (mo_goes_on(l->g->ctx))
            describe_walks(l->g, l->s, l->node[i], l->near + some.thread * l->g->nodes, &l->out[i]);
}

static bool describe_all(
    const mo_graph *g, const surroundings *s, const int64_t *node, int64_t n, mo_closed_walks *out) {
    bool *near = mo_host_array(g->ctx, mo_context_threads(g->ctx) * g->nodes, sizeof *near);
    if (!near)
        return false;
    const listed_nodes l = {.g = g, .s = s, .node = node, .near = near, .out = out};
    run_tasks(mo_context_threads(g->ctx), n, FEW, describe_some, &l);
    free(near);
    return true;
}

/* ---- nodes reached ---- */

typedef float ranks[AT_ONCE];

static void take_least(ranks to, const ranks from) {
    for (int k = 0; k < AT_ONCE; k++)
        to[k] = from[k] < to[k] ? from[k] : to[k];
}

/* least := the least rank of each ranking among u's neighbours. */
static void least_of_neighbours(const mo_graph *g, const ranks *rank, int64_t u, ranks least) {
    for (int k = 0; k < AT_ONCE; k++)
        least[k] = INFINITY;
    for (int64_t e = g->row_pointer[u]; e < g->row_pointer[u + 1]; e++)
        take_least(least, rank[g->column[e]]);
}

/* AT_ONCE rankings from `first` on. */
typedef struct rankings {
    const mo_graph *g;
    int first;
    ranks *own, *near; /* [nodes]: a node's ranks; the least of its neighbours */
    const int64_t *node;
    double *sum;
} rankings;

static void draw_ranks(const void *of, task_range some) {
    const rankings *w = of;
    for (int64_t u = some.first; u < some.end; u++) {
        mo_random r = mo_random_at(1, MO_PURPOSE_WALK, (uint64_t)u);
        r.index = (uint64_t)w->first / 2;
        for (int k = 0; k < AT_ONCE; k += 2) { /* 64 random bits give two ranks */
            uint64_t bits = mo_random_bits(&r);
            w->own[u][k] = -log1pf(-((float)(bits >> 32) + 0.5F) * 0x1p-32F);
            w->own[u][k + 1] = -log1pf(-((float)(uint32_t)bits + 0.5F) * 0x1p-32F);
        }
    }
}

static void find_least_near(const void *of, task_range some) {
    const rankings *w = of;
    for (int64_t u = some.first; u < some.end; u++)
        least_of_neighbours(w->g, w->own, u, w->near[u]);
}

static void add_least(const void *of, task_range some) {
    const rankings *w = of;
    for (int64_t i = some.first; i < some.end; i++) {
        ranks least;
        least_of_neighbours(w->g, w->near, w->node[i], least);
        for (int k = 0; k < AT_ONCE; k++)
            w->sum[i] += least[k];
    }
}

/* For each listed node and each of the RANKS rankings, finds the least rank among the nodes that it reaches; sum [n]
 * receives the sum over the rankings. AT_ONCE rankings are drawn at a time. */
static bool sum_least_ranks(const mo_graph *g, const int64_t *node, int64_t n, double *sum) {
    rankings w = {.g = g,
        .own = mo_host_array(g->ctx, g->nodes, sizeof(ranks)),
        .near = mo_host_array(g->ctx, g->nodes, sizeof(ranks)),
        .node = node,
        .sum = sum};
    int threads = mo_context_threads(g->ctx);
    for (; w.first < RANKS && w.own && w.near; w.first += AT_ONCE) {
        run_tasks(threads, g->nodes, TASK, draw_ranks, &w);
        run_tasks(threads, g->nodes, TASK, find_least_near, &w);
        run_tasks(threads, n, TASK, add_least, &w);
    }
    free(w.own);
    free(w.near);
    return mo_ok(g->ctx);
}

bool mo_sampled_walks(const mo_graph *graph, const int64_t *node, int64_t n, mo_closed_walks *out) {
    surroundings s = {0};
    double *sum = mo_host_array(graph->ctx, n, sizeof *sum);
    bool done = sum && find_surroundings(graph, &s) && describe_all(graph, &s, node, n, out) &&
                sum_least_ranks(graph, node, n, sum);
    for (int64_t i = 0; i < n && done; i++)
        out[i].reached = (int64_t)((RANKS - 1) / sum[i] + 0.5);
    release_surroundings(&s);
    free(sum);
    return done;
}
