/* tests/train/test_node_kernels.c - the kernels between nodes against dense matrices in float64, on small graphs with
 * an isolated node, a node without attributes and a constant column; their properties; and bad input. */
#include "tensor/library.h"
#include "tests/drawn_graphs.h"
#include "tests/train/dense.h"
#include "tests/worst_of.h"
#include "train/features/closed_walks.h"
#include "train/features/nodes/attribute_rows.h"
#include "train/features/nodes/structure_columns.h"

enum { N = 60, M = 9, ALONE = N - 1, BARE = 7, MORE = 300, WIDE = 70 };

static double *attributes_of(const mo_graph *graph) {
    double *X = zeros(graph->nodes * graph->features);
    for (int64_t u = 0; u < graph->nodes; u++)
        for (int64_t e = graph->feature_pointer[u]; e < graph->feature_pointer[u + 1]; e++)
            X[u * graph->features + graph->feature_column[e]] = graph->feature_value[e];
    return X;
}

/* ---- the rows of each expert ---- */

static double *attribute_expert(const mo_graph *graph, double own, double near) {
    int64_t n = graph->nodes, m = graph->features;
    double *X = attributes_of(graph), *P = scaled_adjacency(graph, 1, 0);
    to_unit_length(X, n, m);
    double *PX = product(P, X, n, m);
    for (int64_t i = 0; i < n * m; i++)
        X[i] = own * X[i] + near * PX[i];
    centre(X, n, m);
    to_unit_length(X, n, m);
    return X;
}

static double *neighbour_expert(const mo_graph *graph) {
    double *A = scaled_adjacency(graph, 0, 0.5);
    to_unit_length(A, graph->nodes, graph->nodes);
    return A;
}

/* Returns the rows of expert H from hop 0 of both blocks, as the features have them. */
static double *hop_expert(const mo_graph *graph, const mo_features *f) {
    mo_tensor *blocks = mo_arrays_find(f->arrays, "blocks");
    int64_t n = graph->nodes, d = mo_dim(blocks, 3), hops = mo_dim(blocks, 1);
    HELD_MEMORY float *x = calloc((size_t)mo_numel(blocks), sizeof *x);
    mo_tensor_read(blocks, x, (size_t)mo_numel(blocks) * sizeof *x);
    double *sum = zeros(n * d), *A = scaled_adjacency(graph, 0.5, 0.5);
    for (int64_t i = 0; i < n * d; i++)
        sum[i] = (double)x[i] + x[hops * n * d + i];
    double *rows = product(A, product(A, sum, n, d), n, d);
    to_unit_length(rows, n, d);
    return rows;
}

