/* tests/train/few_shot/test_few_shot.c - predicting from few labels: the readout equals that of an evaluation, the
 * estimate comes from labels that were left out, and equal calls give equal bits. */
#include "tests/labelled_graph.h"
#include "tests/planted.h"
#include "tests/worst_of.h"
#include "train/evaluation/evaluation.h"
#include "train/few_shot/few_shot.h"

enum { PER_CLASS = 4, CORA_CLASSES = 7, SUPPORT = PER_CLASS * CORA_CLASSES };

/* The first PER_CLASS nodes of each class. */
static void first_labels(const mo_graph *graph, int64_t id[SUPPORT], int64_t label[SUPPORT]) {
    int64_t n = 0;
    for (int64_t c = 0; c < graph->classes; c++)
        for (int64_t i = 0, taken = 0; i < graph->n_labels && taken < PER_CLASS; i++)
            if (graph->label[i] == c) {
                id[n] = i;
                label[n++] = c;
                taken++;
            }
    assert_int_equal(n, SUPPORT);
}

TEST_OF(a_graph_takes_many_sets_of_labels, scratch *s) {
    HELD(mo_graph) *set = mo_graph_open(s->ctx, "mutag");
    HELD(mo_few_shot) *f = mo_few_shot_open(set, MO_TASK_GC, &(mo_few_shot_options){.head = &mo_head_logistic});
    int64_t id[4] = {0, 0, 0, 0}, label[4] = {0, 0, 1, 1}, n[2] = {0, 0}, asked[] = {50, 51};
    for (int64_t g = 0; g < 50; g++)
        if (set->label[g] >= 0 && n[set->label[g]] < 2)
            id[2 * set->label[g] + n[set->label[g]]++] = g;
    double first[4], again[4], other[4];
    assert_int_equal(mo_few_shot_fit(f, id, label, 4), MO_OK);
    assert_int_equal(mo_few_shot_logits(f, asked, 2, first), MO_OK);
    assert_int_equal(mo_few_shot_fit(f, id, (int64_t[]){1, 0, 0, 1}, 4), MO_OK);
    assert_int_equal(mo_few_shot_logits(f, asked, 2, other), MO_OK);
    assert_int_equal(mo_few_shot_fit(f, id, label, 4), MO_OK);
    assert_int_equal(mo_few_shot_logits(f, asked, 2, again), MO_OK);
    assert_memory_equal(first, again, sizeof first);
    assert_memory_not_equal(first, other, sizeof first);
    /* With one label per class none can be left out. */
    assert_int_equal(mo_few_shot_fit(f, (int64_t[]){id[0], id[2]}, (int64_t[]){0, 1}, 2), MO_OK);
    mo_few_shot_estimate e = mo_few_shot_expect(f);
    assert_true(isnan(e.accuracy) && e.temperature == 1);
    assert_int_equal(e.small_classes, 2);
    assert_int_equal(e.held_out, 0);
    assert_int_equal(mo_few_shot_logits(f, asked, 2, first), MO_OK);
}

