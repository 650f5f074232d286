/* tests/planted.h - small graphs with a known answer, made in memory, and runs on them. */
#ifndef PLANTED_H
#define PLANTED_H

#include "tests/scratch.h"
#include "train/episodes/pool.h"
#include "train/graphs/graph_build.h"

enum { PLANTED_DIM = 16, PLANTED_HOPS = 3 };

/* Returns a graph of n nodes; node i has class i % classes. Nodes of one class are joined with probability `inside`,
 * others with `outside`. With one class, nodes have no labels. */
static inline mo_graph *planted_graph(
    mo_context *ctx, const char *name, int64_t nodes, int64_t classes, double inside, double outside, uint64_t seed) {
    mo_graph *graph = mo_graph_new(ctx, name, name);
    mo_edges edges = {0};
    mo_random r = mo_random_at(seed, MO_PURPOSE_CHECK, 1);
    int64_t *label = test_memory((size_t)nodes * sizeof *label);
    for (int64_t i = 0; i < nodes; i++) {
        label[i] = i % classes;
        for (int64_t j = 0; j < i; j++)
            if (mo_random_uniform(&r) < (label[i] == label[j] ? inside : outside))
                mo_edges_add(ctx, &edges, i, j);
    }
    mo_graph_set_edges(graph, nodes, &edges);
    if (classes > 1)
        mo_graph_set_classes(graph, label, nodes);
    graph = mo_graph_finish(graph);
    assert_non_null(graph);
    return graph;
}

/* Returns a set of graphs of 6 to 12 nodes: rings (class 0), and rings in which nodes two apart are joined too (class
 * 1). */
static inline mo_graph *planted_set(mo_context *ctx, const char *name, int64_t graphs, uint64_t seed) {
    mo_graph *set = mo_graph_new(ctx, name, name);
    mo_edges edges = {0};
    mo_random r = mo_random_at(seed, MO_PURPOSE_CHECK, 2);
    int64_t *label = test_memory((size_t)graphs * sizeof *label);
    set->graphs = graphs;
    set->graph_offset = calloc((size_t)graphs + 1, sizeof *set->graph_offset);
    for (int64_t g = 0; g < graphs; g++) {
        int64_t first = set->graph_offset[g], n = 6 + mo_random_below(&r, 7);
        label[g] = g % 2;
        set->graph_offset[g + 1] = first + n;
        for (int64_t i = 0; i < n; i++) {
            mo_edges_add(ctx, &edges, first + i, first + (i + 1) % n);
            for (int64_t j = i + 2; label[g] && j < n; j += 2)
                mo_edges_add(ctx, &edges, first + i, first + j);
        }
    }
    mo_graph_set_edges(set, set->graph_offset[graphs], &edges);
    mo_graph_set_classes(set, label, graphs);
    set = mo_graph_finish(set);
    assert_non_null(set);
    return set;
}

static inline mo_feature_options planted_features(void) {
    return (mo_feature_options){.dim = PLANTED_DIM, .hops = PLANTED_HOPS, .power_iterations = 2, .seed = 7};
}

/* A pool with one source of each family: nodes and links of a graph of three classes, and a set of graphs. */
static inline mo_pool *planted_pool_of(mo_context *ctx, const mo_feature_options *features) {
    mo_pool *pool = mo_pool_create(ctx, features, 0.2, NULL, NULL);
    assert_non_null(pool);
    mo_pool_add(pool, planted_graph(ctx, "planted", 150, 3, 0.25, 0.03, 1), 0);
    mo_pool_add(pool, planted_set(ctx, "rings", 60, 2), 0);
    expect_ok(ctx);
    return pool;
}

static inline mo_pool *planted_pool(mo_context *ctx) {
    mo_feature_options features = planted_features();
    return planted_pool_of(ctx, &features);
}

/* Returns the first source of a family, or NULL. */
static inline const mo_source *planted_source(const mo_pool *pool, mo_task task) {
    for (int i = 0; i < mo_pool_size(pool); i++)
        if (mo_pool_source(pool, i)->task == task)
            return mo_pool_source(pool, i);
    return NULL;
}

static inline mo_model *planted_model(mo_context *ctx, uint64_t seed) {
    mo_mochi_options o = mo_mochi_defaults();
    o.encoder.dim = PLANTED_DIM;
    o.encoder.hops = PLANTED_HOPS;
    o.readout.lambda = 1;
    mo_model *model = mo_mochi_create(ctx, MO_F32, &o, seed);
    assert_non_null(model);
    return model;
}

static inline mo_plan_options planted_plans(uint64_t seed) {
    return (mo_plan_options){.k_min = 2, .k_max = 4, .q_min = 3, .q_max = 5, .max_classes = 64, .seed = seed};
}

/* Options of a short run with AdamW's usual values. */
static inline mo_trainer_options planted_steps(int64_t steps, int episodes, double lr, const char *out) {
    return (mo_trainer_options){.steps = steps,
        .episodes_per_step = episodes,
        .adamw = {.lr = lr, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8, .clip = 1},
        .plan = planted_plans(1),
        .out = out};
}

#endif
