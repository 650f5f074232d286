/* tensor/cpu/processor.h - whether the processor can run the kernels (library internal). */
#ifndef MO_CPU_PROCESSOR_H
#define MO_CPU_PROCESSOR_H

#include <stdbool.h>
#include <stddef.h>

/* Extensions of x86-64 that the kernels can be compiled for, a bit each. */
enum {
    NEED_SSE4_2 = 1,
    NEED_AVX2 = 2,
    NEED_FMA = 4,
    NEED_BMI2 = 8,
    NEED_AVX512F = 16,
    NEED_AVX512BW = 32,
    NEED_AVX512DQ = 64,
    NEED_AVX512VL = 128,
    NEED_AVX512VNNI = 256
};

/* The extensions that the kernels were compiled for (the meson option `cpu`); 0 if not x86-64. */
extern const unsigned kernels_need;

/* Writes to text, as far as it fits, which extensions in `needed` the processor lacks: "AVX2, FMA". Returns whether it
 * lacks any. */
bool processor_lacks(unsigned needed, char *text, size_t bytes);
/* Writes the processor's name, "AMD EPYC 9R14", or "this processor" if it has none. */
void processor_name(char *text, size_t bytes);

#endif
