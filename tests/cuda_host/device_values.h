/* tests/cuda_host/device_values.h - values on the emulated device, and a product of matrices of them. */
#ifndef CUDA_HOST_DEVICE_VALUES_H
#define CUDA_HOST_DEVICE_VALUES_H

#include "tests/cuda_host/expect_violation.h"
#include "tests/cuda_host/seam.h"

#include <vector>

/* Host values on the device, and back. */
template <typename T> struct values {
    seam *s;
    std::vector<T> host;
    T *device, *pinned;

    values(seam *on, std::vector<T> x) : s(on), host(x) {
        device = static_cast<T *>(seam_allocate(s, bytes()));
        pinned = static_cast<T *>(seam_pin(bytes()));
        std::memcpy(pinned, host.data(), bytes());
        seam_upload(s, device, pinned, bytes());
    }
    ~values() {
        seam_release(s, device);
        seam_wait(s);
        seam_unpin(pinned);
    }
    std::size_t bytes() const {
        return host.size() * sizeof(T);
    }
    T *read() {
        seam_download(s, pinned, device, bytes());
        assert_null(seam_wait(s));
        return pinned;
    }
};

inline std::vector<float> numbers(int n, int seed) {
    std::vector<float> x((std::size_t)n);
    for (int i = 0; i < n; i++)
        x[(std::size_t)i] = (float)((i * 37 + seed * 11) % 23) / 8 - 1;
    return x;
}

/* A seam that is closed after the destruction of everything declared later. */
struct session {
    seam *s;
    session() {
        char reason[256];
        seam_choice first = {0, 0};
        assert_null(seam_open(&s, &first, reason, sizeof reason));
    }
    ~session() {
        seam_close(s);
    }
    operator seam *() const {
        return s;
    }
};

enum { M = 3, N = 4, K = 5, LDA = 6, LDB = 7, LDC = 8, BATCH = 2 };

inline seam_gemm product(const void *A, const void *B, void *C) {
    seam_gemm g = {};
    g.m = M, g.n = N, g.k = K;
    g.A = A, g.B = B, g.C = C;
    g.lda = LDA, g.ldb = LDB, g.ldc = LDC;
    g.stride_a = LDA * K, g.stride_c = LDC * N, g.batch = BATCH;
    g.alpha = 2, g.beta = 1;
    return g;
}

#endif
