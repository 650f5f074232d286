/* tensor/exponential.h - e^x, tanh x and log(1 + u) as plain arithmetic: compilers vectorise it (GCC with
 * -fno-trapping-math), but not a call to the C library.
 *
 * x = n ln 2 + r with |r| <= ln 2 / 2, e^x = 2^n e^r, and e^r by its Taylor series, long enough that the rest is below
 * the rounding error. ln 2 is split so that n times its upper part is exact. The error is at most 2 units in the last
 * place, also of subnormal results; infinite and NaN results equal the C library's. The including file defines
 * `real`. */
#ifndef MO_EXPONENTIAL_H
#define MO_EXPONENTIAL_H

#include <math.h>
#include <stdint.h>
#include <string.h>

static inline __attribute__((always_inline)) float power_of_two_f(int n) {
    uint32_t bits = (uint32_t)(n + 127) << 23;
    float y;
    memcpy(&y, &bits, sizeof y);
    return y;
}

static inline __attribute__((always_inline)) double power_of_two(int n) {
    uint64_t bits = (uint64_t)(n + 1023) << 52;
    double y;
    memcpy(&y, &bits, sizeof y);
    return y;
}

/* The scaling by 2^n takes two steps: 2^n alone may be subnormal or infinite although the product is not. */
/* (e^r - 1) / r */
static inline __attribute__((always_inline)) float exp_series_f(float r) {
    float y = 1.0f / 5040;
    y = y * r + 1.0f / 720;
    y = y * r + 1.0f / 120;
    y = y * r + 1.0f / 24;
    y = y * r + 1.0f / 6;
    y = y * r + 0.5f;
    return y * r + 1;
}

static inline __attribute__((always_inline)) float exp_f(float x) {
    float c = x < -104 ? -104 : x > 89 ? 89 : x == x ? x : 0;
    float n = rintf(c * 1.44269504f), r = (c - n * 0.693359375f) - n * -2.12194440e-4f;
    float y = exp_series_f(r) * r + 1;
    int half = (int)n >> 1;
    y = y * power_of_two_f(half) * power_of_two_f((int)n - half);
    return x == x ? y : x;
}

static inline __attribute__((always_inline)) double exp_series_d(double r) {
    double y = 1.0 / 6227020800;
    y = y * r + 1.0 / 479001600;
    y = y * r + 1.0 / 39916800;
    y = y * r + 1.0 / 3628800;
    y = y * r + 1.0 / 362880;
    y = y * r + 1.0 / 40320;
    y = y * r + 1.0 / 5040;
    y = y * r + 1.0 / 720;
    y = y * r + 1.0 / 120;
    y = y * r + 1.0 / 24;
    y = y * r + 1.0 / 6;
    y = y * r + 0.5;
    return y * r + 1;
}

static inline __attribute__((always_inline)) double exp_d(double x) {
    double c = x < -746 ? -746 : x > 710 ? 710 : x == x ? x : 0;
    double n = rint(c * 1.4426950408889634), r = (c - n * 6.93145751953125e-1) - n * 1.42860682030941723212e-6;
    double y = exp_series_d(r) * r + 1;
    int half = (int)n >> 1;
    y = y * power_of_two(half) * power_of_two((int)n - half);
    return x == x ? y : x;
}

static inline __attribute__((always_inline)) real exp_of(real x) {
    return sizeof(real) == sizeof(float) ? (real)exp_f((float)x) : (real)exp_d((double)x);
}

/* tanh x = -m / (2 + m) with m = e^(-2 |x|) - 1 = 2^n (e^r - 1) + (2^n - 1), which loses nothing near 0. */
static inline __attribute__((always_inline)) float tanh_f(float x) {
    float c = fabsf(x) < 10 ? -2 * fabsf(x) : -20; /* from where on the result rounds to 1 */
    float n = rintf(c * 1.44269504f), r = (c - n * 0.693359375f) - n * -2.12194440e-4f;
    float scale = power_of_two_f((int)n), m = scale * (exp_series_f(r) * r) + (scale - 1);
    return x == x ? copysignf(m / (2 + m), x) : x;
}

static inline __attribute__((always_inline)) double tanh_d(double x) {
    double c = fabs(x) < 20 ? -2 * fabs(x) : -40;
    double n = rint(c * 1.4426950408889634), r = (c - n * 6.93145751953125e-1) - n * 1.42860682030941723212e-6;
    double scale = power_of_two((int)n), m = scale * (exp_series_d(r) * r) + (scale - 1);
    return x == x ? copysign(m / (2 + m), x) : x;
}

static inline __attribute__((always_inline)) real tanh_of(real x) {
    return sizeof(real) == sizeof(float) ? (real)tanh_f((float)x) : (real)tanh_d((double)x);
}

/* log(1 + u) for u in 0 .. 1: with s = u / (2 + u), at most 1/3, it is 2 atanh s = 2 s (1 + s^2 / 3 + s^4 / 5 + ..),
 * long enough that the rest is below the rounding error. The error is at most 3 units in the last place. */
static inline __attribute__((always_inline)) real log1p_of(real u) {
    real s = u / (2 + u), z = s * s, y = sizeof(real) == sizeof(float) ? (real)1 / 17 : (real)1 / 35;
    if (sizeof(real) != sizeof(float)) {
        y = y * z + (real)1 / 33;
        y = y * z + (real)1 / 31;
        y = y * z + (real)1 / 29;
        y = y * z + (real)1 / 27;
        y = y * z + (real)1 / 25;
        y = y * z + (real)1 / 23;
        y = y * z + (real)1 / 21;
        y = y * z + (real)1 / 19;
        y = y * z + (real)1 / 17;
    }
    y = y * z + (real)1 / 15;
    y = y * z + (real)1 / 13;
    y = y * z + (real)1 / 11;
    y = y * z + (real)1 / 9;
    y = y * z + (real)1 / 7;
    y = y * z + (real)1 / 5;
    y = y * z + (real)1 / 3;
    return 2 * s * (y * z + 1);
}

#endif
