/* tensor/cpu/processor.c - the extensions and the name of the processor, as it reports them. Unlike the kernels, this
 * file is compiled for every processor of the architecture. */
#include "tensor/cpu/processor.h"

#include <stdio.h>
#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>

const char *processor_lacks(processor_level needed) {
    if (needed >= LEVEL_SSE4_2 && !__builtin_cpu_supports("sse4.2"))
        return "SSE4.2";
    if (needed >= LEVEL_AVX2 &&
        !(__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2")))
        return "AVX2 with FMA and BMI2";
    if (needed >= LEVEL_AVX512 && !(__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")))
        return "AVX-512 (F, BW, DQ and VL)";
    return needed > LEVEL_AVX512 ? "what comes after AVX-512" : NULL;
}

void processor_name(char *text, size_t bytes) {
    unsigned word[13] = {0};
    for (unsigned i = 0; i < 3; i++)
        if (!__get_cpuid(0x80000002 + i, &word[4 * i], &word[4 * i + 1], &word[4 * i + 2], &word[4 * i + 3]))
            word[0] = 0;
    const char *name = (const char *)word;
    name += strspn(name, " ");
    snprintf(text, bytes, "%s", *name ? name : "this processor");
    for (size_t n = strlen(text); n && text[n - 1] == ' '; n--)
        text[n - 1] = '\0';
}
#else
const char *processor_lacks(processor_level needed) {
    return needed > LEVEL_ANY ? "the extensions of x86-64" : NULL;
}

void processor_name(char *text, size_t bytes) {
    snprintf(text, bytes, "this processor");
}
#endif
