/* train/features/sets/scaled_set.c - the features of a set of graphs, with every column scaled.
 *
 * Columns of 0 and 1 are one-hot labels and stay. All other columns have units of their own (an ENZYMES node has a
 * length of up to 761 beside its one-hot label) and are divided by their standard deviation over the nodes of the set;
 * a column that does not vary becomes 0. */
#include "tensor/library.h"
#include "train/features/sets/set_blocks.h"

#include <math.h>
#include <stdlib.h>

/* scale [features]: the factor of each column. Returns whether a factor is not 1. */
static bool find_scales(const mo_graph *graph, double *scale) {
    mo_context *ctx = graph->ctx;
    int64_t F = graph->features, n = 0;
    double *mean = mo_host_array(ctx, F, sizeof *mean), *squares = mo_host_array(ctx, F, sizeof *squares);
    int64_t *having = mo_host_array(ctx, F, sizeof *having);
    bool *measured = mo_host_array(ctx, F, sizeof *measured), any = false;
    int64_t G = mo_counted_graphs(graph);
    for (int64_t i = 0; i < G; i++)
        n += graph->graph_offset[mo_counted(graph, i) + 1] - graph->graph_offset[mo_counted(graph, i)];
    for (int pass = 0; mo_ok(ctx) && pass < 2; pass++) /* means, then squared distances to them */
        for (int64_t i = 0; i < G; i++) {
            int64_t g = mo_counted(graph, i), stop = graph->feature_pointer[graph->graph_offset[g + 1]];
            for (int64_t e = graph->feature_pointer[graph->graph_offset[g]]; e < stop; e++) {
                int32_t j = graph->feature_column[e];
                float x = graph->feature_value[e];
                if (pass) {
                    squares[j] += (x - mean[j]) * (x - mean[j]);
                    continue;
                }
                mean[j] += x / (double)n;
                having[j]++;
                measured[j] |= x != 0 && x != 1;
            }
        }
    for (int64_t j = 0; mo_ok(ctx) && j < F; j++) {
        double deviation = sqrt((squares[j] + (double)(n - having[j]) * mean[j] * mean[j]) / (double)n);
        scale[j] = !measured[j] ? 1 : deviation > 1e-6 * fabs(mean[j]) ? 1 / deviation : 0;
        any |= measured[j];
    }
    free(mean);
    free(squares);
    free(having);
    free(measured);
    return any;
}

bool mo_set_scale(mo_graph *graph, float **own) {
    mo_context *ctx = graph->ctx;
    *own = NULL;
    if (graph->graphs == 1 || graph->features == 0)
        return mo_ok(ctx);
    double *scale = mo_host_array(ctx, graph->features, sizeof *scale);
    if (scale && find_scales(graph, scale) && (*own = mo_host_array(ctx, graph->feature_nnz, sizeof **own))) {
        for (int64_t e = 0; e < graph->feature_nnz; e++)
            (*own)[e] = (float)(graph->feature_value[e] * scale[graph->feature_column[e]]);
        graph->feature_value = *own;
    }
    free(scale);
    return mo_ok(ctx);
}
