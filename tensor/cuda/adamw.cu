/* tensor/cuda/adamw.cu - the norm of all gradients and the factor that clips it, in two launches; and one step of AdamW
 * (Loshchilov and Hutter 2019) over all parameters, in one launch, whose constants are read from the device.
 * cpu/adamw.c has the formula.
 *
 * The parameters are cut into pieces, a block each, whose threads have four loads of 16 bytes in flight. The partial
 * sums of the norm are double. Which thread adds which value follows from the shapes alone, at any alignment. */
#include "tensor/cuda/kernels.h"

constexpr int most_parameters = 64;      /* in one launch, whose arguments hold the addresses */
constexpr int64_t piece_elements = 4096; /* 2.4 million parameters are 590 pieces, 4 blocks for a multiprocessor */

template <typename real> struct gradients {
    int64_t count;
    int64_t first[most_parameters + 1]; /* number of each parameter's first piece; last: the count of all pieces */
    int64_t length[most_parameters];
    const real *g[most_parameters];
};

/* The gradients g[first], g[first + 1] .., as many as a launch takes. */
template <typename real> static gradients<real> gradients_from(int first, int n, const mo_view *g) {
    gradients<real> all = {};
    all.count = least(most_parameters, n - first);
    for (int64_t k = 0; k < all.count; k++) {
        all.length[k] = leading(&g[first + k], g[first + k].ndim);
        all.first[k + 1] = all.first[k] + ceil_div(all.length[k], piece_elements);
        all.g[k] = static_cast<const real *>(g[first + k].data);
    }
    return all;
}

/* A block's piece: `count` elements of parameter k from element `begin` on. */
struct piece {
    int64_t k, begin, count;
};

template <typename real> __device__ static piece own_piece(const gradients<real> &all) {
    int64_t k = 0;
    while (blockIdx.x >= all.first[k + 1])
        k++;
    int64_t begin = (blockIdx.x - all.first[k]) * piece_elements, rest = all.length[k] - begin;
    return {k, begin, rest < piece_elements ? rest : piece_elements};
}

template <typename real> __device__ static double squares_at(bool aligned, const real *x, int64_t i) {
    pack<real> p = pack_at(aligned, x, i);
    double sum = 0;
    for (int k = 0; k < pack<real>::width; k++)
        sum += (double)p.value[k] * (double)p.value[k];
    return sum;
}

