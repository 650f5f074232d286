/* train/few_shot/few_shot.c - predicts the labels of a graph's examples from a few given ones: computes features and
 * embeddings once, then fits a readout to every set of labels. Embeddings given by the caller are read unchanged: no
 * model and no features are made. */
#include "train/few_shot/few_shot.h"
#include "models/inside.h"
#include "tensor/library.h"
#include "tensor/objects.h"
#include "train/episodes/episode_kernels.h"
#include "train/episodes/plan_members.h"
#include "train/evaluation/evaluation.h"
#include "train/features/example_kernels.h"
#include "train/features/feature_memory.h"
#include "train/graphs/graph_build.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Raises if lambda is negative or not finite, or if it is above 0 and the head has no such parameter (NULL: a readout
 * without a head). Returns whether lambda is accepted. */
static bool accepts_lambda(mo_context *ctx, double lambda, const mo_head *head) {
    if (!(lambda >= 0 && lambda < INFINITY))
        mo_fail(
            ctx, MO_INVALID, "few-shot: lambda is %g, expected a penalty above 0, or 0 for the trained one", lambda);
    else if (lambda > 0 && !mo_head_has(head, "lambda"))
        mo_fail(ctx, MO_INVALID, "few-shot: lambda is %g, but the readout %s has none; expected a head with a lambda",
            lambda, head ? head->name : "of these weights");
    return mo_ok(ctx);
}

/* ---- given embeddings ---- */

static bool given_rows_check(mo_context *ctx, const mo_graph *graph, const mo_few_shot_options *o) {
    char shape[64];
    mo_dtype real = mo_tensor_dtype(o->rows);
    if (o->weights || o->transductive || o->cache || o->n_experts)
        mo_fail(ctx, MO_INVALID,
            "few-shot: rows are embeddings already, expected no weights, cache, experts or transductive readout beside "
            "them");
    else if (mo_tensor_context(o->rows) != ctx)
        mo_fail(ctx, MO_INVALID, "few-shot: expected rows of the graph's context, found those of another one");
    else if (mo_ndim(o->rows) != 2 || mo_dim(o->rows, 0) < 1 || mo_dim(o->rows, 1) < 1 ||
             (graph && mo_dim(o->rows, 0) != mo_graph_examples(graph)) || (real != MO_F32 && real != MO_F64))
        mo_fail(ctx, MO_INVALID, "few-shot: expected rows [%s, d] of float32 or float64, found %s %s",
            graph ? "examples" : "n", mo_dtype_name(real), mo_shape_string(o->rows, shape, sizeof shape));
    return mo_ok(ctx);
}

static bool given_rows_finite(mo_context *ctx, const mo_tensor *Z) {
    int64_t d = mo_dim(Z, 1);
    double *x = mo_host_values(Z, MO_F64);
    for (int64_t i = 0; x && i < mo_numel(Z) && mo_ok(ctx); i++)
        if (!isfinite(x[i]))
            mo_fail(ctx, MO_NUMERICAL, "few-shot: expected finite rows, found %g in row %" PRId64 ", column %" PRId64,
                x[i], i / d, i % d);
    free(x);
    return mo_ok(ctx);
}

/* Takes a copy of the options' rows in place of a model's; if the caller gave no graph, makes one without edges. */
static void take_rows(mo_few_shot *f, const mo_few_shot_options *o) {
    const mo_head *head = o->head ? o->head : &mo_head_ridge;
    if (!given_rows_check(f->ctx, f->source.graph, o) || !accepts_lambda(f->ctx, o->lambda, head))
        return;
    int64_t shape[] = {mo_dim(o->rows, 0), mo_dim(o->rows, 1)};
    if (!f->source.graph)
        f->source.graph = mo_graph_from_edges(f->ctx, "rows", shape[0], 0, NULL, NULL);
    f->candidate = (mo_candidate){.features = "rows", .head = head, .lambda = o->lambda};
    f->rows = mo_tensor_create(f->ctx, mo_tensor_dtype(o->rows), 2, shape);
    if (mo_ok(f->ctx) && mo_tensor_copy(f->rows, o->rows) == MO_OK)
        given_rows_finite(f->ctx, f->rows);
}

/* ---- the object ---- */

/* The most examples for which a transductive readout may be chosen. */
enum { MOST_CHOSEN = 100000 };

