/* train/few_shot/link_scores.c - which pairs of nodes lack a link: a readout fitted on a few of the graph's own links,
 * asked about pairs that are none.
 *
 * The links that the readout is fitted on are held out of the graph that their rows come from, as many non-edges beside
 * them; else these rows would carry the answer. The pairs asked about are seen from the whole graph, where they are no
 * links either. All columns are standardised by the rows that are fitted, so that a score does not depend on the other
 * pairs, beyond rounding: a block of queries is one product of matrices, whose rounding may depend on its rows. */
#include "train/few_shot/link_scores.h"

#include "tensor/given.h"
#include "tensor/host_array.h"
#include "train/episodes/plan_members.h"
#include "train/evaluation/evaluation.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

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
    if (s->links && list_fit(s))
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
    mo_tape_release(s->t);
    free(s->fit);
    free(s);
}

const mo_link_support *mo_link_scorer_support(const mo_link_scorer *s) {
    return s ? &s->support : NULL;
}

/* ---- a block of queries ---- */

/* Queries first .. first + n - 1 of the pairs whose raw columns are in `values`, of `all` pairs. */
typedef struct query_block {
    mo_pair_list pairs;
    mo_pair_values values;
    int64_t first, n;
} query_block;

/* One name of the block's features: the support's rows, then those of the queries x [outer, pairs, w], standardised by
 * the support's moments. */
static void put_block_rows(
    mo_link_scorer *s, const query_block *b, const float *x, const char *name, const char *moments, mo_features *f) {
    mo_context *ctx = s->ctx;
    mo_tensor *own = mo_arrays_find(s->own->arrays, name);
    int ndim = mo_ndim(own);
    int64_t n_s = mo_dim(own, -2), w = mo_dim(own, -1), outer = mo_numel(own) / (n_s * w), n = n_s + b->n, shape[4];
    for (int i = 0; i < ndim; i++)
        shape[i] = i == ndim - 2 ? n : mo_dim(own, i);
    float *rows = mo_host_array(ctx, outer * n * w, sizeof *rows), *m = mo_host_array(ctx, 2 * outer * w, sizeof *m);
    float *support = mo_host_array(ctx, outer * n_s * w, sizeof *support);
    mo_tensor *T = mo_own_array(f, name, ndim, shape);
    if (mo_ok(ctx) && mo_tensor_read(own, support, (size_t)(outer * n_s * w) * sizeof *support) == MO_OK &&
        mo_tensor_read(mo_arrays_find(s->own->arrays, moments), m, (size_t)(2 * outer * w) * sizeof *m) == MO_OK) {
        for (int64_t o = 0; o < outer; o++) {
            memcpy(rows + o * n * w, support + o * n_s * w, (size_t)(n_s * w) * sizeof *rows);
            for (int64_t i = 0; i < b->n * w; i++)
                rows[(o * n + n_s) * w + i] =
                    (x[(o * b->pairs.n + b->first) * w + i] - m[o * w + i % w]) / m[(outer + o) * w + i % w];
        }
        mo_tensor_write(T, rows, (size_t)(outer * n * w) * sizeof *rows);
    }
    free(support);
    free(rows);
    free(m);
}

static mo_features *open_block_rows(mo_link_scorer *s, const query_block *b) {
    mo_features *f = mo_host_array(s->ctx, 1, sizeof *f);
    if (!f)
        return NULL;
    *f = *s->own;
    f->arrays = mo_arrays_create(s->ctx);
    mo_tensor *spectrum = mo_arrays_find(s->own->arrays, "spectrum");
    if (f->arrays)
        mo_tensor_copy(mo_own_array(f, "spectrum", 2, (int64_t[]){MO_BLOCKS, mo_dim(spectrum, 1)}), spectrum);
    if (mo_ok(s->ctx)) {
        put_block_rows(s, b, b->values.bands, "blocks", "block_moments", f);
        put_block_rows(s, b, b->values.extras, "extras", "extras_moments", f);
        put_block_rows(s, b, b->values.walks, "walks", "walks_moments", f);
        put_block_rows(s, b, b->values.matches, "matches", "matches_moments", f);
    }
    if (mo_ok(s->ctx))
        return f;
    mo_features_release(f);
    return NULL;
}

