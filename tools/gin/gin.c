/* tools/gin/gin.c - the network: H' = W2 relu(norm(W1 ((1 + e) H + A H))) + b2 for each layer, and a relu between two.
 *
 * norm is the batch normalisation of GIN's perceptrons, whose batch is a whole graph: mean and variance are those of
 * the columns over all nodes of the graph that is encoded, in training as afterwards. */
#include "tools/gin/gin.h"

#include "tools/memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { EPSILON = 0, W1, GAMMA, BETA, W2, B2 };

static const char *const part_names[GIN_OF_LAYER] = {"epsilon", "W1", "gamma", "beta", "W2", "b2"};

static mo_tensor *draw_parameter(mo_context *ctx, int dim, int i, mo_random *random) {
    int part = i % GIN_OF_LAYER, ndim = part == W1 || part == W2 ? 2 : 1;
    int64_t size = part == EPSILON ? 1 : dim, shape[2] = {size, size}, count = ndim == 2 ? size * size : size;
    char name[40];
    snprintf(name, sizeof name, "gin.%d.%s", i / GIN_OF_LAYER, part_names[part]);
    float *value = needed(calloc((size_t)count, sizeof *value));
    for (int64_t j = 0; j < count; j++)
        value[j] = part == GAMMA ? 1 : ndim == 2 ? (float)(mo_random_normal(random) / sqrt(dim)) : 0;
    mo_tensor *P = mo_parameter(ctx, name, MO_F32, ndim, shape);
    if (mo_ok(ctx))
        mo_tensor_write(P, value, (size_t)count * sizeof *value);
    free(value);
    return P;
}

void gin_create(mo_context *ctx, int dim, uint64_t seed, gin *g) {
    *g = (gin){.ctx = ctx, .dim = dim};
    mo_random random = mo_random_at(seed, MO_PURPOSE_INIT, 0);
    for (int i = 0; i < GIN_PARAMETERS && mo_ok(ctx); i++)
        g->p[i] = draw_parameter(ctx, dim, i, &random);
}

void gin_release(gin *g) {
    for (int i = 0; i < GIN_PARAMETERS; i++)
        mo_tensor_release(g->p[i]);
    *g = (gin){0};
}

static mo_tensor *normalize_columns(mo_tape *t, mo_tensor *X, mo_tensor *gamma, mo_tensor *beta) {
    mo_tensor *mean = mo_mean(t, X, MO_AXIS(0), MO_KEEP_AXES);
    mo_tensor *variance = mo_var(t, X, MO_AXIS(0), MO_KEEP_AXES, 0);
    mo_tensor *factor = mo_mul(t, mo_pow(t, mo_scale(t, variance, 1, 1e-5), -0.5), gamma);
    return mo_add(t, mo_mul(t, mo_sub(t, X, mean), factor), beta);
}

static mo_tensor *gin_layer(mo_tape *t, mo_tensor *const p[GIN_OF_LAYER], const mo_csr *A, mo_tensor *H) {
    mo_tensor *sum = mo_add(t, mo_mul(t, H, mo_scale(t, p[EPSILON], 1, 1)), mo_spmm(t, A, H));
    mo_tensor *hidden = normalize_columns(t, mo_linear(t, sum, p[W1], NULL), p[GAMMA], p[BETA]);
    return mo_linear(t, mo_relu(t, hidden), p[W2], p[B2]);
}

mo_tensor *gin_encode(mo_tape *t, const gin *g, const mo_csr *A, mo_tensor *X) {
    for (int layer = 0; layer < GIN_LAYERS; layer++) {
        X = layer ? mo_relu(t, X) : X;
        X = gin_layer(t, g->p + layer * GIN_OF_LAYER, A, X);
    }
    return X;
}

mo_csr *gin_adjacency(const mo_graph *graph) {
    mo_csr *A = mo_csr_create(graph->ctx, graph->nodes, graph->nodes, graph->row_pointer, graph->column, MO_F32, NULL);
    if (A && mo_csr_declare_symmetric(A) == MO_OK)
        return A;
    mo_csr_release(A);
    return NULL;
}
