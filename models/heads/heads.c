/* models/heads/heads.c - the heads of the library, and what several of them compute. */
#include "models/heads/heads.h"
#include "models/inside.h"
#include "tensor/library.h"

#include <stdlib.h>
#include <string.h>

const mo_head *mo_head_at(int i) {
    static const mo_head *const heads[] = {
        &mo_head_ridge,
        &mo_head_mixture,
        &mo_head_ridge_intercept,
        &mo_head_prototype_inner,
        &mo_head_prototype_euclidean,
        &mo_head_prototype_cosine,
        &mo_head_prototype_centred,
        &mo_head_logistic,
        &mo_head_logistic_penalised,
        &mo_head_svm,
        &mo_head_lda,
        &mo_head_mlp,
    };
    return i >= 0 && (size_t)i < sizeof heads / sizeof *heads ? heads[i] : NULL;
}

const mo_head *mo_find_head(const char *name) {
    const mo_head *head;
    for (int i = 0; name && (head = mo_head_at(i)); i++)
        if (!strcmp(head->name, name))
            return head;
    return NULL;
}

bool mo_head_is_own(const mo_head *head) {
    return head && mo_find_head(head->name) != head;
}

bool mo_head_has(const mo_head *head, const char *parameter) {
    bool has = false;
    for (int i = 0; head && parameter && i < head->n_parameters; i++)
        has |= !strcmp(head->parameters[i].name, parameter);
    return has;
}

mo_tensor *mo_mean_weights(mo_tape *t, mo_tensor *weight) {
    mo_tensor *w = weight ? mo_div(t, weight, mo_mean(t, weight, MO_AXIS(-1), MO_KEEP_AXES)) : NULL;
    return w ? mo_with_axis(t, w, MO_AXIS(-1), 1) : NULL;
}

mo_tensor *mo_mean_of_rows(mo_tape *t, mo_tensor *X, mo_tensor *weights) {
    return mo_mean(t, weights ? mo_mul(t, X, weights) : X, MO_AXIS(-2), MO_KEEP_AXES);
}

mo_tensor *mo_weighted_labels(mo_tape *t, mo_tensor *Ys, mo_tensor *weight) {
    return weight ? mo_mul(t, Ys, mo_with_axis(t, weight, MO_AXIS(-1), 1)) : Ys;
}

mo_tensor *mo_rows_of_groups(mo_tape *t, mo_tensor *X, const int64_t *row, int64_t groups, int64_t h) {
    if (mo_is_null(X))
        return X;
    mo_tensor *rows = mo_gather_rows(t, X, mo_from(t, MO_I64, 1, (int64_t[]){groups * h}, row));
    return mo_reshape(t, rows, 3, (int64_t[]){groups, h, mo_dim(X, 1)});
}

mo_tensor *mo_rows_outside(mo_tape *t, const mo_tensor *Y, const int64_t *row, int64_t groups, int64_t h) {
    int64_t n = mo_dim(Y, 0);
    double *x = mo_host_array(mo_tape_context(t), groups * n, sizeof *x);
    for (int64_t i = 0; x && i < groups * n; i++)
        x[i] = 1;
    for (int64_t i = 0; x && i < groups * h; i++)
        x[i / h * n + row[i]] = 0;
    mo_tensor *X = x ? mo_from(t, MO_F64, 3, (int64_t[]){groups, n, 1}, x) : mo_null_tensor(mo_tape_context(t));
    free(x);
    return mo_cast(t, X, mo_tensor_dtype(Y));
}

mo_tensor *mo_rows_of_each(mo_tape *t, mo_tensor *X, const int64_t *row, int64_t groups, int64_t h) {
    int64_t *at = mo_host_array(mo_tape_context(t), groups * h, sizeof *at);
    for (int64_t i = 0; at && i < groups * h; i++)
        at[i] = i / h * mo_dim(X, 1) + row[i];
    mo_tensor *rows =
        at && !mo_is_null(X) ? mo_reshape(t, mo_contiguous(t, X), 2, (int64_t[]){-1, mo_dim(X, 2)}) : NULL;
    rows = rows ? mo_rows_of_groups(t, rows, at, groups, h) : mo_null_tensor(mo_tape_context(t));
    free(at);
    return rows;
}

double mo_least(mo_tape *t, mo_tensor *X) {
    return -mo_item(mo_max(t, mo_neg(t, mo_stop_gradient(t, X)), MO_ALL, MO_DROP_AXES));
}

mo_tensor *mo_root_columns(mo_tape *t, mo_tensor *weight) {
    if (mo_needs_grad(weight)) { /* the derivative of a root at 0 is infinite */
        mo_tensor *zero = mo_scalar(t, mo_tensor_dtype(weight), 0), *one = mo_scalar(t, mo_tensor_dtype(weight), 1);
        mo_tensor *root = mo_sqrt(t, mo_where(t, weight, weight, one));
        return mo_with_axis(t, mo_where(t, weight, root, zero), MO_AXIS(-1), 1);
    }
    return mo_with_axis(t, mo_sqrt(t, weight), MO_AXIS(-1), 1);
}

void mo_divide_weights(mo_tape *t, mo_tensor *Wb, mo_tensor **W, mo_tensor **b) {
    *W = *b = Wb;
    if (mo_is_null(Wb))
        return;
    int rows = mo_ndim(Wb) - 2;
    int64_t d = mo_dim(Wb, -2) - 1;
    *W = mo_slice(t, Wb, MO_AXIS(rows), 0, d);
    *b = mo_slice(t, Wb, MO_AXIS(rows), d, d + 1);
}

mo_tensor *mo_join_weights(mo_tape *t, mo_tensor *W, mo_tensor *b) {
    if (mo_is_null(W) || mo_is_null(b))
        return mo_null_tensor(mo_tape_context(t));
    return mo_concat(t, (mo_tensor *[]){W, b}, 2, MO_AXIS(mo_ndim(W) - 2));
}

int64_t mo_rank(mo_tape *t, mo_tensor *A) {
    mo_tensor *w, *V;
    mo_eigh(t, mo_stop_gradient(t, A), &w, &V);
    mo_axes last = MO_AXIS(-1);
    double unit = mo_tensor_dtype(A) == MO_F32 ? 0x1p-23 : 0x1p-52;
    mo_tensor *bound = mo_scale(t, mo_max(t, mo_abs(t, w), last, MO_KEEP_AXES), unit * (double)mo_dim(A, -1), 1e-300);
    mo_tensor *count = mo_sum(t, mo_greater_equal(t, w, bound), last, MO_DROP_AXES);
    mo_tensor *fewest = mo_neg(t, mo_max(t, mo_neg(t, count), MO_ALL, MO_DROP_AXES));
    return mo_ok(mo_tape_context(t)) ? (int64_t)mo_item(fewest) : -1;
}
