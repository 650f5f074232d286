/* tensor/cuda/scalar.h - the scalar functions of tensor/scalar.h as device templates. */
#ifndef MO_CUDA_SCALAR_H
#define MO_CUDA_SCALAR_H

#include "tensor/cuda/device.h"

#define MO_SCALAR template <typename real> __device__ inline
extern "C++" {
#include "tensor/elementwise.h"
}

#endif
