/* tools/bench/mpi_times.c - preloaded by bench_mpi into the processes of a run: when each call of MPI for a message
 * began and ended, one line per call in the file MPI_TIMES.RANK of the environment, with its bytes. MPI_DELAY, in
 * seconds, is the latency of a link that this machine cannot make: a message is received that much later. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { MOST = 1 << 18 };

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
    if (n < MOST)
        calls[n++] = (struct call){begin, seconds(), count};
    return result;
}

static double latency(void) {
    const char *delay = getenv("MPI_DELAY");
    return delay ? strtod(delay, NULL) : 0;
}

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