TEST_OF(bad_labels_are_refused_by_number, scratch *s) {
    HELD(mo_graph) *graph = mo_graph_open(s->ctx, "cora");
    assert_null(mo_few_shot_open(graph, MO_TASK_GC, NULL));
    assert_failed(s->ctx, MO_INVALID, PARTS("cora is a single graph, expected labels of nodes"));
    assert_null(mo_few_shot_open(graph, MO_TASK_LP, NULL));
    assert_failed(s->ctx, MO_UNSUPPORTED, PARTS("found links"));
    assert_null(mo_few_shot_open(graph, MO_TASK_NC, &(mo_few_shot_options){.weights = "/nowhere"}));
    assert_failed(s->ctx, MO_IO, PARTS("/nowhere"));
    HELD(mo_few_shot) *f = mo_few_shot_open(graph, MO_TASK_NC, NULL);
    double logits[4];
    mo_few_shot_logits(f, (int64_t[]){0}, 1, logits);
    assert_failed(s->ctx, MO_STATE, PARTS("expected labels"));
    mo_few_shot_fit(f, (int64_t[]){1, 2708}, (int64_t[]){0, 1}, 2);
    assert_failed(s->ctx, MO_INVALID, PARTS("example 1 is 2708, expected 0 to 2707"));
    mo_few_shot_fit(f, (int64_t[]){1, 2}, (int64_t[]){0, -1}, 2);
    assert_failed(s->ctx, MO_INVALID, PARTS("label of example 2 is -1"));
    mo_few_shot_fit(f, (int64_t[]){1, 1}, (int64_t[]){0, 1}, 2);
    assert_failed(s->ctx, MO_INVALID, PARTS("example 1 is labelled twice"));
    mo_few_shot_fit(f, (int64_t[]){0, 1}, (int64_t[]){0, 1}, -1);
    assert_failed(s->ctx, MO_INVALID, PARTS("few-shot: -1 labelled examples, expected 2 or more"));
    mo_few_shot_fit(f, (int64_t[]){1, 2}, (int64_t[]){0, 0}, 2);
    assert_failed(s->ctx, MO_INVALID, PARTS("expected labels of two classes or more, found one"));
    mo_few_shot_fit(f, (int64_t[]){1, 2, 3}, (int64_t[]){0, 2, 2}, 3);
    assert_failed(s->ctx, MO_INVALID, PARTS("expected a label of each class 0 to 2, found 2 classes"));
    mo_few_shot_fit(f, (int64_t[]){1, 2}, (int64_t[]){0, 1}, 2);
    mo_few_shot_logits(f, (int64_t[]){-1}, 1, logits);
    assert_failed(s->ctx, MO_INVALID, PARTS("few-shot: example 0 is -1, expected 0 to 2707"));
    double probabilities[28];
    mo_few_shot_probabilities(f, (int64_t[]){0, 1, 2, 2708}, 4, probabilities); /* the probabilities of node 2708, which
                                                                                 * does not exist */
    assert_failed(s->ctx, MO_INVALID, PARTS("few-shot: example 3 is 2708, expected 0 to 2707"));
}

/* By definition a column of the plane is the centred rows times an eigenvector: Z Z^T maps it to its squared length
 * times itself. The first column is the longer one. */
TEST_OF(options_out_of_range_are_refused, scratch *s) {
    static const struct {
        mo_few_shot_options options;
        const char *told;
    } wrong[] = {
        {{.transductive = (mo_transductive)9}, "few-shot: transductive is 9, expected a value of mo_transductive"},
        {{.transductive = (mo_transductive)-1}, "few-shot: transductive is -1"},
        {{.n_experts = -3}, "few-shot: -3 experts"},
        {{.n_experts = 1}, "few-shot: 1 experts in a NULL list"},
    };
    HELD(mo_graph) *graph = mo_graph_open(s->ctx, "cora");
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_null(mo_few_shot_open(graph, MO_TASK_NC, &wrong[i].options));
        assert_failed(s->ctx, MO_INVALID, PARTS(wrong[i].told));
        mo_few_shot_links(graph, &wrong[i].options, (int64_t[]){0}, (int64_t[]){1}, 1, (double[1]){0});
        assert_failed(s->ctx, MO_INVALID, PARTS(wrong[i].told));
    }
}

/* Rows [ROWS, 3] of two classes, in turn. */
enum { ROWS = 40 };
static mo_tensor *rows_of_two_classes(mo_context *ctx, mo_dtype real) {
    double x[ROWS * 3];
    mo_random random = mo_random_at(1, MO_PURPOSE_INIT, 0);
    for (int i = 0; i < ROWS * 3; i++)
        x[i] = mo_random_normal(&random) + (i / 3 % 2 ? 4 : 0);
    HELD(mo_tape) *t = mo_tape_create(ctx, MO_EVAL);
    mo_tensor *Z = mo_tensor_create(ctx, real, 2, (int64_t[]){ROWS, 3});
    mo_tensor_copy(Z, mo_cast(t, mo_from(t, MO_F64, 2, (int64_t[]){ROWS, 3}, x), real));
    return Z;
}

