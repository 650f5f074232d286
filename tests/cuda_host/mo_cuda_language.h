/* tests/cuda_host/mo_cuda_language.h - tensor/cuda/launch.h includes it if the compiler is not nvcc. */
#ifndef MO_CUDA_LANGUAGE_H
#define MO_CUDA_LANGUAGE_H

#include "tests/cuda_host/language.h"
#include "tests/cuda_host/seam.h"

/* Messages name a kernel by the text of its launch, and the place. */
#define mo_launch(...) cuda_host::launch(#__VA_ARGS__, __VA_ARGS__)

namespace cuda_host {

template <typename... Declared, typename... Given>
void launch(const char *text, void (*kernel)(Declared...), dim3 blocks, dim3 threads, std::size_t shared_bytes, seam *s,
    const Given &...given) {
    if (blocks.x && blocks.y && blocks.z && kernel_may_queue(s))
        enqueue_kernel(stream_of(s), text, blocks, threads, shared_bytes, kernel, given...);
}

} // namespace cuda_host

#endif
