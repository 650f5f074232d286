/* train/few_shot/link_scores.c - which pairs of nodes lack a link: a readout fitted on a few of the graph's own links,
 * asked about pairs that are none.
 *
 * The links that the readout is fitted on are held out of the graph that their rows come from, as many non-edges beside
 * them; else these rows would carry the answer. The pairs asked about are seen from the whole graph, where they are no
 * links either. All columns are standardised by the rows that are fitted (train/evaluation/eval_link_rows.c), so that a
 * score does not depend on the other pairs, beyond rounding. */
#include "train/few_shot/few_shot.h"

#include "tensor/given.h"
#include "tensor/host_array.h"
#include "train/episodes/plan_members.h"
#include "train/evaluation/evaluation.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SUPPORT = 512, MOST_PAIRS = 1 << 17 /* whose rows are computed together */ };

typedef struct link_scorer {
    mo_context *ctx;
    mo_graph *graph;
    mo_candidate candidate;
    mo_links *links;    /* the support */
    mo_features *own;   /* its rows, from the graph without its links */
    mo_links asked;     /* the support, and pairs behind its non-edges */
    int64_t *reference; /* the support's rows */
    mo_tape *t;
} link_scorer;

static bool link_scorer_check(mo_context *ctx, const mo_graph *graph, const int64_t *u, const int64_t *v, int64_t n) {
    if (mo_ok(ctx) && (graph->graphs != 1 || graph->nnz < 4))
        mo_fail(ctx, MO_INVALID, "links: %s has %" PRId64 " edges in %" PRId64 " graphs, expected 2 or more in one",
            graph->name, graph->nnz / 2, graph->graphs);
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

static void link_scorer_open(link_scorer *s, const mo_few_shot_options *options) {
    mo_feature_options o;
    int64_t edges = s->graph->nnz / 2;
    double share = MOST_SUPPORT < edges / 10 ? (double)MOST_SUPPORT / (double)edges : 0.1;
    s->t = mo_tape_create(s->ctx, MO_EVAL);
    if (mo_few_shot_candidate(s->ctx, options, &s->candidate, &o) != MO_OK)
        return;
    if (o.form != MO_FEATURES_OF_EXAMPLES)
        mo_fail(s->ctx, MO_UNSUPPORTED, "links: the weights read rows of nodes, expected those of pairs (best)");
    else
        s->links = mo_links_create(s->graph, share, edges < MOST_SUPPORT ? edges : MOST_SUPPORT, 0);
    if (s->links) {
        if (s->links->n_negative > s->links->n_positive)
            s->links->n_negative = s->links->n_positive;
        s->own = mo_example_features_open(s->links->masked, MO_TASK_LP, s->links, &o);
    }
}

/* The support's lists with room for n pairs behind its non-edges. */
static bool link_scorer_reserve(link_scorer *s, int64_t n) {
    const mo_links *links = s->links;
    int64_t support = links->n_positive + links->n_negative;
    s->asked = *links;
    s->reference = mo_host_array(s->ctx, support, sizeof *s->reference);
    for (int side = 0; side < 2; side++) {
        s->asked.negative[side] = mo_host_array(s->ctx, links->n_negative + n, sizeof(int64_t));
        if (mo_ok(s->ctx))
            memcpy(s->asked.negative[side], links->negative[side], (size_t)links->n_negative * sizeof(int64_t));
    }
    for (int64_t i = 0; mo_ok(s->ctx) && i < support; i++)
        s->reference[i] = i;
    return mo_ok(s->ctx);
}

/* The plan: all of the support, and n queries whose rows follow those of the support. */
static bool link_scorer_plan(const link_scorer *s, int64_t n, mo_plan *plan) {
    const mo_links *a = &s->asked;
    int64_t p = a->n_positive, support = p + s->links->n_negative;
    *plan = (mo_plan){.task = MO_TASK_LP, .classes = 2, .k = p};
    if (!mo_plan_reserve(s->ctx, plan, support, n))
        return false;
    for (int side = 0; side < 2; side++) {
        for (int64_t i = 0; i < support; i++)
            plan->support[side][i] = i < p ? a->positive[side][i] : a->negative[side][i - p];
        for (int64_t i = 0; i < n; i++)
            plan->query[side][i] = a->negative[side][s->links->n_negative + i];
    }
    for (int64_t i = 0; i < support; i++) {
        plan->support_pair[i] = i;
        plan->support_label[i] = i < p;
    }
    for (int64_t i = 0; i < n; i++)
        plan->query_pair[i] = support + i;
    return true;
}

static void link_scorer_read(link_scorer *s, const int64_t *u, const int64_t *v, int64_t n, double *score) {
    int64_t support = s->links->n_positive + s->links->n_negative, known = s->links->n_negative;
    int64_t *number = mo_host_array(s->ctx, n, sizeof *number);
    for (int64_t i = 0; number && i < n; i++) {
        s->asked.negative[0][known + i] = u[i] < v[i] ? u[i] : v[i];
        s->asked.negative[1][known + i] = u[i] < v[i] ? v[i] : u[i];
        number[i] = known + i;
    }
    s->asked.n_negative = known + n;
    mo_source source = {.graph = s->graph, .task = MO_TASK_LP, .links = &s->asked, .features = s->own};
    mo_link_test test = {.negative = number, .n_negative = n, .reference = s->reference, .n_reference = support};
    source.features = number ? mo_link_test_features(&source, &test) : NULL;
    mo_plan plan = {0};
    mo_tape_reset(s->t);
    if (source.features && link_scorer_plan(s, n, &plan)) {
        mo_tensor *Y = mo_candidate_logits(s->t, &source, &s->candidate, NULL, &plan, 0);
        mo_tensor *margin = mo_sub(s->t, mo_slice(s->t, Y, 1, 1, 2), mo_slice(s->t, Y, 1, 0, 1));
        mo_tensor_read(mo_cast(s->t, margin, MO_F64), score, (size_t)n * sizeof *score);
    }
    mo_plan_release(&plan);
    mo_features_release(source.features);
    free(number);
}

mo_code mo_few_shot_links(
    mo_graph *graph, const mo_few_shot_options *options, const int64_t *u, const int64_t *v, int64_t n, double *score) {
    if (!graph)
        return MO_INVALID;
    link_scorer s = {.ctx = graph->ctx, .graph = graph};
    if (!mo_given(s.ctx, "links", "u", u) || !mo_given(s.ctx, "links", "v", v) ||
        !mo_given(s.ctx, "links", "score", score) || !link_scorer_check(s.ctx, graph, u, v, n))
        return mo_code_of(s.ctx);
    int64_t most = n < MOST_PAIRS ? n : MOST_PAIRS;
    mo_few_shot_options none = {0};
    link_scorer_open(&s, options ? options : &none);
    if (s.own && link_scorer_reserve(&s, most))
        for (int64_t first = 0; first < n && mo_ok(s.ctx); first += most)
            link_scorer_read(&s, u + first, v + first, n - first < most ? n - first : most, score + first);
    for (int side = 0; side < 2; side++)
        free(s.asked.negative[side]);
    free(s.reference);
    mo_features_release(s.own);
    mo_links_release(s.links);
    mo_model_release(s.candidate.model);
    mo_tape_release(s.t);
    return mo_code_of(graph->ctx);
}
