/* tests/cuda_host/grid.cpp - which blocks of a grid are on the device together, and how they take turns. */
#include "tests/cuda_host/grid.h"

#include "tests/cuda_host/shared.h"
#include "tests/cuda_host/violation.h"

namespace cuda_host {

static constexpr unsigned resident = 3; /* blocks on the device at a time, where there are no clusters */

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

/* A cluster on the device: the block of rank r has slot r. */
struct cluster_record {
    std::size_t shared_bytes;
    unsigned size, left; /* blocks; that have not ended */
    bool over[largest_cluster];
};

static void leave(cluster_record &c, unsigned rank) {
    c.over[rank] = block_leave(rank);
    if (!c.over[rank])
        return;
    shared_end_block(rank, c.shared_bytes);
    c.left--;
}

/* Runs the blocks, from the last rank where backwards, until each has ended or waits for the cluster; they take turns
 * as in run_together. */
static void run_to_cluster_barrier(cluster_record &c, bool backwards) {
    place where;
    for (bool moved = true; moved;) {
        moved = false;
        for (unsigned k = 0; k < c.size; k++) {
            unsigned rank = backwards ? c.size - 1 - k : k;
            for (unsigned turn = 0; turn <= k && !c.over[rank] && !block_waits_for_cluster(rank, &where); turn++) {
                block_continue(rank);
                leave(c, rank);
                moved = true;
            }
        }
    }
}

/* Every block has ended or waits for the cluster: none may have left the barrier out. */
static void check_cluster_barrier(const cluster_record &c) {
    unsigned waiting = 0;
    while (c.over[waiting])
        waiting++;
    place first, other;
    block_waits_for_cluster(waiting, &first);
    for (unsigned rank = 0; rank < c.size; rank++) {
        if (c.over[rank])
            violation("the block of rank %u waits at the cluster's barrier of %s:%d, which the block of rank %u has"
                      " left out: it has ended",
                waiting, first.file, first.line, rank);
        block_waits_for_cluster(rank, &other);
        if (first.line != other.line || first.file != other.file)
            violation("the block of rank %u waits at the cluster's barrier of %s:%d, that of rank %u at that of %s:%d",
                waiting, first.file, first.line, rank, other.file, other.line);
    }
}

/* Between two barriers of the cluster its blocks run from the first to the last rank, then from the last to the first:
 * what reads another block's memory without a barrier reads it too early in one of the two. */
static void run_cluster(const grid &g, std::uint64_t which, bool backwards) {
    index3 shape = g.cluster;
    index3 clusters = {grid_shape.x / shape.x, grid_shape.y / shape.y, grid_shape.z / shape.z};
    index3 at = position_in(clusters, which);
    cluster_record c = {g.shared_bytes, cluster_blocks, cluster_blocks, {}};
    shared_begin_cluster();
    for (unsigned k = 0; k < c.size; k++) {
        unsigned rank = backwards ? c.size - 1 - k : k;
        index3 in = position_in(shape, rank);
        block_begin(rank, {at.x * shape.x + in.x, at.y * shape.y + in.y, at.z * shape.z + in.z}, rank & 1);
        leave(c, rank);
    }
    run_to_cluster_barrier(c, backwards);
    while (c.left > 0) {
        check_cluster_barrier(c);
        shared_pass_cluster();
        backwards = !backwards;
        for (unsigned k = 0; k < c.size; k++) {
            unsigned rank = backwards ? c.size - 1 - k : k;
            block_continue(rank);
            leave(c, rank);
        }
        run_to_cluster_barrier(c, backwards);
    }
}

static void check_clusters(const grid &g) {
    if (count_of(g.cluster) < 1 || count_of(g.cluster) > largest_cluster)
        violation("kernel %.*s: a cluster of %u x %u x %u blocks, expected 1 to %u", name_length(g.name), g.name,
            g.cluster.x, g.cluster.y, g.cluster.z, largest_cluster);
    if (g.blocks.x % g.cluster.x || g.blocks.y % g.cluster.y || g.blocks.z % g.cluster.z)
        violation("kernel %.*s: a grid of %u x %u x %u blocks, no multiple of its cluster of %u x %u x %u",
            name_length(g.name), g.name, g.blocks.x, g.blocks.y, g.blocks.z, g.cluster.x, g.cluster.y, g.cluster.z);
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
    check_clusters(g);
}

void grid_run(const grid &g, void (*body)(void *arguments), void *arguments) {
    blocks_of(&g, body, arguments);
    block_shape = g.threads;
    grid_shape = g.blocks;
    cluster_blocks = (unsigned)count_of(g.cluster);
    std::uint64_t total = count_of(g.blocks), clusters = total / cluster_blocks;
    bool falling = grids++ & 1; /* no order of blocks is promised */
    for (std::uint64_t i = 0; cluster_blocks > 1 && i < clusters; i++)
        run_cluster(g, falling ? clusters - 1 - i : i, (i & 1) != falling);
    for (std::uint64_t first = 0; cluster_blocks == 1 && first < total; first += resident)
        run_together(first, (unsigned)(total - first < resident ? total - first : resident), falling);
    blocks_of(nullptr, nullptr, nullptr);
}

} // namespace cuda_host
