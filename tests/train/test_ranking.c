/* tests/train/test_ranking.c - top-k accuracy, and the area under the curve of one class against the rest. */
#include "tests/suite.h"
#include "train/metrics.h"

#include <math.h>

/* By the definition: the share of pairs (a row of the class, another row) in order, ties half; mean over classes. */
static double auc_by_pairs(const double *logits, const int64_t *label, int64_t n, int64_t classes) {
    double sum = 0;
    for (int64_t c = 0; c < classes; c++) {
        double won = 0, pairs = 0;
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < n; j++)
                if (label[i] == c && label[j] != c) {
                    double p = logits[i * classes + c], q = logits[j * classes + c], a = 0, b = 0;
                    for (int64_t k = 0; k < classes; k++) {
                        a += exp(logits[i * classes + k] - p);
                        b += exp(logits[j * classes + k] - q);
                    }
                    won += a < b ? 1 : a > b ? 0 : 0.5;
                    pairs++;
                }
        sum += won / pairs;
    }
    return sum / (double)classes;
}

BARE_TEST(the_area_is_the_share_of_pairs_in_order) {
    enum { ROWS = 24, CLASSES = 4 };
    double logits[ROWS * CLASSES];
    int64_t label[ROWS], within = 0;
    for (int64_t i = 0; i < ROWS; i++) {
        label[i] = i % CLASSES;
        for (int64_t c = 0; c < CLASSES; c++)
            logits[i * CLASSES + c] =
                floor(3 * sin(1.3 * (double)i + 2.1 * (double)c)) + (c == label[i]); /* with ties */
    }
    for (int64_t i = 0; i < ROWS; i++) {
        int64_t before = 0;
        for (int64_t c = 0; c < CLASSES; c++)
            before += logits[i * CLASSES + c] > logits[i * CLASSES + label[i]] ||
                      (logits[i * CLASSES + c] == logits[i * CLASSES + label[i]] && c < label[i]);
        within += before < MO_TOP;
    }
    mo_ranking r = {0}, both = {0};
    assert_true(mo_ranking_add(&r, logits, label, ROWS, CLASSES));
    assert_int_equal(r.n, ROWS);
    assert_int_equal(r.top, within);
    assert_true(within > 0 && within < ROWS);
    assert_true(fabs(r.auc - auc_by_pairs(logits, label, ROWS, CLASSES)) < 1e-12);
    mo_ranking_merge(&both, &r);
    mo_ranking_merge(&both, &r);
    assert_int_equal(both.problems, 2);
    assert_true(fabs(both.auc - 2 * r.auc) < 1e-15);
}

BARE_TEST(a_problem_of_one_class_has_no_area) {
    mo_ranking r = {0};
    assert_true(mo_ranking_add(&r, (double[]){1, 0, 0, 1}, (int64_t[]){0, 0}, 2, 2));
    assert_int_equal(r.problems, 0);
    assert_int_equal(r.top, 2); /* two classes are fewer than three */
    assert_false(mo_ranking_add(&r, NULL, (int64_t[]){0}, 1, 2));
    assert_false(mo_ranking_add(NULL, (double[]){1, 0}, (int64_t[]){0}, 1, 2));
}
