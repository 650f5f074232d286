/* tests/cuda_host/block.h - running the blocks of a grid, three or a cluster on the device at a time, each thread on a
 * stack of its own from the first time that it waits for another.
 *
 * Odd blocks run their threads from the last to the first, odd grids their blocks, and blocks that are on the device
 * together take turns at barriers, out of step: an order which nothing enforces shows. A barrier
 * that some threads of the block or cluster have left out, or that they reach at different lines, is a violation; so
 * are a warp's exchange with a lane that has exited or is not in the mask, and a write beyond the dynamic shared
 * memory. */
#ifndef CUDA_HOST_BLOCK_H
#define CUDA_HOST_BLOCK_H

#include <cstddef>
#include <cstdint>

namespace cuda_host {

struct index3 {
    unsigned x = 1, y = 1, z = 1;
};

/* A call of a kernel without its stream. */
struct grid {
    const char *name; /* followed by ", " and the other arguments of the call, if any */
    index3 blocks, threads;
    std::size_t shared_bytes; /* dynamic */
    index3 cluster;           /* blocks that are on the device together and reach each other's shared memory */
};

/* The device's own limits (compute capability 8.0 and later). */
constexpr unsigned max_threads = 1024, warp_size = 32, max_grid_yz = 65535;
constexpr unsigned largest_cluster = 8;            /* blocks; compute capability 9.0 and later */
constexpr std::size_t max_shared_bytes = 99 << 10; /* of one block; 8.6 and 8.9 have the least */

extern index3 thread_index, block_index, block_shape, grid_shape;
extern unsigned cluster_rank, cluster_blocks; /* of the block that runs; how many its cluster has */

/* Runs body(arguments) once for each thread; a grid beyond the limits or without threads is a violation. */
void grid_check(const grid &g);
void grid_run(const grid &g, void (*body)(void *arguments), void *arguments);

/* Called by threads. The place is where the source waits: file and line. */
struct place {
    const char *file;
    int line;
};

/* Returns how many threads of the block gave a predicate that is not 0. */
int barrier(int predicate, place where);
/* Waits for every thread of the cluster. */
void cluster_barrier(place where);
/* Every lane of the mask gives a value; each receives the one that lane `source` gave. */
std::uint64_t exchange(unsigned mask, std::uint64_t value, unsigned source, place where);
/* Bit i: lane i of the mask gave a predicate that is not 0. */
unsigned ballot(unsigned mask, bool predicate, place where);
unsigned lane();

/* The characters of a name. */
int name_length(const char *name);

/* Writes "kernel, block, thread" of what runs just now, or nothing, to text. */
void describe_thread(char *text, std::size_t bytes);

} // namespace cuda_host

#endif
