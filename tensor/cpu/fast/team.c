/* tensor/cpu/fast/team.c - starts the threads that kernels of a context share.
 *
 * OpenMP ends the process if it cannot start a thread. So as many threads as the team has are started by pthread first,
 * all alive at once, and ended again; then OpenMP starts its own, whose stacks find the same room.
 *
 * GCC's OpenMP ends the threads that a smaller team leaves out and starts others for the next larger one, which takes
 * longer than a small kernel and can fail for want of memory. So every parallel region has all of the context's threads
 * or one (workspace_count in tensor/cpu/matrices.h). */
#include "tensor/cpu/fast/team.h"

#include <errno.h>
#include <omp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

static _Atomic pid_t process;     /* which has started teams */
static _Thread_local int started; /* threads of the calling thread's team */

static void *wait_for_others(void *gate) {
    pthread_mutex_lock(gate);
    pthread_mutex_unlock(gate);
    return NULL;
}

/* 0, or the error number for which there are not `more` threads at once beside this one. */
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

int team_most(void) {
    int processors = omp_get_num_procs(), wanted = omp_get_max_threads();
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
    (void)found; /* fewer, where OpenMP has a limit of its own */
    started = threads;
    return 0;
}
