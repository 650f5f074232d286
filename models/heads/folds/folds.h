/* models/heads/folds/folds.h - cross-validation of heads over folds of consecutive support rows (library internal). */
#ifndef MO_HEAD_FOLDS_H
#define MO_HEAD_FOLDS_H

#include "models/inside.h"

static inline int64_t mo_fold_start(const mo_folds *folds, int f) {
    return f ? folds->stop[f - 1] : 0;
}

/* Rows of X [.., n_s, columns] in fold f; f = folds->n gives the rows after the last fold. */
mo_tensor *mo_fold_rows(mo_tape *t, mo_tensor *X, const mo_folds *folds, int f);
/* Concatenates the rows of all folds in order. */
mo_tensor *mo_fold_concat(mo_tape *t, mo_tensor *const *rows, const mo_folds *folds);

/* Cross-validates a head by its `logits`: one fit per fold, on the rows outside it (mo_head_cross_validate). */
mo_tensor *mo_refit_folds(mo_tape *t, mo_head_logits logits, mo_tensor *Zs, mo_tensor *Ys, mo_tensor *Zq,
    mo_tensor *const *parameters, const mo_folds *folds, mo_tensor **held);

/* The cross_validate function of the head ridge (ridge_folds.c). */
mo_tensor *mo_ridge_cross_validate(mo_tape *t, mo_tensor *Zs, mo_tensor *Ys, mo_tensor *Zq,
    mo_tensor *const *parameters, const mo_folds *folds, mo_tensor **held);

#endif
