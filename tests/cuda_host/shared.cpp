/* tests/cuda_host/shared.cpp - the shared memory of the block that runs: what kernels declare __shared__ is
 * thread-local to the compiler, so that all of it lies in the thread's block of this object, beside the dynamic part.
 */
#include "tests/cuda_host/shared.h"

#include "tests/cuda_host/violation.h"

#include <cstring>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

static constexpr std::size_t margin = 256;

/* What a kernel declares as `extern __shared__`. */
alignas(16) thread_local unsigned char mo_shared[cuda_host::max_shared_bytes + margin];

namespace cuda_host {

/* Bytes on either side of the dynamic part. */
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

/* The bytes `from` to `end` of what a block has dynamic shared memory in are as they were. */
static void check_marks(const unsigned char *dynamic, std::size_t from, std::size_t end, std::size_t bytes) {
    for (std::size_t i = from; i < end; i++)
        if (dynamic[i] != 0xff)
            violation("byte %zu of %zu bytes of shared memory was written", i, bytes);
}

void shared_end(std::size_t bytes) {
    check_marks(mo_shared, bytes, bytes + margin, bytes);
}

/* What is put aside, as it lies in the thread's block, once for this file and once for kernels. */
static struct {
    unsigned char *images, *views;
    std::size_t stride; /* from slot to slot; views are far from one another, and nothing is between them */
    std::size_t room;
} aside;

/* Of the cluster that runs. */
static struct {
    unsigned passed; /* barriers */
    struct {
        bool ended, open, touched; /* touched: since the last barrier, by the block of rank `by` */
        unsigned by;
    } slot[largest_cluster];
} cluster;

static void reserve_slots() {
    const std::size_t page = 4096, apart = std::size_t{64} << 20;
    require_fixed();
    aside.room = (fixed.before + sizeof mo_shared + fixed.behind + page - 1) / page * page;
    aside.stride = aside.room + apart;
    std::size_t bytes = aside.stride * largest_cluster;
    int file = memfd_create("cuda-host", MFD_CLOEXEC);
    if (file < 0 || ftruncate(file, (off_t)bytes) != 0)
        violation("no memory for the shared memory of blocks");
    void *images = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    void *views = mmap(nullptr, bytes, PROT_NONE, MAP_SHARED, file, 0);
    if (images == MAP_FAILED || views == MAP_FAILED)
        violation("no memory for the shared memory of blocks");
    close(file);
    aside.images = static_cast<unsigned char *>(images);
    aside.views = static_cast<unsigned char *>(views);
}

static unsigned char *image(unsigned slot) {
    if (!aside.images)
        reserve_slots();
    return aside.images + slot * aside.stride;
}

static void set_open(unsigned slot, bool open) {
    if (cluster.slot[slot].open != open &&
        mprotect(aside.views + slot * aside.stride, aside.room, open ? PROT_READ | PROT_WRITE : PROT_NONE) != 0)
        violation("the system refuses to protect pages");
    cluster.slot[slot].open = open;
}

void shared_save(unsigned slot, std::size_t bytes) {
    unsigned char *kept = image(slot);
    std::memcpy(kept, fixed.from, fixed.before);
    std::memcpy(kept + fixed.before, mo_shared, bytes + margin);
    std::memcpy(kept + fixed.before + sizeof mo_shared, behind(), fixed.behind);
}

void shared_load(unsigned slot, std::size_t bytes) {
    const unsigned char *kept = image(slot);
    set_open(slot, false); /* while the block runs, its memory is not there */
    std::memcpy(fixed.from, kept, fixed.before);
    std::memcpy(mo_shared, kept + fixed.before, bytes + margin);
    std::memcpy(behind(), kept + fixed.before + sizeof mo_shared, fixed.behind);
}

void shared_begin_cluster() {
    for (unsigned i = 0; i < largest_cluster; i++) {
        set_open(i, false);
        cluster.slot[i] = {};
    }
    for (unsigned i = 0; i < cluster_blocks; i++) {
        unsigned char *kept = image(i); /* the first call of all gives slots their room */
        std::memset(kept, 0xff, aside.room);
    }
    cluster.passed = 0;
}

void shared_pass_cluster() {
    cluster.passed++;
    for (unsigned i = 0; i < largest_cluster; i++) {
        set_open(i, false);
        cluster.slot[i].touched = false;
    }
}

void shared_end_block(unsigned slot, std::size_t bytes) {
    check_marks(image(slot) + fixed.before, bytes + margin, sizeof mo_shared, bytes); /* which no block puts aside */
    if (cluster.slot[slot].touched)
        violation("the block of rank %u ends, and no barrier of the cluster says that the block of rank %u is done with"
                  " its shared memory",
            slot, cluster.slot[slot].by);
    set_open(slot, false);
    cluster.slot[slot].ended = true;
}

void *shared_of_rank(const void *address, int rank, place where) {
    const unsigned char *own = static_cast<const unsigned char *>(address);
    if (rank < 0 || (unsigned)rank >= cluster_blocks)
        violation("%s:%d: rank %d in a cluster of %u blocks", where.file, where.line, rank, cluster_blocks);
    if (own < fixed.from || own >= behind() + fixed.behind)
        violation("%s:%d: the address %p is not in the block's shared memory", where.file, where.line, address);
    if ((unsigned)rank == cluster_rank)
        return const_cast<unsigned char *>(own);
    return aside.views + (unsigned)rank * aside.stride + (own - fixed.from);
}

bool shared_fault(const void *address) {
    const unsigned char *touched = static_cast<const unsigned char *>(address);
    if (!aside.views || touched < aside.views || touched >= aside.views + aside.stride * largest_cluster)
        return false;
    std::size_t offset = std::size_t(touched - aside.views);
    unsigned rank = (unsigned)(offset / aside.stride);
    if (offset % aside.stride >= aside.room || rank >= cluster_blocks)
        violation("device code touched what is no shared memory of its cluster");
    if (rank == cluster_rank)
        violation("the block touched its own shared memory at an address that is for other blocks");
    if (!cluster.passed)
        violation("shared memory of the block of rank %u was touched before the cluster's first barrier", rank);
    if (cluster.slot[rank].ended)
        violation("shared memory of the block of rank %u was touched when that block had ended", rank);
    set_open(rank, true);
    if (!cluster.slot[rank].touched)
        cluster.slot[rank].by = cluster_rank;
    cluster.slot[rank].touched = true;
    return true;
}

} // namespace cuda_host
