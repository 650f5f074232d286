/* tensor/cuda/adamw.cu - one step of AdamW (Loshchilov and Hutter 2019) in one pass over a parameter; the formula is
 * that of cpu/adamw.c. */
#include "tensor/cuda/kernels.h"

template <typename real> struct adamw_step { real clip, beta1, beta2, rest1, rest2, keep, rate, root, epsilon; };

template <typename real> static adamw_step<real> step_of(const mo_adamw *o) {
    double correction1 = 1 - pow(o->beta1, (double)o->step), correction2 = 1 - pow(o->beta2, (double)o->step);
    return {(real)o->clip_factor, (real)o->beta1, (real)o->beta2, (real)(1 - o->beta1), (real)(1 - o->beta2),
        (real)(1 - o->lr * o->weight_decay), (real)(o->lr / correction1), (real)(1 / sqrt(correction2)),
        (real)o->epsilon};
}

template <typename real>
static __global__ void adamw_kernel(adamw_step<real> s, int64_t n, const real *g, real *m, real *v, real *p) {
    for (int64_t i = first_item(); i < n; i += item_step()) {
        real gradient = g[i] * s.clip;
        m[i] = s.beta1 * m[i] + s.rest1 * gradient;
        v[i] = s.beta2 * v[i] + s.rest2 * gradient * gradient;
        p[i] = s.keep * p[i] - s.rate * m[i] / (sqrt(v[i]) * s.root + s.epsilon);
    }
}

template <typename real>
void adamw_cuda(
    mo_context *ctx, const mo_adamw *options, const mo_view *g, const mo_view *m, const mo_view *v, const mo_view *p) {
    int64_t n = leading(p, p->ndim);
    mo_launch(adamw_kernel<real>, blocks_for(n), dim3(block_threads), 0, seam_of(ctx), step_of<real>(options), n,
        static_cast<const real *>(g->data), static_cast<real *>(m->data), static_cast<real *>(v->data),
        static_cast<real *>(p->data));
}

template void adamw_cuda<float>(
    mo_context *, const mo_adamw *, const mo_view *, const mo_view *, const mo_view *, const mo_view *);
template void adamw_cuda<double>(
    mo_context *, const mo_adamw *, const mo_view *, const mo_view *, const mo_view *, const mo_view *);