static bool few_shot_check(mo_context *ctx, const mo_graph *graph, mo_task task) {
    bool set = graph && graph->graphs > 1;
    if (task == MO_TASK_LP)
        mo_fail(
            ctx, MO_UNSUPPORTED, "few-shot: %s: expected nodes or graphs, found links", graph ? graph->name : "rows");
    else if (!graph && task != MO_TASK_NC)
        mo_fail(ctx, MO_INVALID, "few-shot: rows without a graph are those of nodes, expected labels of nodes");
    else if (graph && (task == MO_TASK_GC) != set)
        mo_fail(ctx, MO_INVALID, "few-shot: %s is a %s, expected %s", graph->name,
            set ? "set of graphs" : "single graph", set ? "labels of graphs" : "labels of nodes");
    else if (graph && graph->nodes < 1)
        mo_fail(ctx, MO_INVALID, "few-shot: %s has no nodes", graph->name);
    return mo_ok(ctx);
}

static bool few_shot_options_check(mo_context *ctx, const mo_few_shot_options *o) {
    if ((unsigned)o->transductive > MO_TRANSDUCTIVE_NEVER)
        mo_fail(
            ctx, MO_INVALID, "few-shot: transductive is %d, expected a value of mo_transductive", (int)o->transductive);
    else if (o->n_experts < 0 || (o->n_experts && !o->experts))
        mo_fail(ctx, MO_INVALID, "few-shot: %d experts%s, expected 0 or more, with their list", o->n_experts,
            o->experts ? "" : " in a NULL list");
    return mo_ok(ctx);
}

/* The head that reads the embeddings; NULL: the weights' own readout, which is no head. */
static const mo_head *few_shot_head(const mo_weights *w, const mo_head *head) {
    bool own = strcmp(w->kind, "invariant") == 0 && !w->head[0] && (!head || head->kernels);
    return own ? NULL : head ? head : w->readout.head;
}

mo_code mo_few_shot_candidate(mo_context *ctx, const mo_few_shot_options *o, const mo_weights *read,
    mo_candidate *candidate, mo_feature_options *features) {
    if (!few_shot_options_check(ctx, o))
        return mo_code_of(ctx);
    if (o->rows)
        mo_fail(ctx, MO_UNSUPPORTED, "few-shot: links are scored by a model of pairs, expected weights, found rows");
    mo_weights *own = mo_ok(ctx) && !read ? mo_weights_read(ctx, o->weights ? o->weights : "best") : NULL;
    const mo_weights *weights = read ? read : own;
    if (mo_ok(ctx) && weights && accepts_lambda(ctx, o->lambda, few_shot_head(weights, o->head))) {
        mo_model_choice choice = {.head = o->head, .lambda = o->lambda};
        mo_transductive on = o->transductive == MO_TRANSDUCTIVE_ON ? MO_TRANSDUCTIVE_ON : MO_TRANSDUCTIVE_OFF;
        *candidate =
            (mo_candidate){.features = "trained", .transductive = on, .model = mo_weights_model_as(weights, &choice)};
        *features = weights->features;
        if (o->attributes)
            features->attributes = o->attributes;
        features->cache = o->cache;
        features->notice = o->notice;
        features->notice_state = o->notice_state;
    }
    mo_weights_release(own);
    return mo_code_of(ctx);
}

/* Tells the estimate of memory what is held and encoded beside the features: a block of rows; the embeddings of all
 * nodes, and of all examples for a transductive readout. */
static void count_user(const mo_few_shot *f, bool transductive, mo_feature_options *features) {
    bool examples = features->form == MO_ROWS_PER_EXAMPLE;
    int64_t N = mo_graph_examples(f->source.graph);
    features->encoded = N < f->max_rows ? N : f->max_rows;
    features->beside = transductive ? 8 * features->dim + 4 : examples ? 0 : features->dim;
}

/* Returns whether a transductive readout can be chosen: the model has one, the examples are few enough and, by the
 * estimate, memory suffices with the hop stack on disk. Each fit decides once more (few_shot_held_out.c). */
static bool may_choose(const mo_few_shot *f, mo_feature_options features) {
    count_user(f, true, &features);
    return f->candidate.model->reads_kernels && mo_graph_examples(f->source.graph) <= MOST_CHOSEN &&
           mo_estimate_memory(f->source.graph, &features, 0) <= mo_memory_left(f->ctx);
}

