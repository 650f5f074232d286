/* tests/cuda_host/cooperative_groups.h - the part of CUDA's <cooperative_groups.h> that kernels use: the cluster. */
#ifndef CUDA_HOST_COOPERATIVE_GROUPS_H
#define CUDA_HOST_COOPERATIVE_GROUPS_H

#include "tests/cuda_host/shared.h"

namespace cooperative_groups {

struct cluster_group {
    static void sync(const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
        cuda_host::cluster_barrier({file, line});
    }
    static unsigned block_rank() {
        return cuda_host::cluster_rank;
    }
    static unsigned num_blocks() {
        return cuda_host::cluster_blocks;
    }
    /* The address, in the block of this rank, of the shared variable at `address` in this block. It may be read and
     * written between two barriers of the cluster. */
    template <typename T>
    static T *map_shared_rank(T *address, int rank, const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
        return static_cast<T *>(cuda_host::shared_of_rank(address, rank, {file, line}));
    }
};

inline cluster_group this_cluster() {
    return {};
}

} // namespace cooperative_groups

#endif
