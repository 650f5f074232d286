/* tensor/cuda/seams/seam_runtime.c - device, memory pool, stream, copies, events and graphs of the CUDA runtime. */
#include "tensor/cuda/seams/seam_device.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct seam_event {
    cudaEvent_t event;
    seam *of;
};

struct seam_graph {
    cudaGraphExec_t graph;
};

static const char *text_of(cudaError_t code) {
    return code == cudaSuccess ? NULL : cudaGetErrorString(code);
}

/* Returns the error text of a call's result, NULL if it has none, and clears the runtime's last error, as seam_note
 * does. */
static const char *answer_of(cudaError_t code) {
    if (code != cudaSuccess)
        cudaGetLastError();
    return text_of(code);
}

void seam_note(seam *s, cudaError_t code) {
    if (code == cudaSuccess)
        return;
    cudaGetLastError();
    if (s->failure == cudaSuccess)
        s->failure = code;
}

const char *seam_reason(seam *s, const char *text) {
    int current = s->device;
    if (!text || cudaGetDevice(&current) != cudaSuccess || current == s->device)
        return text;
    snprintf(s->foreign, sizeof s->foreign, "device %d is current in this thread, expected %d: call cudaSetDevice",
        current, s->device);
    return s->foreign;
}

/* Makes the pool. When the host waits, the pool keeps released memory up to the context's bound, or half the device's
 * memory. So it seldom asks the driver for memory, and other users (PyTorch in the same process) find some too. */
static cudaError_t make_pool(seam *s) {
    struct cudaMemPoolProps properties = {.allocType = cudaMemAllocationTypePinned,
        .handleTypes = cudaMemHandleTypeNone,
        .location = {.type = cudaMemLocationTypeDevice, .id = s->device}};
    size_t free_bytes = 0, total = 0;
    cudaError_t code = cudaMemGetInfo(&free_bytes, &total);
    uint64_t kept = s->most ? s->most : total / 2;
    code = code ? code : cudaMemPoolCreate(&s->pool, &properties);
    return code ? code : cudaMemPoolSetAttribute(s->pool, cudaMemPoolAttrReleaseThreshold, &kept);
}

/* The least major version of compute capability for which kernels are built. */
enum { LEAST_CAPABILITY = 8 };

/* Returns NULL if the device can be used, else why not; that reason can be in `text`. */
static const char *refuse_device(int device, char *text, size_t bytes) {
    struct cudaDeviceProp p;
    int count = 0;
    cudaError_t code = cudaGetDeviceCount(&count);
    if (code != cudaSuccess || count == 0)
        return code ? cudaGetErrorString(code) : "no device found";
    if (device < 0 || device >= count) {
        snprintf(text, bytes, "there is no cuda:%d, expected cuda:0 to cuda:%d (as CUDA_VISIBLE_DEVICES leaves them)",
            device, count - 1);
        return text;
    }
    code = cudaGetDeviceProperties(&p, device);
    if (code != cudaSuccess)
        return cudaGetErrorString(code);
    if (p.major >= LEAST_CAPABILITY)
        return NULL;
    snprintf(text, bytes, "%s has compute capability %d.%d, expected %d.0 or later", p.name, p.major, p.minor,
        LEAST_CAPABILITY);
    return text;
}

static const char *open_handles(seam *s) {
    cudaError_t code = cudaSetDevice(s->device);
    code = code ? code : cudaStreamCreateWithFlags(&s->stream, cudaStreamNonBlocking);
    code = code ? code : make_pool(s);
    const char *reason = code ? cudaGetErrorString(code) : seam_open_blas(s);
    return reason ? reason : seam_open_solver(s);
}

const char *seam_open(seam **out, const seam_choice *which, char *text, size_t bytes) {
    const char *reason = refuse_device(which->device, text, bytes);
    seam *s = reason ? NULL : calloc(1, sizeof *s);
    if (!s)
        return reason ? reason : "out of host memory";
    s->device = which->device;
    s->most = which->most;
    reason = open_handles(s);
    if (reason)
        seam_close(s);
    else
        *out = s;
    return reason;
}