/* Makes the model and the features and, if rows are nodes, embeds all examples. */
static void few_shot_prepare(mo_few_shot *f, const mo_few_shot_options *o, const mo_weights *read) {
    mo_feature_options features;
    if (o->rows) {
        take_rows(f, o);
        return;
    }
    if (mo_few_shot_candidate(f->ctx, o, read, &f->candidate, &features) != MO_OK)
        return;
    mo_graph *scaled = mo_graph_scale(f->source.graph, &features);
    if (!scaled)
        return;
    mo_graph_release(f->source.graph);
    f->source.graph = scaled;
    if (features.form == MO_ROWS_PER_EXAMPLE)
        f->max_rows = MO_EXAMPLE_ROWS;
    if (f->source.task == MO_TASK_NC)
        features.reader = f->candidate.model;
    f->source.inductive = o->transductive == MO_TRANSDUCTIVE_NEVER;
    if (f->source.inductive && (f->source.task != MO_TASK_GC || !f->candidate.model->reads_kernels)) {
        mo_fail(f->ctx, MO_UNSUPPORTED,
            "few-shot: inductive kernels are those of a set of graphs, read by the weights' own readout; %s is asked "
            "for %s",
            f->source.graph->name, f->source.task == MO_TASK_GC ? "with a head" : "labels of nodes");
        return;
    }
    f->chooses = o->transductive == MO_TRANSDUCTIVE_AUTO && may_choose(f, features);
    if (f->chooses)
        f->candidate.transductive = MO_TRANSDUCTIVE_ON;
    count_user(f, f->candidate.transductive, &features);
    f->source.features = mo_task_features_open(f->source.graph, f->source.task, NULL, &features);
    if (mo_ok(f->ctx) && f->candidate.model->reads_kernels)
        f->source.kernels = mo_example_kernels_create(&f->source);
    for (int i = 0; i < o->n_experts && mo_ok(f->ctx); i++)
        mo_example_kernels_add(f->source.kernels, f->source.graph, &o->experts[i]);
    bool refits = mo_ok(f->ctx) && f->candidate.transductive;
    if (refits)
        f->all = mo_embed_population(f->candidate.model, &f->source, f->max_rows);
    if (refits && f->chooses && f->ctx->memory && !mo_ok(f->ctx) && mo_clear_if(f->ctx, MO_MEMORY)) {
        /* all examples are too many for the bound of memory */
        f->chooses = false;
        f->candidate.transductive = MO_TRANSDUCTIVE_OFF;
        mo_tensor_release(f->all.Z);
        f->all = (mo_population){0};
    }
    if (mo_ok(f->ctx) && !f->candidate.transductive && !f->candidate.model->encoder.of_examples)
        f->rows = mo_embed_all(f->candidate.model, &f->source, f->max_rows);
}

static mo_few_shot *open_few_shot(
    mo_context *ctx, mo_graph *graph, mo_task task, mo_few_shot_options o, const mo_weights *read) {
    if (!ctx || !mo_ok(ctx) || !few_shot_check(ctx, graph, task) || !few_shot_options_check(ctx, &o))
        return NULL;
    mo_few_shot *f = mo_host_array(ctx, 1, sizeof *f);
    if (!f)
        return NULL;
    *f = (mo_few_shot){.ctx = ctx, .temperature = 1, .max_rows = 32768};
    f->source = (mo_source){.graph = mo_graph_hold(graph), .task = task, .owns_features = true};
    f->t = mo_tape_create(f->ctx, MO_EVAL);
    few_shot_prepare(f, &o, read);
    if (mo_ok(f->ctx))
        return f;
    mo_few_shot_release(f);
    return NULL;
}

mo_few_shot *mo_few_shot_open(mo_graph *graph, mo_task task, const mo_few_shot_options *options) {
    return mo_few_shot_open_as(graph, task, options, NULL);
}

mo_few_shot *mo_few_shot_open_as(
    mo_graph *graph, mo_task task, const mo_few_shot_options *options, const mo_weights *weights) {
    mo_few_shot_options o = options ? *options : (mo_few_shot_options){0};
    mo_context *ctx = graph ? graph->ctx : o.rows ? mo_tensor_context(o.rows) : NULL;
    mo_hold_errors(ctx); /* on_error must not be called for cache errors, which are cleared */
    mo_few_shot *f = open_few_shot(ctx, graph, task, o, weights);
    mo_release_errors(ctx);
    return f;
}

void mo_few_shot_forget(mo_few_shot *f) {
    free(f->id);
    free(f->label);
    free(f->reached);
    free(f->score);
    free(f->target);
    mo_few_shot_forget_fit(f);
    mo_example_kernels_for_targets(f->source.kernels, false);
    f->target = NULL;
    f->id = f->label = NULL;
    f->reached = NULL;
    f->score = NULL;
    f->n = f->classes = 0;
    f->temperature = 1;
    f->estimate = (mo_few_shot_estimate){0};
}

