/* tensor/scalar.h - the scalar functions of the elementwise kernels, each beside its derivatives, for every device.
 *
 * The including file defines the type `real`. CUDA instead defines MO_SCALAR as `template <typename real> __device__
 * inline`, which overloads the same names for float and double, and uses its own exponential and logarithm. */
#ifndef MO_SCALAR_H
#define MO_SCALAR_H

#ifndef MO_SCALAR
#include "tensor/exponential.h"
#include <tgmath.h>
#define MO_SCALAR static inline __attribute__((always_inline))
#else
MO_SCALAR real exp_of(real x) {
    return exp(x);
}

MO_SCALAR real tanh_of(real x) {
    return tanh(x);
}

MO_SCALAR real log1p_of(real x) {
    return log1p(x);
}
#endif

MO_SCALAR real relu_of(real x) {
    return x < 0 ? (real)0 : x; /* NaN gives NaN */
}

MO_SCALAR real sign_of(real x) {
    return x > 0 ? (real)1 : x < 0 ? (real)-1 : x; /* 0 gives 0, NaN gives NaN */
}

/* 1 / (1 + e^-x), with an exponential that cannot overflow. */
MO_SCALAR real sigmoid_of(real x) {
    real e = exp_of(-fabs(x));
    return (x >= 0 ? (real)1 : e) / (1 + e);
}

/* log(1 + e^x); its derivative is the sigmoid. */
MO_SCALAR real softplus_of(real x) {
    return (x > 0 ? x : x != x ? x : (real)0) + log1p_of(exp_of(-fabs(x)));
}

/* phi, the standard normal density; then Phi, its integral. */
MO_SCALAR real normal_density_of(real x) {
    return (real)0.3989422804014326779399461 * exp_of((real)-0.5 * x * x);
}

MO_SCALAR real normal_distribution_of(real x) {
    return (real)0.5 * erfc((real)-0.7071067811865475244008444 * x);
}

/* gelu = x Phi(x); gelu' = Phi + x phi; gelu'' = (2 - x^2) phi, as phi' = -x phi. */
MO_SCALAR real gelu_of(real x) {
    return x * normal_distribution_of(x);
}

MO_SCALAR real gelu_slope_of(real x) {
    return normal_distribution_of(x) + x * normal_density_of(x);
}

MO_SCALAR real gelu_curve_of(real x) {
    return (2 - x * x) * normal_density_of(x);
}

#endif
