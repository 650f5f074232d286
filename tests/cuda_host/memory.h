/* tests/cuda_host/memory.h - device memory: pages that nothing may touch but kernels, twins and copies while they run.
 *
 * An allocation ends where its pages end (up to 256 bytes, the alignment), and a page that is never accessible follows
 * it: a step beyond it faults. Addresses are not used again: so does a touch after the release. New memory holds
 * NaNs. The signal handler says which allocation was touched, by whom. */
#ifndef CUDA_HOST_MEMORY_H
#define CUDA_HOST_MEMORY_H

#include <cstddef>

namespace cuda_host {

/* NULL where the capacity is exhausted; 256-byte aligned. */
void *memory_allocate(std::size_t bytes);
void memory_release(void *block);
/* Bytes that a device of MOCHI_CUDA_HOST_MEMORY bytes (default: 4 GiB) has and has left. */
std::size_t memory_capacity();
std::size_t memory_left();
/* Bytes of live allocations, and the most they have been since the start or the last restart. */
std::size_t memory_used();
std::size_t memory_peak(bool restart);
/* Counts the allocations that are asked for: true for the one that MOCHI_CUDA_HOST_ALLOCATION (1, 2, ..) says shall
 * fail. The count starts again where the variable changes. */
bool allocation_fails();

/* Page-locked host memory, plain otherwise. */
void *pinned_allocate(std::size_t bytes);
void pinned_release(void *block);
/* Copies out of or into page-locked memory that are queued: releasing it meanwhile is a violation. */
void pinned_queued(const void *address, int copies);

/* Device memory is accessible to the process while one of these lives. */
class memory_window {
  public:
    memory_window();
    ~memory_window();
    memory_window(const memory_window &) = delete;
};

/* What an address is: of a live allocation, of page-locked memory, of the device's range but nothing that lives, or
 * none of them. */
enum class space { device, pinned, stale, host };
space space_of(const void *address);
/* In words, for a violation. */
const char *name_of(space s);
/* Violations unless the bytes lie inside one live allocation of the device / of page-locked memory. `what` names the
 * argument: "gemm: A". 0 bytes are fine anywhere. */
void require_device(const void *address, std::size_t bytes, const char *what);
void require_pinned(const void *address, std::size_t bytes, const char *what);
/* Violation where the address is not a multiple of `alignment`. */
void require_aligned(const void *address, std::size_t alignment, const char *what);
/* Violations where an argument of a kernel, or a word inside it, is an address that the device cannot use. */
void require_device_words(const void *argument, std::size_t bytes, const char *kernel);

} // namespace cuda_host

#endif
