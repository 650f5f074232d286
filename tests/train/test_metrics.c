/* tests/train/test_metrics.c - metrics, figures of calibration and the temperature against stored values of
 * scikit-learn 1.9 and scipy 1.17, against their definitions, and against values computed by hand. */
#include "tests/scratch.h"

/* Scores with ties, within a list and between the lists. */
static const double pos[] = {2.6, -2.0, 1.0, 0.0, 0.1, 0.4, -1.4, 0.4, -0.3, 3.9, 0.8, 0.2};
static const double neg[] = {
    -0.3, -0.7, -1.1, -0.4, 0.5, -0.2, 1.0, -0.2, 0.0, 1.5, 0.5, -0.5, -0.2, 0.5, 1.9, -0.3, -0.2};
enum { NP = sizeof pos / sizeof *pos, NN = sizeof neg / sizeof *neg };

/* Tolerance for sums of a few dozen terms: a few units in the last place. */
static void assert_near(double got, double expected) {
    if (!(fabs(got - expected) <= 1e-14 * fmax(1, fabs(expected))))
        fail_msg("expected %.17g, got %.17g", expected, got);
}

/* One metric of the scores; k: for hits. */
static double measured(int metric, mo_scores s, int64_t k) {
    double value[MO_LINK_METRICS];
    mo_measure_links(s, k, k, value);
    return value[metric];
}

TEST(auc_and_average_precision_equal_scikit_learn) {
    assert_near(measured(MO_AUC, (mo_scores){pos, NP, neg, NN}, 1), 0.5980392156862745);
    assert_near(measured(MO_AP, (mo_scores){pos, NP, neg, NN}, 1), 0.5821042946933127);
}

TEST(auc_is_one_zero_and_a_half_where_it_must_be) {
    const double high[] = {3, 2, INFINITY}, low[] = {1, 0, -INFINITY, 1.5}, same[] = {7, 7, 7};
    assert_near(measured(MO_AUC, (mo_scores){high, 3, low, 4}, 1), 1);
    assert_true(measured(MO_AUC, (mo_scores){low, 4, high, 3}, 1) == 0);
    assert_near(measured(MO_AUC, (mo_scores){same, 3, same, 3}, 1), 0.5);
    assert_near(measured(MO_AP, (mo_scores){high, 3, low, 4}, 1), 1);
    assert_near(measured(MO_AP, (mo_scores){same, 3, same, 2}, 1), 0.6);
    assert_near(measured(MO_AP, (mo_scores){high, 3, NULL, 0}, 1), 1);
}

/* AUC by definition, over all pairs. */
static double pairwise_auc(const double *p, int64_t n_p, const double *n, int64_t n_n) {
    double sum = 0;
    for (int64_t i = 0; i < n_p; i++)
        for (int64_t j = 0; j < n_n; j++)
            sum += p[i] > n[j] ? 1 : p[i] == n[j] ? 0.5 : 0;
    return sum / (double)(n_p * n_n);
}

/* Hits by definition: ranks a positive among the negatives, behind those with the same score. */
static double direct_hits(const double *p, int64_t n_p, const double *n, int64_t n_n, int64_t k) {
    int64_t hits = 0;
    for (int64_t i = 0; i < n_p; i++) {
        int64_t rank = 1;
        for (int64_t j = 0; j < n_n; j++)
            rank += n[j] >= p[i];
        hits += rank <= k;
    }
    return (double)hits / (double)n_p;
}

TEST(drawn_scores_agree_with_the_definitions) {
    double p[40], n[60];
    for (uint64_t trial = 0; trial < 300; trial++) {
        mo_random r = mo_random_at(2, MO_PURPOSE_CHECK, trial);
        int64_t n_p = 1 + mo_random_below(&r, 40), n_n = 1 + mo_random_below(&r, 60);
        for (int64_t i = 0; i < n_p; i++)
            p[i] = (double)mo_random_below(&r, 15);
        for (int64_t i = 0; i < n_n; i++)
            n[i] = (double)mo_random_below(&r, 13);
        assert_near(measured(MO_AUC, (mo_scores){p, n_p, n, n_n}, 1), pairwise_auc(p, n_p, n, n_n));
        for (int64_t k = 1; k < 70; k += 3) {
            double expected = direct_hits(p, n_p, n, n_n, k);
            assert_true(measured(MO_HITS_RANK, (mo_scores){p, n_p, n, n_n}, k) == expected);
            assert_true(measured(MO_HITS_OGB, (mo_scores){p, n_p, n, n_n}, k) == expected);
        }
    }
}