void seam_close(seam *s) {
    if (s->stream)
        cudaStreamSynchronize(s->stream);
    seam_close_dnn(s);
    seam_close_solver(s);
    seam_close_blas(s);
    free(s->host_workspace);
    if (s->workspace)
        cudaFreeAsync(s->workspace, s->stream);
    if (s->stream)
        cudaStreamSynchronize(s->stream);
    if (s->pool)
        cudaMemPoolDestroy(s->pool);
    if (s->stream)
        cudaStreamDestroy(s->stream);
    free(s);
}

const char *seam_describe(char *text, size_t bytes) {
    struct cudaDeviceProp p;
    int driver = 0, runtime = 0, count = 0;
    const char *reason = refuse_device(0, text, bytes);
    if (reason)
        return reason;
    cudaGetDeviceCount(&count);
    cudaDriverGetVersion(&driver);
    cudaRuntimeGetVersion(&runtime);
    size_t used = 0;
    for (int i = 0; i < count && used < bytes && cudaGetDeviceProperties(&p, i) == cudaSuccess; i++) {
        int n = i ? snprintf(text + used, bytes - used, "; cuda:%d ", i) : 0;
        used += (size_t)n;
        if (used < bytes)
            used += (size_t)snprintf(text + used, bytes - used, "%s, compute capability %d.%d, %.1f GiB", p.name,
                p.major, p.minor, (double)p.totalGlobalMem / (1 << 30));
        if (i == 0 && used < bytes)
            used += (size_t)snprintf(text + used, bytes - used, ", driver %d.%d, runtime %d.%d", driver / 1000,
                driver % 1000 / 10, runtime / 1000, runtime % 1000 / 10);
    }
    return NULL;
}

void seam_libraries(char *text, size_t bytes) {
    int blas[3] = {0}, solver[3] = {0};
    for (int i = 0; i < 3; i++) {
        cublasGetProperty((libraryPropertyType)i, &blas[i]);
        cusolverGetProperty((libraryPropertyType)i, &solver[i]);
    }
    snprintf(
        text, bytes, "cuBLAS %d.%d.%d, cuSOLVER %d.%d.%d", blas[0], blas[1], blas[2], solver[0], solver[1], solver[2]);
    size_t used = strlen(text);
    seam_describe_dnn(text + used, bytes - used);
}

int seam_count(void) {
    int count = 0;
    if (cudaGetDeviceCount(&count) == cudaSuccess)
        return count;
    cudaGetLastError();
    return 0;
}

const char *seam_failure(seam *s) {
    cudaError_t code = s->failure;
    s->failure = cudaSuccess;
    return text_of(code);
}

/* ---- copies ---- */

void seam_upload(seam *s, void *device, const void *pinned, size_t bytes) {
    seam_note(s, cudaMemcpyAsync(device, pinned, bytes, cudaMemcpyHostToDevice, s->stream));
}

void seam_download(seam *s, void *pinned, const void *device, size_t bytes) {
    seam_note(s, cudaMemcpyAsync(pinned, device, bytes, cudaMemcpyDeviceToHost, s->stream));
}

void seam_copy(seam *s, void *to, const void *from, size_t bytes) {
    seam_note(s, cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, s->stream));
}

void seam_fill(seam *s, void *device, int byte, size_t bytes) {
    seam_note(s, cudaMemsetAsync(device, byte, bytes, s->stream));
}

const char *seam_wait(seam *s) {
    return answer_of(cudaStreamSynchronize(s->stream));
}

/* ---- events, graphs, launches ---- */

seam_event *seam_event_create(seam *s) {
    seam_event *e = calloc(1, sizeof *e);
    if (e && cudaEventCreate(&e->event) == cudaSuccess) {
        e->of = s;
        return e;
    }
    cudaGetLastError();
    free(e);
    return NULL;
}

