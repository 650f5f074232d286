/* tests/train/test_pool_episodes.c - episodes of a pool have the features of their examples; features for links do not
 * know the held-out edges. */
#include "tests/planted.h"

static const int64_t *ints(const mo_tensor *T) {
    return mo_tensor_view(T).data;
}

/* Fails unless a row of the episode equals the node's features at every hop. */
static void assert_row(const mo_episode *e, int64_t row, const mo_source *source, int64_t node) {
    mo_tensor *rows = e->rows[0].tensor, *hops = mo_arrays_find(source->features->arrays, "hops");
    assert_int_equal(mo_dim(rows, 0), PLANTED_HOPS + 1);
    for (int k = 0; k <= PLANTED_HOPS; k++) {
        const float *a = (float *)mo_tensor_view(rows).data + (k * mo_dim(rows, 1) + row) * PLANTED_DIM;
        const float *b = (float *)mo_tensor_view(hops).data + (k * mo_dim(hops, 1) + node) * PLANTED_DIM;
        assert_memory_equal(a, b, PLANTED_DIM * sizeof *a);
    }
}

static void assert_rows(const mo_source *source, const mo_plan *plan, const mo_episode *e) {
    for (int side = 0; side < 2 && plan->support[side]; side++) {
        for (int64_t i = 0; i < plan->n_support; i++)
            assert_row(e, ints(e->support[side])[i], source, plan->support[side][i]);
        for (int64_t i = 0; i < plan->n_query; i++)
            assert_row(e, ints(e->query[side])[i], source, plan->query[side][i]);
    }
}

/* Fails unless the segment of each graph has the rows of the graph's nodes. */
static void assert_segments(const mo_source *source, const mo_plan *plan, const mo_episode *e) {
    const int64_t *segment = ints(e->segment), *offset = source->graph->graph_offset;
    for (int64_t i = 0; i < plan->n_support + plan->n_query; i++) {
        bool support = i < plan->n_support;
        int64_t graph = support ? plan->support[0][i] : plan->query[0][i - plan->n_support];
        int64_t at = support ? ints(e->support[0])[i] : ints(e->query[0])[i - plan->n_support];
        assert_int_equal(segment[at + 1] - segment[at], offset[graph + 1] - offset[graph]);
        for (int64_t j = segment[at]; j < segment[at + 1]; j++)
            assert_row(e, j, source, offset[graph] + j - segment[at]);
    }
    assert_int_equal(segment[mo_numel(e->segment) - 1], mo_dim(e->rows[0].tensor, 1));
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

TEST_OF(rows_are_the_features_of_the_examples_each_once, scratch *s) {
    HELD(mo_pool) *pool = planted_pool(s->ctx);
    HELD(mo_tape) *t = mo_tape_create(s->ctx, MO_RECORD);
    mo_plan_options plans = planted_plans(4);
    for (int i = 0; i < mo_pool_size(pool); i++)
        for (uint64_t number = 0; number < 10; number++) {
            const mo_source *source = mo_pool_source(pool, i);
            HELD(mo_plan) plan = {0};
            mo_episode e;
            mo_tape_reset(t);
            mo_plan_draw(source->graph, source->links, source->task, number, &plans, NULL, 0, &plan);
            assert_int_equal(mo_episode_build(t, source, &plan, &e), MO_OK);
            e.rows[0].tensor = mo_episode_rows(t, &e, "hops");
            assert_int_equal(e.classes, plan.classes);
            assert_memory_equal(ints(e.support_label), plan.support_label, (size_t)plan.n_support * sizeof(int64_t));
            assert_memory_equal(ints(e.query_label), plan.query_label, (size_t)plan.n_query * sizeof(int64_t));
            if (source->task == MO_TASK_GC)
                assert_segments(source, &plan, &e);
            else {
                assert_rows(source, &plan, &e);
                assert_int_equal(mo_dim(e.rows[0].tensor, 1), distinct_ids(&plan));
            }
        }
}

/* Whether support rows i and j are the same example; for links, the same pair. */
static bool same_example(const mo_plan *plan, int64_t i, int64_t j) {
    return plan->support[0][i] == plan->support[0][j] &&
           (!plan->support[1] || plan->support[1][i] == plan->support[1][j]);
}

TEST_OF(an_example_that_repeats_has_its_weight_at_its_first_row, scratch *s) {
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
