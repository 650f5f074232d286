/* tests/cuda_host/language.h - defines CUDA C++'s additions to C++ for the host compiler. */
#ifndef CUDA_HOST_LANGUAGE_H
#define CUDA_HOST_LANGUAGE_H

#include "tests/cuda_host/block.h"

#include <cmath>
#include <cstring>

#define __host__
#define __device__
#define __global__
#define __launch_bounds__(...)
#define __align__(n) alignas(n)
/* `thread_local` makes a kernel's variable outlive the call, so that a block's threads share it; it is saved while
 * another block runs (shared.cpp). `static` would not do: dynamic shared memory is declared `extern __shared__`. */
#define __shared__ thread_local

#define threadIdx cuda_host::thread_index
#define blockIdx cuda_host::block_index
#define blockDim cuda_host::block_shape
#define gridDim cuda_host::grid_shape

using uint3 = cuda_host::index3;
struct dim3 : cuda_host::index3 {
    constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : index3{x, y, z} {
    }
};
/* ---- waiting for other threads: default arguments say where ---- */

inline void __syncthreads(const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
    cuda_host::barrier({file, line});
}

inline void __syncwarp(unsigned mask = 0xffffffff, const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
    cuda_host::ballot(mask, false, {file, line});
}

inline unsigned __ballot_sync(
    unsigned mask, int predicate, const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
    return cuda_host::ballot(mask, predicate != 0, {file, line});
}

inline int __ffs(int x) {
    return __builtin_ffs(x);
}

namespace cuda_host {

template <typename T> T shuffle(unsigned mask, T value, unsigned source, place where) {
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "shuffles move 4 or 8 bytes");
    std::uint64_t word = 0;
    std::memcpy(&word, &value, sizeof value);
    word = exchange(mask, word, source, where);
    std::memcpy(&value, &word, sizeof value);
    return value;
}

} // namespace cuda_host

template <typename T>
T __shfl_sync(unsigned mask, T value, int source, const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
    return cuda_host::shuffle(mask, value, (unsigned)source % cuda_host::warp_size, {file, line});
}

/* If the source is outside the warp, the lane gets its own value. */
template <typename T>
T __shfl_down_sync(
    unsigned mask, T value, unsigned delta, const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
    unsigned self = cuda_host::lane();
    return cuda_host::shuffle(mask, value, self + delta < cuda_host::warp_size ? self + delta : self, {file, line});
}

template <typename T>
T __shfl_up_sync(
    unsigned mask, T value, unsigned delta, const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
    unsigned self = cuda_host::lane();
    return cuda_host::shuffle(mask, value, self >= delta ? self - delta : self, {file, line});
}

template <typename T>
T __shfl_xor_sync(unsigned mask, T value, int lanes, const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
    return cuda_host::shuffle(mask, value, cuda_host::lane() ^ (unsigned)lanes, {file, line});
}

/* ---- functions ---- */

/* Defined only for integers: floating-point sums would depend on the order of threads. */
template <typename T> T atomicAdd(T *address, T value) {
    static_assert(!std::is_floating_point_v<T>, "no float atomics");
    T before = *address;
    *address += value;
    return before;
}

template <typename T> T atomicMin(T *address, T value) {
    T before = *address;
    *address = value < before ? value : before;
    return before;
}

template <typename T> T atomicCAS(T *address, T expected, T value) {
    T before = *address;
    *address = before == expected ? value : before;
    return before;
}

template <typename T> T rsqrt(T x) {
    return 1 / std::sqrt(x);
}

template <typename T> constexpr T min(T a, T b) {
    return b < a ? b : a;
}

template <typename T> constexpr T max(T a, T b) {
    return a < b ? b : a;
}

#endif
