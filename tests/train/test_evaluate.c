/* tests/train/test_evaluate.c - evaluation on graphs with a known answer: planted classes are found, unpredictable
 * links are not, and encoding all rows once gives the same result as encoding each episode's. */
#include "tests/largest_difference.h"
#include "tests/planted.h"
#include "tests/train/eval_table.h"
#include "train/evaluation/evaluation.h"

static const int64_t shots[] = {4, 16};

static mo_eval_options usual_options(mo_protocol protocol) {
    return (mo_eval_options){
        .protocol = protocol, .n_shots = 2, .shots = shots, .episodes = 20, .seeds = 3, .seed = 5, .max_rows = 64};
}

static mo_candidate hop_candidate(const char *features, int hop) {
    return (mo_candidate){.features = features, .hop = hop, .head = &mo_head_ridge, .lambda = 1};
}

static void evaluate(
    mo_context *ctx, const mo_source *s, const mo_candidate *c, int n, const mo_eval_options *o, table *t) {
    *t = (table){0};
    mo_evaluate(ctx, s, c, n, o, keep_row, t);
    expect_ok(ctx);
}

TEST_OF(planted_classes_are_found_by_both_protocols, scratch *s) {
    HELD(mo_pool) *pool = planted_pool(s->ctx);
    HELD(mo_model) *model = planted_model(s->ctx, 1);
    mo_candidate c[] = {hop_candidate("hop", 2), {.features = "random", .model = model, .head = &mo_head_ridge}};
    table t;
    for (int protocol = 0; protocol < 2; protocol++)
        for (int task = 0; task < MO_TASKS; task += 2) { /* tasks nc and gc */
            mo_eval_options o = usual_options((mo_protocol)protocol);
            evaluate(s->ctx, planted_source(pool, (mo_task)task), c, 2, &o, &t);
            assert_int_equal(t.n, 4);
            assert_true(mean_of(&t, "hop", 16, "accuracy") > 85); /* chance is 33% and 50% */
            assert_int_equal(t.row[0].n, protocol == MO_PROTOCOL_SPLIT ? 3 : 20);
            assert_string_equal(t.row[0].task, task == MO_TASK_NC ? "nc" : "gc");
            assert_string_equal(t.row[0].head, "ridge");
        }
}

/* If all probabilities are class frequencies, nll is log 3 and ece 0; on planted classes the readout does better. */
TEST_OF(probabilities_have_figures, scratch *s) {
    HELD(mo_pool) *pool = planted_pool(s->ctx);
    mo_candidate c[] = {hop_candidate("hop", 2), hop_candidate("flat", 2)};
    mo_eval_options o = usual_options(MO_PROTOCOL_EPISODE);
    table t;
    c[0].head = &mo_head_logistic;
    c[0].lambda = 0.01;
    c[1].lambda = 1e12; /* so large that all logits are 0 */
    o.calibration = true;
    evaluate(s->ctx, planted_source(pool, MO_TASK_NC), c, 2, &o, &t);
    assert_int_equal(t.n, 2 * 2 * MO_CLASS_METRICS);
    assert_true(fabs(mean_of(&t, "flat", 16, "nll") - 100 * log(3)) < 0.1);
    assert_true(mean_of(&t, "hop", 16, "nll") < 60);
    assert_true(mean_of(&t, "hop", 16, "ece") > 0 && mean_of(&t, "hop", 16, "ece") < 20);
    assert_true(mean_of(&t, "hop", 16, "accuracy") > 85);
    assert_null(mo_class_metric_name(MO_CLASS_METRICS));
}

/* 10 nodes per class, of which 64 are asked for, and links unrelated to classes: readouts that leave out rows one by
 * one must see that nothing is learned. Tested with rows embedded once, embedded for each episode, and refitted on all
 * nodes. */
