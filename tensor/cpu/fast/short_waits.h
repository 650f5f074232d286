/* tensor/cpu/fast/short_waits.h - OpenMP's threads wait asleep instead of spinning (library internal). */
#ifndef MO_CPU_SHORT_WAITS_H
#define MO_CPU_SHORT_WAITS_H

typedef struct short_waits short_waits;

/* From now on all OpenMP threads of the process spin for microseconds before they sleep, beside a team of that many.
 * Returns NULL where that cannot be had: another OpenMP than GCC's, or no thread to start. */
short_waits *short_waits_begin(int threads);
/* Ends what short_waits_begin began; NULL is allowed. */
void short_waits_end(short_waits *w);

#endif
