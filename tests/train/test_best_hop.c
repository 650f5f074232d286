/* tests/train/test_best_hop.c - the best hop of a pool is the hop whose rows separate the classes; without labels there
 * is none. */
#include "tests/planted.h"
#include "train/evaluation/evaluation.h"

static const fixtures around_all = {scratch_create, planted_release};

/* Writes each node's label into one hop, and 0 into all others. */
static void plant_hop(const mo_source *source, int informative) {
    mo_tensor *hops = mo_arrays_find(source->features->arrays, "hops");
    float *x = mo_tensor_view(hops).data;
    mo_random r = mo_random_at(1, MO_PURPOSE_CHECK, 7);
    for (int64_t i = 0; i < mo_numel(hops); i++) {
        int64_t hop = i / (source->graph->nodes * PLANTED_DIM), node = i / PLANTED_DIM % source->graph->nodes;
        bool says = hop == informative && i % PLANTED_DIM == source->graph->label[node];
        x[i] = (float)(mo_random_normal(&r) + (says ? 5 : 0));
    }
}

TEST(best_hop_is_the_one_that_tells_the_classes) {
    scratch *s = *state;
    HELD(mo_pool) *pool = planted_pool(s->ctx);
    for (int hop = 0; hop <= PLANTED_HOPS; hop++) {
        plant_hop(planted_source(pool, MO_TASK_NC), hop);
        assert_int_equal(mo_best_hop(s->ctx, pool, MO_TASK_NC, &mo_head_ridge, 1, 3), hop);
    }
    mo_pool_release(pool);
    mo_feature_options features = planted_features();
    pool = mo_pool_create(s->ctx, &features, 0.2, NULL, NULL);
    mo_pool_add(pool, planted_graph(s->ctx, "unlabelled", 60, 1, 0.2, 0, 9), 0);
    assert_int_equal(mo_best_hop(s->ctx, pool, MO_TASK_NC, &mo_head_ridge, 1, 3), -1);
    assert_true(mo_ok(s->ctx));
}