/* Computes the structure columns, fifteen, by their formulas. Returns how many of them vary. */
static int structure_expert(const mo_graph *graph, double *S) {
    enum { C = MO_STRUCTURE_COLUMNS };
    int64_t n = graph->nodes;
    double *A = scaled_adjacency(graph, 0, 0), *P = scaled_adjacency(graph, 1, 0), *P2 = product(P, P, n, n);
    double *P3 = product(P2, P, n, n), *P4 = product(P2, P2, n, n), *A3 = product(product(A, A, n, n), A, n, n);
    double *rank = zeros(n), *next = zeros(n);
    for (int64_t u = 0; u < n; u++)
        rank[u] = 1 / (double)n;
    for (int round = 0; round < 30; round++) {
        for (int64_t u = 0; u < n; u++) {
            next[u] = 0.15 / (double)n;
            for (int64_t v = 0; v < n; v++)
                next[u] += 0.85 * P[v * n + u] * rank[v];
        }
        memcpy(rank, next, (size_t)n * sizeof *rank);
    }
    for (int64_t u = 0; u < n; u++) {
        double d = (double)degree(graph, u), triangles = A3[u * n + u] / 2, *x = S + u * C, reached = 0;
        x[0] = log(1 + d);
        for (int64_t v = 0; v < n; v++) {
            double near = log(1 + (double)degree(graph, v));
            x[1] += P[u * n + v] * near;
            x[2] += P[u * n + v] * near * near;
            x[4] = P[u * n + v] > 0 ? fmax(x[4], near) : x[4];
            reached += P2[u * n + v] > 0;
            x[13] += degree(graph, v) ? P[u * n + v] / (double)degree(graph, v) : 0;
            x[14] += P[u * n + v] * log((double)n * rank[v]);
        }
        x[2] = sqrt(fmax(x[2] - x[1] * x[1], 0));
        x[5] = d > 1 ? triangles / (d * (d - 1) / 2) : 0;
        x[6] = log(1 + triangles);
        x[7] = log((double)n * rank[u]);
        x[8] = P2[u * n + u];
        x[9] = P3[u * n + u];
        x[10] = P4[u * n + u];
        x[11] = log(1 + reached);
    }
    for (int64_t u = 0; u < n; u++)
        for (int64_t v = 0; v < n; v++) {
            S[u * C + 3] += P[u * n + v] * S[v * C + 1];
            S[u * C + 12] += P[u * n + v] * S[v * C + 5];
        }
    centre(S, n, C);
    int kept = 0;
    for (int c = 0; c < C; c++) {
        double squares = 0;
        for (int64_t u = 0; u < n; u++)
            squares += S[u * C + c] * S[u * C + c];
        double sd = sqrt(squares / (double)n);
        kept += sd > 1e-6;
        for (int64_t u = 0; u < n; u++)
            S[u * C + c] = sd > 1e-6 ? fmin(fmax(S[u * C + c] / sd, -4), 4) : 0;
    }
    return kept;
}

/* ---- comparison ---- */

/* Draws lists of nodes with repetitions; they include the isolated node and the node without attributes. */
enum { N_A = 30, N_B = 17 };
static void draw_lists(int64_t n, int64_t a[N_A], int64_t b[N_B]) {
    mo_random r = mo_random_at(5, MO_PURPOSE_CHECK, 9);
    for (int i = 0; i < N_A; i++)
        a[i] = mo_random_below(&r, n);
    for (int i = 0; i < N_B; i++)
        b[i] = mo_random_below(&r, n);
    a[3] = a[4] = b[2] = n - 1;
    a[5] = b[1] = b[8] = BARE;
}

/* Compares K with 1 + <x, y> of the rows of X [n, w] or, if `kept` is not 0, with 1 + exp(-|x - y|^2 / (2 kept)). */
static void expect_kernel(
    const char *name, const float *K, const double *X, int64_t w, int kept, const int64_t *a, const int64_t *b) {
    for (int i = 0; i < N_A; i++)
        for (int j = 0; j < N_B; j++) {
            double inner = 0, squares = 0;
            for (int64_t c = 0; c < w; c++) {
                inner += X[a[i] * w + c] * X[b[j] * w + c];
                squares += pow(X[a[i] * w + c] - X[b[j] * w + c], 2);
            }
            double want = 1 + (kept ? exp(-squares / (2 * kept)) : inner);
            if (!(fabs(K[i * N_B + j] - want) < 1e-5))
                fail_msg("%s: nodes %lld and %lld: expected %.7f, found %.7f", name, (long long)a[i], (long long)b[j],
                    want, (double)K[i * N_B + j]);
        }
}

/* Compares every expert of the graph with its dense rows. */
static void expect_experts(const mo_graph *graph, const mo_features *f, const char *const *names, int n_names) {
    HELD(mo_example_kernels) *k =
        mo_example_kernels_create(&(mo_source){.graph = (mo_graph *)graph, .features = (mo_features *)f});
    expect_ok(graph->ctx);
    assert_int_equal(mo_example_kernels_count(k), n_names);
    int64_t a[N_A], b[N_B], n = graph->nodes;
    draw_lists(n, a, b);
    HELD_MEMORY float *K = calloc((size_t)n_names * N_A * N_B, sizeof *K);
    assert_int_equal(mo_example_kernels_gram(k, a, N_A, b, N_B, K), MO_OK);
    for (int e = 0; e < n_names; e++) {
        const char *name = mo_example_kernels_name(k, e);
        const float *own = K + e * N_A * N_B;
        double *X = NULL;
        assert_string_equal(name, names[e]);
        int64_t w = graph->features;
        int kept = 0;
        if (!strcmp(name, "Xc"))
            X = attribute_expert(graph, 1, 0);
        else if (!strcmp(name, "PX"))
            X = attribute_expert(graph, 0, 1);
        else if (!strcmp(name, "HX"))
            X = attribute_expert(graph, 1, -1);
        else if (!strcmp(name, "A1"))
            X = neighbour_expert(graph), w = n;
        else if (!strcmp(name, "H"))
            X = hop_expert(graph, f), w = f->dim;
        else {
            X = zeros(n * MO_STRUCTURE_COLUMNS);
            kept = structure_expert(graph, X);
            w = MO_STRUCTURE_COLUMNS;
        }
        expect_kernel(name, own, X, w, kept, a, b);
    }
}

