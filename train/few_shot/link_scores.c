/* train/few_shot/link_scores.c - link prediction: a readout fitted on a few of the graph's own links scores pairs of
 * nodes without a link.
 *
 * The readout is fitted on links and on pairs without a link (link_support.c), whose rows come from a graph without
 * these links: else the rows would contain the answer. The rows of the scored pairs come from the whole graph, because
 * the scored pairs are no links in it. All columns are standardised by the fitted rows, so that a score does not depend
 * on the other pairs, beyond rounding.
 *
 * The raw columns of up to a million pairs are computed together, in one pass over all nodes. Blocks of them are then
 * standardised, encoded and read by the readout's state. */
#include "tensor/files/file.h"
#include "tensor/library.h"
#include "tensor/objects.h"
#include "train/episodes/episode_kernels.h"
#include "train/episodes/episode_rows.h"
#include "train/episodes/plan_members.h"
#include "train/evaluation/evaluation.h"
#include "train/features/feature_memory.h"
#include "train/features/pairs/pair_columns.h"
#include "train/few_shot/few_shot.h"
#include "train/graphs/graph_build.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

enum {
    MOST_PAIRS = 1 << 20, /* most pairs whose columns are computed together */
    LEAST_PAIRS = 1 << 16,
    BLOCK = 16384,       /* pairs that are encoded and read at once */
    SMALL_BLOCK = 1024,  /* the same under a bound of less than FOR_WHOLE_BLOCKS bytes of memory */
    BYTES_PER_PAIR = 640 /* the columns of a pair */
};

static const int64_t FOR_WHOLE_BLOCKS = (int64_t)4 << 30;
/* How much more the similarities' kernel is believed than the others, in nats, before drawn pairs are seen. Where the
 * pairs tell the experts apart it changes nothing; where they do not, a line through similarities orders the likeliest
 * pairs better than the embedding's Gaussian kernel: on astroph, pairs two steps apart, the share of links above all
 * but ten other pairs rises from 63 to 70%, on other graphs by -1 to 4 points (tests/pairs.py). */
static const double similarity_prior = 5;
static const char shift[] = "shift"; /* of a saved fit: the support's */

struct mo_link_scorer {
    mo_context *ctx;
    mo_graph *graph; /* held; its attributes on one scale */
    mo_candidate candidate;
    mo_link_support support; /* links before others */
    mo_links *links;         /* the support as links */
    mo_features *own;        /* rows of the support, from the graph without its links */
    mo_pair_reader *reader;  /* reads the whole graph */
    int64_t n_row, *row;     /* [n_row]: the rows of `own` that kernels compare with: the fitted pairs, or centres */
    mo_tape *t;
    mo_state state; /* the fitted readout, owned */
};

/* ---- the fit ---- */

/* The support's pairs, each repeated as often as it is fitted. A plan needs a query: the first pair. */
static bool plan_fit(const mo_link_scorer *s, mo_plan *plan) {
    const mo_link_support *p = &s->support;
    int64_t n = 0, at = 0;
    for (int64_t i = 0; i < p->n; i++)
        if (__builtin_add_overflow(n, p->fit[i], &n))
            n = INT64_MAX;
    *plan = (mo_plan){.task = MO_TASK_LP, .classes = 2, .k = s->links->n_positive};
    if (!mo_claim_fits(s->ctx, s->graph->name, "fits of pairs", n, sizeof n, p->n * 4 * (int64_t)sizeof n) ||
        !mo_plan_reserve(s->ctx, plan, n, 1))
        return false;
    for (int64_t i = 0; i < p->n; i++)
        for (int64_t k = 0; k < p->fit[i]; k++, at++) {
            plan->support[0][at] = p->u[i];
            plan->support[1][at] = p->v[i];
            plan->support_pair[at] = i;
            plan->support_label[at] = p->linked[i];
        }
    plan->query[0][0] = p->u[0];
    plan->query[1][0] = p->v[0];
    return true;
}

/* Lists the rows that kernels compare with. */
static void list_rows(mo_link_scorer *s, const mo_plan *plan) {
    int64_t centre[MO_MOST_CENTRES],
        m = mo_choose_centres(s->ctx, plan->support_pair, plan->support_label, plan->n_support, 2, centre);
    s->n_row = m ? m : plan->n_support;
    s->row = mo_host_array(s->ctx, s->n_row, sizeof *s->row);
    for (int64_t i = 0; s->row && i < s->n_row; i++)
        s->row[i] = plan->support_pair[m ? centre[i] : i];
}

