/* tests/train/test_example_rows.c - rows of examples: sums made for one model, counts against a dense matrix, no leak
 * of the queried links, bad input. */
#include "tensor/objects.h"
#include "tests/copies.h"
#include "tests/train/eval_table.h"
#include "train/evaluation/evaluation.h"
#include "train/features/example_kernels.h"
#include "train/features/example_rows.h"

enum { SOME = 7, MOST_KERNELS = 8 };

/* The embeddings of all nodes by a model, from every hop or from the sums that are made for this model alone, and the
 * kernels between the first nodes. disk: the folder where the rows stay, or NULL. */
static mo_tensor *embed_copies(
    mo_context *ctx, mo_model *model, bool for_model, const char *disk, float K[MOST_KERNELS * SOME * SOME]) {
    mo_feature_options o = example_features(disk);
    HELD(mo_graph) *graph = graph_of_copies(ctx);
    o.dim = 80; /* one slab of columns and a part of another */
    o.place = disk ? MO_FEATURES_ON_DISK : MO_FEATURES_AUTO;
    o.reader = for_model ? model : NULL;
    HELD(mo_features) *f = mo_task_features_open(graph, MO_TASK_NC, NULL, &o);
    expect_ok(ctx);
    assert_true(for_model == (mo_arrays_find(f->arrays, "mixed") != NULL));
    mo_source source = {.graph = graph, .task = MO_TASK_NC, .features = f};
    mo_tensor *Z = mo_embed_all(model, &source, 7);
    HELD(mo_example_kernels) *k = mo_example_kernels_create(&source);
    static const int64_t node[SOME] = {0, 1, 2, 3, 4, 5, 6};
    assert_true(mo_example_kernels_count(k) <= MOST_KERNELS);
    assert_string_equal(mo_example_kernels_name(k, mo_example_kernels_count(k) - 1), "H");
    mo_example_kernels_gram(k, node, SOME, node, SOME, K);
    expect_ok(ctx);
    return Z;
}

/* The width for a graph of which only its sizes are read. */
static int width_of(mo_context *ctx, int64_t nodes, int64_t edges, int dim, const char *folder) {
    mo_graph graph = {.ctx = ctx, .name = "large", .nodes = nodes, .nnz = 2 * edges, .graphs = 1};
    mo_feature_options o = example_features(folder);
    o.dim = dim;
    return mo_node_width(&graph, o, 6);
}

TEST_OF(a_graph_of_many_nodes_has_fewer_columns, scratch *s) {
    static const struct {
        int64_t nodes;
        int dim, width;
    } row[] = {{0, 256, 256}, {375000, 256, 256}, {400000, 256, 240}, {1000000, 256, 96}, {1000000, 80, 80},
        {1200000, 256, 80}, {3000000, 256, 64}, {3000000, 48, 48}, {3000000, 16, 16}};
    for (int i = 0; i < (int)(sizeof row / sizeof *row); i++)
        assert_int_equal(width_of(s->ctx, row[i].nodes, row[i].nodes, row[i].dim, NULL), row[i].width);
    s->ctx->memory = (int64_t)12 << 30;
    assert_int_equal(width_of(s->ctx, 300000, 3000000, 256, NULL), 256);
    assert_int_equal(width_of(s->ctx, 10000000, 100000000, 256, NULL), 32);
    s->ctx->memory = 1 << 20;
    assert_int_equal(width_of(s->ctx, 300000, 3000000, 256, NULL), 256);
    assert_int_equal(width_of(s->ctx, 1000000, 10000000, 256, scratch_folder(s, "sums")), 32);
    s->ctx->memory = 0;
    expect_ok(s->ctx);
}

