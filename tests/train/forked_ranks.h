/* tests/train/forked_ranks.h - runs the ranks of a training run as processes, each with its own device; messages go
 * through sockets, one per pair of ranks. */
#ifndef FORKED_RANKS_H
#define FORKED_RANKS_H

#include "train/inside.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_FORKED = 4 };

typedef struct forked_ranks {
    int socket[MOST_FORKED][MOST_FORKED]; /* socket[r][q]: of rank r, to rank q */
} forked_ranks;

typedef struct forked_place {
    const forked_ranks *all;
    int rank;
} forked_place;

/* If the other end is closed the process ends, as mpirun would end it. */
static inline void forked_send(void *state, int to, const void *data, size_t bytes) {
    const forked_place *p = state;
    for (size_t at = 0; at < bytes;) {
        ssize_t n = send(p->all->socket[p->rank][to], (const char *)data + at, bytes - at, MSG_NOSIGNAL);
        if (n <= 0)
            _exit(99);
        at += (size_t)n;
    }
}

static inline void forked_receive(void *state, int from, void *data, size_t bytes) {
    const forked_place *p = state;
    for (size_t at = 0; at < bytes;) {
        ssize_t n = recv(p->all->socket[p->rank][from], (char *)data + at, bytes - at, 0);
        if (n <= 0)
            _exit(99);
        at += (size_t)n;
    }
}

/* Runs `work` in a process for each rank. No context may exist before, as threads and devices do not survive a fork.
 * Returns whether all processes ended without failure. */
static inline bool fork_ranks(int size, void (*work)(const mo_ranks *ranks, void *state), void *state) {
    forked_ranks all = {{{0}}};
    pid_t pid[MOST_FORKED];
    bool well = true;
    for (int r = 0; r < size; r++)
        for (int q = 0; q < r; q++) {
            int ends[2];
            well &= !socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
            all.socket[r][q] = ends[0];
            all.socket[q][r] = ends[1];
        }
    for (int r = 0; well && r < size; r++) {
        pid[r] = fork();
        if (pid[r])
            continue;
        for (int other = 0; other < size; other++) /* so that a socket closes when its rank ends */
            for (int q = 0; other != r && q < size; q++)
                if (q != other)
                    close(all.socket[other][q]);
        forked_place place = {&all, r};
        mo_ranks ranks = {.rank = r,
            .size = size,
            .program = "forked",
            .send = forked_send,
            .receive = forked_receive,
            .state = &place};
        work(&ranks, state);
        exit(0); /* also writes the coverage counters */
    }
    for (int r = 0; r < size; r++)
        for (int q = 0; q < size; q++)
            if (q != r)
                close(all.socket[r][q]);
    for (int status, r = 0; well && r < size; r++)
        well &= waitpid(pid[r], &status, 0) == pid[r] && status == 0;
    return well;
}

/* Allocates memory that all forked processes share. */
static inline void *shared_memory(size_t bytes) {
    void *block = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (block == MAP_FAILED)
        abort();
    return block;
}

#endif
