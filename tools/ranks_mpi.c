/* tools/ranks_mpi.c - the shared object with messages by MPI. An error of MPI ends all processes: that is MPI's
 * own default. */
#include "tools/ranks.h"

#include <mpi.h>
#include <stdlib.h>

enum { TAG = 21, FIRST_CHANNEL = TAG + 1 }; /* tags */

static const size_t largest_part = (size_t)1 << 30; /* MPI counts in int */

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

/* ---- messages that travel ---- */

/* Parts below the size from which MPI over TCP asks the receiver first: both sides compute, and would answer late. */
static const size_t eager_part = 60000;

typedef struct travelling {
    bool lives;
    size_t parts, done; /* done: parts that have arrived, which they do in order */
    MPI_Request *request;
} travelling;

static struct {
    travelling *of;
    int n;
} messages;

/* Memory that a message needs to end, or all processes end. */
static void *needed_here(void *block) {
    if (!block)
        MPI_Abort(MPI_COMM_WORLD, 1);
    return block;
}

/* The number of a new message. */
static int new_message(size_t bytes) {
    int i = 0;
    while (i < messages.n && messages.of[i].lives)
        i++;
    if (i == messages.n)
        messages.of = needed_here(realloc(messages.of, (size_t)++messages.n * sizeof *messages.of));
    travelling *m = &messages.of[i];
    *m = (travelling){.lives = true, .parts = (bytes + eager_part - 1) / eager_part};
    m->request = needed_here(malloc((m->parts + 1) * sizeof *m->request));
    return i;
}

static int part_of(size_t bytes, size_t i) {
    return (int)(bytes - i * eager_part < eager_part ? bytes - i * eager_part : eager_part);
}

static int mpi_start_send(void *state, int to, int channel, const void *data, size_t bytes) {
    int message = new_message(bytes);
    const travelling *m = &messages.of[message];
    (void)state;
    for (size_t i = 0; i < m->parts; i++)
        MPI_Isend((const char *)data + i * eager_part, part_of(bytes, i), MPI_BYTE, to, FIRST_CHANNEL + channel,
            MPI_COMM_WORLD, &m->request[i]);
    return message;
}

static int mpi_start_receive(void *state, int from, int channel, void *data, size_t bytes) {
    int message = new_message(bytes);
    const travelling *m = &messages.of[message];
    (void)state;
    for (size_t i = 0; i < m->parts; i++)
        MPI_Irecv((char *)data + i * eager_part, part_of(bytes, i), MPI_BYTE, from, FIRST_CHANNEL + channel,
            MPI_COMM_WORLD, &m->request[i]);
    return message;
}

static bool mpi_arrived(void *state, int message) {
    travelling *m = &messages.of[message];
    int there = true;
    (void)state;
    for (; m->done < m->parts; m->done += (size_t)there) {
        MPI_Test(&m->request[m->done], &there, MPI_STATUS_IGNORE);
        if (!there)
            return false;
    }
    free(m->request);
    m->lives = false;
    return true;
}

static void mpi_end(void) {
    MPI_Barrier(MPI_COMM_WORLD); /* mpirun ends all processes once one has failed; rank 0 may be writing */
    free(messages.of);
    MPI_Finalize();
}

extern MO_API const ranks_engine mo_ranks_engine;
const ranks_engine mo_ranks_engine = {
    RANKS_ENGINE_ABI, mpi_begin, mpi_send, mpi_receive, mpi_start_send, mpi_start_receive, mpi_arrived, mpi_end};
