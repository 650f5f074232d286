/* tools/core.c - chooses faster OpenBLAS kernels on processors with AVX-512.
 *
 * OpenBLAS picks its kernels by processor model when it is loaded. Version 0.3.21 does not know newer AVX-512
 * processors: it chooses AVX2 kernels (Haswell, Zen) for them, which halves the rate. On Zen 4 it chooses AVX-512
 * kernels, which that processor executes in two halves, 5% slower than AVX2 kernels. OPENBLAS_CORETYPE overrides the
 * choice, but must be set before the library is loaded: hence the program executes itself a second time. The set
 * variable prevents a third time; if the user set it, nothing is changed. */
#include "tools/core.h"

#include "tools/memory.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define CORE_VARIABLE "OPENBLAS_CORETYPE"
#define CHOICE_VARIABLE "MOCHI_BLAS_CHOICE" /* for `mochi doctor`: OpenBLAS's own choice, in the second process */

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

/* Returns the kernels to request instead of `core`; NULL if OpenBLAS chose the right ones. */
static const char *better_core(const char *core) {
    static const char *const narrow[] = {"Haswell", "Zen", "Excavator", "Sandybridge", "Prescott", "Core2"};
    static const char *const wide[] = {"SkylakeX", "Cooperlake", "SapphireRapids"};
    if (!has_avx512())
        return NULL;
    if (__builtin_cpu_is("amdfam19h")) /* Zen 4: has_avx512() is true, but AVX2 kernels are faster */
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
