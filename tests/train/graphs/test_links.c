/* tests/train/graphs/test_links.c - held-out edges and non-edges: their definition, and that they are drawn evenly. */
#include "tests/scratch.h"
#include "train/graphs/draw.h"

/* Draws a graph in which each pair is an edge with probability `density`, and 0-1 always is. */
static mo_graph *draw_graph(mo_context *ctx, int64_t nodes, double density, uint64_t number) {
    int64_t u[2000], v[2000], n = 1;
    mo_random r = mo_random_at(3, MO_PURPOSE_CHECK, number);
    u[0] = 0;
    v[0] = 1;
    for (int64_t a = 0; a < nodes; a++)
        for (int64_t b = a + 1; b < nodes; b++)
            if (mo_random_uniform(&r) < density) {
                u[n] = b;
                v[n++] = a;
            }
    mo_graph *graph = mo_graph_from_edges(ctx, "drawn", nodes, n, u, v);
    assert_non_null(graph);
    return graph;
}

/* Fails unless the pairs have u < v, differ from each other, and are edges of the graph or not, as stated. */
static void assert_pairs(const mo_graph *graph, int64_t *const ends[2], int64_t n, bool edges) {
    HELD_MEMORY bool *met = calloc((size_t)(graph->nodes * graph->nodes), sizeof *met);
    for (int64_t i = 0; i < n; i++) {
        int64_t u = ends[0][i], v = ends[1][i];
        assert_true(u >= 0 && u < v && v < graph->nodes);
        assert_false(met[u * graph->nodes + v]);
        met[u * graph->nodes + v] = true;
        assert_int_equal(mo_graph_has_edge(graph, u, v), edges);
    }
}

static void assert_links(const mo_graph *graph, const mo_links *links) {
    assert_pairs(graph, links->positive, links->n_positive, true);
    assert_pairs(graph, links->negative, links->n_negative, false);
    assert_int_equal(links->masked->nodes, graph->nodes);
    assert_int_equal(links->masked->nnz, graph->nnz - 2 * links->n_positive);
    for (int64_t i = 0; i < links->n_positive; i++)
        assert_false(mo_graph_has_edge(links->masked, links->positive[0][i], links->positive[1][i]));
    for (int64_t u = 0; u < links->masked->nodes; u++)
        for (int64_t i = links->masked->row_pointer[u]; i < links->masked->row_pointer[u + 1]; i++)
            assert_true(mo_graph_has_edge(graph, u, links->masked->column[i]));
}

TEST_OF(masked_edges_and_non_edges_are_what_they_say, scratch *s) {
    static const double densities[] = {0, 0.05, 0.5, 0.95, 1};
    static const double shares[] = {0.001, 0.2, 0.5, 0.8};
    for (uint64_t trial = 0; trial < 400; trial++) {
        int64_t nodes = 2 + (int64_t)(trial % 31);
        HELD(mo_graph) *graph = draw_graph(s->ctx, nodes, densities[trial % 5], trial);
        int64_t edges = graph->nnz / 2, non_edges = nodes * (nodes - 1) / 2 - edges;
        double share = shares[trial % 4];
        int64_t asked = non_edges * (int64_t)(trial % 7) / 6; /* from none to all non-edges */
        HELD(mo_links) *links = mo_links_create(graph, share, asked, trial);
        assert_non_null(links);
        int64_t expected = llround(share * (double)edges);
        assert_int_equal(links->n_positive, expected ? expected : 1);
        assert_int_equal(links->n_negative, asked);
        assert_links(graph, links);
    }
}

TEST_OF(links_are_a_function_of_the_seed, scratch *s) {
    HELD(mo_graph) *graph = draw_graph(s->ctx, 50, 0.3, 0);
    HELD(mo_links) *a = mo_links_create(graph, 0.2, 100, 5), *b = mo_links_create(graph, 0.2, 100, 5);
    HELD(mo_links) *c = mo_links_create(graph, 0.2, 100, 6), *fewer = mo_links_create(graph, 0.2, 30, 5);
    for (int end = 0; end < 2; end++) {
        assert_memory_equal(a->positive[end], b->positive[end], (size_t)a->n_positive * sizeof(int64_t));
        assert_memory_equal(a->negative[end], b->negative[end], (size_t)a->n_negative * sizeof(int64_t));
        assert_memory_not_equal(a->positive[end], c->positive[end], (size_t)a->n_positive * sizeof(int64_t));
        assert_memory_not_equal(a->negative[end], c->negative[end], (size_t)a->n_negative * sizeof(int64_t));
        /* the number of negatives does not change which edges are held out */
        assert_memory_equal(a->positive[end], fewer->positive[end], (size_t)a->n_positive * sizeof(int64_t));
    }
    assert_memory_equal(a->masked->hash, b->masked->hash, 16);
    assert_memory_not_equal(a->masked->hash, c->masked->hash, 16);
    assert_memory_not_equal(a->masked->hash, graph->hash, 16);
}

