/* tests/train/test_threads.c - all that uses threads above the kernels (features, kernels between examples, diagnoses,
 * fits): one thread asks OpenMP for nothing, and threads that a host left with other modes change no bit. */
#include "tests/drawn_graphs.h"
#include "tests/labelled_rows.h"
#include "tests/openmp_memory.h"
#include "tests/openmp_workers.h"
#include "tests/train/drawn_set.h"
#include "train/features/closed_walks.h"
#include "train/features/nodes/attribute_rows.h"

enum { THREADS = 4, ROWS = 40, GRAPHS = 24, WIDE = 600 };

/* ---- what is computed, into one buffer ---- */

static void append_features(
    bytes *all, const mo_graph *graph, mo_task task, const mo_links *links, const mo_feature_options *o) {
    static const char *const names[] = {"hops", "blocks", "extras", "walks", "matches"};
    HELD(mo_features) *f = mo_task_features_open(graph, task, links, o);
    expect_ok(graph->ctx);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        mo_tensor *x = mo_arrays_find(f->arrays, names[i]);
        HELD_MEMORY float *values = x ? mo_host_values(x, MO_F32) : NULL;
        if (values)
            bytes_append(all, values, (size_t)mo_numel(x) * sizeof *values);
    }
}

static void append_kernels(bytes *all, mo_graph *graph, mo_task task, int64_t examples) {
    int64_t list[ROWS];
    for (int64_t i = 0; i < ROWS; i++)
        list[i] = i * 7 % examples;
    HELD(mo_example_kernels) *k = mo_example_kernels_create(&(mo_source){.graph = graph, .task = task});
    expect_ok(graph->ctx);
    size_t n = (size_t)mo_example_kernels_count(k) * ROWS * ROWS;
    HELD_MEMORY float *K = calloc(n, sizeof *K);
    assert_int_equal(mo_example_kernels_gram(k, list, ROWS, list, ROWS, K), MO_OK);
    bytes_append(all, K, n * sizeof *K);
}

/* Nodes whose attributes are subnormal numbers, stored for every column or for few. */
static void append_nodes(bytes *all, mo_context *ctx, bool sparse) {
    HELD(mo_graph) *graph = draw_graph(ctx, larger, 9, 2);
    graph->features = sparse ? WIDE : 9;
    assert_int_equal(mo_attributes_are_sparse(graph), sparse);
    for (int64_t e = 0; e < graph->feature_nnz; e++)
        graph->feature_value[e] *= 1e-39F;
    append_kernels(all, graph, MO_TASK_NC, graph->nodes);
}

/* Rows of nodes and of links, and walks of every node from samples. */
static void append_graph(bytes *all, mo_context *ctx) {
    mo_feature_options o = plain;
    o.form = MO_ROWS_PER_EXAMPLE;
    HELD(mo_graph) *graph = draw_graph(ctx, larger, 9, 2);
    HELD(mo_links) *links = mo_links_create(graph, 0.5, 300, 3);
    append_features(all, graph, MO_TASK_NC, NULL, &o);
    append_features(all, graph, MO_TASK_LP, links, &o);
    HELD_MEMORY int64_t *node = calloc((size_t)graph->nodes, sizeof *node);
    HELD_MEMORY mo_closed_walks *walks = calloc((size_t)graph->nodes, sizeof *walks);
    for (int64_t u = 0; u < graph->nodes; u++)
        node[u] = u;
    assert_true(mo_sampled_walks(graph, node, graph->nodes, walks));
    bytes_append(all, walks, (size_t)graph->nodes * sizeof *walks);
}

/* Rows of a set's nodes and of its graphs, and kernels between the graphs. */
static void append_set(bytes *all, mo_context *ctx) {
    mo_feature_options o = plain;
    HELD(mo_graph) *graphs = drawn_set(ctx, (set_options){.graphs = GRAPHS, .labelled = true, .attributes = 3});
    append_features(all, graphs, MO_TASK_NC, NULL, &o);
    o.form = MO_ROWS_PER_EXAMPLE;
    append_features(all, graphs, MO_TASK_GC, NULL, &o);
    append_kernels(all, graphs, MO_TASK_GC, GRAPHS);
}

static void on_row(const mo_eval_row *row, void *all) {
    const double figures[] = {row->mean, row->nll, row->brier};
    bytes_append(all, figures, sizeof figures);
}

/* Figures of fits and of the geometry of rows. */
static void append_rows(bytes *all, mo_context *ctx) {
    const mo_eval_options options = usual_problems(9);
    const mo_head *heads[] = {&mo_head_prototype_inner, &mo_head_ridge};
    HELD(mo_embeddings) *E = make(&(scratch){.ctx = ctx}, MO_F32, 1);
    HELD(mo_diagnosis) x = {0};
    assert_int_equal(evaluate_heads(E, heads, 2, NULL, MO_SCALING_NONE, &options, on_row, all), MO_OK);
    assert_int_equal(mo_diagnose(E, &(mo_diagnosis_options){.epsilon = 0.1}, &x), MO_OK);
    bytes_append(all, x.prototype, (size_t)x.classes * sizeof *x.prototype);
}

static void append_all(bytes *all, mo_context *ctx) {
    append_nodes(all, ctx, false);
    append_nodes(all, ctx, true);
    append_graph(all, ctx);
    append_set(all, ctx);
    append_rows(all, ctx);
    expect_ok(ctx);
}

/* ---- what threads must not do ---- */

#ifdef OPENMP_IS_COUNTED
TEST(one_thread_leaves_openmp_no_allocation_to_fail) {
    HELD(mo_context) *ctx = mo_context_create(&(mo_context_options){.threads = 1});
    HELD(bytes) all = {0};
    append_rows(&all, ctx); /* a thread's first product asks once for its settings, which onednn.c sets */
    watch_openmp();
    append_all(&all, ctx);
    expect_nothing_asked();
}
#endif

TEST(threads_that_flush_to_zero_change_no_bit_and_keep_their_mode) {
#if defined(__x86_64__)
    HELD(mo_context) *one = mo_context_create(&(mo_context_options){.threads = 1});
    HELD(mo_context) *several = mo_context_create(&(mo_context_options){.threads = THREADS});
    HELD(bytes) want = {0};
    int threads = mo_context_threads(several);
    if (threads < 2)
        skip("one processor");
    append_all(&want, one);
    set_in_workers(threads, 0, FLUSHES);
    for (int i = 0; i < 5; i++) {
        HELD(bytes) found = {0};
        append_all(&found, several);
        assert_int_equal(found.n, want.n);
        assert_memory_equal(found.data, want.data, want.n);
    }
    assert_int_equal(set_in_workers(threads, FLUSHES, 0), threads - 1);
#else
    skip("FTZ and DAZ are bits of x86");
#endif
}
