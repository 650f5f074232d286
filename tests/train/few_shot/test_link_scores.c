/* tests/train/few_shot/test_link_scores.c - scores of missing links: links that were removed are found again, a score
 * depends neither on threads nor, beyond rounding, on the other pairs, and invalid pairs are refused. */
#include "tests/scratch.h"
#include "tests/worst_of.h"
#include "train/few_shot/few_shot.h"

enum { ASKED = 200 };

TEST_OF(what_is_no_missing_link_is_refused, scratch *s) {
    double score[2];
    HELD(mo_graph) *g = mo_graph_open(s->ctx, "cora");
    int64_t v = g->column[g->row_pointer[3]];
    assert_int_equal(mo_few_shot_links(NULL, NULL, &v, &v, 1, score), MO_INVALID);
    mo_few_shot_links(g, NULL, (int64_t[]){3}, &v, 1, score);
    assert_failed(s->ctx, MO_INVALID, PARTS("links: pair 0: nodes 3 and", "are linked already"));
    mo_few_shot_links(g, NULL, (int64_t[]){3}, (int64_t[]){3}, 1, score);
    assert_failed(s->ctx, MO_INVALID, PARTS("nodes 3 and 3 are the same"));
    mo_few_shot_links(g, NULL, (int64_t[]){3}, (int64_t[]){2708}, 1, score);
    assert_failed(s->ctx, MO_INVALID, PARTS("links: pair 0 is 3, 2708, expected nodes 0 to 2707"));
    mo_graph_release(g);
    g = mo_graph_from_edges(s->ctx, "short", 3, 1, (int64_t[]){0}, (int64_t[]){1});
    mo_few_shot_links(g, NULL, (int64_t[]){0}, (int64_t[]){2}, 1, score);
    assert_failed(s->ctx, MO_INVALID, PARTS("links: short has 1 edges in 1 graphs, expected 2 or more in one"));
}

enum { MANY = 2500 };

/* Scores pairs that are not linked, in a context that may hold `memory` bytes (0: any number). Returns the status. */
static mo_code score_many(int64_t memory, int threads, double score[MANY], char message[1024]) {
    HELD(mo_context) *ctx = mo_context_create(&(mo_context_options){.threads = threads, .memory = memory});
    HELD(mo_graph) *g = mo_graph_open(ctx, "cora");
    static int64_t u[MANY], v[MANY];
    for (int64_t i = 0, n = 0; n < MANY; i++) {
        u[n] = i % g->nodes;
        v[n] = (i * 7 + 11) % g->nodes;
        n += u[n] != v[n] && !mo_graph_has_edge(g, u[n], v[n]);
    }
    mo_code code = mo_few_shot_links(g, NULL, u, v, MANY, score);
    snprintf(message, 1024, "%s", mo_context_status(ctx)->message);
    return code;
}

TEST(a_limit_of_memory_makes_smaller_parts) {
    static double whole[MANY], parts[MANY], again[MANY];
    char message[1024];
    assert_int_equal(score_many(0, 2, whole, message), MO_OK);
    assert_int_equal(score_many(300 << 20, 1, parts, message), MO_OK);
    assert_int_equal(score_many(300 << 20, 3, again, message), MO_OK);
    assert_memory_equal(parts, again, sizeof parts);
    for (int i = 0; i < MANY; i++)
        assert_true(fabs(whole[i] - parts[i]) < 1e-3);
    assert_int_equal(score_many(20 << 20, 1, parts, message), MO_MEMORY);
    assert_non_null(strstr(message, "M held, 20.0M allowed: raise --memory "));
}
