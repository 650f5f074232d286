/* tests/cuda_host/shared.cpp - the shared memory of the running block. Variables that kernels declare __shared__ are
 * thread-local for the compiler, so all of them lie together in this object's thread-local block, beside the dynamic
 * part. */
#include "tests/cuda_host/shared.h"

#include "tests/cuda_host/violation.h"

#include <cstring>
#include <link.h>
#include <vector>

static constexpr std::size_t margin = 256;

/* The variable that kernels declare as `extern __shared__`. */
alignas(16) thread_local unsigned char mo_shared[cuda_host::max_shared_bytes + margin];

namespace cuda_host {

/* The thread-local block: its start, and its bytes before and after the dynamic part. */
static struct {
    unsigned char *from;
    std::size_t before, behind;
} fixed;

static int find_fixed(dl_phdr_info *info, std::size_t, void *) {
    unsigned char *from = static_cast<unsigned char *>(info->dlpi_tls_data);
    for (int i = 0; from && i < info->dlpi_phnum; i++) {
        std::size_t bytes = info->dlpi_phdr[i].p_memsz;
        if (info->dlpi_phdr[i].p_type == PT_TLS && mo_shared >= from && mo_shared < from + bytes) {
            fixed = {from, std::size_t(mo_shared - from), std::size_t(from + bytes - (mo_shared + sizeof mo_shared))};
            return 1;
        }
    }
    return 0;
}

static unsigned char *behind() {
    return mo_shared + sizeof mo_shared;
}

static void require_fixed() {
    if (!fixed.from && !dl_iterate_phdr(find_fixed, nullptr))
        violation("the shared variables of kernels are not where they were expected");
}

void shared_begin(std::size_t bytes) {
    require_fixed();
    std::memset(fixed.from, 0xff, fixed.before);
    std::memset(behind(), 0xff, fixed.behind);
    std::memset(mo_shared, 0xff, bytes + margin);
}

void shared_end(std::size_t bytes) {
    for (std::size_t i = bytes; i < bytes + margin; i++)
        if (mo_shared[i] != 0xff)
            violation("byte %zu of %zu bytes of shared memory was written", i, bytes);
}

/* Saved copies of the thread-local block, one for each block on the device. */
static std::vector<unsigned char> kept_of[resident];

void shared_save(unsigned slot, std::size_t bytes) {
    kept_of[slot].resize(fixed.before + sizeof mo_shared + fixed.behind);
    unsigned char *kept = kept_of[slot].data();
    std::memcpy(kept, fixed.from, fixed.before);
    std::memcpy(kept + fixed.before, mo_shared, bytes + margin);
    std::memcpy(kept + fixed.before + sizeof mo_shared, behind(), fixed.behind);
}

void shared_load(unsigned slot, std::size_t bytes) {
    const unsigned char *kept = kept_of[slot].data();
    std::memcpy(fixed.from, kept, fixed.before);
    std::memcpy(mo_shared, kept + fixed.before, bytes + margin);
    std::memcpy(behind(), kept + fixed.before + sizeof mo_shared, fixed.behind);
}

} // namespace cuda_host