static const int64_t one[] = {N, -1};
static const char *const all_names[] = {"Xc", "PX", "HX", "A1", "S", "H"};

/* Draws a graph with random attributes, of which one column is constant and one node has none. */
static mo_graph *odd_graph(mo_context *ctx, uint64_t seed) {
    mo_graph *graph = draw_graph(ctx, one, M, seed);
    for (int64_t u = 0; u < N; u++)
        for (int64_t c = 0; c < M; c++) {
            float *x = &graph->feature_value[u * M + c];
            *x = u == BARE ? 0 : c == 4 ? 1 : *x;
        }
    return graph;
}

static mo_features *features_of(const mo_graph *graph) {
    mo_feature_options o = {.form = MO_ROWS_PER_EXAMPLE, .dim = 16, .hops = 3, .power_iterations = 2, .seed = 3};
    mo_features *f = mo_task_features_open(graph, MO_TASK_NC, NULL, &o);
    expect_ok(graph->ctx);
    return f;
}

TEST_OF(kernels_are_those_of_dense_rows, scratch *s) {
    for (uint64_t seed = 1; seed <= 3; seed++) {
        HELD(mo_graph) *graph = odd_graph(s->ctx, seed);
        HELD(mo_features) *f = features_of(graph);
        assert_int_equal(degree(graph, ALONE), 0);
        expect_experts(graph, f, all_names, 6);
    }
}

/* Kernels multiply rows with entries in every column as dense, and rows with few of many columns as sparse: the results
 * must be the same. */
TEST_OF(dense_and_sparse_attributes_have_one_meaning, scratch *s) {
    static const int64_t more[] = {MORE, -1};
    for (int sparse = 0; sparse < 2; sparse++)
        for (int order = 0; order < 2; order++) {
            HELD(mo_graph) *graph = draw_graph(s->ctx, more, sparse ? 3 : M, 8);
            if (sparse) /* three of many columns per node; neighbours sometimes share one */
                graph->features = WIDE;
            for (int64_t e = 0; e < graph->feature_nnz; e++) {
                int64_t u = e / 3, c = e % 3;
                if (sparse)
                    graph->feature_column[e] = (int32_t)((u * u + c * 13) % WIDE);
                else if (order)
                    graph->feature_column[e] = (int32_t)(M - 1 - e % M);
            }
            assert_int_equal(mo_attributes_are_sparse(graph), sparse);
            expect_experts(graph, NULL, all_names, 5);
        }
}

/* All nodes have the same attributes: HX and Xc, less their means, are zero, and must not become rounding noise of unit
 * length. */
TEST_OF(rows_equal_to_the_mean_are_zero, scratch *s) {
    HELD(mo_graph) *graph = draw_graph(s->ctx, one, M, 9);
    for (int64_t e = 0; e < graph->feature_nnz; e++)
        graph->feature_value[e] = (float)(1 + e % M) / 3;
    HELD(mo_example_kernels) *k = mo_example_kernels_create(&(mo_source){.graph = graph});
    static float K[5 * N * N];
    int64_t nodes[N];
    for (int i = 0; i < N; i++)
        nodes[i] = i;
    assert_int_equal(mo_example_kernels_gram(k, nodes, N, nodes, N, K), MO_OK);
    for (int i = 0; i < N * N; i++)
        assert_true(K[i] == 1);
}