TEST_OF(copies_are_no_evidence, scratch *s) {
    mo_feature_options examples = planted_features(), nodes = planted_features();
    examples.form = MO_ROWS_PER_EXAMPLE;
    examples.dim = nodes.dim = 64;
    HELD(mo_model) *model = mo_invariant_create(s->ctx, MO_F32, NULL);
    const mo_candidate c[] = {{.features = "x0", .hop = 0, .head = &mo_head_mixture, .lambda = 10},
        {.features = "model", .model = model}, {.features = "model+T", .model = model, .transductive = true}};
    for (int of_examples = 0; of_examples < 2; of_examples++) {
        HELD(mo_pool) *pool = mo_pool_create(s->ctx, of_examples ? &examples : &nodes, 0.2, NULL, NULL);
        mo_pool_add(pool, planted_graph(s->ctx, "noise", 30, 3, 0.3, 0.3, 3), 1u << MO_TASK_NC);
        mo_eval_options o = usual_options(MO_PROTOCOL_EPISODE);
        table t;
        o.n_shots = 1;
        o.shots = (const int64_t[]){64};
        o.calibration = true;
        evaluate(s->ctx, mo_pool_source(pool, 0), of_examples ? c + 1 : c, of_examples ? 2 : 1, &o, &t);
        for (int i = 0; i < t.n; i++) /* memorised copies would give 2322, 823 and 807 */
            assert_true(strcmp(t.row[i].metric, "nll") != 0 || t.row[i].mean < 220);
    }
}

TEST_OF(candidates_are_compared_on_the_same_plans, scratch *s) {
    HELD(mo_pool) *pool = planted_pool(s->ctx);
    mo_candidate c[] = {hop_candidate("x0", 1), hop_candidate("hop", 1)};
    table t;
    for (int task = 0; task < MO_TASKS; task++) {
        mo_eval_options o = usual_options(MO_PROTOCOL_EPISODE);
        evaluate(s->ctx, planted_source(pool, (mo_task)task), c, 2, &o, &t);
        for (int i = 0; i < t.n; i++)
            assert_true(t.row[i].mean == mean_of(&t, "hop", t.row[i].k, t.row[i].metric));
    }
}

/* Returns the share of right queries if the episode's own rows are encoded. */
static double direct_accuracy(mo_tape *t, mo_model *model, const mo_source *source, const mo_plan *plan) {
    mo_episode e;
    mo_tape_reset(t);
    mo_episode_build(t, source, plan, &e);
    double wrong = mo_item(mo_count_wrong(t, mo_model_logits(t, model, &e, NULL), e.query_label));
    return 100.0 * ((double)plan->n_query - wrong) / (double)plan->n_query;
}

TEST_OF(encoding_once_gives_what_encoding_each_episode_gives, scratch *s) {
    HELD(mo_pool) *pool = planted_pool(s->ctx);
    HELD(mo_model) *model = planted_model(s->ctx, 1);
    HELD(mo_tape) *t = mo_tape_create(s->ctx, MO_EVAL);
    mo_candidate c = {.features = "random", .model = model, .head = &mo_head_ridge};
    mo_plan_options plans = planted_plans(8);
    for (int task = 0; task < MO_TASKS; task++) {
        const mo_source *source = planted_source(pool, (mo_task)task);
        HELD(mo_tensor) *rows = mo_embed_all(model, source, 0);
        for (uint64_t number = 0; number < 20; number++) {
            HELD(mo_plan) plan = {0};
            mo_plan_draw(source->graph, source->links, source->task, number, &plans, &plan);
            mo_tape_reset(t);
            double once = mo_plan_accuracy(t, mo_candidate_logits(t, source, &c, rows, &plan, 0, NULL), &plan);
            assert_true(once == direct_accuracy(t, model, source, &plan));
        }
    }
}

/* For rows of nodes, the hop of a graph is the mean over its nodes, not the sum. */
TEST_OF(the_hop_of_a_graph_is_its_nodes_mean, scratch *s) {
    HELD(mo_pool) *pool = planted_pool(s->ctx);
    const mo_source *source = planted_source(pool, MO_TASK_GC);
    HELD(mo_tape) *t = mo_tape_create(s->ctx, MO_EVAL);
    mo_tensor *hops = mo_cast(t, mo_arrays_find(source->features->arrays, "hops"), MO_F64);
    mo_tensor *offset = mo_from(t, MO_I64, 1, (int64_t[]){source->graph->graphs + 1}, source->graph->graph_offset);
    for (int hop = 0; hop <= PLANTED_HOPS; hop++) {
        HELD(mo_tensor) *Z = mo_embed_hop(source, hop);
        mo_tensor *X = mo_slice(t, hops, MO_AXIS(0), hop, hop + 1);
        X = mo_segment_mean(t, mo_reshape(t, X, 2, (int64_t[]){-1, PLANTED_DIM}), offset);
        assert_true(largest_difference(mo_cast(t, Z, MO_F64), X) < 1e-5);
    }
}