void mo_few_shot_release(mo_few_shot *f) {
    if (!f)
        return;
    mo_few_shot_forget(f);
    mo_tensor_release(f->rows);
    mo_tensor_release(f->all.Z);
    mo_tensor_release(f->all.gram);
    mo_example_kernels_release(f->source.kernels);
    mo_features_release(f->source.features);
    mo_model_release(f->candidate.model);
    mo_graph_release(f->source.graph);
    mo_tape_release(f->t);
    free(f);
}

bool mo_few_shot_are_examples(mo_few_shot *f, const int64_t *id, int64_t n) {
    int64_t examples = mo_graph_examples(f->source.graph);
    for (int64_t i = 0; i < n && mo_ok(f->ctx); i++)
        if (id[i] < 0 || id[i] >= examples)
            mo_fail(f->ctx, MO_INVALID, "few-shot: example %" PRId64 " is %" PRId64 ", expected 0 to %" PRId64, i,
                id[i], examples - 1);
    return mo_ok(f->ctx);
}

/* Checks that ids and labels are in range, that no example is given twice and that there are at least two classes, each
 * with an example. Returns the number of classes; 0 on failure. */
static int64_t few_shot_check_labels(mo_few_shot *f, const int64_t *id, const int64_t *label, int64_t n) {
    int64_t most = -1, present = 0;
    int64_t *times = mo_few_shot_are_examples(f, id, n) ? mo_host_array(f->ctx, 3 * n, sizeof *times) : NULL;
    if (times)
        mo_count_repeats(id, n, times + n, times);
    for (int64_t i = 0; times && i < n && mo_ok(f->ctx); i++) {
        if (label[i] < 0 || label[i] >= n)
            mo_fail(f->ctx, MO_INVALID,
                "few-shot: the label of example %" PRId64 " is %" PRId64 ", expected 0 to the number of classes less 1",
                id[i], label[i]);
        else if (times[i] == 0)
            mo_fail(f->ctx, MO_INVALID, "few-shot: example %" PRId64 " is labelled twice", id[i]);
        else
            most = label[i] > most ? label[i] : most;
    }
    free(times);
    uint8_t *used = mo_ok(f->ctx) ? mo_host_array(f->ctx, most + 2, 1) : NULL;
    for (int64_t i = 0; used && i < n; i++) {
        present += !used[label[i]];
        used[label[i]] = 1;
    }
    free(used);
    if (mo_ok(f->ctx) && present < 2)
        mo_fail(f->ctx, MO_INVALID, "few-shot: expected labels of two classes or more, found %s (%" PRId64 " labels)",
            present ? "one" : "none", n);
    else if (mo_ok(f->ctx) && present <= most)
        mo_fail(f->ctx, MO_INVALID,
            "few-shot: expected a label of each class 0 to %" PRId64 ", found %" PRId64 " classes", most, present);
    return mo_ok(f->ctx) ? most + 1 : 0;
}

/* Raises if the gaps of an attribute are just the nodes without a label: then it holds the labels, as a rule, and says
 * nothing of the nodes to predict. */
static bool refuse_labels_as_attribute(const mo_few_shot *f, const int64_t *id, int64_t n) {
    const mo_graph *g = f->source.graph;
    int64_t unknown = g->nodes - n;
    if (!g->feature_name || g->graphs > 1 || unknown < 2)
        return true;
    int64_t *gaps = mo_host_array(f->ctx, g->features, sizeof *gaps);
    bool *known = mo_host_array(f->ctx, g->nodes, sizeof *known);
    for (int64_t i = 0; known && i < n; i++)
        known[id[i]] = true;
    for (int64_t u = 0; gaps && known && u < g->nodes; u++)
        for (int64_t e = g->feature_pointer[u]; e < g->feature_pointer[u + 1]; e++)
            if (g->feature_value[e] != 0) /* a gap of a labelled node rules the column out */
                gaps[g->feature_column[e]] += known[u] ? g->nodes : 1;
    for (int64_t j = 0; gaps && known && j < g->features && mo_ok(f->ctx); j++)
        if (gaps[j] == unknown && mo_gaps_of(g->feature_name[j]))
            mo_fail(f->ctx, MO_INVALID,
                "%s: the attribute '%.*s' is known of just the %" PRId64
                " nodes that have a label: if it has the labels, call its column `label` in nodes.csv, else leave it "
                "out",
                g->name, (int)mo_gaps_of(g->feature_name[j]), g->feature_name[j], n);
    free(gaps);
    free(known);
    return mo_ok(f->ctx);
}

