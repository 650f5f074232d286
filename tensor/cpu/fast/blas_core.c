/* tensor/cpu/fast/blas_core.c - makes OpenBLAS choose its kernels again where it does not know the processor.
 *
 * OpenBLAS goes by a list of processor models. On a model that it does not know it takes its oldest kernels (Prescott,
 * SSE3): on Emerald Rapids Debian's 0.3.21 then multiplies at a quarter of the rate. It obeys OPENBLAS_CORETYPE, but
 * only when it chooses, as it is loaded. So this library, when it is loaded, makes it choose once more, with that
 * variable in an environment of its own, and by the processor's instructions. It does so only while no thread can be
 * inside OpenBLAS, and if the user's environment does not name the kernels. */
#include "tensor/cpu/fast/blas_core.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

static const char *before; /* blas_core() as this library was loaded */

static void *symbol_of_openblas(const char *name) {
    return dlsym(RTLD_NEXT, name);
}

const char *blas_core(void) {
    void *symbol = symbol_of_openblas("openblas_get_corename");
    char *(*corename)(void);
    memcpy(&corename, &symbol, sizeof corename);
    return symbol ? corename() : NULL;
}

const char *blas_core_before(void) {
    return before ? before : blas_core();
}

#if defined(__x86_64__) && defined(__GLIBC__)

#include <link.h>

extern char **environ;

/* Returns the setting that names kernels for this processor; NULL if it has not even AVX2. */
static char *better_setting(void) {
    static char widest[] = "OPENBLAS_CORETYPE=SkylakeX", wide[] = "OPENBLAS_CORETYPE=Haswell";
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
        return NULL;
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                   __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                   __builtin_cpu_supports("avx512vl")
               ? widest
               : wide;
}

static struct link_map *object_of(const void *address) {
    Dl_info info;
    void *object = NULL;
    return dladdr1(address, &info, &object, RTLD_DL_LINKMAP) ? object : NULL;
}

/* Returns whether no thread can be inside OpenBLAS: it was loaded behind this library, or there is no other thread. */
static bool is_unused(const void *in_openblas) {
    struct stat threads;
    struct link_map *object = object_of(&before), *openblas = object_of(in_openblas);
    while (object && object != openblas)
        object = object->l_next;
    return object || (stat("/proc/self/task", &threads) == 0 && threads.st_nlink == 3); /* 2, and one for each thread */
}

__attribute__((constructor)) static void choose_again(void) {
    void **kernels = symbol_of_openblas("gotoblas"), *symbol = symbol_of_openblas("gotoblas_dynamic_init");
    void (*choose)(void);
    memcpy(&choose, &symbol, sizeof choose);
    char *setting = better_setting(), *own[] = {setting, NULL}, **given = environ;
    before = blas_core();
    if (!kernels || !symbol || !before || !setting || strcasecmp(before, "Prescott") != 0 ||
        getenv("OPENBLAS_CORETYPE") || !is_unused(symbol))
        return;
    *kernels = NULL;
    environ = own;
    choose();
    environ = given;
}

#endif
