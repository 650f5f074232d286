/* tests/train/test_pool.c - pools: their sources, and from which task families their episodes are. */
#include "tests/planted.h"

/* tests/cli/train.cases has wrong tasks after a name. */
TEST_OF(wrong_graphs_and_shares_are_named, scratch *s) {
    mo_graph *bare = mo_graph_from_edges(s->ctx, "bare", 3, 0, NULL, NULL);
    mo_feature_options features = planted_features();
    mo_pool *pool = mo_pool_create(s->ctx, &features, 0.2, NULL, NULL);
    mo_pool_add(pool, bare, 1u << MO_TASK_LP); /* the pool releases the graph in any case */
    assert_failed(s->ctx, MO_INVALID,
        PARTS("pool: bare cannot serve lp: expected a single graph with edges, found 1 graphs, 0 edges and 0 classes"));
    mo_pool_release(pool);
    assert_null(mo_pool_open(s->ctx, NULL, 0, &features, 0.2, NULL, NULL));
    assert_failed(s->ctx, MO_INVALID, PARTS("pool", "found none"));
    assert_null(mo_pool_open(s->ctx, (const char *[]){"mutag"}, 1, &features, 1.5, NULL, NULL));
    assert_failed(s->ctx, MO_INVALID, PARTS("pool", "1.5"));
}

TEST_OF(graph_named_twice_is_kept_once, scratch *s) {
    mo_feature_options features = planted_features();
    HELD(mo_pool) *pool = mo_pool_create(s->ctx, &features, 0.2, NULL, NULL);
    for (int i = 0; i < 2; i++)
        mo_pool_add(
            pool, planted_graph(s->ctx, "planted", 60, 2, 0.3, 0.1, 1), i ? 1u << MO_TASK_LP : 1u << MO_TASK_NC);
    assert_true(mo_ok(s->ctx));
    assert_int_equal(mo_pool_size(pool), 2);
    assert_ptr_equal(mo_pool_source(pool, 0)->graph, mo_pool_source(pool, 1)->graph);
    mo_pool_add(pool, planted_graph(s->ctx, "planted", 60, 2, 0.3, 0.1, 1), 1u << MO_TASK_LP);
    assert_failed(s->ctx, MO_INVALID, PARTS("planted", "lp already"));
    assert_int_equal(mo_pool_size(pool), 2);
}

/* ---- which episodes ---- */

static mo_task draw_task(mo_pool *pool, mo_tape *t, uint64_t number, mo_family_order order) {
    mo_plan_options plans = planted_plans(1);
    const mo_source *source;
    mo_episode e;
    mo_tape_reset(t);
    assert_int_equal(mo_pool_draw(pool, t, number, order, &plans, &e, &source), MO_OK);
    assert_int_equal(e.task, source->task);
    return source->task;
}

TEST_OF(families_are_drawn_by_their_weights, scratch *s) {
    HELD(mo_pool) *pool = planted_pool(s->ctx);
    HELD(mo_tape) *t = mo_tape_create(s->ctx, MO_RECORD);
    int count[MO_TASKS] = {0};
    mo_pool_set_families(pool, (double[]){[MO_TASK_NC] = 0, [MO_TASK_LP] = 3, [MO_TASK_GC] = 1});
    for (uint64_t number = 0; number < 600; number++)
        count[draw_task(pool, t, number, MO_FAMILY_DRAWN)]++;
    assert_int_equal(count[MO_TASK_NC], 0);
    assert_in_range(count[MO_TASK_LP], 450 - 43, 450 + 43); /* within four standard deviations of a binomial */
    for (uint64_t number = 0; number < 6; number++)         /* with several episodes per step, families with a weight
                                                             * take turns */
        assert_int_equal(draw_task(pool, t, number, MO_FAMILY_IN_TURN), number % 2 ? MO_TASK_GC : MO_TASK_LP);
}

TEST_OF(a_graph_may_have_its_own_share_of_links, scratch *s) {
    mo_feature_options features = planted_features();
    const char *names[] = {"cora:lp@0.05"};
    HELD(mo_pool) *pool = mo_pool_open(s->ctx, names, 1, &features, 0.2, NULL, NULL);
    assert_int_equal(mo_pool_source(pool, 0)->links->n_positive, 264); /* of 5278 */
}

TEST_OF(family_and_shots_are_independent, scratch *s) {
    HELD(mo_pool) *pool = planted_pool(s->ctx);
    HELD(mo_tape) *t = mo_tape_create(s->ctx, MO_RECORD);
    mo_plan_options plans = planted_plans(1);
    int low[MO_TASKS] = {0}, drawn[MO_TASKS] = {0};
    for (uint64_t number = 0; number < 900; number++) {
        mo_episode e;
        mo_tape_reset(t);
        mo_pool_draw(pool, t, number, MO_FAMILY_DRAWN, &plans, &e, NULL);
        drawn[e.task]++;
        low[e.task] += mo_numel(e.support_label) / e.classes == plans.k_min;
    }
    assert_true(mo_ok(s->ctx));
    for (int task = 0; task < MO_TASKS; task++) { /* a third, within four standard deviations */
        double share = (double)low[task] / drawn[task], sd = sqrt(2.0 / 9 / drawn[task]);
        assert_true(fabs(share - 1.0 / 3) < 4 * sd);
        assert_in_range(drawn[task], 300 - 57, 300 + 57); /* families are drawn equally often */
    }
}

TEST_OF(a_pool_for_a_model_has_the_rows_it_reads, scratch *s) {
    mo_model *models[] = {planted_model(s->ctx, 1), mo_invariant_create(s->ctx, MO_F32, NULL)};
    for (int i = 0; i < 2; i++) {
        HELD(mo_pool) *pool = mo_pool_for(s->ctx, models[i], (const char *[]){"mutag"}, 1);
        HELD(mo_tape) *t = mo_tape_create(s->ctx, MO_EVAL);
        mo_plan_options plans = planted_plans(1);
        mo_episode e;
        assert_int_equal(mo_pool_draw(pool, t, 0, MO_FAMILY_DRAWN, &plans, &e, NULL), MO_OK);
        assert_true(mo_item(mo_model_loss(t, models[i], &e, NULL, NULL)) > 0);
        mo_model_release(models[i]);
    }
}

TEST_OF(a_pool_for_a_model_may_start_empty, scratch *s) {
    HELD(mo_model) *model = planted_model(s->ctx, 1);
    HELD(mo_pool) *pool = mo_pool_for(s->ctx, model, NULL, 0);
    mo_graph *path = mo_graph_from_edges(s->ctx, "path", 4, 3, (int64_t[]){0, 1, 2}, (int64_t[]){1, 2, 3});
    assert_int_equal(mo_pool_add(pool, path, 1u << MO_TASK_LP), MO_OK);
    assert_int_equal(mo_pool_size(pool), 1);
    assert_null(mo_pool_for(s->ctx, NULL, NULL, 0));
    assert_failed(s->ctx, MO_INVALID, PARTS("the model is NULL"));
}

/* ---- rows of an episode ---- */

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
            mo_plan_draw(source->graph, source->links, source->task, number, &plans, &plan);
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
                assert_int_equal(((int64_t *)mo_tensor_view(e.support_weight).data)[j], before ? 0 : all);
            }
        }
    assert_true(repeated == 9 && distinct == 9);
}
