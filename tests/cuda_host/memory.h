/* tests/cuda_host/memory.h - device memory: pages that only running kernels, the twins of the seams, and copies can
 * touch.
 *
 * An allocation ends (rounded up to 256 bytes, the alignment) where its pages end, and an inaccessible page follows: an
 * access beyond it faults. Addresses are never used again, so an access after the release faults too. New memory holds
 * NaNs. The signal handler names the allocation and the kernel that touched it. */
#ifndef CUDA_HOST_MEMORY_H
#define CUDA_HOST_MEMORY_H

#include <cstddef>

namespace cuda_host {

/* Returns memory aligned to 256 bytes; NULL if the capacity is exhausted. */
void *memory_allocate(std::size_t bytes);
void memory_release(void *block);
/* The bytes of the device, MOCHI_CUDA_HOST_MEMORY (default: 4 GiB), and those not in use. */
std::size_t memory_capacity();
std::size_t memory_left();
/* The bytes of live allocations, and their maximum since the start or the last restart. */
std::size_t memory_used();
std::size_t memory_peak(bool restart);
/* The bytes of the pool, which keeps what is released until it is trimmed. */
std::size_t memory_held();
void memory_trim();
/* Counts requested allocations: returns true for the one with the number MOCHI_CUDA_HOST_ALLOCATION (1, 2, ..), which
 * shall fail. The count starts again when the variable changes. */
bool allocation_fails();

/* Allocates host memory and registers it as page-locked. */
void *pinned_allocate(std::size_t bytes);
void pinned_release(void *block);
/* Adds to the number of queued copies that use page-locked memory: releasing it before they have run is a violation. */
void pinned_queued(const void *address, int copies);

/* While such an object lives, the process can access device memory. */
class memory_window {
  public:
    memory_window();
    ~memory_window();
    memory_window(const memory_window &) = delete;
};

/* What an address points to: a live allocation, page-locked memory, the device's range without a live allocation, or
 * other host memory. */
enum class space { device, pinned, stale, host };
space space_of(const void *address);
/* The kind as words for the message of a violation. */
const char *name_of(space s);
/* Report a violation unless the bytes are within one live allocation of the device, or within page-locked memory.
 * `what` names the argument: "gemm: A". 0 bytes can have any address. */
void require_device(const void *address, std::size_t bytes, const char *what);
void require_pinned(const void *address, std::size_t bytes, const char *what);
/* Reports a violation if the address is not a multiple of `alignment`. */
void require_aligned(const void *address, std::size_t alignment, const char *what);
/* Reports a violation if a word in a kernel's argument is an address that the device cannot use. */
void require_device_words(const void *argument, std::size_t bytes, const char *kernel);

} // namespace cuda_host

#endif
