/* train/evaluation/ranking.c - how logits rank the classes of predictions: top-k accuracy, and the area under the curve
 * of each class against the rest. */
#include "train/metrics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void mo_ranking_merge(mo_ranking *r, const mo_ranking *other) {
    if (!r || !other)
        return;
    r->n += other->n;
    r->top += other->top;
    r->auc += other->auc;
    r->problems += other->problems;
}

/* How many classes come before the label: with a larger logit, or with an equal one and a smaller number. */
static int64_t rank_of_label(const double *logits, int64_t classes, int64_t label) {
    int64_t before = 0;
    for (int64_t c = 0; c < classes; c++)
        before += logits[c] > logits[label] || (logits[c] == logits[label] && c < label);
    return before;
}

bool mo_ranking_add(mo_ranking *r, const double *logits, const int64_t *label, int64_t n, int64_t classes) {
    if (!r || !logits || !label || n < 1 || classes < 1)
        return false;
    double *p = malloc((size_t)(n * classes) * sizeof *p), *side = malloc(2 * (size_t)n * sizeof *side), sum = 0;
    int64_t both = 0;
    bool fine = p && side;
    for (int64_t i = 0; p && side && i < n; i++) {
        memcpy(p + i * classes, logits + i * classes, (size_t)classes * sizeof *p);
        mo_softmax_logits(p + i * classes, classes, 1);
        r->n++;
        r->top += rank_of_label(logits + i * classes, classes, label[i]) < MO_TOP;
    }
    for (int64_t c = 0; p && side && c < classes; c++) {
        int64_t own = 0, others = 0;
        for (int64_t i = 0; i < n; i++)
            *(label[i] == c ? side + own++ : side + n + others++) = p[i * classes + c];
        double metric[MO_LINK_METRICS];
        if (own && others) {
            mo_measure_links((mo_scores){side, own, side + n, others}, 1, 1, metric);
            sum += metric[MO_AUC];
            fine &= !isnan(metric[MO_AUC]); /* which lacked memory */
            both++;
        }
    }
    if (both) {
        r->auc += sum / (double)both;
        r->problems++;
    }
    free(p);
    free(side);
    return fine;
}
