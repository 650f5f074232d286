/* tensor/cuda/fits/parameters.h - parameters that one launch works on together. */
#ifndef MO_CUDA_PARAMETERS_H
#define MO_CUDA_PARAMETERS_H

#include "tensor/cuda/kernels.h"

constexpr int most_parameters = 64; /* per launch: their addresses are its arguments */

#endif
