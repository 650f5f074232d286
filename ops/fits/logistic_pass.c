/* ops/fits/logistic_pass.c - the products of a large softmax regression, each in one pass over its rows
 * (logistic_system.h, tensor/fits.h). */
#include "autograd/tape.h"
#include "ops/fits/logistic_system.h"
#include "tensor/fits.h"

/* From this number of entries on, X lies in no core's cache, and a pass of its own is faster than a library's two.
 * Smaller systems keep their products, and so the bits of their fits. */
enum { LARGE_ROWS = 1 << 20 };

bool mo_logistic_passes(const mo_logistic_system *s, int64_t classes) {
    mo_context *ctx = mo_tape_context(s->t);
    if (s->dual || mo_dim(s->X, 0) != 1 || classes > MO_PASS_CLASSES ||
        mo_dim(s->X, 1) * mo_dim(s->X, 2) < LARGE_ROWS || ctx->math != MO_MATH_FP32)
        return false;
    const mo_fits *k = mo_fits_of(ctx, mo_tensor_dtype(s->X));
    return k && k->logistic_pass;
}

mo_tensor *mo_logistic_row_squares(const mo_logistic_system *s, mo_tensor *X, int64_t classes) {
    mo_tape *t = s->t;
    return mo_logistic_passes(s, classes) ? mo_square(t, mo_norm(t, X)) : mo_class_sum(t, mo_square(t, X));
}

/* The only item of X, [rows, columns]. */
static mo_view item_of(mo_tape *t, mo_tensor *X) {
    mo_view v = mo_tensor_view(mo_contiguous(t, X));
    v.ndim = 2;
    for (int i = 0; i < 2; i++) {
        v.shape[i] = v.shape[i + 1];
        v.stride[i] = v.stride[i + 1];
    }
    return v;
}

static mo_tensor *run(const mo_logistic_system *s, mo_tensor *V, mo_tensor *E, bool curved, bool sum) {
    mo_tape *t = s->t;
    mo_context *ctx = mo_tape_context(t);
    mo_tensor *wide = V ? V : E;
    int64_t rows = sum ? mo_dim(s->X, 2) + s->free_intercept : mo_dim(s->X, 1);
    mo_tensor *out = mo_tape_tensor(t, mo_tensor_dtype(s->X), 3, (int64_t[]){1, rows, mo_dim(wide, 2)});
    mo_logistic_pass g = {.free_intercept = s->free_intercept, .X = item_of(t, s->X)};
    if (V)
        g.V = item_of(t, V);
    if (E)
        g.E = item_of(t, E);
    if (curved) {
        g.P = item_of(t, s->P);
        g.T = item_of(t, s->weight);
    }
    *(sum ? &g.sum : &g.E) = item_of(t, out);
    if (mo_ok(ctx))
        mo_fits_of(ctx, mo_tensor_dtype(s->X))->logistic_pass(ctx, &g);
    return out;
}

mo_tensor *mo_logistic_pass_logits(const mo_logistic_system *s, mo_tensor *V) {
    return run(s, V, NULL, false, false);
}

mo_tensor *mo_logistic_pass_pull(const mo_logistic_system *s, mo_tensor *Q) {
    return run(s, NULL, Q, false, true);
}

mo_tensor *mo_logistic_pass_hessian(const mo_logistic_system *s, mo_tensor *V) {
    return run(s, V, NULL, true, true);
}
