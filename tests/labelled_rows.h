/* tests/labelled_rows.h - embeddings of known classes. */
#ifndef LABELLED_ROWS_H
#define LABELLED_ROWS_H

#include "scratch.h"
#include "train/inside.h"

enum { N = 60, D = 20, C = 3 };

/* Returns rows z [n, d] with labels y [n]. */
static inline mo_embeddings *embeddings_of(
    mo_context *ctx, mo_dtype real, int64_t n, int64_t d, const double *z, const int64_t *y) {
    HELD(mo_tensor) *wide = mo_tensor_create_from(ctx, MO_F64, 2, (int64_t[]){n, d}, z);
    HELD(mo_tensor) *Z = mo_tensor_create(ctx, real, 2, (int64_t[]){n, d});
    HELD(mo_tensor) *label = mo_tensor_create_from(ctx, MO_I64, 1, &n, y);
    mo_tensor_copy(Z, wide);
    mo_embeddings *E = mo_embeddings_create(Z, label, "made");
    assert_non_null(E);
    return E;
}

/* Writes a list of the numbers 0 .. n - 1. */
static inline const char *write_first(scratch *s, int n) {
    char text[1024] = "";
    for (int i = 0; i < n; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%d\n", i);
    return scratch_write(s, "train.txt", text, strlen(text));
}

/* Draws N rows around C centres; row i has class i % C, and the labels of the classes are 10, 3, 7. */
static inline mo_embeddings *make(scratch *s, mo_dtype real, double noise) {
    static const int64_t names[C] = {10, 3, 7};
    double z[N * D];
    int64_t y[N];
    mo_random r = mo_random_at(5, MO_PURPOSE_CHECK, 0);
    for (int i = 0; i < N; i++) {
        y[i] = names[i % C];
        for (int k = 0; k < D; k++)
            z[i * D + k] = (k == i % C ? 2 : 0) + noise * mo_random_normal(&r);
    }
    return embeddings_of(s->ctx, real, N, D, z, y);
}

/* Few-shot problems of the rows, as `mochi fit` measures heads on them. */
static inline mo_eval_options usual_problems(int64_t episodes) {
    static const int64_t four[] = {4};
    return (mo_eval_options){.protocol = MO_PROTOCOL_EPISODE,
        .n_shots = 1,
        .shots = four,
        .episodes = episodes,
        .queries = 5,
        .hold_out = true};
}

/* Evaluates n heads with this scaling; lambda (NULL: its own) is that of each. */
static inline mo_code evaluate_heads(const mo_embeddings *E, const mo_head *const *heads, int n, const double *lambda,
    mo_scaling scaling, const mo_eval_options *o, mo_eval_visit visit, void *state) {
    mo_candidate c[8];
    assert_in_range(n, 1, 8);
    for (int i = 0; i < n; i++)
        c[i] = (mo_candidate){.features = "rows",
            .head = heads[i],
            .fixed = lambda,
            .value = lambda ? *lambda : 0,
            .scaling = scaling,
            .seed = o->seed};
    return mo_evaluate(mo_tensor_context(E->Z), E->source, c, n, o, visit, state);
}

#endif
