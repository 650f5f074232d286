/* train/few_shot/few_shot_held_out.c - estimates accuracy and temperature by fits that hold labelled examples out.
 *
 * One example of every class is left out at a time: fold j holds the j-th example of each class that has another one,
 * so that every fit stays as balanced as the labels are. There are as many folds as the largest class has examples, but
 * at most 64; beyond that, fold j holds every 64th example of a class. If centres stand for a large support, or the
 * readout is transductive, there are at most 8 folds, because such a fit takes seconds and loses little without an
 * eighth of its labels. The accuracy is averaged over classes.
 *
 * Each fit lacks one label per class, which matters if a class has few. So, with 3 to 8 labels per class, fits without
 * two per class follow, and the accuracy is extrapolated to all k labels by assuming the error a + b / k. From k - 1 to
 * k labels this error falls by (k - 2) / k times its fall from k - 2 to k - 1 labels.
 *
 * The 95% interval is Wilson's (1927) for fewer trials than examples were held out, since the folds share most of their
 * examples, so that their errors vary together. No estimate of that covariance is unbiased (Bengio and Grandvalet
 * 2004); the factor below is measured (train/evaluation/RESULTS.md): at least 90 of 100 intervals then contain the
 * accuracy on the unlabelled examples. The temperature minimises the held-out cross-entropy with Platt's targets
 * (mo_fit_temperature). A mixture of kernels keeps the temperatures that it has fitted to all labels itself. The
 * estimate does not change the predicted classes.
 *
 * A set of classes that holds the right one with probability P (split conformal prediction: Vovk, Gammerman, Shafer
 * 2005; by left-out fits: Barber et al. 2021): with n held-out scores 1 - p(label), rising, it has the classes whose
 * score is at most the ceil((n + 1) P)-th; every class if there are too few scores. The labels of a fold are fitted
 * with one label per class less than those that predict, so the sets are rather too large; where labels are drawn
 * otherwise than the examples that are predicted, as with equally many per class, nothing is guaranteed. */
#include "tensor/library.h"
#include "tensor/objects.h"
#include "train/episodes/episode_kernels.h"
#include "train/features/example_kernels.h"
#include "train/features/feature_memory.h"
#include "train/few_shot/few_shot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_FOLDS = 64, FOLDS_OF_MANY = 8, LEAST_CORRECTED = 3, MOST_CORRECTED = 8 };

/* Held-out examples per independent trial. */
static const double shared = 1.6;
/* Nats per label by which a transductive readout can look worse and still be chosen. It looks worse than it is, because
 * its folds hold out an eighth of the labels, and the folds of the other readout only one label of each class. */
static const double tie = 0.02;

/* The held-out examples of one fold, and the n fitted ones (id, label); each array has room for all examples. */
typedef struct partition {
    int64_t *id, *label, *held, *at; /* at: positions of the held examples in f->id */
    int64_t n, n_held;
    int64_t folds; /* the most folds */
    bool whole;    /* the fit of all labelled examples gives the fits of the folds */
} partition;

/* Returns whether fold j holds example number `within` of a class with n examples; two: folds hold examples j and j + 1
 * (mod n). */
static bool few_shot_held(int64_t within, int64_t n, int64_t j, bool two, int64_t folds) {
    return two ? j < n && (within == j || within == (j + 1) % n) : n > 1 && within % folds == j;
}

/* Splits the labelled examples, which lie class by class, at fold j. */
static void few_shot_split(const mo_few_shot *f, const int64_t *count, int64_t j, bool two, partition *p) {
    p->n = p->n_held = 0;
    for (int64_t i = 0, within = 0; i < f->n; i++, within++) {
        if (i > 0 && f->label[i] != f->label[i - 1])
            within = 0;
        if (few_shot_held(within, count[f->label[i]], j, two, p->folds)) {
            p->at[p->n_held] = i;
            p->held[p->n_held++] = f->id[i];
        } else {
            p->label[p->n] = f->label[i];
            p->id[p->n++] = f->id[i];
        }
    }
}

/* Fits the readout to the examples outside the fold. Writes the logits of the fold's own examples: the readout's to
 * `logits`; to `hop` those of a fit to the features two hops away alone, or NaN. Returns whether it succeeded; a fit
 * without a solution leaves its examples out of the estimate. */
static bool few_shot_read_fold(mo_few_shot *f, const partition *p, double *logits, double *hop) {
    if (p->whole)
        return mo_few_shot_without(f, p->at, p->n_held, logits, hop) == MO_OK;
    mo_few_shot_support rest = {p->id, p->label, p->n, f->classes};
    for (int64_t i = 0; i < p->n_held * f->classes; i++)
        hop[i] = NAN;
    return mo_few_shot_read(f, &rest, p->held, p->n_held, logits) == MO_OK;
}