TEST_OF(rows_from_elsewhere_are_read_as_they_are, scratch *s) {
    for (int wide = 0; wide < 2; wide++) {
        HELD(mo_tensor) *Z = rows_of_two_classes(s->ctx, wide ? MO_F64 : MO_F32);
        const mo_few_shot_options o = {.rows = Z, .lambda = 2};
        HELD(mo_few_shot) *f = mo_few_shot_open(NULL, MO_TASK_NC, &o);
        int64_t all[ROWS], next[3];
        double logits[ROWS * 2], expected[ROWS * 2];
        for (int i = 0; i < ROWS; i++)
            all[i] = i;
        assert_int_equal(mo_few_shot_fit(f, all, (int64_t[]){0, 1, 0, 1}, 4), MO_OK);
        assert_int_equal(mo_few_shot_logits(f, all, ROWS, logits), MO_OK);
        HELD(mo_tape) *t = mo_tape_create(s->ctx, MO_EVAL);
        mo_tensor *Zs = mo_gather_rows(t, Z, mo_from(t, MO_I64, 1, (int64_t[]){4}, (int64_t[]){0, 2, 1, 3}));
        mo_tensor *Ys =
            mo_one_hot(t, mo_from(t, MO_I64, 1, (int64_t[]){4}, (int64_t[]){0, 0, 1, 1}), 2, mo_tensor_dtype(Z));
        mo_tensor *lambda = mo_scalar(t, mo_tensor_dtype(Z), 2);
        mo_tensor *Y = mo_cast(t, mo_head_apply(t, &mo_head_ridge, Zs, Ys, Z, &lambda), MO_F64);
        assert_int_equal(mo_tensor_read(Y, expected, sizeof expected), MO_OK);
        assert_memory_equal(logits, expected, sizeof logits);
        assert_int_equal(mo_few_shot_suggest(f, all, 4, 3, next), MO_OK);
    }
}

/* Rows [3 MOST_LABELS, 3] of three overlapping classes, sorted by class. */
enum { MOST_LABELS = 9, CLASSES = 3 };
static mo_tensor *rows_that_overlap(mo_context *ctx) {
    float x[CLASSES * MOST_LABELS * 3];
    mo_random random = mo_random_at(3, MO_PURPOSE_INIT, 0);
    for (int i = 0; i < CLASSES * MOST_LABELS * 3; i++)
        x[i] = (float)(mo_random_normal(&random) + (i / (3 * MOST_LABELS) == i % 3 ? 1.2 : 0));
    return mo_tensor_create_from(ctx, MO_F32, 2, (int64_t[]){CLASSES * MOST_LABELS, 3}, x);
}

/* Returns the share of left-out rows that a ridge on the other rows gets right, with k labels per class. For each j it
 * leaves out rows j .. j + left - 1 of every class, counted modulo k. */
static double share_without(mo_context *ctx, mo_tensor *Z, int64_t k, int64_t left) {
    HELD(mo_tape) *t = mo_tape_create(ctx, MO_EVAL);
    int64_t right = 0, n = CLASSES * (k - left), m = CLASSES * left;
    mo_tensor *lambda = mo_scalar(t, MO_F32, 2);
    for (int64_t j = 0; j < k; j++) {
        int64_t fit[CLASSES * MOST_LABELS], label[CLASSES * MOST_LABELS], held[CLASSES * MOST_LABELS], a = 0, b = 0;
        for (int64_t i = 0; i < CLASSES * k; i++) {
            int64_t row = i / k * MOST_LABELS + i % k;
            if ((i % k - j + k) % k < left) {
                held[b++] = row;
            } else {
                label[a] = i / k;
                fit[a++] = row;
            }
        }
        assert_true(a == n && b == m);
        mo_tensor *Zs = mo_gather_rows(t, Z, mo_from(t, MO_I64, 1, &n, fit)),
                  *Zq = mo_gather_rows(t, Z, mo_from(t, MO_I64, 1, &m, held)),
                  *Ys = mo_one_hot(t, mo_from(t, MO_I64, 1, &n, label), CLASSES, MO_F32);
        const float *y = mo_tensor_view(mo_head_apply(t, &mo_head_ridge, Zs, Ys, Zq, &lambda)).data;
        for (int64_t i = 0; i < m; i++) {
            int64_t best = 0;
            for (int64_t c = 1; c < CLASSES; c++)
                best = y[i * CLASSES + c] > y[i * CLASSES + best] ? c : best;
            right += best == held[i] / MOST_LABELS;
        }
    }
    assert_true(mo_ok(ctx));
    return (double)right / (double)(k * m);
}

/* Checks an end of Wilson's interval: a share from which the estimate is 1.96 standard deviations away. */
static void assert_wilson(double estimate, double end, double trials) {
    double z = (estimate - end) / sqrt(end * (1 - end) / trials);
    if (fabs(fabs(z) - 1.959964) > 1e-4)
        fail_msg("%g is %g standard deviations of %g trials from %g", end, z, trials, estimate);
}

