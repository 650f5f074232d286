/* tests/train/few_shot/test_link_scores.c - scores of missing links: links that were removed are found again, a score
 * depends neither on threads nor, beyond rounding, on the other pairs, and invalid pairs are refused; links that no
 * structure predicts are not found; probabilities are shares; the best partners are those with the highest scores. */
#include "tests/planted.h"
#include "tests/scratch.h"
#include "tests/worst_of.h"
#include "train/few_shot/few_shot.h"

enum { ASKED = 200 };

TEST_OF(what_is_no_missing_link_is_refused, scratch *s) {
    double score[2];
    HELD(mo_graph) *g = mo_graph_open(s->ctx, "cora");
    int64_t v = g->column[g->row_pointer[3]];
    assert_int_equal(mo_few_shot_links(NULL, NULL, &v, &v, 1, score), MO_INVALID);
    mo_few_shot_links(g, NULL, (int64_t[]){3}, &v, 1, score);
    assert_failed(s->ctx, MO_INVALID, PARTS("links: pair 0: nodes 3 and", "are linked already"));
    mo_few_shot_links(g, NULL, (int64_t[]){3}, (int64_t[]){3}, 1, score);
    assert_failed(s->ctx, MO_INVALID, PARTS("nodes 3 and 3 are the same"));
    mo_few_shot_links(g, NULL, (int64_t[]){3}, (int64_t[]){2708}, 1, score);
    assert_failed(s->ctx, MO_INVALID, PARTS("links: pair 0 is 3, 2708, expected nodes 0 to 2707"));
    mo_graph_release(g);
    g = mo_graph_from_edges(s->ctx, "short", 3, 1, (int64_t[]){0}, (int64_t[]){1});
    mo_few_shot_links(g, NULL, (int64_t[]){0}, (int64_t[]){2}, 1, score);
    assert_failed(s->ctx, MO_INVALID, PARTS("links: short has 1 edges in 1 graphs, expected 2 or more in one"));
}

enum { MANY = 2500 };

/* Scores pairs that are not linked, in a context that may hold `memory` bytes (0: any number). Returns the status. */
static mo_code score_many(int64_t memory, int threads, double score[MANY], char message[1024]) {
    HELD(mo_context) *ctx = mo_context_create(&(mo_context_options){.threads = threads, .memory = memory});
    HELD(mo_graph) *g = mo_graph_open(ctx, "cora");
    static int64_t u[MANY], v[MANY];
    for (int64_t i = 0, n = 0; n < MANY; i++) {
        u[n] = i % g->nodes;
        v[n] = (i * 7 + 11) % g->nodes;
        n += u[n] != v[n] && !mo_graph_has_edge(g, u[n], v[n]);
    }
    mo_code code = mo_few_shot_links(g, NULL, u, v, MANY, score);
    snprintf(message, 1024, "%s", mo_context_status(ctx)->message);
    return code;
}

TEST(a_limit_of_memory_makes_smaller_parts) {
    static double whole[MANY], parts[MANY], again[MANY];
    char message[1024];
    assert_int_equal(score_many(0, 2, whole, message), MO_OK);
    assert_int_equal(score_many(300 << 20, 1, parts, message), MO_OK);
    assert_int_equal(score_many(300 << 20, 3, again, message), MO_OK);
    assert_memory_equal(parts, again, sizeof parts);
    for (int i = 0; i < MANY; i++)
        assert_true(fabs(whole[i] - parts[i]) < 1e-3);
    assert_int_equal(score_many(20 << 20, 1, parts, message), MO_MEMORY);
    assert_non_null(strstr(message, "M held, 20.0M allowed: raise --memory "));
}

/* ---- held-out links ---- */

/* All pairs that a masked graph does not link: their scores, and which of them are held-out links. */
typedef struct unlinked {
    int64_t n, linked, *u, *v;
    double *score;
    bool *is_link;
} unlinked;

static unlinked score_unlinked(mo_link_scorer *scorer, const mo_graph *masked, const mo_graph *whole) {
    int64_t n = masked->nodes;
    unlinked p = {.u = test_memory((size_t)(n * n) * sizeof(int64_t)),
        .v = test_memory((size_t)(n * n) * sizeof(int64_t)),
        .score = test_memory((size_t)(n * n) * sizeof(double)),
        .is_link = test_memory((size_t)(n * n))};
    for (int64_t u = 0; u < n; u++)
        for (int64_t v = u + 1; v < n; v++)
            if (!mo_graph_has_edge(masked, u, v)) {
                p.linked += p.is_link[p.n] = mo_graph_has_edge(whole, u, v);
                p.u[p.n] = u;
                p.v[p.n++] = v;
            }
    assert_int_equal(mo_link_scorer_score(scorer, p.u, p.v, p.n, p.score), MO_OK);
    return p;
}

static double area_under_curve(const unlinked *p) {
    double *score = test_memory((size_t)p->n * sizeof *score), metric[MO_LINK_METRICS];
    int64_t at[2] = {0, p->linked};
    for (int64_t i = 0; i < p->n; i++)
        score[at[!p->is_link[i]]++] = p->score[i];
    mo_measure_links((mo_scores){score, p->linked, score + p->linked, p->n - p->linked}, 10, 10, metric);
    return metric[MO_AUC];
}

