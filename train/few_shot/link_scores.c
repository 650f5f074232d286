/* train/few_shot/link_scores.c - which pairs of nodes lack a link: a readout fitted on a few of the graph's own links,
 * asked about pairs that are none.
 *
 * The links that the readout is fitted on are held out of the graph that their rows come from, as many non-edges beside
 * them; else these rows would carry the answer. The pairs asked about are seen from the whole graph, where they are no
 * links either. All columns are standardised by the rows that are fitted, so that a score does not depend on the other
 * pairs, beyond rounding (link_blocks.c). */
#include "train/few_shot/link_scores.h"

#include "tensor/host_array.h"
#include "tensor/inside.h"
#include "train/evaluation/evaluation.h"

#include <inttypes.h>
#include <stdlib.h>

enum { MOST_PAIRS = 1 << 20 /* whose columns are computed together */ };

static bool link_scorer_check(mo_context *ctx, const mo_graph *graph, const int64_t *u, const int64_t *v, int64_t n) {
    for (int64_t i = 0; i < n && mo_ok(ctx); i++)
        if (u[i] < 0 || u[i] >= graph->nodes || v[i] < 0 || v[i] >= graph->nodes)
            mo_fail(ctx, MO_INVALID,
                "links: pair %" PRId64 " is %" PRId64 ", %" PRId64 ", expected nodes 0 to %" PRId64, i, u[i], v[i],
                graph->nodes - 1);
        else if (u[i] == v[i] || mo_graph_has_edge(graph, u[i], v[i]))
            mo_fail(ctx, MO_INVALID, "links: pair %" PRId64 ": nodes %" PRId64 " and %" PRId64 " are %s", i, u[i], v[i],
                u[i] == v[i] ? "the same" : "linked already");
    return mo_ok(ctx);
}

/* Numbers of the support's pairs, each as often as it is fitted. */
static bool list_fit(mo_link_scorer *s) {
    const mo_link_support *p = &s->support;
    int64_t n = 0;
    for (int64_t i = 0; i < p->n; i++)
        n += p->fit[i];
    s->fit = mo_host_array(s->ctx, n, sizeof *s->fit);
    for (int64_t i = 0; s->fit && i < p->n; i++)
        for (int64_t k = 0; k < p->fit[i]; k++)
            s->fit[s->n_fit++] = i;
    return s->fit;
}

static void link_scorer_fill(mo_link_scorer *s, const mo_few_shot_options *options, const mo_link_support *support) {
    mo_feature_options o;
    s->t = mo_tape_create(s->ctx, MO_EVAL);
    if (mo_few_shot_candidate(s->ctx, options, &s->candidate, &o) != MO_OK)
        return;
    double bytes = (double)s->graph->nodes * MO_PAIR_MATRICES * o.dim * sizeof(float);
    if (s->memory > 0 && bytes > (double)s->memory)
        mo_fail(s->ctx, MO_MEMORY, "links: '%s' needs %.0f bytes; the limit of memory is %" PRId64, s->graph->name,
            bytes, s->memory);
    else if (o.form != MO_FEATURES_OF_EXAMPLES)
        mo_fail(s->ctx, MO_UNSUPPORTED, "links: the weights read rows of nodes, expected those of pairs (best)");
    else
        s->links = support ? mo_link_support_take(s->graph, support, &s->support)
                           : mo_link_support_draw(s->graph, &s->support);
    if (s->links && list_fit(s) && mo_link_scorer_divide(s, bytes, MOST_PAIRS)) /* before the SVD */
        s->own = mo_example_features_open(s->links->masked, MO_TASK_LP, s->links, &o);
    if (s->own)
        s->reader = mo_pair_reader_open(s->graph, &o);
}

mo_link_scorer *mo_link_scorer_open(
    mo_graph *graph, const mo_few_shot_options *options, const mo_link_support *support) {
    if (!graph)
        return NULL;
    mo_context *ctx = graph->ctx;
    mo_few_shot_options none = {0};
    if (mo_ok(ctx) && (graph->graphs != 1 || graph->nnz < 4))
        mo_fail(ctx, MO_INVALID, "links: %s has %" PRId64 " edges in %" PRId64 " graphs, expected 2 or more in one",
            graph->name, graph->nnz / 2, graph->graphs);
    mo_link_scorer *s = mo_ok(ctx) ? mo_host_array(ctx, 1, sizeof *s) : NULL;
    if (!s)
        return NULL;
    *s = (mo_link_scorer){.ctx = ctx, .graph = graph, .memory = options ? options->memory : 0};
    link_scorer_fill(s, options ? options : &none, support);
    if (mo_ok(ctx))
        return s;
    mo_link_scorer_release(s);
    return NULL;
}

void mo_link_scorer_release(mo_link_scorer *s) {
    if (!s)
        return;
    mo_pair_reader_release(s->reader);
    mo_features_release(s->own);
    mo_links_release(s->links);
    mo_link_support_release(&s->support);
    mo_model_release(s->candidate.model);
    for (int i = 0; i < MO_MOST_LEARNED; i++)
        mo_tensor_release(s->learned[i]);
    mo_tape_release(s->t);
    free(s->fit);
    free(s);
}

const mo_link_support *mo_link_scorer_support(const mo_link_scorer *s) {
    return s ? &s->support : NULL;
}

mo_code mo_link_scorer_score(mo_link_scorer *s, const int64_t *u, const int64_t *v, int64_t n, double *score) {
    if (!s)
        return MO_INVALID;
    if (!mo_given(s->ctx, "links", "u", u) || !mo_given(s->ctx, "links", "v", v) ||
        !mo_given(s->ctx, "links", "score", score) || !link_scorer_check(s->ctx, s->graph, u, v, n))
        return mo_code_of(s->ctx);
    double nodes = (double)s->graph->nodes * MO_PAIR_MATRICES * (double)s->reader->dim * sizeof(float);
    int64_t chunk = mo_link_scorer_divide(s, nodes + 24.0 * (double)n, MOST_PAIRS);
    for (int64_t first = 0; chunk && first < n && mo_ok(s->ctx); first += chunk)
        mo_link_scorer_read(s, u + first, v + first, n - first < chunk ? n - first : chunk, score + first);
    return mo_code_of(s->ctx);
}

mo_code mo_few_shot_links(
    mo_graph *graph, const mo_few_shot_options *options, const int64_t *u, const int64_t *v, int64_t n, double *score) {
    if (!graph)
        return MO_INVALID;
    mo_context *ctx = graph->ctx;
    if (!mo_given(ctx, "links", "u", u) || !mo_given(ctx, "links", "v", v) || !mo_given(ctx, "links", "score", score) ||
        !link_scorer_check(ctx, graph, u, v, n))
        return mo_code_of(ctx);
    mo_link_scorer *s = mo_link_scorer_open(graph, options, NULL);
    mo_link_scorer_score(s, u, v, n, score);
    mo_link_scorer_release(s);
    return mo_code_of(ctx);
}
