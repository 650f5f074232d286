/* tensor/cpu/fast/blas_guard.c - lets several threads call a serial OpenBLAS.
 *
 * A serial OpenBLAS, as Debian builds it (without USE_LOCKING), hands out its packing buffers by scanning a table for a
 * free entry without a lock: two threads that enter at once sometimes get the same buffer, and wrong products. It
 * calls its allocator through the dynamic symbol table, where this library's definition of the same name comes first
 * and takes a lock. The definition is weak: in a program that links OpenBLAS statically, OpenBLAS's own is used and
 * this one is dropped. In such a program, and if a process loaded OpenBLAS before this library, the calls do not come
 * here; blas_guard_holds() detects that. */
#include "tensor/cpu/fast/blas_guard.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

typedef void *allocate_buffer(int position);

void spotrf_(const char *uplo, const int *n, float *A, const int *lda, int *info);

static _Atomic bool guard_called;

/* OpenBLAS's own allocator; NULL for another library. */
static allocate_buffer *allocator_of_openblas(void) {
    void *symbol = dlsym(RTLD_NEXT, "blas_memory_alloc");
    allocate_buffer *function;
    memcpy(&function, &symbol, sizeof function);
    return function;
}

static void *guarded_alloc(int position) {
    static pthread_mutex_t lock = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP; /* held for less time than a sleep costs */
    static allocate_buffer *next;
    pthread_mutex_lock(&lock);
    atomic_store(&guard_called, true);
    if (!next)
        next = allocator_of_openblas();
    void *buffer = next(position);
    pthread_mutex_unlock(&lock);
    return buffer;
}

MO_API void *blas_memory_alloc(int position) __attribute__((weak, alias("guarded_alloc")));

bool blas_guard_holds(void) {
    if (blas_memory_alloc != guarded_alloc)
        return false;
    if (atomic_load(&guard_called) || !allocator_of_openblas())
        return true;
    float A = 1;
    int n = 1, info;
    spotrf_("U", &n, &A, &n, &info); /* asks for a buffer at every size */
    return atomic_load(&guard_called);
}
