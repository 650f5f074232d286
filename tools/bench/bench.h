/* tools/bench/bench.h - declarations that the benchmarks share: options, timing, memory, one line per case. */
#ifndef BENCH_H
#define BENCH_H

#include "tools/command.h"

typedef struct bench_options {
    names cases; /* none: all cases of the benchmark */
    int dim, runs, warmup, threads;
    int64_t max_rows;
    mo_context_options device; /* device and math mode */
    bool plus;                 /* variant mochi++: three layers and a residual */
    mo_temperature temperature;
    bool replay; /* step: the step is recorded once, then replayed */
    bool json;
    bool profile;     /* print a table of the ops after each case */
    const char *save; /* svd: an .npz for U, S, V; or NULL */
} bench_options;

typedef struct bench_record {
    const char *name, *variant;
    int64_t rows;
    double gflop; /* 1e9 operations that the algorithm needs */
    double min_ms, med_ms, max_ms;
    double processor_ms; /* processor time of all threads of the process, mean over the runs */
    double gemm_rate;    /* GFLOP/s, of bench_gemm_rate */
    double peak_mb;      /* memory at its largest, in 1e6 bytes: resident on the CPU, in use on a device */
    double growth_mb;    /* growth of this memory since before the first run */
    int64_t allocations; /* allocations by the timed runs */
} bench_record;

/* ---- measure.c ---- */

/* Resident memory in MB: now, or its peak since bench_reset_peak. NaN if /proc does not say. */
double bench_memory(bool peak);
void bench_reset_peak(void);
/* Calls `run` o->warmup times, then times it; fills times, memory and allocations. Returns false if the context
 * failed. */
bool bench_run(mo_context *ctx, const bench_options *o, void (*run)(void *state), void *state, bench_record *record);
/* With --profile, runs again under the profiler and prints its table (with --json one object per op and place). Returns
 * false if the context failed or a line could not be written. */
bool bench_profile(
    mo_context *ctx, const bench_options *o, void (*run)(void *state), void *state, const bench_record *record);
/* Returns false if the line could not be written. */
bool bench_print(const bench_options *o, const bench_record *record);

/* ---- one benchmark per file; each returns false with the context's error set ---- */

bool bench_step(mo_context *ctx, const bench_options *o);
bool bench_gemm(mo_context *ctx, const bench_options *o);
bool bench_svd(mo_context *ctx, const bench_options *o);
bool bench_features(mo_context *ctx, const bench_options *o);
bool bench_solve(mo_context *ctx, const bench_options *o);
bool bench_head(mo_context *ctx, const bench_options *o);
bool bench_rows(mo_context *ctx, const bench_options *o);
bool bench_expect(mo_context *ctx, const bench_options *o);
/* GFLOP/s of the best of a few 4096-cube float32 products; of 1536-cube ones on the CPU where fewer than three runs are
 * timed. */
double bench_gemm_rate(mo_context *ctx, const bench_options *o);
/* The rate of products of two matrices of 1536 rows and columns, measured in a fraction of a second. */
double bench_gemm_quick_rate(mo_context *ctx, mo_dtype dtype);
/* A random graph of mean degree 10 if name is a number of nodes, else the graph of that name or path. NULL on
 * failure. */
mo_graph *bench_graph(mo_context *ctx, const char *name);
/* Whether the benchmark has a case of this name. */
bool bench_step_knows(const char *name);
bool bench_gemm_knows(const char *name);
bool bench_graph_knows(const char *name); /* for svd and features */
bool bench_solve_knows(const char *name);
bool bench_head_knows(const char *name);
bool bench_rows_knows(const char *name);
bool bench_expect_knows(const char *name);

#endif
