/* tools/ranks.h - the processes that mpirun, or a scheduler in its place, started for one command. */
#ifndef RANKS_H
#define RANKS_H

#include "tools/inside.h"

/* Joins the processes of this command ("mochi train"): size is 1 where this process was started alone. Returns false
 * after one line on standard error, which names the command. */
bool ranks_open(mo_ranks *ranks, const char *command);
/* The number of this process among those of its host, as its environment tells; 0 where it does not. */
int ranks_local(void);
/* The same among all processes, before they are joined. */
int ranks_global(void);
/* Waits for all of them; each process of a size above 1 calls it before it ends. */
void ranks_close(mo_ranks *ranks);

#define RANKS_ENGINE_ABI 3

/* Messages between processes. The shared object ranks_mpi.so, built where MPI is, exports one as
 * `const ranks_engine mo_ranks_engine`; a process that was started alone opens neither it nor MPI. */
typedef struct ranks_engine {
    int abi; /* RANKS_ENGINE_ABI */
    void (*begin)(int *rank, int *size);
    void (*send)(void *state, int to, const void *data, size_t bytes); /* as those of mo_ranks; state is NULL */
    void (*receive)(void *state, int from, void *data, size_t bytes);
    void (*end)(void); /* waits for all processes */
} ranks_engine;

#endif
