/* tests/train/test_mixture_readout.c - the readout of nodes and graphs in the recipe best: it gives weight to the
 * expert that knows the classes, in every way to ask for its logits. */
#include "tests/planted.h"
#include "train/episodes/episode_kernels.h"
#include "train/episodes/episode_rows.h"
#include "train/evaluation/evaluation.h"
#include "train/features/example_kernels.h"
#include "train/few_shot/few_shot.h"

enum { CLASSES = 3, COLUMNS = 12, SHOTS = 8, QUERIES = 20, WIDTH = 64 };

/* Makes nodes of three classes, which their attributes separate. Links join any two nodes, or only nodes of one class
 * if `inside`. */
static mo_graph *graph_with_links(mo_context *ctx, int64_t nodes, bool inside) {
    mo_graph *graph = mo_graph_new(ctx, "attributes", "attributes");
    mo_edges edges = {0};
    mo_random r = mo_random_at(5, MO_PURPOSE_CHECK, 1);
    int64_t *label = test_memory((size_t)nodes * sizeof *label);
    float *x = test_memory((size_t)(nodes * COLUMNS) * sizeof *x);
    for (int64_t i = 0; i < nodes; i++) {
        label[i] = i % CLASSES;
        for (int64_t c = 0; c < COLUMNS; c++)
            x[i * COLUMNS + c] = (float)(0.3 * mo_random_normal(&r) + (c == label[i]));
        for (int64_t j = 0; j < 6; j++)
            mo_edges_add(ctx, &edges, i,
                inside ? mo_random_below(&r, nodes / CLASSES) * CLASSES + label[i] : mo_random_below(&r, nodes));
    }
    mo_graph_set_edges(graph, nodes, &edges);
    mo_graph_set_features(graph, x, COLUMNS, NULL);
    mo_graph_set_classes(graph, label, nodes);
    graph = mo_graph_finish(graph);
    assert_non_null(graph);
    return graph;
}

/* Draws random trees whose nodes have two attributes: equal in graphs of class 0, opposite in class 1, unrelated in
 * class 2. */
static mo_graph *set_of_attributes(mo_context *ctx, int64_t graphs) {
    enum { SIZE = 30, PAIR = 2 };
    mo_graph *set = mo_graph_new(ctx, "pairs", "pairs");
    mo_edges edges = {0};
    mo_random r = mo_random_at(6, MO_PURPOSE_CHECK, 1);
    int64_t *label = test_memory((size_t)graphs * sizeof *label);
    float(*x)[PAIR] = test_memory((size_t)(graphs * SIZE) * sizeof *x);
    set->graphs = graphs;
    set->graph_offset = calloc((size_t)graphs + 1, sizeof *set->graph_offset);
    for (int64_t g = 0; g < graphs; g++) {
        int64_t first = SIZE * g;
        set->graph_offset[g + 1] = first + SIZE;
        label[g] = g % CLASSES;
        for (int64_t i = first; i < first + SIZE; i++) {
            x[i][0] = (float)mo_random_normal(&r);
            x[i][1] = label[g] == 0 ? x[i][0] : label[g] == 1 ? -x[i][0] : (float)mo_random_normal(&r);
            if (i > first)
                mo_edges_add(ctx, &edges, i, first + mo_random_below(&r, i - first));
        }
    }
    mo_graph_set_edges(set, SIZE * graphs, &edges);
    mo_graph_set_features(set, x[0], PAIR, NULL);
    mo_graph_set_classes(set, label, graphs);
    set = mo_graph_finish(set);
    assert_non_null(set);
    return set;
}

/* A graph or set with features and kernels, and an untrained model of best, which sees each attribute only by its mean
 * and deviation over a graph. */
typedef struct fixture {
    mo_pool *pool;
    mo_source source;
    mo_model *model;
} fixture;

/* Gives the waves of a set, which tell how attributes vary together, a name that no encoder reads. */
static void hide_waves(const mo_arrays *arrays) {
    for (int i = 0; i < arrays->count; i++)
        if (!strcmp(arrays->items[i].name, "waves"))
            arrays->items[i].name[0] = 'W';
}