/* two: the accuracies of the readout, and of the features two hops away, if each fit lacks two labels of every class.
 * NaN if a class has fewer than LEAST_CORRECTED or more than MOST_CORRECTED labels, or a fit has no solution. */
static void few_shot_accuracy_without_two(
    mo_few_shot *f, const int64_t *count, partition *p, double *logits, double two[2]) {
    int64_t C = f->classes, most = 0;
    double share[2] = {0, 0}, *of[2] = {logits, logits + f->n * C};
    two[0] = two[1] = NAN;
    for (int64_t c = 0; c < C; c++) {
        if (count[c] < LEAST_CORRECTED || count[c] > MOST_CORRECTED)
            return;
        most = count[c] > most ? count[c] : most;
    }
    for (int64_t j = 0; j < most; j++) {
        few_shot_split(f, count, j, true, p);
        if (!few_shot_read_fold(f, p, of[0], of[1]))
            return;
        for (int64_t i = 0; i < p->n_held; i++)
            for (int r = 0; r < 2; r++) {
                int64_t c = f->label[p->at[i]];
                share[r] += mo_first_largest(of[r] + i * C, C) == c ? 0.5 / (double)count[c] : 0;
            }
    }
    for (int r = 0; r < 2; r++)
        two[r] = share[r] / (double)C;
}

/* The accuracy on held-out logits [n, classes], averaged over classes; NaN rows were not held out. */
static double few_shot_class_accuracy(const mo_few_shot *f, const double *logits, const int64_t *count) {
    int64_t C = f->classes, classes = 0;
    double share = 0;
    for (int64_t c = 0, i = 0; c < C; c++) {
        int64_t right = 0, n = 0;
        for (int64_t end = i + count[c]; i < end; i++) {
            n += !isnan(logits[i * C]);
            right += !isnan(logits[i * C]) && mo_first_largest(logits + i * C, C) == c;
        }
        share += n ? (double)right / (double)n : 0;
        classes += n > 0;
    }
    return classes ? share / (double)classes : NAN;
}

/* Extrapolates to all labels from the accuracies without one and without two labels per class. */
static double few_shot_extrapolate(const mo_few_shot *f, double one, double two) {
    double k = (double)f->n / (double)f->classes;
    return isnan(one) || isnan(two) ? one : fmin(1, fmax(0, one + (k - 2) / k * (one - two)));
}

/* Makes the estimate from held-out logits [2, n, classes]: [0] by the readout, [1] by the features two hops away. NaN
 * rows were not held out; moves the other rows together in place. two: the accuracies without two labels per class, or
 * NaN. */
static void few_shot_judge(mo_few_shot *f, double *logits, const double two[2], const int64_t *count, int64_t *label) {
    int64_t C = f->classes, held = 0;
    double one = few_shot_class_accuracy(f, logits, count), interval[2];
    f->estimate.baseline = few_shot_extrapolate(f, few_shot_class_accuracy(f, logits + f->n * C, count), two[1]);
    for (int64_t c = 0, i = 0; c < C; c++) {
        for (int64_t end = i + count[c]; i < end; i++)
            if (!isnan(logits[i * C])) {
                for (int64_t j = 0; j < C; j++)
                    logits[held * C + j] = logits[i * C + j];
                label[held++] = c;
            }
        f->estimate.small_classes += count[c] < 2;
    }
    f->estimate.held_out = held;
    f->estimate.accuracy = f->estimate.low = f->estimate.high = NAN;
    if (!held)
        return;
    f->estimate.accuracy = few_shot_extrapolate(f, one, two[0]);
    mo_wilson(f->estimate.accuracy, (double)held / shared, interval);
    f->estimate.low = interval[0];
    f->estimate.high = interval[1];
    if (!mo_few_shot_mixes_kernels(f))
        f->temperature = mo_fit_temperature(logits, label, held, C, mo_platt_smoothing(held, C), NULL);
    mo_calibration sums = {0};
    mo_calibration_add(&sums, logits, label, held, C, f->temperature);
    f->estimate.nll = sums.nll / (double)held;
    for (int64_t i = 0; i < held; i++) {
        mo_softmax_logits(logits + i * C, C, f->temperature);
        f->score[i] = 1 - logits[i * C + label[i]];
    }
    mo_sort_numbers(f->score, held);
}

double mo_few_shot_set_bound(const mo_few_shot *f, double coverage) {
    double n = f ? (double)f->estimate.held_out : 0, rank = ceil((n + 1) * coverage - 1e-9); /* 10 times 0.9 is 9 */
    if (!(coverage > 0 && coverage < 1) || rank > n)
        return 0;
    return 1 - f->score[(int64_t)rank - 1];
}

