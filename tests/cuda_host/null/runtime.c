/* tests/cuda_host/null/runtime.c - the CUDA runtime without a device: memory is host memory, and nothing runs. */
#include "tests/cuda_host/null/vendor.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

vendor_state vendor;
const char *vendor_kernel = "";
static int object; /* what every handle points to */

static FILE *trace_file(void) {
    static FILE *file;
    static bool looked; /* getenv is called once only, as the host's time for a step is measured */
    const char *path = looked ? NULL : getenv("MOCHI_CUDA_NULL_TRACE");
    looked = true;
    if (path)
        file = fopen(path, "w");
    return file;
}

bool vendor_work(const char *function, const char *format, ...) {
    FILE *file = trace_file();
    if (vendor.capturing && vendor.uncaptured && !strcmp(vendor.uncaptured, function))
        vendor.broken = true;
    if (vendor.capturing && vendor.broken)
        return false;
    if (file) {
        va_list arguments;
        va_start(arguments, format);
        vfprintf(file, format, arguments);
        va_end(arguments);
        fputc('\n', file);
    }
    return true;
}

bool vendor_done(bool queued) {
    if (!queued)
        vendor.last = cudaErrorStreamCaptureInvalidated;
    return queued && vendor.last == cudaSuccess;
}

/* As the runtime does, remembers a failure until it is read. */
static cudaError_t said(cudaError_t code) {
    if (code != cudaSuccess)
        vendor.last = code;
    return code;
}

static cudaError_t queued(bool fine) {
    return said(fine ? cudaSuccess : cudaErrorStreamCaptureInvalidated);
}

cudaError_t cudaGetLastError(void) {
    cudaError_t last = vendor.last;
    vendor.last = cudaSuccess;
    return last;
}

const char *cudaGetErrorString(cudaError_t code) {
    return code == cudaErrorStreamCaptureInvalidated ? "operation failed due to a previous error during capture"
           : code == cudaErrorInvalidValue           ? "invalid argument"
           : code == cudaErrorIllegalAddress         ? "an illegal memory access was encountered"
           : code == cudaSuccess                     ? "no error"
                                                     : "an error";
}

/* ---- devices ---- */

cudaError_t cudaGetDeviceCount(int *count) {
    *count = 1;
    return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) {
    vendor.current = device;
    return cudaSuccess;
}

cudaError_t cudaGetDevice(int *device) {
    *device = vendor.current;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *p, int device) {
    *p = (struct cudaDeviceProp){.major = 9, .totalGlobalMem = (size_t)1 << 33};
    snprintf(p->name, sizeof p->name, "null device");
    return cudaSuccess;
}

/* Every kernel declares arrays of OWN_SHARED bytes, for which its dynamic memory leaves room. */
enum { OWN_SHARED = 10 << 10, SHARED = 48 << 10, MOST_SHARED = 227 << 10 };

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device) {
    *value = attribute == cudaDevAttrMaxSharedMemoryPerBlockOptin ? MOST_SHARED
             : attribute == cudaDevAttrMultiProcessorCount        ? 132
                                                                  : 0;
    return cudaSuccess;
}

cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *has, const void *kernel) {
    *has = (struct cudaFuncAttributes){.sharedSizeBytes = OWN_SHARED};
    has->maxDynamicSharedSizeBytes =
        vendor.shared_kernel == kernel && kernel ? vendor.shared_bytes : SHARED - OWN_SHARED;
    return cudaSuccess;
}

cudaError_t cudaFuncSetAttribute(const void *kernel, enum cudaFuncAttribute attribute, int value) {
    vendor.shared_kernel = kernel;
    if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize || value > MOST_SHARED - OWN_SHARED)
        return said(cudaErrorInvalidValue);
    vendor.shared_bytes = value;
    return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int *version) {
    *version = CUDART_VERSION;
    return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int *version) {
    *version = CUDART_VERSION;
    return cudaSuccess;
}

/* ---- memory: a header of 256 bytes holds the size ---- */

