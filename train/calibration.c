/* train/calibration.c - class probabilities against what came true: accuracy, cross-entropy, Brier score, expected
 * calibration error, and the temperature that mends their sharpness. All in float64. */
#include "train/metrics.h"

#include <math.h>

static int64_t first_largest(const double *x, int64_t n) {
    int64_t best = 0;
    for (int64_t c = 1; c < n; c++)
        if (x[c] > x[best])
            best = c;
    return best;
}

/* Bins are closed above: a confidence of 1 lies in the last. */
static int bin_of(double confidence) {
    int bin = (int)ceil(confidence * MO_ECE_BINS) - 1;
    return bin < 0 ? 0 : bin >= MO_ECE_BINS ? MO_ECE_BINS - 1 : bin;
}

/* One exponential a class: with e_c = exp((x_c - x_max) / T) and z = sum e_c, the largest probability is 1 / z and
 * |p - one-hot|^2 = sum e_c^2 / z^2 - 2 p_label + 1. */
void mo_calibration_add(
    mo_calibration *c, const double *logits, const int64_t *label, int64_t n, int64_t classes, double temperature) {
    for (int64_t i = 0; i < n; i++) {
        const double *x = logits + i * classes;
        int64_t best = first_largest(x, classes);
        double z = 0, squares = 0, own = 0;
        for (int64_t k = 0; k < classes; k++) {
            double e = exp((x[k] - x[best]) / temperature);
            z += e;
            squares += e * e;
            own = k == label[i] ? e : own;
        }
        bool right = best == label[i];
        double confidence = 1 / z;
        int bin = isnan(confidence) ? 0 : bin_of(confidence);
        c->n++;
        c->right += right;
        c->nll += log(z) - (x[label[i]] - x[best]) / temperature;
        c->brier += squares / (z * z) - 2 * own / z + 1;
        c->bin[bin].n++;
        c->bin[bin].right += right;
        c->bin[bin].confidence += confidence;
    }
}

void mo_calibration_merge(mo_calibration *c, const mo_calibration *other) {
    c->n += other->n;
    c->right += other->right;
    c->nll += other->nll;
    c->brier += other->brier;
    for (int b = 0; b < MO_ECE_BINS; b++) {
        c->bin[b].n += other->bin[b].n;
        c->bin[b].right += other->bin[b].right;
        c->bin[b].confidence += other->bin[b].confidence;
    }
}

double mo_calibration_ece(const mo_calibration *c) {
    double sum = 0;
    for (int b = 0; b < MO_ECE_BINS; b++)
        sum += fabs((double)c->bin[b].right - c->bin[b].confidence);
    return c->n > 0 ? sum / (double)c->n : NAN;
}

/* The cross-entropy f(beta) = mean_i (log sum_c exp(beta x_ic) - beta sum_c t_ic x_ic) is convex in beta = 1 / T:
 *     f'  = mean_i (E_p x - E_t x),   f'' = mean_i Var_p x,   p = softmax(beta x), t the (smoothed) target. */
typedef struct problem {
    const double *logits;
    const int64_t *label;
    int64_t n, classes;
    double smoothing;
} problem;

typedef struct at_beta {
    double f, slope, curvature;
} at_beta;

static at_beta evaluate(const problem *q, double beta) {
    at_beta sum = {0};
    for (int64_t i = 0; i < q->n; i++) {
        const double *x = q->logits + i * q->classes;
        double x_max = x[first_largest(x, q->classes)], z = 0, mean = 0, square = 0, plain = 0;
        for (int64_t c = 0; c < q->classes; c++) {
            double centred = x[c] - x_max, e = exp(beta * centred);
            z += e;
            mean += e * centred;
            square += e * centred * centred;
            plain += centred;
        }
        mean /= z;
        double target = (1 - q->smoothing) * (x[q->label[i]] - x_max) + q->smoothing * plain / (double)q->classes;
        sum.f += log(z) - beta * target;
        sum.slope += mean - target;
        sum.curvature += square / z - mean * mean;
    }
    double n = (double)q->n;
    return (at_beta){sum.f / n, sum.slope / n, sum.curvature / n};
}

/* The largest distance of two logits of a row. */
static double spread_of(const problem *q) {
    double spread = 0;
    for (int64_t i = 0; i < q->n; i++) {
        const double *x = q->logits + i * q->classes;
        double x_max = x[first_largest(x, q->classes)];
        for (int64_t c = 0; c < q->classes; c++)
            spread = fmax(spread, x_max - x[c]);
    }
    return spread;
}

/* Newton's method, held in a shrinking interval on which f' changes sign; a step out of it becomes a bisection of
 * log beta. An end of the interval where f' does not change sign. */
static double least_beta(const problem *q, double low, double high) {
    if (evaluate(q, low).slope >= 0)
        return low;
    if (evaluate(q, high).slope <= 0)
        return high;
    double beta = sqrt(low * high);
    for (int step = 0; step < 200 && high > low * (1 + 1e-14); step++) {
        at_beta at = evaluate(q, beta);
        *(at.slope > 0 ? &high : &low) = beta;
        double next = beta - at.slope / at.curvature;
        if (!(next > low && next < high))
            next = sqrt(low * high);
        if (at.slope == 0 || fabs(next - beta) <= 1e-14 * beta)
            break;
        beta = next;
    }
    return beta;
}

double mo_fit_temperature(
    const double *logits, const int64_t *label, int64_t n, int64_t classes, double smoothing, double *nll) {
    problem q = {logits, label, n, classes, smoothing};
    double spread = spread_of(&q), beta = 1;
    if (spread > 0 && isfinite(spread))
        beta = least_beta(&q, 1e-4 / spread, 1e4 / spread);
    if (nll)
        *nll = n > 0 ? evaluate(&q, beta).f : NAN;
    return 1 / beta;
}
