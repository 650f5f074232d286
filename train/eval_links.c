/* train/eval_links.c - link prediction: a head fitted on k links and k non-edges scores held-out links against as many
 * non-edges.
 *
 * Features come from a graph without any of the source's positives. Those are divided, by seed, into the test (5/7: a
 * fifth of the edges) and the links that heads are fitted on (2/7: a tenth of the remaining edges). A support link is
 * thus as absent from the features' graph as a test link: were it an edge there, its rows would carry its own
 * existence, and the head would learn to read what no test link has. */
#include "train/evaluation.h"

#include "train/host_array.h"
#include "train/plan_members.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { HITS_K = 1000, OGB_K = 50, CHUNK = 16384 };

const char *const mo_link_metrics[MO_EVAL_METRICS] = {"auc", "ap", "hits_rank", "hits_ogb", "hits_pooled"};

/* One kind of pairs, links or non-edges, in an order drawn by the seed: the first `test` are asked about. */
typedef struct pairs {
    const int64_t *end[2];
    int64_t *order, n, test;
    double *score; /* [test] */
} pairs;

static bool order_pairs(mo_context *ctx, pairs *p, int64_t *const end[2], int64_t n, int64_t test, mo_random *r) {
    *p = (pairs){.end = {end[0], end[1]}, .n = n, .test = test};
    p->order = mo_host_array(ctx, n, sizeof *p->order);
    p->score = mo_host_array(ctx, test, sizeof *p->score);
    if (!p->order || !p->score)
        return false;
    for (int64_t i = 0; i < n; i++)
        p->order[i] = i;
    mo_random_shuffle(r, p->order, n);
    return true;
}

static void release_pairs(pairs *p) {
    free(p->order);
    free(p->score);
}

/* The share 5/7, leaving at least one pair on either side. */
static int64_t test_size(int64_t n) {
    int64_t test = (5 * n + 3) / 7;
    return test < 1 ? 1 : test > n - 1 ? n - 1 : test;
}

/* The first k pairs behind the test; where there are fewer, all of them and then draws with replacement. */
static int64_t support_pair(const pairs *p, int64_t i, mo_random *r) {
    int64_t pool = p->n - p->test;
    return p->order[p->test + (i < pool ? i : mo_random_below(r, pool))];
}

/* Pair `at` of a kind as example `i` of a side of the plan. */
static void put_pair(const mo_evaluation *ev, const pairs kind[2], int side, int64_t at, int64_t i,
    int64_t *const ends[2], int64_t *number) {
    ends[0][i] = kind[side].end[0][at];
    ends[1][i] = kind[side].end[1][at];
    number[i] = side ? ev->source->links->n_positive + at : at;
}

/* k links, then k non-edges. */
static void put_support(const mo_evaluation *ev, const pairs kind[2], int64_t k, uint64_t seed, mo_plan *plan) {
    mo_random r = mo_random_at(seed, MO_PURPOSE_SPLIT, (uint64_t)1 << 32 | (uint64_t)k);
    for (int side = 0; side < 2; side++)
        for (int64_t i = 0; i < k; i++) {
            put_pair(ev, kind, side, support_pair(&kind[side], i, &r), side * k + i, plan->support, plan->support_pair);
            plan->support_label[side * k + i] = side == 0;
        }
}

static void put_queries(const mo_evaluation *ev, const pairs kind[2], int side, int64_t first, mo_plan *plan) {
    for (int64_t i = 0; i < plan->n_query; i++) {
        put_pair(ev, kind, side, kind[side].order[first + i], i, plan->query, plan->query_pair);
        plan->query_label[i] = side == 0;
    }
}

/* score = logit of "link" minus logit of "no link". */
static void read_scores(mo_tape *t, mo_tensor *logits, double *score, int64_t n) {
    mo_context *ctx = mo_tape_context(t);
    mo_tensor *wide = mo_tape_tensor(t, MO_F64, 2, (int64_t[]){n, 2});
    double *pair = mo_tape_scratch(t, 2 * n, sizeof *pair);
    if (!mo_ok(ctx) || mo_tensor_copy(wide, logits) != MO_OK)
        return;
    if (mo_tensor_read(wide, pair, (size_t)(2 * n) * sizeof *pair) != MO_OK)
        return;
    for (int64_t i = 0; i < n; i++)
        score[i] = pair[2 * i + 1] - pair[2 * i];
}

static void score_pairs(const mo_evaluation *ev, int c, pairs kind[2], int64_t k, uint64_t seed) {
    mo_tape *t = ev->t;
    for (int side = 0; side < 2; side++)
        for (int64_t first = 0; first < kind[side].test && mo_ok(ev->ctx); first += CHUNK) {
            int64_t n = kind[side].test - first < CHUNK ? kind[side].test - first : CHUNK;
            mo_plan plan = {.task = MO_TASK_LP, .classes = 2, .k = k};
            mo_tape_reset(t);
            if (!mo_plan_reserve(ev->ctx, &plan, 2 * k, n))
                return;
            put_support(ev, kind, k, seed, &plan);
            put_queries(ev, kind, side, first, &plan);
            mo_tensor *logits = mo_candidate_logits(t, ev->source, &ev->candidate[c], ev->rows[c], &plan);
            read_scores(t, logits, kind[side].score + first, n);
            mo_plan_release(&plan);
        }
}

static void put_metrics(const mo_evaluation *ev, int c, int shot, int64_t repeat, const pairs kind[2]) {
    const double *pos = kind[0].score, *neg = kind[1].score;
    int64_t np = kind[0].test, nn = kind[1].test;
    mo_scores s = {pos, np, neg, nn};
    const double value[MO_EVAL_METRICS] = {
        mo_auc(s), mo_average_precision(s), mo_hits_rank(s, HITS_K), mo_hits_ogb(s, OGB_K), mo_hits_pooled(s, HITS_K)};
    for (int metric = 0; metric < MO_EVAL_METRICS; metric++)
        mo_eval_values(ev, c, shot, metric)[repeat] = 100 * value[metric];
}

static void evaluate_seed(mo_evaluation *ev, int64_t repeat) {
    const mo_links *links = ev->source->links;
    uint64_t seed = ev->options->seed + (uint64_t)repeat;
    mo_random r = mo_random_at(seed, MO_PURPOSE_SPLIT, 0);
    int64_t test = test_size(links->n_positive), against = test_size(links->n_negative);
    pairs kind[2] = {0};
    if (order_pairs(ev->ctx, &kind[0], links->positive, links->n_positive, test, &r) &&
        order_pairs(ev->ctx, &kind[1], links->negative, links->n_negative, against < test ? against : test, &r))
        for (int shot = 0; shot < ev->options->n_shots && mo_ok(ev->ctx); shot++)
            for (int c = 0; c < ev->n && mo_ok(ev->ctx); c++) {
                score_pairs(ev, c, kind, ev->options->shots[shot], seed);
                if (mo_ok(ev->ctx))
                    put_metrics(ev, c, shot, repeat, kind);
            }
    release_pairs(&kind[0]);
    release_pairs(&kind[1]);
}

void mo_evaluate_links(mo_evaluation *ev) {
    const mo_links *links = ev->source->links;
    if (links->n_positive < 2 || links->n_negative < 2)
        mo_fail(ev->ctx, MO_INVALID,
            "evaluate: %s holds out %" PRId64 " links and %" PRId64 " non-edges, expected 2 or more of each",
            ev->source->graph->name, links->n_positive, links->n_negative);
    for (int64_t repeat = 0; repeat < ev->repeats && mo_ok(ev->ctx); repeat++)
        evaluate_seed(ev, repeat);
}
