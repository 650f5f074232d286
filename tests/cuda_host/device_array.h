/* tests/cuda_host/device_array.h - arrays for the kernels of the emulation's tests. */
#ifndef CUDA_HOST_DEVICE_ARRAY_H
#define CUDA_HOST_DEVICE_ARRAY_H

#include "tests/cuda_host/language.h"
#include "tests/cuda_host/stream.h"

#include <csetjmp>
#include <cstdarg>
#include <cstdint>
#include <cstdlib>

extern "C" {
#include <cmocka.h>
}

extern __shared__ unsigned char mo_shared[];

namespace cuda_host {

/* A device array with its stream and page-locked memory of the same size on the host. */
struct array {
    stream *s = stream_create();
    int n;
    float *device, *host;

    explicit array(int count) : n(count) {
        device = static_cast<float *>(memory_allocate(bytes()));
        host = static_cast<float *>(pinned_allocate(bytes()));
        for (int i = 0; i < n; i++)
            host[i] = (float)(i % 17) - 3;
    }
    ~array() {
        stream_release(s);
        memory_release(device);
        pinned_release(host);
    }
    std::size_t bytes() const {
        return (std::size_t)n * sizeof(float);
    }
    void upload() {
        enqueue_upload(s, device, host, bytes());
    }
    void download() {
        enqueue_download(s, host, device, bytes());
    }
    template <typename... Declared, typename... Given>
    void launch(unsigned blocks, unsigned threads, void (*kernel)(Declared...), const Given &...given) {
        enqueue_kernel(s, "test", {blocks, 1, 1}, {threads, 1, 1}, threads * sizeof(float), kernel, given...);
    }
};

static inline __global__ void add_index(float *x, int n) {
    int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n)
        x[i] += (float)i;
}

} // namespace cuda_host

#endif