/* Fits every fold. logits, buffer [2, n, classes]: [0] by the readout, [1] by the features two hops away. */
static bool few_shot_hold_folds(mo_few_shot *f, const int64_t *count, partition *p, double *logits, double *buffer) {
    int64_t C = f->classes, all = f->n * C;
    for (int64_t i = 0; i < 2 * all; i++)
        logits[i] = NAN;
    for (int64_t j = 0; j < p->folds; j++) {
        few_shot_split(f, count, j, false, p);
        if (!p->n_held)
            break;
        bool found = few_shot_read_fold(f, p, buffer, buffer + all);
        for (int64_t i = 0; found && i < p->n_held * C; i++) {
            logits[p->at[i / C] * C + i % C] = buffer[i];
            logits[all + p->at[i / C] * C + i % C] = buffer[all + i];
        }
        if (!mo_clear_if(f->ctx, MO_NUMERICAL))
            return false;
    }
    return true;
}

/* Sets estimate and temperature for the current candidate. */
static mo_code few_shot_estimate(mo_few_shot *f) {
    int64_t *numbers = mo_host_array(f->ctx, 5 * f->n + f->classes, sizeof *numbers);
    double *logits = mo_host_array(f->ctx, 4 * f->n * f->classes, sizeof *logits);
    if (numbers && logits) {
        partition p = {numbers, numbers + f->n, numbers + 2 * f->n, numbers + 3 * f->n, 0, 0,
            mo_few_shot_reads_centres(f) || f->candidate.transductive ? FOLDS_OF_MANY : MOST_FOLDS,
            mo_few_shot_fit_whole(f)};
        int64_t *label = numbers + 4 * f->n, *count = numbers + 5 * f->n;
        for (int64_t i = 0; i < f->n; i++)
            count[f->label[i]]++;
        f->estimate = (mo_few_shot_estimate){.classes = f->classes,
            .labelled = f->n,
            .nll = NAN,
            .transductive = f->candidate.transductive,
            .other = NAN,
            .other_nll = NAN};
        f->temperature = 1;
        double *buffer = logits + 2 * f->n * f->classes, two[2];
        if (few_shot_hold_folds(f, count, &p, logits, buffer)) {
            few_shot_accuracy_without_two(f, count, &p, buffer, two);
            if (mo_clear_if(f->ctx, MO_NUMERICAL))
                few_shot_judge(f, logits, two, count, label);
        }
        f->estimate.temperature = f->temperature;
        mo_few_shot_forget_fit(f);
    }
    free(numbers);
    free(logits);
    return mo_context_status(f->ctx)->code;
}

/* Returns whether half of the memory that is left holds a transductive readout, whose kernels have a number for each
 * example and label, and whose logits have one for each example and class, in several arrays each: bytes per pair, as
 * measured (20,000 nodes, 500 and 1,500 classes). */
static bool few_shot_transduces(const mo_few_shot *f) {
    const double of_label = 90, of_class = 450;
    double labels = (double)(f->n < MO_MOST_CENTRES ? f->n : MO_MOST_CENTRES);
    double bytes = (double)mo_graph_examples(f->source.graph) * (of_label * labels + of_class * (double)f->classes);
    return bytes <= mo_memory_left(f->ctx) / 2;
}

mo_code mo_few_shot_hold_out(mo_few_shot *f) {
    bool fits = f->chooses && few_shot_transduces(f);
    if (f->chooses && !fits)
        f->candidate.transductive = MO_TRANSDUCTIVE_OFF;
    if (!fits)
        return few_shot_estimate(f);
    mo_few_shot_estimate e[2];
    double *without = f->score + f->n; /* the scores of the readout that is not transductive */
    for (int on = 0; on < 2; on++) {
        f->candidate.transductive = on;
        bool done = few_shot_estimate(f) == MO_OK;
        if (!done && on && f->ctx->memory && mo_clear_if(f->ctx, MO_MEMORY)) { /* it is larger than the bound */
            f->candidate.transductive = MO_TRANSDUCTIVE_OFF;
            return few_shot_estimate(f);
        }
        if (!done)
            return mo_code_of(f->ctx);
        e[on] = f->estimate;
        if (!on)
            memcpy(without, f->score, (size_t)f->n * sizeof *without);
    }
    bool alike = mo_example_kernels_assortativity(f->source.kernels) >= MO_ALIKE;
    int chosen = isnan(e[0].nll) ? alike : e[1].nll <= e[0].nll + tie; /* NaN: no label can be held out */
    f->candidate.transductive = chosen;
    f->estimate = e[chosen];
    f->estimate.baseline = e[0].baseline;
    f->estimate.other = e[!chosen].accuracy;
    f->estimate.other_nll = e[!chosen].nll;
    f->temperature = e[chosen].temperature;
    if (!chosen)
        memcpy(f->score, without, (size_t)f->n * sizeof *without);
    return MO_OK;
}
