/* ops/krylov.c - what the Krylov methods share: products of items and how far a solution is off. */
#include "ops/krylov.h"
#include "tensor/storage.h"

#include <math.h>

mo_tensor *mo_item_dot(mo_tape *t, mo_tensor *a, mo_tensor *b, int batch_axes) {
    mo_tensor *product = mo_mul(t, a, b);
    unsigned all = (1u << mo_ndim(product)) - 1, batch = (1u << batch_axes) - 1;
    return all == batch ? product : mo_sum(t, product, all & ~batch, true);
}

int64_t mo_item_count(const mo_tensor *x, int batch_axes) {
    int64_t n = 1;
    for (int i = 0; i < batch_axes; i++)
        n *= mo_dim(x, i);
    return n;
}

static double element(const mo_tensor *values, const void *host, int64_t i) {
    return mo_tensor_dtype(values) == MO_F64 ? ((const double *)host)[i] : (double)((const float *)host)[i];
}

double mo_item_worst(mo_tensor *values, int64_t *where) {
    mo_context *ctx = mo_tensor_context(values);
    int64_t n = mo_numel(values);
    size_t bytes = (size_t)n * mo_dtype_size(mo_tensor_dtype(values));
    void *host = mo_ok(ctx) && n ? mo_host_alloc(ctx, bytes) : NULL;
    double worst = 0;
    *where = 0;
    if (!host)
        return worst;
    if (mo_tensor_read(values, host, bytes) == MO_OK)
        for (int64_t i = 0; i < n && !isnan(worst); i++) {
            double x = element(values, host, i);
            if (x > worst || isnan(x)) {
                worst = x;
                *where = i;
            }
        }
    mo_host_free(ctx, host, bytes);
    return worst;
}

void mo_krylov_measure(mo_tape *t, mo_krylov *k, mo_tensor *b, mo_tensor *x) {
    mo_scope scope = mo_scope_open(t);
    mo_tensor *r = mo_sub(t, b, k->apply(t, x, k->state));
    mo_tensor *ratio = mo_div_or_zero(t, mo_item_dot(t, r, r, k->batch_axes), mo_item_dot(t, b, b, k->batch_axes));
    k->residual = sqrt(mo_item_worst(ratio, &k->worst));
    mo_scope_close(t, &scope, NULL, 0);
}
