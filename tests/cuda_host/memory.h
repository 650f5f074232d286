/* tests/cuda_host/memory.h - device memory: pages that only running kernels, twins and copies may touch.
 *
 * An allocation ends where its pages end (up to 256 bytes, the alignment), and a page that is never accessible follows
 * it: an access beyond it faults. Addresses are not used again: an access after the release faults too. New memory
 * holds NaNs. The signal handler names the allocation and the kernel that touched it. */
#ifndef CUDA_HOST_MEMORY_H
#define CUDA_HOST_MEMORY_H

#include <cstddef>

namespace cuda_host {

/* 256-byte aligned; NULL if the capacity is exhausted. */
void *memory_allocate(std::size_t bytes);
void memory_release(void *block);
/* Bytes that a device of MOCHI_CUDA_HOST_MEMORY bytes (default: 4 GiB) has and has left. */
std::size_t memory_capacity();
std::size_t memory_left();
/* Bytes of live allocations, and the most they have been since the start or the last restart. */
std::size_t memory_used();
std::size_t memory_peak(bool restart);
/* The bytes of the pool, which keeps what is released until it is trimmed. */
std::size_t memory_held();
void memory_trim();
/* Counts requested allocations: returns true for the one with the number MOCHI_CUDA_HOST_ALLOCATION (1, 2, ..), which
 * shall fail. The count starts again when the variable changes. */
bool allocation_fails();

/* Page-locked host memory, plain otherwise. */
void *pinned_allocate(std::size_t bytes);
void pinned_release(void *block);
/* Notes queued copies from or to page-locked memory: releasing it meanwhile is a violation. */
void pinned_queued(const void *address, int copies);

/* Device memory is accessible to the process while one of these lives. */
class memory_window {
  public:
    memory_window();
    ~memory_window();
    memory_window(const memory_window &) = delete;
};

/* The kind of an address: in a live allocation, in page-locked memory, in the device's range but in no live allocation,
 * or none of these. */
enum class space { device, pinned, stale, host };
space space_of(const void *address);
/* The kind in words, for the line of a violation. */
const char *name_of(space s);
/* Report a violation unless the bytes lie in one live allocation of the device, or in page-locked memory. `what` names
 * the argument: "gemm: A". 0 bytes are allowed anywhere. */
void require_device(const void *address, std::size_t bytes, const char *what);
void require_pinned(const void *address, std::size_t bytes, const char *what);
/* Reports a violation if the address is not a multiple of `alignment`. */
void require_aligned(const void *address, std::size_t alignment, const char *what);
/* Reports a violation if a kernel's argument, or a word in it, is an address that the device cannot use. */
void require_device_words(const void *argument, std::size_t bytes, const char *kernel);

} // namespace cuda_host

#endif
