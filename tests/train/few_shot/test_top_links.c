/* tests/train/few_shot/test_top_links.c - the best missing links of every node: against all pairs, the candidates' rule
 * against its formula, the nearest rows against all rows, and the same bits at any thread count. */
#include "tests/drawn_graphs.h"
#include "train/few_shot/link_candidates.h"

enum { NODES = 90, K = 4, ROWS = 3000, WIDTH = 16, NEAR = 5 };

static const int64_t sizes[] = {NODES, -1};

static mo_code top_links(
    mo_graph *g, const mo_few_shot_options *o, int64_t k, int64_t candidates, int64_t *to, double *score) {
    mo_link_scorer *s = mo_link_scorer_open(g, o, NULL);
    mo_code code = mo_link_scorer_top(s, k, candidates, to, score);
    mo_link_scorer_release(s);
    return code;
}

/* ---- against all pairs ---- */

typedef struct lists {
    int64_t to[NODES * K];
    double score[NODES * K];
} lists;

static void find_lists(int threads, int64_t candidates, lists *l) {
    mo_context *ctx = mo_context_create(&(mo_context_options){.threads = threads});
    mo_register_ops(ctx);
    mo_graph *g = draw_graph(ctx, sizes, 12, 5);
    if (top_links(g, NULL, K, candidates, l->to, l->score) != MO_OK)
        fail_msg("%s", mo_context_status(ctx)->message);
    mo_graph_release(g);
    assert_int_equal(mo_context_release(ctx), MO_OK);
}

static void lists_are_the_best_of_all_pairs(void **state) {
    scratch *s = *state;
    mo_register_ops(s->ctx);
    static lists all, more;
    static int64_t u[NODES * NODES], v[NODES * NODES];
    static double score[NODES * NODES];
    find_lists(1, NODES, &all);
    mo_graph *g = draw_graph(s->ctx, sizes, 12, 5);
    for (int64_t node = 0; node < NODES; node++) {
        int64_t n = 0;
        for (int64_t other = 0; other < NODES; other++)
            if (other != node && !mo_graph_has_edge(g, node, other)) {
                u[n] = node;
                v[n++] = other;
            }
        if (node % 30 == 0)
            assert_int_equal(mo_few_shot_links(g, NULL, u, v, n, score), MO_OK);
        for (int i = 0; i < K; i++) {
            int64_t to = all.to[node * K + i];
            assert_true(to >= 0 && to != node && !mo_graph_has_edge(g, node, to));
            assert_true(i == 0 || all.score[node * K + i] <= all.score[node * K + i - 1]);
            int64_t better = 0; /* pairs that a list of exact scores would have before this one */
            for (int64_t j = 0; node % 30 == 0 && j < n; j++) {
                if (v[j] == to)
                    assert_true(fabs(score[j] - all.score[node * K + i]) < 1e-3);
                better += score[j] > all.score[node * K + i] + 1e-3;
            }
            assert_true(better <= i);
        }
    }
    mo_graph_release(g);
    find_lists(1, 8, &more); /* candidates by the rule: no pair scores above the best of all pairs */
    for (int i = 0; i < NODES * K; i++)
        assert_true(more.to[i] < 0 ? isnan(more.score[i]) : more.score[i] <= all.score[i] + 1e-3);
}

static void threads_change_no_bit(void **state) {
    (void)state;
    static lists one, three;
    find_lists(1, 0, &one);
    find_lists(3, 0, &three);
    assert_memory_equal(&three, &one, sizeof one);
}

static void a_node_without_candidates_has_an_empty_list(void **state) {
    scratch *s = *state;
    int64_t u[] = {0, 1, 2, 3, 4, 5, 0, 2}, v[] = {1, 2, 3, 4, 5, 0, 3, 5}, to[80 * 2];
    double score[80 * 2];
    mo_graph *g = mo_graph_from_edges(s->ctx, "ring", 80, 8, u, v); /* 74 nodes have no link */
    assert_int_equal(top_links(g, NULL, 2, 4, to, score), MO_OK);
    assert_true(to[0] == 2 || to[0] == 4);
    assert_true(to[2 * 70] == -1 && isnan(score[2 * 70]));
    mo_graph_release(g);
}

/* ---- the rule ---- */

/* (A~^2 + A~^3)_uv of a small graph, by the definition. */
static void walk_weights(const mo_graph *g, double *out) {
    static double A[NODES][NODES], B[NODES][NODES];
    for (int i = 0; i < NODES; i++)
        for (int j = 0; j < NODES; j++) {
            double du = (double)(g->row_pointer[i + 1] - g->row_pointer[i]),
                   dv = (double)(g->row_pointer[j + 1] - g->row_pointer[j]);
            A[i][j] = mo_graph_has_edge(g, i, j) ? 1 / sqrt(du * dv) : 0;
        }
    for (int i = 0; i < NODES; i++)
        for (int j = 0; j < NODES; j++) {
            B[i][j] = 0;
            for (int k = 0; k < NODES; k++)
                B[i][j] += A[i][k] * A[k][j];
        }
    for (int i = 0; i < NODES; i++)
        for (int j = 0; j < NODES; j++) {
            out[i * NODES + j] = B[i][j];
            for (int k = 0; k < NODES; k++)
                out[i * NODES + j] += B[i][k] * A[k][j];
        }
}