/* Each pair is linked with one probability, so nothing predicts a link. If the rows of the fitted links had any trace
 * of their own edge, or the negatives a mark of how they were drawn, scores would still be about half right here, but
 * the trace must not turn into a wrong order either: links whose rows come from a graph with and without them. */
TEST_OF(links_of_a_graph_without_structure_are_not_found, scratch *s) {
    double sum = 0;
    for (uint64_t seed = 0; seed < 3; seed++) {
        HELD(mo_graph) *whole = planted_graph(s->ctx, "none", 160, 1, 0.08, 0.08, seed);
        HELD(mo_links) *links = mo_links_create(whole, 0.2, 0, seed);
        HELD(mo_link_scorer) *scorer = mo_link_scorer_open(links->masked, NULL, NULL, NULL, NULL);
        const unlinked p = score_unlinked(scorer, links->masked, whole);
        sum += area_under_curve(&p) / 3;
    }
    if (fabs(sum - 0.5) > 0.06) /* the standard error over some 600 links is 0.012 */
        fail_msg("expected an area under the curve of 0.5, found %g", sum);
}

/* Half of the links are taken out, so that as many links are missing as there are: then the probability of a pair, the
 * share of linked ones among all pairs like it, is that of a missing link. Of pairs two steps apart and of the others
 * alike, the sum of probabilities is the number of links found there. */
TEST_OF(probabilities_are_shares_of_linked_pairs, scratch *s) {
    HELD(mo_graph) *whole = planted_graph(s->ctx, "parts", 300, 6, 0.25, 0.01, 2);
    HELD(mo_links) *links = mo_links_create(whole, 0.5, 0, 1);
    HELD(mo_link_scorer) *scorer = mo_link_scorer_open(links->masked, NULL, NULL, NULL, NULL);
    const unlinked p = score_unlinked(scorer, links->masked, whole);
    double expected[2] = {0}, found[2] = {0};
    for (int64_t i = 0; i < p.n; i++) {
        bool near = mo_graph_two_steps(links->masked, p.u[i], p.v[i]);
        expected[near] += 1 / (1 + exp(-p.score[i]));
        found[near] += p.is_link[i];
    }
    assert_true(area_under_curve(&p) > 0.75);
    for (int near = 0; near < 2; near++)
        if (fabs(log(expected[near] / found[near])) > log(1.5))
            fail_msg("pairs %s: expected %g links, found %g", near ? "two steps apart" : "farther apart",
                expected[near], found[near]);
}

/* A link of the support whose end had no other edge would teach that a node without edges is about to get one. */
TEST_OF(support_links_leave_no_node_alone, scratch *s) {
    HELD(mo_graph) *g = mo_graph_open(s->ctx, "cora");
    HELD(mo_link_scorer) *scorer = mo_link_scorer_open(g, NULL, NULL, NULL, NULL);
    const mo_link_support *p = mo_link_scorer_support(scorer);
    int64_t *end[2] = {p->u, p->v}, links = 0, near = 0, far = 0;
    while (links < p->n && p->linked[links])
        links++;
    HELD(mo_graph) *masked = mo_graph_without(g, end, links);
    for (int64_t i = 0; i < links; i++)
        assert_true(masked->row_pointer[p->u[i]] < masked->row_pointer[p->u[i] + 1] &&
                    masked->row_pointer[p->v[i]] < masked->row_pointer[p->v[i] + 1]);
    for (int64_t i = links; i < p->n; i++)
        *(mo_graph_two_steps(masked, p->u[i], p->v[i]) ? &near : &far) += 1;
    assert_true(links > 400 && near + far == links && abs((int)(near - far)) <= 1);
    assert_true(
        p->shift[0] < p->shift[1] && p->shift[1] < 0); /* a link is rarer among all pairs than among the drawn */
}

TEST_OF(the_best_partners_have_the_highest_scores, scratch *s) {
    enum { MOST = 4, N = 60 };
    static int64_t partner[N * MOST];
    static double score[N * MOST], again[N * MOST];
    HELD(mo_graph) *g = planted_graph(s->ctx, "parts", N, 3, 0.3, 0.02, 4);
    HELD(mo_link_scorer) *scorer = mo_link_scorer_open(g, NULL, NULL, NULL, NULL);
    assert_int_equal(mo_link_scorer_best(scorer, MOST, partner, score), MO_OK);
    const unlinked p = score_unlinked(scorer, g, g);
    int64_t agree = 0, all = 0;
    for (int64_t u = 0; u < N; u++)
        for (int64_t i = 0; i < MOST; i++) {
            int64_t at = u * MOST + i, v = partner[at], above = 0;
            assert_true(v >= 0 && v != u && !mo_graph_has_edge(g, u, v));
            assert_true(i == 0 || (score[at - 1] >= score[at] && partner[at - 1] != v));
            assert_int_equal(mo_link_scorer_score(scorer, (int64_t[]){u}, (int64_t[]){v}, 1, &again[at]), MO_OK);
            assert_true(fabs(again[at] - score[at]) < 1e-4);
            for (int64_t k = 0; k < p.n; k++)
                above += (p.u[k] == u || p.v[k] == u) && p.score[k] > score[at] + 1e-4;
            agree += above <= i;
            all++;
        }
    assert_true(agree > all * 9 / 10); /* candidates are not all pairs */
    mo_link_scorer_best(scorer, 0, partner, score);
    assert_failed(s->ctx, MO_INVALID, PARTS("links: the best 0 partners of a node, expected 1 to 60"));
}
