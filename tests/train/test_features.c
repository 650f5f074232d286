/* tests/train/test_features.c - the values in the hop stack of graphs and sets of graphs. */
#include "tests/drawn_graphs.h"
#include "tests/folder.h"
#include "tests/sparse_svd.h"
#include "train/features/sets/set_blocks.h"

/* Returns X0 of one graph of a set, before LayerNorm, as doubles. */
static double *basis_of(const mo_graph *graph, int64_t g, const mo_feature_options *options) {
    HELD(mo_tape) *t = mo_tape_create(graph->ctx, MO_EVAL);
    mo_basis_quality quality;
    mo_tensor *X0 = mo_cast(t, mo_node_basis(t, graph, g, options, &quality), MO_F64);
    expect_ok(graph->ctx);
    double *x = calloc((size_t)mo_numel(X0) + 1, sizeof *x);
    mo_tensor_read(X0, x, (size_t)mo_numel(X0) * sizeof *x);
    return x;
}

/* The graphs of a set have fewer nodes than columns, so most columns are zero before LayerNorm; columns of zeros are
 * propagated as one. */
TEST_OF(a_hop_has_the_bits_of_the_adjacency_times_the_hop_before, scratch *s) {
    mo_feature_options wide = plain;
    wide.dim = 200;
    for (int i = 0; i < 3; i++) {
        HELD(mo_graph) *graph = draw_graph(s->ctx, i ? set : larger, i ? 5 * (i - 1) : 9, 11);
        HELD(mo_features) *f = mo_task_features_open(graph, MO_TASK_NC, NULL, &wide);
        expect_ok(s->ctx);
        mo_tensor *hops = mo_arrays_find(f->arrays, "hops");
        HELD(mo_csr) *A = mo_normalized_adjacency(graph, MO_F32);
        HELD(mo_tape) *t = mo_tape_create(s->ctx, MO_EVAL);
        int64_t n = graph->nodes * wide.dim, shape[] = {graph->nodes, wide.dim};
        HELD_MEMORY float *x = calloc((size_t)n, sizeof *x), *y = calloc((size_t)n, sizeof *y);
        for (int64_t k = 1; k <= HOPS; k++) {
            mo_tensor *before = mo_reshape(t, mo_slice(t, hops, MO_AXIS(0), k - 1, k), 2, shape);
            mo_tensor_read(mo_spmm(t, A, before), x, (size_t)n * sizeof *x);
            mo_tensor_read(mo_slice(t, hops, MO_AXIS(0), k, k + 1), y, (size_t)n * sizeof *y);
            expect_ok(s->ctx);
            assert_memory_equal(x, y, (size_t)n * sizeof *x);
        }
    }
}

TEST_OF(hop_zero_has_rows_of_mean_zero_and_variance_one, scratch *s) {
    HELD(mo_graph) *graph = draw_graph(s->ctx, larger, 9, 2);
    int64_t n;
    HELD_MEMORY float *x = hops_of(graph, &plain, &n, NULL);
    for (int64_t i = 0; i < graph->nodes; i++) {
        double mean = 0, square = 0;
        for (int64_t j = 0; j < DIM; j++) {
            mean += x[i * DIM + j] / DIM;
            square += (double)x[i * DIM + j] * x[i * DIM + j] / DIM;
        }
        assert_true(fabs(mean) < 1e-5 && fabs(square - 1) < 2e-2); /* the variance has 1e-5 added */
    }
}

TEST_OF(isolated_nodes_without_features_are_zero_rows, scratch *s) {
    HELD(mo_graph) *graph = draw_graph(s->ctx, larger, 0, 3);
    int64_t n, last = graph->nodes - 1;
    HELD_MEMORY float *x = hops_of(graph, &plain, &n, NULL);
    for (int64_t j = 0; j < DIM; j++)
        assert_true(fabsf(x[last * DIM + j]) < 1e-3f && x[(graph->nodes + last) * DIM + j] == 0);
}

