/* ops/fits/adamw.c - one step of AdamW (Loshchilov and Hutter 2019); the formulas are in train/run/optimizer.c, the
 * kernels in tensor/cpu/adamw.c and tensor/cuda/adamw.cu. */
#include "ops/fits/adamw.h"

void mo_gradient_norm(double bound, mo_tensor *const *G, int n, mo_view *views, mo_tensor *squares, mo_tensor *scale) {
    mo_context *ctx = scale->ctx;
    if (!mo_ok(ctx))
        return;
    mo_view each = mo_tensor_view(squares), to = mo_tensor_view(scale);
    for (int i = 0; i < n; i++)
        views[i] = mo_tensor_view(G[i]);
    squares->storage->version++;
    scale->storage->version++;
    if (mo_ok(ctx))
        mo_kernels_of(ctx, views->dtype)->gradient_norm(ctx, bound, n, views, &each, &to);
}

void mo_adamw_apply(const mo_adamw_update *u) {
    mo_context *ctx = u->factors->ctx;
    if (!mo_ok(ctx))
        return;
    mo_view factors = mo_tensor_view(u->factors), scale = mo_tensor_view(u->scale);
    mo_view *g = u->views, *m = g + u->n, *v = m + u->n, *p = v + u->n;
    for (int i = 0; i < u->n; i++) {
        g[i] = mo_tensor_view(u->gradient[i]);
        m[i] = mo_tensor_view(u->m[i]);
        v[i] = mo_tensor_view(u->v[i]);
        p[i] = mo_tensor_view(u->parameter[i]);
        u->parameter[i]->storage->version++;
    }
    if (mo_ok(ctx))
        mo_kernels_of(ctx, p->dtype)->adamw(ctx, &factors, &scale, u->n, g, m, v, p);
}
