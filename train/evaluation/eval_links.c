/* train/evaluation/eval_links.c - link prediction: a head fitted on k links and k non-edges scores held-out links
 * against as many non-edges.
 *
 * Features come from a graph without any of the source's positives. The seed divides these into the test (5/7: a fifth
 * of the edges) and the links for the heads' support (2/7: a tenth of the remaining edges). So the features' graph
 * lacks the support links as it lacks the test links. If it had the support links, the rows of such a link would show
 * its own edge, and the head would learn a signal that test links do not have. Rows of examples can be computed twice:
 * a test link's rows come from all edges except the test links (eval_link_rows.c). */
#include "train/evaluation/evaluation.h"

#include "tensor/library.h"
#include "train/episodes/plan_members.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { HITS_K = 1000, OGB_K = 50, CHUNK = 16384 };

/* One class of pairs, links or non-edges, in an order drawn by the seed or, of links with times, the latest first: the
 * first `test` pairs are queries. */
typedef struct pairs {
    int64_t *const *end; /* [2] */
    int64_t *order, n, test;
} pairs;

static bool order_pairs(mo_context *ctx, pairs *p, int64_t *const end[2], int64_t n, int64_t test, mo_random *r) {
    *p = (pairs){.end = end, .n = n, .test = test};
    p->order = mo_host_array(ctx, n, sizeof *p->order);
    for (int64_t i = 0; p->order && i < n; i++)
        p->order[i] = i;
    if (p->order && r)
        mo_random_shuffle(r, p->order, n);
    return p->order;
}

/* 5/7 of n, leaving at least one pair on either side. */
static int64_t test_size(int64_t n) {
    int64_t test = (5 * n + 3) / 7;
    return test < 1 ? 1 : test > n - 1 ? n - 1 : test;
}

/* Pair i of the support: the pairs after the test part in order; once these are used up, drawn with replacement. */
static int64_t support_pair(const pairs *p, int64_t i, mo_random *r) {
    int64_t pool = p->n - p->test;
    return p->order[p->test + (i < pool ? i : mo_random_below(r, pool))];
}

/* One seed's division of the pairs. source and rows are the evaluation's, unless the source has rows of examples: then
 * the division owns rows of all pairs, followed by rows of the test pairs in the graph without test links. */
typedef struct division {
    const mo_evaluation *ev;
    uint64_t seed;
    pairs kind[2];
    double *score; /* of the test: of links, then of non-edges */
    mo_source source;
    mo_tensor **rows; /* per candidate */
    bool owns;        /* whether the division owns features and rows */
} division;

/* Writes pair `at` of a class as example i of one side of the plan. */
static void put_pair(const division *d, int side, int64_t at, int64_t i, int64_t *const ends[2], int64_t *number) {
    ends[0][i] = d->kind[side].end[0][at];
    ends[1][i] = d->kind[side].end[1][at];
    number[i] = side ? d->source.links->n_positive + at : at;
}

/* The plan of a shot: k links, then k non-edges, as its support, and the whole test as its queries, numbered among the
 * source's pairs. Release it even on failure. */
static bool make_plan(const division *d, int64_t k, mo_plan *plan) {
    const pairs *kind = d->kind;
    mo_random r = mo_random_at(d->seed, MO_PURPOSE_SPLIT, (uint64_t)1 << 32 | (uint64_t)k);
    *plan = (mo_plan){.task = MO_TASK_LP, .classes = 2, .k = k};
    if (!mo_plan_reserve(d->ev->ctx, plan, 2 * k, kind[0].test + kind[1].test))
        return false;
    for (int side = 0; side < 2; side++)
        plan->small_classes += kind[side].n - kind[side].test < k;
    for (int64_t i = 0; i < 2 * k; i++) {
        int side = i >= k;
        put_pair(d, side, support_pair(&kind[side], i - side * k, &r), i, plan->support, plan->support_pair);
        plan->support_label[i] = side == 0;
    }
    for (int64_t i = 0; i < plan->n_query; i++) {
        int side = i >= kind[0].test;
        put_pair(d, side, kind[side].order[i - side * kind[0].test], i, plan->query, plan->query_pair);
        plan->query_label[i] = side == 0;
    }
    return true;
}

/* The logit of "link" minus the logit of "no link". */
static mo_tensor *link_margin(mo_tape *t, mo_tensor *logits) {
    return mo_sub(t, mo_slice(t, logits, MO_AXIS(1), 1, 2), mo_slice(t, logits, MO_AXIS(1), 0, 1));
}

/* The score <z_u, z_v>, which needs no support. */
static mo_tensor *inner_products(mo_tape *t, mo_tensor *rows, const mo_plan *plan) {
    mo_tensor *end[2];
    for (int side = 0; side < 2; side++)
        end[side] = mo_gather_rows(t, rows, mo_from(t, MO_I64, 1, &plan->n_query, plan->query[side]));
    return mo_sum(t, mo_mul(t, end[0], end[1]), MO_AXIS(1), MO_KEEP_AXES);
}

/* Scores the queries of the plan, CHUNK at a time. */
static void score_pairs(const division *d, int c, const mo_plan *plan) {
    const mo_evaluation *ev = d->ev;
    mo_tape *t = ev->t;
    int64_t links = d->kind[0].test;
    for (int64_t first = 0, n; first < plan->n_query && mo_ok(ev->ctx); first += n) {
        int64_t left = (first < links ? links : plan->n_query) - first; /* of this class */
        mo_plan part = *plan;
        part.n_query = n = left < CHUNK ? left : CHUNK;
        part.query[0] += first;
        part.query[1] += first;
        part.query_label += first;
        part.query_pair += first;
        mo_tape_reset(t);
        mo_tensor *scores = ev->candidate[c].dot ? inner_products(t, d->rows[c], &part)
                                                 : link_margin(t, mo_candidate_logits(t, &d->source, &ev->candidate[c],
                                                                      d->rows[c], &part, ev->options->max_rows, NULL));
        mo_read_as(scores, MO_F64, d->score + first);
    }
}