/* Fails unless every pair is drawn about equally often over many seeds: chi-square with cells - 1 degrees of freedom,
 * at most six standard deviations above its mean. */
static void assert_even(const int64_t *count, int64_t cells, double expected) {
    double chi2 = 0;
    for (int64_t i = 0; i < cells; i++)
        chi2 += ((double)count[i] - expected) * ((double)count[i] - expected) / expected;
    if (chi2 > (double)cells + 6 * sqrt(2 * (double)cells))
        fail_msg("chi-square %g over %lld cells", chi2, (long long)cells);
}

TEST_OF(every_edge_and_non_edge_is_drawn_equally_often, scratch *s) {
    enum { NODES = 14, SEEDS = 4000 };
    int64_t count[2][NODES * NODES] = {{0}}, cell[NODES * NODES];
    HELD(mo_graph) *graph = draw_graph(s->ctx, NODES, 0.4, 1);
    int64_t edges = graph->nnz / 2, non_edges = NODES * (NODES - 1) / 2 - edges, masked = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        HELD(mo_links) *links = mo_links_create(graph, 0.25, 10, seed);
        masked = links->n_positive;
        for (int64_t i = 0; i < masked; i++)
            count[1][links->positive[0][i] * NODES + links->positive[1][i]]++;
        for (int64_t i = 0; i < 10; i++)
            count[0][links->negative[0][i] * NODES + links->negative[1][i]]++;
    }
    for (int edge = 0; edge < 2; edge++) {
        int64_t cells = 0;
        for (int64_t u = 0; u < NODES; u++)
            for (int64_t v = u + 1; v < NODES; v++)
                if (mo_graph_has_edge(graph, u, v) == (edge == 1))
                    cell[cells++] = count[edge][u * NODES + v];
        assert_int_equal(cells, edge ? edges : non_edges);
        assert_even(cell, cells, (double)SEEDS * (edge ? (double)masked : 10) / (double)cells);
    }
}

TEST_OF(pairs_that_are_no_edges_cannot_be_left_out, scratch *s) {
    static const int64_t wrong[][2] = {{1, 0}, {2, 3}, {0, 2}, {3, 4}, {-1, 2}, {4, 5}, {0, 0}, {1, INT64_MAX}};
    HELD(mo_graph) *g = mo_graph_from_edges(s->ctx, "path", 4, 2, (int64_t[]){0, 1}, (int64_t[]){1, 2});
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        int64_t u[] = {0, wrong[i][0]}, v[] = {1, wrong[i][1]};
        assert_null(mo_graph_without(g, (int64_t *[]){u, v}, 2));
        assert_failed(s->ctx, MO_INVALID, PARTS("graph_without: pair 1 is nodes ", "expected an edge u < v of path"));
    }
    assert_null(mo_graph_without(g, (int64_t *[]){NULL, NULL}, 1));
    assert_failed(s->ctx, MO_INVALID, PARTS("graph_without: 1 edges and a NULL list"));
    assert_null(mo_graph_without(g, (int64_t *[]){NULL, NULL}, -1));
    assert_failed(s->ctx, MO_INVALID, PARTS("graph_without: -1 edges"));
    HELD(mo_graph) *same = mo_graph_without(g, (int64_t *[]){NULL, NULL}, 0);
    assert_memory_equal(same->hash, g->hash, sizeof g->hash);
}

TEST_OF(features_and_labels_stay_with_the_masked_graph, scratch *s) {
    unsetenv("MOCHI_EMBEDDED");
    HELD(mo_graph) *graph = mo_graph_open(s->ctx, "cora");
    assert_non_null(graph);
    HELD(mo_links) *links = mo_links_create(graph, 0.2, 20000, 1);
    assert_non_null(links);
    assert_int_equal(links->n_positive, 1056); /* a fifth of 5278 edges */
    const mo_graph *masked = links->masked;
    assert_string_equal(masked->name, "cora");
    assert_int_equal(masked->features, graph->features);
    assert_memory_equal(masked->feature_pointer, graph->feature_pointer, (size_t)(graph->nodes + 1) * sizeof(int64_t));
    assert_memory_equal(masked->feature_column, graph->feature_column, (size_t)graph->feature_nnz * sizeof(int32_t));
    assert_memory_equal(masked->feature_value, graph->feature_value, (size_t)graph->feature_nnz * sizeof(float));
    assert_memory_equal(masked->label, graph->label, (size_t)graph->nodes * sizeof(int64_t));
    assert_int_equal(masked->classes, graph->classes);
    assert_true(mo_graph_has_task(masked, MO_TASK_NC) && mo_graph_has_task(masked, MO_TASK_LP));
}

