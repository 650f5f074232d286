/* tools/predict/predict_truth.c - reads the labels that a user gives; finds the data's own labels, to check
 * predictions. */
#include "tools/predict/predict.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

bool read_known(const mo_graph *graph, const char *labels, mo_labels *known) {
    return (mo_path_ends_with(labels, ".npy") ? mo_labels_read_column : mo_labels_read)(graph, labels, known);
}

const char *class_text(const mo_graph *graph, truth_kind kind, int64_t c, char number[24]) {
    if (kind == TRUTH_NAMES)
        return mo_graph_class_name(graph, c, number);
    snprintf(number, 24, "%" PRId64, c);
    return number;
}

truth_kind find_truth(const mo_graph *graph, const mo_labels *known) {
    char number[24];
    for (truth_kind kind = TRUTH_NAMES; graph->n_labels > 0 && kind <= TRUTH_NUMBERS; kind++) {
        int64_t found = 0;
        for (int64_t k = 0; k < known->classes && found == k; k++)
            for (int64_t c = 0; c < graph->classes && found == k; c++)
                found += !strcmp(class_text(graph, kind, c, number), known->name[k]);
        if (found == known->classes)
            return kind;
    }
    return TRUTH_NONE;
}

const char *true_class(const predictions *p, int64_t id, char number[24]) {
    bool has = p->truth != TRUTH_NONE && p->graph->label[id] >= 0;
    return has ? class_text(p->graph, p->truth, p->graph->label[id], number) : NULL;
}
