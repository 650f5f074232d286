/* tests/train/test_pool_episodes.c - the rows of an episode if examples are drawn repeatedly. */
#include "tests/planted.h"

static const int64_t *ints(const mo_tensor *T) {
    return mo_tensor_view(T).data;
}

static int64_t distinct_ids(const mo_plan *plan) {
    int64_t id[4096], n = 0;
    for (int side = 0; side < 2 && plan->support[side]; side++) {
        for (int64_t i = 0; i < plan->n_support; i++)
            id[n++] = plan->support[side][i];
        for (int64_t i = 0; i < plan->n_query; i++)
            id[n++] = plan->query[side][i];
    }
    return mo_sort_distinct(id, n);
}

/* Whether support rows i and j are the same example; for links, the same pair. */
static bool same_example(const mo_plan *plan, int64_t i, int64_t j) {
    return plan->support[0][i] == plan->support[0][j] &&
           (!plan->support[1] || plan->support[1][i] == plan->support[1][j]);
}

/* An example has one row, however often it is drawn; test_evaluate.c shows that the rows are the example's. */
TEST_OF(an_example_that_repeats_has_one_row_and_its_weight_at_the_first, scratch *s) {
    HELD(mo_pool) *pool = planted_pool(s->ctx);
    HELD(mo_tape) *t = mo_tape_create(s->ctx, MO_RECORD);
    mo_plan_options plans = planted_plans(4);
    int repeated = 0, distinct = 0;
    for (int i = 0; i < mo_pool_size(pool); i++)
        for (uint64_t number = 0; number < 6; number++) {
            const mo_source *source = mo_pool_source(pool, i);
            HELD(mo_plan) plan = {0};
            mo_episode e;
            mo_tape_reset(t);
            plans.k_min = plans.k_max = number % 2 ? 4 : 600; /* fewer labels than a class has, or more */
            mo_plan_draw(source->graph, source->links, source->task, number, &plans, NULL, 0, &plan);
            assert_int_equal(mo_episode_build(t, source, &plan, &e), MO_OK);
            if (source->task != MO_TASK_GC)
                assert_int_equal(mo_dim(mo_episode_rows(t, &e, "hops"), 1), distinct_ids(&plan));
            assert_int_equal(e.support_weight == NULL, number % 2);
            repeated += e.support_weight != NULL;
            distinct += e.support_weight == NULL;
            for (int64_t j = 0; e.support_weight && j < plan.n_support; j++) {
                int64_t before = 0, all = 0;
                for (int64_t k = 0; k < plan.n_support; k++) {
                    before += k < j && same_example(&plan, j, k);
                    all += same_example(&plan, j, k);
                }
                assert_int_equal(ints(e.support_weight)[j], before ? 0 : all);
            }
        }
    assert_true(repeated == 9 && distinct == 9);
}
