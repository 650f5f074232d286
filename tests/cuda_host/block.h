/* tests/cuda_host/block.h - runs the blocks of a grid, three on the device at a time. Each thread has a
 * stack of its own from its first wait for another thread.
 *
 * Odd blocks run their threads from the last to the first, odd grids their blocks, and blocks that are on the device
 * together take turns at barriers, out of step: a kernel that relies on an order that nothing enforces fails. A barrier
 * that some threads of the block skip, or reach at different lines, is a violation; so are a warp's exchange
 * with a lane that has exited, and a write beyond the dynamic shared memory. */
#ifndef CUDA_HOST_BLOCK_H
#define CUDA_HOST_BLOCK_H

#include <cstddef>
#include <cstdint>

namespace cuda_host {

struct index3 {
    unsigned x = 1, y = 1, z = 1;
};

/* A kernel's launch without its stream. */
struct grid {
    const char *name; /* followed by ", " and the other arguments of the call, if any */
    index3 blocks, threads;
    std::size_t shared_bytes; /* dynamic */
};

/* The device's own limits (compute capability 8.0 and later). */
constexpr unsigned max_threads = 1024, warp_size = 32, max_grid_yz = 65535;
constexpr unsigned resident = 3;                   /* blocks on the device at a time */
constexpr std::size_t max_shared_bytes = 99 << 10; /* per block; 8.6 and 8.9 have the least */

extern index3 thread_index, block_index, block_shape, grid_shape;

/* Runs body(arguments) once for each thread; a grid beyond the limits or without threads is a violation. */
void grid_check(const grid &g);
void grid_run(const grid &g, void (*body)(void *arguments), void *arguments);

/* Called by threads. The file and line of the wait. */
struct place {
    const char *file;
    int line;
};

void barrier(place where);
/* Exchanges of all lanes of a warp: another mask is a violation. Every lane gives a value; each receives the value of
 * lane `source`. */
constexpr unsigned whole_warp = 0xffffffff;
std::uint64_t exchange(unsigned mask, std::uint64_t value, unsigned source, place where);
/* Bit i is set if lane i gave a predicate that is not 0. */
unsigned ballot(unsigned mask, bool predicate, place where);
unsigned lane();

/* The number of characters of a name. */
int name_length(const char *name);

/* Writes the running "kernel, block, thread" to text, or nothing. */
void describe_thread(char *text, std::size_t bytes);

} // namespace cuda_host

#endif
