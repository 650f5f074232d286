/* tests/cuda_host/seam_collective.cpp - the twin of tensor/cuda/seams/seam_collective.c: processes of one machine add
 * up their values through a file. A sum runs when its stream is waited for, and waits there for the sums of the other
 * ranks. */
#include "tests/cuda_host/dense.h"
#include "tests/cuda_host/seam.h"

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace cuda_host;

static constexpr int most_ranks = 64;
static constexpr std::size_t page = 4096;

/* The first page of the file. After it the file has room for two x of each rank: sums alternate, so no rank overwrites
 * an x that another rank still reads. */
struct board {
    std::atomic<int> joined;
    std::atomic<std::int64_t> taken[most_ranks], n[most_ranks]; /* number of sums for which the rank has written its x,
                                                                 * and the length of x */
};
static_assert(sizeof(board) <= page && std::atomic<std::int64_t>::is_always_lock_free);

struct membership {
    int file, rank, size;
    board *all;
    std::int64_t taken = 0;
    bool abandoned = false;
    ~membership() {
        munmap(all, page);
        close(file);
    }
};

struct cuda_host::group {
    std::shared_ptr<membership> of; /* shared with queued sums */
};

/* The seconds for which a rank waits for another; MOCHI_CUDA_HOST_PATIENCE overrides them. */
static double patience_of(double seconds) {
    const char *text = std::getenv("MOCHI_CUDA_HOST_PATIENCE");
    return text ? std::atof(text) : seconds;
}

template <typename Done> static bool wait_for(double seconds, Done done) {
    auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(patience_of(seconds));
    while (!done()) {
        if (std::chrono::steady_clock::now() > end)
            return false;
        std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
    return true;
}

const char *seam_no_collective(void) {
    return planned_failure("seam_no_collective");
}

const char *seam_name_group(seam *, unsigned char name[SEAM_NAME_BYTES]) {
    if (const char *why = planned_failure("seam_name_group"))
        return why;
    const char *folder = std::getenv("TMPDIR");
    char path[SEAM_NAME_BYTES] = {};
    std::snprintf(path, sizeof path, "%s/mochi-group-XXXXXX", folder ? folder : "/tmp");
    int file = mkstemp(path);
    if (file < 0 || ftruncate(file, page) != 0)
        return "no file for a group";
    close(file);
    std::memcpy(name, path, sizeof path);
    return nullptr;
}

const char *seam_join(seam *s, const seam_ranks *r) {
    if (const char *why = planned_failure("seam_join"))
        return why;
    if (group_of(s) || r->size < 2 || r->size > most_ranks || r->rank < 0 || r->rank >= r->size)
        violation("join: rank %d of %d, %s a group", r->rank, r->size, group_of(s) ? "in" : "without");
    int file = open(reinterpret_cast<const char *>(r->name), O_RDWR | O_CLOEXEC);
    void *map = file < 0 ? MAP_FAILED : mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (map == MAP_FAILED)
        return "no such group";
    auto of = std::make_shared<membership>();
    of->file = file, of->rank = r->rank, of->size = r->size, of->all = static_cast<board *>(map);
    of->all->joined++;
    if (!wait_for(r->patience, [&] { return of->all->joined >= of->size; }))
        return "another process has not joined";
    if (!r->rank)
        unlink(reinterpret_cast<const char *>(r->name));
    group_of(s) = new group{of};
    return nullptr;
}

/* Returns the offset of a rank's x for the current sum. */
static off_t place_of(const membership &m, int rank, std::int64_t n) {
    return off_t(page) + off_t((m.taken % 2 * m.size + rank) * n) * off_t(sizeof(float));
}

static void read_rank(const membership &m, int rank, std::vector<float> &x) {
    if (m.all->n[rank] != (std::int64_t)x.size())
        violation("sum over ranks: %zu values on rank %d, %lld on rank %d", x.size(), m.rank,
            (long long)m.all->n[rank].load(), rank);
    std::size_t bytes = x.size() * sizeof(float);
    if (pread(m.file, x.data(), bytes, place_of(m, rank, (std::int64_t)x.size())) != (ssize_t)bytes)
        violation("sum over ranks: rank %d has written less than it says", rank);
}

/* Adds piece i of the values from rank i + 1 on, as around a ring: the order of neither the ranks nor a tree. */
static void add_ranks(const membership &m, float *x, std::int64_t n) {
    std::vector<std::vector<float>> all((std::size_t)m.size, std::vector<float>((std::size_t)n));
    for (int rank = 0; rank < m.size; rank++)
        read_rank(m, rank, all[(std::size_t)rank]);
    for (std::int64_t i = 0; i < n; i++) {
        std::int64_t first = i * m.size / n + 1;
        float sum = all[std::size_t(first % m.size)][(std::size_t)i];
        for (int k = 1; k < m.size; k++)
            sum += all[std::size_t((first + k) % m.size)][(std::size_t)i];
        x[i] = sum;
    }
}

/* Takes a sum; returns the reason if it fails. Copies the device's memory first, as system calls cannot access its
 * protected pages. */
static const char *take_sum(membership &m, float *x, std::int64_t n, double patience) {
    std::vector<float> mine(x, x + n);
    std::size_t bytes = mine.size() * sizeof(float);
    if (m.abandoned)
        return nullptr;
    if (pwrite(m.file, mine.data(), bytes, place_of(m, m.rank, n)) != (ssize_t)bytes)
        return "no room for a sum";
    m.all->n[m.rank] = n;
    m.all->taken[m.rank] = m.taken + 1;
    bool came = wait_for(patience, [&] {
        for (int rank = 0; rank < m.size; rank++)
            if (m.all->taken[rank] <= m.taken)
                return false;
        return true;
    });
    if (came)
        add_ranks(m, x, n);
    m.taken++;
    return came ? nullptr : "a sum over the processes has not come";
}

const char *seam_sum_ranks(seam *s, float *x, int64_t n, double patience) {
    if (const char *why = planned_failure("seam_sum_ranks"))
        return why;
    group *g = group_of(s);
    if (!g)
        return "the group of processes was left before";
    if (is_capturing(stream_of(s)))
        violation("sum over ranks: in a capture");
    require_vector(x, require_size(n, "sum over ranks: n"), sizeof *x, "sum over ranks: x");
    stream_enqueue(stream_of(s), [s, m = g->of, x, n, patience] {
        const char *why = planned_failure("seam_sum_ranks_late");
        why = why ? why : take_sum(*m, x, n, patience);
        if (why) {
            m->abandoned = true;
            note_failure(s, why);
        }
    });
    return nullptr;
}

void seam_leave(seam *s, bool abandon) {
    group *&g = group_of(s);
    if (!g)
        return;
    if (!abandon && !stream_is_idle(stream_of(s)))
        stream_synchronize(stream_of(s));
    g->of->abandoned |= abandon;
    delete g;
    g = nullptr;
}
