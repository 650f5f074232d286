/* models/heads/folds/folds.h - folds of a support as views (library internal). */
#ifndef MO_HEAD_FOLDS_H
#define MO_HEAD_FOLDS_H

#include "models/inside.h"

static inline int64_t mo_fold_start(const mo_folds *folds, int f) {
    return f ? folds->stop[f - 1] : 0;
}

/* The rows of fold f, of X [.., n_s, columns]; f = folds->n: the rows after the last fold. */
mo_tensor *mo_fold_rows(mo_tape *t, mo_tensor *X, const mo_folds *folds, int f);
/* Rows of every fold, below one another. */
mo_tensor *mo_fold_concat(mo_tape *t, mo_tensor *const *rows, const mo_folds *folds);

/* A mo_head_cross_validate by a head's logits: one fit without each fold, one by one. */
mo_tensor *mo_refit_folds(mo_tape *t, mo_head_logits logits, mo_tensor *Zs, mo_tensor *Ys, mo_tensor *Zq,
    mo_tensor *const *parameters, const mo_folds *folds, mo_tensor **held);

/* ridge_folds.c: mo_head_cross_validate of the head ridge. */
mo_tensor *mo_ridge_cross_validate(mo_tape *t, mo_tensor *Zs, mo_tensor *Ys, mo_tensor *Zq,
    mo_tensor *const *parameters, const mo_folds *folds, mo_tensor **held);

#endif
