/* train/features/closed_walks.c - closed walks of P = D^-1 A at one node: probabilities, triangles, cycles of four.
 *
 * The probability of return after four steps is sum_j Q_uj Q_ju with Q = P^2. The walk is reversible, that is, Q_ju =
 * Q_uj d_u / d_j, so row u of Q is enough. */
#include "train/features/closed_walks.h"

mo_closed_walks mo_closed_walks_of(const mo_graph *graph, int64_t u, const mo_walk_ends *w) {
    const int64_t *first = graph->row_pointer;
    const int32_t *column = graph->column;
    double du = (double)degree(graph, u);
    mo_closed_walks out = {{0}, 0, 0, 0};
    for (int64_t i = first[u]; i < first[u + 1]; i++)
        for (int64_t j = first[column[i]]; j < first[column[i] + 1]; j++) {
            w->share[column[j]] += 1 / (du * (double)degree(graph, column[i]));
            w->count[column[j]]++;
        }
    out.back[0] = w->share[u];
    w->count[u] = 0; /* walks to a neighbour and back are no cycles */
    for (int64_t i = first[u]; i < first[u + 1]; i++) {
        out.back[1] += w->share[column[i]] / (double)degree(graph, column[i]);
        out.triangles += w->count[column[i]];
    }
    for (int64_t i = first[u]; i < first[u + 1]; i++)
        for (int64_t j = first[column[i]]; j < first[column[i] + 1]; j++) {
            int64_t v = column[j];
            double n = w->count[v];
            out.back[2] += w->share[v] * w->share[v] * du / (double)degree(graph, v);
            out.cycles += n * (n - 1) / 2;
            out.reached += w->share[v] > 0;
            w->share[v] = 0; /* counted once */
            w->count[v] = 0;
        }
    return out;
}
