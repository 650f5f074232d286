/* tensor/files/conversion.h - from one stored type to another, through double, for host and device.
 *
 * Every stored type but int64 converts to double exactly, so each value is rounded once. Reals become integers by
 * truncation, saturating; NaN becomes 0. */
#ifndef MO_CONVERSION_H
#define MO_CONVERSION_H

#include "tensor/inside.h"

#include <math.h>
#include <string.h>

#ifdef __CUDACC__
#define MO_CONVERSION static __host__ __device__ inline
#else
#define MO_CONVERSION static inline
#endif

MO_CONVERSION float float_of_bits(uint32_t u) {
    float f;
    memcpy(&f, &u, sizeof f);
    return f;
}

MO_CONVERSION uint32_t bits_of_float(float f) {
    uint32_t u;
    memcpy(&u, &f, sizeof u);
    return u;
}

MO_CONVERSION float half_to_float(uint16_t h) {
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, magnitude = h & 0x7fff;
    if (magnitude >= 0x7c00) /* Inf and NaN */
        return float_of_bits(sign | 0x7f800000 | (magnitude & 0x3ff) << 13);
    /* the shifted exponent is 112 too small; the product also normalises subnormals */
    return float_of_bits(sign | bits_of_float(float_of_bits(magnitude << 13) * 0x1p112f));
}

/* The bits of d as a float, rounded towards 0, with the last bit set if that was inexact: a second rounding, to fewer
 * bits, then gives the same as one rounding of d. */
MO_CONVERSION uint32_t sticky_bits(double d) {
    float f = (float)d;
    uint32_t u = bits_of_float(f);
    if ((double)f == d || d != d)
        return u;
    if (fabs((double)f) > fabs(d))
        u--;
    return u | 1;
}

MO_CONVERSION uint16_t double_to_half(double d) {
    uint32_t u = sticky_bits(d), sign = u >> 16 & 0x8000, magnitude = u & 0x7fffffff;
    if (magnitude > 0x7f800000)
        return (uint16_t)(sign | 0x7e00);
    if (magnitude >= 0x477ff000) /* rounds to 65536 or more */
        return (uint16_t)(sign | 0x7c00);
    if (magnitude < 0x38800000) { /* subnormal: in units of 2^-24, rounded to even */
        double scaled = fabs(d) * 0x1p24;
        return (uint16_t)(sign | (uint16_t)nearbyint(scaled));
    }
    magnitude += 0xfff + (magnitude >> 13 & 1);
    return (uint16_t)(sign | (magnitude - 0x38000000) >> 13);
}

MO_CONVERSION uint16_t double_to_bfloat(double d) {
    uint32_t u = sticky_bits(d);
    if ((u & 0x7fffffff) > 0x7f800000)
        return (uint16_t)(u >> 16 | 0x40);
    return (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}

MO_CONVERSION int64_t saturate(double x, double low, double high, int64_t least, int64_t greatest) {
    return x <= low ? least : x >= high ? greatest : x == x ? (int64_t)x : 0;
}

/* Element i of x. */
MO_CONVERSION double mo_load_element(mo_dtype dtype, const void *x, int64_t i) {
    switch (dtype) {
    case MO_F32:
        return ((const float *)x)[i];
    case MO_F64:
        return ((const double *)x)[i];
    case MO_I32:
        return ((const int32_t *)x)[i];
    case MO_I64:
        return (double)((const int64_t *)x)[i];
    case MO_U8:
        return ((const uint8_t *)x)[i];
    case MO_F16:
        return half_to_float(((const uint16_t *)x)[i]);
    default: /* MO_BF16: the upper half of a float */
        return float_of_bits((uint32_t)((const uint16_t *)x)[i] << 16);
    }
}

MO_CONVERSION void mo_store_element(mo_dtype dtype, void *y, int64_t i, double d) {
    switch (dtype) {
    case MO_F32:
        ((float *)y)[i] = (float)d;
        break;
    case MO_F64:
        ((double *)y)[i] = d;
        break;
    case MO_I32:
        ((int32_t *)y)[i] = (int32_t)saturate(d, INT32_MIN, INT32_MAX, INT32_MIN, INT32_MAX);
        break;
    case MO_I64:
        ((int64_t *)y)[i] = saturate(d, -0x1p63, 0x1p63, INT64_MIN, INT64_MAX);
        break;
    case MO_U8:
        ((uint8_t *)y)[i] = (uint8_t)saturate(d, 0, 255, 0, 255);
        break;
    case MO_F16:
        ((uint16_t *)y)[i] = double_to_half(d);
        break;
    default:
        ((uint16_t *)y)[i] = double_to_bfloat(d);
    }
}

#endif
