/* tools/core.c - chooses the right OpenBLAS kernels for AVX-512 processors.
 *
 * OpenBLAS picks its kernels by processor model when it is loaded. Version 0.3.21 chooses AVX2 kernels (Haswell, Zen)
 * on AVX-512 processors newer than itself, which halves the rate; and it chooses AVX-512 kernels on Zen 4, which
 * executes them in two halves, 5% slower than AVX2 kernels. OPENBLAS_CORETYPE overrides the choice, but must be in the
 * environment before the library is loaded: hence a second exec. The variable also keeps the second process from
 * another exec; a user's own setting is respected. */
#include "tools/core.h"

#include "tools/memory.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define CORE_VARIABLE "OPENBLAS_CORETYPE"
#define CHOICE_VARIABLE "MOCHI_BLAS_CHOICE" /* tells the second process OpenBLAS's first choice, for `mochi doctor` */

#if defined(__x86_64__)
/* Tests the instruction sets that the SkylakeX kernels use; the compiler's builtin also checks that the operating
 * system supports them. */
static bool has_avx512(void) {
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512cd");
}

static bool is_among(const char *core, const char *const *cores, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (!strcasecmp(core, cores[i]))
            return true;
    return false;
}

/* The core to request instead; NULL if OpenBLAS chose the right one. */
static const char *better_core(const char *core) {
    static const char *const narrow[] = {"Haswell", "Zen", "Excavator", "Sandybridge", "Prescott", "Core2"};
    static const char *const wide[] = {"SkylakeX", "Cooperlake", "SapphireRapids"};
    if (!has_avx512())
        return NULL;
    if (__builtin_cpu_is("amdfam19h")) /* Zen 4: it has AVX-512 too */
        return is_among(core, wide, sizeof wide / sizeof *wide) ? "HASWELL" : NULL;
    return is_among(core, narrow, sizeof narrow / sizeof *narrow) ? "SKYLAKEX" : NULL;
}
#else
static const char *better_core(const char *core) {
    (void)core;
    return NULL;
}
#endif

const char *blas_core(void) {
    void *symbol = dlsym(RTLD_DEFAULT, "openblas_get_corename");
    char *(*corename)(void);
    memcpy(&corename, &symbol, sizeof corename);
    return symbol ? corename() : NULL;
}

void choose_blas_core(char **argv) {
    const char *core = getenv(CORE_VARIABLE) ? NULL : blas_core(), *better = core ? better_core(core) : NULL;
    if (!better)
        return;
    if (setenv(CHOICE_VARIABLE, core, 1) != 0 || setenv(CORE_VARIABLE, better, 1) != 0)
        end_out_of_memory();       /* other kernels would change the result, so do not go on */
    execv("/proc/self/exe", argv); /* if it fails, the program goes on with the current kernels */
}

const char *blas_core_of_openblas(void) {
    return getenv(CORE_VARIABLE) ? getenv(CHOICE_VARIABLE) : blas_core();
}
