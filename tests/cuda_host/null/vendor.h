/* tests/cuda_host/null/vendor.h - the vendor's libraries as functions that compute nothing. They keep track of memory,
 * captures and errors, and write a line per queued operation. The seams of tensor/cuda call them unchanged. */
#ifndef CUDA_HOST_NULL_VENDOR_H
#define CUDA_HOST_NULL_VENDOR_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* State that a test sets and reads. All zero: one device of compute capability 9.0 on which everything succeeds. */
typedef struct vendor_state {
    int current;              /* device */
    const char *uncaptured;   /* the function that breaks a capture, or NULL: none */
    cudaError_t asynchronous; /* the result of the next wait; later waits succeed */
    bool capturing, broken;
    cudaError_t last; /* the runtime's last error */
    size_t used, high, reserved;
    const void *shared_kernel; /* the last kernel for which dynamic shared memory was requested, */
    int shared_bytes;          /* and the number of bytes */
} vendor_state;
extern vendor_state vendor;

/* What one call of softmax in cudnn.c was asked for: rows of n values of `bytes` bytes; y_bar is NULL except in the
 * adjoint, where x is y, and y is x_bar. */
typedef struct vendor_softmax {
    int rows, n, bytes;
    bool log;
    const void *x, *y_bar, *y;
} vendor_softmax;
enum { VENDOR_SOFTMAXES = 8 }; /* later calls fail */
/* The library's symbol `softmaxes`. */
typedef struct vendor_softmaxes {
    int count;
    vendor_softmax of[VENDOR_SOFTMAXES];
} vendor_softmaxes;

/* Queues an operation: writes a line "WHAT DETAILS" to the file that MOCHI_CUDA_NULL_TRACE names. Returns whether it
 * was queued: not if `function` breaks the capture, or an earlier call broke it. */
bool vendor_work(const char *function, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Whether a library's call succeeds. After its launch it reads the runtime's last error, as the real library does, and
 * takes an older error for its own. */
bool vendor_done(bool queued);
/* The kernel of the next launch, for the trace. */
extern const char *vendor_kernel;

#ifdef __cplusplus
}
#endif

#endif
