/* tools/core_rate.c - the rate of a matrix product, and of one by each set of OpenBLAS kernels. The library chooses its
 * set once, when it is loaded, so each set is measured by a child process: `mochi doctor measure` with
 * OPENBLAS_CORETYPE set. */
#include "tools/core_rate.h"

#include "tensor/hidden.h"
#include "tools/synthetic.h"

#include <fcntl.h>
#include <math.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

double measure_product(mo_context *ctx, int64_t n, mo_dtype dtype, int runs) {
    mo_tape *t = mo_tape_create(ctx, MO_EVAL);
    mo_tensor *A = synthetic_normal_of(ctx, dtype, 2, (int64_t[]){n, n}, 0);
    mo_tensor *B = synthetic_normal_of(ctx, dtype, 2, (int64_t[]){n, n}, 1);
    double fastest = INFINITY;
    for (int i = 0; i <= runs && mo_ok(ctx); i++) { /* the first run warms up */
        double start = mo_clock(CLOCK_MONOTONIC);
        mo_matmul(t, A, B);
        mo_tape_reset(t);
        mo_context_wait(ctx);
        if (i)
            fastest = fmin(fastest, mo_clock(CLOCK_MONOTONIC) - start);
    }
    mo_tape_release(t);
    mo_tensor_release(A);
    mo_tensor_release(B);
    return mo_ok(ctx) ? 2e-9 * (double)n * (double)n * (double)n / fastest : NAN;
}

/* Starts the child, its standard output at the end of a pipe. -1 on failure. */
static pid_t start_child(int threads, int output) {
    char count[16], *argv[] = {"mochi", "doctor", "measure", "--threads", count, NULL};
    posix_spawn_file_actions_t actions;
    pid_t child;
    snprintf(count, sizeof count, "%d", threads);
    if (posix_spawn_file_actions_init(&actions) != 0)
        return -1;
    posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    int failed = posix_spawn(&child, "/proc/self/exe", &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    return failed ? -1 : child;
}

/* "Haswell 123.4" from the pipe. */
static double read_rate(int input, const char *core) {
    char name[64];
    double rate = NAN;
    FILE *file = fdopen(input, "r");
    if (!file || fscanf(file, "%63s %lf", name, &rate) != 2 || (core && strcasecmp(name, core)))
        rate = NAN;
    if (file)
        fclose(file);
    else
        close(input);
    return rate;
}

double measure_core(const char *core, int threads) {
    char *before = getenv("OPENBLAS_CORETYPE"), *kept = before ? strdup(before) : NULL;
    int ends[2], status;
    double rate = NAN;
    if (pipe(ends) == 0) {
        setenv("OPENBLAS_CORETYPE", core, 1); /* this process's OpenBLAS has already read it */
        pid_t child = start_child(threads, ends[1]);
        close(ends[1]);
        rate = read_rate(ends[0], core);
        if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
            rate = NAN;
    }
    if (kept)
        setenv("OPENBLAS_CORETYPE", kept, 1);
    else
        unsetenv("OPENBLAS_CORETYPE");
    free(kept);
    return rate;
}
