/* tests/worst_of.h - a running maximum of differences. */
#ifndef WORST_OF_H
#define WORST_OF_H

#include <math.h>

/* The larger of both; infinite where the difference is NaN, which fmax would pass over. */
static inline double worst_of(double worst, double difference) {
    return isnan(difference) ? INFINITY : fmax(worst, difference);
}

#endif
