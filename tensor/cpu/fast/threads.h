/* tensor/cpu/fast/threads.h - the threads that kernels of a context share, and how many of them work while other
 * programs want the processors (library internal). */
#ifndef MO_CPU_THREADS_H
#define MO_CPU_THREADS_H

#include <stdbool.h>

/* The number of threads that OpenMP would use for the calling thread: by OMP_NUM_THREADS or, after it, by a call of
 * omp_set_num_threads in this thread, which is how threadpoolctl sets it. */
int team_wanted(void);
/* The largest useful number of threads: the number of processors, since more threads would wait for each other, or
 * OMP_NUM_THREADS if that is larger. */
int team_most(void);
/* Starts the OpenMP threads of the calling thread now, because OpenMP would end the process if it could not start them
 * in a kernel. Returns 0, or the error number if that many threads cannot be started. */
int team_start(int threads);
/* Returns whether this process was forked after team_start: it then lacks the threads, and OpenMP would wait for them
 * for ever. */
bool team_is_lost(void);

/* The processor time that the calling thread got lately; starts as zeros. Times in seconds. */
typedef struct contention {
    double start, used; /* start of the window, and the processor time of this thread then */
    long switches;      /* the thread's preemptions up to the start of the window */
    double until;       /* time until which kernels use one thread; 0: they use all */
    double pause;       /* length of the current pause */
} contention;

/* The number of threads to use now: `threads`, or 1 for a while after a window in which this thread was preempted. */
int contention_threads(contention *c, int threads);

#endif