/* Blocks of one list, and lists that change between calls, give the values of a single call, up to the order of sums in
 * dense products. */
TEST_OF(what_is_kept_between_calls_changes_nothing, scratch *s) {
    static const int64_t more[] = {MORE, -1};
    static float whole[5 * N_A * N_B], part[5 * N_A * N_B];
    int64_t a[N_A], b[N_B], n = 11;
    for (int sparse = 0; sparse < 2; sparse++) {
        HELD(mo_graph) *graph = draw_graph(s->ctx, more, M, 8);
        graph->features = sparse ? 40 * M : M;
        assert_int_equal(mo_attributes_are_sparse(graph), sparse);
        HELD(mo_example_kernels) *k = mo_example_kernels_create(&(mo_source){.graph = graph});
        draw_lists(MORE, a, b);
        assert_int_equal(mo_example_kernels_gram(k, a, N_A, b, N_B, whole), MO_OK);
        assert_int_equal(mo_example_kernels_gram(k, b, N_B, a, N_A, part), MO_OK); /* another list */
        for (int64_t i = 0; i < N_A; i += n) {
            int64_t rows = N_A - i < n ? N_A - i : n;
            assert_int_equal(mo_example_kernels_gram(k, a + i, rows, b, N_B, part), MO_OK);
            for (int64_t e = 0; e < 5; e++)
                for (int64_t j = 0; j < rows * N_B; j++)
                    assert_true(
                        fabsf(part[e * rows * N_B + j] - whole[(e * N_A + i) * N_B + j]) <= (sparse ? 0 : 1e-6F));
        }
    }
}

/* Draws random edges, every fifth to one of three hubs; the last node stays isolated. */
static mo_graph *graph_with_hubs(mo_context *ctx) {
    enum { EDGES = 2500 };
    int64_t u[EDGES], v[EDGES];
    mo_random r = mo_random_at(12, MO_PURPOSE_CHECK, 9);
    for (int e = 0; e < EDGES; e++) {
        u[e] = mo_random_below(&r, MORE - 1);
        v[e] = mo_random_below(&r, e % 5 ? MORE - 1 : 3);
    }
    mo_graph *graph = mo_graph_from_edges(ctx, "hubs", MORE, EDGES, u, v);
    expect_ok(ctx);
    return graph;
}

/* Counts of triangles and of three steps are exact; counts of four steps and of reached nodes lie within the stated
 * errors, above and below. */
TEST_OF(sampled_walks_are_near_the_exact_ones, scratch *s) {
    static mo_closed_walks found[2][MORE];
    int64_t node[MORE];
    double squares = 0, bias = 0, errors = 0, error_bias = 0;
    for (int i = 0; i < MORE; i++)
        node[i] = i;
    HELD(mo_graph) *graph = graph_with_hubs(s->ctx);
    mo_walk_end *ends = mo_walk_ends(graph);
    assert_non_null(ends);
    for (int several = 0; several < 2; several++) {
        HELD(mo_context) *ctx = mo_context_create(&(mo_context_options){.threads = several ? 3 : 1});
        HELD(mo_graph) *own = graph_with_hubs(ctx);
        memset(found[several], 0, sizeof found[several]);
        assert_true(mo_sampled_walks(own, node, MORE, found[several]));
    }
    assert_memory_equal(found[0], found[1], sizeof found[0]);
    for (int u = 0; u < MORE; u++) {
        mo_closed_walks want = mo_closed_walks_of(graph, u, ends);
        assert_true(found[0][u].triangles == want.triangles);
        double largest = 0, n = (double)degree(graph, u);
        for (int64_t e = graph->row_pointer[u]; e < graph->row_pointer[u + 1]; e++)
            largest = fmax(largest, 1 / (double)degree(graph, graph->column[e]));
        for (int k = 0; k < 2; k++)
            assert_true(fabs(found[0][u].back[k] - want.back[k]) < 1e-12);
        double off = n > 0 ? (found[0][u].back[2] - want.back[2]) / (largest / 32) : 0;
        assert_true(fabs(off) < 4);
        errors += off * off / MORE;
        error_bias += off / MORE;
        if (n == 0) {
            assert_true(found[0][u].reached == 0 && found[0][u].back[2] == 0);
            continue;
        }
        double relative = (double)found[0][u].reached / (double)want.reached - 1;
        squares += relative * relative / MORE;
        bias += relative / MORE;
    }
    assert_true(errors < 1 && fabs(error_bias) < 0.2);
    assert_true(sqrt(squares) < 0.08 && fabs(bias) < 0.08);
    free(ends);
}