/* ---- links ---- */

/* The sizes of a division of links. */
typedef struct shares {
    int64_t test[2], problems;
} shares;

static void count_test_pairs(const mo_source *source, const mo_plan *plan, int64_t k, int64_t repeat, void *state) {
    shares *of = state;
    of->test[0] = of->test[1] = 0;
    for (int64_t i = 0; i < plan->n_query; i++)
        of->test[plan->query_label[i] == 0]++;
    of->problems++;
}

/* The article's division: a fifth of the edges is the test set, and the support comes from a tenth of the others. */
TEST_OF(planted_links_are_found_in_a_fifth_of_the_edges, scratch *s) {
    mo_feature_options features = planted_features();
    HELD(mo_pool) *pool = mo_pool_create(s->ctx, &features, MO_EVAL_LINK_SHARE, NULL, NULL);
    mo_pool_add(pool, planted_graph(s->ctx, "blocks", 300, 6, 0.3, 0.005, 2), 1u << MO_TASK_LP);
    const mo_source *source = mo_pool_source(pool, 0);
    double edges = (double)source->graph->nnz / 2;
    shares of = {0};
    mo_eval_options o = usual_options(MO_PROTOCOL_SPLIT);
    mo_candidate c[] = {hop_candidate("hop", 1), {.features = "dot", .hop = 1, .head = &mo_head_ridge, .dot = true}};
    table t;
    o.shots = (const int64_t[]){8, 64};
    o.on_plan = count_test_pairs;
    o.state = &of;
    evaluate(s->ctx, source, c, 2, &o, &t);
    assert_int_equal(t.n, 3 * MO_LINK_METRICS); /* inner products have no k */
    assert_true(mean_of(&t, "hop", 64, "auc") > 90);
    assert_true(mean_of(&t, "hop", 64, "ap") > 85);
    assert_true(mean_of(&t, "dot", 0, "auc") > 85);
    for (int i = 0; i < t.n; i++)
        assert_true(t.row[i].mean >= 0 && t.row[i].mean <= 100);
    assert_int_equal(of.problems, 6);
    assert_true(fabs((double)of.test[0] - edges / 5) <= 1);
    assert_int_equal(of.test[1], of.test[0]);
    assert_int_equal(t.row[0].n_test, 2 * of.test[0]);
    assert_true(fabs((double)(source->links->n_positive - of.test[0]) - (edges - (double)of.test[0]) / 10) <= 1);
}

/* In a random graph nothing predicts an edge but the edge itself. With features that do not know held-out edges the AUC
 * is one half; with features that know them it is higher, so the test can fail. */
TEST_OF(links_that_only_masked_edges_predict_are_not_found, scratch *s) {
    mo_feature_options features = planted_features();
    features.dim = 128;
    HELD(mo_pool) *pool = mo_pool_create(s->ctx, &features, MO_EVAL_LINK_SHARE, NULL, NULL);
    mo_pool_add(pool, planted_graph(s->ctx, "random pairs", 1200, 1, 0.0125, 0, 9), 0);
    assert_true(mo_ok(s->ctx));
    mo_mochi_options model_options = mo_mochi_defaults();
    model_options.encoder.dim = 128;
    HELD(mo_model) *model = mo_mochi_create(s->ctx, MO_F32, &model_options, 1);
    mo_candidate c[] = {hop_candidate("x0", 0), hop_candidate("hop", 1),
        {.features = "random", .model = model, .head = &mo_head_ridge}};
    mo_eval_options o = usual_options(MO_PROTOCOL_SPLIT);
    o.shots = (const int64_t[]){64, 512};
    o.max_rows = 0;
    table t;
    evaluate(s->ctx, mo_pool_source(pool, 0), c, 3, &o, &t);
    for (int i = 0; i < t.n; i++)
        if (!strcmp(t.row[i].metric, "auc") && !(fabs(t.row[i].mean - 50) < 3))
            fail_msg("AUC of %s at k = %lld: %g", t.row[i].features, (long long)t.row[i].k, t.row[i].mean);
    mo_source leaky = *mo_pool_source(pool, 0);
    leaky.features = mo_task_features_open(leaky.graph, MO_TASK_NC, NULL, &features);
    evaluate(s->ctx, &leaky, c, 3, &o, &t);
    assert_true(mean_of(&t, "x0", 512, "auc") > 60);
    mo_features_release(leaky.features);
}

