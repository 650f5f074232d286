/* tests/op_variants.h - samples of ops in which one size is replaced, or whose inputs are laid out otherwise. */
#ifndef OP_VARIANTS_H
#define OP_VARIANTS_H

#include "tests/op_runs.h"

enum { NONE = -1 };

/* Random matrices are well conditioned only at moderate sizes. */
static const int64_t largest_matrix = 33;
static const int64_t most_elements = 12000;

/* A sample in whose inputs' shapes `to` replaces `from`. */
typedef struct variant {
    const mo_op *op;
    op_sample sample;
    int64_t from, to; /* from NONE: the sample's own sizes */
} variant;

static inline const char *variant_name(const variant *v, mo_dtype real) {
    static char text[256];
    int n = snprintf(text, sizeof text, "%s, sample \"%s\", %s", v->op->name, v->sample.name, mo_dtype_name(real));
    if (v->from != NONE)
        snprintf(text + n, sizeof text - (size_t)n, ", %lld as %lld", (long long)v->from, (long long)v->to);
    return text;
}

static inline bool is_matrix(const mo_sample_input *in) {
    return in->draw == MO_DRAW_SPD || in->draw == MO_DRAW_SYMMETRIC || in->draw == MO_DRAW_TRIANGULAR ||
           in->draw == MO_DRAW_GENERAL;
}

/* Replaces `from` by `to` everywhere. Returns false if a random matrix would become too large, or the sample would. */
static inline bool resize(variant *v) {
    int64_t total = 0;
    for (int i = 0; i < v->sample.n_in; i++) {
        mo_sample_input *in = &v->sample.in[i];
        for (int axis = 0; axis < in->ndim; axis++) {
            if (in->shape[axis] != v->from)
                continue;
            in->shape[axis] = v->to;
            if (is_matrix(in) && axis >= in->ndim - 2 && v->to > largest_matrix)
                return false;
        }
        if (in->limit == v->from && in->draw != MO_DRAW_DISTINCT)
            in->limit = v->to;
        if (in->draw == MO_DRAW_INDEX && in->limit == 0)
            for (int axis = 0; axis < in->ndim; axis++)
                in->shape[axis] = 0; /* no index is valid, so there are none */
        int64_t n = 1;
        for (int axis = 0; axis < in->ndim; axis++)
            n *= in->shape[axis];
        total += n;
    }
    return total <= most_elements;
}

/* The distinct sizes of a sample's inputs. */
static inline int sizes_of(const op_sample *s, int64_t *found) {
    int n = 0;
    for (int i = 0; i < s->n_in; i++)
        for (int axis = 0; axis < s->in[i].ndim; axis++) {
            int k = 0;
            while (k < n && found[k] != s->in[i].shape[axis])
                k++;
            if (k == n)
                found[n++] = s->in[i].shape[axis];
        }
    return n;
}

/* Returns X as a view of a larger array, with its axes in reversed order in memory. If an axis is free for it, NaN (or
 * -1) lies between any two elements: nothing may read it. */
static inline mo_tensor *strided(mo_tape *t, mo_tensor *X) {
    int axes[MO_MAX_AXES], n = X->ndim;
    int64_t size[MO_MAX_AXES];
    for (int i = 0; i < n; i++)
        axes[i] = n - 1 - i;
    mo_tensor *R = mo_contiguous(t, mo_permute(t, X, axes));
    if (n < MO_MAX_AXES) {
        for (int i = 0; i < n; i++)
            size[i] = R->shape[i];
        size[n] = 1;
        mo_tensor *gap = mo_full(t, X->dtype, n + 1, size,
            mo_dtype_is_real(X->dtype) ? NAN
            : X->dtype == MO_U8        ? 255
                                       : -1);
        mo_tensor *both[] = {mo_reshape(t, R, n + 1, size), gap};
        R = mo_reshape(t, mo_slice(t, mo_concat(t, both, 2, MO_AXIS(n)), MO_AXIS(n), 0, 1), n, size);
    }
    return mo_permute(t, R, axes);
}

#endif
