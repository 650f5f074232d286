/* tensor/platform.c - the functions of Linux that the library calls and another system lacks: macOS, or WebAssembly in
 * a page, which has one thread, malloc, no files and no shared objects. Opening a file there raises an error. */
#include "tensor/platform.h"

#include "tensor/cpu/fast/blas_guard.h"
#include "tensor/cpu/fast/threads.h"
#include "tensor/files/file.h"

#include <stdlib.h>

#if defined(__APPLE__)

#include <dlfcn.h>
#include <errno.h>

int posix_fallocate(int fd, off_t from, off_t bytes) {
    fstore_t blocks = {.fst_flags = F_ALLOCATEALL, .fst_posmode = F_PEOFPOSMODE, .fst_length = from + bytes};
    return fcntl(fd, F_PREALLOCATE, &blocks) < 0 || ftruncate(fd, from + bytes) < 0 ? errno : 0;
}

/* Returns whether BLAS may be called from several threads. On macOS no other library can replace OpenBLAS's allocator,
 * as blas_guard.c does on Linux. A serial OpenBLAS has no locks (openblas_get_parallel returns 0); its other builds
 * have them, and so has Accelerate. */
bool blas_guard_holds(void) {
    void *symbol = dlsym(RTLD_DEFAULT, "openblas_get_parallel");
    int (*kind)(void);
    memcpy(&kind, &symbol, sizeof kind);
    return !symbol || kind() != 0;
}

#else

int team_wanted(void) {
    return 1;
}

int team_most(void) {
    return 1;
}

bool team_is_lost(void) {
    return false;
}

int team_start(int threads) {
    (void)threads;
    return 0;
}

int contention_threads(contention *c, int threads) {
    (void)c;
    return threads;
}

bool blas_guard_holds(void) {
    return true;
}

/* ---- memory ---- */

enum { PAGE = 2 << 20, MOST_BLOCKS = 64 };

static void *blocks[MOST_BLOCKS];

void *mmap(void *at, size_t bytes, int protection, int flags, int file, long long offset) {
    int i = 0;
    (void)at, (void)protection, (void)flags, (void)offset;
    while (i < MOST_BLOCKS && blocks[i])
        i++;
    if (file >= 0 || i == MOST_BLOCKS || !(blocks[i] = aligned_alloc(PAGE, (bytes + PAGE - 1) / PAGE * PAGE)))
        return MAP_FAILED;
    memset(blocks[i], 0, bytes);
    return blocks[i];
}

int munmap(void *at, size_t bytes) {
    (void)bytes;
    for (int i = 0; i < MOST_BLOCKS; i++)
        if (at && blocks[i] == at) {
            free(at);
            blocks[i] = NULL;
        }
    return 0;
}

/* ---- files ---- */

static void refuse_file(mo_context *ctx, const char *what) {
    mo_fail(ctx, MO_UNSUPPORTED, "%s: a page has no files", what);
}

mo_tensor *mo_npy_read(mo_context *ctx, const char *path) {
    refuse_file(ctx, path);
    return mo_null_tensor(ctx);
}

const void *mo_plugin_open(
    mo_context *ctx, const char *label, const char *symbol, mo_plugin expected, const char *path, void **object) {
    (void)symbol, (void)expected, (void)path;
    *object = NULL;
    refuse_file(ctx, label);
    return NULL;
}

#endif

int blas_guard_reserve(int threads) {
    return threads;
}