/* With 3 to 8 labels per class, error = a + b / k is fitted to the errors at k - 1 and k - 2, and gives the error at k.
 * 1.6 left-out examples count as one trial. */
TEST_OF(the_estimate_is_carried_on_to_all_labels, scratch *s) {
    HELD(mo_tensor) *Z = rows_that_overlap(s->ctx);
    HELD(mo_few_shot) *f = mo_few_shot_open(NULL, MO_TASK_NC, &(mo_few_shot_options){.rows = Z, .lambda = 2});
    double most = 0;
    for (int64_t k = 2; k <= MOST_LABELS; k++) {
        int64_t id[CLASSES * MOST_LABELS], label[CLASSES * MOST_LABELS];
        for (int64_t i = 0; i < CLASSES * k; i++) {
            id[i] = i / k * MOST_LABELS + i % k;
            label[i] = i / k;
        }
        double expected = share_without(s->ctx, Z, k, 1);
        if (k >= 3 && k <= 8) {
            double one = 1 - expected, two = 1 - share_without(s->ctx, Z, k, 2);
            double b = (two - one) / (1. / (double)(k - 2) - 1. / (double)(k - 1)), a = one - b / (double)(k - 1);
            most = worst_of(most, fabs(two - one));
            expected = 1 - (a + b / (double)k);
        }
        assert_int_equal(mo_few_shot_fit(f, id, label, CLASSES * k), MO_OK);
        mo_few_shot_estimate e = mo_few_shot_expect(f);
        assert_int_equal(e.held_out, CLASSES * k);
        assert_float_equal(e.accuracy, expected, 1e-12);
        assert_true(e.low < e.accuracy && e.accuracy < e.high);
        assert_wilson(e.accuracy, e.low, (double)e.held_out / 1.6);
        assert_wilson(e.accuracy, e.high, (double)e.held_out / 1.6);
    }
    assert_true(most > 0.05); /* the errors at k - 1 and k - 2 differ enough for the test to fail */
}

/* Returns rows at the angles 0, 1, .. 39 times pi / 40: the label nearest by cosine is the nearest by angle. */
static mo_tensor *rows_on_a_circle(mo_context *ctx) {
    float x[ROWS * 2];
    for (int i = 0; i < ROWS; i++) {
        x[2 * i] = (float)(7 * cos(M_PI * i / ROWS)); /* the length must not matter */
        x[2 * i + 1] = (float)(7 * sin(M_PI * i / ROWS));
    }
    return mo_tensor_create_from(ctx, MO_F32, 2, (int64_t[]){ROWS, 2}, x);
}

TEST_OF(labels_that_leave_a_side_out_are_told, scratch *s) {
    HELD(mo_tensor) *Z = rows_on_a_circle(s->ctx);
    HELD(mo_few_shot) *f = mo_few_shot_open(NULL, MO_TASK_NC, &(mo_few_shot_options){.rows = Z});
    mo_few_shot_cover cover;
    int64_t near[10], label[10], others[30];
    mo_few_shot_cover_of(f, others, 0, &cover);
    assert_failed(s->ctx, MO_STATE, PARTS("expected labels"));
    for (int i = 0; i < 10; i++) {
        near[i] = 2 * i; /* each other row up to 20 has a label beside it */
        label[i] = i % 2;
    }
    for (int i = 0; i < 30; i++)
        others[i] = i < 10 ? 2 * i + 1 : 10 + i; /* rows 1, 3, .. 19 and 20, .. 39; row 20 is as near to a label as
                                                  * those before */
    assert_int_equal(mo_few_shot_fit(f, near, label, 10), MO_OK);
    assert_int_equal(mo_few_shot_cover_of(f, others, 30, &cover), MO_OK);
    assert_int_equal(cover.labelled, 10);
    assert_int_equal(cover.others, 30);
    assert_true(cover.far >= 19.0 / 30 && cover.far <= 20.0 / 30);
    assert_true(cover.expected == 1.0 / 11 && cover.most < 0.3);
    assert_int_equal(mo_few_shot_cover_of(f, others, 10, &cover), MO_OK);
    assert_true(cover.far == 0);
    assert_int_equal(mo_few_shot_cover_of(f, others, 0, &cover), MO_OK);
    assert_true(cover.labelled == 0 && isnan(cover.far));
    mo_few_shot_cover_of(f, (int64_t[]){40}, 1, &cover);
    assert_failed(s->ctx, MO_INVALID, PARTS("example 0 is 40, expected 0 to 39"));
}

