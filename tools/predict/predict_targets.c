/* tools/predict/predict_targets.c - `mochi predict --targets`: real numbers in place of classes. */
#include "tools/cli/memory.h"
#include "tools/cli/progress.h"
#include "tools/cli/table_file.h"
#include "tools/predict/predict.h"
#include "train/graphs/row_names.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Predictions of n examples. */
typedef struct predicted_targets {
    const mo_graph *graph;
    const char *what; /* "node" or "graph" */
    int64_t n, *id;
    double *value; /* [3, n]: prediction, low, high; low and high NaN: too few targets tell */
} predicted_targets;

static bool write_targets(mo_context *ctx, const predicted_targets *p, const target_request *r) {
    table_file t;
    if (r->out && mo_path_ends_with(r->out, ".npy"))
        return write_by_row(mo_tensor_create_from(ctx, MO_F64, 1, &p->n, p->value), p->graph, r->out, p->id, p->n);
    open_table(&t, r->out, r->json);
    begin_table(&t, (const char *[]){p->what, "prediction", "low", "high"}, 4);
    for (int64_t i = 0; i < p->n; i++) {
        put_example(&t, p->graph, p->id[i]);
        for (int part = 0; part < 3; part++)
            put_value(&t, json_number(p->value[part * p->n + i]), "%.6g");
        end_row(&t);
    }
    return close_table(ctx, &t);
}

enum { FEW_VALUES = 10 /* with fewer whole numbers the targets may be meant as classes */ };

/* The number of different targets, if all are whole and they are fewer than FEW_VALUES; else 0. */
static int count_whole(const mo_targets *y) {
    double seen[FEW_VALUES];
    int n = 0;
    for (int64_t i = 0; y->value && i < y->n; i++) { /* NULL: of a saved readout */
        int k = 0;
        while (k < n && seen[k] != y->value[i])
            k++;
        if (y->value[i] != floor(y->value[i]) || (k == n && n == FEW_VALUES - 1))
            return 0;
        seen[k] = y->value[i];
        n += k == n;
    }
    return n;
}

static void print_target_summary(
    const mo_few_shot *f, const mo_targets *y, const predicted_targets *p, const target_request *r) {
    mo_target_estimate e = mo_few_shot_expect_targets(f);
    mo_expert_share share[MO_MAX_EXPERTS];
    char text[512];
    int whole = count_whole(y);
    print_not_data("", p->graph->left_out, p->graph->headers);
    print_not_data("", NULL, y->headers);
    fprintf(stderr, "%" PRId64 " targets%s\n", y->n, r->saved ? " of the saved readout" : "");
    if (whole)
        fprintf(stderr, "the targets are %d whole numbers: if they are classes, give them by --labels\n", whole);
    if (!isnan(e.density[0]) && !isnan(e.density[1]))
        fprintf(stderr, "transform: %s (log density of a target left out: %.3f plain, %.3f as logarithms)\n",
            e.log ? "logarithms of the targets were fitted" : "none", e.density[0], e.density[1]);
    else
        fprintf(stderr, "transform: %s\n", e.log ? "logarithms of the targets were fitted" : "none");
    fprintf(stderr, "expected R²: %.3f, mean absolute error: %.4g, from %" PRId64 " targets left out in turn\n", e.r2,
        e.mae, e.held_out);
    int n = mo_few_shot_experts(f, share);
    mo_describe_shares(share, n, text, sizeof text);
    if (n)
        fprintf(stderr, "decided by: %s\n", text);
    double least = ceil(r->coverage / (1 - r->coverage) - 1e-9);
    if ((double)e.held_out < least)
        fprintf(stderr, "no intervals of %.3g%%: they take %.0f targets, found %" PRId64 "\n", 100 * r->coverage, least,
            e.held_out);
    else
        fprintf(stderr, "low to high: holds a target with probability %.3g%%\n", 100 * r->coverage);
    fprintf(stderr, "%" PRId64 " predictions\n", p->n);
}