static fixture open_fixture(mo_context *ctx, mo_graph *graph) {
    mo_feature_options o = planted_features();
    o.form = MO_ROWS_PER_EXAMPLE;
    o.dim = WIDTH;
    fixture f = {.pool = mo_pool_create(ctx, &o, 0.2, NULL, NULL)};
    mo_pool_add(f.pool, graph, 1u << (graph->graphs > 1 ? MO_TASK_GC : MO_TASK_NC));
    f.source = *mo_pool_source(f.pool, 0);
    f.source.kernels = mo_example_kernels_create(&f.source);
    hide_waves(f.source.features->arrays);
    f.model = mo_invariant_create(ctx, MO_F32, NULL);
    assert_true(mo_ok(ctx));
    return f;
}

static void held_fixture(fixture *f) {
    mo_example_kernels_release(f->source.kernels);
    mo_model_release(f->model);
    mo_pool_release(f->pool);
}

static mo_plan draw_plan(const fixture *f, int64_t k, uint64_t number) {
    mo_plan plan = {0};
    mo_plan_options o = {.k_min = k, .k_max = k, .q_min = QUERIES, .q_max = QUERIES, .max_classes = CLASSES, .seed = 3};
    assert_int_equal(mo_plan_draw(f->source.graph, NULL, f->source.task, number, &o, &plan), MO_OK);
    return plan;
}

/* Returns the mean accuracy of ten episodes; `share` receives the sums of the experts' shares. */
static double accuracy_of(mo_tape *t, const fixture *f, const mo_source *source, double share[MO_MAX_EXPERTS]) {
    mo_candidate c = {.features = "model", .model = f->model};
    double sum = 0;
    for (uint64_t i = 0; i < 10; i++) {
        HELD(mo_plan) plan = draw_plan(f, SHOTS, i);
        mo_expert_share of[MO_MAX_EXPERTS];
        mo_tensor *shares;
        mo_tape_reset(t);
        sum += mo_plan_accuracy(t, mo_candidate_logits(t, source, &c, NULL, &plan, 0, &shares), &plan) / 10;
        int n = mo_shares_of(t, source, shares, of);
        for (int e = 0; e < n; e++)
            share[e] += of[e].share / 10;
    }
    return sum;
}

/* The experts' shares, and the gain in accuracy over the model's own experts. */
typedef struct heard {
    double share[MO_MAX_EXPERTS], alone[MO_MAX_EXPERTS], accuracy, gain;
} heard;

static heard listen(scratch *s, const fixture *f) {
    HELD(mo_tape) *t = mo_tape_create(s->ctx, MO_EVAL);
    heard h = {{0}};
    double all = 0;
    mo_source without = f->source;
    without.kernels = NULL;
    h.accuracy = accuracy_of(t, f, &f->source, h.share);
    h.gain = h.accuracy - accuracy_of(t, f, &without, h.alone);
    for (int e = 0; e < mo_expert_count(&f->source); e++)
        all += h.share[e];
    assert_true(fabs(all - 1) < 1e-5);
    return h;
}

TEST_OF(attributes_are_heard_where_links_say_nothing, scratch *s) {
    HELD(fixture) f = open_fixture(s->ctx, graph_with_links(s->ctx, 300, false));
    heard h = listen(s, &f);
    assert_true(h.accuracy > 90 && h.gain > 5);
    assert_true(fabs(h.alone[0] - 1) < 1e-5 && h.alone[1] == 0);
    assert_string_equal(mo_example_kernels_name(f.source.kernels, 0), "Xc");
    assert_true(h.share[1] > 0.3);
}

/* The relation between two attributes is visible to the expert of attributes, but not in these embeddings. */
TEST_OF(node_attributes_of_graphs_are_heard, scratch *s) {
    HELD(fixture) f = open_fixture(s->ctx, set_of_attributes(s->ctx, 150));
    heard h = listen(s, &f);
    double at = 0;
    assert_true(h.gain > 15);
    assert_true(fabs(h.alone[0] + h.alone[1] - 1) < 1e-5 && h.alone[1] > 0 && h.alone[2] == 0);
    for (int e = 0; e < mo_expert_count(&f.source); e++)
        at += !strncmp(mo_expert_name(&f.source, e), "at", 2) ? h.share[e] : 0;
    assert_true(at > 0.5);
    assert_string_equal(mo_expert_name(&f.source, 0), "T");
    assert_string_equal(mo_expert_name(&f.source, 1), "Tg");
}

