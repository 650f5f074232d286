/* tensor/cuda/hop.cu - Y = sum_k of row weights times rows of K matrices, and the adjoint in the weights. */
#include "tensor/cuda/kernels.h"

constexpr int most_hops = 16; /* per launch; further hops take another launch */

template <typename real> struct hops {
    int64_t K;
    int64_t n, d;
    const real *H[most_hops];
    int64_t step[most_hops];
};

/* The hops of H from `first` on, at most most_hops. */
template <typename real> static hops<real> hops_of(const mo_view *H, int first, int K, int64_t n, int64_t d) {
    hops<real> p = {};
    p.K = least(most_hops, K - first);
    p.n = n;
    p.d = d;
    for (int k = 0; k < p.K; k++) {
        p.H[k] = static_cast<const real *>(H[first + k].data);
        p.step[k] = H[first + k].stride[0];
    }
    return p;
}

template <typename real>
static __global__ void mix_kernel(hops<real> p, bool add, const real *w, int64_t w_row, int64_t w_hop, real *y) {
    for (int64_t item = first_item(); item < p.n * p.d; item += item_step()) {
        int64_t i = item / p.d, j = item % p.d;
        real sum = add ? y[item] : (real)0;
        for (int k = 0; k < p.K; k++)
            sum += w[i * w_row + k * w_hop] * p.H[k][i * p.step[k] + j];
        y[item] = sum;
    }
}

template <typename real>
static __global__ void dot_kernel(hops<real> p, const real *g, int64_t g_row, real *w, int64_t w_row, int64_t w_hop) {
    for (int64_t item = first_warp(); item < p.n * p.K; item += warp_step()) {
        int64_t i = item / p.K;
        int k = (int)(item % p.K);
        real sum = 0;
        for (int64_t j = lane_of(); j < p.d; j += 32)
            sum += g[i * g_row + j] * p.H[k][i * p.step[k] + j];
        sum = warp_sum(sum);
        if (lane_of() == 0)
            w[i * w_row + k * w_hop] = sum;
    }
}

template <typename real>
void hop_mix_cuda(mo_context *ctx, const mo_view *w, const mo_view *H, int K, const mo_view *y) {
    int64_t n = y->shape[0], d = y->shape[1];
    for (int first = 0; first < K || first == 0; first += most_hops)
        mo_launch(mix_kernel<real>, blocks_for(n * d), dim3(block_threads), 0, seam_of(ctx),
            hops_of<real>(H, first, K, n, d), first > 0, static_cast<const real *>(w->data) + first * w->stride[1],
            w->stride[0], w->stride[1], static_cast<real *>(y->data));
}

template <typename real>
void hop_dot_cuda(mo_context *ctx, const mo_view *g, const mo_view *H, int K, const mo_view *w) {
    int64_t n = w->shape[0], d = g->shape[1];
    for (int first = 0; first < K; first += most_hops)
        mo_launch(dot_kernel<real>, blocks_for_rows(n * least(most_hops, K - first)), dim3(row_threads), 0,
            seam_of(ctx), hops_of<real>(H, first, K, n, d), static_cast<const real *>(g->data), g->stride[0],
            static_cast<real *>(w->data) + first * w->stride[1], w->stride[0], w->stride[1]);
}

template void hop_mix_cuda<float>(mo_context *, const mo_view *, const mo_view *, int, const mo_view *);
template void hop_mix_cuda<double>(mo_context *, const mo_view *, const mo_view *, int, const mo_view *);
template void hop_dot_cuda<float>(mo_context *, const mo_view *, const mo_view *, int, const mo_view *);
template void hop_dot_cuda<double>(mo_context *, const mo_view *, const mo_view *, int, const mo_view *);
