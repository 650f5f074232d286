/* tensor/cuda/fits/adamw.cu - one step of AdamW (Loshchilov and Hutter 2019) over all parameters in one launch. Its
 * factors and the factor of gradient clipping are read from the device; cpu/fits/adamw.c has the formula. */
#include "tensor/cuda/fits/parameters.h"

constexpr int64_t most_parts = 256; /* blocks for one parameter */

template <typename real> struct adamw_parameters {
    int64_t length[most_parameters];
    const real *g[most_parameters];
    real *m[most_parameters], *v[most_parameters], *p[most_parameters];
};

/* Row y of the grid is parameter y. After a failed check nothing changes. */
template <typename real>
static __global__ void adamw_kernel(
    const double *factor, adamw_parameters<real> all, const double *scale, const found_error *error) {
    const real *g = all.g[blockIdx.y], clip = (real)scale[1];
    real *m = all.m[blockIdx.y], *v = all.v[blockIdx.y], *p = all.p[blockIdx.y];
    real beta1 = (real)factor[MO_ADAMW_BETA1], rest1 = (real)factor[MO_ADAMW_REST1];
    real beta2 = (real)factor[MO_ADAMW_BETA2], rest2 = (real)factor[MO_ADAMW_REST2];
    real keep = (real)factor[MO_ADAMW_KEEP], rate = (real)factor[MO_ADAMW_RATE];
    real root = (real)factor[MO_ADAMW_ROOT], epsilon = (real)factor[MO_ADAMW_EPSILON];
    if (error->found)
        return;
    for (int64_t i = first_item(); i < all.length[blockIdx.y]; i += item_step()) {
        real gradient = g[i] * clip;
        m[i] = beta1 * m[i] + rest1 * gradient;
        v[i] = beta2 * v[i] + rest2 * gradient * gradient;
        p[i] = keep * p[i] - rate * m[i] / (sqrt(v[i]) * root + epsilon);
    }
}

template <typename real>
void adamw_cuda(mo_context *ctx, const mo_view *factors, const mo_view *scale, int n, const mo_view *g,
    const mo_view *m, const mo_view *v, const mo_view *p) {
    for (int first = 0; first < n; first += most_parameters) {
        int count = (int)least(most_parameters, n - first);
        adamw_parameters<real> all = {};
        int64_t longest = 0;
        for (int k = 0; k < count; k++) {
            all.length[k] = leading(&p[first + k], p[first + k].ndim);
            all.g[k] = static_cast<const real *>(g[first + k].data);
            all.m[k] = static_cast<real *>(m[first + k].data);
            all.v[k] = static_cast<real *>(v[first + k].data);
            all.p[k] = static_cast<real *>(p[first + k].data);
            longest = most(longest, all.length[k]);
        }
        dim3 grid((unsigned)least(ceil_div(longest, block_threads), most_parts), (unsigned)count);
        mo_launch(adamw_kernel<real>, grid, dim3(block_threads), 0, seam_of(ctx),
            static_cast<const double *>(factors->data), all, static_cast<const double *>(scale->data),
            static_cast<const found_error *>(state_of(ctx)->checks.device));
    }
}

template void adamw_cuda<float>(mo_context *, const mo_view *, const mo_view *, int, const mo_view *, const mo_view *,
    const mo_view *, const mo_view *);
template void adamw_cuda<double>(mo_context *, const mo_view *, const mo_view *, int, const mo_view *, const mo_view *,
    const mo_view *, const mo_view *);