/* The plan: the support that is fitted, then the queries, by the numbers of their rows. */
static bool plan_block(const mo_link_scorer *s, const query_block *b, mo_plan *plan) {
    const mo_link_support *p = &s->support;
    *plan = (mo_plan){.task = MO_TASK_LP, .classes = 2, .k = s->links->n_positive};
    if (!mo_plan_reserve(s->ctx, plan, s->n_fit, b->n))
        return false;
    for (int64_t i = 0; i < s->n_fit; i++) {
        plan->support[0][i] = p->u[s->fit[i]];
        plan->support[1][i] = p->v[s->fit[i]];
        plan->support_pair[i] = s->fit[i];
        plan->support_label[i] = p->linked[s->fit[i]];
    }
    for (int side = 0; side < 2; side++)
        memcpy(plan->query[side], b->pairs.end[side] + b->first, (size_t)b->n * sizeof(int64_t));
    for (int64_t i = 0; i < b->n; i++)
        plan->query_pair[i] = p->n + i;
    return true;
}

static void score_block(mo_link_scorer *s, const query_block *b, double *score) {
    mo_plan plan = {0};
    mo_source source = {.graph = s->graph, .task = MO_TASK_LP, .links = s->links};
    source.features = open_block_rows(s, b);
    mo_tape_reset(s->t);
    if (source.features && plan_block(s, b, &plan)) {
        mo_tensor *Y = mo_candidate_logits(s->t, &source, &s->candidate, NULL, &plan, 0);
        mo_tensor *margin = mo_sub(s->t, mo_slice(s->t, Y, 1, 1, 2), mo_slice(s->t, Y, 1, 0, 1));
        mo_tensor_read(mo_cast(s->t, margin, MO_F64), score, (size_t)b->n * sizeof *score);
    }
    mo_tape_reset(s->t);
    mo_plan_release(&plan);
    mo_features_release(source.features);
}

mo_code mo_link_scorer_read(mo_link_scorer *s, const int64_t *u, const int64_t *v, int64_t n, double *score) {
    query_block b = {.pairs = {s->graph, n,
                         (int64_t *const[]){mo_host_array(s->ctx, n, sizeof *u), mo_host_array(s->ctx, n, sizeof *v)}}};
    for (int64_t i = 0; i < n && mo_ok(s->ctx); i++) {
        b.pairs.end[0][i] = u[i] < v[i] ? u[i] : v[i];
        b.pairs.end[1][i] = u[i] < v[i] ? v[i] : u[i];
    }
    if (mo_ok(s->ctx) && mo_pair_values_reserve(s->reader, n, &b.values) &&
        mo_pair_reader_read(s->reader, &b.pairs, &b.values) == MO_OK)
        for (; b.first < n && mo_ok(s->ctx); b.first += MO_LINK_QUERIES) {
            b.n = n - b.first < MO_LINK_QUERIES ? n - b.first : MO_LINK_QUERIES;
            score_block(s, &b, score + b.first);
        }
    mo_pair_values_release(&b.values);
    free(b.pairs.end[0]);
    free(b.pairs.end[1]);
    return mo_code_of(s->ctx);
}

mo_code mo_link_scorer_score(mo_link_scorer *s, const int64_t *u, const int64_t *v, int64_t n, double *score) {
    if (!s)
        return MO_INVALID;
    if (!mo_given(s->ctx, "links", "u", u) || !mo_given(s->ctx, "links", "v", v) ||
        !mo_given(s->ctx, "links", "score", score) || !link_scorer_check(s->ctx, s->graph, u, v, n))
        return mo_code_of(s->ctx);
    for (int64_t first = 0; first < n && mo_ok(s->ctx); first += MOST_PAIRS)
        mo_link_scorer_read(s, u + first, v + first, n - first < MOST_PAIRS ? n - first : MOST_PAIRS, score + first);
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
