/* models/heads/transduce.h - what both forms of self-training share: the support's labels among all rows, and balanced
 * predictions (library internal). */
#ifndef MO_TRANSDUCE_H
#define MO_TRANSDUCE_H

#include "models/inside.h"

/* Of N rows: how often each is in the support [N, 1], its label [N, C], 0 elsewhere, and 1 where it is there [N, 1]. */
typedef struct mo_placed_labels {
    mo_tensor *times, *Y, *mine;
} mo_placed_labels;

/* support: row numbers [n_s], Ys [n_s, C]; a row drawn twice has one label. */
mo_placed_labels mo_place_labels(mo_tape *t, mo_tensor *support, mo_tensor *Ys, int64_t N);
/* softmax(sharpness logits) [N, C], its columns scaled to equal sums, then its rows to 1, with the support's labels. */
mo_tensor *mo_balanced_predictions(mo_tape *t, const mo_placed_labels *labels, mo_tensor *logits, mo_tensor *sharpness);
/* Geometric mean of the penalties, weighed by their shares, of the same shape: a scalar. */
mo_tensor *mo_mean_lambda(mo_tape *t, mo_tensor *lambda, mo_tensor *share);

#endif