TEST_OF(sums_made_for_one_model_are_its_sums_of_all_hops, scratch *s) {
    const char *folder = scratch_folder(s, "sums");
    HELD(mo_model) *model = mo_invariant_create(s->ctx, MO_F32, NULL);
    mo_random r = mo_random_at(2, MO_PURPOSE_CHECK, 2);
    for (int j = 0; j < mo_model_n_parameters(model); j++) {
        mo_tensor *p = mo_model_parameter(model, j);
        float *x = mo_tensor_view(p).data;
        for (int64_t k = 0; k < mo_numel(p); k++)
            x[k] += (float)mo_random_normal(&r);
    }
    static float K[4][MOST_KERNELS * SOME * SOME];
    HELD(mo_tensor) *all = embed_copies(s->ctx, model, false, NULL, K[0]),
                    *sums = embed_copies(s->ctx, model, true, NULL, K[1]),
                    *disk = embed_copies(s->ctx, model, true, folder, K[2]),
                    *again = embed_copies(s->ctx, model, true, folder, K[3]);
    for (int i = 0; i < MOST_KERNELS * SOME * SOME; i++)
        if (!(fabs((double)(K[0][i] - K[1][i])) < 1e-6) || K[2][i] != K[1][i] || K[3][i] != K[1][i])
            fail_msg("kernel entry %d: %g of all hops, %g of sums", i, (double)K[0][i], (double)K[1][i]);
    const float *a = mo_tensor_view(all).data, *b = mo_tensor_view(sums).data;
    assert_int_equal(mo_numel(all), mo_numel(sums));
    for (int64_t k = 0; k < mo_numel(all); k++)
        if (!(fabs((double)(a[k] - b[k])) < 1e-5))
            fail_msg("entry %lld: %g of all hops, %g of sums", (long long)k, (double)a[k], (double)b[k]);
    assert_memory_equal(b, mo_tensor_view(disk).data, (size_t)mo_numel(sums) * sizeof *b);
    assert_memory_equal(b, mo_tensor_view(again).data, (size_t)mo_numel(sums) * sizeof *b);
}

/* Computes the expected counts of a pair from a dense adjacency. */
static void dense_counts(const mo_graph *graph, int64_t u, int64_t v, double out[8]) {
    double common = 0, adamic = 0, allocation = 0, du = 0, dv = 0;
    for (int64_t w = 0; w < graph->nodes; w++) {
        bool a = mo_graph_has_edge(graph, u, w), b = mo_graph_has_edge(graph, v, w);
        double d = (double)(graph->row_pointer[w + 1] - graph->row_pointer[w]);
        du += a;
        dv += b;
        if (a && b) {
            common++;
            adamic += 1 / log(fmax(d, 2));
            allocation += 1 / d;
        }
    }
    double all[] = {log1p(adamic), log1p(10 * allocation), sqrt(allocation / sqrt(fmax(du * dv, 1))), log1p(common),
        common / fmax(du + dv - common, 1), log1p(du) + log1p(dv), fabs(log1p(du) - log1p(dv)), log1p(du) * log1p(dv)};
    memcpy(out, all, sizeof all);
}

TEST_OF(counts_of_links_are_those_of_the_masked_graph, scratch *s) {
    HELD(mo_graph) *graph = graph_of_copies(s->ctx);
    HELD(mo_links) *links = mo_links_create(graph, 0.2, 50, 3);
    mo_feature_options o = example_features(NULL);
    HELD(mo_features) *f = mo_task_features_open(graph, MO_TASK_LP, links, &o);
    assert_non_null(f);
    mo_tensor *extras = mo_arrays_find(f->arrays, "extras"), *kept = mo_arrays_find(f->arrays, "extras_moments");
    const float *x = mo_tensor_view(extras).data, *moments = mo_tensor_view(kept).data;
    int64_t p = mo_dim(extras, 1), n = mo_dim(extras, 0);
    assert_int_equal(p, 16);
    assert_int_equal(n, links->n_positive + links->n_negative);
    for (int64_t i = 0; i < n; i++) {
        bool positive = i < links->n_positive;
        int64_t at = positive ? i : i - links->n_positive;
        double expected[8];
        dense_counts(links->masked, (positive ? links->positive : links->negative)[0][at],
            (positive ? links->positive : links->negative)[1][at], expected);
        for (int c = 0; c < 8; c++)
            assert_true(fabs(x[i * p + c] * moments[p + c] + moments[c] - expected[c]) < 1e-5);
    }
}

/* Fails unless the columns of rows [outer, n, w] have, over the listed rows, mean 0 and standard deviation 1, or less
 * as epsilon is added to it. */
