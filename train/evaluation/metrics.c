/* train/evaluation/metrics.c - link-prediction metrics over two lists of scores, and the summary of repeated
 * measurements.
 *
 * Every metric of scores is NaN if a list it needs is empty, a score is NaN, or memory runs out. */
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

/* Merges both lists, highest score first; NULL if a metric has no value. */
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

double mo_auc(mo_scores s) {
    scored *ranked = s.n_negative > 0 ? rank_scores(s) : NULL;
    if (!ranked)
        return NAN;
    double twice = 0; /* per pair of a positive and a negative: a win counts 2, a tie 1; exact up to 2^53 */
    int64_t n = s.n_positive + s.n_negative, above = 0, positives, negatives;
    for (int64_t i = 0; i < n;) {
        i = count_tied(ranked, n, i, &positives, &negatives);
        twice += (double)negatives * (double)(2 * above + positives);
        above += positives;
    }
    free(ranked);
    return twice / (2 * (double)s.n_positive * (double)s.n_negative);
}

double mo_average_precision(mo_scores s) {
    scored *ranked = rank_scores(s);
    if (!ranked)
        return NAN;
    double sum = 0;
    int64_t n = s.n_positive + s.n_negative, found = 0, positives, negatives;
    for (int64_t i = 0; i < n;) {
        i = count_tied(ranked, n, i, &positives, &negatives);
        found += positives;
        sum += (double)positives * (double)found / (double)i;
    }
    free(ranked);
    return sum / (double)s.n_positive;
}

double mo_hits(mo_scores s, int64_t k) {
    scored *ranked = k > 0 ? rank_scores(s) : NULL;
    if (!ranked)
        return NAN;
    int64_t hits = 0, reached = 0; /* reached: negatives so far; at equal scores negatives come first */
    for (int64_t i = 0; i < s.n_positive + s.n_negative && reached < k; i++) {
        hits += ranked[i].positive;
        reached += !ranked[i].positive;
    }
    free(ranked);
    return (double)hits / (double)s.n_positive;
}

double mo_mean_reciprocal_rank(mo_scores s) {
    scored *ranked = s.n_negative > 0 ? rank_scores(s) : NULL;
    if (!ranked)
        return NAN;
    double sum = 0;
    int64_t n = s.n_positive + s.n_negative, reached = 0, positives, negatives;
    for (int64_t i = 0; i < n;) {
        i = count_tied(ranked, n, i, &positives, &negatives);
        sum += (double)positives / ((double)reached + (double)negatives / 2 + 1);
        reached += negatives;
    }
    free(ranked);
    return sum / (double)s.n_positive;
}

double mo_hits_pooled(mo_scores s, int64_t k) {
    scored *ranked = k > 0 ? rank_scores(s) : NULL;
    if (!ranked)
        return NAN;
    int64_t hits = 0;
    for (int64_t i = 0; i < s.n_positive + s.n_negative && i < k; i++)
        hits += ranked[i].positive;
    free(ranked);
    return (double)hits / (double)s.n_positive;
}
