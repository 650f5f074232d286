/* ops/solvers/krylov.c - inner products item by item, and residuals of solutions, for the Krylov methods. */
#include "ops/solvers/krylov.h"
#include "tensor/objects.h"

#include <math.h>

mo_tensor *mo_item_dot(mo_tape *t, mo_tensor *a, mo_tensor *b, int batch_axes) {
    mo_tensor *product = mo_mul(t, a, b);
    unsigned all = (1u << mo_ndim(product)) - 1, batch = (1u << batch_axes) - 1;
    return mo_sum(t, product, (mo_axes){all & ~batch}, MO_KEEP_AXES);
}

int64_t mo_item_count(const mo_tensor *x, int batch_axes) {
    int64_t n = 1;
    for (int i = 0; i < batch_axes; i++)
        n *= mo_dim(x, i);
    return n;
}

void mo_item_read(mo_tape *t, mo_tensor *T, double *host) {
    mo_tensor *wide = mo_tensor_dtype(T) == MO_F64 ? T : mo_cast(t, T, MO_F64);
    mo_tensor_read(wide, host, (size_t)mo_numel(wide) * sizeof *host);
}

mo_tensor *mo_item_write(mo_tape *t, const mo_tensor *like, const double *host) {
    mo_tensor *wide = mo_from(t, MO_F64, like->ndim, like->shape, host);
    return like->dtype == MO_F64 ? wide : mo_cast(t, wide, like->dtype);
}

double mo_item_worst(mo_tape *t, mo_tensor *values, int64_t *where) {
    mo_context *ctx = mo_tape_context(t);
    int64_t n = mo_numel(values);
    double *x = mo_ok(ctx) && n ? mo_host_alloc(ctx, (size_t)n * sizeof *x) : NULL, worst = 0;
    *where = 0;
    if (x)
        mo_item_read(t, values, x);
    for (int64_t i = 0; x && i < n && !isnan(worst); i++)
        if (x[i] > worst || isnan(x[i])) {
            worst = x[i];
            *where = i;
        }
    mo_host_free(ctx, x, (size_t)n * sizeof *x);
    return worst;
}

mo_tensor *mo_krylov_unfinished(mo_tape *t, mo_tensor *values, mo_tensor *limit) {
    mo_tensor *above = mo_scale(t, mo_greater_equal(t, limit, values), -1, 1);
    return mo_stop_gradient(t, mo_mul(t, above, mo_greater_equal(t, values, limit)));
}

void mo_krylov_measure(mo_tape *t, mo_krylov *k, mo_tensor *b, mo_tensor *x) {
    mo_scope scope = mo_scope_open(t);
    mo_tensor *r = mo_sub(t, b, k->apply(t, x, k->state));
    mo_tensor *ratio = mo_div_or_zero(t, mo_item_dot(t, r, r, k->batch_axes), mo_item_dot(t, b, b, k->batch_axes));
    k->residual = sqrt(mo_item_worst(t, ratio, &k->worst));
    mo_scope_close(t, &scope, NULL, 0);
}