TEST(pooled_hits_have_their_values_by_hand) {
    const double p[] = {9, 7, 5, 3}, n[] = {8, 7, 4, 2, 1};
    /* All scores in one list: 9 8 7- 7+ 5 4 3 2 1; at the tie the negative comes first. */
    assert_true(measured(MO_HITS_POOLED, (mo_scores){p, 4, n, 5}, 3) == 0.25);
    assert_true(measured(MO_HITS_POOLED, (mo_scores){p, 4, n, 5}, 4) == 0.5);
    assert_true(measured(MO_HITS_POOLED, (mo_scores){p, 4, n, 5}, 7) == 1);
    assert_true(measured(MO_HITS_POOLED, (mo_scores){p, 4, n, 5}, 1000) == 1);
}

/* OGB takes the mean of the optimistic and the pessimistic rank. */
TEST(reciprocal_ranks_halve_ties) {
    const double p[] = {9, 7, 0}, n[] = {8, 7, 7};
    assert_near(measured(MO_MRR, (mo_scores){p, 3, n, 3}, 1), (1 + 1 / 3.0 + 1 / 4.0) / 3);
    assert_true(isnan(measured(MO_MRR, (mo_scores){p, 3, n, 0}, 1)));
}

TEST(metrics_without_a_value_are_nan) {
    const double one[] = {1}, bad[] = {NAN};
    assert_true(isnan(measured(MO_AUC, (mo_scores){one, 1, one, 0}, 1)) &&
                isnan(measured(MO_AUC, (mo_scores){one, 0, one, 1}, 1)) &&
                isnan(measured(MO_AUC, (mo_scores){one, 1, bad, 1}, 1)));
    assert_true(isnan(measured(MO_AP, (mo_scores){one, 0, one, 1}, 1)) &&
                isnan(measured(MO_AP, (mo_scores){bad, 1, one, 1}, 1)));
    assert_true(isnan(measured(MO_HITS_RANK, (mo_scores){bad, 1, one, 1}, 1)));
    assert_true(isnan(measured(MO_HITS_POOLED, (mo_scores){one, 0, one, 1}, 1)));
}

TEST(summaries_equal_scipy) {
    const double five[] = {71.5, 69.25, 73.125, 70, 72.75};
    mo_summary s = mo_summarize(five, 5);
    assert_near(s.mean, 71.325);
    assert_near(s.sd, 1.6854153790683173);
    assert_true(fabs(s.ci95 - 2.0927195982080775) < 1e-11); /* the table of Student's quantiles has 12 digits */
    assert_int_equal(s.n, 5);
}

/* Returns the half width for n values with standard deviation 1: t / sqrt(n). */
static double unit_interval(int64_t n) {
    double *values = test_memory((size_t)n * sizeof *values);
    double spread = sqrt((double)(n - 1) / (double)(n - n % 2));
    for (int64_t i = 0; i < n - n % 2; i++)
        values[i] = i % 2 ? spread : -spread;
    mo_summary s = mo_summarize(values, n);
    return s.ci95 * sqrt((double)n) / s.sd;
}

/* The table has 12 digits; the expansion beyond it gets better with more degrees of freedom. */
TEST(the_interval_has_student_quantiles) {
    static const struct {
        int64_t degrees;
        double t, error;
    } quantiles[] = {{1, 12.706204736174694, 1e-11}, {2, 4.302652729749462, 1e-11}, {9, 2.262157162798205, 1e-11},
        {30, 2.0422724563012378, 1e-11}, {31, 2.039513446396408, 1.4e-8}, {32, 2.0369333434601016, 1.2e-8},
        {40, 2.021075390306273, 4e-9}, {60, 2.0002978220142604, 5e-10}, {99, 1.9842169515864174, 4.5e-11},
        {1000, 1.9623390808264083, 1e-12}};
    for (size_t i = 0; i < sizeof quantiles / sizeof *quantiles; i++)
        assert_true(fabs(unit_interval(quantiles[i].degrees + 1) / quantiles[i].t - 1) < quantiles[i].error);
}

