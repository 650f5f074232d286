/* train/few_shot/link_scores.c - link prediction: a readout fitted on a few of the graph's own links scores pairs of
 * nodes without a link.
 *
 * The readout is fitted on links and on pairs without a link (as many, if they are drawn), whose rows come from a graph
 * without these links: else the rows would contain the answer. The rows of the scored pairs come from the whole graph,
 * because the scored pairs are no links in it. All columns are standardised by the fitted rows, so that a score does
 * not depend on the other pairs, beyond rounding.
 *
 * Pairs are scored a block of queries at a time. A block has the support's rows, then the queries' rows. A head
 * of kernels is fitted on the support once and is applied to a block in parts, because the memory of its
 * kernels grows with the queries. Unless the context has a low bound of memory, a part is a whole block; the rounding
 * of a product depends on its number of rows, so that scores of smaller parts may differ in their last digits.
 *
 * The pairs of the fit come from a table, or are drawn from the graph itself. */
#include "tensor/files/file.h"
#include "tensor/library.h"
#include "tensor/objects.h"
#include "train/episodes/episode_kernels.h"
#include "train/episodes/plan_members.h"
#include "train/evaluation/evaluation.h"
#include "train/features/feature_memory.h"
#include "train/features/pairs/pair_columns.h"
#include "train/few_shot/few_shot.h"
#include "train/graphs/graph_build.h"
#include "train/graphs/table_reader.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_SUPPORT = 512,   /* most links, and most other pairs, drawn for the fit */
    LINK_QUERIES = 16384, /* pairs of a block, scored at once */
    MOST_PAIRS = 1 << 20, /* most pairs whose columns are computed together */
    LEAST_PAIRS = 1 << 16,
    SMALL_PART = 1024,   /* queries in a part of a block, under a bound of less than FOR_WHOLE_BLOCKS bytes */
    BYTES_PER_PAIR = 640 /* the columns of a pair */
};

static const int64_t FOR_WHOLE_BLOCKS = (int64_t)4 << 30;

struct mo_link_scorer {
    mo_context *ctx;
    mo_graph *graph; /* borrowed */
    mo_candidate candidate;
    mo_link_support support; /* links before others */
    mo_links *links;         /* the support as links */
    int64_t n_fit, *fit;     /* [n_fit]: fitted pairs in order, each as often as it is fitted */
    mo_features *own;        /* rows of the support, from the graph without its links */
    mo_pair_reader *reader;  /* reads the whole graph */
    mo_tape *t;
    mo_state state; /* the fitted readout, owned */
};

/* ---- from a table ---- */

/* Columns: node, node, linked (yes, no), how often it is fitted; the last two only for labelled pairs. */
typedef struct pair {
    int64_t node[2], linked, fit;
} pair;

static bool is_pair_header(const mo_graph *graph, const mo_table *row) {
    bool data = false;
    for (int64_t i = 0; i < row->n && i < 2; i++)
        data |= mo_is_number_text(row->field[i]) || mo_graph_find_example(graph, row->field[i]) >= 0;
    return row->n < 2 || !data || mo_is_pair_heading(row->field[0], row->field[1]);
}

static bool has_pair_columns(const mo_table *row, bool labelled) {
    if (labelled)
        return row->n == 4 || mo_table_columns(row, 3, "both ends of a pair, and whether it is linked");
    return (row->n >= 2 && row->n <= 4) || mo_table_columns(row, 2, "both ends of a pair");
}

static bool read_ends(const mo_graph *graph, const mo_table *row, pair *p) {
    char expected[120];
    snprintf(expected, sizeof expected, "a node of %.80s", graph->name);
    for (int end = 0; end < 2; end++)
        if ((p->node[end] = mo_graph_find_example(graph, row->field[end])) < 0)
            return mo_table_unexpected(row, expected, row->field[end]);
    return true;
}

