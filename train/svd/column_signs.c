/* train/svd/column_signs.c - fixes the signs of singular vectors, which a decomposition leaves arbitrary. */
#include "autograd/tape.h"
#include "ops/inside.h"
#include "ops/rules/in_place.h"
#include "train/svd/svd.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

enum { BLOCK = 512 }; /* rows read at once: U may lie on a device */

/* The signs of the r columns found so far. */
typedef struct survey {
    mo_tape *t;
    mo_tensor *U;
    int64_t n, r;
    double *rows;      /* [at most BLOCK, r] */
    double *magnitude; /* [r]: the largest */
    double *sign;      /* [r]: 0: not known yet */
} survey;

/* The block of rows from `start` on. */
static mo_tensor *sign_block_of(survey *s, int64_t start) {
    return mo_slice(s->t, s->U, MO_AXIS(0), start, start + BLOCK < s->n ? start + BLOCK : s->n);
}

static int64_t read_block(survey *s, int64_t start) {
    int64_t mark = s->t->n_tensors, count = s->n - start < BLOCK ? s->n - start : BLOCK;
    mo_tensor *part = mo_cast(s->t, sign_block_of(s, start), MO_F64);
    mo_tensor_read(part, s->rows, (size_t)(count * s->r) * sizeof *s->rows);
    mo_tape_sweep(s->t, mark, NULL, 0);
    return mo_ok(s->t->ctx) ? count : 0;
}

static void find_magnitudes(survey *s) {
    mo_tape *t = s->t;
    int64_t mark = t->n_tensors;
    mo_tensor *most = mo_full(t, s->U->dtype, 2, (int64_t[]){1, s->r}, 0);
    for (int64_t start = 0; start < s->n && mo_ok(t->ctx); start += BLOCK) {
        int64_t here = t->n_tensors;
        mo_tensor *high = mo_column_figures(t, mo_abs(t, sign_block_of(s, start)), MO_COLUMN_MAX);
        if (mo_ok(t->ctx))
            mo_tensor_copy(most, mo_larger(t, most, high));
        mo_tape_sweep(t, here, NULL, 0);
    }
    mo_tensor_read(mo_cast(t, most, MO_F64), s->magnitude, (size_t)s->r * sizeof *s->magnitude);
    mo_tape_sweep(t, mark, NULL, 0);
}

static void find_signs(survey *s, double share) {
    int64_t open = s->r;
    for (int64_t start = 0; start < s->n && open > 0; start += BLOCK) {
        int64_t count = read_block(s, start);
        for (int64_t i = 0; i < count; i++)
            for (int64_t j = 0; j < s->r; j++) {
                double u = s->rows[i * s->r + j];
                if (s->sign[j] == 0 && fabs(u) >= share * s->magnitude[j]) {
                    s->sign[j] = u < 0 ? -1 : 1;
                    open--;
                }
            }
    }
}

mo_tensor *mo_column_signs(mo_tape *t, mo_tensor *U) {
    mo_context *ctx = t->ctx;
    if (!mo_ok(ctx))
        return mo_null_tensor(ctx);
    survey s = {.t = t, .U = U, .n = mo_dim(U, 0), .r = mo_dim(U, 1)};
    s.rows = mo_host_array(ctx, (s.n < BLOCK ? s.n : BLOCK) * s.r, sizeof *s.rows);
    s.magnitude = mo_host_array(ctx, s.r, sizeof *s.magnitude);
    s.sign = mo_host_array(ctx, s.r, sizeof *s.sign);
    mo_tensor *signs = mo_null_tensor(ctx);
    if (mo_ok(ctx)) {
        find_magnitudes(&s);
        find_signs(&s, 1 - sqrt(U->dtype == MO_F64 ? DBL_EPSILON : (double)FLT_EPSILON));
        signs = mo_cast(t, mo_from(t, MO_F64, 1, &s.r, s.sign), U->dtype);
    }
    free(s.rows);
    free(s.magnitude);
    free(s.sign);
    return signs;
}
