/* tests/train/drawn_set.h - random sets of small graphs, some with labels and measured values at their nodes. */
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

#endif
