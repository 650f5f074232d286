/* tensor/platform.h - the names that the sources take from Linux, with their replacements on other systems (library
 * internal): macOS, for which tests/test_macos.py compiles the sources (nothing has been run there), and WebAssembly in
 * a page, which has one thread, no files and no processes. Functions are in platform.c. */
#ifndef MO_PLATFORM_H
#define MO_PLATFORM_H

#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#if defined(__linux__)

#include <elf.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>

#else

/* The processors that a process may use: all of them. */
typedef int cpu_set_t;
#define CPU_COUNT(set) (*(set))
#define sched_getaffinity(process, bytes, set) (*(set) = (int)sysconf(_SC_NPROCESSORS_ONLN), 0)

#if defined(__APPLE__)

#include <mach-o/dyld.h>
#include <sys/mman.h>
#include <xlocale.h>

#define O_TMPFILE O_DIRECTORY /* open fails, as on a Linux file system without unnamed files */
#define MADV_HUGEPAGE MADV_NORMAL
#define RUSAGE_THREAD RUSAGE_SELF /* counts the preemptions of the other threads too */
#define fdatasync(fd) fsync(fd)
#define pthread_attr_setsigmask_np(attributes, set) ((void)(set)) /* a signal may interrupt the thread's calls */
enum { _SC_LEVEL1_DCACHE_SIZE = -1, _SC_LEVEL2_CACHE_SIZE = -1, _SC_LEVEL3_CACHE_SIZE = -1 }; /* sysconf: unknown */

/* Allocates `bytes` bytes for an empty file and sets its size. Returns 0 or the error number. */
int posix_fallocate(int fd, off_t from, off_t bytes);

#else

enum { MAP_SHARED = 1, PROT_READ = 1, PROT_WRITE = 2, MAP_PRIVATE = 2, MAP_ANONYMOUS = 32, MADV_HUGEPAGE = 14 };
#define MAP_FAILED ((void *)-1)
#define F_DUPFD_CLOEXEC (-1)
#define madvise(block, bytes, advice) ((void)(block))

/* mmap returns zeroed memory of aligned_alloc. munmap frees a whole block; memory inside a block stays allocated. */
void *mmap(void *at, size_t bytes, int protection, int flags, int file, long long offset);
int munmap(void *at, size_t bytes);

#endif
#endif

/* Writes the path of the running program to `path`, a buffer of `bytes` bytes. Returns false if it is unknown. */
static inline bool mo_program_path(char *path, size_t bytes) {
#if defined(__linux__)
    ssize_t n = readlink("/proc/self/exe", path, bytes - 1);
    path[n > 0 ? n : 0] = '\0';
    return n > 0;
#elif defined(__APPLE__)
    return _NSGetExecutablePath(path, &(uint32_t){(uint32_t)bytes}) == 0;
#else
    (void)path, (void)bytes;
    return false;
#endif
}

#endif