TEST_OF(rows_that_cannot_be_read_are_refused, scratch *s) {
    HELD(mo_graph) *graph = mo_graph_open(s->ctx, "cora");
    HELD(mo_tensor) *Z = rows_of_two_classes(s->ctx, MO_F32),
                    *ids = mo_tensor_create(s->ctx, MO_I64, 2, (int64_t[]){2, 2});
    HELD(mo_tensor) *holed = mo_tensor_create_from(s->ctx, MO_F32, 2, (int64_t[]){2, 2}, (float[]){1, 2, 3, NAN});
    assert_null(mo_few_shot_open(graph, MO_TASK_NC, &(mo_few_shot_options){.rows = Z}));
    assert_failed(s->ctx, MO_INVALID, PARTS("expected rows [examples, d]", "found float32 [40, 3]"));
    assert_null(mo_few_shot_open(NULL, MO_TASK_NC, &(mo_few_shot_options){.rows = ids}));
    assert_failed(s->ctx, MO_INVALID, PARTS("expected rows [n, d] of float32 or float64", "int64"));
    assert_null(mo_few_shot_open(NULL, MO_TASK_NC, &(mo_few_shot_options){.rows = holed}));
    assert_failed(s->ctx, MO_NUMERICAL, PARTS("found nan in row 1, column 1"));
    assert_null(mo_few_shot_open(NULL, MO_TASK_GC, &(mo_few_shot_options){.rows = Z}));
    assert_failed(s->ctx, MO_INVALID, PARTS("rows without a graph"));
    assert_null(mo_few_shot_open(NULL, MO_TASK_NC, &(mo_few_shot_options){.rows = Z, .weights = "best"}));
    assert_failed(s->ctx, MO_INVALID, PARTS("rows are embeddings already"));
    assert_null(mo_few_shot_open(NULL, MO_TASK_NC, &(mo_few_shot_options){.rows = Z, .lambda = -1}));
    assert_failed(s->ctx, MO_INVALID, PARTS("few-shot: lambda is -1"));
    assert_null(
        mo_few_shot_open(NULL, MO_TASK_NC, &(mo_few_shot_options){.rows = Z, .lambda = 3, .head = &mo_head_lda}));
    assert_failed(s->ctx, MO_INVALID, PARTS("few-shot: ", "the readout lda has none"));
    mo_few_shot_links(graph, &(mo_few_shot_options){.rows = Z}, (int64_t[]){0}, (int64_t[]){1}, 1, &(double){0});
    assert_failed(s->ctx, MO_UNSUPPORTED, PARTS("expected weights, found rows"));
}

/* Returns the share of Cora's nodes that a readout of these labels predicts right. */
static double share_right(mo_few_shot *f, const mo_graph *graph, const int64_t *id, const int64_t *label, int64_t n) {
    size_t nodes = (size_t)graph->n_labels;
    int64_t *all = test_memory(nodes * sizeof *all);
    double *p = test_memory(nodes * CORA_CLASSES * sizeof *p);
    for (size_t i = 0; i < nodes; i++)
        all[i] = (int64_t)i;
    assert_int_equal(mo_few_shot_fit(f, id, label, n), MO_OK);
    assert_int_equal(mo_few_shot_probabilities(f, all, (int64_t)nodes, p), MO_OK);
    mo_calibration c = {0};
    mo_calibration_add(&c, p, graph->label, (int64_t)nodes, CORA_CLASSES, 1); /* the largest of p is that of a logit */
    return (double)c.right / (double)nodes;
}

/* Some classes have one label, others six: a ridge without class weights gives most nodes to the classes with six, and
 * gets 47% right; with class weights 57%. */
TEST_OF(classes_with_more_labels_do_not_take_the_others, mo_context *ctx) {
    enum { DRAWS = 4, MANY = 6 };
    HELD(mo_graph) *graph = mo_graph_open(ctx, "cora");
    HELD(mo_few_shot) *f = mo_few_shot_open(graph, MO_TASK_NC, NULL);
    double sum = 0;
    for (int draw = 0; draw < DRAWS; draw++) {
        int64_t id[MANY * CORA_CLASSES], label[MANY * CORA_CLASSES], n = 0, wanted[CORA_CLASSES];
        for (int c = 0; c < CORA_CLASSES; c++)
            wanted[c] = (c + draw) % 2 ? MANY : 1;
        for (int64_t i = 0; i < graph->n_labels; i++) {
            int64_t node = (i + draw * 500) % graph->n_labels, c = graph->label[node];
            if (wanted[c] == 0)
                continue;
            wanted[c]--;
            id[n] = node;
            label[n++] = c;
        }
        sum += share_right(f, graph, id, label, n);
    }
    assert_true(sum / DRAWS > 0.53);
}