/* Reads whether a row's pair is linked and how often it is fitted; the graph must agree. */
static bool read_link(const mo_graph *graph, const mo_table *row, pair *p) {
    const char *word = row->field[2], *count = row->n > 3 ? row->field[3] : "1";
    char *end;
    p->linked = !strcmp(word, "yes");
    p->fit = strtoll(count, &end, 10);
    if (!p->linked && strcmp(word, "no") != 0)
        return mo_table_unexpected(row, "yes or no, whether the pair is linked", word);
    if (!*count || *end || p->fit < 0)
        return mo_table_unexpected(row, "how often the pair is fitted, 0 or more", count);
    if (p->node[0] == p->node[1])
        return mo_table_unexpected(row, "a pair of two nodes", "one node twice");
    bool linked = mo_graph_has_edge(graph, p->node[0], p->node[1]);
    return linked == p->linked ||
           mo_table_unexpected(
               row, linked ? "yes, as the graph has this link" : "no, as the graph lacks this link", word);
}

static void read_pairs(const mo_graph *graph, const char *path, bool labelled, mo_link_support *s) {
    mo_context *ctx = graph->ctx;
    int64_t **array[] = {&s->u, &s->v, &s->linked, &s->fit}, capacity[4] = {0};
    mo_table row;
    bool fine = mo_table_open_pipe(&row, ctx, path);
    while (fine && mo_table_next(&row)) {
        pair p = {.fit = 1};
        bool header = row.row == 0 && is_pair_header(graph, &row);
        fine = has_pair_columns(&row, labelled);
        if (!fine || header)
            continue;
        fine = read_ends(graph, &row, &p) && (!labelled || read_link(graph, &row, &p));
        const int64_t value[] = {p.node[0], p.node[1], p.linked, p.fit};
        for (int i = 0; i < 4 && fine; i++) {
            fine = mo_host_array_grow(ctx, array[i], &capacity[i], s->n + 1, sizeof **array[i]);
            if (fine)
                (*array[i])[s->n] = value[i];
        }
        s->n += fine;
    }
    mo_table_close(&row);
}

bool mo_link_support_read(const mo_graph *graph, const char *path, bool labelled, mo_link_support *s) {
    if (!s)
        return false;
    *s = (mo_link_support){0};
    if (!graph || !mo_given(graph->ctx, "pairs", "the path", path))
        return false;
    read_pairs(graph, path, labelled, s);
    if (mo_ok(graph->ctx) && s->n == 0)
        mo_fail(graph->ctx, MO_FORMAT, "%s: expected lines of two nodes, found no pair", path);
    return mo_ok(graph->ctx);
}

void mo_link_support_release(mo_link_support *s) {
    if (!s)
        return;
    free(s->u);
    free(s->v);
    free(s->linked);
    free(s->fit);
    *s = (mo_link_support){0};
}

/* ---- as links ---- */

static bool reserve_support(mo_context *ctx, int64_t n, mo_link_support *s) {
    *s = (mo_link_support){.n = n,
        .u = mo_host_array(ctx, n, sizeof *s->u),
        .v = mo_host_array(ctx, n, sizeof *s->v),
        .linked = mo_host_array(ctx, n, sizeof *s->linked),
        .fit = mo_host_array(ctx, n, sizeof *s->fit)};
    return mo_ok(ctx);
}

/* Draws at most 512 links of the graph and as many other pairs, links first. Fills s, which the caller releases even on
 * failure, and returns the links, or NULL. */
static mo_links *link_support_draw(const mo_graph *graph, mo_link_support *s) {
    int64_t edges = graph->nnz / 2;
    double share = MOST_SUPPORT < edges / 10 ? (double)MOST_SUPPORT / (double)edges : 0.1;
    mo_links *links = mo_links_create(graph, share, edges < MOST_SUPPORT ? edges : MOST_SUPPORT, 0);
    if (!links)
        return NULL;
    if (links->n_negative > links->n_positive)
        links->n_negative = links->n_positive;
    int64_t p = links->n_positive;
    if (reserve_support(graph->ctx, p + links->n_negative, s))
        for (int64_t i = 0; i < s->n; i++) {
            s->u[i] = i < p ? links->positive[0][i] : links->negative[0][i - p];
            s->v[i] = i < p ? links->positive[1][i] : links->negative[1][i - p];
            s->linked[i] = i < p;
            s->fit[i] = 1;
        }
    if (mo_ok(graph->ctx))
        return links;
    mo_links_release(links);
    return NULL;
}

