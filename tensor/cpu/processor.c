/* tensor/cpu/processor.c - the extensions and the name of the processor, as it reports them. Unlike the kernels, this
 * file is compiled for every processor of the architecture. */
#include "tensor/cpu/processor.h"

#include <stdio.h>
#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>

bool processor_lacks(unsigned needed, char *text, size_t bytes) {
    const struct {
        unsigned bit;
        const char *name;
        int there;
    } extensions[] = {
        {NEED_SSE4_2, "SSE4.2", __builtin_cpu_supports("sse4.2")},
        {NEED_AVX2, "AVX2", __builtin_cpu_supports("avx2")},
        {NEED_FMA, "FMA", __builtin_cpu_supports("fma")},
        {NEED_BMI2, "BMI2", __builtin_cpu_supports("bmi2")},
        {NEED_AVX512F, "AVX-512 F", __builtin_cpu_supports("avx512f")},
        {NEED_AVX512BW, "AVX-512 BW", __builtin_cpu_supports("avx512bw")},
        {NEED_AVX512DQ, "AVX-512 DQ", __builtin_cpu_supports("avx512dq")},
        {NEED_AVX512VL, "AVX-512 VL", __builtin_cpu_supports("avx512vl")},
        {NEED_AVX512VNNI, "AVX-512 VNNI", __builtin_cpu_supports("avx512vnni")},
    };
    size_t used = 0;
    for (size_t i = 0; i < sizeof extensions / sizeof *extensions; i++) {
        if (extensions[i].there)
            needed &= ~extensions[i].bit;
        else if (needed & extensions[i].bit && used < bytes)
            used += (size_t)snprintf(text + used, bytes - used, "%s%s", used ? ", " : "", extensions[i].name);
    }
    return needed;
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
bool processor_lacks(unsigned needed, char *text, size_t bytes) {
    (void)text, (void)bytes;
    return needed;
}

void processor_name(char *text, size_t bytes) {
    snprintf(text, bytes, "this processor");
}
#endif