static void candidates_have_the_most_walks(void **state) {
    scratch *s = *state;
    static double weight[NODES * NODES];
    mo_graph *g = draw_graph(s->ctx, sizes, 0, 9);
    mo_candidates c;
    walk_weights(g, weight);
    assert_true(mo_candidates_find(g, 6, NULL, 0, &c));
    for (int64_t u = 0; u < NODES; u++) {
        double least = INFINITY;
        for (int i = 0; i < c.n[u]; i++)
            least = fmin(least, weight[u * NODES + c.node[u * 6 + i]]);
        for (int64_t v = 0; v < NODES; v++) {
            bool held = mo_candidates_hold(&c, u, v);
            if (v == u || mo_graph_has_edge(g, u, v) || weight[u * NODES + v] == 0)
                assert_false(held);
            else if (!held)
                assert_true(c.n[u] == 6 && weight[u * NODES + v] <= least + 1e-12);
        }
    }
    mo_candidates_release(&c);
    mo_graph_release(g);
}

/* Of rows in clusters of 20, the share of the true nearest that is found. */
static void near_rows_are_found(void **state) {
    scratch *s = *state;
    static float x[ROWS * WIDTH];
    static mo_ranked list[ROWS * NEAR];
    static int32_t count[ROWS];
    mo_random r = mo_random_at(3, MO_PURPOSE_CHECK, 1);
    for (int i = 0; i < ROWS - 1; i++) {
        float *row = x + i * WIDTH, *centre = x + (i - i % 20) * WIDTH;
        double squares = 0;
        for (int j = 0; j < WIDTH; j++) {
            row[j] = i % 20 ? centre[j] + 0.03f * (float)mo_random_normal(&r) : (float)mo_random_normal(&r);
            squares += row[j] * row[j];
        }
        for (int j = 0; j < WIDTH; j++)
            row[j] /= (float)sqrt(squares);
    }
    mo_graph *g = mo_graph_from_edges(s->ctx, "rows", ROWS, 1, (int64_t[]){0}, (int64_t[]){1});
    assert_true(mo_near_rows(g, x, WIDTH, NEAR, list, count));
    assert_int_equal(count[ROWS - 1], 0); /* a row of zeros is near to none */
    int64_t missed = 0, wanted = 0;
    for (int i = 0; i < ROWS - 1; i += 37, wanted += NEAR) {
        double least = INFINITY;
        assert_int_equal(count[i], NEAR);
        for (int e = 0; e < NEAR; e++) {
            assert_false(list[i * NEAR + e].node == i || (i < 2 && list[i * NEAR + e].node < 2)); /* linked */
            least = fmin(least, list[i * NEAR + e].weight);
        }
        int64_t nearer = 0;
        for (int j = 0; j < ROWS; j++) {
            double inner = 0;
            for (int k = 0; k < WIDTH; k++)
                inner += (double)x[i * WIDTH + k] * x[j * WIDTH + k];
            nearer += j != i && !(i < 2 && j < 2) && inner > least + 1e-6;
        }
        missed += nearer < NEAR ? 0 : nearer - NEAR + 1;
    }
    print_message("missed %lld of %lld\n", (long long)missed, (long long)wanted);
    assert_true(missed < wanted / 10);
    mo_graph_release(g);
}

static void bad_requests_are_refused(void **state) {
    scratch *s = *state;
    int64_t to[NODES];
    double score[NODES];
    mo_graph *g = draw_graph(s->ctx, sizes, 0, 9);
    assert_int_equal(top_links(NULL, NULL, 1, 0, to, score), MO_INVALID);
    top_links(g, NULL, 0, 0, to, score);
    assert_failed(s->ctx, MO_INVALID, PARTS("links: the best 0 of 0 candidates, expected 1 or more"));
    top_links(g, NULL, 1, 0, NULL, score);
    assert_failed(s->ctx, MO_INVALID, PARTS("links", "to"));
    top_links(g, &(mo_few_shot_options){.memory = 1 << 20}, 1, 0, to, score);
    assert_failed(s->ctx, MO_MEMORY, PARTS("links: 'drawn' needs", "the limit of memory is 1048576"));
    top_links(g, &(mo_few_shot_options){.memory = 1 << 18}, 1, 0, to, score); /* before anything is computed */
    assert_failed(s->ctx, MO_MEMORY, PARTS("links: 'drawn' needs 645120 bytes; the limit of memory is 262144"));
    mo_graph_release(g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_are_the_best_of_all_pairs),
        cmocka_unit_test(threads_change_no_bit),
        cmocka_unit_test(a_node_without_candidates_has_an_empty_list),
        cmocka_unit_test(candidates_have_the_most_walks),
        cmocka_unit_test(near_rows_are_found),
        cmocka_unit_test(bad_requests_are_refused),
    };
    return cmocka_run_group_tests(tests, scratch_create, scratch_release);
}
