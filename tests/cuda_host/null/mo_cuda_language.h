/* tests/cuda_host/null/mo_cuda_language.h - compiles kernels for the host, and launches them as on a device: through
 * seam_launch, with the addresses of their arguments. No kernel runs. */
#ifndef MO_CUDA_LANGUAGE_H
#define MO_CUDA_LANGUAGE_H

#include "tensor/cuda/seams/seam.h"
#include "tests/cuda_host/language.h"

#include <tuple>
#include <utility>

extern "C" const char *vendor_kernel; /* declared here, as vendor.h would include the vendor's own language */

/* The text of the launch names the kernel in the trace. */
#define mo_launch(...) (vendor_kernel = #__VA_ARGS__, null_launch(__VA_ARGS__))

template <typename Tuple, size_t... I>
void null_launch_tuple(
    seam *s, const void *kernel, const seam_grid &grid, Tuple &arguments, std::index_sequence<I...>) {
    void *address[] = {(void *)&std::get<I>(arguments)...};
    seam_launch(s, kernel, &grid, address);
}

template <typename... Declared, typename... Given>
void null_launch(
    void (*kernel)(Declared...), dim3 blocks, dim3 threads, size_t shared_bytes, seam *s, const Given &...given) {
    if (blocks.x == 0 || blocks.y == 0 || blocks.z == 0)
        return;
    std::tuple<std::decay_t<Declared>...> arguments(static_cast<std::decay_t<Declared>>(given)...);
    seam_grid grid = {{blocks.x, blocks.y, blocks.z}, {threads.x, threads.y, threads.z}, shared_bytes};
    null_launch_tuple(s, (const void *)kernel, grid, arguments, std::index_sequence_for<Declared...>());
}

#endif
