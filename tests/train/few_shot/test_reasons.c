/* tests/train/few_shot/test_reasons.c - what each label adds to a logit, and sets of classes from labels left out. */
#include "tests/labelled_graph.h"
#include "tests/planted.h"
#include "train/few_shot/few_shot.h"

#include <math.h>

enum { CLASSES = 5, PER_CLASS = 4, N = CLASSES * PER_CLASS };

/* The first PER_CLASS nodes of each class; the class of one more node differs, so that class weights are not 1. */
static int64_t some_labels(const mo_graph *graph, int64_t id[N], int64_t label[N]) {
    int64_t n = 0;
    for (int64_t c = 0; c < graph->classes; c++)
        for (int64_t i = 0, taken = 0; i < graph->n_labels && taken < PER_CLASS - (c == 1); i++)
            if (graph->label[i] == c) {
                id[n] = i;
                label[n++] = c;
                taken++;
            }
    return n;
}

/* Checks that the labels' parts add up to the logits that the readout gives. */
static void adds_up(mo_few_shot *f, int64_t example, double tolerance) {
    mo_few_shot_reasons r;
    double logit[CLASSES], again[CLASSES], sum[CLASSES] = {0}, largest = 0;
    assert_int_equal(mo_few_shot_logits(f, &example, 1, logit), MO_OK);
    assert_int_equal(mo_few_shot_explain(f, example, &r), MO_OK);
    assert_int_equal(mo_few_shot_logits(f, &example, 1, again), MO_OK);
    assert_memory_equal(logit, again, sizeof logit); /* an explanation changes no bit of a prediction */
    assert_int_equal(r.n, f->n);
    for (int64_t k = 0; k < r.experts * r.n; k++) {
        sum[r.label[k % r.n]] += r.weight[k];
        largest = fmax(largest, fabs(r.weight[k]));
    }
    assert_true(largest > 0.01);
    for (int64_t c = 0; c < r.classes; c++) {
        if (fabs(sum[c] - r.logit[c]) > tolerance * fmax(1, largest))
            fail_msg("class %d: the labels add %.9g, at most %.3g each, to the logit %.9g", (int)c, sum[c], largest,
                r.logit[c]);
        if (!r.refitted && fabs(logit[c] - r.logit[c]) > tolerance * fmax(1, largest))
            fail_msg("class %d: the logit is %.9g, explained is %.9g", (int)c, logit[c], r.logit[c]);
    }
    mo_few_shot_reasons_release(&r);
}

TEST_OF(what_labels_add_is_the_logit, scratch *s) {
    HELD(mo_graph) *graph = mo_graph_open(s->ctx, "kitchen");
    int64_t id[N], label[N], n = some_labels(graph, id, label);
    for (mo_transductive refit = MO_TRANSDUCTIVE_OFF; refit <= MO_TRANSDUCTIVE_ON; refit++) {
        HELD(mo_few_shot) *f = mo_few_shot_open(graph, MO_TASK_NC, &(mo_few_shot_options){.transductive = refit});
        assert_int_equal(mo_few_shot_fit(f, id, label, n), MO_OK);
        for (int64_t example = 0; example < graph->nodes; example += 17)
            adds_up(f, example, 1e-4); /* float32, in which the readout solves systems with condition numbers to 1e3 */
    }
}

TEST_OF(a_ridge_is_explained_in_both_forms, scratch *s) {
    /* Three columns: with 19 labels the primal form, with five the dual one. */
    double row[40][3];
    for (int i = 0; i < 40; i++)
        for (int j = 0; j < 3; j++)
            row[i][j] = sin(1.7 * i + 2.3 * j) + (i % CLASSES == j);
    HELD(mo_tensor) *rows = mo_tensor_create_from(s->ctx, MO_F64, 2, (int64_t[]){40, 3}, row);
    HELD(mo_few_shot) *f = mo_few_shot_open(NULL, MO_TASK_NC, &(mo_few_shot_options){.rows = rows});
    int64_t id[N], label[N];
    for (int64_t i = 0; i < N; i++) {
        id[i] = i;
        label[i] = i % CLASSES;
    }
    for (int64_t n = CLASSES; n < N; n += N - CLASSES - 1) {
        assert_int_equal(mo_few_shot_fit(f, id, label, n), MO_OK);
        for (int64_t example = 0; example < 40; example += 3)
            adds_up(f, example, 1e-10);
    }
    /* A label of another class moves what it adds to that class, as a ridge is linear in its labels. */
    mo_few_shot_reasons before, after;
    assert_int_equal(mo_few_shot_explain(f, 30, &before), MO_OK);
    label[7] = 4;
    assert_int_equal(mo_few_shot_fit(f, id, label, N - 1), MO_OK);
    assert_int_equal(mo_few_shot_explain(f, 30, &after), MO_OK);
    double added = 0;
    for (int64_t i = 0; i < before.n; i++)
        added = before.id[i] == 7 ? before.weight[i] : added;
    assert_true(fabs(added) > 1e-3);
    assert_true(fabs(after.logit[2] - (before.logit[2] - added)) < 1e-10);
    assert_true(fabs(after.logit[4] - (before.logit[4] + added)) < 1e-10);
    mo_few_shot_reasons_release(&before);
    mo_few_shot_reasons_release(&after);
}

