/* tools/core_rate.c - the rate of a matrix product, and of one by each set of OpenBLAS kernels. The library chooses its
 * set once, when it is loaded, so each set is measured by a child process: `mochi doctor measure` with
 * OPENBLAS_CORETYPE set. */
#include "tools/core_rate.h"

#include "tensor/hidden.h"
#include "tools/synthetic.h"

#include <math.h>
#include <stdio.h>
#include <strings.h>
#include <unistd.h>

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

/* The child prints "Haswell 123.4". The shell is asked for this process's own program: its name may be anything. */
double measure_core(const char *core, int threads) {
    char command[160], name[64];
    double rate;
    snprintf(command, sizeof command, "OPENBLAS_CORETYPE=%s exec /proc/%d/exe doctor measure --threads %d 2>/dev/null",
        core, (int)getpid(), threads);
    FILE *child = popen(command, "r");
    bool found = child && fscanf(child, "%63s %lf", name, &rate) == 2 && !strcasecmp(name, core);
    return child && pclose(child) == 0 && found ? rate : NAN;
}