/* ---- the best hop ---- */

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

TEST_OF(best_hop_is_the_one_that_tells_the_classes, scratch *s) {
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

/* ---- failures ---- */

static mo_tensor *factor_minus_one(mo_tape *t, mo_tensor *Zs, mo_tensor *Ys, mo_tensor *Zq, mo_tensor *const *p) {
    mo_tensor *K = mo_matmul(t, Zs, mo_transpose(t, Zs));
    K = mo_add_diag(t, mo_scale(t, K, 0, 0), mo_scalar(t, MO_F32, -1));
    return mo_matmul(t, Zq, mo_matmul(t, mo_transpose(t, Zs), mo_solve_spd(t, K, Ys)));
}

TEST_OF(a_readout_that_fails_costs_its_own_figure_alone, scratch *s) {
    const mo_head never = {
        .abi = MO_HEAD_ABI, .size = sizeof(mo_head), .name = "never", .order = 2, .logits = factor_minus_one};
    mo_feature_options features = planted_features();
    HELD(mo_pool) *pool = mo_pool_create(s->ctx, &features, MO_EVAL_LINK_SHARE, NULL, NULL);
    mo_pool_add(pool, planted_graph(s->ctx, "blocks", 300, 6, 0.3, 0.005, 2), 0);
    mo_candidate c[] = {{.features = "bad", .hop = 1, .head = &never, .lambda = 1}, hop_candidate("hop", 1)};
    for (int i = 0; i < mo_pool_size(pool); i++) {
        const mo_source *source = mo_pool_source(pool, i);
        const char *metric = source->task == MO_TASK_LP ? "auc" : "accuracy";
        mo_eval_options o = usual_options(MO_PROTOCOL_SPLIT);
        table t;
        evaluate(s->ctx, source, c, 2, &o, &t);
        assert_true(isnan(mean_of(&t, "bad", 4, metric)) && mean_of(&t, "hop", 4, metric) > 50);
    }
}

TEST_OF(impossible_requests_are_refused, scratch *s) {
    HELD(mo_pool) *pool = planted_pool(s->ctx);
    const mo_source *source = planted_source(pool, MO_TASK_NC);
    mo_eval_options o = usual_options(MO_PROTOCOL_SPLIT);
    mo_candidate c = hop_candidate("hop", 9), empty = {.features = "hop"};
    table t = {0};
    mo_evaluate(s->ctx, source, &c, 1, &o, keep_row, &t);
    assert_failed(s->ctx, MO_INVALID, PARTS("hop 9", "planted", "0 to 3"));
    mo_evaluate(s->ctx, source, &empty, 1, &o, keep_row, &t);
    assert_failed(s->ctx, MO_INVALID, PARTS("neither a model nor a head"));
    o.seeds = 0;
    c.hop = 0;
    mo_evaluate(s->ctx, source, &c, 1, &o, keep_row, &t);
    assert_failed(s->ctx, MO_INVALID, PARTS("seeds is 0"));
    o.seeds = 1;
    o.shots = (const int64_t[]){4, 0};
    mo_evaluate(s->ctx, source, &c, 1, &o, keep_row, &t);
    assert_failed(s->ctx, MO_INVALID, PARTS("k is 0"));
    assert_int_equal(t.n, 0);
}
