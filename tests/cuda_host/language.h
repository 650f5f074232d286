/* tests/cuda_host/language.h - CUDA C++'s additions to C++, for the host compiler. */
#ifndef CUDA_HOST_LANGUAGE_H
#define CUDA_HOST_LANGUAGE_H

#include "tests/cuda_host/block.h"

#include <cmath>
#include <cstring>

#define __host__
#define __device__
#define __global__
#define __constant__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __align__(n) alignas(n)
/* A variable that outlives the call is shared by the threads of a block, and saved when another block continues
 * (shared.cpp). As a storage class `thread_local` goes with `extern`, which dynamic shared memory is declared with,
 * where `static` does not. */
#define __shared__ thread_local

#define threadIdx cuda_host::thread_index
#define blockIdx cuda_host::block_index
#define blockDim cuda_host::block_shape
#define gridDim cuda_host::grid_shape
static constexpr int warpSize = cuda_host::warp_size;

using uint3 = cuda_host::index3;
struct dim3 : cuda_host::index3 {
    constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : index3{x, y, z} {
    }
};
struct alignas(8) float2 {
    float x, y;
};
struct alignas(16) float4 {
    float x, y, z, w;
};
struct alignas(16) double2 {
    double x, y;
};

/* ---- waiting for other threads: default arguments say where ---- */

inline void __syncthreads(const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
    cuda_host::barrier(0, {file, line});
}

inline int __syncthreads_count(int predicate, const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
    return cuda_host::barrier(predicate, {file, line});
}

inline int __syncthreads_or(int predicate, const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
    return cuda_host::barrier(predicate, {file, line}) > 0;
}

inline int __syncthreads_and(int predicate, const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
    return cuda_host::barrier(!predicate, {file, line}) == 0;
}

inline void __syncwarp(unsigned mask = 0xffffffff, const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
    cuda_host::ballot(mask, false, {file, line});
}

inline unsigned __ballot_sync(
    unsigned mask, int predicate, const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
    return cuda_host::ballot(mask, predicate != 0, {file, line});
}

inline int __any_sync(unsigned mask, int predicate, const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
    return cuda_host::ballot(mask, predicate != 0, {file, line}) != 0;
}

inline int __all_sync(unsigned mask, int predicate, const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
    return cuda_host::ballot(mask, predicate == 0, {file, line}) == 0;
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

/* A warp is cut into segments of `width` lanes, a power of two; a source outside the segment is the lane itself. */
template <typename T>
T __shfl_sync(unsigned mask, T value, int source, int width = warpSize, const char *file = __builtin_FILE(),
    int line = __builtin_LINE()) {
    unsigned first = cuda_host::lane() & ~(unsigned)(width - 1);
    return cuda_host::shuffle(mask, value, first + ((unsigned)source & (unsigned)(width - 1)), {file, line});
}

template <typename T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = warpSize, const char *file = __builtin_FILE(),
    int line = __builtin_LINE()) {
    unsigned self = cuda_host::lane();
    bool inside = (self & (unsigned)(width - 1)) + delta < (unsigned)width;
    return cuda_host::shuffle(mask, value, inside ? self + delta : self, {file, line});
}

template <typename T>
T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = warpSize, const char *file = __builtin_FILE(),
    int line = __builtin_LINE()) {
    unsigned self = cuda_host::lane();
    bool inside = (self & (unsigned)(width - 1)) >= delta;
    return cuda_host::shuffle(mask, value, inside ? self - delta : self, {file, line});
}

template <typename T>
T __shfl_xor_sync(unsigned mask, T value, int lanes, int width = warpSize, const char *file = __builtin_FILE(),
    int line = __builtin_LINE()) {
    unsigned self = cuda_host::lane(), source = self ^ (unsigned)lanes;
    bool inside = source < (self & ~(unsigned)(width - 1)) + (unsigned)width;
    return cuda_host::shuffle(mask, value, inside ? source : self, {file, line});
}

/* ---- functions ---- */

inline void __threadfence() {
}
inline void __threadfence_block() {
}

template <typename T> T __ldg(const T *address) {
    return *address;
}

/* Only for integers: floating-point sums must not depend on an unstated order. */
template <typename T> T atomicAdd(T *address, T value) {
    static_assert(!std::is_floating_point_v<T>, "no float atomics");
    T before = *address;
    *address += value;
    return before;
}

template <typename T> T atomicMax(T *address, T value) {
    T before = *address;
    *address = value > before ? value : before;
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

template <typename T> T atomicExch(T *address, T value) {
    T before = *address;
    *address = value;
    return before;
}

inline int __popc(unsigned x) {
    return __builtin_popcount(x);
}

inline int __clz(int x) {
    return x ? __builtin_clz((unsigned)x) : 32;
}

inline int __ffs(int x) {
    return __builtin_ffs(x);
}

inline float rsqrtf(float x) {
    return 1 / std::sqrt(x);
}

inline float rsqrt(float x) {
    return 1 / std::sqrt(x);
}

inline double rsqrt(double x) {
    return 1 / std::sqrt(x);
}

inline unsigned __float_as_uint(float x) {
    unsigned bits;
    std::memcpy(&bits, &x, sizeof bits);
    return bits;
}

inline float __uint_as_float(unsigned bits) {
    float x;
    std::memcpy(&x, &bits, sizeof x);
    return x;
}

inline long long __double_as_longlong(double x) {
    long long bits;
    std::memcpy(&bits, &x, sizeof bits);
    return bits;
}

inline double __longlong_as_double(long long bits) {
    double x;
    std::memcpy(&x, &bits, sizeof x);
    return x;
}

template <typename T> constexpr T min(T a, T b) {
    return b < a ? b : a;
}

template <typename T> constexpr T max(T a, T b) {
    return a < b ? b : a;
}

#endif