/* Fits the readout, unless it is loaded. */
static void fit_readout(mo_link_scorer *s, bool drawn, const mo_arrays *fitted) {
    const mo_source source = {.graph = s->links->masked,
        .task = MO_TASK_LP,
        .links = s->links,
        .features = s->own,
        .similarities = s->candidate.model->reads_kernels};
    mo_plan plan = {0};
    mo_episode e;
    mo_tensor *Zs, *Zq;
    mo_state state;
    bool planned = plan_fit(s, &plan);
    if (planned)
        list_rows(s, &plan);
    if (planned && !fitted && mo_episode_build(s->t, &source, &plan, &e) == MO_OK) {
        e.kernel_prior = drawn ? similarity_prior : 0;
        mo_model_embed(s->t, s->candidate.model, &e, NULL, &Zs, &Zq);
        if (mo_model_fit(s->t, s->candidate.model, &e, Zs, false, &state) == MO_OK)
            mo_state_clone(s->ctx, &state, &s->state);
    }
    mo_tape_reset(s->t);
    mo_plan_release(&plan);
}

/* ---- a block of pairs ---- */

/* Adds rows first .. first + n - 1 of raw columns to the features, standardised by the support's moments. */
static void put_rows(
    mo_link_scorer *s, const mo_pair_part *part, mo_rows values, int64_t first, int64_t n, mo_features *f) {
    mo_tensor *own = mo_arrays_find(s->own->arrays, part->name);
    int64_t w = values.w, shape[MO_MAX_AXES];
    mo_view raw = {.data = values.x + first * w,
        .dtype = MO_F32,
        .ndim = 3,
        .shape = {values.outer, n, w},
        .stride = {values.n * w, w, 1}};
    mo_tensor *X = mo_tensor_wrap(s->ctx, &raw, NULL, NULL);
    mo_tensor *moments =
        mo_reshape(s->t, mo_arrays_find(s->own->arrays, part->moments), 4, (int64_t[]){2, values.outer, 1, w});
    mo_tensor *mean = mo_reshape(s->t, mo_slice(s->t, moments, MO_AXIS(0), 0, 1), 3, (int64_t[]){values.outer, 1, w});
    mo_tensor *spread = mo_reshape(s->t, mo_slice(s->t, moments, MO_AXIS(0), 1, 2), 3, (int64_t[]){values.outer, 1, w});
    for (int i = 0; i < mo_ndim(own); i++)
        shape[i] = i == mo_ndim(own) - 2 ? n : mo_dim(own, i);
    mo_tensor *rows = mo_reshape(s->t, mo_div(s->t, mo_sub(s->t, X, mean), spread), mo_ndim(own), shape);
    mo_arrays_take(f->arrays, part->name, mo_tensor_clone(s->ctx, rows));
    mo_tensor_release(X);
}

/* The kernels between a block of pairs and the support, or its centres. */
static void put_query_kernels(mo_link_scorer *s, const mo_arrays *block, mo_episode *e) {
    const char *name = mo_pair_parts[MO_PAIR_SIMILARITIES].name;
    if (!s->candidate.model->reads_kernels || !mo_ok(s->ctx))
        return;
    mo_tensor *own = mo_arrays_find(s->own->arrays, name), *X = mo_arrays_find(block, name);
    own = mo_gather_rows(s->t, own, mo_from(s->t, MO_I64, 1, &s->n_row, s->row));
    e->rows[e->n_rows++] = (mo_named){"query kernels", mo_pair_kernel(s->t, X, own), NULL};
}

