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

/* LANE_SUM interleaved sums in the type of the entries. */
typedef real real_lanes __attribute__((vector_size(64)));

static inline real_lanes real_lanes_at(const real *x) {
    real_lanes v;
    memcpy(&v, x, sizeof v);
    return v;
}

static inline real real_lanes_total(real_lanes s) {
    real sum = 0;
    for (int j = 0; j < LANE_SUM; j++)
        sum += s[j];
    return sum;
}

/* x[0] y[0] + .. + x[n - 1] y[n - 1] */
static inline real lane_dot(const real *x, const real *y, int64_t n) {
    real_lanes sum = {0};
    int64_t j = 0;
    for (; j + LANE_SUM <= n; j += LANE_SUM)
        sum += real_lanes_at(x + j) * real_lanes_at(y + j);
    for (; j < n; j++)
        sum[0] += x[j] * y[j];
    return real_lanes_total(sum);
}

#endif
