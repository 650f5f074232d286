/* tools/ranks/ranks_mpi.c - the shared object that sends messages by MPI. An MPI error ends all processes, as by
 * default. */
#include "tools/ranks/ranks.h"

#include <mpi.h>

enum { TAG = 21 };

static const size_t largest_part = (size_t)1 << 30; /* bytes per message, as MPI counts in int */

static void mpi_begin(int *rank, int *size) {
    MPI_Init(NULL, NULL);
    MPI_Comm_size(MPI_COMM_WORLD, size);
    MPI_Comm_rank(MPI_COMM_WORLD, rank);
}

static void mpi_send(void *state, int to, const void *data, size_t bytes) {
    (void)state;
    for (size_t at = 0, part; at < bytes; at += part) {
        part = bytes - at < largest_part ? bytes - at : largest_part;
        MPI_Send((const char *)data + at, (int)part, MPI_BYTE, to, TAG, MPI_COMM_WORLD);
    }
}

static void mpi_receive(void *state, int from, void *data, size_t bytes) {
    (void)state;
    for (size_t at = 0, part; at < bytes; at += part) {
        part = bytes - at < largest_part ? bytes - at : largest_part;
        MPI_Recv((char *)data + at, (int)part, MPI_BYTE, from, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

static void mpi_end(void) {
    MPI_Barrier(MPI_COMM_WORLD); /* mpirun kills all processes when one fails, and rank 0 may still be writing */
    MPI_Finalize();
}

extern MO_API const ranks_engine mo_ranks_engine;
const ranks_engine mo_ranks_engine = {RANKS_ENGINE_ABI, mpi_begin, mpi_send, mpi_receive, mpi_end};
