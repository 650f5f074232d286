/* tensor/cpu/fast/team.h - the threads that kernels of a context share (library internal). */
#ifndef MO_CPU_TEAM_H
#define MO_CPU_TEAM_H

#include <stdbool.h>

/* The most threads that serve: the processors, since more would wait for each other's turns, or OMP_NUM_THREADS if that
 * is more. */
int team_most(void);
/* Starts the OpenMP threads of the calling thread, so that it fails here and not in a kernel, in which OpenMP would end
 * the process. Returns 0, or the error number for which that many threads cannot be started. */
int team_start(int threads);
/* Returns whether this process is a fork of one that has started teams: their threads are not in it, and OpenMP would
 * wait for them for ever. */
bool team_is_lost(void);

#endif
