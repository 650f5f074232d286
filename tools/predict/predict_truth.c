/* tools/predict/predict_truth.c - reads the labels that a user gives; finds the data's own labels, to check
 * predictions. */
#include "tools/cli/memory.h"
#include "tools/predict/predict.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool read_known(const mo_graph *graph, const char *labels, mo_labels *known) {
    return (mo_path_ends_with(labels, ".npy") ? mo_labels_read_column : mo_labels_read)(graph, labels, known);
}

bool take_own_labels(const mo_graph *graph, int64_t n, mo_labels *known) {
    int64_t *count = needed(calloc((size_t)graph->classes + 1, sizeof *count));
    double *mask = needed(calloc((size_t)graph->n_labels + 1, sizeof *mask));
    for (int64_t i = 0; i < graph->n_labels; i++)
        mask[i] = graph->label[i] >= 0 && (count[graph->label[i]]++ < n || !n);
    bool fine = mo_labels_of(graph->ctx, graph->label ? graph->label : count, mask, graph->n_labels, known);
    if (fine && known->n == 0 && n > 0)
        fine = mo_fail(graph->ctx, MO_INVALID,
            "%s: expected data with labels to take for --demo-labels, found none: give some by --labels FILE",
            graph->name);
    else if (fine && n == 0 && (known->n == 0 || known->n == graph->n_labels))
        fine = mo_fail(graph->ctx, MO_INVALID,
            "%s: expected one of --labels FILE, --readout FILE and --demo-labels N, as the data %s%s%s", graph->name,
            known->n ? "have a label of every example"
                     : "have no labels (in a folder: a column `label` of nodes.csv, or labels.csv)",
            graph->left_out ? "; left out: " : "", graph->left_out ? graph->left_out : "");
    for (int64_t c = 0, k = 0; fine && c < graph->classes; c++)
        if (count[c]) { /* mo_labels_of has named the class by its number */
            char number[24];
            free(known->name[k]);
            known->name[k++] = needed(strdup(mo_graph_class_name(graph, c, number)));
        }
    free(mask);
    free(count);
    return fine;
}

const char *class_text(const mo_graph *graph, truth_kind kind, int64_t c, char number[24]) {
    if (kind == TRUTH_NAMES)
        return mo_graph_class_name(graph, c, number);
    snprintf(number, 24, "%" PRId64, c);
    return number;
}

typedef struct known_class {
    const char *name;
    int64_t k;
} known_class;

static int by_name(const void *a, const void *b) {
    return strcmp(((const known_class *)a)->name, ((const known_class *)b)->name);
}

int64_t *match_classes(const mo_graph *graph, truth_kind kind, const mo_labels *known) {
    int64_t *match = needed(calloc((size_t)graph->classes + 1, sizeof *match));
    known_class *sorted = needed(calloc((size_t)known->classes + 1, sizeof *sorted));
    for (int64_t k = 0; k < known->classes; k++)
        sorted[k] = (known_class){known->name[k], k};
    qsort(sorted, (size_t)known->classes, sizeof *sorted, by_name);
    for (int64_t c = 0; c < graph->classes; c++) {
        char number[24];
        const known_class wanted = {class_text(graph, kind, c, number), 0};
        const known_class *found = bsearch(&wanted, sorted, (size_t)known->classes, sizeof *sorted, by_name);
        match[c] = found ? found->k : -1;
    }
    free(sorted);
    return match;
}

truth_kind find_truth(const mo_graph *graph, const mo_labels *known) {
    for (truth_kind kind = TRUTH_NAMES; graph->n_labels > 0 && kind <= TRUTH_NUMBERS; kind++) {
        int64_t *match = match_classes(graph, kind, known), found = 0;
        bool *seen = needed(calloc((size_t)known->classes + 1, sizeof *seen));
        for (int64_t c = 0; c < graph->classes; c++)
            if (match[c] >= 0 && !seen[match[c]]) {
                seen[match[c]] = true;
                found++;
            }
        free(seen);
        free(match);
        if (found == known->classes)
            return kind;
    }
    return TRUTH_NONE;
}

const char *true_class(const predictions *p, int64_t id, char number[24]) {
    bool has = p->truth != TRUTH_NONE && p->graph->label[id] >= 0;
    return has ? class_text(p->graph, p->truth, p->graph->label[id], number) : NULL;
}