/* Both ends x of the interval solve (share - x)^2 = z^2 x (1 - x) / trials. */
TEST(the_interval_of_a_share_is_wilsons) {
    static const double share[] = {0.8, 0, 1, 0.5}, trials[] = {10, 20, 7, 1000}, z = 1.959963984540054;
    for (size_t i = 0; i < sizeof share / sizeof *share; i++) {
        double end[2];
        mo_wilson(share[i], trials[i], end);
        assert_true(end[0] >= 0 && end[1] <= 1 && end[1] > end[0]);
        for (int j = 0; j < 2; j++)
            assert_true(fabs(pow(share[i] - end[j], 2) - z * z * end[j] * (1 - end[j]) / trials[i]) < 1e-15);
    }
}

TEST(summaries_of_too_few_values_are_nan) {
    mo_summary one = mo_summarize((double[]){3}, 1), none = mo_summarize(NULL, 0);
    assert_true(one.mean == 3 && isnan(one.sd) && isnan(one.ci95));
    assert_true(isnan(none.mean) && isnan(none.sd) && isnan(none.ci95));
}

/* ---- calibration ---- */

enum { N = 8, C = 3 };

static const int64_t label[N] = {2, 1, 1, 0, 2, 2, 0, 1};

static void fill_logits(double logits[N * C]) {
    for (int i = 0; i < N * C; i++)
        logits[i] = ((i * i * 7 + 3 * i) % 23 - 11) / 5.0;
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
    assert_figures(1, 1.0528339390646675, 0.6007961047399455, 0.509833350986603, 6);
    assert_figures(2.5, 0.9702263276255928, 0.5946694146883603, 0.5572966676897041, 6);
}

TEST(adding_in_parts_adds_up) {
    double logits[N * C];
    mo_calibration whole = {0}, first = {0}, rest = {0};
    fill_logits(logits);
    mo_calibration_add(&whole, logits, label, N, C, 1);
    mo_calibration_add(&first, logits, label, 3, C, 1);
    mo_calibration_add(&rest, logits + 3 * C, label + 3, 2, C, 1);
    mo_calibration_add(&rest, logits + 5 * C, label + 5, N - 5, C, 1);
    mo_calibration_merge(&first, &rest);
    assert_true(first.n == N && first.right == whole.right);
    assert_near(first.nll, whole.nll);
    assert_near(first.brier, whole.brier);
    assert_near(mo_calibration_ece(&first), mo_calibration_ece(&whole));
}

/* Counts a prediction with confidence p: two classes whose logits differ by log(p / (1 - p)). */
static void add_confidence(mo_calibration *c, double p, bool right) {
    mo_calibration_add(c, (double[]){log(p / (1 - p)), 0}, (int64_t[]){!right}, 1, 2, 1);
}

TEST(a_bin_holds_its_upper_end_but_not_its_lower_one) {
    mo_calibration c = {0};
    mo_calibration_add(&c, (double[]){0, 0, 0}, (int64_t[]){0}, 1, 3, 1); /* a confidence of 1/3, the upper end of bin
                                                                           * 4 */
    assert_int_equal(c.bin[4].n, 1);
    mo_calibration_add(&c, (double[]){1000, 0}, (int64_t[]){0}, 1, 2, 1); /* of 1 */
    assert_int_equal(c.bin[14].n, 1);
    add_confidence(&c, 0.67, true); /* just above 10/15, the lower end of bin 10 */
    assert_int_equal(c.bin[10].n, 1);
}

TEST(logits_far_apart_neither_overflow_nor_vanish) {
    mo_calibration c = {0};
    mo_calibration_add(&c, (double[]){1e5, -1e5}, (int64_t[]){1}, 1, 2, 1);
    assert_near(c.nll / 2e5, 1);
    assert_near(c.brier, 2);
    assert_true(isnan(mo_calibration_ece(&(mo_calibration){0})));
}

TEST(the_temperature_is_where_the_slope_vanishes) {
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
    assert_near(mo_fit_temperature((double[]){3, 3, 5, 5}, (int64_t[]){0, 1}, 2, 2, 0, NULL), 1);
    assert_near(mo_fit_temperature((double[]){1, 0, 0, 1}, (int64_t[]){1, 0}, 2, 2, 0, NULL), 1e4);
}