static void assert_standardised(const mo_arrays *arrays, const char *name, const int64_t *row, int64_t m) {
    mo_tensor *rows = mo_arrays_find(arrays, name);
    const float *x = mo_tensor_view(rows).data;
    int64_t n = mo_dim(rows, -2), w = mo_dim(rows, -1), outer = mo_numel(rows) / (n * w);
    for (int64_t o = 0; o < outer; o++)
        for (int64_t j = 0; j < w; j++) {
            double mean = 0, squares = 0;
            for (int64_t i = 0; i < m; i++)
                mean += x[(o * n + row[i]) * w + j] / (double)m;
            for (int64_t i = 0; i < m; i++)
                squares += pow(x[(o * n + row[i]) * w + j] - mean, 2);
            double sd = sqrt(squares / (double)(m - 1));
            if (fabs(mean) > 1e-4 || sd > 1.0001)
                fail_msg("%s, column %lld: mean %g, standard deviation %g", name, (long long)j, mean, sd);
        }
}

/* Computes the counts before standardisation: of the source's pairs in the graph without all of them, of the test's
 * pairs in the graph without the test links. */
static void raw_counts(const mo_source *s, const mo_link_test *test, double (*out)[8]) {
    const mo_links *links = s->links;
    int64_t n = links->n_positive + links->n_negative, *end[2];
    for (int side = 0; side < 2; side++)
        end[side] = test_memory((size_t)test->n_positive * sizeof **end);
    for (int64_t i = 0; i < n; i++) {
        bool positive = i < links->n_positive;
        int64_t *const *pair = positive ? links->positive : links->negative, at = positive ? i : i - links->n_positive;
        dense_counts(links->masked, pair[0][at], pair[1][at], out[i]);
    }
    for (int64_t i = 0; i < 2 * test->n_positive; i++)
        end[i % 2][i / 2] = links->positive[i % 2][test->positive[i / 2]];
    HELD(mo_graph) *seen = mo_graph_without(s->graph, end, test->n_positive);
    for (int64_t i = 0; i < test->n_positive; i++)
        dense_counts(seen, end[0][i], end[1][i], out[n + i]);
    for (int64_t i = 0; i < test->n_negative; i++)
        dense_counts(seen, links->negative[0][test->negative[i]], links->negative[1][test->negative[i]],
            out[n + test->n_positive + i]);
}

/* Divides the source's links: every third positive and every second negative are the test set; heads are fitted on the
 * others. */
enum { MOST_PAIRS = 600 };
static mo_link_test every_third(const mo_links *links, int64_t test[2][MOST_PAIRS], int64_t fitted[MOST_PAIRS]) {
    mo_link_test t = {.positive = test[0], .negative = test[1], .reference = fitted};
    assert_true(links->n_positive + links->n_negative < MOST_PAIRS);
    for (int64_t i = 0; i < links->n_positive; i++)
        if (i % 3)
            fitted[t.n_reference++] = i;
        else
            test[0][t.n_positive++] = i;
    for (int64_t i = 0; i < links->n_negative; i++)
        if (i % 2)
            fitted[t.n_reference++] = links->n_positive + i;
        else
            test[1][t.n_negative++] = i;
    return t;
}

TEST_OF(test_links_are_standardised_by_the_rows_that_heads_are_fitted_on, scratch *s) {
    HELD(mo_graph) *graph = planted_graph(s->ctx, "links", 120, 3, 0.2, 0.03, 5);
    HELD(mo_links) *links = mo_links_create(graph, 0.3, 150, 3);
    mo_feature_options o = example_features(NULL);
    HELD(mo_features) *own = mo_task_features_open(graph, MO_TASK_LP, links, &o);
    mo_source source = {.graph = graph, .task = MO_TASK_LP, .links = links, .features = own};
    int64_t test[2][MOST_PAIRS], fitted[MOST_PAIRS];
    const mo_link_test t = every_third(links, test, fitted);
    HELD(mo_features) *f = mo_link_test_features(&source, &t);
    expect_ok(s->ctx);
    static const char *const names[] = {"blocks", "extras", "walks", "matches"};
    for (int i = 0; i < 4; i++)
        assert_standardised(f->arrays, names[i], fitted, t.n_reference);
    double raw[2 * MOST_PAIRS][8];
    raw_counts(&source, &t, raw);
    mo_tensor *extras = mo_arrays_find(f->arrays, "extras");
    const float *x = mo_tensor_view(extras).data;
    int64_t n = links->n_positive + links->n_negative + t.n_positive + t.n_negative, p = mo_dim(extras, 1);
    assert_int_equal(mo_dim(extras, 0), n);
    for (int c = 0; c < 8; c++) {
        double mean = 0, squares = 0;
        for (int64_t i = 0; i < t.n_reference; i++)
            mean += raw[fitted[i]][c] / (double)t.n_reference;
        for (int64_t i = 0; i < t.n_reference; i++)
            squares += pow(raw[fitted[i]][c] - mean, 2);
        double sd = sqrt(squares / (double)(t.n_reference - 1)) + MO_EXTRAS_EPSILON;
        for (int64_t i = 0; i < n; i++)
            assert_float_equal(x[i * p + c], (raw[i][c] - mean) / sd, 1e-4);
    }
}

