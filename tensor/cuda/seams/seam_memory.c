/* tensor/cuda/seams/seam_memory.c - device memory of a pool, its bound and its high-water mark; page-locked memory. */
#include "tensor/cuda/seams/seam_device.h"

cudaError_t seam_make_pool(seam *s) {
    struct cudaMemPoolProps properties = {.allocType = cudaMemAllocationTypePinned,
        .handleTypes = cudaMemHandleTypeNone,
        .location = {.type = cudaMemLocationTypeDevice, .id = s->device}};
    uint64_t all = UINT64_MAX;
    cudaError_t code = cudaMemPoolCreate(&s->pool, &properties);
    return code ? code : cudaMemPoolSetAttribute(s->pool, cudaMemPoolAttrReleaseThreshold, &all);
}

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
    for (int attempt = 0; attempt < 2 && !s->capturing; attempt++) { /* a graph would own the memory */
        if (attempt)                                                 /* queued releases then count */
            cudaStreamSynchronize(s->stream);
        if (within_bound(s, bytes) && cudaMallocFromPoolAsync(&block, bytes, s->pool, s->stream) == cudaSuccess)
            return block;
        cudaGetLastError(); /* cleared: the caller reports it */
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
