/* train/features/closed_walks.c - closed walks of P = D^-1 A at one node: probabilities, triangles, cycles of four.
 *
 * The probability of return after four steps is sum_j Q_uj Q_ju with Q = P^2. The walk is reversible, that is, Q_ju =
 * Q_uj d_u / d_j, so row u of Q is enough. */
#include "train/features/closed_walks.h"

#include <omp.h>

mo_closed_walks mo_closed_walks_of(const mo_graph *graph, int64_t u, const mo_walk_ends *w) {
    const int64_t *first = graph->row_pointer;
    const int32_t *column = graph->column;
    double *share = w->share + omp_get_thread_num() * graph->nodes;
    int32_t *count = w->count + omp_get_thread_num() * graph->nodes;
    double du = (double)degree(graph, u);
    mo_closed_walks out = {{0}, 0, 0, 0};
    for (int64_t i = first[u]; i < first[u + 1]; i++)
        for (int64_t j = first[column[i]]; j < first[column[i] + 1]; j++) {
            share[column[j]] += 1 / (du * (double)degree(graph, column[i]));
            count[column[j]]++;
        }
    out.back[0] = share[u];
    count[u] = 0; /* walks to a neighbour and back are no cycles */
    for (int64_t i = first[u]; i < first[u + 1]; i++) {
        out.back[1] += share[column[i]] / (double)degree(graph, column[i]);
        out.triangles += count[column[i]];
    }
    for (int64_t i = first[u]; i < first[u + 1]; i++)
        for (int64_t j = first[column[i]]; j < first[column[i] + 1]; j++) {
            int64_t v = column[j];
            double n = count[v];
            out.back[2] += share[v] * share[v] * du / (double)degree(graph, v);
            out.cycles += n * (n - 1) / 2;
            out.reached += share[v] > 0;
            share[v] = 0; /* so that v counts once */
            count[v] = 0;
        }
    return out;
}
