/* tools/predict/predict_write.c - predictions as CSV, TSV, JSON lines or an array; whole or not at all. */
#include "tools/memory.h"
#include "tools/predict/predict.h"
#include "tools/table_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int64_t predicted_class(const predictions *p, int64_t i, double *margin) {
    const double *row = p->probability + i * p->classes;
    int64_t best = mo_first_largest(row, p->classes);
    double second = 0;
    for (int64_t c = 0; c < p->classes; c++)
        second = c != best && row[c] > second ? row[c] : second;
    *margin = row[best] - second;
    return best;
}

static void put_table(table_file *t, const predictions *p) {
    fprintf(t->out, "%s%clabel%cprobability%cmargin", p->what, t->comma, t->comma, t->comma);
    for (int64_t c = 0; p->all && c < p->classes; c++) {
        putc(t->comma, t->out);
        put_field(t, p->name[c]);
    }
    putc('\n', t->out);
    for (int64_t i = 0; i < p->n; i++) {
        double margin;
        int64_t best = predicted_class(p, i, &margin);
        const double *row = p->probability + i * p->classes;
        put_example(t, p->graph, p->id[i]);
        putc(t->comma, t->out);
        put_field(t, row[best] < p->least ? "" : p->name[best]);
        fprintf(t->out, "%c%.6f%c%.6f", t->comma, row[best], t->comma, margin);
        for (int64_t c = 0; p->all && c < p->classes; c++)
            fprintf(t->out, "%c%.6f", t->comma, row[c]);
        putc('\n', t->out);
    }
}

static void put_lines(FILE *out, const predictions *p) {
    for (int64_t i = 0; i < p->n; i++) {
        double margin;
        int64_t best = predicted_class(p, i, &margin);
        const double *row = p->probability + i * p->classes;
        char number[24];
        const char *name = mo_graph_example_name(p->graph, p->id[i], number);
        json_t *example = p->graph->names ? json_string(name) : json_integer(p->id[i]);
        json_t *line = json_pack("{s:o, s:s?, s:f, s:f}", p->what, example, "label",
            row[best] < p->least ? NULL : p->name[best], "probability", row[best], "margin", margin);
        json_t *all = p->all ? json_object() : NULL;
        for (int64_t c = 0; all && c < p->classes; c++)
            json_object_set_new(all, p->name[c], json_real(row[c]));
        if (all)
            json_object_set_new(line, "probabilities", all);
        json_dumpf(line, out, JSON_COMPACT | JSON_REAL_PRECISION(9));
        json_decref(line);
        putc('\n', out);
    }
}

static void write_array(mo_context *ctx, const predictions *p, const char *path) {
    mo_tensor *T = mo_tensor_create(ctx, MO_I64, 1, &p->n);
    int64_t *label = needed(malloc((size_t)p->n * sizeof *label + 1));
    for (int64_t i = 0; i < p->n; i++) {
        double margin;
        int64_t best = predicted_class(p, i, &margin);
        label[i] = p->probability[i * p->classes + best] < p->least ? -1 : best;
    }
    mo_tensor_write(T, label, (size_t)p->n * sizeof *label);
    mo_npy_write(T, path);
    mo_tensor_release(T);
    free(label);
}

bool write_predictions(mo_context *ctx, const predictions *p, const char *path) {
    if (path && mo_path_ends_with(path, ".npy")) {
        write_array(ctx, p, path);
        return mo_ok(ctx);
    }
    table_file t;
    open_table(&t, path);
    if (path && mo_path_ends_with(path, ".jsonl"))
        put_lines(t.out, p);
    else
        put_table(&t, p);
    return close_table(ctx, &t);
}
