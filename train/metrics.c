/* train/metrics.c - link-prediction metrics over two lists of scores, and the summary of repeated measurements.
 *
 * Every metric of scores is NaN where a list it needs is empty, a score is NaN, or memory runs out. */
#include "train/train.h"

#include <math.h>
#include <stdlib.h>

/* A score and which list it is of. */
typedef struct scored {
    double score;
    bool positive;
} scored;

/* Highest first; among equals, negatives first. */
static int compare_scored(const void *a, const void *b) {
    const scored *x = a, *y = b;
    if (x->score != y->score) {
        return x->score < y->score ? 1 : -1;
    }
    return x->positive - y->positive;
}

/* Both lists in one, highest first; NULL where a metric has no value. */
static scored *rank_scores(const double *positive, int64_t n_positive, const double *negative, int64_t n_negative) {
    scored *ranked = n_positive > 0 ? calloc((size_t)(n_positive + n_negative), sizeof *ranked) : NULL;
    for (int64_t i = 0; ranked && i < n_positive + n_negative; i++) {
        bool is_positive = i < n_positive;
        ranked[i] = (scored){is_positive ? positive[i] : negative[i - n_positive], is_positive};
        if (isnan(ranked[i].score)) {
            free(ranked);
            ranked = NULL;
        }
    }
    if (ranked) {
        qsort(ranked, (size_t)(n_positive + n_negative), sizeof *ranked, compare_scored);
    }
    return ranked;
}

/* Counts the scores equal to that at i; returns the position after them. */
static int64_t tied(const scored *ranked, int64_t n, int64_t i, int64_t *positives, int64_t *negatives) {
    double score = ranked[i].score;
    *positives = *negatives = 0;
    for (; i < n && ranked[i].score == score; i++) {
        *positives += ranked[i].positive;
        *negatives += !ranked[i].positive;
    }
    return i;
}

double mo_auc(const double *positive, int64_t n_positive, const double *negative, int64_t n_negative) {
    scored *ranked = n_negative > 0 ? rank_scores(positive, n_positive, negative, n_negative) : NULL;
    if (!ranked) {
        return NAN;
    }
    double twice = 0; /* wins count 2, ties 1; exact up to 2^53 */
    int64_t n = n_positive + n_negative, above = 0, positives, negatives;
    for (int64_t i = 0; i < n;) {
        i = tied(ranked, n, i, &positives, &negatives);
        twice += (double)negatives * (double)(2 * above + positives);
        above += positives;
    }
    free(ranked);
    return twice / (2 * (double)n_positive * (double)n_negative);
}

double mo_average_precision(const double *positive, int64_t n_positive, const double *negative, int64_t n_negative) {
    scored *ranked = rank_scores(positive, n_positive, negative, n_negative);
    if (!ranked) {
        return NAN;
    }
    double sum = 0;
    int64_t n = n_positive + n_negative, found = 0, positives, negatives;
    for (int64_t i = 0; i < n;) {
        i = tied(ranked, n, i, &positives, &negatives);
        found += positives;
        sum += (double)positives * (double)found / (double)i;
    }
    free(ranked);
    return sum / (double)n_positive;
}

/* Share of positives that fewer than k negatives reach. */
static double share_above(
    const double *positive, int64_t n_positive, const double *negative, int64_t n_negative, int64_t k) {
    scored *ranked = k > 0 ? rank_scores(positive, n_positive, negative, n_negative) : NULL;
    if (!ranked) {
        return NAN;
    }
    int64_t hits = 0, reached = 0; /* negatives so far: a tied negative comes before its positive */
    for (int64_t i = 0; i < n_positive + n_negative && reached < k; i++) {
        hits += ranked[i].positive;
        reached += !ranked[i].positive;
    }
    free(ranked);
    return (double)hits / (double)n_positive;
}

/* A positive is above the k-th highest negative just where fewer than k negatives reach it. */
double mo_hits_ogb(const double *positive, int64_t n_positive, const double *negative, int64_t n_negative, int64_t k) {
    return share_above(positive, n_positive, negative, n_negative, k);
}

/* With ties last, a positive's rank among the negatives is one more than the number that reach it. */
double mo_hits_rank(const double *positive, int64_t n_positive, const double *negative, int64_t n_negative, int64_t k) {
    return share_above(positive, n_positive, negative, n_negative, k);
}

double mo_hits_pooled(
    const double *positive, int64_t n_positive, const double *negative, int64_t n_negative, int64_t k) {
    scored *ranked = k > 0 ? rank_scores(positive, n_positive, negative, n_negative) : NULL;
    if (!ranked) {
        return NAN;
    }
    int64_t hits = 0;
    for (int64_t i = 0; i < n_positive + n_negative && i < k; i++) {
        hits += ranked[i].positive;
    }
    free(ranked);
    return (double)hits / (double)n_positive;
}
