/* tensor/cpu/fast/short_waits.c - OpenMP's threads wait asleep instead of spinning.
 *
 * OpenMP has no call that says how long a thread spins before it sleeps, and GCC's reads its environment once, before
 * a library is asked. But GCC's spins 100 times instead of 300,000 while the process has more OpenMP threads than
 * processors (GCC's manual, GOMP_SPINCOUNT). So a thread of this file holds a second team, asleep, that makes them one
 * more than the processors. The team ends with the thread that started it. */
#include "tensor/cpu/fast/short_waits.h"
#include "tensor/cpu/fast/team.h"

#include <omp.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdlib.h>

struct short_waits {
    pthread_t holder;
    int team; /* threads of the second team, its holder included */
    int code; /* why the team was not started; 0: it was */
    sem_t started, ended;
};

static void wait_for(sem_t *event) {
    while (sem_wait(event) != 0) /* a signal came */
        ;
}

static void *hold_team(void *state) {
    short_waits *w = state;
    w->code = team_start(w->team);
    sem_post(&w->started);
    wait_for(&w->ended);
    return NULL;
}

short_waits *short_waits_begin(int threads) {
#if defined(__clang__) /* its OpenMP spins for a time of its own */
    (void)threads;
    return NULL;
#else
    int team = omp_get_num_procs() - threads + 2; /* OpenMP counts a team without the thread that started it */
    short_waits *w = calloc(1, sizeof *w);
    if (!w)
        return NULL;
    w->team = team > 2 ? team : 2;
    sem_init(&w->started, 0, 0);
    sem_init(&w->ended, 0, 0);
    if (pthread_create(&w->holder, NULL, hold_team, w) != 0) {
        free(w);
        return NULL;
    }
    wait_for(&w->started);
    if (w->code == 0)
        return w;
    short_waits_end(w);
    return NULL;
#endif
}

void short_waits_end(short_waits *w) {
    if (!w)
        return;
    sem_post(&w->ended);
    if (!team_is_lost()) /* a fork has no such thread */
        pthread_join(w->holder, NULL);
    free(w);
}
