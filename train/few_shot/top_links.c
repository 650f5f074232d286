/* train/few_shot/top_links.c - the best missing links of every node of a graph, without a score for each of its pairs.
 *
 * Asked about are the candidates of every node (link_candidates.c), a pair once, whichever of its ends has the other as
 * a candidate; its score counts for both. Pairs go through the scorer (link_scores.c) a chunk at a time, so that memory
 * grows with the nodes and not with the pairs: candidates and lists, the basis of the pairs' columns, and three more
 * matrices of all nodes during a pass. A graph of few nodes is asked about all its pairs. */
#include "train/few_shot/link_candidates.h"
#include "train/few_shot/link_scores.h"

#include "tensor/given.h"
#include "tensor/host_array.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

enum { CANDIDATES = 64, MOST_CHUNK = 1 << 20 };

typedef struct top_links {
    mo_context *ctx;
    mo_graph *graph;
    mo_link_scorer *scorer;
    mo_candidates candidates; /* none: all pairs */
    int64_t k;
    mo_ranked *list;          /* [nodes, k] */
    int32_t *count;           /* [nodes] */
    int64_t chunk, n, *u, *v; /* pairs to be scored next */
    double *score;
} top_links;

/* How many pairs to score in one pass over all nodes, which costs as much for one as for many; 0, with an error, where
 * the memory does not suffice. */
static int64_t find_chunk(const top_links *l, int64_t most) {
    const mo_graph *graph = l->graph;
    double nodes = (double)graph->nodes, dim = (double)l->scorer->reader->dim;
    double base = nodes * (MO_PAIR_MATRICES * dim * sizeof(float) + 4 * (double)most + 16 * (double)l->k + 64);
    base += 24 * (double)graph->nnz + 8 * (double)graph->feature_nnz;
    return mo_link_scorer_divide(l->scorer, base, fmax(MOST_CHUNK, 4 * nodes));
}

static bool find_candidates(top_links *l, int64_t most) {
    const mo_graph *graph = l->graph;
    if (most >= graph->nodes - 1)
        return true;
    int64_t d = l->scorer->reader->dim;
    float *x = graph->features > 0 ? mo_host_array(l->ctx, graph->nodes * d, sizeof *x) : NULL;
    if (x)
        mo_pair_reader_attributes(l->scorer->reader, x);
    bool found = mo_ok(l->ctx) && mo_candidates_find(graph, most, x, d, &l->candidates);
    free(x);
    return found;
}

/* Scores the pairs that wait, and offers them to both ends. */
static void score_chunk(top_links *l) {
    if (!l->n || !mo_ok(l->ctx) || mo_link_scorer_read(l->scorer, l->u, l->v, l->n, l->score) != MO_OK)
        return;
    for (int64_t i = 0; i < l->n; i++) {
        int64_t u = l->u[i], v = l->v[i];
        if (!isfinite(l->score[i])) {
            mo_fail(
                l->ctx, MO_NUMERICAL, "links: the score of nodes %" PRId64 " and %" PRId64 " is %g", u, v, l->score[i]);
            return;
        }
        mo_ranked_offer(l->list + u * l->k, &l->count[u], l->k, (mo_ranked){l->score[i], (int32_t)v});
        mo_ranked_offer(l->list + v * l->k, &l->count[v], l->k, (mo_ranked){l->score[i], (int32_t)u});
    }
    l->n = 0;
}

static void add_pair(top_links *l, int64_t u, int64_t v) {
    l->u[l->n] = u;
    l->v[l->n++] = v;
    if (l->n == l->chunk)
        score_chunk(l);
}

/* The pairs of u and later nodes, and of u and those of which it is no candidate. */
static void add_pairs_of(top_links *l, int64_t u) {
    const mo_candidates *c = &l->candidates;
    if (!c->node)
        for (int64_t v = u + 1; v < l->graph->nodes && mo_ok(l->ctx); v++)
            if (!mo_graph_has_edge(l->graph, u, v))
                add_pair(l, u, v);
    for (int32_t i = 0; c->node && i < c->n[u] && mo_ok(l->ctx); i++) {
        int64_t v = c->node[u * c->most + i];
        if (u < v || !mo_candidates_hold(c, v, u))
            add_pair(l, u, v);
    }
}

static void write_lists(top_links *l, int64_t *to, double *score) {
    for (int64_t u = 0; u < l->graph->nodes; u++) {
        mo_ranked *list = l->list + u * l->k;
        mo_ranked_sort(list, l->count[u]);
        for (int64_t i = 0; i < l->k; i++) {
            to[u * l->k + i] = i < l->count[u] ? list[i].node : -1;
            score[u * l->k + i] = i < l->count[u] ? list[i].weight : NAN;
        }
    }
}

static bool reserve_lists(top_links *l) {
    l->list = mo_host_array(l->ctx, l->graph->nodes * l->k, sizeof *l->list);
    l->count = mo_host_array(l->ctx, l->graph->nodes, sizeof *l->count);
    l->u = mo_host_array(l->ctx, l->chunk, sizeof *l->u);
    l->v = mo_host_array(l->ctx, l->chunk, sizeof *l->v);
    l->score = mo_host_array(l->ctx, l->chunk, sizeof *l->score);
    return mo_ok(l->ctx);
}

static void release_lists(top_links *l) {
    mo_candidates_release(&l->candidates);
    void *owned[] = {l->list, l->count, l->u, l->v, l->score};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++)
        free(owned[i]);
}

mo_code mo_link_scorer_top(mo_link_scorer *s, int64_t k, int64_t candidates, int64_t *to, double *score) {
    if (!s)
        return MO_INVALID;
    top_links l = {.ctx = s->ctx, .graph = s->graph, .scorer = s, .k = k};
    if (!mo_given(l.ctx, "links", "to", to) || !mo_given(l.ctx, "links", "score", score))
        return mo_code_of(l.ctx);
    if (mo_ok(l.ctx) && (k < 1 || candidates < 0))
        mo_fail(l.ctx, MO_INVALID,
            "links: the best %" PRId64 " of %" PRId64 " candidates, expected 1 or more, and 0 (default) or more", k,
            candidates);
    int64_t nodes = s->graph->nodes, most = candidates ? candidates : CANDIDATES;
    most = most < k ? k : most > nodes ? nodes : most;
    l.chunk = mo_ok(l.ctx) ? find_chunk(&l, most) : 0;
    if (l.chunk && find_candidates(&l, most) && reserve_lists(&l)) {
        for (int64_t u = 0; u < nodes && mo_ok(l.ctx); u++)
            add_pairs_of(&l, u);
        score_chunk(&l);
        if (mo_ok(l.ctx))
            write_lists(&l, to, score);
    }
    release_lists(&l);
    return mo_code_of(l.ctx);
}