/* One label of each class cannot be held out: attributes say whether neighbours are alike, as Cora's are; a graph
 * without attributes is not refitted. */
TEST_OF(one_label_of_each_class_leaves_the_choice_to_the_attributes, mo_context *ctx) {
    HELD(mo_graph) *graph = mo_graph_open(ctx, "cora"), *bare = labelled_graph(ctx, (int64_t[]){6, 6}, 2);
    int64_t id[SUPPORT], label[SUPPORT], one[CORA_CLASSES], class[CORA_CLASSES];
    first_labels(graph, id, label);
    for (int c = 0; c < CORA_CLASSES; c++) {
        one[c] = id[c * PER_CLASS];
        class[c] = c;
    }
    mo_few_shot_options o = {.transductive = MO_TRANSDUCTIVE_AUTO};
    HELD(mo_few_shot) *alike = mo_few_shot_open(graph, MO_TASK_NC, &o),
                      *unknown = mo_few_shot_open(bare, MO_TASK_NC, &o);
    assert_int_equal(mo_few_shot_fit(alike, one, class, CORA_CLASSES), MO_OK);
    assert_int_equal(mo_few_shot_fit(unknown, (int64_t[]){0, 1}, (int64_t[]){0, 1}, 2), MO_OK);
    assert_true(mo_few_shot_expect(alike).transductive && isnan(mo_few_shot_expect(alike).nll));
    assert_false(mo_few_shot_expect(unknown).transductive);
}

/* With true labels the readout refitted on Cora's unlabelled nodes is the better; with random labels the held-out
 * labels decide. In both cases the result equals one of the two readouts, bit for bit. */
TEST_OF(held_out_labels_choose_whether_all_examples_are_read, mo_context *ctx) {
    HELD(mo_graph) *graph = mo_graph_open(ctx, "cora");
    int64_t id[SUPPORT], label[SUPPORT];
    first_labels(graph, id, label);
    double nll[2][3], p[2][3];
    for (int choice = 0; choice < 3; choice++) {
        HELD(mo_few_shot) *f =
            mo_few_shot_open(graph, MO_TASK_NC, &(mo_few_shot_options){.transductive = (mo_transductive)choice});
        for (int drawn = 0; drawn < 2; drawn++) {
            double row[CORA_CLASSES];
            for (int i = 0; i < SUPPORT; i++)
                label[i] = drawn ? (i * 5 + i / 7) % CORA_CLASSES : i / PER_CLASS;
            mo_few_shot_fit(f, id, label, SUPPORT);
            mo_few_shot_estimate e = mo_few_shot_expect(f);
            assert_int_equal(mo_few_shot_probabilities(f, (int64_t[]){2707}, 1, row), MO_OK);
            nll[drawn][choice] = e.nll;
            p[drawn][choice] = row[0];
            if (choice < MO_TRANSDUCTIVE_AUTO) {
                assert_true(e.transductive == (choice == MO_TRANSDUCTIVE_ON));
                assert_true(isnan(e.other) && isnan(e.other_nll));
                continue;
            }
            int on = e.transductive;
            assert_true(drawn || on);
            assert_true(e.nll == nll[drawn][on] && e.other_nll == nll[drawn][!on]);
            assert_true(on == (nll[drawn][1] <= nll[drawn][0] + 0.02)); /* a tie goes to the refit */
            assert_true(p[drawn][2] == p[drawn][on]);
        }
    }
    /* If memory has no room for all rows beside the features, there is no refit. */
    ctx->memory = ctx->host_held + (130 << 20);
    HELD(mo_few_shot) *f =
        mo_few_shot_open(graph, MO_TASK_NC, &(mo_few_shot_options){.transductive = MO_TRANSDUCTIVE_AUTO});
    mo_few_shot_fit(f, id, label, SUPPORT);
    expect_ok(ctx);
    assert_true(mo_ok(ctx) && !mo_few_shot_expect(f).transductive && isnan(mo_few_shot_expect(f).other));
    ctx->memory = 0;
}
