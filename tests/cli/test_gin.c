/* tests/cli/test_gin.c - the network of tools/gin/ beside plain loops, its training, and its embeddings of a source. */
#include "tools/gin/gin.h"

#include "tests/suite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NODES = 6, DIM = 3, EDGES = 6 };

/* A triangle 0 1 2 and a path 2 3 4 5. */
static const int64_t from[EDGES] = {0, 1, 0, 2, 3, 4}, to[EDGES] = {1, 2, 2, 3, 4, 5};

/* ---- plain loops ---- */

/* The columns brought to mean 0 and variance 1 over all nodes, then scaled, moved and cut at 0. */
static void plain_norm(double H[NODES][DIM], const float *gamma, const float *beta) {
    for (int j = 0; j < DIM; j++) {
        double mean = 0, variance = 0;
        for (int v = 0; v < NODES; v++)
            mean += H[v][j] / NODES;
        for (int v = 0; v < NODES; v++)
            variance += (H[v][j] - mean) * (H[v][j] - mean) / NODES;
        for (int v = 0; v < NODES; v++)
            H[v][j] = fmax(0, (H[v][j] - mean) / sqrt(variance + 1e-5) * gamma[j] + beta[j]);
    }
}

static void plain_linear(double H[NODES][DIM], const float *W, const float *b) {
    for (int v = 0; v < NODES; v++) {
        double row[DIM];
        for (int i = 0; i < DIM; i++) {
            row[i] = b ? b[i] : 0;
            for (int j = 0; j < DIM; j++)
                row[i] += W[i * DIM + j] * H[v][j];
        }
        memcpy(H[v], row, sizeof row);
    }
}

/* One layer; the parameters in the order of gin.h. */
static void plain_layer(float p[GIN_OF_LAYER][DIM * DIM], double H[NODES][DIM]) {
    double sum[NODES][DIM];
    for (int v = 0; v < NODES; v++)
        for (int j = 0; j < DIM; j++)
            sum[v][j] = (1 + p[0][0]) * H[v][j];
    for (int e = 0; e < EDGES; e++)
        for (int j = 0; j < DIM; j++) {
            sum[from[e]][j] += H[to[e]][j];
            sum[to[e]][j] += H[from[e]][j];
        }
    plain_linear(sum, p[1], NULL);
    plain_norm(sum, p[2], p[3]);
    plain_linear(sum, p[4], p[5]);
    memcpy(H, sum, sizeof sum);
}

/* ---- tests ---- */

/* Other values than the first ones, so that each parameter counts. */
static void draw_all(gin *g, float value[GIN_PARAMETERS][DIM * DIM]) {
    mo_random random = mo_random_at(3, MO_PURPOSE_INIT, 1);
    for (int i = 0; i < GIN_PARAMETERS; i++) {
        for (int j = 0; j < DIM * DIM; j++)
            value[i][j] = (float)mo_random_normal(&random);
        mo_tensor_write(g->p[i], value[i], (size_t)mo_numel(g->p[i]) * sizeof(float));
    }
}

TEST(embeddings_are_those_of_the_formula) {
    mo_context *ctx = mo_context_create(NULL);
    mo_graph *graph = mo_graph_from_edges(ctx, "six", NODES, EDGES, from, to);
    mo_csr *A = gin_adjacency(graph);
    mo_tape *t = mo_tape_create(ctx, MO_EVAL);
    float value[GIN_PARAMETERS][DIM * DIM], X[NODES][DIM], Z[NODES][DIM];
    double H[NODES][DIM];
    gin g;
    (void)state;
    gin_create(ctx, DIM, 0, &g);
    draw_all(&g, value);
    for (int i = 0; i < NODES * DIM; i++)
        H[i / DIM][i % DIM] = X[i / DIM][i % DIM] = sinf((float)i);
    mo_tensor *out = gin_encode(t, &g, A, mo_from(t, MO_F32, 2, (int64_t[]){NODES, DIM}, X));
    assert_int_equal(mo_tensor_read(out, Z, sizeof Z), MO_OK);
    for (int layer = 0; layer < GIN_LAYERS; layer++) {
        for (int i = 0; layer && i < NODES * DIM; i++)
            H[i / DIM][i % DIM] = fmax(0, H[i / DIM][i % DIM]);
        plain_layer(value + layer * GIN_OF_LAYER, H);
    }
    for (int i = 0; i < NODES * DIM; i++)
        assert_float_equal(Z[i / DIM][i % DIM], H[i / DIM][i % DIM], 1e-4);
    gin_release(&g);
    mo_tape_release(t);
    mo_csr_release(A);
    mo_graph_release(graph);
    mo_context_release(ctx);
}

