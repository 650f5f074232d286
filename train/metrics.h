/* train/metrics.h - metrics of link scores, of class probabilities and of prototype positions; statistics of repeated
 * measurements. Part of train/inside.h. */
#ifndef MO_METRICS_H
#define MO_METRICS_H

#include "tensor/inside.h"
#include "train/evaluate.h"

/* ---- links ---- */

/* Scores of links and of non-edges; borrowed. */
typedef struct mo_scores {
    const double *positive;
    int64_t n_positive;
    const double *negative;
    int64_t n_negative;
} mo_scores;

/* The metrics of scores, with the names of mo_link_metric_name. A rank is a positive's rank among all negatives:
 * AUC: ties count 1/2. AP: average precision, sum over thresholds of (R_i - R_{i-1}) P_i, ties in one threshold (as
 * scikit-learn). MRR: mean over positives of 1 / rank; tied scores get the mean of their first and last rank, as in
 * OGB's evaluator. HITS_RANK and HITS_OGB: share of positives above the k-th highest negative, with rank at most k (1
 * if there are fewer than k negatives); ties rank last. HITS_POOLED: the number of positives among the k highest of all
 * scores, divided by the number of positives; ties rank last. */
enum { MO_AUC, MO_AP, MO_MRR, MO_HITS_RANK, MO_HITS_OGB, MO_HITS_POOLED, MO_LINK_METRICS };
/* k: for HITS_RANK and HITS_POOLED; k_ogb: for HITS_OGB. All metrics are NaN without positives, if a score is NaN or
 * memory runs out; AUC and MRR also without negatives. */
MO_API void mo_measure_links(mo_scores s, int64_t k, int64_t k_ogb, double metric[MO_LINK_METRICS]);

/* ---- classes ---- */

/* The index of the largest of n >= 1 logits, the first one if several are equal. */
MO_API int64_t mo_first_largest(const double *logits, int64_t n);
/* softmax(logits / temperature) in place, n classes. */
MO_API void mo_softmax_logits(double *logits, int64_t n, double temperature);
/* The smoothing that turns n labels of `classes` classes into Platt's targets (see mo_fit_temperature). */
MO_API double mo_platt_smoothing(int64_t n, int64_t classes);

/* ---- classes: calibration of the probabilities softmax(logits / temperature) ---- */

/* Counts n predictions: logits [n, classes], labels 0 .. classes - 1. */
MO_API void mo_calibration_add(
    mo_calibration *c, const double *logits, const int64_t *label, int64_t n, int64_t classes, double temperature);
/* Adds the sums of another mo_calibration. */
MO_API void mo_calibration_merge(mo_calibration *c, const mo_calibration *other);
/* Expected calibration error: the mean over predictions of |accuracy - mean confidence| of their bin (Guo et al. 2017).
 * NaN without predictions. */
MO_API double mo_calibration_ece(const mo_calibration *c);
/* The temperature T > 0 that minimises the cross-entropy of softmax(logits / T) against the labels (Guo et al. 2017);
 * the minimum goes to *nll (may be NULL). smoothing s: targets (1 - s) one-hot + s / C. With s = mo_platt_smoothing = C
 * / ((C - 1) (n + 2)) the label's target is (n + 1) / (n + 2) (Platt 1999), and the optimum is finite even if every
 * prediction is right. T is kept within 1e-4 .. 1e4 times the largest difference between two logits of a row; it is 1
 * if all logits of every row are equal, or one is not finite. */
MO_API double mo_fit_temperature(
    const double *logits, const int64_t *label, int64_t n, int64_t classes, double smoothing, double *nll);

/* ---- classes: how the logits rank them ---- */

enum { MO_TOP = 3 };
/* Sums over problems; zero-initialise. */
typedef struct mo_ranking {
    int64_t n, top;   /* numbers of all predictions, and of those whose label is among the MO_TOP first classes */
    double auc;       /* sum over problems of the area under the curve of a class's probability, one class against the
                       * rest, mean over the classes that have both sides */
    int64_t problems; /* that have such a class */
} mo_ranking;

/* Counts the n predictions of a problem: logits [n, classes], labels 0 .. classes - 1. Equal logits of a row rank by
 * class; ties between rows count half. Returns false without memory. */
MO_API bool mo_ranking_add(mo_ranking *r, const double *logits, const int64_t *label, int64_t n, int64_t classes);
MO_API void mo_ranking_merge(mo_ranking *r, const mo_ranking *other);

/* ---- prototypes ---- */

/* Euclidean distance of p [d] to the convex hull of n >= 1 points [n, d], by projected gradients: never below the
 * distance but by rounding, and above it by at most about 1e-7 of the largest distance to a point where p lies in the
 * hull, else 1e-12. weight [n] (may be NULL): receives the convex combination nearest to p. Returns NaN on failure,
 * with the status set. */
MO_API double mo_hull_distance(
    mo_context *ctx, const double *points, int64_t n, int64_t d, const double *p, double *weight);

/* ---- repeated measurements ---- */

/* Mean, standard deviation (n - 1) and half width of the 95% interval (Student's t). NaN if n < 2; the mean is NaN only
 * if n < 1. */
typedef struct mo_summary {
    double mean, sd, ci95;
    int64_t n;
} mo_summary;
/* Wilson's (1927) 95% interval, within 0 .. 1, of a share measured in `trials` trials. */
MO_API void mo_wilson(double share, double trials, double interval[2]);
/* The 0.975 quantile of Student's t, to 3e-8; NaN if degrees < 1. */
MO_API double mo_student_975(int64_t degrees);
MO_API mo_summary mo_summarize(const double *values, int64_t n);
/* mo_summarize for the differences a[i] - b[i] of paired measurements. */
MO_API mo_summary mo_summarize_pairs(const double *a, const double *b, int64_t n);

#endif