/* Checks that the pairs are in the graph, none given twice, and that both links and non-links are fitted. */
static bool support_fits(const mo_graph *graph, const mo_link_support *s) {
    mo_context *ctx = graph->ctx;
    int64_t *key = mo_host_array(ctx, s->n, sizeof *key), fitted[2] = {0, 0};
    for (int64_t i = 0; key && i < s->n && mo_ok(ctx); i++) {
        int64_t u = s->u[i] < s->v[i] ? s->u[i] : s->v[i], v = s->u[i] < s->v[i] ? s->v[i] : s->u[i];
        if (u < 0 || u == v || v >= graph->nodes || s->fit[i] < 0 || mo_graph_has_edge(graph, u, v) != !!s->linked[i])
            mo_fail(ctx, MO_INVALID,
                "links: pair %" PRId64 " of the support, %" PRId64 " and %" PRId64 ", is not one that is %s in %s", i,
                u, v, s->linked[i] ? "linked" : "no link", graph->name);
        else
            fitted[!!s->linked[i]] += s->fit[i];
        key[i] = u * graph->nodes + v;
    }
    if (mo_ok(ctx) && mo_sort_distinct(key, s->n) != s->n)
        mo_fail(ctx, MO_INVALID, "links: a pair of the support is there twice");
    else if (mo_ok(ctx) && (!fitted[0] || !fitted[1]))
        mo_fail(ctx, MO_INVALID,
            "links: the support has %" PRId64 " links and %" PRId64 " pairs without one, expected 1 or more of each",
            fitted[1], fitted[0]);
    free(key);
    return mo_ok(ctx);
}

/* As link_support_draw, for given pairs. */
static mo_links *link_support_take(const mo_graph *graph, const mo_link_support *from, mo_link_support *s) {
    mo_context *ctx = graph->ctx;
    mo_links *links = support_fits(graph, from) ? mo_host_array(ctx, 1, sizeof *links) : NULL;
    if (!links)
        return NULL;
    for (int side = 0; side < 2; side++) {
        links->positive[side] = mo_host_array(ctx, from->n, sizeof(int64_t));
        links->negative[side] = mo_host_array(ctx, from->n, sizeof(int64_t));
    }
    int64_t at = 0;
    bool reserved = mo_ok(ctx) && reserve_support(ctx, from->n, s);
    for (int linked = 1; reserved && linked >= 0; linked--)
        for (int64_t i = 0; i < from->n; i++)
            if (!!from->linked[i] == linked) {
                int64_t u = from->u[i] < from->v[i] ? from->u[i] : from->v[i], v = from->u[i] + from->v[i] - u;
                int64_t *const *end = linked ? links->positive : links->negative;
                int64_t *count = linked ? &links->n_positive : &links->n_negative;
                end[0][*count] = s->u[at] = u;
                end[1][(*count)++] = s->v[at] = v;
                s->linked[at] = linked;
                s->fit[at++] = from->fit[i];
            }
    if (reserved)
        links->masked = mo_graph_without(graph, links->positive, links->n_positive);
    if (links->masked && mo_ok(ctx))
        return links;
    mo_links_release(links);
    return NULL;
}

/* The number of pairs whose columns are computed together, in one pass over all nodes: a multiple of LINK_QUERIES.
 * Under a bound of memory they take a quarter of what is left, if that suffices for LEAST_PAIRS. */
static int64_t pairs_together(const mo_context *ctx) {
    double pairs = ctx->memory ? mo_memory_left(ctx) / 4 / BYTES_PER_PAIR : MOST_PAIRS;
    return (int64_t)fmin(fmax(pairs, LEAST_PAIRS), MOST_PAIRS) / LINK_QUERIES * LINK_QUERIES;
}

/* ---- a block of queries ---- */

/* Queries first .. first + n - 1 of `pairs`, whose raw columns are in `values`. */
typedef struct query_block {
    mo_pair_list pairs;
    mo_pair_values values;
    int64_t first, n;
} query_block;

/* Adds one part to the block's features: the support's rows, then the queries' raw values, standardised by the
 * support's moments. */