/* Two cliques of eight nodes, joined by an edge: their pairs can be told from others. */
static mo_graph *two_cliques(mo_context *ctx) {
    int64_t u[64], v[64], n = 0;
    for (int64_t i = 0; i < 8; i++)
        for (int64_t j = i + 1; j < 8; j++) {
            u[n] = i, v[n++] = j;
            u[n] = 8 + i, v[n++] = 8 + j;
        }
    u[n] = 0, v[n++] = 8;
    return mo_graph_from_edges(ctx, "cliques", 16, n, u, v);
}

static void count_step(int64_t step, const mo_graph *graph, double loss, void *state) {
    (void)step, (void)graph;
    assert_true(isfinite(loss));
    ++*(int *)state;
}

static double train_on_cliques(mo_context *ctx, uint64_t seed, int64_t steps, int *reported) {
    mo_feature_options features = {.dim = 4, .power_iterations = 2};
    gin_graph graph = {.graph = two_cliques(ctx)};
    graph.A = gin_adjacency(graph.graph);
    mo_features *f = mo_features_open(graph.graph, &features);
    graph.X = mo_embed_hop(&(mo_source){.graph = graph.graph, .task = MO_TASK_NC, .features = f}, 0);
    mo_features_release(f);
    gin g;
    gin_create(ctx, 4, seed, &g);
    gin_training o = {.steps = steps, .lr = 0.02, .seed = seed, .report = count_step, .state = reported};
    assert_int_equal(gin_train(&g, &graph, 1, &o), MO_OK);
    double loss = gin_loss(&g, &graph, 5);
    gin_release(&g);
    gin_graph_release(&graph);
    return loss;
}

/* No loss comes near 0: half of the drawn pairs are within a clique, like edges. Of all pairs within a clique two in
 * three are edges, and if all had one logit, the loss would be at best 3/4 of that share's entropy: 0.48. */
TEST(training_tells_edges_from_pairs) {
    mo_context *ctx = mo_context_create(NULL);
    int reported = 0;
    (void)state;
    double before = train_on_cliques(ctx, 1, 0, &reported), after = train_on_cliques(ctx, 1, 60, &reported);
    assert_int_equal(reported, 60);
    assert_true(before > 0.69);
    assert_true(after < 0.6);
    assert_true(train_on_cliques(ctx, 1, 60, &reported) == after); /* of one seed */
    assert_true(train_on_cliques(ctx, 2, 60, &reported) != after);
    mo_context_release(ctx);
}

/* Embeddings of a source of links come from the graph without them; the hops before stay. */
TEST(links_held_out_are_not_seen) {
    mo_context *ctx = mo_context_create(NULL);
    mo_graph *graph = two_cliques(ctx);
    mo_links *links = mo_links_create(graph, 0.3, 10, 0);
    mo_features *f = mo_features_open(links->masked, &(mo_feature_options){.dim = 4, .hops = 1, .power_iterations = 2});
    mo_source source = {.graph = graph, .task = MO_TASK_LP, .links = links, .features = f};
    float Z[2][16][4], hop[2][16][4];
    gin g[2];
    (void)state;
    for (int i = 0; i < 2; i++)
        gin_create(ctx, 4, (uint64_t)i, &g[i]);
    mo_features *own = gin_features(g, 2, &source);
    assert_non_null(own);
    assert_int_equal(own->hops, 3);
    for (int i = 0; i < 2; i++) {
        mo_source with = source;
        for (int j = 0; j < 2; j++) {
            with.features = j ? own : f;
            mo_tensor *rows = mo_embed_hop(&with, i);
            assert_int_equal(mo_tensor_read(rows, hop[j], sizeof hop[j]), MO_OK);
            mo_tensor_release(rows);
        }
        assert_memory_equal(hop[0], hop[1], sizeof hop[0]);
        with.features = own;
        mo_tensor *seen = mo_embed_hop(&with, 2 + i);
        mo_csr *A = gin_adjacency(links->masked);
        mo_tape *t = mo_tape_create(ctx, MO_EVAL);
        with.features = f;
        mo_tensor *X = mo_embed_hop(&with, 0), *expected = gin_encode(t, &g[i], A, X);
        assert_int_equal(mo_tensor_read(seen, Z[0], sizeof Z[0]), MO_OK);
        assert_int_equal(mo_tensor_read(expected, Z[1], sizeof Z[1]), MO_OK);
        assert_memory_equal(Z[0], Z[1], sizeof Z[0]);
        mo_tensor_release(seen);
        mo_tensor_release(X);
        mo_tape_release(t);
        mo_csr_release(A);
    }
    for (int i = 0; i < 2; i++)
        gin_release(&g[i]);
    mo_features_release(own);
    mo_features_release(f);
    mo_links_release(links);
    mo_graph_release(graph);
    mo_context_release(ctx);
}