void seam_event_release(seam_event *e) {
    if (e)
        cudaEventDestroy(e->event);
    free(e);
}

void seam_event_record(seam *s, seam_event *e) {
    seam_note(s, cudaEventRecord(e->event, s->stream));
}

const char *seam_event_wait(seam_event *e) {
    return answer_of(cudaEventSynchronize(e->event));
}

float seam_event_milliseconds(const seam_event *from, const seam_event *to) {
    float milliseconds = 0;
    seam_note(from->of, cudaEventElapsedTime(&milliseconds, from->event, to->event));
    return milliseconds;
}

void *seam_stream(const seam *s) {
    return s->stream;
}

const char *seam_capture(seam *s) {
    cudaError_t code = cudaStreamBeginCapture(s->stream, cudaStreamCaptureModeThreadLocal);
    s->capturing = code == cudaSuccess;
    if (!s->capturing)
        return answer_of(code);
    s->before = s->failure;
    s->failure = cudaSuccess;
    return NULL;
}

/* A call that cannot be captured ends the capture: later launches fail, and so does cudaStreamEndCapture. s->failure is
 * for work that has run, and none of the captured work has, so it must not keep these failures. */
const char *seam_capture_end(seam *s, seam_graph **out) {
    cudaGraph_t recorded = NULL;
    seam_graph *g = calloc(1, sizeof *g);
    cudaError_t code = cudaStreamEndCapture(s->stream, &recorded);
    code = code ? code : s->failure;
    s->capturing = false;
    s->failure = s->before;
    if (code == cudaSuccess && g)
        code = cudaGraphInstantiate(&g->graph, recorded, 0);
    if (recorded)
        cudaGraphDestroy(recorded);
    if (code == cudaSuccess && g) {
        *out = g;
        return NULL;
    }
    cudaGetLastError();
    free(g);
    return code ? cudaGetErrorString(code) : "out of host memory";
}

uint64_t seam_moves(const seam *s) {
    return s->moves;
}

void seam_graph_launch(seam *s, seam_graph *g) {
    seam_note(s, cudaGraphLaunch(g->graph, s->stream));
}

void seam_graph_release(seam_graph *g) {
    if (g)
        cudaGraphExecDestroy(g->graph);
    free(g);
}

enum { SHARED_UNASKED = 48 << 10 }; /* bytes of shared memory that every block has */

size_t seam_most_shared(const seam *s) {
    int bytes = 0;
    if (cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, s->device) == cudaSuccess && bytes > 0)
        return (size_t)bytes;
    cudaGetLastError();
    return SHARED_UNASKED;
}

/* Raises the kernel's bound of dynamic shared memory where `bytes` are more. The bound starts at SHARED_UNASKED less
 * the arrays that the kernel declares. */
static void allow_shared(seam *s, const void *kernel, size_t bytes) {
    struct cudaFuncAttributes has;
    cudaError_t found = cudaFuncGetAttributes(&has, kernel);
    if (found == cudaSuccess && bytes > (size_t)has.maxDynamicSharedSizeBytes)
        found = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes);
    seam_note(s, found);
}

void seam_launch(seam *s, const void *kernel, const seam_grid *g, void **arguments) {
    dim3 blocks = {g->blocks[0], g->blocks[1], g->blocks[2]}, threads = {g->threads[0], g->threads[1], g->threads[2]};
    if (g->shared_bytes)
        allow_shared(s, kernel, g->shared_bytes);
    seam_note(s, cudaLaunchKernel(kernel, blocks, threads, arguments, g->shared_bytes, s->stream));
}

void seam_order(seam *s, void *other, bool theirs_first) {
    cudaStream_t first = theirs_first ? (cudaStream_t)other : s->stream;
    cudaStream_t second = theirs_first ? s->stream : (cudaStream_t)other;
    cudaEvent_t reached = NULL;
    seam_note(s, cudaEventCreateWithFlags(&reached, cudaEventDisableTiming));
    if (!reached)
        return;
    seam_note(s, cudaEventRecord(reached, first));
    seam_note(s, cudaStreamWaitEvent(second, reached, 0));
    seam_note(s, cudaEventDestroy(reached)); /* freed once the stream has waited for it */
}

