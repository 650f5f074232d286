/* tensor/cpu/fast/blas_guard.c - lets several threads call a serial OpenBLAS.
 *
 * A serial OpenBLAS, as Debian builds it (without USE_LOCKING), hands out its packing buffers by scanning a table for a
 * free entry without a lock: two threads that enter at once sometimes get the same buffer and compute wrong products.
 * It calls its allocator through the dynamic symbol table, where this library's definition of the same name comes first
 * and takes a lock. The definition is weak: in a program that links OpenBLAS statically, OpenBLAS's own is used. In
 * such a program, and if a process loaded OpenBLAS before this library, OpenBLAS does not call this definition;
 * blas_guard_holds() detects that. */
#include "tensor/cpu/fast/blas_guard.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* BUFFER: bytes of address space that OpenBLAS takes for a buffer. MOST_BUFFERS: entries of its table; if asked for
 * more buffers, it prints a warning. */
enum { BUFFER = 128 << 20, MOST_BUFFERS = 64 };

typedef void *allocate_buffer(int position);
typedef void free_buffer(void *buffer);

void spotrf_(const char *uplo, const int *n, float *A, const int *lda, int *info);

static _Atomic bool guard_called;

/* OpenBLAS's own allocator; NULL for another library. */
static allocate_buffer *allocator_of_openblas(void) {
    void *symbol = dlsym(RTLD_NEXT, "blas_memory_alloc");
    allocate_buffer *function;
    memcpy(&function, &symbol, sizeof function);
    return function;
}

static free_buffer *releaser_of_openblas(void) {
    void *symbol = dlsym(RTLD_NEXT, "blas_memory_free");
    free_buffer *function;
    memcpy(&function, &symbol, sizeof function);
    return function;
}

static pthread_mutex_t reserving = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t table = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP; /* spins first: a sleep would take longer */

static void *locked_alloc(int position) {
    static allocate_buffer *next;
    pthread_mutex_lock(&table);
    if (!next)
        next = allocator_of_openblas();
    void *buffer = next(position);
    pthread_mutex_unlock(&table);
    return buffer;
}

static void lock_both(void) {
    pthread_mutex_lock(&reserving);
    pthread_mutex_lock(&table);
}

static void unlock_both(void) {
    pthread_mutex_unlock(&table);
    pthread_mutex_unlock(&reserving);
}

/* A fork waits until no thread is inside: in the child, where that thread does not exist, its lock would stay. */
__attribute__((constructor)) static void lock_while_forking(void) {
    pthread_atfork(lock_both, unlock_both, unlock_both);
}

/* Only OpenBLAS calls this, so the flag shows that its calls arrive here. */
static void *guarded_alloc(int position) {
    atomic_store(&guard_called, true);
    return locked_alloc(position);
}

MO_API void *blas_memory_alloc(int position) __attribute__((weak, alias("guarded_alloc")));

static bool has_room(size_t buffers) {
    void *room = mmap(NULL, buffers * BUFFER, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return room != MAP_FAILED && munmap(room, buffers * BUFFER) == 0;
}

int blas_guard_reserve(int threads) {
    static int reserved; /* number of buffers that OpenBLAS already has and keeps */
    free_buffer *release = releaser_of_openblas();
    if (!allocator_of_openblas() || !release)
        return threads;
    allocate_buffer *allocate = blas_memory_alloc == guarded_alloc ? locked_alloc : blas_memory_alloc;
    threads = threads < MOST_BUFFERS ? threads : MOST_BUFFERS;
    pthread_mutex_lock(&reserving);
    void **held = threads > reserved ? calloc((size_t)threads, sizeof *held) : NULL;
    int n = 0;
    /* Each buffer after the first is taken only if there is room for four, so that other allocations find memory. */
    for (; held && n < threads && has_room(n ? 4 : 1); n++)
        held[n] = allocate(1);
    for (int i = 0; i < n; i++)
        release(held[i]);
    free(held);
    reserved = n > reserved ? n : reserved;
    int found = threads < reserved ? threads : reserved;
    pthread_mutex_unlock(&reserving);
    return found;
}

bool blas_guard_holds(void) {
    if (blas_memory_alloc != guarded_alloc)
        return false;
    if (atomic_load(&guard_called) || !allocator_of_openblas())
        return true;
    float A = 1;
    int n = 1, info;
    spotrf_("U", &n, &A, &n, &info); /* spotrf asks for a buffer even at n = 1 */
    return atomic_load(&guard_called);
}
