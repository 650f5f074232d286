/* tensor/cpu/processor.h - whether the processor can run the kernels (library internal). */
#ifndef MO_CPU_PROCESSOR_H
#define MO_CPU_PROCESSOR_H

#include <stddef.h>

/* The levels of x86-64, by the extensions that compilers use. */
typedef enum processor_level { LEVEL_ANY, LEVEL_SSE4_2, LEVEL_AVX2, LEVEL_AVX512 } processor_level;

/* The level that the kernels were compiled for (the meson option `cpu`); LEVEL_ANY if not x86-64. */
extern const processor_level kernels_need;

/* Returns what the processor lacks of a level, "AVX2", or NULL. */
const char *processor_lacks(processor_level needed);
/* Writes the processor's name, "AMD EPYC 9R14", or "this processor" if it has none. */
void processor_name(char *text, size_t bytes);

#endif