/* In memory and on disk, for one graph and for a set, whose features are first brought to a common scale. */
TEST_OF(without_a_norm_hop_zero_is_the_basis, scratch *s) {
    mo_feature_options bare = plain, disk;
    bare.norm = MO_FEATURE_NORM_NONE;
    disk = bare;
    disk.place = MO_FEATURES_ON_DISK;
    disk.cache = scratch_folder(s, "bare");
    for (int i = 0; i < 2; i++) {
        HELD(mo_graph) *graph = draw_graph(s->ctx, i ? set : larger, 6, 4);
        int64_t n, m;
        HELD_MEMORY float *x = hops_of(graph, &bare, &n, NULL), *y = hops_of(graph, &disk, &m, NULL);
        assert_memory_equal(x, y, (size_t)n * sizeof *x);
        mo_graph scaled = *graph;
        HELD_MEMORY float *own = NULL;
        assert_true(mo_set_scale(&scaled, &own));
        assert_true(i ? own != NULL : own == NULL);
        for (int64_t g = 0; g < graph->graphs; g++) {
            int64_t first = graph->graph_offset[g], rows = graph->graph_offset[g + 1] - first;
            HELD_MEMORY double *basis = rows ? basis_of(&scaled, g, &bare) : NULL;
            for (int64_t j = 0; j < rows * DIM; j++)
                assert_true(basis[j] == (double)x[first * DIM + j]);
        }
    }
}

/* In the sum structure comes from the left and attributes from the right, each beginning with its largest singular
 * value. */
TEST_OF(the_sum_reverses_the_attributes_and_concat_puts_them_second, mo_context *ctx) {
    HELD(mo_graph) *both = draw_graph(ctx, small, 6, 4), *bare = draw_graph(ctx, small, 0, 4);
    mo_feature_options sum = plain, concat = plain;
    concat.combine = MO_COMBINE_CONCAT;
    HELD_MEMORY double *s = basis_of(both, 0, &sum), *p = basis_of(bare, 0, &sum), *c = basis_of(both, 0, &concat),
                       *b = basis_of(bare, 0, &concat);
    for (int64_t i = 0; i < both->nodes; i++)
        for (int64_t j = 0; j < DIM; j++) {
            double attribute = j >= DIM - 6 ? c[i * DIM + DIM / 2 + (DIM - 1 - j)] : 0;
            assert_true(fabs(s[i * DIM + j] - p[i * DIM + j] - attribute) < 1e-6);
            assert_true(j >= DIM / 2 || fabs(c[i * DIM + j] - p[i * DIM + j]) < 1e-6);
            assert_true(j < DIM / 2 || (j < DIM / 2 + 6 ? true : c[i * DIM + j] == 0));
            assert_true(b[i * DIM + j] == (j < DIM / 2 ? c[i * DIM + j] : 0));
        }
}

/* With as many columns as nodes, M = P_A P_A^T is four times the positive part of A~. So M A~ = A~ M, and the trace of
 * M is four times the sum of the positive eigenvalues, twice the sum of all magnitudes (as A~ has trace 0). */
TEST_OF(structure_is_four_times_the_positive_part, scratch *s) {
    HELD(mo_graph) *graph = draw_graph(s->ctx, small, 0, 5);
    mo_feature_options wide = plain;
    wide.dim = 60; /* more than the 50 nodes, so ten columns are zero */
    HELD_MEMORY double *p = basis_of(graph, 0, &wide);
    double trace = 0, magnitudes = 0;
    HELD(mo_csr) *A = mo_normalized_adjacency(graph, MO_F64);
    HELD(mo_tape) *t = mo_tape_create(s->ctx, MO_EVAL);
    mo_tensor *U, *S, *V;
    assert_int_equal(sparse_svd(t, A, 50, 0, 1, &U, &S, &V, NULL), MO_OK);
    magnitudes = mo_item(mo_sum(t, S, MO_ALL, MO_DROP_AXES));
    for (int64_t i = 0; i < 50; i++)
        for (int64_t j = 0; j < 60; j++) {
            trace += p[i * 60 + j] * p[i * 60 + j];
            assert_true(j < 50 || p[i * 60 + j] == 0);
        }
    assert_true(fabs(trace - 2 * magnitudes) < 1e-4 * trace);
}

