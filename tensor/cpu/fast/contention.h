/* tensor/cpu/fast/contention.h - how a context works while other programs want the processors. */
#ifndef MO_CPU_CONTENTION_H
#define MO_CPU_CONTENTION_H

/* The processor time that the calling thread got lately; starts as zeros. Times in seconds. */
typedef struct contention {
    double start, used; /* start of the window, and the processor time of this thread then */
    long switches;      /* preemptions of this thread until then */
    double until;       /* time until which one thread is used; 0: all are used */
    double pause;       /* length of the current pause */
} contention;

/* The number of threads to use now: `threads`, or 1 for a while after a window in which this thread was preempted. */
int contention_threads(contention *c, int threads);

#endif
