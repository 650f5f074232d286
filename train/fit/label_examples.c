/* train/fit/label_examples.c - a column of labels as those of a graph's examples. */
#include "tensor/hidden.h"
#include "train/fit/label_column.h"
#include "train/inside.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The texts of the classes in place of their numbers. */
static void name_labelled(mo_context *ctx, const mo_label_column *column, mo_labels *labels) {
    for (int64_t i = 0; i < labels->n && mo_ok(ctx); i++) {
        char **name = &labels->name[labels->label[i]];
        const char *text = column->name[column->value[labels->id[i]]];
        if (strcmp(*name, text) == 0)
            continue;
        free(*name);
        *name = mo_text_copy(ctx, text);
    }
}

bool mo_labels_read_column(const mo_graph *graph, const char *path, mo_labels *labels) {
    if (labels)
        *labels = (mo_labels){0};
    if (!graph || !mo_given(graph->ctx, "labels", "the path", path) ||
        !mo_given(graph->ctx, "labels", "labels", labels))
        return false;
    mo_context *ctx = graph->ctx;
    int64_t examples = mo_graph_examples(graph);
    mo_label_column column = {0};
    if (mo_label_column_read(ctx, path, &column) && column.n != examples)
        mo_fail(ctx, MO_INVALID, "%s: expected one label for each of %" PRId64 " examples, found %" PRId64, path,
            examples, column.n);
    if (mo_ok(ctx) && mo_labels_of(ctx, column.value, NULL, column.n, labels)) {
        if (labels->n == 0)
            mo_fail(ctx, MO_INVALID, "%s: expected at least one label, found none", path);
        else if (column.name)
            name_labelled(ctx, &column, labels);
    }
    mo_label_column_release(&column);
    if (!mo_ok(ctx))
        mo_labels_release(labels);
    return mo_ok(ctx);
}