TEST_OF(other_readouts_say_that_they_cannot, scratch *s) {
    HELD(mo_graph) *graph = mo_graph_open(s->ctx, "kitchen");
    int64_t id[N], label[N], n = some_labels(graph, id, label);
    mo_few_shot_reasons r;
    HELD(mo_few_shot) *f = mo_few_shot_open(graph, MO_TASK_NC, &(mo_few_shot_options){.head = &mo_head_logistic});
    assert_int_equal(mo_few_shot_explain(f, 0, &r), MO_STATE);
    assert_failed(s->ctx, MO_STATE, PARTS("expected labels (mo_few_shot_fit) before an explanation, found none"));
    assert_int_equal(mo_few_shot_fit(f, id, label, n), MO_OK);
    assert_int_equal(mo_few_shot_explain(f, 88, &r), MO_INVALID);
    assert_failed(s->ctx, MO_INVALID, PARTS("88"));
    assert_int_equal(mo_few_shot_explain(f, 0, &r), MO_UNSUPPORTED);
    assert_failed(s->ctx, MO_UNSUPPORTED, PARTS("the readout logistic does not tell what each label adds"));
    assert_null(r.weight);
    double p[CLASSES];
    assert_int_equal(mo_few_shot_probabilities(f, (int64_t[]){0}, 1, p), MO_OK);
}

TEST_OF(sets_have_the_right_class_as_often_as_asked, scratch *s) {
    HELD(mo_graph) *graph = mo_graph_open(s->ctx, "cora");
    HELD(mo_few_shot) *f = mo_few_shot_open(graph, MO_TASK_NC, NULL);
    int64_t id[140], label[140], n = 0, all[2708];
    for (int64_t c = 0; c < 7; c++)
        for (int64_t i = 0, taken = 0; taken < 20; i++)
            if (graph->label[i] == c) {
                id[n] = i;
                label[n++] = c;
                taken++;
            }
    static double p[2708 * 7];
    for (int64_t i = 0; i < 2708; i++)
        all[i] = i;
    assert_int_equal(mo_few_shot_fit(f, id, label, 140), MO_OK);
    assert_int_equal(mo_few_shot_probabilities(f, all, 2708, p), MO_OK);
    double before = 1;
    for (int tenth = 5; tenth <= 9; tenth++) {
        double bound = mo_few_shot_set_bound(f, tenth / 10.0);
        int64_t right = 0, size = 0;
        for (int64_t i = 0; i < 2708; i++)
            for (int64_t c = 0; c < 7; c++) {
                bool in = p[i * 7 + c] >= bound;
                size += in;
                right += in && graph->label[i] == c;
            }
        assert_true(bound <= before && bound > 0);
        before = bound;
        /* Labels are balanced, and the nodes are not: within 8 points. A set of every class would have all. */
        if (fabs((double)right / 2708 - tenth / 10.0) > 0.08 || (double)size / 2708 > 4)
            fail_msg("sets of %d%%: %.1f%% are right, %.2f classes", 10 * tenth, 100 * (double)right / 2708,
                (double)size / 2708);
    }
    assert_true(mo_few_shot_set_bound(f, 0.999) == 0); /* 140 labels do not tell */
    assert_true(mo_few_shot_set_bound(f, 0) == 0 && mo_few_shot_set_bound(f, 1) == 0);
    assert_true(mo_few_shot_set_bound(f, NAN) == 0 && mo_few_shot_set_bound(NULL, 0.9) == 0);
}
