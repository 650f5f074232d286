/* tests/labelled_rows.h - embeddings of known classes. */
#ifndef LABELLED_ROWS_H
#define LABELLED_ROWS_H

#include "scratch.h"
#include "train/inside.h"

enum { N = 60, D = 20, C = 3 };

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
    mo_tensor *wide = mo_tensor_create_from(s->ctx, MO_F64, 2, (int64_t[]){N, D}, z);
    mo_tensor *Z = mo_tensor_create(s->ctx, real, 2, (int64_t[]){N, D});
    mo_tensor *label = mo_tensor_create_from(s->ctx, MO_I64, 1, (int64_t[]){N}, y);
    mo_tensor_copy(Z, wide);
    mo_embeddings *E = mo_embeddings_create(Z, label, "made");
    mo_tensor_release(wide);
    mo_tensor_release(Z);
    mo_tensor_release(label);
    assert_non_null(E);
    return E;
}

#endif
