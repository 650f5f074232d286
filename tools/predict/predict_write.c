/* tools/predict/predict_write.c - writes predictions as CSV, TSV, JSON lines or an array; whole or not at all. */
#include "tools/cli/memory.h"
#include "tools/cli/table_file.h"
#include "tools/predict/predict.h"
#include "train/graphs/row_names.h"

#include <inttypes.h>
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

/* Writes the classes of an example's set as one field, with a bar between them. */
static void put_set(table_file *t, const predictions *p, int64_t id, const double *row) {
    size_t bytes = 1;
    for (int64_t c = 0; c < p->classes; c++)
        bytes += strlen(p->name[c]) + 1;
    char *text = needed(calloc(1, bytes)), *end = text;
    for (int64_t c = 0; c < p->classes; c++)
        if (is_in_set(p, id, row, c))
            end += sprintf(end, "%s%s", end > text ? "|" : "", p->name[c]);
    put_field(t, text);
    free(text);
}

static void put_table_line(table_file *t, const predictions *p, int64_t i) {
    const example e = predicted_example(p, i);
    put_example(t, p->graph, e.id);
    putc(t->comma, t->out);
    put_field(t, e.label ? e.label : "");
    fprintf(t->out, "%c%.6f%c%.6f", t->comma, e.probability, t->comma, e.margin);
    if (p->coverage > 0) {
        putc(t->comma, t->out);
        put_set(t, p, e.id, e.row);
    }
    if (p->unreached)
        fprintf(t->out, "%c%s", t->comma, e.reached ? "yes" : "no");
    for (int64_t c = 0; p->all && c < p->classes; c++)
        fprintf(t->out, "%c%.6f", t->comma, e.row[c]);
    putc('\n', t->out);
}

static void put_table(table_file *t, const predictions *p) {
    fprintf(t->out, "%s%clabel%cprobability%cmargin", p->what, t->comma, t->comma, t->comma);
    if (p->coverage > 0)
        fprintf(t->out, "%cset", t->comma);
    if (p->unreached)
        fprintf(t->out, "%creached", t->comma);
    for (int64_t c = 0; p->all && c < p->classes; c++) {
        putc(t->comma, t->out);
        put_field(t, p->name[c]);
    }
    putc('\n', t->out);
    for (int64_t i = 0; i < p->n; i++)
        put_table_line(t, p, i);
}

static void put_json_line(FILE *out, const predictions *p, int64_t i) {
    const example e = predicted_example(p, i);
    json_t *line = json_pack("{s:o, s:s?, s:f, s:f}", p->what, json_example(p->graph, e.id), "label", e.label,
        "probability", e.probability, "margin", e.margin);
    json_t *set = p->coverage > 0 ? json_array() : NULL;
    for (int64_t c = 0; set && c < p->classes; c++)
        if (is_in_set(p, e.id, e.row, c))
            json_array_append_new(set, json_string(p->name[c]));
    if (set)
        json_object_set_new(line, "set", set);
    if (p->unreached)
        json_object_set_new(line, "reached", json_boolean(e.reached));
    json_t *all = p->all ? json_object() : NULL;
    for (int64_t c = 0; all && c < p->classes; c++)
        json_object_set_new(all, p->name[c], json_real(e.row[c]));
    if (all)
        json_object_set_new(line, "probabilities", all);
    json_dumpf(line, out, JSON_COMPACT | JSON_REAL_PRECISION(9));
    json_decref(line);
    putc('\n', out);
}

static void write_array(mo_context *ctx, const predictions *p, const char *path) {
    mo_tensor *T = mo_tensor_create(ctx, MO_I64, 1, &p->n);
    int64_t *label = needed(malloc((size_t)p->n * sizeof *label + 1));
    for (int64_t i = 0; i < p->n; i++) {
        const example e = predicted_example(p, i);
        label[i] = e.label ? e.best : -1;
    }
    mo_tensor_write(T, label, (size_t)p->n * sizeof *label);
    mo_npy_write(T, path);
    mo_tensor_release(T);
    free(label);
}

bool write_predictions(mo_context *ctx, const predictions *p, const char *path) {
    if (path && mo_path_ends_with(path, ".npy")) {
        write_array(ctx, p, path);
        bool all = p->n == mo_graph_examples(p->graph);
        return mo_ok(ctx) && mo_row_names_write(p->graph, path, all ? NULL : p->id, p->n) == MO_OK;
    }
    table_file t;
    open_table(&t, path);
    if (path ? mo_path_ends_with(path, ".jsonl") : p->json)
        for (int64_t i = 0; i < p->n; i++)
            put_json_line(t.out, p, i);
    else
        put_table(&t, p);
    return close_table(ctx, &t);
}
