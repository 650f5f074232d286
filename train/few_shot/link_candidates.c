/* train/few_shot/link_candidates.c - the nodes worth asking about as missing links of a node.
 *
 * By walks: node v of weight (A~^2 + A~^3)_uv, up to the factor that u alone gives: with s_b = sum over a in N(u) and
 * N(b) of 1 / d_a, (s_v + sum over b in N(v) of s_b / d_b) / d_v^(1/2). Of more than 64 neighbours of a node, 64 at
 * even distances are walked to, so that a node costs 64 + 64^2 + 64^3 steps at most, and about the cube of the mean
 * degree where degrees are alike. What lies more than three steps away is found by attributes alone (near_rows.c). */
#include "train/few_shot/link_candidates.h"

#include "tensor/host_array.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_NEIGHBOURS = 64 };

/* ---- lists of the best ---- */

/* Whether a stands behind b in the list. */
static bool ranks_behind(mo_ranked a, mo_ranked b) {
    return a.weight != b.weight ? a.weight < b.weight : a.node > b.node;
}

static void swap_ranked(mo_ranked *a, mo_ranked *b) {
    mo_ranked other = *a;
    *a = *b;
    *b = other;
}

/* Moves the first entry of a heap of n down to its place. */
static void sink_ranked(mo_ranked *list, int64_t n) {
    for (int64_t i = 0, last; (last = 2 * i + 1) < n; i = last) {
        last += last + 1 < n && ranks_behind(list[last + 1], list[last]);
        if (!ranks_behind(list[last], list[i]))
            return;
        swap_ranked(&list[i], &list[last]);
    }
}

void mo_ranked_offer(mo_ranked *list, int32_t *n, int64_t most, mo_ranked entry) {
    if (*n < most) {
        int64_t i = (*n)++;
        for (list[i] = entry; i && ranks_behind(list[i], list[(i - 1) / 2]); i = (i - 1) / 2)
            swap_ranked(&list[i], &list[(i - 1) / 2]);
    } else if (most && ranks_behind(list[0], entry)) {
        list[0] = entry;
        sink_ranked(list, most);
    }
}

void mo_ranked_sort(mo_ranked *list, int32_t n) {
    for (int64_t left = n; left > 1; left--) {
        swap_ranked(&list[0], &list[left - 1]);
        sink_ranked(list, left - 1);
    }
}

/* ---- walks ---- */

/* Of one thread: weights of the nodes that were reached, zero elsewhere. */
typedef struct steps {
    double *two, *three;     /* [nodes] */
    int32_t *reached, *more; /* [nodes]: after two steps; after three and not after two */
    int32_t n_reached, n_more;
    mo_ranked *best;
} steps;

static bool open_steps(int64_t nodes, int64_t most, steps *s) {
    *s = (steps){.two = calloc((size_t)nodes, sizeof *s->two),
        .three = calloc((size_t)nodes, sizeof *s->three),
        .reached = malloc((size_t)nodes * sizeof *s->reached),
        .more = malloc((size_t)nodes * sizeof *s->more),
        .best = malloc((size_t)(most + 1) * sizeof *s->best)};
    return s->two && s->three && s->reached && s->more && s->best;
}

static void close_steps(steps *s) {
    free(s->two);
    free(s->three);
    free(s->reached);
    free(s->more);
    free(s->best);
}

static int64_t degree_of(const mo_graph *graph, int64_t u) {
    return graph->row_pointer[u + 1] - graph->row_pointer[u];
}

/* How many neighbours of u are walked to; the i-th of them. */
static int64_t walked(const mo_graph *graph, int64_t u) {
    int64_t n = degree_of(graph, u);
    return n < MOST_NEIGHBOURS ? n : MOST_NEIGHBOURS;
}
static int32_t walked_to(const mo_graph *graph, int64_t u, int64_t i, int64_t n) {
    return graph->column[graph->row_pointer[u] + i * degree_of(graph, u) / n];
}

