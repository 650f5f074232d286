/* tensor/elementwise.h - the functions of the elementwise kernels by name, for every device (see tensor/scalar.h). */
#ifndef MO_ELEMENTWISE_H
#define MO_ELEMENTWISE_H

#include "tensor/backend.h"
#include "tensor/scalar.h"

MO_SCALAR real value1(mo_map1 f, real a, real b, real x) {
    switch (f) {
    case MO_MAP_NEG:
        return -x;
    case MO_MAP_EXP:
        return exp_of(x);
    case MO_MAP_LOG:
        return log(x);
    case MO_MAP_SQRT:
        return sqrt(x);
    case MO_MAP_RELU:
        return relu_of(x);
    case MO_MAP_ABS:
        return fabs(x);
    case MO_MAP_SQUARE:
        return x * x;
    case MO_MAP_SIN:
        return sin(x);
    case MO_MAP_COS:
        return cos(x);
    case MO_MAP_LOG1P:
        return log1p(x);
    case MO_MAP_ERF:
        return erf(x);
    case MO_MAP_TANH:
        return tanh_of(x);
    case MO_MAP_SIGMOID:
        return sigmoid_of(x);
    case MO_MAP_SOFTPLUS:
        return softplus_of(x);
    case MO_MAP_GELU:
        return gelu_of(x);
    case MO_MAP_SIGN:
        return sign_of(x);
    case MO_MAP_STEP:
        return x > 0 ? (real)1 : (real)0;
    case MO_MAP_SCALE:
        return a * x + b;
    case MO_MAP_POW:
        return pow(x, a);
    case MO_MAP_CLAMP:
        return x < a ? a : x > b ? b : x;
    case MO_MAP_CLAMP_MASK:
        return x >= a && x <= b ? (real)1 : (real)0;
    case MO_MAP_LEAKY_RELU:
        return x > 0 ? x : a * x;
    case MO_MAP_LEAKY_STEP:
        return x > 0 ? (real)1 : a;
    case MO_MAP_GELU_SLOPE:
        return gelu_slope_of(x);
    case MO_MAP_GELU_CURVE:
        return gelu_curve_of(x);
    }
    return x;
}

MO_SCALAR real value2(mo_map2 f, real x1, real x2) {
    switch (f) {
    case MO_MAP_ADD:
        return x1 + x2;
    case MO_MAP_SUB:
        return x1 - x2;
    case MO_MAP_MUL:
        return x1 * x2;
    case MO_MAP_DIV:
        return x1 / x2;
    case MO_MAP_RELU_MASK:
        return x2 > 0 ? x1 : (real)0;
    case MO_MAP_DIV_OR_0:
        return x2 == 0 ? (real)0 : x1 / x2;
    case MO_MAP_MAX:
        return x1 >= x2 || x1 != x1 ? x1 : x2; /* NaN propagates */
    case MO_MAP_MIN:
        return x1 <= x2 || x1 != x1 ? x1 : x2;
    case MO_MAP_GREATER_EQUAL:
        return x1 >= x2 ? (real)1 : (real)0;
    case MO_MAP_POWER:
        return pow(x1, x2);
    }
    return x1;
}

#endif
