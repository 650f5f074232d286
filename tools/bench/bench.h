/* tools/bench/bench.h - the parts of mochi-bench: options, timing, memory, one line per case. */
#ifndef BENCH_H
#define BENCH_H

#include "tools/cli/command.h"

typedef struct bench_options {
    names cases; /* names of cases to run; if empty, all */
    int dim, runs, warmup;
    int64_t max_rows;
    mo_context_options device; /* device, math mode and threads */
    bool replay;               /* record the step once, then replay it */
    bool bits;                 /* first compare the bits of repeated gradients */
    bool json;
    bool profile; /* print a table of the ops after each case */
} bench_options;

typedef struct bench_record {
    const char *name, *variant;
    int64_t rows;
    double gflop; /* 1e9 operations that the algorithm needs */
    double min_ms, med_ms, max_ms;
    double processor_ms; /* processor time of all threads of the process, mean over the runs */
    double gemm_rate;    /* GFLOP/s of a matrix product in the same process */
    double peak_mb;      /* peak memory, in 1e6 bytes: resident on the CPU, in use on a device */
    double growth_mb;    /* growth of this memory since before the first run */
    int64_t allocations; /* allocations by the timed runs */
    const char *bits;    /* "repeat" or "differ" from one run to the next; NULL: not compared */
} bench_record;

/* measure.c: calls `run` o->warmup times, then o->runs times with a clock, fills the record and prints it as a line.
 * With --profile, o->runs more runs under the profiler give a table of their ops. Returns false if the context failed
 * or a line could not be written. */
bool bench_run(mo_context *ctx, const bench_options *o, void (*run)(void *state), void *state, bench_record *record);

/* Runs the cases of the options. Returns false if the context failed. */
bool bench_steps(mo_context *ctx, const bench_options *o);
/* Returns whether there is a case of this name. */
bool bench_knows(const char *name);

#endif
