/* tensor/cuda/launch.h - how kernels are called, and where they find their shared memory.
 *
 * The same sources are compiled by nvcc and, for the emulated device of the tests, by the host's C++ compiler, which
 * finds the language of kernels and a mo_launch of its own in mo_cuda_language.h. README.md lists what kernels may
 * use. */
#ifndef MO_CUDA_LAUNCH_H
#define MO_CUDA_LAUNCH_H

#include "tensor/cuda/seams/seam.h"

#include <tuple>
#include <utility>

#ifdef __CUDACC__

template <typename Tuple, size_t... I>
void mo_launch_tuple(seam *s, const void *kernel, const seam_grid &grid, Tuple &arguments, std::index_sequence<I...>) {
    void *address[] = {(void *)&std::get<I>(arguments)...};
    seam_launch(s, kernel, &grid, address);
}

/* Queues kernel<<<blocks, threads, shared bytes>>>(given...) on the stream of s, with the arguments converted to the
 * types that the kernel declares. Does nothing if there are 0 blocks. */
template <typename... Declared, typename... Given>
void mo_launch(
    void (*kernel)(Declared...), dim3 blocks, dim3 threads, size_t shared_bytes, seam *s, const Given &...given) {
    if (blocks.x == 0 || blocks.y == 0 || blocks.z == 0)
        return;
    std::tuple<Declared...> arguments(static_cast<Declared>(given)...);
    seam_grid grid = {{blocks.x, blocks.y, blocks.z}, {threads.x, threads.y, threads.z}, shared_bytes};
    mo_launch_tuple(s, (const void *)kernel, grid, arguments, std::index_sequence_for<Declared...>());
}

#else
#include <mo_cuda_language.h>
#endif

__align__(16) extern __shared__ unsigned char mo_shared[];

/* The dynamic shared memory of the block, 16-byte aligned. */
template <typename T> __device__ inline T *mo_shared_as() {
    return reinterpret_cast<T *>(mo_shared);
}

#endif