static mo_few_shot few_shot_of(const fixture *f, mo_tape *t) {
    return (mo_few_shot){.ctx = mo_tape_context(t),
        .source = f->source,
        .candidate = {.model = f->model},
        .temperature = 1,
        .t = t,
        .max_rows = 128};
}

/* Asks for the queries in blocks, with one fit of k labels per class: the logits are an episode's, whose accuracy is at
 * least `least` %. words: part of what is said about the experts. */
static void expect_logits_of_an_episode(
    scratch *s, mo_graph *graph, int64_t k, double least, double tolerance, const char *words) {
    HELD(fixture) f = open_fixture(s->ctx, graph);
    HELD(mo_tape) *t = mo_tape_create(s->ctx, MO_EVAL), *u = mo_tape_create(s->ctx, MO_EVAL);
    HELD(mo_plan) plan = draw_plan(&f, k, 0);
    mo_few_shot few = few_shot_of(&f, t);
    mo_few_shot_support support = {plan.support[0], plan.support_label, plan.n_support, plan.classes};
    enum { ASKED = MO_FEW_SHOT_ROWS + 500, CELLS = CLASSES * QUERIES * CLASSES };
    HELD_MEMORY int64_t *asked = calloc(ASKED, sizeof *asked);
    HELD_MEMORY double *logits = calloc((size_t)ASKED * CLASSES, sizeof *logits);
    double expected[CELLS];
    for (int64_t i = 0; i < ASKED; i++)
        asked[i] = plan.query[0][i % plan.n_query];
    assert_int_equal(mo_few_shot_read(&few, &support, asked, ASKED, logits), MO_OK);
    mo_tensor *Y = mo_candidate_logits(u, &f.source, &few.candidate, NULL, &plan, 0, NULL);
    assert_true(mo_plan_accuracy(u, Y, &plan) >= least);
    assert_int_equal(mo_tensor_read(mo_cast(u, Y, MO_F64), expected, sizeof expected), MO_OK);
    for (int64_t i = 0; i < (int64_t)ASKED * CLASSES; i++)
        assert_true(fabs(logits[i] - expected[i % CELLS]) < tolerance * (1 + fabs(expected[i % CELLS])));
    mo_expert_share share[MO_MAX_EXPERTS];
    char text[256];
    assert_int_equal(mo_few_shot_experts(&few, share), mo_expert_count(&f.source));
    mo_describe_shares(share, few.n_experts, text, sizeof text);
    assert_non_null(strstr(text, words));
}

TEST_OF(blocks_of_queries_have_the_logits_of_an_episode, scratch *s) {
    expect_logits_of_an_episode(s, graph_with_links(s->ctx, 300, false), SHOTS, 0, 1e-3, "own attributes ");
    expect_logits_of_an_episode(s, set_of_attributes(s->ctx, 150), SHOTS, 0, 1e-3, "node attributes ");
}

