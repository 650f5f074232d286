/* models/heads/folds.c - folds of a support as views. */
#include "models/heads/folds.h"

mo_tensor *mo_fold_rows(mo_tape *t, mo_tensor *X, const mo_folds *folds, int f) {
    if (mo_is_null(X))
        return X;
    int axis = mo_ndim(X) - 2;
    return mo_slice(t, X, axis, mo_fold_start(folds, f), f < folds->n ? folds->stop[f] : mo_dim(X, axis));
}

mo_tensor *mo_fold_concat(mo_tape *t, mo_tensor *const *rows, const mo_folds *folds) {
    return mo_is_null(rows[0]) ? rows[0] : mo_concat(t, rows, folds->n, mo_ndim(rows[0]) - 2);
}
