/* tests/larger.h - a running maximum of differences. */
#ifndef LARGER_H
#define LARGER_H

#include <math.h>

/* The larger of both; infinite where the difference is NaN, which fmax would pass over. */
static inline double larger(double worst, double difference) {
    return isnan(difference) ? INFINITY : fmax(worst, difference);
}

#endif
