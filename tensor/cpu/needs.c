/* tensor/cpu/needs.c - the level of processor that the kernels need. This file is compiled with the kernels' flags, and
 * holds no code, because code could need the extensions too. */
#include "tensor/cpu/processor.h"

#if defined(__AVX512F__)
const processor_level kernels_need = LEVEL_AVX512;
#elif defined(__AVX2__)
const processor_level kernels_need = LEVEL_AVX2;
#elif defined(__SSE4_2__)
const processor_level kernels_need = LEVEL_SSE4_2;
#else
const processor_level kernels_need = LEVEL_ANY;
#endif