/* score = logit of "link" minus logit of "no link". */
static void score_block(mo_link_scorer *s, const mo_pair_values *values, int64_t first, int64_t n, double *score) {
    mo_features f = *s->own;
    f.arrays = mo_arrays_create(s->ctx);
    mo_source source = {.graph = s->graph, .task = MO_TASK_LP, .links = s->links, .features = &f};
    mo_episode e = {.task = MO_TASK_LP, .classes = 2};
    int64_t *row = mo_host_array(s->ctx, n, sizeof *row);
    for (int64_t i = 0; row && i < n; i++)
        row[i] = i;
    if (mo_ok(s->ctx))
        mo_arrays_take(f.arrays, "spectrum", mo_tensor_clone(s->ctx, mo_arrays_find(s->own->arrays, "spectrum")));
    for (int i = 0; i < MO_PAIR_PARTS && mo_ok(s->ctx); i++)
        put_rows(s, &mo_pair_parts[i], values->part[i], first, n, &f);
    if (mo_ok(s->ctx)) {
        mo_example_tensors(s->t, &source, row, n, NULL, &e);
        mo_tensor *Z = mo_model_encode(s->t, s->candidate.model, &e, NULL);
        put_query_kernels(s, f.arrays, &e);
        mo_tensor *Y = mo_model_apply(s->t, s->candidate.model, &e, &s->state, Z);
        mo_read_as(
            mo_sub(s->t, mo_slice(s->t, Y, MO_AXIS(1), 1, 2), mo_slice(s->t, Y, MO_AXIS(1), 0, 1)), MO_F64, score);
    }
    mo_tape_reset(s->t);
    mo_arrays_release(f.arrays);
    free(row);
}

/* The number of pairs whose columns are computed together. Under a bound of memory they take a quarter of what is left,
 * if that suffices for LEAST_PAIRS. */
static int64_t pairs_together(const mo_context *ctx) {
    double pairs = ctx->memory ? mo_memory_left(ctx) / 4 / BYTES_PER_PAIR : MOST_PAIRS;
    return (int64_t)fmin(fmax(pairs, LEAST_PAIRS), MOST_PAIRS);
}

/* Scores pairs that fit in memory together, in one pass over all nodes. Does not check the pairs. */
static void score_pairs(mo_link_scorer *s, const int64_t *u, const int64_t *v, int64_t n, double *score) {
    int64_t *end[2] = {mo_host_array(s->ctx, n, sizeof *u), mo_host_array(s->ctx, n, sizeof *v)};
    int64_t block = s->ctx->memory && s->ctx->memory < FOR_WHOLE_BLOCKS ? SMALL_BLOCK : BLOCK;
    mo_pair_values values = {0};
    for (int64_t i = 0; i < n && mo_ok(s->ctx); i++) {
        end[0][i] = u[i] < v[i] ? u[i] : v[i];
        end[1][i] = u[i] < v[i] ? v[i] : u[i];
    }
    const mo_pair_list pairs = {s->graph, n, end};
    if (mo_ok(s->ctx) && mo_pair_values_reserve(s->reader, n, &values) &&
        mo_pair_reader_read(s->reader, &pairs, &values) == MO_OK)
        for (int64_t first = 0; first < n && mo_ok(s->ctx); first += block)
            score_block(s, &values, first, n - first < block ? n - first : block, score + first);
    for (int64_t i = 0; i < n && mo_ok(s->ctx); i++)
        score[i] += s->support.shift[mo_pair_is_near(&values, i)];
    mo_pair_values_release(&values);
    free(end[0]);
    free(end[1]);
}

/* ---- the scorer ---- */

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

/* Reads the shift of a saved fit. */
static void load_shift(mo_link_scorer *s, const mo_arrays *fitted) {
    const mo_tensor *T = mo_arrays_find(fitted, shift);
    if (!T || mo_tensor_dtype(T) != MO_F64 || mo_numel(T) != 2)
        mo_fail(s->ctx, MO_FORMAT, "links: expected the array %s, float64 [2], in the saved readout", shift);
    else
        mo_tensor_read(T, s->support.shift, sizeof s->support.shift);
}

static void link_scorer_fill(mo_link_scorer *s, const mo_few_shot_options *options, const mo_weights *weights,
    const mo_link_support *support, const mo_arrays *fitted) {
    mo_feature_options o;
    s->t = mo_tape_create(s->ctx, MO_EVAL);
    if (mo_few_shot_candidate(s->ctx, options, weights, &s->candidate, &o) != MO_OK)
        return;
    if (o.form != MO_ROWS_PER_EXAMPLE)
        mo_fail(s->ctx, MO_UNSUPPORTED, "links: the weights read rows of nodes, expected those of pairs (best)");
    mo_graph *scaled = mo_graph_scale(s->graph, &o);
    if (scaled) {
        mo_graph_release(s->graph);
        s->graph = scaled;
        s->links = mo_link_support_take(s->graph, support, &s->support);
    }
    s->own = s->links ? mo_task_features_open(s->links->masked, MO_TASK_LP, s->links, &o) : NULL;
    if (s->own)
        fit_readout(s, !support, fitted);
    if (s->own && fitted)
        load_shift(s, fitted);
    if (s->own && fitted && mo_state_load(s->ctx, mo_candidate_head(&s->candidate), fitted, &s->state) == MO_OK &&
        (s->state.classes != 2 || s->state.axes != 2))
        mo_fail(s->ctx, MO_FORMAT, "links: a readout of %" PRId64 " classes, expected 2", s->state.classes);
    if (mo_ok(s->ctx))
        s->reader = mo_pair_reader_open(s->graph, &o);
}

