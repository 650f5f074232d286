/* tests/train/drawn_set.h - random sets of small graphs, some with labels and measured values at their nodes, and
 * their subtrees in common. */
#ifndef DRAWN_SET_H
#define DRAWN_SET_H

#include "tests/scratch.h"
#include "train/graphs/graph_build.h"

enum { MOST = 14, KINDS = 3 };

typedef struct set_options {
    int graphs;
    bool labelled;      /* whether each node has one of KINDS labels */
    int64_t attributes; /* the number of measured values of a node */
    float unit;         /* of these values; 0: 1 */
    int other;          /* graphs from this number on have other random numbers; 0: none */
    int least;          /* the number of nodes of the smallest graph; 0: 1 */
} set_options;

/* Draws graphs of up to MOST nodes, every fourth dense, with isolated nodes. */
static inline mo_graph *drawn_set(mo_context *ctx, set_options o) {
    mo_graph *set = mo_graph_new(ctx, "drawn", "drawn");
    mo_edges edges = {0};
    int least = o.least ? o.least : 1;
    int64_t *kind = test_memory((size_t)(o.graphs * MOST) * sizeof *kind);
    float *value = test_memory((size_t)(o.graphs * MOST * o.attributes + 1) * sizeof *value);
    set->graphs = o.graphs;
    set->graph_offset = calloc((size_t)o.graphs + 1, sizeof *set->graph_offset);
    for (int g = 0; g < o.graphs; g++) {
        int64_t first = set->graph_offset[g], n = least + g % (MOST + 1 - least);
        uint64_t seed = o.other && g >= o.other ? 22 : 21;
        mo_random r = mo_random_at(seed, MO_PURPOSE_CHECK, (uint64_t)g);
        mo_random measured = mo_random_at(seed + 2, MO_PURPOSE_CHECK, (uint64_t)g); /* so that kinds stay the same */
        set->graph_offset[g + 1] = first + n;
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < i; j++)
                if (mo_random_uniform(&r) < (g % 4 ? 0.25 : 0.8))
                    mo_edges_add(ctx, &edges, first + i, first + j);
        for (int64_t u = first; u < first + n; u++) {
            kind[u] = mo_random_below(&r, KINDS);
            for (int64_t j = 0; j < o.attributes; j++)
                value[u * o.attributes + j] = (o.unit != 0 ? o.unit : 1) *
                                              (float)(10 * (double)j + (1 + (double)j) * mo_random_normal(&measured));
        }
    }
    mo_graph_set_edges(set, set->graph_offset[o.graphs], &edges);
    if (o.labelled || o.attributes)
        mo_graph_set_features(set, o.attributes ? value : NULL, o.attributes, o.labelled ? kind : NULL);
    set->attributes = o.attributes;
    set = mo_graph_finish(set);
    expect_ok(ctx);
    return set;
}

/* ---- the optimal assignment kernel of Weisfeiler-Lehman colours, by comparing all pairs of nodes ---- */

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
