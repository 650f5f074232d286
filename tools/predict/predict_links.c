/* tools/predict/predict_links.c - scores pairs of nodes. */
#include "tools/cli/memory.h"
#include "tools/cli/progress.h"
#include "tools/cli/table_file.h"
#include "tools/predict/predict.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* The pairs of a file with their scores; NaN for linked nodes, or a node paired with itself. */
typedef struct pair_list {
    int64_t n, *u, *v; /* borrowed */
    double *score;
} pair_list;

static bool is_pair_known(const mo_graph *graph, int64_t u, int64_t v) {
    return u == v || mo_graph_has_edge(graph, u, v);
}

/* Scores the pairs that are not linked. */
static bool score_pair_list(mo_link_scorer *scorer, const mo_graph *graph, pair_list *p) {
    int64_t *u = needed(calloc(2 * (size_t)p->n + 1, sizeof *u)), *v = u + p->n, n = 0;
    double *score = needed(calloc((size_t)p->n + 1, sizeof *score));
    for (int64_t i = 0; i < p->n; i++)
        if (!is_pair_known(graph, p->u[i], p->v[i])) {
            u[n] = p->u[i];
            v[n++] = p->v[i];
        }
    bool fine = n == 0 || mo_link_scorer_score(scorer, u, v, n, score) == MO_OK;
    for (int64_t i = 0, at = 0; i < p->n; i++)
        p->score[i] = is_pair_known(graph, p->u[i], p->v[i]) ? NAN : score[at++];
    free(score);
    free(u);
    return fine;
}

/* Of the score, which is the logarithm of odds. */
static double probability_of(double score) {
    return 1 / (1 + exp(-score));
}

static void put_pair(table_file *t, const mo_graph *graph, int64_t u, int64_t v, double score) {
    put_example(t, graph, u);
    put_example(t, graph, v);
    put_value(t, json_number(score), "%.6f");
    put_text(t, !isnan(score) ? "no" : u == v ? "same" : "yes");
    put_value(t, json_number(probability_of(score)), "%.6f");
    end_row(t);
}

static bool write_pair_list(const mo_graph *graph, const pair_list *p, const char *path, bool json) {
    table_file t;
    open_table(&t, path, json);
    begin_table(&t, (const char *[]){"from", "to", "score", "linked", "probability"}, 5);
    for (int64_t i = 0; i < p->n; i++)
        put_pair(&t, graph, p->u[i], p->v[i], p->score[i]);
    return close_table(graph->ctx, &t);
}

static bool predict_pairs(
    mo_link_scorer *scorer, const mo_graph *graph, const mo_link_support *asked, const link_request *r) {
    pair_list p = {.n = asked->n, .u = asked->u, .v = asked->v};
    p.score = needed(calloc((size_t)p.n + 1, sizeof *p.score));
    bool fine = score_pair_list(scorer, graph, &p) && write_pair_list(graph, &p, r->out, r->json);
    free(p.score);
    return fine;
}

/* Lists the partners of each node as pairs, in the order of nodes. */
static bool predict_best(mo_link_scorer *scorer, const mo_graph *graph, const link_request *r) {
    int64_t nodes = graph->nodes, most = r->best < nodes ? r->best : nodes;
    pair_list p = {.u = needed(calloc(2 * (size_t)(nodes * most) + 1, sizeof *p.u))};
    p.v = p.u + nodes * most;
    p.score = needed(calloc((size_t)(nodes * most) + 1, sizeof *p.score));
    bool fine = mo_link_scorer_best(scorer, most, p.v, p.score) == MO_OK;
    for (int64_t i = 0; fine && i < nodes * most; i++)
        if (p.v[i] >= 0) { /* p.n <= i */
            p.u[p.n] = i / most;
            p.v[p.n] = p.v[i];
            p.score[p.n++] = p.score[i];
        }
    fine = fine && write_pair_list(graph, &p, r->out, r->json);
    free(p.score);
    free(p.u);
    return fine;
}

bool predict_links(mo_graph *graph, mo_few_shot_options *o, const mo_weights *weights, const link_request *r) {
    mo_link_support given = {0}, asked = {0};
    mo_arrays *fitted = NULL;
    bool fine = r->readout  ? mo_link_readout_read(r->readout, graph, o, weights, &given, &fitted) == MO_OK
                : r->labels ? mo_link_support_read(graph, r->labels, true, &given)
                            : true;
    if (fine && r->pairs && graph->graphs == 1) /* before the long work; a set is refused by the scorer */
        fine = mo_link_support_read(graph, r->pairs, false, &asked);
    phase_begin(!o->notice, "mochi predict: features of %.80s", graph->name);
    mo_link_scorer *scorer = fine ? mo_link_scorer_open(graph, o, weights, given.n ? &given : NULL, fitted) : NULL;
    fine = scorer && (!r->save || mo_link_readout_write(scorer, graph, o, weights, r->save) == MO_OK);
    phase_begin(!o->notice, "mochi predict: links of %.80s", graph->name);
    fine = fine && (r->best ? predict_best(scorer, graph, r) : predict_pairs(scorer, graph, &asked, r));
    mo_link_scorer_release(scorer);
    mo_arrays_release(fitted);
    mo_link_support_release(&given);
    mo_link_support_release(&asked);
    return fine;
}
