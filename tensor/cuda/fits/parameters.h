/* tensor/cuda/fits/parameters.h - parameters that one launch works on together. */
#ifndef MO_CUDA_PARAMETERS_H
#define MO_CUDA_PARAMETERS_H

#include "tensor/cuda/kernels.h"

constexpr int most_parameters = 64; /* per launch: their addresses are its arguments */

/* 16 bytes, which a thread loads at once. */
template <typename real> struct __align__(16) pack {
    static constexpr int width = 16 / sizeof(real);
    real value[width];
};

#endif
