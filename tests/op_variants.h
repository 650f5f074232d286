/* tests/op_variants.h - the samples of ops with one of their sizes replaced. */
#ifndef OP_VARIANTS_H
#define OP_VARIANTS_H

#include "tests/op_runs.h"

enum { NONE = -1 };

/* Drawn matrices are well conditioned only at moderate sizes. */
static const int64_t largest_matrix = 33;
static const int64_t most_elements = 12000;

/* One sample with `from` replaced by `to` in the shapes of its inputs. */
typedef struct variant {
    const mo_op *op;
    op_sample sample;
    int64_t from, to; /* NONE: as it stands */
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

/* Replaces the size everywhere; returns false if the draws do not suit the result, or if it takes too long. */
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
                in->shape[axis] = 0; /* there is nothing to point to */
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

#endif
