/* tests/train/test_calibration.c - cross-entropy, Brier score, expected calibration error and temperature against
 * stored values of scikit-learn 1.9 and scipy 1.17, and against their definitions. */
#include "tests/scratch.h"
#include "train/metrics.h"

#include <math.h>

enum { N = 8, C = 3 };

static const int64_t label[N] = {2, 1, 1, 0, 2, 2, 0, 1};

static void fill_logits(double logits[N * C]) {
    for (int i = 0; i < N * C; i++)
        logits[i] = ((i * i * 7 + 3 * i) % 23 - 11) / 5.0;
}

/* Tolerance for sums of a few dozen terms. */
static void assert_near(double got, double expected) {
    if (!(fabs(got - expected) <= 1e-14 * fmax(1, fabs(expected))))
        fail_msg("expected %.17g, got %.17g", expected, got);
}

static void assert_figures(double temperature, double nll, double brier, double ece, int64_t right) {
    double logits[N * C];
    mo_calibration c = {0};
    fill_logits(logits);
    mo_calibration_add(&c, logits, label, N, C, temperature);
    assert_int_equal(c.n, N);
    assert_int_equal(c.right, right);
    assert_near(c.nll / N, nll);
    assert_near(c.brier / N, brier);
    assert_near(mo_calibration_ece(&c), ece);
}

TEST(figures_equal_scikit_learn) {
    (void)state;
    assert_figures(1, 1.0528339390646675, 0.6007961047399455, 0.509833350986603, 6);
    assert_figures(2.5, 0.9702263276255928, 0.5946694146883603, 0.5572966676897041, 6);
}

TEST(adding_in_parts_adds_up) {
    (void)state;
    double logits[N * C];
    mo_calibration whole = {0}, parts = {0};
    fill_logits(logits);
    mo_calibration_add(&whole, logits, label, N, C, 1);
    mo_calibration_add(&parts, logits, label, 3, C, 1);
    mo_calibration_add(&parts, logits + 3 * C, label + 3, N - 3, C, 1);
    assert_near(parts.nll, whole.nll);
    assert_near(mo_calibration_ece(&parts), mo_calibration_ece(&whole));
    mo_calibration first = {0}, rest = {0};
    mo_calibration_add(&first, logits, label, 3, C, 1);
    mo_calibration_add(&rest, logits + 3 * C, label + 3, N - 3, C, 1);
    mo_calibration_merge(&first, &rest);
    assert_true(first.n == N && first.right == whole.right);
    assert_near(first.brier, whole.brier);
    assert_near(mo_calibration_ece(&first), mo_calibration_ece(&whole));
}

/* Counts a prediction with confidence p: two classes whose logits differ by log(p / (1 - p)). */
static void add_confidence(mo_calibration *c, double p, bool right) {
    mo_calibration_add(c, (double[]){log(p / (1 - p)), 0}, (int64_t[]){!right}, 1, 2, 1);
}

TEST(a_bin_holds_its_upper_end_but_not_its_lower_one) {
    (void)state;
    mo_calibration c = {0};
    mo_calibration_add(&c, (double[]){0, 0, 0}, (int64_t[]){0}, 1, 3, 1); /* a confidence of 1/3, the upper end of bin
                                                                           * 4 */
    assert_int_equal(c.bin[4].n, 1);
    mo_calibration_add(&c, (double[]){1000, 0}, (int64_t[]){0}, 1, 2, 1); /* of 1 */
    assert_int_equal(c.bin[14].n, 1);
    add_confidence(&c, 0.67, true); /* just above 10/15, the lower end of bin 10 */
    assert_int_equal(c.bin[10].n, 1);
}

TEST(calibrated_predictions_have_no_error_and_bold_ones_have_theirs) {
    (void)state;
    mo_calibration calibrated = {0}, bold = {0};
    for (int i = 0; i < 10; i++) {
        add_confidence(&calibrated, 0.7, i < 7);
        add_confidence(&bold, 0.99, i < 7);
    }
    assert_near(mo_calibration_ece(&calibrated), 0);
    assert_near(mo_calibration_ece(&bold), 0.29);
}

TEST(logits_far_apart_neither_overflow_nor_vanish) {
    (void)state;
    mo_calibration c = {0};
    mo_calibration_add(&c, (double[]){1e5, -1e5}, (int64_t[]){1}, 1, 2, 1);
    assert_near(c.nll / 2e5, 1);
    assert_near(c.brier, 2);
    assert_true(isnan(mo_calibration_ece(&(mo_calibration){0})));
}

TEST(the_temperature_is_where_the_slope_vanishes) {
    (void)state;
    double logits[N * C], nll;
    fill_logits(logits);
    assert_near(mo_fit_temperature(logits, label, N, C, 0, &nll), 2.006113811467045);
    assert_near(nll, 0.9656751190999677);
    assert_near(mo_fit_temperature(logits, label, N, C, 3 / 11.0, &nll), 2.89835383085464);
    assert_near(nll, 1.0295309414294267);
    for (int i = 0; i < N * C; i++) /* the temperature scales with the logits */
        logits[i] *= 1e6;
    assert_near(mo_fit_temperature(logits, label, N, C, 0, NULL) / 1e6, 2.006113811467045);
}

TEST(right_everywhere_has_a_finite_temperature_by_platts_targets) {
    (void)state;
    double logits[40], n = 20, nll;
    int64_t right[20] = {0};
    for (int i = 0; i < 20; i++) {
        logits[2 * i] = 1;
        logits[2 * i + 1] = 0;
    }
    double T = mo_fit_temperature(logits, right, 20, 2, 2 / (n + 2), &nll);
    double p = (n + 1) / (n + 2); /* at the optimum 1 / (1 + exp(-1 / T)) = p */
    assert_near(T, 1 / log(p / (1 - p)));
    assert_near(nll, -p * log(p) - (1 - p) * log(1 - p));
    assert_near(mo_fit_temperature(logits, right, 20, 2, 0, NULL), 1e-4); /* the lower limit of T, as the optimum is at
                                                                           * 0 */
}

TEST(logits_that_say_nothing_get_temperature_one_and_misleading_ones_the_largest) {
    (void)state;
    assert_near(mo_fit_temperature((double[]){3, 3, 5, 5}, (int64_t[]){0, 1}, 2, 2, 0, NULL), 1);
    assert_near(mo_fit_temperature((double[]){1, 0, 0, 1}, (int64_t[]){1, 0}, 2, 2, 0, NULL), 1e4);
}
