/* tests/cuda_host/arguments.cpp - arguments of kernels: every word that could be an address is one of the device. */
#include "tests/cuda_host/block.h"
#include "tests/cuda_host/memory.h"
#include "tests/cuda_host/violation.h"

#include <cstdint>
#include <cstring>
#include <sys/mman.h>

namespace cuda_host {

static constexpr std::size_t page = 4096;

/* Whether the page of an address exists. */
static bool is_mapped(std::uintptr_t address) {
    unsigned char resident;
    return mincore(reinterpret_cast<void *>(address / page * page), page, &resident) == 0;
}

void require_device_words(const void *argument, std::size_t bytes, const char *kernel) {
    const std::uintptr_t least = std::uintptr_t{1} << 32, end = std::uintptr_t{1} << 47;
    for (std::size_t at = 0; at + sizeof(std::uintptr_t) <= bytes; at += sizeof(std::uintptr_t)) {
        std::uintptr_t word;
        std::memcpy(&word, static_cast<const char *>(argument) + at, sizeof word);
        if (word < least || word >= end)
            continue;
        space found = space_of(reinterpret_cast<void *>(word));
        if (found == space::stale || (found == space::host && is_mapped(word)))
            violation("kernel %.*s is given a %s address", name_length(kernel), kernel, name_of(found));
    }
}

} // namespace cuda_host
