/* tensor/cuda/random.cu - random numbers by position: element i is the number at position r + i, the same as on the
 * CPU. */
#include "tensor/cuda/kernels.h"

#define MO_PHILOX __host__ __device__ static inline
extern "C++" {
#include "tensor/philox.h"
}

/* Returns position r as a replayed step uses it: the number of its stream is larger by `streams` for each step after
 * the captured one. */
static __device__ mo_random moved(mo_random r, const moving_steps &steps) {
    if (steps.ahead)
        r.stream += (uint64_t)(*steps.ahead * steps.streams);
    return r;
}

template <typename real>
static __global__ void mask_kernel(int64_t n, double rate, real kept, mo_random at, moving_steps steps, real *mask) {
    mo_random r = moved(at, steps);
    for (int64_t i = first_item(); i < n; i += item_step()) {
        uint32_t word[4];
        mo_philox(&r, (uint64_t)i, word);
        mask[i] = mo_philox_uniform(word) < rate ? (real)0 : kept;
    }
}

template <typename real>
static __global__ void random_kernel(
    int64_t n, bool normal, double a, double b, mo_random at, moving_steps steps, real *y) {
    mo_random r = moved(at, steps);
    for (int64_t i = first_item(); i < n; i += item_step()) {
        uint32_t word[4];
        mo_philox(&r, (uint64_t)i, word);
        y[i] = (real)(normal ? a + b * mo_philox_normal(word) : a + (b - a) * mo_philox_uniform(word));
    }
}

template <typename real> void dropout_mask_cuda(mo_context *ctx, double rate, const mo_random *r, const mo_view *mask) {
    int64_t n = leading(mask, mask->ndim);
    mo_launch(mask_kernel<real>, blocks_for(n), dim3(block_threads), 0, seam_of(ctx), n, rate, (real)(1 / (1 - rate)),
        *r, steps_of(ctx), static_cast<real *>(mask->data));
}

template <typename real>
void random_cuda(mo_context *ctx, bool normal, double a, double b, const mo_random *r, const mo_view *y) {
    int64_t n = leading(y, y->ndim);
    mo_launch(random_kernel<real>, blocks_for(n), dim3(block_threads), 0, seam_of(ctx), n, normal, a, b, *r,
        steps_of(ctx), static_cast<real *>(y->data));
}

template void dropout_mask_cuda<float>(mo_context *, double, const mo_random *, const mo_view *);
template void dropout_mask_cuda<double>(mo_context *, double, const mo_random *, const mo_view *);
template void random_cuda<float>(mo_context *, bool, double, double, const mo_random *, const mo_view *);
template void random_cuda<double>(mo_context *, bool, double, double, const mo_random *, const mo_view *);