/* Returns the part of one thread in the sum of squares of x [n]. */
template <typename real> __device__ static double thread_squares(const real *x, int64_t n) {
    bool aligned = reinterpret_cast<uintptr_t>(x) % 16 == 0;
    int64_t packs = n / pack<real>::width, i = threadIdx.x, step = blockDim.x;
    double sum[4] = {0, 0, 0, 0};
    for (; i + 3 * step < packs; i += 4 * step)
        for (int k = 0; k < 4; k++)
            sum[k] += squares_at(aligned, x, i + k * step);
    for (; i < packs; i += step)
        sum[0] += squares_at(aligned, x, i);
    for (int64_t j = packs * pack<real>::width + threadIdx.x; j < n; j += step)
        sum[1] += (double)x[j] * (double)x[j];
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

template <typename real> static __global__ void norm_kernel(gradients<real> all, double *partial) {
    __shared__ double of_warp[block_threads / 32];
    piece own = own_piece(all);
    double sum = warp_sum(thread_squares(all.g[own.k] + own.begin, own.count));
    if (lane_of() == 0)
        of_warp[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x != 0)
        return;
    sum = 0;
    for (unsigned w = 0; w < block_threads / 32; w++)
        sum += of_warp[w];
    partial[blockIdx.x] = sum;
}

/* One block: a warp adds the pieces of each parameter; then one thread computes the norm of the parameters of this
 * launch and of the launches before. */
template <typename real>
static __global__ void norm_join_kernel(
    gradients<real> all, int64_t before, double bound, const double *partial, double *squares, double *scale) {
    __shared__ double square[most_parameters];
    for (int64_t k = threadIdx.x / 32; k < all.count; k += blockDim.x / 32) {
        double sum = 0;
        for (int64_t piece = all.first[k] + lane_of(); piece < all.first[k + 1]; piece += 32)
            sum += partial[piece];
        sum = warp_sum(sum);
        if (lane_of() == 0)
            squares[before + k] = square[k] = (double)(real)sum;
    }
    __syncthreads();
    if (threadIdx.x != 0)
        return;
    double sum = 0;
    for (int64_t k = 0; k < before; k++)
        sum += squares[k];
    for (int64_t k = 0; k < all.count; k++)
        sum += square[k];
    double norm = sqrt(sum), factor = bound > 0 ? bound / (norm + 1e-6) : 1;
    scale[0] = norm;
    scale[1] = factor < 1 ? factor : 1;
}

template <typename real>
void gradient_norm_cuda(
    mo_context *ctx, double bound, int n, const mo_view *g, const mo_view *squares, const mo_view *scale) {
    for (int before = 0; before < n; before += most_parameters) {
        gradients<real> all = gradients_from<real>(before, n, g);
        int64_t pieces = all.first[all.count];
        double *partial = static_cast<double *>(cuda_scratch(ctx, (size_t)most(1, pieces) * sizeof *partial));
        if (!partial)
            return;
        mo_launch(norm_kernel<real>, dim3((unsigned)pieces), dim3(block_threads), 0, seam_of(ctx), all, partial);
        mo_launch(norm_join_kernel<real>, dim3(1), dim3(block_threads), 0, seam_of(ctx), all, (int64_t)before, bound,
            static_cast<const double *>(partial), static_cast<double *>(squares->data),
            static_cast<double *>(scale->data));
    }
}

template void gradient_norm_cuda<float>(mo_context *, double, int, const mo_view *, const mo_view *, const mo_view *);
template void gradient_norm_cuda<double>(mo_context *, double, int, const mo_view *, const mo_view *, const mo_view *);

/* ---- the step ---- */

template <typename real> struct adamw_parameters {
    gradients<real> gradient;
    real *m[most_parameters], *v[most_parameters], *p[most_parameters];
};

template <typename real> struct adamw_constants { real clip, beta1, rest1, beta2, rest2, keep, rate, root, epsilon; };

template <typename real>
__device__ static void update(const adamw_constants<real> &c, real g, real &m, real &v, real &p) {
    real gradient = g * c.clip;
    m = c.beta1 * m + c.rest1 * gradient;
    v = c.beta2 * v + c.rest2 * gradient * gradient;
    p = c.keep * p - c.rate * m / (sqrt(v) * c.root + c.epsilon);
}

/* Updates n values, 16 bytes at a time where all four arrays are aligned so. */
template <typename real>
__device__ static void update_piece(
    const adamw_constants<real> &c, int64_t n, const real *g, real *m, real *v, real *p) {
    uintptr_t addresses = (uintptr_t)g | (uintptr_t)m | (uintptr_t)v | (uintptr_t)p;
    constexpr int width = pack<real>::width;
    int64_t packs = addresses % sizeof(pack<real>) ? 0 : n / width;
    for (int64_t i = threadIdx.x; i < packs; i += blockDim.x) {
        pack<real> G = pack_at(true, g, i), M = pack_at(true, m, i), V = pack_at(true, v, i), P = pack_at(true, p, i);
        for (int k = 0; k < width; k++)
            update(c, G.value[k], M.value[k], V.value[k], P.value[k]);
        reinterpret_cast<pack<real> *>(m)[i] = M;
        reinterpret_cast<pack<real> *>(v)[i] = V;
        reinterpret_cast<pack<real> *>(p)[i] = P;
    }
    for (int64_t i = packs * width + threadIdx.x; i < n; i += blockDim.x)
        update(c, g[i], m[i], v[i], p[i]);
}

/* Changes nothing if a check has failed. */
template <typename real>
static __global__ void adamw_kernel(
    const double *factor, adamw_parameters<real> all, const double *scale, const found_error *error) {
    if (error->found)
        return;
    adamw_constants<real> c = {(real)scale[1], (real)factor[MO_ADAMW_BETA1], (real)factor[MO_ADAMW_REST1],
        (real)factor[MO_ADAMW_BETA2], (real)factor[MO_ADAMW_REST2], (real)factor[MO_ADAMW_KEEP],
        (real)factor[MO_ADAMW_RATE], (real)factor[MO_ADAMW_ROOT], (real)factor[MO_ADAMW_EPSILON]};
    piece own = own_piece(all.gradient);
    int64_t k = own.k, at = own.begin;
    update_piece(c, own.count, all.gradient.g[k] + at, all.m[k] + at, all.v[k] + at, all.p[k] + at);
}

template <typename real>
void adamw_cuda(mo_context *ctx, const mo_view *factors, const mo_view *scale, int n, const mo_view *g,
    const mo_view *m, const mo_view *v, const mo_view *p) {
    for (int first = 0; first < n; first += most_parameters) {
        adamw_parameters<real> all = {};
        all.gradient = gradients_from<real>(first, n, g);
        int64_t count = all.gradient.count, pieces = all.gradient.first[count];
        for (int64_t k = 0; k < count; k++) {
            all.m[k] = static_cast<real *>(m[first + k].data);
            all.v[k] = static_cast<real *>(v[first + k].data);
            all.p[k] = static_cast<real *>(p[first + k].data);
        }
        mo_launch(adamw_kernel<real>, dim3((unsigned)pieces), dim3(block_threads), 0, seam_of(ctx),
            static_cast<const double *>(factors->data), all, static_cast<const double *>(scale->data),
            static_cast<const found_error *>(state_of(ctx)->checks.device));
    }
}

template void adamw_cuda<float>(mo_context *, const mo_view *, const mo_view *, int, const mo_view *, const mo_view *,
    const mo_view *, const mo_view *);
template void adamw_cuda<double>(mo_context *, const mo_view *, const mo_view *, int, const mo_view *, const mo_view *,
    const mo_view *, const mo_view *);
