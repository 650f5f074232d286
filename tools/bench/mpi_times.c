/* tools/bench/mpi_times.c - preloaded by bench_mpi into the processes of a run: when each call of MPI for a message
 * began and ended, one line per call in the file MPI_TIMES.RANK of the environment, with its bytes; -1 for questions
 * whether a message has arrived, of which those that follow one another are one line. MPI_DELAY, in seconds, is the
 * latency of a link that this machine cannot make: a message is received that much later. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { MOST = 1 << 18, MOST_LATE = 1024, QUESTION = -1 };

static const double pause_between = 1e-4; /* seconds: questions that follow one another sooner are one wait */

static struct call {
    double begin, end;
    int count;
} calls[MOST];
static int n;

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int note_call(double begin, int count, int result) {
    struct call *last = n ? &calls[n - 1] : NULL;
    if (count == QUESTION && last && last->count == QUESTION && begin < last->end + pause_between)
        last->end = seconds();
    else if (n < MOST)
        calls[n++] = (struct call){begin, seconds(), count};
    return result;
}

static double latency(void) {
    const char *delay = getenv("MPI_DELAY");
    return delay ? strtod(delay, NULL) : 0;
}

/* ---- messages that the caller waits for ---- */

int MPI_Send(const void *data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
    double begin = seconds();
    return note_call(begin, count, PMPI_Send(data, count, type, to, tag, comm));
}

int MPI_Recv(void *data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status *status) {
    double begin = seconds(), wait = latency();
    int result = PMPI_Recv(data, count, type, from, tag, comm, status);
    if (wait > 0)
        nanosleep(&(struct timespec){(time_t)wait, (long)(1e9 * (wait - (double)(time_t)wait))}, NULL);
    return note_call(begin, count, result);
}

/* ---- messages that travel ---- */

/* Of the messages to be received, those that MPI has not handed over: when it was first seen that they were there. */
static struct late {
    int lives;
    MPI_Request request;
    double seen;
} late[MOST_LATE];

int MPI_Isend(const void *data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request *request) {
    double begin = seconds();
    return note_call(begin, count, PMPI_Isend(data, count, type, to, tag, comm, request));
}

int MPI_Irecv(void *data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request *request) {
    double begin = seconds();
    int result = PMPI_Irecv(data, count, type, from, tag, comm, request);
    for (int i = 0; latency() > 0 && i < MOST_LATE; i++)
        if (!late[i].lives) {
            late[i] = (struct late){1, *request, 0};
            break;
        }
    return note_call(begin, count, result);
}

/* Notes which messages are there. */
static void look(double now) {
    for (int i = 0; i < MOST_LATE; i++) {
        int there = 0;
        if (late[i].lives && !late[i].seen)
            PMPI_Request_get_status(late[i].request, &there, MPI_STATUS_IGNORE);
        if (there)
            late[i].seen = now;
    }
}

/* Whether a message may be handed over by now. */
static int is_due(struct late *l, double now) {
    look(now);
    l->lives = !l->seen || now < l->seen + latency();
    return !l->lives;
}

int MPI_Test(MPI_Request *request, int *done, MPI_Status *status) {
    double begin = seconds();
    for (int i = 0; i < MOST_LATE; i++)
        if (late[i].lives && late[i].request == *request && !is_due(&late[i], begin)) {
            *done = 0;
            return note_call(begin, QUESTION, MPI_SUCCESS);
        }
    return note_call(begin, QUESTION, PMPI_Test(request, done, status));
}

int MPI_Finalize(void) {
    char path[4096];
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    snprintf(path, sizeof path, "%s.%d", getenv("MPI_TIMES"), rank);
    FILE *file = fopen(path, "w");
    for (int i = 0; file && i < n; i++)
        fprintf(file, "%.9f %.9f %d\n", calls[i].begin, calls[i].end, calls[i].count);
    if (file)
        fclose(file);
    return PMPI_Finalize();
}
