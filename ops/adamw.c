/* ops/adamw.c - one step of AdamW (Loshchilov and Hutter 2019); the formulas are in train/run/optimizer.c, the
 * kernels in tensor/cpu/fits/adamw.c and tensor/cuda/fits/adamw.cu. */
#include "ops/adamw.h"

#include <string.h>

void mo_squared_norms(mo_tensor *squares, mo_tensor *const *G, int n) {
    mo_context *ctx = squares->ctx;
    if (!mo_ok(ctx))
        return;
    mo_view all = mo_tensor_view(squares);
    squares->storage->version++;
    for (int i = 0; i < n && mo_ok(ctx); i++) {
        mo_view g = mo_tensor_view(G[i]), one = g;
        one.data = (char *)all.data + (size_t)i * mo_dtype_size(all.dtype);
        memset(one.stride, 0, sizeof one.stride);
        for (int axis = 0; axis < one.ndim; axis++)
            one.shape[axis] = 1;
        mo_kernels_of(ctx, all.dtype)->reduce(ctx, MO_REDUCE_SUM_OF_SQUARES, &g, &one);
    }
}

void mo_clip_scale(mo_dtype real, double bound, const mo_tensor *squares, mo_tensor *scale) {
    mo_context *ctx = scale->ctx;
    if (!mo_ok(ctx))
        return;
    mo_view sum = mo_tensor_view(squares), to = mo_tensor_view(scale);
    scale->storage->version++;
    mo_fits_of(ctx, real)->clip(ctx, bound, &sum, &to);
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
        mo_fits_of(ctx, p->dtype)->adamw(ctx, &factors, &scale, u->n, g, m, v, p);
}