/* A head that records the mean of the support's rows [n_s, 1]; its logits are 0. */
static double support_mean;
static mo_tensor *logits_of_spy(mo_tape *t, mo_tensor *Zs, mo_tensor *Ys, mo_tensor *Zq, mo_tensor *const *parameters) {
    support_mean = mo_item(mo_mean(t, Zs, MO_ALL, MO_DROP_AXES));
    return mo_scale(t, mo_matmul(t, Zq, mo_matmul(t, mo_transpose(t, Zs), Ys)), 0, 0);
}

/* If k is the number of all links outside the test set, rows are standardised over exactly the support. */
TEST_OF(an_evaluation_standardises_links_by_its_support, scratch *s) {
    const mo_head spy = {
        .abi = MO_HEAD_ABI, .size = sizeof(mo_head), .name = "spy", .order = 2, .logits = logits_of_spy};
    mo_feature_options o = example_features(NULL);
    HELD(mo_pool) *pool = mo_pool_create(s->ctx, &o, MO_EVAL_LINK_SHARE, NULL, NULL);
    mo_pool_add(pool, planted_graph(s->ctx, "links", 200, 2, 0.15, 0.02, 4), 1u << MO_TASK_LP);
    const mo_source *source = mo_pool_source(pool, 0);
    mo_candidate c = {.features = "x0", .head = &spy};
    double n = (double)source->links->n_positive;
    table t = {0};
    mo_eval_options eval = {.n_shots = 1, .shots = (const int64_t[]){(int64_t)(n - round(5 * n / 7))}, .seeds = 1};
    assert_int_equal(source->links->n_negative, source->links->n_positive);
    assert_int_equal(mo_evaluate(s->ctx, source, &c, 1, &eval, keep_row, &t), MO_OK);
    assert_float_equal(support_mean, 0, 1e-4);
}

/* The untrained encoder on links of a random graph, which nothing but the links themselves predicts; test_evaluate.c
 * shows that rows which know the links find them. */
TEST_OF(links_that_nothing_predicts_are_not_predicted, scratch *s) {
    mo_feature_options o = example_features(NULL);
    HELD(mo_pool) *pool = mo_pool_create(s->ctx, &o, MO_EVAL_LINK_SHARE, NULL, NULL);
    mo_pool_add(pool, planted_graph(s->ctx, "noise", 300, 1, 0.08, 0.08, 4), 1u << MO_TASK_LP);
    HELD(mo_model) *model = mo_invariant_create(s->ctx, MO_F32, NULL);
    mo_candidate c = {.features = "random", .model = model, .head = &mo_head_ridge};
    mo_eval_options eval = {.n_shots = 1, .shots = (const int64_t[]){200}, .seeds = 3, .seed = 1};
    table t = {0};
    assert_int_equal(mo_evaluate(s->ctx, mo_pool_source(pool, 0), &c, 1, &eval, keep_row, &t), MO_OK);
    assert_true(fabs(mean_of(&t, "random", 200, "auc") - 50) < 6);
}

/* Ridge, as a head that keeps all logits that it gives. */
static struct {
    int64_t n;
    float value[1 << 14];
} kept;