/* Copies the labels in the order of an episode: by class, and within a class as given. */
static bool few_shot_sort(mo_few_shot *f, const int64_t *id, const int64_t *label) {
    mo_members own;
    bool grouped = mo_members_of_labels(f->ctx, label, f->n, f->classes, &own);
    for (int64_t i = 0; grouped && i < f->n; i++) {
        f->id[i] = id[own.member[i]];
        f->label[i] = label[own.member[i]];
    }
    mo_members_release(&own);
    return grouped;
}

bool mo_few_shot_label(mo_few_shot *f, const int64_t *id, const int64_t *label, int64_t n) {
    if (!mo_given(f->ctx, "few-shot", "ids", id) || !mo_given(f->ctx, "few-shot", "labels", label))
        return false;
    if (n < 0)
        mo_fail(f->ctx, MO_INVALID, "few-shot: %" PRId64 " labelled examples, expected 2 or more", n);
    if (!mo_ok(f->ctx))
        return false;
    mo_few_shot_forget(f);
    int64_t classes = few_shot_check_labels(f, id, label, n);
    classes = classes && refuse_labels_as_attribute(f, id, n) ? classes : 0;
    f->id = classes ? mo_host_array(f->ctx, n, sizeof *f->id) : NULL;
    f->label = f->id ? mo_host_array(f->ctx, n, sizeof *f->label) : NULL;
    f->score = f->label ? mo_host_array(f->ctx, 2 * n, sizeof *f->score) : NULL;
    if (!f->score)
        return false;
    f->classes = classes;
    f->n = n;
    return few_shot_sort(f, id, label);
}

mo_code mo_few_shot_fit(mo_few_shot *f, const int64_t *id, const int64_t *label, int64_t n) {
    if (!f)
        return MO_INVALID;
    if (!mo_few_shot_label(f, id, label, n))
        return mo_code_of(f->ctx);
    mo_hold_errors(f->ctx); /* a failed fit must not raise a second error for its missing held-out figures */
    if (mo_few_shot_hold_out(f) == MO_OK)
        mo_few_shot_reach(f);
    mo_release_errors(f->ctx);
    return mo_code_of(f->ctx);
}

mo_tensor *mo_few_shot_chosen(
    mo_tape *t, const mo_source *source, const mo_candidate *candidate, const mo_population *all, const mo_plan *plan) {
    mo_few_shot f = {.ctx = mo_tape_context(t),
        .source = *source,
        .candidate = *candidate,
        .all = *all,
        .chooses = true,
        .t = t,
        .max_rows = MO_EXAMPLE_ROWS};
    mo_context *ctx = f.ctx;
    mo_tensor *Y = mo_null_tensor(ctx);
    double *logits = mo_host_array(ctx, plan->n_query * plan->classes, sizeof *logits);
    int64_t n_s = plan->n_support, *times = mo_host_array(ctx, 3 * n_s, sizeof *times), n = 0;
    int64_t *id = mo_host_array(ctx, 2 * n_s, sizeof *id), *label = id ? id + n_s : NULL;
    if (times)
        mo_count_repeats(plan->support[0], n_s, times + n_s, times);
    for (int64_t i = 0; id && times && i < n_s; i++)
        if (times[i] > 0) { /* a small class's examples are drawn repeatedly */
            id[n] = plan->support[0][i];
            label[n++] = plan->support_label[i];
        }
    if (logits && id && times && mo_few_shot_fit(&f, id, label, n) == MO_OK &&
        mo_few_shot_read(&f, &(mo_few_shot_support){f.id, f.label, f.n, f.classes}, plan->query[0], plan->n_query,
            logits) == MO_OK) {
        mo_tape_reset(t);
        Y = mo_from(t, MO_F64, 2, (int64_t[]){plan->n_query, plan->classes}, logits);
        Y = mo_scale(t, Y, 1 / f.temperature, 0);
    }
    mo_few_shot_forget(&f);
    free(logits);
    free(id);
    free(times);
    return Y;
}

mo_few_shot_estimate mo_few_shot_expect(const mo_few_shot *f) {
    return f ? f->estimate : (mo_few_shot_estimate){0};
}
