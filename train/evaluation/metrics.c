/* train/evaluation/metrics.c - link-prediction metrics over two lists of scores, and the summary of repeated
 * measurements: mean, spread and 95% interval, also of a share of trials. */
#include "train/inside.h"

#include <math.h>
#include <stdlib.h>

typedef struct scored {
    double score;
    bool positive;
} scored;

/* Highest score first; negatives first among equal scores. */
static int compare_scored(const void *a, const void *b) {
    const scored *x = a, *y = b;
    if (x->score != y->score)
        return x->score < y->score ? 1 : -1;
    return x->positive - y->positive;
}

/* Merges both lists, highest score first; NULL if there is no positive, a score is NaN or memory runs out. */
static scored *rank_scores(mo_scores s) {
    scored *ranked = s.n_positive > 0 ? calloc((size_t)(s.n_positive + s.n_negative), sizeof *ranked) : NULL;
    for (int64_t i = 0; ranked && i < s.n_positive + s.n_negative; i++) {
        bool is_positive = i < s.n_positive;
        ranked[i] = (scored){is_positive ? s.positive[i] : s.negative[i - s.n_positive], is_positive};
        if (isnan(ranked[i].score)) {
            free(ranked);
            ranked = NULL;
        }
    }
    if (ranked)
        qsort(ranked, (size_t)(s.n_positive + s.n_negative), sizeof *ranked, compare_scored);
    return ranked;
}

/* Counts the scores equal to the one at i; returns the position after them. */
static int64_t count_tied(const scored *ranked, int64_t n, int64_t i, int64_t *positives, int64_t *negatives) {
    double score = ranked[i].score;
    *positives = *negatives = 0;
    for (; i < n && ranked[i].score == score; i++) {
        *positives += ranked[i].positive;
        *negatives += !ranked[i].positive;
    }
    return i;
}

void mo_measure_links(mo_scores s, int64_t k, int64_t k_ogb, double metric[MO_LINK_METRICS]) {
    if (!metric)
        return;
    scored *ranked = rank_scores(s);
    double twice = 0; /* per pair of a positive and a negative: a win counts 2, a tie 1; exact up to 2^53 */
    double precision = 0, reciprocal = 0;
    int64_t n = s.n_positive + s.n_negative, positives, negatives, found = 0, lost = 0, hits[3] = {0};
    for (int64_t i = 0; ranked && i < n;) {
        int64_t left = k - i; /* places for this score among the k highest; its negatives come first */
        i = count_tied(ranked, n, i, &positives, &negatives);
        twice += (double)negatives * (double)(2 * found + positives);
        reciprocal += (double)positives / ((double)lost + (double)negatives / 2 + 1);
        found += positives;
        lost += negatives;
        precision += (double)positives * (double)found / (double)i;
        hits[0] += lost < k ? positives : 0;
        hits[1] += lost < k_ogb ? positives : 0;
        left -= negatives;
        hits[2] += left < 0 ? 0 : left < positives ? left : positives;
    }
    double P = ranked ? (double)s.n_positive : NAN, N = s.n_negative > 0 ? (double)s.n_negative : NAN;
    metric[MO_AUC] = twice / (2 * P * N);
    metric[MO_AP] = precision / P;
    metric[MO_MRR] = s.n_negative > 0 ? reciprocal / P : NAN;
    for (int i = 0; i < 3; i++)
        metric[MO_HITS_RANK + i] = (double)hits[i] / P;
    free(ranked);
}

/* ---- repeated measurements ---- */

/* The 0.975 quantile of the normal distribution. */
static const double normal_975 = 1.959963984540054;

/* The 0.975 quantile of Student's t for 1..30 degrees of freedom. */
static const double t_quantile[] = {12.7062047362, 4.30265272975, 3.18244630528, 2.7764451052, 2.57058183564,
    2.44691185114, 2.36462425159, 2.3060041352, 2.2621571628, 2.22813885199, 2.20098516009, 2.17881282967,
    2.16036865646, 2.14478668792, 2.13144954556, 2.11990529922, 2.10981557783, 2.10092204024, 2.09302405441,
    2.08596344727, 2.07961384473, 2.0738730679, 2.06865761042, 2.06389856163, 2.05953855275, 2.05552943864,
    2.05183051648, 2.0484071418, 2.04522964213, 2.0422724563};

/* Beyond the table, the expansion about the normal quantile z in 1/v (Abramowitz and Stegun 26.7.5), whose error is
 * below 3e-8 from v = 31 on. */
double mo_student_975(int64_t degrees) {
    if (degrees < 1)
        return NAN;
    if (degrees <= (int64_t)(sizeof t_quantile / sizeof *t_quantile))
        return t_quantile[degrees - 1];
    double z = normal_975, s = z * z, v = (double)degrees;
    double g1 = z * (s + 1) / 4;
    double g2 = z * (5 * s * s + 16 * s + 3) / 96;
    double g3 = z * (3 * s * s * s + 19 * s * s + 17 * s - 15) / 384;
    double g4 = z * (79 * s * s * s * s + 776 * s * s * s + 1482 * s * s - 1920 * s - 945) / 92160;
    return z + (g1 + (g2 + (g3 + g4 / v) / v) / v) / v;
}

void mo_wilson(double share, double trials, double interval[2]) {
    if (!interval)
        return;
    double z = normal_975, m = trials;
    double centre = (share + z * z / (2 * m)) / (1 + z * z / m);
    double half = z / (1 + z * z / m) * sqrt(share * (1 - share) / m + z * z / (4 * m * m));
    interval[0] = fmax(0, centre - half);
    interval[1] = fmin(1, centre + half);
}

mo_summary mo_summarize_pairs(const double *a, const double *b, int64_t n) {
    mo_summary summary = {.mean = NAN, .sd = NAN, .ci95 = NAN, .n = n};
    double sum = 0, squares = 0;
    if (!a)
        return summary;
    for (int64_t i = 0; i < n; i++)
        sum += b ? a[i] - b[i] : a[i];
    if (n > 0)
        summary.mean = sum / (double)n;
    for (int64_t i = 0; i < n; i++) {
        double x = (b ? a[i] - b[i] : a[i]) - summary.mean;
        squares += x * x;
    }
    if (n > 1) {
        summary.sd = sqrt(squares / (double)(n - 1));
        summary.ci95 = mo_student_975(n - 1) * summary.sd / sqrt((double)n);
    }
    return summary;
}

mo_summary mo_summarize(const double *values, int64_t n) {
    return mo_summarize_pairs(values, NULL, n);
}