static bool print_target_object(
    const mo_few_shot *f, const mo_targets *y, const predicted_targets *p, const target_request *r) {
    mo_target_estimate e = mo_few_shot_expect_targets(f);
    return print_json(
        json_pack("{s:s, s:I, s:o, s:o, s:I, s:s, s:f, s:I}", "kind", "predict targets", "targets", (json_int_t)y->n,
            "expected_r2", json_number(e.r2), "expected_mae", json_number(e.mae), "held_out", (json_int_t)e.held_out,
            "transform", e.log ? "log" : "none", "interval", r->coverage, "predictions", (json_int_t)p->n));
}

/* Lists the examples without a target. */
static void list_others(const mo_targets *y, predicted_targets *p) {
    p->id = needed(malloc((size_t)mo_graph_examples(p->graph) * sizeof *p->id + 1));
    p->n = list_unknown(y->id, y->n, mo_graph_examples(p->graph), p->id);
}

/* Fits the targets, unless the fit is from a file, and writes the predictions of all others. */
static bool finish_targets(mo_few_shot *f, predicted_targets *p, const mo_targets *y, const target_request *r) {
    mo_context *ctx = p->graph->ctx;
    list_others(y, p);
    p->value = needed(malloc((size_t)p->n * 3 * sizeof *p->value + 1));
    phase_begin(r->quiet, "mochi: targets of %" PRId64 " %ss", p->n, p->what);
    bool fine = f && (r->saved ? mo_few_shot_take(f, r->saved)
                               : mo_few_shot_fit_targets(f, y->id, y->value, y->n, r->transform)) == MO_OK;
    fine = fine && mo_few_shot_predict_targets(
                       f, p->id, p->n, r->coverage, p->value, p->value + p->n, p->value + 2 * p->n) == MO_OK;
    phase_end();
    if (fine && !r->quiet && !r->json) {
        say_elsewhere(r->saved, p->graph);
        print_target_summary(f, y, p, r);
    }
    return fine && (!r->json || print_target_object(f, y, p, r)) && write_targets(ctx, p, r);
}

bool predict_row_targets(
    const mo_graph *table, const mo_targets *y, const mo_few_shot_options *o, const target_request *r) {
    predicted_targets p = {.graph = table, .what = "row"};
    mo_few_shot *f = mo_few_shot_open(NULL, MO_TASK_NC, o);
    bool fine = finish_targets(f, &p, y, r);
    mo_few_shot_release(f);
    free(p.value);
    free(p.id);
    return fine;
}

bool predict_targets(mo_graph *graph, mo_few_shot_options *o, const mo_weights *weights, const target_request *r) {
    mo_context *ctx = graph->ctx;
    mo_targets y = {0};
    bool set = graph->graphs > 1, fine = r->saved || mo_targets_read(graph, r->path, &y);
    if (fine && r->out && mo_path_ends_with(r->out, ".npy"))
        mo_row_names_fit(graph, r->out);
    const mo_labels known = r->saved ? r->saved->known : (mo_labels){.n = y.n, .id = y.id};
    const mo_targets listed = r->saved ? (mo_targets){.n = known.n, .id = known.id} : y;
    predicted_targets p = {.graph = graph, .what = set ? "graph" : "node"};
    mo_few_shot *f = NULL;
    if (fine && mo_ok(ctx)) {
        phase_begin(r->quiet, "mochi predict: features of %.80s", graph->name);
        f = mo_few_shot_open_as(r->saved ? r->saved->graph : graph, set ? MO_TASK_GC : MO_TASK_NC, o, weights);
        fine = finish_targets(f, &p, &listed, r) &&
               (!r->save || mo_few_shot_write(f, graph, o, weights, &known, NULL, r->save) == MO_OK);
    }
    mo_few_shot_release(f);
    mo_targets_release(&y);
    free(p.value);
    free(p.id);
    return fine && mo_ok(ctx);
}
