/* tools/core.c - the AVX-512 kernels of OpenBLAS on processors that it does not know.
 *
 * OpenBLAS picks its kernels by processor model when it is loaded. Version 0.3.21 takes the AVX2 kernels (Haswell, Zen)
 * on AVX-512 processors that are newer than it, at about half of the machine's rate. OPENBLAS_CORETYPE overrides the
 * choice, but must be in the environment before the library is loaded: hence a second exec. The variable is also what
 * stops the second process from doing it again, and a user who sets it is left alone. */
#include "tools/core.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CORE_VARIABLE "OPENBLAS_CORETYPE"

/* The sets that the SkylakeX kernels use; the compiler's test includes the operating system's consent. */
static bool has_avx512(void) {
#if defined(__x86_64__)
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512cd");
#else
    return false;
#endif
}

/* What OpenBLAS chose; NULL where another library stands behind CBLAS. */
static const char *chosen_core(void) {
    void *symbol = dlsym(RTLD_DEFAULT, "openblas_get_corename");
    char *(*corename)(void);
    memcpy(&corename, &symbol, sizeof corename);
    return symbol ? corename() : NULL;
}

void choose_blas_core(char **argv) {
    static const char *const without_avx512[] = {"Haswell", "Zen", "Excavator", "Sandybridge", "Prescott", "Core2"};
    const char *core = chosen_core();
    if (getenv(CORE_VARIABLE) || !core || !has_avx512())
        return;
    for (size_t i = 0; i < sizeof without_avx512 / sizeof *without_avx512; i++)
        if (!strcasecmp(core, without_avx512[i])) {
            if (setenv(CORE_VARIABLE, "SKYLAKEX", 1) == 0)
                execv("/proc/self/exe", argv); /* on failure the program goes on with the slower kernels */
            return;
        }
}
