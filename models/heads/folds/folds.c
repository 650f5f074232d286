/* models/heads/folds/folds.c - the rows inside and outside a fold of the support. */
#include "models/heads/folds/folds.h"

mo_tensor *mo_fold_rows(mo_tape *t, mo_tensor *X, const mo_folds *folds, int f) {
    if (mo_is_null(X))
        return X;
    int axis = mo_ndim(X) - 2;
    return mo_slice(t, X, MO_AXIS(axis), mo_fold_start(folds, f), f < folds->n ? folds->stop[f] : mo_dim(X, axis));
}

mo_tensor *mo_fold_concat(mo_tape *t, mo_tensor *const *rows, const mo_folds *folds) {
    return mo_is_null(rows[0]) ? rows[0] : mo_concat(t, rows, folds->n, MO_AXIS(mo_ndim(rows[0]) - 2));
}

static mo_tensor *outside(mo_tape *t, mo_tensor *X, const mo_folds *folds, int f) {
    if (mo_is_null(X))
        return X;
    int axis = mo_ndim(X) - 2;
    mo_tensor *above = mo_slice(t, X, MO_AXIS(axis), 0, mo_fold_start(folds, f));
    mo_tensor *below = mo_slice(t, X, MO_AXIS(axis), folds->stop[f], mo_dim(X, axis));
    return mo_concat(t, (mo_tensor *[]){above, below}, 2, MO_AXIS(axis));
}

mo_tensor *mo_refit_folds(mo_tape *t, mo_head_logits logits, mo_tensor *Zs, mo_tensor *Ys, mo_tensor *Zq,
    mo_tensor *const *parameters, const mo_folds *folds, mo_tensor **held) {
    mo_tensor *rows[MO_MAX_FOLDS];
    for (int f = 0; f < folds->n; f++)
        rows[f] =
            logits(t, outside(t, Zs, folds, f), outside(t, Ys, folds, f), mo_fold_rows(t, Zs, folds, f), parameters);
    *held = mo_fold_concat(t, rows, folds);
    return logits(t, Zs, Ys, Zq, parameters);
}