mo_link_scorer *mo_link_scorer_open(mo_graph *graph, const mo_few_shot_options *options, const mo_weights *weights,
    const mo_link_support *support, const mo_arrays *fitted) {
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
    *s = (mo_link_scorer){.ctx = ctx, .graph = mo_graph_hold(graph)};
    link_scorer_fill(s, options ? options : &none, weights, support, fitted);
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
    mo_state_release(&s->state);
    mo_tape_release(s->t);
    mo_graph_release(s->graph);
    free(s->row);
    free(s);
}

mo_code mo_link_scorer_save(const mo_link_scorer *s, mo_arrays *arrays) {
    if (!s || !mo_given(s->ctx, "links", "the arrays", arrays))
        return MO_INVALID;
    mo_arrays_take(arrays, shift, mo_tensor_create_from(s->ctx, MO_F64, 1, (int64_t[]){2}, s->support.shift));
    return mo_state_save(&s->state, arrays);
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
    int64_t chunk = pairs_together(s->ctx);
    for (int64_t first = 0; first < n && mo_ok(s->ctx); first += chunk)
        score_pairs(s, u + first, v + first, n - first < chunk ? n - first : chunk, score + first);
    return mo_code_of(s->ctx);
}

/* Puts v into u's row of the table, whose scores fall, if its score is among the highest; NaN marks a free place. */
static void rank_partner(int64_t v, double value, int64_t most, int64_t *partner, double *score) {
    int64_t at = most;
    while (at > 0 && (isnan(score[at - 1]) || score[at - 1] < value))
        at--;
    for (int64_t i = most - 1; i > at; i--) {
        partner[i] = partner[i - 1];
        score[i] = score[i - 1];
    }
    if (at < most) {
        partner[at] = v;
        score[at] = value;
    }
}

mo_code mo_link_scorer_best(mo_link_scorer *s, int64_t most, int64_t *partner, double *score) {
    if (!s)
        return MO_INVALID;
    if (!mo_given(s->ctx, "links", "partner", partner) || !mo_given(s->ctx, "links", "score", score))
        return mo_code_of(s->ctx);
    int64_t nodes = s->graph->nodes, *key = NULL;
    if (most < 1 || most > nodes)
        mo_fail(
            s->ctx, MO_INVALID, "links: the best %" PRId64 " partners of a node, expected 1 to %" PRId64, most, nodes);
    int64_t n = mo_ok(s->ctx) ? mo_pair_candidates(s->reader, most, &key) : 0;
    int64_t *u = mo_host_array(s->ctx, n, sizeof *u), *v = mo_host_array(s->ctx, n, sizeof *v);
    double *value = mo_host_array(s->ctx, n, sizeof *value);
    for (int64_t i = 0; mo_ok(s->ctx) && i < n; i++) {
        u[i] = key[i] / nodes;
        v[i] = key[i] % nodes;
    }
    if (mo_ok(s->ctx) && n)
        mo_link_scorer_score(s, u, v, n, value);
    for (int64_t i = 0; mo_ok(s->ctx) && i < nodes * most; i++) {
        partner[i] = -1;
        score[i] = NAN;
    }
    for (int64_t i = 0; mo_ok(s->ctx) && i < n; i++) {
        rank_partner(v[i], value[i], most, partner + u[i] * most, score + u[i] * most);
        rank_partner(u[i], value[i], most, partner + v[i] * most, score + v[i] * most);
    }
    free(value);
    free(u);
    free(v);
    free(key);
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
    mo_link_scorer *s = mo_link_scorer_open(graph, options, NULL, NULL, NULL);
    mo_link_scorer_score(s, u, v, n, score);
    mo_link_scorer_release(s);
    return mo_code_of(ctx);
}
