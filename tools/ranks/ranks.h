/* tools/ranks/ranks.h - the processes that mpirun or a scheduler started for one command, and a run that they share. */
#ifndef RANKS_H
#define RANKS_H

#include "tools/inside.h"

/* One of `size` processes, and its functions to send and receive messages; messages between two processes arrive in
 * order. */
typedef struct ranks_group {
    int rank, size;
    const char *program; /* identifies the code; all ranks raise if they have different programs */
    void (*send)(void *state, int to, const void *data, size_t bytes);
    void (*receive)(void *state, int from, void *data, size_t bytes);
    void *state;
    bool *parted; /* set to true once all ranks know of a failure, after which no rank waits for a message; or NULL */
} ranks_group;

/* ---- start.c ---- */

/* Joins the processes of this command ("mochi train"); size is 1 if this process was started alone. On failure prints
 * one line on standard error, which names the command, and returns false. */
bool ranks_open(ranks_group *ranks, const char *command);
/* This process's number on its host, from the environment; 0 if unknown. */
int ranks_local(void);
/* This process's number among all, before they are joined; 0 if unknown. */
int ranks_global(void);
/* Waits for all processes; if size exceeds 1, every process calls it before it ends. */
void ranks_close(ranks_group *ranks);

/* ---- messages.c ---- */

/* The first episode of a rank: of the E episodes of a step, rank r has first(r) .. first(r + 1) - 1. */
int ranks_first(int E, int size, int rank);
/* Copies rank 0's bytes to every rank. */
void ranks_broadcast(const ranks_group *ranks, void *data, size_t bytes);
/* Every rank calls this function. Returns, on every rank, whether no rank has failed and all ranks want to go on. The
 * failure of one rank becomes the error of all. */
bool ranks_agree(mo_context *ctx, const ranks_group *ranks, bool go_on);

/* ---- compare.c ---- */

/* Compares the ranks' programs, kernels and settings with those of rank 0; if they differ, raises on every rank, naming
 * the member. mine: this rank's settings as a JSON object (borrowed; NULL: it has failed). Returns whether all are
 * equal and no rank has failed. */
bool ranks_compare(mo_context *ctx, const ranks_group *ranks, const char *mine);

/* ---- share.c ---- */

typedef struct ranks_share ranks_share;

/* Starts or resumes the run of a trainer, new and with equal settings on every rank, which from now on computes its
 * share of each step's episodes: the weights get the same bits as with one process. Rank 0 reads and writes the
 * run's files. `ranks` is copied, its pointers borrowed. Returns the status; *share is to be released, by ranks_leave,
 * after the trainer, even on failure. */
mo_code ranks_join(mo_trainer *trainer, const ranks_group *ranks, bool resume, ranks_share **share);
void ranks_leave(ranks_share *share);
/* Bytes of a message with the gradients of all parameters. */
size_t ranks_gradient_bytes(const mo_trainer *trainer);

/* ---- ranks_mpi.c ---- */

#define RANKS_ENGINE_ABI 3

/* Functions that send messages between processes. The shared object ranks_mpi.so, built if MPI is available, exports
 * them as `const ranks_engine mo_ranks_engine`; a process that was started alone loads neither ranks_mpi.so nor MPI. */
typedef struct ranks_engine {
    int abi; /* RANKS_ENGINE_ABI */
    void (*begin)(int *rank, int *size);
    void (*send)(void *state, int to, const void *data, size_t bytes); /* as ranks_group.send; state is unused */
    void (*receive)(void *state, int from, void *data, size_t bytes);
    void (*end)(void); /* waits for all processes */
} ranks_engine;

#endif