/* If all nodes have too many edges for exact walks, thirteen columns still are exact, and two approximate. */
TEST_OF(columns_of_sampled_walks_follow_the_exact_ones, scratch *s) {
    enum { C = MO_STRUCTURE_COLUMNS };
    static float exact[MORE * C], sampled[MORE * C];
    HELD(mo_graph) *graph = graph_with_hubs(s->ctx);
    assert_true(mo_most_exact_walks(graph) == INT64_MAX);
    assert_int_equal(mo_structure_columns(graph, INT64_MAX, exact), C);
    assert_int_equal(mo_structure_columns(graph, 0, sampled), C);
    for (int c = 0; c < C; c++) {
        double product = 0, squares[2] = {0}, difference = 0;
        for (int u = 0; u < MORE; u++) {
            double x = exact[u * C + c], y = sampled[u * C + c];
            product += x * y;
            squares[0] += x * x;
            squares[1] += y * y;
            difference = worst_of(difference, fabs(x - y));
        }
        double cosine = product / sqrt(squares[0] * squares[1]);
        if (c == 10 || c == 11)
            assert_true(cosine > 0.9 && difference > 0);
        else
            assert_true(difference < 1e-5);
    }
}

TEST_OF(experts_that_a_graph_has_not_are_left_out, scratch *s) {
    static const char *const bare[] = {"A1", "S", "H"};
    HELD(mo_graph) *graph = draw_graph(s->ctx, one, 0, 4), *column = draw_graph(s->ctx, one, 1, 4);
    HELD(mo_features) *f = features_of(graph);
    expect_experts(graph, f, bare, 3);
    expect_experts(graph, NULL, bare, 2);
    expect_experts(column, NULL, bare, 2);
    int64_t u[N], v[N];
    for (int i = 0; i < N; i++) { /* a ring, in which all nodes are alike */
        u[i] = i;
        v[i] = (i + 1) % N;
    }
    HELD(mo_graph) *ring = mo_graph_from_edges(s->ctx, "ring", N, N, u, v),
                   *empty = mo_graph_from_edges(s->ctx, "empty", N, 0, u, v);
    expect_experts(ring, NULL, bare, 1);
    expect_experts(empty, NULL, bare, 0);
}

static mo_code add_rows(mo_example_kernels *k, const char *name, const float *rows, int64_t w) {
    mo_context *ctx = k->graph->ctx;
    HELD(mo_tensor) *T = mo_tensor_create_from(ctx, MO_F32, 2, (int64_t[]){k->graph->nodes, w}, rows);
    return mo_example_kernels_add(k, k->graph, &(mo_expert){name, T});
}

TEST_OF(rows_of_a_user_are_an_expert, scratch *s) {
    enum { W = 5 };
    HELD(mo_graph) *graph = draw_graph(s->ctx, one, 0, 6);
    HELD(mo_example_kernels) *k = mo_example_kernels_create(&(mo_source){.graph = graph});
    int64_t a[N_A], b[N_B];
    static float rows[N * W], K[3 * N_A * N_B];
    static double X[N * W];
    mo_random r = mo_random_at(6, MO_PURPOSE_CHECK, 9);
    for (int i = 0; i < N * W; i++)
        X[i] = rows[i] = i / W == BARE ? 0 : (float)(100 * mo_random_normal(&r));
    to_unit_length(X, N, W);
    draw_lists(N, a, b);
    assert_int_equal(add_rows(k, "mine", rows, W), MO_OK);
    assert_int_equal(mo_example_kernels_count(k), 3);
    assert_string_equal(mo_example_kernels_name(k, 2), "mine");
    assert_int_equal(mo_example_kernels_gram(k, a, N_A, b, N_B, K), MO_OK);
    expect_kernel("mine", K + 2 * N_A * N_B, X, W, 0, a, b);
    assert_int_equal(add_rows(k, "mine", rows, W), MO_INVALID);
    mo_clear_error(s->ctx);
    rows[3 * W + 2] = NAN;
    assert_int_equal(add_rows(k, "other", rows, W), MO_NUMERICAL);
    assert_failed(s->ctx, MO_NUMERICAL, PARTS("column 2 of node 3 is nan"));
    assert_int_equal(mo_example_kernels_count(k), 3);
}

