/* tensor/cuda/map.cu - elementwise kernels: y = f(x), y = f(x1, x2), y = c ? x1 : x2. Each function has its own kernel,
 * which takes only the registers that it needs. */
#include "tensor/cuda/kernels.h"
#include "tensor/cuda/map.h"
#include "tensor/cuda/row.h"

template <mo_map1 f> struct function1 {
    template <typename real> __device__ static real of(const coefficients<real> &c, real x) {
        return value1(f, c.a, c.b, x);
    }
};

template <mo_map2 f> struct function2 {
    template <typename real> __device__ static real of(const coefficients<real> &, real x1, real x2) {
        return value2(f, x1, x2);
    }
};

struct choice_of_two {
    template <typename real, typename choice>
    __device__ static real of(const coefficients<real> &, choice c, real x1, real x2) {
        return c != 0 ? x1 : x2;
    }
};

template <typename real, mo_map1 f>
static __global__ void map1_kernel(cuda_nest<2> N, int64_t groups, coefficients<real> c, real *y, const real *x) {
    map_items<function1<f>>(N, groups, c, y, x);
}

template <typename real, mo_map2 f>
static __global__ void map2_kernel(cuda_nest<3> N, int64_t groups, real *y, const real *x1, const real *x2) {
    map_items<function2<f>>(N, groups, coefficients<real>{}, y, x1, x2);
}

template <typename real, typename choice>
static __global__ void where_kernel(
    cuda_nest<4> N, int64_t groups, real *y, const choice *c, const real *x1, const real *x2) {
    map_items<choice_of_two>(N, groups, coefficients<real>{}, y, c, x1, x2);
}

/* Returns the kernel of function number `which`. */
template <typename real, size_t... f> static auto kernel1(mo_map1 which, std::index_sequence<f...>) {
    static constexpr decltype(&map1_kernel<real, MO_MAP_NEG>) kernels[] = {map1_kernel<real, (mo_map1)f>...};
    return kernels[which];
}

template <typename real, size_t... f> static auto kernel2(mo_map2 which, std::index_sequence<f...>) {
    static constexpr decltype(&map2_kernel<real, MO_MAP_ADD>) kernels[] = {map2_kernel<real, (mo_map2)f>...};
    return kernels[which];
}

template <typename real>
void map1_cuda(mo_context *ctx, mo_map1 f, double a, double b, const mo_view *x, const mo_view *y) {
    cuda_nest<2> N = loop_nest_of({y, x});
    const real *from = static_cast<const real *>(x->data);
    real *to = static_cast<real *>(y->data);
    int64_t groups = groups_of(N, to, from);
    auto map1_kernel_of = kernel1<real>(f, std::make_index_sequence<MO_MAP_GELU_CURVE + 1>());
    mo_launch(map1_kernel_of, blocks_for_map(N.total, groups), dim3(block_threads), 0, seam_of(ctx), N, groups,
        coefficients<real>{(real)a, (real)b}, to, from);
}

template <typename real>
void map2_cuda(mo_context *ctx, mo_map2 f, const mo_view *x1, const mo_view *x2, const mo_view *y) {
    cuda_nest<3> N = loop_nest_of({y, x1, x2});
    const real *first = static_cast<const real *>(x1->data), *second = static_cast<const real *>(x2->data);
    real *to = static_cast<real *>(y->data);
    int64_t groups = groups_of(N, to, first, second);
    auto map2_kernel_of = kernel2<real>(f, std::make_index_sequence<MO_MAP_POWER + 1>());
    mo_launch(map2_kernel_of, blocks_for_map(N.total, groups), dim3(block_threads), 0, seam_of(ctx), N, groups, to,
        first, second);
}

template <typename real, typename choice>
static void choose(mo_context *ctx, const mo_view *c, const mo_view *x1, const mo_view *x2, const mo_view *y) {
    cuda_nest<4> N = loop_nest_of({y, c, x1, x2});
    const choice *chosen = static_cast<const choice *>(c->data);
    const real *first = static_cast<const real *>(x1->data), *second = static_cast<const real *>(x2->data);
    real *to = static_cast<real *>(y->data);
    int64_t groups = groups_of(N, to, chosen, first, second);
    mo_launch(where_kernel<real, choice>, blocks_for_map(N.total, groups), dim3(block_threads), 0, seam_of(ctx), N,
        groups, to, chosen, first, second);
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
