/* tensor/cpu/fast/threads.c - starts the threads that kernels of a context share, and decides how many of them work.
 *
 * OpenMP ends the process if it cannot start a thread. So team_start first starts the same number of threads by
 * pthread, all alive at once, and ends them; then OpenMP starts its own, whose stacks fit in the same memory.
 *
 * GCC's OpenMP ends the threads that a smaller team leaves out and starts others for the next larger one, which takes
 * longer than a small kernel and can fail for want of memory. So run_tasks (tensor/cpu/tasks.c) uses all of the
 * context's threads or one (workspace_count in tensor/cpu/matrices.h). */
#include "tensor/cpu/fast/threads.h"

#include "tensor/library.h"
#include "tensor/platform.h"

#include <errno.h>
#include <omp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

static _Atomic pid_t process;     /* the process that started threads last */
static _Thread_local int started; /* threads of the calling thread's team */

static void *wait_for_others(void *gate) {
    pthread_mutex_lock(gate);
    pthread_mutex_unlock(gate);
    return NULL;
}

/* Returns 0, or the error number if `more` threads beside this one cannot live at once. */
static int try_threads(int more) {
    pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
    pthread_t *thread = malloc((size_t)more * sizeof *thread);
    int n = 0, code = thread ? 0 : ENOMEM;
    pthread_mutex_lock(&gate);
    while (!code && n < more)
        if (!(code = pthread_create(&thread[n], NULL, wait_for_others, &gate)))
            n++;
    pthread_mutex_unlock(&gate);
    while (n > 0)
        pthread_join(thread[--n], NULL);
    free(thread);
    return code;
}

int team_wanted(void) {
    return omp_get_max_threads();
}

int team_most(void) {
    int processors = omp_get_num_procs(), wanted = team_wanted();
    return processors > wanted ? processors : wanted;
}

bool team_is_lost(void) {
    pid_t of = process;
    return of && of != getpid();
}

int team_start(int threads) {
    if (threads <= 1 || threads <= started || omp_in_parallel())
        return 0;
    int code = try_threads(threads - 1), found = 0;
    if (code)
        return code;
    process = getpid();
#pragma omp parallel num_threads(threads) reduction(+ : found)
    found++;
    (void)found; /* less than `threads` if OpenMP has a limit of its own */
    started = threads;
    return 0;
}

/* ---- while other programs want the processors ---- */

/* OpenMP's threads spin at a barrier. If more threads want to run than there are processors, a spinning thread takes
 * the time of the thread that it waits for, and a step becomes ten times slower. So each context watches the thread
 * that calls it: if that thread was preempted during a window and got too little of its processor, other programs
 * wanted the processor. Then kernels use this thread alone for a while, and for longer if the next window with all
 * threads is no better. Results do not change, because no kernel's result depends on the number of threads. SHARE is
 * the least share of a window that the thread must get; the other constants are seconds. */
static const double WINDOW = 0.03, SHARE = 0.85, FIRST_PAUSE = 0.25, LONGEST_PAUSE = 4;

enum { PREEMPTIONS = 2 /* fewer in a window do not count: one happens even on an idle machine */ };

static long count_preemptions(void) {
    struct rusage usage;
    return getrusage(RUSAGE_THREAD, &usage) == 0 ? usage.ru_nivcsw : 0;
}

static void begin_window(contention *c, double now, double used, long switches) {
    c->start = now;
    c->used = used;
    c->switches = switches;
    c->until = 0;
}

int contention_threads(contention *c, int threads) {
    if (threads < 2)
        return threads;
    double now = mo_clock(CLOCK_MONOTONIC);
    if (now < c->until)
        return 1;
    if (c->until == 0 && now < c->start + WINDOW)
        return threads;
    double used = mo_clock(CLOCK_THREAD_CPUTIME_ID);
    long switches = count_preemptions();
    bool measured = c->until == 0 && c->start > 0;
    bool contended = measured && switches - c->switches >= PREEMPTIONS && used - c->used < SHARE * (now - c->start);
    begin_window(c, now, used, switches);
    if (!contended) {
        c->pause = measured ? 0 : c->pause;
        return threads;
    }
    c->pause = c->pause == 0 ? FIRST_PAUSE : c->pause < LONGEST_PAUSE ? 2 * c->pause : c->pause;
    c->until = now + c->pause;
    return 1;
}
