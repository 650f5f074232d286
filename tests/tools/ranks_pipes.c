/* tests/tools/ranks_pipes.c - the engine of tools/ranks/ on named pipes, for processes that a test starts with the
 * variables of Slurm: PIPES is a folder with a pipe FROM-TO for each pair of ranks. */
#include "tools/ranks/ranks.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int own, all;

static int pipe_between(int from, int to) {
    static int opened[8][8];
    char path[4096];
    if (!opened[from][to]) {
        snprintf(path, sizeof path, "%s/%d-%d", getenv("PIPES"), from, to);
        opened[from][to] = open(path, O_RDWR); /* does not wait for the other end */
    }
    if (opened[from][to] < 0)
        abort();
    return opened[from][to];
}

static void pipes_send(void *state, int to, const void *data, size_t bytes) {
    (void)state;
    for (size_t at = 0; at < bytes;) {
        ssize_t n = write(pipe_between(own, to), (const char *)data + at, bytes - at);
        if (n <= 0)
            abort();
        at += (size_t)n;
    }
}

static void pipes_receive(void *state, int from, void *data, size_t bytes) {
    (void)state;
    for (size_t at = 0; at < bytes;) {
        ssize_t n = read(pipe_between(from, own), (char *)data + at, bytes - at);
        if (n <= 0)
            abort();
        at += (size_t)n;
    }
}

static void pipes_begin(int *rank, int *size) {
    own = *rank = atoi(getenv("SLURM_PROCID"));
    all = *size = atoi(getenv("SLURM_STEP_NUM_TASKS"));
}

static void pipes_end(void) {
    char byte = 0;
    for (int turn = 0; turn < 2; turn++)
        for (int r = 1; r < all; r++)
            if (own == r)
                turn ? pipes_receive(NULL, 0, &byte, 1) : pipes_send(NULL, 0, &byte, 1);
            else if (own == 0)
                turn ? pipes_send(NULL, r, &byte, 1) : pipes_receive(NULL, r, &byte, 1);
}

extern MO_API const ranks_engine mo_ranks_engine;
const ranks_engine mo_ranks_engine = {RANKS_ENGINE_ABI, pipes_begin, pipes_send, pipes_receive, pipes_end};
