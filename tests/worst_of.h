/* tests/worst_of.h - a running maximum of differences. */
#ifndef WORST_OF_H
#define WORST_OF_H

#include <math.h>

/* Returns the larger number; infinity if the difference is NaN, which fmax would ignore. */
static inline double worst_of(double worst, double difference) {
    return isnan(difference) ? INFINITY : fmax(worst, difference);
}

#endif
