/* tools/ranks.h - the processes that mpirun or a scheduler started for one command. */
#ifndef RANKS_H
#define RANKS_H

#include "tools/inside.h"

/* Joins the processes of this command ("mochi train"); size is 1 if this process was started alone. On failure prints
 * one line on standard error, which names the command, and returns false. */
bool ranks_open(mo_ranks *ranks, const char *command);
/* This process's number on its host, from the environment; 0 if unknown. */
int ranks_local(void);
/* This process's number among all, before they are joined; 0 if unknown. */
int ranks_global(void);
/* Waits for all processes; if size exceeds 1, every process calls it before it ends. */
void ranks_close(mo_ranks *ranks);

#define RANKS_ENGINE_ABI 3

/* Functions that send messages between processes. The shared object ranks_mpi.so, built if MPI is available, exports
 * them as `const ranks_engine mo_ranks_engine`; a process that was started alone loads neither ranks_mpi.so nor MPI. */
typedef struct ranks_engine {
    int abi; /* RANKS_ENGINE_ABI */
    void (*begin)(int *rank, int *size);
    void (*send)(void *state, int to, const void *data, size_t bytes); /* as mo_ranks.send; state is unused */
    void (*receive)(void *state, int from, void *data, size_t bytes);
    void (*end)(void); /* waits for all processes */
} ranks_engine;

#endif