/* Held-out logits, computed from one fit of all labels, equal those of a fit without the rows. */
TEST_OF(a_fit_without_some_rows_is_read_from_that_of_all, scratch *s) {
    for (int i = 0; i < 2; i++) {
        HELD(fixture) f =
            open_fixture(s->ctx, i ? set_of_attributes(s->ctx, 150) : graph_with_links(s->ctx, 300, true));
        HELD(mo_tape) *t = mo_tape_create(s->ctx, MO_EVAL);
        HELD(mo_plan) plan = draw_plan(&f, SHOTS, 0);
        mo_few_shot few = few_shot_of(&f, t);
        enum { HELD = 3, REST = CLASSES * SHOTS - HELD };
        int64_t at[HELD] = {0, SHOTS, 2 * SHOTS + 3}, id[HELD], rest[REST], label[REST], n = 0;
        double read[HELD * CLASSES], fitted[HELD * CLASSES], hop[HELD * CLASSES];
        for (int64_t j = 0, held = 0; j < plan.n_support; j++)
            if (held < HELD && at[held] == j) {
                id[held++] = plan.support[0][j];
            } else {
                label[n] = plan.support_label[j];
                rest[n++] = plan.support[0][j];
            }
        mo_few_shot_support support = {rest, label, n, CLASSES};
        few.id = plan.support[0];
        few.label = plan.support_label;
        few.n = plan.n_support;
        few.classes = CLASSES;
        assert_true(mo_few_shot_fit_whole(&few));
        assert_int_equal(mo_few_shot_without(&few, at, HELD, read, hop), MO_OK);
        assert_int_equal(mo_few_shot_read(&few, &support, id, HELD, fitted), MO_OK);
        for (int j = 0; j < HELD * CLASSES; j++)
            assert_true(fabs(read[j] - fitted[j]) < 1e-3 * (1 + fabs(fitted[j])) && isfinite(hop[j]) == (i == 0));
        mo_few_shot_forget_fit(&few);
    }
}

static void expect_what_other_experts_know(scratch *s, mo_graph *graph) {
    HELD(fixture) f = open_fixture(s->ctx, graph);
    HELD(mo_tape) *t = mo_tape_create(s->ctx, MO_EVAL);
    mo_candidate c = {.features = "model", .model = f.model, .transductive = true};
    mo_population all = mo_embed_population(f.model, &f.source, 0);
    double share[MO_MAX_EXPERTS] = {0}, plain = accuracy_of(t, &f, &f.source, share), sum = 0;
    for (uint64_t i = 0; i < 10; i++) {
        HELD(mo_plan) plan = draw_plan(&f, SHOTS, i);
        mo_tape_reset(t);
        sum += mo_plan_accuracy(t, mo_population_logits(t, &f.source, &c, &all, &plan, NULL), &plan) / 10;
    }
    assert_true(sum > plain - 5);
    mo_tensor_release(all.Z);
    mo_tensor_release(all.gram);
}

/* The transductive readout +T refits expert T only, so what other experts know is not lost. */
TEST_OF(a_transductive_readout_keeps_what_other_experts_know, scratch *s) {
    expect_what_other_experts_know(s, graph_with_links(s->ctx, 300, false));
    expect_what_other_experts_know(s, set_of_attributes(s->ctx, 150));
}

/* ---- large supports ---- */

TEST_OF(centres_are_distinct_rows_of_every_class, scratch *s) {
    enum { N = 4000 };
    static const int64_t rows[CLASSES] = {2000, 1900, 100};
    int64_t node[N], label[N], at[MO_MOST_CENTRES], n = 0, taken[CLASSES] = {0};
    for (int64_t c = 0; c < CLASSES; c++)
        for (int64_t i = 0; i < rows[c]; i++, n++) {
            label[n] = c;
            node[n] = c == 1 ? 10000 + i % 950 : n; /* class 1 has every node twice */
        }
    int64_t m = mo_choose_centres(s->ctx, node, label, N, CLASSES, at);
    assert_true(m > MO_MOST_CENTRES - CLASSES && m <= MO_MOST_CENTRES);
    for (int64_t i = 0; i < m; i++) {
        assert_true(at[i] >= 0 && at[i] < N && (!i || at[i] > at[i - 1]));
        assert_true(label[at[i]] != 1 || at[i] < 2000 + 950); /* no copy */
        taken[label[at[i]]]++;
    }
    assert_int_equal(taken[2], 100); /* all examples of class 2 */
    assert_int_equal(taken[0], taken[1]);
    assert_true(at[0] < 10 && at[taken[0] - 1] > 1990); /* spread over the whole class */
    assert_int_equal(mo_choose_centres(s->ctx, node, label, MO_MOST_CENTRES, CLASSES, at), 0);
    assert_true(mo_ok(s->ctx));
}

/* 1,400 labels and 1,024 centres: not worse than few labels, and far from chance. */
TEST_OF(many_labels_are_read_by_some_of_them, scratch *s) {
    expect_logits_of_an_episode(s, graph_with_links(s->ctx, 2100, false), 1400 / CLASSES, 85, 1e-2, "");
}
