/* tests/train/test_device_set.c - hop stacks of sets of graphs on a device: hop 0 has the CPU's bits, whatever the
 * sizes of the graphs, their order and the number of threads. Runs on the device of MOCHI_DEVICE. */
#include "tests/device.h"
#include "tests/drawn_graphs.h"
#include "tests/worst_of.h"

static float *stack_of(mo_device device, int threads, const int64_t *sizes, int64_t columns, int dim, int64_t *n) {
    HELD(mo_context) *ctx = device_context_of(device, threads);
    HELD(mo_graph) *graph = draw_graph(ctx, sizes, columns, 7);
    mo_feature_options o = plain;
    o.dim = dim;
    return hops_of(graph, &o, n, NULL);
}

/* Returns the largest difference over `count` values from index `first` on. */
static double difference(const float *x, const float *y, int64_t first, int64_t count) {
    double largest = 0;
    for (int64_t i = first; i < first + count; i++)
        largest = worst_of(largest, fabs((double)x[i] - y[i]));
    return largest;
}

static void expect_hops(const int64_t *sizes, int64_t columns, int dim) {
    int64_t n, m, nodes = 0;
    for (int g = 0; sizes[g] >= 0; g++)
        nodes += sizes[g];
    HELD_MEMORY float *x = stack_of(MO_CPU, 1, sizes, columns, dim, &n);
    for (int threads = 1; threads <= 3; threads += 2) {
        HELD_MEMORY float *y = stack_of(test_device(), threads, sizes, columns, dim, &m);
        assert_int_equal(n, m);
        assert_memory_equal(x, y, (size_t)(nodes * dim) * sizeof *x);
        if (!(difference(x, y, 0, n) < 1e-5)) /* sums of about ten products of entries of size 1 */
            fail_msg("%d columns, dim %d: off by %g", (int)columns, dim, difference(x, y, 0, n));
    }
}

TEST(hop_zero_has_the_bits_of_the_cpu) {
    static const int64_t sets[][9] = {
        {7, 0, 120, 1, 33, 90, 2, -1}, {12, 12, 12, 12, -1}, {0, 1, 1, 2, 0, -1}, {70, 3, 150, 64, 65, 149, 5, -1}};
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        expect_hops(sets[i], 0, 24);
        expect_hops(sets[i], 5, 24);
        expect_hops(sets[i], 5, 200);
    }
}

TEST(the_graph_that_fails_is_named) {
    static const int64_t sizes[] = {20, 5, 9, -1};
    HELD(mo_context) *ctx = device_context(test_device());
    HELD(mo_graph) *graph = draw_graph(ctx, sizes, 0, 7);
    int64_t first = graph->row_pointer[21];
    assert_true(graph->row_pointer[22] > first);
    graph->column[first] = 3; /* makes an edge to a node of another graph */
    assert_null(mo_task_features_open(graph, MO_TASK_NC, NULL, &plain));
    assert_failed(ctx, MO_INVALID, PARTS("features: graph 1 of 'drawn'", "leads to node"));
}
