/* models/episode.c - the tensors of an episode, found by name by the encoders that read them. */
#include "models/model.h"
#include "tensor/library.h"

#include <string.h>

const char *mo_task_name(mo_task task) {
    static const char *const names[MO_TASKS] = {"nc", "lp", "gc"};
    return (unsigned)task < MO_TASKS ? names[task] : "unknown";
}

/* The rows of X at `index`. */
static mo_tensor *gather_indexed(mo_tape *t, mo_tensor *X, mo_tensor *index) {
    mo_context *ctx = mo_tape_context(t);
    if (mo_ok(ctx) && (mo_ndim(X) != 3 || mo_ndim(index) != 2 || mo_dim(index, 0) != mo_dim(X, 0))) {
        char rows[160], at[160];
        mo_fail(ctx, MO_INVALID, "episode: rows %s with an index %s, expected [K, n, d] and [K, N]",
            mo_shape_string(X, rows, sizeof rows), mo_shape_string(index, at, sizeof at));
    }
    if (!mo_ok(ctx))
        return mo_null_tensor(ctx);
    int64_t K = mo_dim(X, 0), N = mo_dim(index, 1), d = mo_dim(X, 2);
    mo_tensor *flat = mo_reshape(t, X, 2, (int64_t[]){K * mo_dim(X, 1), d});
    index = mo_reshape(t, mo_contiguous(t, index), 1, (int64_t[]){K * N});
    return mo_reshape(t, mo_gather_rows(t, flat, index), 3, (int64_t[]){K, N, d});
}

mo_tensor *mo_episode_rows(mo_tape *t, const mo_episode *e, const char *name) {
    mo_context *ctx = mo_tape_context(t);
    if (!mo_given(ctx, "episode", "the episode", e) || !mo_given(ctx, "episode", "the name of rows", name))
        return mo_null_tensor(ctx);
    for (int i = 0; i < e->n_rows; i++)
        if (!strcmp(e->rows[i].name, name))
            return e->rows[i].index ? gather_indexed(t, e->rows[i].tensor, e->rows[i].index) : e->rows[i].tensor;
    mo_fail(ctx, MO_INVALID, "episode: no rows named \"%s\", which the encoder reads, among its %d", name, e->n_rows);
    return mo_null_tensor(ctx);
}

static mo_tensor *examples_of(mo_tape *t, mo_tensor *Z, mo_tensor *const index[2]) {
    mo_tensor *X = mo_gather_rows(t, Z, index[0]);
    return index[1] ? mo_mul(t, X, mo_gather_rows(t, Z, index[1])) : X;
}

void mo_episode_examples(
    mo_tape *t, const mo_episode *e, mo_tensor *Z, bool of_examples, mo_tensor **Zs, mo_tensor **Zq) {
    mo_context *ctx = mo_tape_context(t);
    *Zs = *Zq = mo_null_tensor(ctx);
    if (!mo_ok(ctx))
        return;
    if (!of_examples && e->support[0]) {
        *Zs = examples_of(t, Z, e->support);
        *Zq = examples_of(t, Z, e->query);
        return;
    }
    int rows = mo_ndim(Z) - 2;
    int64_t n_s = mo_numel(e->support_label), n = mo_dim(Z, rows);
    *Zs = mo_slice(t, Z, MO_AXIS(rows), 0, n_s);
    *Zq = mo_slice(t, Z, MO_AXIS(rows), n_s, n);
}

mo_support mo_episode_support(mo_tape *t, const mo_episode *e, const mo_head *head, mo_tensor *Zs) {
    mo_dtype real = mo_tensor_dtype(Zs);
    bool weighted = head->leaves_out && e->support_weight;
    return (mo_support){.Zs = Zs,
        .Ys =
            e->support_target ? mo_cast(t, e->support_target, real) : mo_one_hot(t, e->support_label, e->classes, real),
        .weight = weighted ? mo_cast(t, e->support_weight, real) : NULL,
        .targets = e->support_target,
        .complete = true};
}

mo_tensor *mo_episode_find(const mo_episode *e, const char *name) {
    for (int i = 0; i < e->n_rows; i++)
        if (!strcmp(e->rows[i].name, name))
            return e->rows[i].tensor;
    return NULL;
}
