/* tests/train/subtrees.h - the optimal assignment kernel of Weisfeiler-Lehman colours, by comparing all pairs of
 * nodes. */
#ifndef SUBTREES_H
#define SUBTREES_H

#include "tests/scratch.h"

/* Refines colours over the nodes of the whole set: numbers the distinct (colour, neighbours' colours) without a
 * hash. */
static inline void refine_colours(const mo_graph *set, const int64_t *before, int64_t *after) {
    int64_t n = set->nodes, kinds = 0;
    for (int64_t u = 0; u < n; u++) {
        int64_t same = -1, degree = set->row_pointer[u + 1] - set->row_pointer[u];
        for (int64_t v = 0; v < u && same < 0; v++) {
            bool equal = before[u] == before[v] && degree == set->row_pointer[v + 1] - set->row_pointer[v];
            for (int64_t e = set->row_pointer[u]; equal && e < set->row_pointer[u + 1]; e++) {
                int64_t colour = before[set->column[e]], balance = 0;
                for (int64_t f = 0; f < degree; f++)
                    balance += (before[set->column[set->row_pointer[u] + f]] == colour) -
                               (before[set->column[set->row_pointer[v] + f]] == colour);
                equal = balance == 0;
            }
            same = equal ? v : -1;
        }
        after[u] = same >= 0 ? after[same] : kinds++;
    }
}

/* Adds to K[g, h] the sum over colours of min(n_c, n'_c); for g = h without what only graph g has of a colour. */
static inline void add_intersections(const mo_graph *set, const int64_t *colour, double *K) {
    int64_t G = set->graphs, (*count)[64] = calloc((size_t)set->nodes, sizeof *count);
    for (int64_t g = 0; g < G; g++)
        for (int64_t u = set->graph_offset[g]; u < set->graph_offset[g + 1]; u++)
            count[colour[u]][g]++;
    for (int64_t c = 0; c < set->nodes; c++)
        for (int64_t g = 0; g < G; g++) {
            int64_t shared = 0;
            for (int64_t h = 0; h < G; h++)
                if (h != g) {
                    shared = count[c][h] > shared ? count[c][h] : shared;
                    K[g * G + h] += (double)(count[c][g] < count[c][h] ? count[c][g] : count[c][h]);
                }
            K[g * G + g] += (double)(count[c][g] < shared ? count[c][g] : shared);
        }
    free(count);
}

/* Adds the intersections of `rounds` refinements of colour to K [graphs, graphs] and, if the nodes have kinds, those of
 * the colours themselves. */
static inline void count_subtrees(const mo_graph *set, int64_t *colour, bool kinds, int rounds, double *K) {
    HELD_MEMORY int64_t *next = calloc((size_t)set->nodes, sizeof *next);
    if (kinds)
        add_intersections(set, colour, K);
    for (int round = 0; round < rounds; round++) {
        refine_colours(set, colour, next);
        memcpy(colour, next, (size_t)set->nodes * sizeof *colour);
        add_intersections(set, colour, K);
    }
}

#endif