/* Graphs of at most 64 nodes have an exact SVD, so the seed of a graph's place in the set has no effect. */
TEST_OF(a_graph_of_a_set_has_the_features_it_has_alone, scratch *s) {
    static const int64_t sizes[] = {40, 1, 0, 33, 12, -1};
    HELD(mo_graph) *all = draw_graph(s->ctx, sizes, 5, 6);
    for (int64_t g = 0; g < all->graphs; g++) {
        mo_graph alone = *all;
        int64_t offset[] = {all->graph_offset[g], all->graph_offset[g + 1]}, n = offset[1] - offset[0];
        alone.graphs = 1;
        alone.graph_offset = offset;
        if (n == 0)
            continue;
        HELD_MEMORY double *x = basis_of(all, g, &plain), *y = basis_of(&alone, 0, &plain);
        assert_memory_equal(x, y, (size_t)(n * DIM) * sizeof *x);
    }
}

TEST_OF(a_single_column_counts, scratch *s) {
    HELD(mo_graph) *one = draw_graph(s->ctx, small, 1, 4), *bare = draw_graph(s->ctx, small, 0, 4);
    int64_t n;
    HELD_MEMORY float *x = hops_of(one, &plain, &n, NULL), *y = hops_of(bare, &plain, &n, NULL);
    assert_memory_not_equal(x, y, (size_t)n * sizeof *x);
}

TEST_OF(wrong_settings_and_values_are_named, scratch *s) {
    HELD(mo_graph) *graph = draw_graph(s->ctx, small, 5, 12);
    mo_feature_options o = plain;
    o.dim = 0;
    assert_null(mo_task_features_open(graph, MO_TASK_NC, NULL, &o));
    assert_failed(s->ctx, MO_INVALID, PARTS("features: dim 0 and 2 hops"));
    o = plain;
    o.hops = -1;
    assert_null(mo_task_features_open(graph, MO_TASK_NC, NULL, &o));
    assert_failed(s->ctx, MO_INVALID, PARTS("features: dim 24 and -1 hops"));
    graph->feature_value[13] = NAN;
    assert_null(mo_task_features_open(graph, MO_TASK_NC, NULL, &plain));
    assert_failed(
        s->ctx, MO_NUMERICAL, PARTS("features: 'drawn': feature 3 of node 2 is nan, expected a finite value"));
    mo_feature_options examples = plain;
    examples.form = MO_ROWS_PER_EXAMPLE;
    graph->feature_value[13] = 3e38f; /* its square overflows float32 */
    for (int i = 0; i < 2; i++) {
        assert_null(mo_task_features_open(graph, MO_TASK_NC, NULL, i ? &examples : &plain));
        assert_failed(s->ctx, MO_NUMERICAL,
            PARTS("features: 'drawn': feature 3 of node 2 is 3e+38, expected a finite value of at most 1e+18"));
    }
    graph->feature_value[13] = -1e18f;
    mo_features_release(mo_task_features_open(graph, MO_TASK_NC, NULL, &plain));
    expect_ok(s->ctx);
    graph->feature_value[13] = 0;
    graph->column[0] = 49; /* an edge in one direction only */
    assert_null(mo_task_features_open(graph, MO_TASK_NC, NULL, &plain));
    assert_failed(s->ctx, MO_INVALID, PARTS("differs from its transpose"));
}

/* If all features are zero, the graph has columns but no array of values. */
TEST_OF(features_that_are_all_zero_are_none, scratch *s) {
    char path[512];
    scratch_write(s, "edges.csv", "a,b\nb,c\n", 8);
    scratch_write(s, "features.csv", "a,0,0\nb,0,0\nc,0,0\n", 18);
    snprintf(path, sizeof path, "%s", s->folder);
    HELD(mo_graph) *graph = mo_graph_open(s->ctx, path);
    expect_ok(s->ctx);
    assert_int_equal(graph->feature_nnz, 0);
    assert_null(graph->feature_value);
    int64_t n;
    HELD_MEMORY float *x = hops_of(graph, &plain, &n, NULL);
    for (int64_t i = 0; i < n; i++)
        assert_true(isfinite(x[i]));
}
