/* tests/copies.h - a graph whose SVDs have large groups of equal singular values, the features of its examples, and an
 * invariant encoder in which every part has an effect. */
#ifndef COPIES_H
#define COPIES_H

#include "tests/training_run.h"

enum { COPIES = 3, PART = 30, NODES = COPIES * PART, ROW_DIM = 128 };

/* Several copies of one random graph: every singular value of the adjacency has a multiplicity of COPIES. The
 * attributes are five groups of equal size, hence five equal singular values. */
static inline mo_graph *graph_of_copies(mo_context *ctx) {
    mo_graph *graph = mo_graph_new(ctx, "copies", "copies");
    mo_edges edges = {0};
    mo_random r = mo_random_at(1, MO_PURPOSE_CHECK, 1);
    int64_t label[NODES], group[NODES];
    for (int64_t i = 0; i < PART; i++)
        for (int64_t j = 0; j < i; j++)
            if (mo_random_uniform(&r) < (i % 3 == j % 3 ? 0.4 : 0.1))
                for (int64_t copy = 0; copy < COPIES; copy++)
                    mo_edges_add(ctx, &edges, copy * PART + i, copy * PART + j);
    for (int64_t i = 0; i < NODES; i++) {
        label[i] = i % 3;
        group[i] = i % 5;
    }
    mo_graph_set_edges(graph, NODES, &edges);
    mo_graph_set_classes(graph, label, NODES);
    mo_graph_set_features(graph, NULL, 0, group);
    return mo_graph_finish(graph);
}

static inline mo_feature_options example_features(const char *cache) {
    return (mo_feature_options){
        .form = MO_ROWS_PER_EXAMPLE, .dim = ROW_DIM, .hops = 3, .power_iterations = 2, .seed = 7, .cache = cache};
}

static inline mo_pool *pool_of_copies(mo_context *ctx, const char *cache) {
    mo_feature_options features = example_features(cache);
    mo_pool *pool = mo_pool_create(ctx, &features, 0.2, NULL, NULL);
    mo_pool_add(pool, graph_of_copies(ctx), 0);
    expect_ok(ctx);
    return pool;
}

/* The default model with noise on every parameter: at its start some parts have no effect. */
static inline mo_model *moved_model(mo_context *ctx, mo_dtype real) {
    mo_model *model = mo_invariant_create(ctx, real, NULL);
    mo_random r = mo_random_at(2, MO_PURPOSE_CHECK, 2);
    assert_non_null(model);
    for (int i = 0; i < mo_model_n_parameters(model); i++) {
        mo_tensor *P = mo_model_parameter(model, i);
        int64_t n = mo_numel(P);
        double x[64];
        HELD(mo_tensor) *wide = mo_tensor_create(ctx, MO_F64, mo_ndim(P), P->shape);
        mo_tensor_copy(wide, P);
        mo_tensor_read(wide, x, (size_t)n * sizeof *x);
        for (int64_t j = 0; j < n; j++)
            x[j] += 0.3 * mo_random_normal(&r);
        mo_tensor_write(wide, x, (size_t)n * sizeof *x);
        mo_tensor_copy(P, wide);
    }
    return model;
}

#endif
