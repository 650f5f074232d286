/* tests/cuda_host/block.h - runs the blocks of a grid, three at a time on the device. A thread gets its own stack when
 * it first waits for another thread.
 *
 * Odd blocks run their threads from last to first, odd grids their blocks, and blocks that are on the device together
 * pass barriers out of step: a kernel fails if it relies on an order that nothing enforces. Violations are: a barrier
 * that some threads of the block skip or reach at different lines, an exchange with a lane of the warp that has exited,
 * and a write beyond the dynamic shared memory. */
#ifndef CUDA_HOST_BLOCK_H
#define CUDA_HOST_BLOCK_H

#include <cstddef>
#include <cstdint>

namespace cuda_host {

struct index3 {
    unsigned x = 1, y = 1, z = 1;
};

/* A kernel's launch, without its stream. */
struct grid {
    const char *name; /* the text of the launch: the kernel's name, then ", " and the other arguments, if any */
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

/* The file and line at which a thread waits. */
struct place {
    const char *file;
    int line;
};

void barrier(place where);
/* Exchanges a value over all lanes of a warp; another mask is a violation. Each lane receives the value of lane
 * `source`. */
constexpr unsigned whole_warp = 0xffffffff;
std::uint64_t exchange(unsigned mask, std::uint64_t value, unsigned source, place where);
/* Returns the predicates of all lanes: bit i is set if lane i's is not 0. */
unsigned ballot(unsigned mask, bool predicate, place where);
unsigned lane();

/* The number of characters of the kernel's name at the start of `name`. */
int name_length(const char *name);

/* Writes "kernel, block, thread" of the running thread to text; an empty text if none runs. */
void describe_thread(char *text, std::size_t bytes);

} // namespace cuda_host

#endif