static void take_steps(const mo_graph *graph, int64_t u, steps *s) {
    s->n_reached = s->n_more = 0;
    for (int64_t i = 0, n = walked(graph, u); i < n; i++) {
        int32_t a = walked_to(graph, u, i, n);
        for (int64_t j = 0, m = walked(graph, a); j < m; j++) {
            int32_t b = walked_to(graph, a, j, m);
            if (s->two[b] == 0)
                s->reached[s->n_reached++] = b;
            s->two[b] += 1 / (double)degree_of(graph, a);
        }
    }
    for (int32_t i = 0; i < s->n_reached; i++) {
        int32_t b = s->reached[i];
        for (int64_t j = 0, m = walked(graph, b); j < m; j++) {
            int32_t v = walked_to(graph, b, j, m);
            if (s->three[v] == 0 && s->two[v] == 0)
                s->more[s->n_more++] = v;
            s->three[v] += s->two[b] / (double)degree_of(graph, b);
        }
    }
}

/* Offers the nodes of a list that are neither u nor its neighbours, and sets their weights to zero. */
static void rank_reached(
    const mo_graph *graph, int64_t u, steps *s, const int32_t *list, int32_t n, int64_t most, int32_t *ranked) {
    for (int32_t i = 0; i < n; i++) {
        int32_t v = list[i];
        mo_ranked entry = {(s->two[v] + s->three[v]) / sqrt((double)degree_of(graph, v)), v};
        bool better = *ranked < most || ranks_behind(s->best[0], entry);
        if (better && v != u && !mo_graph_has_edge(graph, u, v))
            mo_ranked_offer(s->best, ranked, most, entry);
        s->two[v] = s->three[v] = 0;
    }
}

static int compare_nodes(const void *a, const void *b) {
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

/* ---- all nodes ---- */

/* Candidates of u by walks, `most` of them, behind those that it has by attributes. */
static void find_walked(const mo_graph *graph, int64_t u, int64_t most, steps *s, mo_candidates *c) {
    int32_t ranked = 0, *node = c->node + u * c->most, known = c->n[u];
    take_steps(graph, u, s);
    rank_reached(graph, u, s, s->reached, s->n_reached, most, &ranked);
    rank_reached(graph, u, s, s->more, s->n_more, most, &ranked);
    for (int32_t i = 0; i < ranked; i++) {
        bool twice = false;
        for (int32_t j = 0; j < known && !twice; j++)
            twice = node[j] == s->best[i].node;
        if (!twice)
            node[c->n[u]++] = s->best[i].node;
    }
    qsort(node, (size_t)c->n[u], sizeof *node, compare_nodes);
}

static bool find_near(const mo_graph *graph, int64_t most, const float *x, int64_t d, mo_candidates *c) {
    mo_ranked *list = mo_host_array(graph->ctx, graph->nodes * most, sizeof *list);
    bool found = list && mo_near_rows(graph, x, d, most, list, c->n);
    for (int64_t u = 0; found && u < graph->nodes; u++)
        for (int32_t i = 0; i < c->n[u]; i++)
            c->node[u * c->most + i] = list[u * most + i].node;
    free(list);
    return found;
}

bool mo_candidates_find(const mo_graph *graph, int64_t most, const float *x, int64_t d, mo_candidates *c) {
    mo_context *ctx = graph->ctx;
    int64_t near = x ? most / 2 : 0;
    *c = (mo_candidates){.most = most,
        .node = mo_host_array(ctx, graph->nodes * most, sizeof *c->node),
        .n = mo_host_array(ctx, graph->nodes, sizeof *c->n)};
    bool started = c->node && c->n && (!near || find_near(graph, near, x, d, c));
    if (!started)
        return false;
#pragma omp parallel num_threads(mo_context_threads(ctx))
    {
        steps s;
        bool own = open_steps(graph->nodes, most, &s);
        if (!own)
#pragma omp atomic write
            started = false;
#pragma omp for schedule(dynamic, 64)
        for (int64_t u = 0; u < graph->nodes; u++)
            if (own)
                find_walked(graph, u, most - near, &s, c);
        close_steps(&s);
    }
    if (!started)
        mo_fail(ctx, MO_MEMORY, "links: out of memory for the walks between nodes");
    return started;
}

void mo_candidates_release(mo_candidates *c) {
    free(c->node);
    free(c->n);
}

bool mo_candidates_hold(const mo_candidates *c, int64_t u, int64_t v) {
    int32_t key = (int32_t)v;
    return bsearch(&key, c->node + u * c->most, (size_t)c->n[u], sizeof key, compare_nodes) != NULL;
}
