/* tests/cuda_host/null/vendor.h - the vendor's libraries as functions that compute nothing: they keep books of memory,
 * captures and errors, and write a line for each piece of work. The seams of tensor/cuda stand on them unchanged. */
#ifndef CUDA_HOST_NULL_VENDOR_H
#define CUDA_HOST_NULL_VENDOR_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a test sets and reads. All zero: one device of compute capability 9.0 on which everything succeeds. */
typedef struct vendor_state {
    int devices, major;       /* 0: one; 9 */
    int current;              /* device */
    const char *uncaptured;   /* the function that breaks a capture, or NULL */
    const char *missing;      /* "epilogue": cuBLASLt has none; "plan": it has no algorithm at all */
    size_t solver_host;       /* bytes of host workspace that cuSOLVER asks for */
    cudaError_t asynchronous; /* what the next wait says, once */
    bool capturing, broken;
    cudaError_t last; /* the runtime's last error */
    size_t used, high;
    int searches, plans, gemms; /* of cuBLASLt; products by plans; by cuBLAS */
} vendor_state;
extern vendor_state vendor;

/* One piece of work: a line "WHAT DETAILS" in the file that MOCHI_CUDA_NULL_TRACE names. Whether it is queued: not
 * behind what broke the capture, and not where `function` breaks it. */
bool vendor_work(const char *function, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Whether a library's work that was queued or not has succeeded: behind its launch it looks at the runtime's last
 * error, and takes one that another left there for its own. */
bool vendor_done(bool queued);
/* The kernel that the next launch is of, for its line. */
extern const char *vendor_kernel;

#ifdef __cplusplus
}
#endif

#endif