/* Returns the mean cosine along edges, over the root of the mean square of all pairs, from dense rows. */
static double assortativity_of(const mo_graph *graph) {
    int64_t n = graph->nodes, m = graph->features;
    double *X = attribute_expert(graph, 1, 0), along = 0, squares = 0;
    for (int64_t u = 0; u < n; u++)
        for (int64_t v = 0; v < n; v++) {
            double cosine = 0;
            for (int64_t c = 0; c < m; c++)
                cosine += X[u * m + c] * X[v * m + c];
            squares += cosine * cosine / (double)(n * n);
            along += mo_graph_has_edge(graph, u, v) ? cosine / (double)graph->nnz : 0;
        }
    return along / sqrt(squares);
}

/* Random attributes; then again after adding the neighbours' attributes to each node's, three times. */
TEST_OF(assortativity_is_that_of_dense_rows, scratch *s) {
    static float before[N * M];
    for (int times = 0; times < 4; times += 3) {
        HELD(mo_graph) *graph = odd_graph(s->ctx, 11);
        for (int i = 0; i < times; i++) {
            memcpy(before, graph->feature_value, sizeof before);
            for (int64_t u = 0; u < N; u++)
                for (int64_t e = graph->row_pointer[u]; e < graph->row_pointer[u + 1]; e++)
                    for (int64_t c = 0; c < M; c++)
                        graph->feature_value[u * M + c] += before[graph->column[e] * M + c] / (float)degree(graph, u);
        }
        HELD(mo_example_kernels) *k = mo_example_kernels_create(&(mo_source){.graph = graph});
        double expected = assortativity_of(graph);
        assert_true(times ? expected > 1 : fabs(expected) < 0.3);
        assert_true(fabs(mo_example_kernels_assortativity(k) - expected) < 0.05);
    }
    assert_true(mo_example_kernels_assortativity(NULL) == 0);
}

TEST_OF(empty_lists_and_wrong_nodes_and_too_little_memory, scratch *s) {
    HELD(mo_graph) *graph = draw_graph(s->ctx, one, M, 7);
    HELD(mo_example_kernels) *k = mo_example_kernels_create(&(mo_source){.graph = graph});
    int64_t node = 3, beyond = N;
    float K[5];
    assert_int_equal(mo_example_kernels_gram(k, NULL, 0, &node, 1, NULL), MO_OK);
    assert_int_equal(mo_example_kernels_gram(k, &node, 1, NULL, 0, NULL), MO_OK);
    assert_int_equal(mo_example_kernels_gram(k, &node, 1, &beyond, 1, K), MO_INVALID);
    assert_failed(s->ctx, MO_INVALID, PARTS("node 60, expected 0 to 59"));
    s->ctx->memory = s->ctx->host_held + 1000;
    assert_null(mo_example_kernels_create(&(mo_source){.graph = graph}));
    assert_failed(s->ctx, MO_MEMORY, PARTS("M asked, ", "M held, ", "M allowed: raise --memory "));
    s->ctx->memory = 0;
    HELD(mo_graph) *several = draw_graph(s->ctx, set, 0, 7);
    assert_null(mo_example_kernels_create(&(mo_source){.graph = several}));
    assert_failed(s->ctx, MO_INVALID, PARTS("has 7 graphs, expected one"));
}
