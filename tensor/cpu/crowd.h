/* tensor/cpu/crowd.h - fewer threads while other programs want the processors. */
#ifndef MO_CPU_CROWD_H
#define MO_CPU_CROWD_H

/* What the calling thread got of its processor lately; starts as zeros. Times in seconds. */
typedef struct crowd {
    double start, used; /* when the window began, and the processor time of this thread at that moment */
    long switches;      /* times that this thread had been put aside by then */
    double until;       /* one thread up to then; 0: all */
    double pause;       /* how long that is */
} crowd;

/* How many of `threads` to use now: all, or one for a while after a window in which this thread was put aside. */
int crowd_threads(crowd *c, int threads);

#endif
