/* train/few_shot/few_shot_held_out.c - what the labelled examples say of a readout that has not seen them: its accuracy
 * and the temperature of its probabilities.
 *
 * One example of every class is left out at a time: fold j holds the j-th example of each class that has another one,
 * so that every fit stays as balanced as the labels are; there are as many folds as the largest class has examples, at
 * most 64 (then fold j holds every 64th). The accuracy is the mean over classes of the share that is right. Its 95%
 * interval is Wilson's (1927) for as many trials as examples were held out. The temperature minimises the held-out
 * cross-entropy with Platt's targets (mo_fit_temperature). Predictions play no part. */
#include "train/few_shot/few_shot.h"

#include "tensor/host_array.h"

#include <math.h>
#include <stdlib.h>

enum { MOST_FOLDS = 64 };

/* Examples of one fold and the others; room for all. */
typedef struct partition {
    int64_t *id, *label, *held, *at; /* at: where in f->id a held example stands */
    int64_t n, n_held;
} partition;

/* Splits the labelled examples, which lie class by class, at fold j. */
static void few_shot_split(const mo_few_shot *f, const int64_t *count, int64_t j, partition *p) {
    p->n = p->n_held = 0;
    for (int64_t i = 0, within = 0; i < f->n; i++, within++) {
        if (i > 0 && f->label[i] != f->label[i - 1])
            within = 0;
        if (within % MOST_FOLDS == j && count[f->label[i]] > 1) {
            p->at[p->n_held] = i;
            p->held[p->n_held++] = f->id[i];
        } else {
            p->label[p->n] = f->label[i];
            p->id[p->n++] = f->id[i];
        }
    }
}

/* Wilson's interval of a share at 95%. */
static void wilson(double share, int64_t n, double interval[2]) {
    const double z = 1.959963984540054, m = (double)n;
    double centre = (share + z * z / (2 * m)) / (1 + z * z / m);
    double half = z / (1 + z * z / m) * sqrt(share * (1 - share) / m + z * z / (4 * m * m));
    interval[0] = fmax(0, centre - half);
    interval[1] = fmin(1, centre + half);
}

/* The estimate from held-out logits [n, classes], which it moves together; NaN rows were not held out. */
static void few_shot_judge(mo_few_shot *f, double *logits, const int64_t *count, int64_t *label) {
    int64_t C = f->classes, held = 0, classes = 0;
    double share = 0;
    for (int64_t c = 0, i = 0; c < C; c++) {
        int64_t right = 0, n = 0;
        for (int64_t end = i + count[c]; i < end; i++)
            if (!isnan(logits[i * C])) {
                for (int64_t j = 0; j < C; j++)
                    logits[held * C + j] = logits[i * C + j];
                label[held] = c;
                right += mo_first_largest(logits + held * C, C) == c;
                held++, n++;
            }
        share += n ? (double)right / (double)n : 0;
        classes += n > 0;
        f->estimate.small_classes += count[c] < 2;
    }
    f->estimate.held_out = held;
    f->estimate.accuracy = f->estimate.low = f->estimate.high = NAN;
    if (!held)
        return;
    double interval[2];
    f->estimate.accuracy = share / (double)classes;
    wilson(f->estimate.accuracy, held, interval);
    f->estimate.low = interval[0];
    f->estimate.high = interval[1];
    f->temperature = mo_fit_temperature(logits, label, held, C, mo_platt_smoothing(held, C), NULL);
}

static bool few_shot_hold_folds(mo_few_shot *f, const int64_t *count, partition *p, double *logits, double *buffer) {
    int64_t C = f->classes;
    for (int64_t i = 0; i < f->n * C; i++)
        logits[i] = NAN;
    for (int64_t j = 0; j < MOST_FOLDS; j++) {
        few_shot_split(f, count, j, p);
        if (!p->n_held)
            break;
        mo_few_shot_support rest = {p->id, p->label, p->n, C};
        bool found = mo_few_shot_read(f, &rest, p->held, p->n_held, buffer) == MO_OK;
        for (int64_t i = 0; found && i < p->n_held * C; i++)
            logits[p->at[i / C] * C + i % C] = buffer[i];
        if (!mo_forgive(f->ctx, MO_NUMERICAL)) /* a fit without a solution leaves its examples out of the estimate */
            return false;
    }
    return true;
}

mo_code mo_few_shot_hold_out(mo_few_shot *f) {
    int64_t *numbers = mo_host_array(f->ctx, 5 * f->n + f->classes, sizeof *numbers);
    double *logits = mo_host_array(f->ctx, 2 * f->n * f->classes, sizeof *logits);
    if (numbers && logits) {
        partition p = {numbers, numbers + f->n, numbers + 2 * f->n, numbers + 3 * f->n, 0, 0};
        int64_t *label = numbers + 4 * f->n, *count = numbers + 5 * f->n;
        for (int64_t i = 0; i < f->n; i++)
            count[f->label[i]]++;
        f->estimate = (mo_few_shot_estimate){.classes = f->classes, .labelled = f->n};
        if (few_shot_hold_folds(f, count, &p, logits, logits + f->n * f->classes))
            few_shot_judge(f, logits, count, label);
        f->estimate.temperature = f->temperature;
    }
    free(numbers);
    free(logits);
    return mo_context_status(f->ctx)->code;
}
