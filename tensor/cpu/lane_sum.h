/* tensor/cpu/lane_sum.h - the sum of a row in a fixed order: LANE_SUM interleaved sums, which one vector instruction
 * advances, joined from first to last; entries beyond the last whole group go to sum 0.
 *
 * `omp simd reduction` would leave the order to the compiler, which adds one entry after the other if a sanitizer or a
 * coverage counter is in the loop: such a build would have other gradients than the release. */
#ifndef MO_CPU_LANE_SUM_H
#define MO_CPU_LANE_SUM_H

#include "tensor/cpu/real.h"

#include <string.h>

enum { LANE_SUM = 64 / sizeof(real) };

/* LANE_SUM interleaved sums in double. */
typedef struct lane_sum {
    double lane[LANE_SUM];
} lane_sum;

static inline double lane_sum_total(const lane_sum *s) {
    double sum = 0;
    for (int j = 0; j < LANE_SUM; j++)
        sum += s->lane[j];
    return sum;
}

/* x[0] + .. + x[n - 1] */
static inline double lane_sum_row(const real *x, int64_t n) {
    lane_sum sum = {0};
    int64_t i = 0;
    for (; i + LANE_SUM <= n; i += LANE_SUM)
        for (int j = 0; j < LANE_SUM; j++)
            sum.lane[j] += x[i + j];
    for (; i < n; i++)
        sum.lane[0] += x[i];
    return lane_sum_total(&sum);
}

/* A vector as wide as the instructions: GCC takes a wider one apart in memory, which is several times slower. */
#if defined(__AVX512F__)
enum { VECTOR_BYTES = 64 };
#elif defined(__AVX__)
enum { VECTOR_BYTES = 32 };
#else
enum { VECTOR_BYTES = 16 };
#endif
enum { VECTOR = VECTOR_BYTES / sizeof(real), VECTORS = LANE_SUM / VECTOR };
typedef real real_vector __attribute__((vector_size(VECTOR_BYTES)));

/* LANE_SUM interleaved sums in the type of the entries. */
typedef struct real_lanes {
    real lane[LANE_SUM];
} real_lanes;

static inline real real_lanes_total(const real_lanes *s) {
    real sum = 0;
    for (int j = 0; j < LANE_SUM; j++)
        sum += s->lane[j];
    return sum;
}

/* x[0] y[0] + .. + x[n - 1] y[n - 1] */
static inline real lane_dot(const real *x, const real *y, int64_t n) {
    real_vector sum[VECTORS] = {{0}}, a, b;
    real_lanes lanes;
    int64_t j = 0;
    for (; j + LANE_SUM <= n; j += LANE_SUM)
        for (int v = 0; v < VECTORS; v++) {
            memcpy(&a, x + j + v * VECTOR, sizeof a);
            memcpy(&b, y + j + v * VECTOR, sizeof b);
            sum[v] += a * b;
        }
    memcpy(&lanes, sum, sizeof lanes);
    for (; j < n; j++)
        lanes.lane[0] += x[j] * y[j];
    return real_lanes_total(&lanes);
}

#endif
