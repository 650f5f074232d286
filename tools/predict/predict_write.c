/* tools/predict/predict_write.c - writes predictions as CSV, TSV, JSON lines or an array; whole or not at all. */
#include "tools/cli/memory.h"
#include "tools/cli/table_file.h"
#include "tools/predict/predict.h"
#include "train/graphs/row_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

example predicted_example(const predictions *p, int64_t i) {
    const double *row = p->probability + i * p->classes;
    int64_t best = mo_first_largest(row, p->classes);
    double second = 0;
    for (int64_t c = 0; c < p->classes; c++)
        second = c != best && row[c] > second ? row[c] : second;
    return (example){.id = p->id[i],
        .best = best,
        .label = row[best] < p->least ? NULL : p->name[best],
        .row = row,
        .reached = mo_few_shot_reaches(p->fit, p->id[i]),
        .probability = row[best],
        .margin = row[best] - second};
}

bool is_in_set(const predictions *p, int64_t id, const double *row, int64_t c) {
    return row[c] >= p->bound || c == mo_first_largest(row, p->classes) || !mo_few_shot_reaches(p->fit, id);
}

/* The classes of an example's set. */
static json_t *set_of(const predictions *p, const example *e) {
    json_t *set = json_array();
    for (int64_t c = 0; c < p->classes; c++)
        if (is_in_set(p, e->id, e->row, c))
            json_array_append_new(set, json_string_nocheck(p->name[c]));
    return set;
}

static void put_prediction(table_file *t, const predictions *p, const example *e) {
    put_example(t, p->graph, e->id);
    put_text(t, e->label);
    put_value(t, json_real(e->probability), "%.6f");
    put_value(t, json_real(e->margin), "%.6f");
    if (p->coverage > 0)
        put_value(t, set_of(p, e), NULL);
    if (p->unreached)
        put_value(t, json_boolean(e->reached), NULL);
    for (int64_t c = 0; p->all && c < p->classes; c++)
        put_value(t, json_real(e->row[c]), "%.6f");
    end_row(t);
}

static void put_table(table_file *t, const predictions *p) {
    const char **column = needed(calloc((size_t)p->classes + 6, sizeof *column));
    int n = 0;
    column[n++] = p->what;
    column[n++] = "label";
    column[n++] = "probability";
    column[n++] = "margin";
    if (p->coverage > 0)
        column[n++] = "set";
    if (p->unreached)
        column[n++] = "reached";
    t->group = "probabilities";
    t->grouped = n;
    for (int64_t c = 0; p->all && c < p->classes; c++)
        column[n++] = p->name[c];
    begin_table(t, column, n);
    for (int64_t i = 0; i < p->n; i++) {
        const example e = predicted_example(p, i);
        put_prediction(t, p, &e);
    }
    free(column);
}

bool write_by_row(mo_tensor *T, const mo_graph *graph, const char *path, const int64_t *id, int64_t n) {
    bool all = n == mo_graph_examples(graph), written = mo_npy_write(T, path) == MO_OK;
    mo_tensor_release(T);
    return written && mo_row_names_write(graph, path, all ? NULL : id, n) == MO_OK;
}

static bool write_array(mo_context *ctx, const predictions *p, const char *path) {
    int64_t *label = needed(malloc((size_t)p->n * sizeof *label + 1));
    for (int64_t i = 0; i < p->n; i++) {
        const example e = predicted_example(p, i);
        label[i] = e.label ? e.best : -1;
    }
    mo_tensor *T = mo_tensor_create_from(ctx, MO_I64, 1, &p->n, label);
    free(label);
    return write_by_row(T, p->graph, path, p->id, p->n);
}

bool write_predictions(mo_context *ctx, const predictions *p, const char *path) {
    if (path && mo_path_ends_with(path, ".npy"))
        return write_array(ctx, p, path);
    table_file t;
    open_table(&t, path, p->json);
    put_table(&t, p);
    return close_table(ctx, &t);
}
