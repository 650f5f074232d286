/* tensor/clock.h - reading a clock (library internal). */
#ifndef MO_CLOCK_H
#define MO_CLOCK_H

#include <time.h>

/* Seconds on the given clock; CLOCK_MONOTONIC to measure durations. */
static inline double mo_clock(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

#endif
