/* tools/train/ranks.h - the processes that mpirun, or a scheduler in its place, started to train one model. ranks_mpi.c
 * is built where MPI is, ranks_alone.c where it is not. */
#ifndef RANKS_H
#define RANKS_H

#include "tools/inside.h"

/* Joins the processes of this run: size is 1 where this process was started alone. Returns false after one line on
 * standard error. */
bool ranks_open(mo_ranks *ranks);
/* Waits for all of them; each process of a size above 1 calls it before it ends. */
void ranks_close(mo_ranks *ranks);
/* The number of processes that the environment tells of, and the variable that does; 1 and NULL: none. */
int ranks_in_environment(const char **name);

#endif
