/* tests/cuda_host/shared.cpp - the dynamic shared memory of the block that runs. */
#include "tests/cuda_host/shared.h"

#include "tests/cuda_host/block.h"
#include "tests/cuda_host/violation.h"

#include <cstring>

static constexpr std::size_t margin = 256;

/* What a kernel declares as `extern __shared__`. */
alignas(16) thread_local unsigned char mo_shared[cuda_host::max_shared_bytes + margin];

namespace cuda_host {

void shared_begin(std::size_t bytes) {
    std::memset(mo_shared, 0xff, bytes + margin);
}

void shared_end(std::size_t bytes) {
    for (std::size_t i = bytes; i < bytes + margin; i++)
        if (mo_shared[i] != 0xff)
            violation("byte %zu of %zu bytes of shared memory was written", i, bytes);
}

} // namespace cuda_host