static void put_block_rows(
    mo_link_scorer *s, const query_block *b, const mo_pair_part *part, mo_rows values, mo_features *f) {
    mo_context *ctx = s->ctx;
    mo_tensor *own = mo_arrays_find(s->own->arrays, part->name);
    int ndim = mo_ndim(own);
    int64_t n_s = mo_dim(own, -2), w = values.w, outer = values.outer, n = n_s + b->n, shape[4];
    for (int i = 0; i < ndim; i++)
        shape[i] = i == ndim - 2 ? n : mo_dim(own, i);
    float *rows = mo_host_array(ctx, outer * n * w, sizeof *rows), *support = mo_host_values(own, MO_F32);
    float *m = mo_host_values(mo_arrays_find(s->own->arrays, part->moments), MO_F32);
    mo_tensor *T = mo_own_array(f, part->name, ndim, shape);
    if (mo_ok(ctx)) {
        for (int64_t o = 0; o < outer; o++) {
            memcpy(rows + o * n * w, support + o * n_s * w, (size_t)(n_s * w) * sizeof *rows);
            for (int64_t i = 0; i < b->n * w; i++)
                rows[(o * n + n_s) * w + i] =
                    (values.x[(o * values.n + b->first) * w + i] - m[o * w + i % w]) / m[(outer + o) * w + i % w];
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
    for (int i = 0; i < MO_PAIR_PARTS && mo_ok(s->ctx); i++)
        put_block_rows(s, b, &mo_pair_parts[i], b->values.part[i], f);
    if (mo_ok(s->ctx))
        return f;
    mo_features_release(f);
    return NULL;
}

/* The plan: the fitted support, then the queries, by their row numbers. */
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

/* ---- the readout ---- */

/* score = logit of "link" minus logit of "no link". */
static void read_margins(mo_link_scorer *s, mo_tensor *Y, double *score) {
    mo_tensor *margin = mo_sub(s->t, mo_slice(s->t, Y, MO_AXIS(1), 1, 2), mo_slice(s->t, Y, MO_AXIS(1), 0, 1));
    mo_read_as(margin, MO_F64, score);
}

/* Embeds the support and the queries [n, d] as tensors that outlive the tape. In the first block, a readout in two
 * steps also learns from the support. Every block embeds the support anew, since the rounding of a row depends on its
 * place among the rows of a product. */
static bool embed_block(mo_link_scorer *s, const mo_source *source, const mo_plan *plan, mo_tensor *Z[2]) {
    const mo_model *m = s->candidate.model;
    mo_tensor *Zs, *Zq;
    mo_episode e;
    Z[0] = Z[1] = NULL;
    if (mo_episode_build(s->t, source, plan, &e) == MO_OK) {
        mo_model_embed(s->t, m, &e, NULL, &Zs, &Zq);
        Z[0] = mo_tensor_clone(s->ctx, Zs);
        Z[1] = mo_tensor_clone(s->ctx, Zq);
        mo_state state;
        if (!s->state.n && mo_ok(s->ctx) && mo_model_fit(s->t, m, &e, Zs, false, &state) == MO_OK)
            mo_state_clone(s->ctx, &state, &s->state);
    }
    mo_tape_reset(s->t);
    return mo_ok(s->ctx);
}

/* Scores a block by a readout that learns once and is then applied to a part of the queries at a time, because its
 * kernel has a number for every pair of a query and a support example. */
static void score_in_parts(mo_link_scorer *s, const mo_source *source, const mo_plan *plan, double *score) {
    const mo_model *m = s->candidate.model;
    mo_tensor *Z[2];
    bool embedded = embed_block(s, source, plan, Z);
    int64_t part = s->ctx->memory && s->ctx->memory < FOR_WHOLE_BLOCKS ? SMALL_PART : LINK_QUERIES;
    for (int64_t first = 0; embedded && first < plan->n_query && mo_ok(s->ctx); first += part, mo_tape_reset(s->t)) {
        int64_t stop = first + part < plan->n_query ? first + part : plan->n_query;
        const mo_episode e = {.task = MO_TASK_LP, .classes = 2};
        mo_tensor *Zq = mo_slice(s->t, Z[1], MO_AXIS(0), first, stop);
        read_margins(s, mo_model_apply(s->t, m, &e, &s->state, Zq), score + first);
    }
    mo_tensor_release(Z[0]);
    mo_tensor_release(Z[1]);
}

static void score_block(mo_link_scorer *s, const query_block *b, double *score) {
    mo_plan plan = {0};
    mo_source source = {.graph = s->graph, .task = MO_TASK_LP, .links = s->links};
    source.features = open_block_rows(s, b);
    mo_tape_reset(s->t);
    if (source.features && plan_block(s, b, &plan))
        score_in_parts(s, &source, &plan, score);
    mo_tape_reset(s->t);
    mo_plan_release(&plan);
    mo_features_release(source.features);
}

/* Scores pairs that fit in memory together, in one pass over all nodes. Does not check the pairs. */
static void score_pairs(mo_link_scorer *s, const int64_t *u, const int64_t *v, int64_t n, double *score) {
    query_block b = {.pairs = {s->graph, n,
                         (int64_t *const[]){mo_host_array(s->ctx, n, sizeof *u), mo_host_array(s->ctx, n, sizeof *v)}}};
    for (int64_t i = 0; i < n && mo_ok(s->ctx); i++) {
        b.pairs.end[0][i] = u[i] < v[i] ? u[i] : v[i];
        b.pairs.end[1][i] = u[i] < v[i] ? v[i] : u[i];
    }
    if (mo_ok(s->ctx) && mo_pair_values_reserve(s->reader, n, &b.values) &&
        mo_pair_reader_read(s->reader, &b.pairs, &b.values) == MO_OK)
        for (; b.first < n && mo_ok(s->ctx); b.first += LINK_QUERIES) {
            b.n = n - b.first < LINK_QUERIES ? n - b.first : LINK_QUERIES;
            score_block(s, &b, score + b.first);
        }
    mo_pair_values_release(&b.values);
    free(b.pairs.end[0]);
    free(b.pairs.end[1]);
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

/* The support's pairs by number, each repeated as often as it is fitted. */
static bool list_fit(mo_link_scorer *s) {
    const mo_link_support *p = &s->support;
    int64_t n = 0;
    for (int64_t i = 0; i < p->n; i++)
        if (__builtin_add_overflow(n, p->fit[i], &n))
            n = INT64_MAX;
    if (!mo_claim_fits(s->ctx, s->graph->name, "fits of pairs", n, sizeof *s->fit, p->n * 4 * (int64_t)sizeof *s->fit))
        return false;
    s->fit = mo_host_array(s->ctx, n, sizeof *s->fit);
    for (int64_t i = 0; s->fit && i < p->n; i++)
        for (int64_t k = 0; k < p->fit[i]; k++)
            s->fit[s->n_fit++] = i;
    return s->fit;
}

static void link_scorer_fill(
    mo_link_scorer *s, const mo_few_shot_options *options, const mo_weights *weights, const mo_link_support *support) {
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
        s->links =
            support ? link_support_take(s->graph, support, &s->support) : link_support_draw(s->graph, &s->support);
    }
    if (s->links && list_fit(s))
        s->own = mo_task_features_open(s->links->masked, MO_TASK_LP, s->links, &o);
    if (s->own)
        s->reader = mo_pair_reader_open(s->graph, &o);
}

mo_link_scorer *mo_link_scorer_open(
    mo_graph *graph, const mo_few_shot_options *options, const mo_weights *weights, const mo_link_support *support) {
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
    link_scorer_fill(s, options ? options : &none, weights, support);
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
    int64_t chunk = pairs_together(s->ctx);
    for (int64_t first = 0; first < n && mo_ok(s->ctx); first += chunk)
        score_pairs(s, u + first, v + first, n - first < chunk ? n - first : chunk, score + first);
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
    mo_link_scorer *s = mo_link_scorer_open(graph, options, NULL, NULL);
    mo_link_scorer_score(s, u, v, n, score);
    mo_link_scorer_release(s);
    return mo_code_of(ctx);
}