static mo_tensor *kept_logits(mo_tape *t, mo_tensor *Zs, mo_tensor *Ys, mo_tensor *Zq, mo_tensor *const *parameters) {
    mo_tensor *L = mo_head_apply(t, &mo_head_ridge, Zs, Ys, Zq, parameters);
    assert_true(mo_ok(mo_tape_context(t)) && kept.n + mo_numel(L) <= (int64_t)(sizeof kept.value / sizeof *kept.value));
    memcpy(kept.value + kept.n, mo_tensor_view(L).data, (size_t)mo_numel(L) * sizeof *kept.value);
    kept.n += mo_numel(L);
    return L;
}

/* Blocks bound the memory of an episode of example rows; logits stay the same. They are compared, and not the figures:
 * among a thousand links some logits are almost equal, and one that passes another by rounding moves a figure of ranks.
 * The products of a block sum in another order: 1e-4 is 100 roundings of float32 at the largest logit. */
TEST_OF(an_evaluation_encodes_in_blocks, scratch *s) {
    mo_feature_options o = example_features(NULL);
    HELD(mo_pool) *pool = mo_pool_create(s->ctx, &o, MO_EVAL_LINK_SHARE, NULL, NULL);
    mo_pool_add(pool, planted_graph(s->ctx, "planted", 400, 2, 0.08, 0.01, 4), 1u << MO_TASK_NC | 1u << MO_TASK_LP);
    const mo_head ridge = {.abi = MO_HEAD_ABI,
        .size = sizeof ridge,
        .name = "ridge",
        .n_parameters = 1,
        .parameters = mo_head_ridge.parameters,
        .logits = kept_logits,
        .order = 2};
    HELD(mo_model) *model =
        mo_model_under_head(mo_invariant_create(s->ctx, MO_F32, NULL), &(mo_readout_options){.head = &ridge}, 1);
    mo_candidate c = {.features = "random", .model = model, .head = &ridge};
    for (int task = 0; task < 2; task++) {
        table t = {0};
        int64_t peak[2], n = 0;
        float *whole = NULL;
        for (int i = 0; i < 2; i++) {
            mo_eval_options eval = {.protocol = MO_PROTOCOL_SPLIT,
                .n_shots = 1,
                .shots = (const int64_t[]){100},
                .seeds = 2,
                .max_rows = i ? 16 : 0};
            mo_context_reset_peaks(s->ctx);
            kept.n = 0;
            assert_int_equal(mo_evaluate(s->ctx, mo_pool_source(pool, task), &c, 1, &eval, keep_row, &t), MO_OK);
            peak[i] = mo_context_counters(s->ctx).tape_peak;
            if (i == 0) {
                n = kept.n;
                whole = test_memory((size_t)n * sizeof *whole);
                memcpy(whole, kept.value, (size_t)n * sizeof *whole);
            }
        }
        assert_true(n > 0 && kept.n == n && peak[1] < peak[0]);
        double largest = 0;
        for (int64_t k = 0; k < n; k++)
            largest = fmax(largest, fabs((double)whole[k]));
        for (int64_t k = 0; k < n; k++)
            if (!(fabs((double)(whole[k] - kept.value[k])) < 1e-4 * largest))
                fail_msg("task %d, logit %lld: %g at once, %g in blocks", task, (long long)k, (double)whole[k],
                    (double)kept.value[k]);
    }
}

TEST_OF(bad_features_are_named, scratch *s) {
    mo_feature_options o = example_features(NULL);
    HELD(mo_graph) *graph = graph_of_copies(s->ctx);
    assert_null(mo_task_features_open(graph, MO_TASK_LP, NULL, &o));
    assert_failed(s->ctx, MO_INVALID, PARTS("copies:lp", "needs held-out links"));
    o.hops = 40;
    assert_null(mo_task_features_open(graph, MO_TASK_NC, NULL, &o));
    assert_failed(s->ctx, MO_INVALID, PARTS("40 hops"));
    o.hops = 3;
    graph->feature_value[7] = NAN;
    assert_null(mo_task_features_open(graph, MO_TASK_NC, NULL, &o));
    assert_failed(s->ctx, MO_NUMERICAL, PARTS("copies", "of node 7", "finite"));
}
