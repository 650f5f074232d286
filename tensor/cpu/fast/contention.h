/* tensor/cpu/fast/contention.h - how a context works while other programs want the processors. */
#ifndef MO_CPU_CONTENTION_H
#define MO_CPU_CONTENTION_H

#include "tensor/cpu/fast/short_waits.h"

/* The processor time that the calling thread got lately; starts as zeros. Times in seconds. */
typedef struct contention {
    double start, used; /* start of the window, and the processor time of this thread then */
    long switches;      /* preemptions of this thread until then */
    double crowded;     /* when the last window in which other programs wanted the processors ended */
    double calm, ended; /* how long no window may be like that before the waits end; when they ended */
    short_waits *waits; /* held while the processors are crowded; NULL: threads spin while they wait */
    double until;       /* time until which one thread is used; 0: all are used */
    double pause;       /* length of the current pause */
} contention;

/* The number of threads to use now: `threads`, or 1 for a while after a window in which this thread was preempted, if
 * there are no short waits. */
int contention_threads(contention *c, int threads);
/* Ends the short waits, if there are any. */
void contention_end(contention *c);

#endif
