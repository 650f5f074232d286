/* train/evaluation/calibration.c - compares class probabilities with labels: accuracy, cross-entropy, Brier score,
 * expected calibration error. All in float64. */
#include "train/metrics.h"

#include <math.h>

int64_t mo_first_largest(const double *x, int64_t n) {
    int64_t best = 0;
    for (int64_t c = 1; x && c < n; c++)
        if (x[c] > x[best])
            best = c;
    return best;
}

void mo_softmax_logits(double *logits, int64_t n, double temperature) {
    if (!logits || n < 1)
        return;
    double most = logits[mo_first_largest(logits, n)], sum = 0;
    for (int64_t c = 0; c < n; c++)
        sum += logits[c] = exp((logits[c] - most) / temperature);
    for (int64_t c = 0; c < n; c++)
        logits[c] /= sum;
}

/* Bins include their upper end: a confidence of 1 is in the last bin. */
static int bin_of(double confidence) {
    int bin = (int)ceil(confidence * MO_ECE_BINS) - 1;
    return bin < 0 ? 0 : bin >= MO_ECE_BINS ? MO_ECE_BINS - 1 : bin;
}

/* One exponential per class: with e_c = exp((x_c - x_max) / T) and z = sum e_c, the largest probability is 1 / z and
 * |p - one-hot|^2 = sum e_c^2 / z^2 - 2 p_label + 1. */
void mo_calibration_add(
    mo_calibration *c, const double *logits, const int64_t *label, int64_t n, int64_t classes, double temperature) {
    if (!c || !logits || !label)
        return;
    for (int64_t i = 0; i < n; i++) {
        const double *x = logits + i * classes;
        int64_t best = mo_first_largest(x, classes);
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
    if (!c || !other)
        return;
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
    if (!c)
        return NAN;
    double sum = 0;
    for (int b = 0; b < MO_ECE_BINS; b++)
        sum += fabs((double)c->bin[b].right - c->bin[b].confidence);
    return c->n > 0 ? sum / (double)c->n : NAN;
}
