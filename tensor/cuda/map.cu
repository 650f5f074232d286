/* tensor/cuda/map.cu - elementwise kernels: y = f(x), y = f(x1, x2), y = c ? x1 : x2. */
#include "tensor/cuda/kernels.h"
#include "tensor/cuda/loop_nest.h"
#include "tensor/cuda/scalar.h"

template <typename real>
static __global__ void map1_kernel(cuda_nest<2> N, mo_map1 f, real a, real b, const real *x, real *y) {
    for (int64_t i = first_item(); i < N.total; i += item_step()) {
        int64_t at[2];
        loop_nest_seek(N, i, at);
        y[at[1]] = value1(f, a, b, x[at[0]]);
    }
}

template <typename real>
static __global__ void map2_kernel(cuda_nest<3> N, mo_map2 f, const real *x1, const real *x2, real *y) {
    for (int64_t i = first_item(); i < N.total; i += item_step()) {
        int64_t at[3];
        loop_nest_seek(N, i, at);
        y[at[2]] = value2(f, x1[at[0]], x2[at[1]]);
    }
}

template <typename real, typename choice>
static __global__ void where_kernel(cuda_nest<4> N, const choice *c, const real *x1, const real *x2, real *y) {
    for (int64_t i = first_item(); i < N.total; i += item_step()) {
        int64_t at[4];
        loop_nest_seek(N, i, at);
        y[at[3]] = c[at[0]] != 0 ? x1[at[1]] : x2[at[2]];
    }
}

template <typename real>
void map1_cuda(mo_context *ctx, mo_map1 f, double a, double b, const mo_view *x, const mo_view *y) {
    cuda_nest<2> N = loop_nest_of({x, y});
    mo_launch(map1_kernel<real>, blocks_for(N.total), dim3(block_threads), 0, seam_of(ctx), N, f, (real)a, (real)b,
        static_cast<const real *>(x->data), static_cast<real *>(y->data));
}

template <typename real>
void map2_cuda(mo_context *ctx, mo_map2 f, const mo_view *x1, const mo_view *x2, const mo_view *y) {
    cuda_nest<3> N = loop_nest_of({x1, x2, y});
    mo_launch(map2_kernel<real>, blocks_for(N.total), dim3(block_threads), 0, seam_of(ctx), N, f,
        static_cast<const real *>(x1->data), static_cast<const real *>(x2->data), static_cast<real *>(y->data));
}

template <typename real, typename choice>
static void choose(mo_context *ctx, const mo_view *c, const mo_view *x1, const mo_view *x2, const mo_view *y) {
    cuda_nest<4> N = loop_nest_of({c, x1, x2, y});
    mo_launch(where_kernel<real, choice>, blocks_for(N.total), dim3(block_threads), 0, seam_of(ctx), N,
        static_cast<const choice *>(c->data), static_cast<const real *>(x1->data), static_cast<const real *>(x2->data),
        static_cast<real *>(y->data));
}

template <typename real>
void where_cuda(mo_context *ctx, const mo_view *c, const mo_view *x1, const mo_view *x2, const mo_view *y) {
    if (c->dtype == MO_U8)
        choose<real, uint8_t>(ctx, c, x1, x2, y);
    else
        choose<real, real>(ctx, c, x1, x2, y);
}

template void map1_cuda<float>(mo_context *, mo_map1, double, double, const mo_view *, const mo_view *);
template void map1_cuda<double>(mo_context *, mo_map1, double, double, const mo_view *, const mo_view *);
template void map2_cuda<float>(mo_context *, mo_map2, const mo_view *, const mo_view *, const mo_view *);
template void map2_cuda<double>(mo_context *, mo_map2, const mo_view *, const mo_view *, const mo_view *);
template void where_cuda<float>(mo_context *, const mo_view *, const mo_view *, const mo_view *, const mo_view *);
template void where_cuda<double>(mo_context *, const mo_view *, const mo_view *, const mo_view *, const mo_view *);
