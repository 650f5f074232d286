/* tests/cuda_host/grid.cpp - which blocks of a grid are on the device together, and how they take turns. */
#include "tests/cuda_host/grid.h"

#include "tests/cuda_host/violation.h"

namespace cuda_host {

static std::uint64_t grids; /* so far */

static std::uint64_t count_of(index3 n) {
    return (std::uint64_t)n.x * n.y * n.z;
}

/* Runs the blocks from `first` on that are on the device together. In each turn a block passes one barrier more than
 * the one before it, so that none keeps step with another. */
static void run_together(std::uint64_t first, unsigned count, bool falling) {
    std::uint64_t total = count_of(grid_shape);
    unsigned left = 0;
    bool over[resident] = {};
    for (unsigned k = 0; k < count; k++) {
        std::uint64_t i = falling ? total - 1 - (first + k) : first + k;
        block_begin(k, position_in(grid_shape, i), i & 1);
        over[k] = block_leave(k);
        left += !over[k];
    }
    while (left > 0)
        for (unsigned k = 0; k < count; k++)
            for (unsigned turn = 0; turn <= k && !over[k]; turn++) {
                block_continue(k);
                over[k] = block_leave(k);
                left -= over[k];
            }
}

void grid_check(const grid &g) {
    std::uint64_t threads = count_of(g.threads);
    if (threads < 1 || threads > max_threads || g.threads.z > 64)
        violation("kernel %.*s: %u x %u x %u threads in a block", name_length(g.name), g.name, g.threads.x, g.threads.y,
            g.threads.z);
    if (!g.blocks.x || !g.blocks.y || !g.blocks.z || g.blocks.x > INT32_MAX || g.blocks.y > max_grid_yz ||
        g.blocks.z > max_grid_yz)
        violation("kernel %.*s: a grid of %u x %u x %u blocks", name_length(g.name), g.name, g.blocks.x, g.blocks.y,
            g.blocks.z);
    if (g.shared_bytes > max_shared_bytes)
        violation("kernel %.*s: %zu bytes of shared memory", name_length(g.name), g.name, g.shared_bytes);
}

void grid_run(const grid &g, void (*body)(void *arguments), void *arguments) {
    blocks_of(&g, body, arguments);
    block_shape = g.threads;
    grid_shape = g.blocks;
    std::uint64_t total = count_of(g.blocks);
    bool falling = grids++ & 1; /* no order of blocks is promised */
    for (std::uint64_t first = 0; first < total; first += resident)
        run_together(first, (unsigned)(total - first < resident ? total - first : resident), falling);
    blocks_of(nullptr, nullptr, nullptr);
}

} // namespace cuda_host
