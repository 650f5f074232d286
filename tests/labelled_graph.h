/* tests/labelled_graph.h - a graph for tests that read only labels. */
#ifndef LABELLED_GRAPH_H
#define LABELLED_GRAPH_H

#include "scratch.h"
#include "train/inside.h"

/* Returns a single graph with classes of these sizes, in turn, and a last node without a label. */
static inline mo_graph *labelled_graph(mo_context *ctx, const int64_t *sizes, int64_t classes) {
    int64_t n = 1, left[64];
    for (int64_t c = 0; c < classes; c++) {
        n += sizes[c];
        left[c] = sizes[c];
    }
    mo_graph *graph = mo_graph_from_edges(ctx, "labelled", n, 1, (int64_t[]){0}, (int64_t[]){n - 1});
    graph->label = calloc((size_t)n, sizeof *graph->label);
    graph->n_labels = n;
    graph->classes = classes;
    graph->label[n - 1] = -1;
    for (int64_t i = 0, c = 0; i < n - 1; c = (c + 1) % classes)
        if (left[c]-- > 0)
            graph->label[i++] = c;
    return graph;
}

#endif