cudaError_t cudaMemPoolCreate(cudaMemPool_t *pool, const struct cudaMemPoolProps *properties) {
    *pool = (cudaMemPool_t)&object;
    return cudaSuccess;
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr name, void *value) {
    if (name == cudaMemPoolAttrUsedMemHigh)
        vendor.high = vendor.used;
    return value ? cudaSuccess : said(cudaErrorInvalidValue);
}

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr name, void *value) {
    *(unsigned long long *)value = name == cudaMemPoolAttrUsedMemHigh          ? vendor.high
                                   : name == cudaMemPoolAttrReservedMemCurrent ? vendor.reserved
                                                                               : vendor.used;
    return cudaSuccess;
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t kept) {
    vendor.reserved = vendor.used > kept ? vendor.used : kept;
    return cudaSuccess;
}

cudaError_t cudaMallocFromPoolAsync(void **block, size_t bytes, cudaMemPool_t pool, cudaStream_t stream) {
    char *base = bytes < (size_t)1 << 33 ? aligned_alloc(256, 256 + (bytes + 255) / 256 * 256) : NULL;
    if (!base)
        return said(cudaErrorMemoryAllocation);
    memcpy(base, &bytes, sizeof bytes);
    vendor.used += bytes;
    vendor.high = vendor.used > vendor.high ? vendor.used : vendor.high;
    vendor.reserved = vendor.used > vendor.reserved ? vendor.used : vendor.reserved;
    *block = base + 256;
    return cudaSuccess;
}

cudaError_t cudaFreeAsync(void *block, cudaStream_t stream) {
    size_t bytes;
    memcpy(&bytes, (char *)block - 256, sizeof bytes);
    vendor.used -= bytes;
    free((char *)block - 256);
    return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t *left, size_t *total) {
    *total = (size_t)1 << 33;
    *left = *total - vendor.used;
    return cudaSuccess;
}

cudaError_t cudaMallocHost(void **block, size_t bytes) {
    *block = calloc(1, bytes ? bytes : 1);
    return *block ? cudaSuccess : said(cudaErrorMemoryAllocation);
}

cudaError_t cudaFreeHost(void *block) {
    free(block);
    return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind, cudaStream_t stream) {
    const char *what = kind == cudaMemcpyHostToDevice ? "upload" : kind == cudaMemcpyDeviceToHost ? "download" : "copy";
    return queued(vendor_work("cudaMemcpyAsync", "%s %zu", what, bytes));
}

cudaError_t cudaMemsetAsync(void *block, int byte, size_t bytes, cudaStream_t stream) {
    return queued(vendor_work("cudaMemsetAsync", "fill %zu", bytes));
}

/* ---- streams, events, graphs ---- */

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags) {
    *stream = (cudaStream_t)&object;
    return cudaSuccess;
}

/* Returns the result of a wait: the planned late error, once. */
static cudaError_t waited(void) {
    cudaError_t code = vendor.asynchronous;
    vendor.asynchronous = cudaSuccess;
    return said(code);
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
    vendor_work("cudaStreamSynchronize", "wait");
    return waited();
}

cudaError_t cudaEventCreate(cudaEvent_t *event) {
    *event = (cudaEvent_t)&object;
    return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags) {
    return cudaEventCreate(event);
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags) {
    return queued(vendor_work("cudaStreamWaitEvent", "order"));
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    return queued(vendor_work("cudaEventRecord", "event"));
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
    return waited();
}

cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t from, cudaEvent_t to) {
    *milliseconds = 0;
    return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode) {
    vendor.capturing = true;
    vendor.broken = false;
    return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph) {
    bool broken = vendor.broken;
    vendor.capturing = vendor.broken = false;
    *graph = broken ? NULL : (cudaGraph_t)&object;
    return queued(!broken);
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *out, cudaGraph_t graph, unsigned long long flags) {
    *out = (cudaGraphExec_t)&object;
    return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t stream) {
    return queued(vendor_work("cudaGraphLaunch", "graph"));
}

cudaError_t cudaLaunchKernel(
    const void *kernel, dim3 blocks, dim3 threads, void **arguments, size_t shared_bytes, cudaStream_t stream) {
    struct cudaFuncAttributes has;
    cudaFuncGetAttributes(&has, kernel);
    if (blocks.x == 0 || threads.x * threads.y * threads.z > 1024 ||
        shared_bytes > (size_t)has.maxDynamicSharedSizeBytes)
        return said(cudaErrorInvalidValue);
    int name = (int)strcspn(vendor_kernel, ",");
    return queued(vendor_work("cudaLaunchKernel", "kernel %.*s %u x %u", name, vendor_kernel,
        blocks.x * blocks.y * blocks.z, threads.x * threads.y * threads.z));
}