static void put_metrics(const division *d, int c, int shot, int64_t repeat) {
    const pairs *kind = d->kind;
    double value[MO_LINK_METRICS];
    errno = 0; /* NAN: no value or, if errno is set, no memory */
    mo_measure_links((mo_scores){d->score, kind[0].test, d->score + kind[0].test, kind[1].test}, HITS_K, OGB_K, value);
    if (errno == ENOMEM)
        mo_fail(d->ev->ctx, MO_MEMORY, "evaluate: out of memory for the ranks of %lld pairs",
            (long long)(kind[0].test + kind[1].test));
    for (int metric = 0; metric < MO_LINK_METRICS; metric++)
        mo_eval_values(d->ev, c, shot, metric)[repeat] = 100 * value[metric];
}

/* Opens the rows of examples: the rows of test pairs come from all edges except the test links. */
static void open_rows(division *d) {
    const mo_evaluation *ev = d->ev;
    const pairs *kind = d->kind;
    int64_t left[2] = {kind[0].n - kind[0].test, kind[1].n - kind[1].test}, m = left[0] + left[1];
    int64_t *reference = mo_host_array(ev->ctx, m, sizeof *reference);
    for (int64_t i = 0; reference && i < m; i++) {
        int side = i >= left[0];
        int64_t at = kind[side].order[kind[side].test + (side ? i - left[0] : i)];
        reference[i] = side ? kind[0].n + at : at;
    }
    mo_link_test test = {.positive = kind[0].order,
        .negative = kind[1].order,
        .reference = reference,
        .n_positive = kind[0].test,
        .n_negative = kind[1].test,
        .n_reference = m};
    d->source.features = reference ? mo_link_test_features(&d->source, &test) : NULL;
    free(reference);
    d->owns = true;
    d->rows = mo_host_array(ev->ctx, ev->n, sizeof *d->rows);
    for (int c = 0; c < ev->n && mo_ok(ev->ctx); c++)
        if (!ev->candidate[c].model && !(d->rows[c] = mo_eval_known_rows(ev, d->rows, c)))
            d->rows[c] = mo_embed_hop(&d->source, ev->candidate[c].hop);
}

static void close_division(division *d) {
    free(d->kind[0].order);
    free(d->kind[1].order);
    free(d->score);
    if (d->owns) {
        mo_eval_release_rows(d->rows, d->ev->n);
        free(d->rows);
        mo_features_release(d->source.features);
    }
}

/* Measures every candidate at one shot, all on the same plan. */
static void evaluate_shot(mo_evaluation *ev, division *d, int shot, int64_t repeat) {
    mo_plan plan;
    bool made = make_plan(d, ev->options->shots[shot], &plan);
    mo_eval_note(ev, shot, repeat, &plan);
    for (int64_t i = 0; made && d->owns && i < plan.n_query; i++)
        plan.query_pair[i] = d->kind[0].n + d->kind[1].n + i; /* the test's own rows */
    for (int c = 0; c < ev->n && mo_ok(ev->ctx); c++) {
        if (shot > 0 && ev->candidate[c].dot)
            continue;
        score_pairs(d, c, &plan);
        if (mo_eval_failed(ev, c, shot))
            for (int metric = 0; metric < MO_LINK_METRICS; metric++)
                mo_eval_values(ev, c, shot, metric)[repeat] = NAN;
        else if (mo_ok(ev->ctx))
            put_metrics(d, c, shot, repeat);
    }
    mo_plan_release(&plan);
}

static void evaluate_seed(mo_evaluation *ev, int64_t repeat) {
    const mo_links *links = ev->source->links;
    division d = {.ev = ev, .seed = ev->options->seed + (uint64_t)repeat, .source = *ev->source, .rows = ev->rows};
    mo_random r = mo_random_at(d.seed, MO_PURPOSE_SPLIT, 0);
    bool timed = ev->source->graph->time;
    int64_t test = test_size(links->n_positive), against = test_size(links->n_negative);
    bool ordered =
        order_pairs(ev->ctx, &d.kind[0], links->positive, links->n_positive, test, timed ? NULL : &r) &&
        order_pairs(ev->ctx, &d.kind[1], links->negative, links->n_negative, against < test ? against : test, &r);
    d.score = ordered ? mo_host_array(ev->ctx, d.kind[0].test + d.kind[1].test, sizeof *d.score) : NULL;
    if (d.score && mo_has_example_rows(ev->source))
        open_rows(&d);
    for (int shot = 0; shot < ev->options->n_shots && mo_ok(ev->ctx); shot++)
        evaluate_shot(ev, &d, shot, repeat);
    close_division(&d);
}

void mo_evaluate_links(mo_evaluation *ev) {
    const mo_links *links = ev->source->links;
    if (links->n_positive < 2 || links->n_negative < 2)
        mo_fail(ev->ctx, MO_INVALID,
            "evaluate: %s holds out %" PRId64 " links and %" PRId64 " non-edges, expected 2 or more of each",
            ev->source->graph->name, links->n_positive, links->n_negative);
    for (int64_t repeat = 0; repeat < ev->repeats && mo_ok(ev->ctx); repeat++)
        evaluate_seed(ev, repeat);
    for (int shot = 0; shot < ev->options->n_shots && mo_ok(ev->ctx); shot++)
        for (int c = 0; c < ev->n; c++)
            if (shot == 0 || !ev->candidate[c].dot)
                mo_eval_visit_rows(ev, c, shot, &(mo_eval_row){.value = NAN, .held_nll = NAN});
}