/* ---- memory: a pool, its bound and its high-water mark; page-locked memory ---- */

static uint64_t pool_value(seam *s, enum cudaMemPoolAttr which) {
    uint64_t value = 0;
    cudaMemPoolGetAttribute(s->pool, which, &value);
    return value;
}

static bool within_bound(seam *s, size_t bytes) {
    uint64_t used = s->most ? pool_value(s, cudaMemPoolAttrUsedMemCurrent) : 0;
    return !s->most || (used <= s->most && bytes <= s->most - used);
}

void *seam_allocate(seam *s, size_t bytes) {
    void *block = NULL;
    for (int attempt = 0; attempt < 2 && !s->capturing; attempt++) { /* a capture's graph would own the block */
        if (attempt)                                                 /* after a wait, queued releases are done */
            cudaStreamSynchronize(s->stream);
        if (within_bound(s, bytes) && cudaMallocFromPoolAsync(&block, bytes, s->pool, s->stream) == cudaSuccess)
            return block;
        cudaGetLastError(); /* the caller reports the failure */
    }
    return NULL;
}

void seam_release(seam *s, void *block) {
    if (block)
        seam_note(s, cudaFreeAsync(block, s->stream));
}

void seam_memory(seam *s, size_t *held, size_t *left) {
    uint64_t reserved = pool_value(s, cudaMemPoolAttrReservedMemCurrent);
    uint64_t used = pool_value(s, cudaMemPoolAttrUsedMemCurrent);
    size_t free_bytes = 0, total = 0;
    cudaMemGetInfo(&free_bytes, &total);
    *held = (size_t)reserved;
    *left = free_bytes + (size_t)(reserved - used);
    if (s->most && *left > s->most - (used < s->most ? used : s->most))
        *left = s->most - (used < s->most ? used : s->most);
}

size_t seam_peak(seam *s, bool restart) {
    uint64_t peak = pool_value(s, cudaMemPoolAttrUsedMemHigh), none = 0;
    if (restart)
        cudaMemPoolSetAttribute(s->pool, cudaMemPoolAttrUsedMemHigh, &none);
    return (size_t)peak;
}

void *seam_workspace(seam *s, size_t bytes) {
    if (bytes <= s->workspace_bytes && s->workspace)
        return s->workspace;
    if (s->capturing)
        return NULL;
    seam_release(s, s->workspace);
    s->moves++;
    s->workspace = seam_allocate(s, bytes ? bytes : 1);
    s->workspace_bytes = s->workspace ? bytes : 0;
    return s->workspace;
}

const char *seam_trim(seam *s) {
    if (s->workspace) {
        seam_release(s, s->workspace);
        s->moves++;
    }
    s->workspace = NULL;
    s->workspace_bytes = 0;
    const char *reason = seam_wait(s);
    free(s->host_workspace);
    s->host_workspace = NULL;
    s->host_bytes = 0;
    return reason ? reason : answer_of(cudaMemPoolTrimTo(s->pool, 0));
}

void *seam_pin(size_t bytes) {
    void *block = NULL;
    if (cudaMallocHost(&block, bytes) == cudaSuccess)
        return block;
    cudaGetLastError();
    return NULL;
}

void seam_unpin(void *block) {
    cudaFreeHost(block);
}

/* ---- libraries that are opened when they are first needed, not linked: many machines lack them ---- */

void *seam_library_open(const char *name, const seam_function *functions, size_t n) {
    void *object = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    for (size_t i = 0; object && i < n; i++) {
        void *address = dlsym(object, functions[i].name);
        if (!address) {
            dlclose(object);
            return NULL;
        }
        memcpy(functions[i].slot, &address, sizeof address);
    }
    return object;
}

void seam_library_close(void *object) {
    if (object)
        dlclose(object);
}