TEST_OF(impossible_links_are_errors, scratch *s) {
    HELD(mo_graph) *graph = mo_graph_from_edges(s->ctx, "path", 4, 3, (int64_t[]){0, 1, 2}, (int64_t[]){1, 2, 3});
    HELD(mo_graph) *empty = mo_graph_from_edges(s->ctx, "empty", 4, 0, NULL, NULL);
    assert_null(mo_links_create(graph, 0.2, 4, 0));
    assert_failed(s->ctx, MO_INVALID, PARTS("path", "0..3 negatives", "found 4"));
    assert_null(mo_links_create(graph, 0.2, -1, 0));
    assert_failed(s->ctx, MO_INVALID, PARTS("found -1"));
    static const double shares[] = {0, 1, -0.5, NAN};
    for (int i = 0; i < 4; i++) {
        assert_null(mo_links_create(graph, shares[i], 1, 0));
        assert_failed(s->ctx, MO_INVALID, PARTS("share of masked edges"));
    }
    assert_null(mo_links_create(empty, 0.2, 1, 0));
    assert_failed(s->ctx, MO_INVALID, PARTS("empty", "a single graph with edges", "0 edges"));
    mo_links_release(NULL);
}

/* ---- pairs two steps apart ---- */

static bool apart_by_two(const mo_graph *graph, int64_t u, int64_t v) {
    for (int64_t a = 0; a < graph->nodes; a++)
        if (mo_graph_has_edge(graph, u, a) && mo_graph_has_edge(graph, a, v))
            return true;
    return false;
}

TEST_OF(near_pairs_are_all_that_are_two_steps_apart_and_not_linked, scratch *s) {
    for (uint64_t trial = 0; trial < 60; trial++) {
        int64_t nodes = 3 + (int64_t)(trial % 30), all = 0;
        HELD(mo_graph) *whole = draw_graph(s->ctx, nodes, 0.02 * (double)(trial % 12), trial);
        HELD(mo_links) *links = mo_links_create(whole, 0.3, 0, trial);
        mo_near_pairs near;
        assert_non_null(links);
        for (int64_t u = 0; u < nodes; u++)
            for (int64_t v = u + 1; v < nodes; v++) {
                bool two = apart_by_two(links->masked, u, v);
                assert_int_equal(mo_graph_two_steps(links->masked, u, v), two);
                all += two && !mo_graph_has_edge(whole, u, v);
            }
        for (int64_t most = 0; most <= all + 1; most += all + 1 > 3 ? (all + 1) / 3 : 1) {
            assert_true(mo_near_pairs_draw(links->masked, whole, most, trial, &near));
            assert_int_equal(near.all, all);
            assert_int_equal(near.n, most < all ? most : all);
            assert_pairs(whole, near.end, near.n, false);
            for (int64_t i = 0; i < near.n; i++)
                assert_true(apart_by_two(links->masked, near.end[0][i], near.end[1][i]));
            mo_near_pairs_release(&near);
        }
    }
}

/* With negatives two steps apart and links as they come, a link without a common neighbour would give itself away. */
TEST_OF(near_links_and_other_pairs_all_have_a_common_neighbour, scratch *s) {
    HELD(mo_graph) *graph = mo_graph_open(s->ctx, "cora");
    HELD(mo_links) *links = mo_links_create(graph, 0.28, 100, 5);
    int64_t held = links->n_positive, masked = links->masked->nnz;
    assert_true(mo_links_keep_near(graph, links, 5));
    assert_true(links->n_positive > 300 && links->n_positive < held && links->n_negative == links->n_positive);
    assert_int_equal(links->masked->nnz, masked); /* the links that are left out stay out of the graph */
    assert_pairs(graph, links->positive, links->n_positive, true);
    assert_pairs(graph, links->negative, links->n_negative, false);
    for (int side = 0; side < 2; side++) {
        int64_t *const *end = side ? links->negative : links->positive;
        for (int64_t i = 0; i < links->n_positive; i++)
            assert_true(mo_graph_two_steps(links->masked, end[0][i], end[1][i]));
    }
}

TEST_OF(a_graph_without_near_links_is_refused_in_words, scratch *s) {
    int64_t u[20], v[20];
    for (int64_t i = 0; i < 20; i++) {
        u[i] = i;
        v[i] = (i + 1) % 20;
    }
    HELD(mo_graph) *ring = mo_graph_from_edges(s->ctx, "ring", 20, 20, u, v);
    HELD(mo_links) *links = mo_links_create(ring, 0.3, 5, 0);
    assert_false(mo_links_keep_near(ring, links, 0));
    assert_failed(s->ctx, MO_INVALID, PARTS("ring", "both two steps apart, found 0 and 0"));
}
