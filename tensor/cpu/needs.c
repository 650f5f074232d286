/* tensor/cpu/needs.c - the processor extensions that the kernels need. This file is compiled with the kernels' flags,
 * and holds no code, because code could need the extensions too. */
#include "tensor/cpu/processor.h"

const unsigned kernels_need = 0
#ifdef __SSE4_2__
                              | NEED_SSE4_2
#endif
#ifdef __AVX2__
                              | NEED_AVX2
#endif
#ifdef __FMA__
                              | NEED_FMA
#endif
#ifdef __BMI2__
                              | NEED_BMI2
#endif
#ifdef __AVX512F__
                              | NEED_AVX512F
#endif
#ifdef __AVX512BW__
                              | NEED_AVX512BW
#endif
#ifdef __AVX512DQ__
                              | NEED_AVX512DQ
#endif
#ifdef __AVX512VL__
                              | NEED_AVX512VL
#endif
#ifdef __AVX512VNNI__
                              | NEED_AVX512VNNI
#endif
    ;
