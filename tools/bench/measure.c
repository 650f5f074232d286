/* tools/bench/measure.c - runs a case, measures time and memory, and prints its line. */
#include "tools/bench/bench.h"

#include "tensor/library.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Returns resident memory in MB, current or peak. NaN if /proc does not give it. */
static double resident_memory(bool peak) {
    const char *key = peak ? "VmHWM: %lf" : "VmRSS: %lf";
    char line[256];
    double kb = NAN;
    FILE *status = fopen("/proc/self/status", "r");
    while (status && isnan(kb) && fgets(line, sizeof line, status))
        if (sscanf(line, key, &kb) != 1)
            kb = NAN;
    if (status)
        fclose(status);
    return kb * 1024 * 1e-6;
}

/* Returns the peak memory in MB: on the CPU resident memory; on a device, memory in use with its libraries'
 * workspaces. */
static double peak_memory(mo_context *ctx) {
    return mo_context_device(ctx) == MO_CPU ? resident_memory(true)
                                            : 1e-6 * (double)mo_context_counters(ctx).device_peak;
}

/* Returns the memory in use in MB, and restarts the measurement of the peak. */
static double memory_before(mo_context *ctx) {
    mo_context_reset_peaks(ctx);
    FILE *file = fopen("/proc/self/clear_refs", "w");
    if (file) {
        fputs("5", file); /* "5" resets VmHWM, the peak */
        fclose(file);
    }
    return mo_context_device(ctx) == MO_CPU ? resident_memory(false) : peak_memory(ctx);
}

static json_t *bench_rounded(double value, double scale) {
    return json_number(round(value * scale) / scale);
}

/* ---- the profile as a table ---- */

/* Formats a column of the table: "-" if the value is unknown. */
static const char *column(char text[16], const char *format, double value) {
    if (!isfinite(value))
        return "-";
    snprintf(text, 16, format, value);
    return text;
}

/* rate: FLOP/s of a matrix product; seconds: time of the whole profile. */
static void print_profile_row(
    double rate, double seconds, const char *op, const char *where, const mo_profile_entry *e) {
    char gflop[16], speed[16], share[16], mb[16], bandwidth[16], part[16];
    double flops = e->flops > 0 ? e->flops / e->seconds : NAN;
    printf("%-24.24s %-24.24s %8lld %11.3f %6s %10s %8s %6s %11s %7s\n", op, where, (long long)e->calls,
        1e3 * e->seconds, column(part, "%.1f%%", 100 * e->seconds / seconds), column(gflop, "%.3f", 1e-9 * e->flops),
        column(speed, "%.1f", 1e-9 * flops), column(share, "%.1f%%", 100 * flops / rate),
        column(mb, "%.2f", 1e-6 * e->bytes),
        column(bandwidth, "%.1f", e->bytes > 0 ? 1e-9 * e->bytes / e->seconds : NAN));
}

static void add_entry(mo_profile_entry *sum, const mo_profile_entry *e) {
    sum->calls += e->calls;
    sum->seconds += e->seconds;
    sum->flops += e->flops;
    sum->bytes += e->bytes;
}

static void print_profile(mo_context *ctx, double rate) {
    mo_profile_entry sums[2] = {{0}}, whole = {0};
    int n = mo_profile_entries(ctx, NULL, 0);
    mo_profile_entry *entries = calloc((size_t)n + 1, sizeof *entries);
    double seconds = mo_profile_seconds(ctx);
    char where[64];
    if (!entries) {
        mo_fail(ctx, MO_MEMORY, "bench: out of memory");
        return;
    }
    mo_profile_entries(ctx, entries, n);
    printf("%-24s %-24s %8s %11s %6s %10s %8s %6s %11s %7s\n", "op", "where", "calls", "ms", "time", "GFLOP", "GFLOP/s",
        "GEMM", "MB", "GB/s");
    for (const mo_profile_entry *e = entries; e < entries + n; e++) {
        snprintf(where, sizeof where, e->adjoint ? "adjoint" : "vjp of %s", e->vjp_of ? e->vjp_of->name : "");
        print_profile_row(rate, seconds, e->op->name, e->vjp_of ? where : e->backward ? "backward" : "forward", e);
        add_entry(&sums[e->backward], e);
    }
    add_entry(&whole, &sums[0]);
    add_entry(&whole, &sums[1]);
    print_profile_row(rate, seconds, "all ops", "forward", &sums[0]);
    print_profile_row(rate, seconds, "all ops", "backward", &sums[1]);
    print_profile_row(rate, seconds, "outside ops", "", &(mo_profile_entry){.seconds = seconds - whole.seconds});
    whole.seconds = seconds;
    print_profile_row(rate, seconds, "everything", "", &whole);
    free(entries);
}

static bool profile_runs(
    mo_context *ctx, const bench_options *o, void (*run)(void *state), void *state, const bench_record *record) {
    if (mo_profile_start(ctx) != MO_OK)
        return false;
    for (int i = 0; i < o->runs && mo_ok(ctx); i++)
        run(state);
    mo_profile_stop(ctx);
    printf("%s %s, %d runs:\n", record->name, record->variant, o->runs);
    print_profile(ctx, 1e9 * record->gemm_rate);
    return mo_ok(ctx);
}

static bool print_record(const bench_options *o, const bench_record *r) {
    double share = r->gflop / (1e-3 * r->min_ms) / r->gemm_rate;
    if (o->json)
        return print_json(json_pack("{s:s, s:s, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:I, s:o}", "case",
            r->name, "variant", r->variant, "rows", (json_int_t)r->rows, "gflop", bench_rounded(r->gflop, 1e9),
            "min_ms", bench_rounded(r->min_ms, 1e6), "med_ms", bench_rounded(r->med_ms, 1e6), "max_ms",
            bench_rounded(r->max_ms, 1e6), "processor_ms", bench_rounded(r->processor_ms, 1e6), "gemm_gflops",
            bench_rounded(r->gemm_rate, 10), "gemm_share", bench_rounded(share, 1e4), "peak_mb",
            bench_rounded(r->peak_mb, 10), "growth_mb", bench_rounded(r->growth_mb, 10), "allocations",
            (json_int_t)r->allocations, "bits", r->bits ? json_string(r->bits) : json_null()));
    printf("%-16s %-17s %8lld rows %9.4g GFLOP  min %9.3f  med %9.3f  max %9.3f ms  %5.1f%% of the GEMM rate  peak "
           "%.0f MB (+%.0f)\n",
        r->name, r->variant, (long long)r->rows, r->gflop, r->min_ms, r->med_ms, r->max_ms, 100 * share, r->peak_mb,
        r->growth_mb);
    return fflush(stdout) == 0;
}

bool bench_run(mo_context *ctx, const bench_options *o, void (*run)(void *state), void *state, bench_record *record) {
    double *times = calloc((size_t)o->runs, sizeof *times);
    double before = memory_before(ctx);
    if (!times)
        mo_fail(ctx, MO_MEMORY, "bench: out of memory");
    for (int i = 0; i < o->warmup && mo_ok(ctx); i++)
        run(state);
    mo_context_wait(ctx);
    int64_t allocations = mo_context_counters(ctx).allocations;
    double worked = mo_clock(CLOCK_PROCESS_CPUTIME_ID);
    for (int i = 0; i < o->runs && mo_ok(ctx); i++) {
        double start = mo_clock(CLOCK_MONOTONIC);
        run(state);
        mo_context_wait(ctx);
        times[i] = 1e3 * (mo_clock(CLOCK_MONOTONIC) - start);
    }
    worked = mo_clock(CLOCK_PROCESS_CPUTIME_ID) - worked;
    if (mo_ok(ctx)) {
        mo_sort_numbers(times, o->runs);
        record->min_ms = times[0];
        record->med_ms = times[o->runs / 2];
        record->max_ms = times[o->runs - 1];
        record->processor_ms = 1e3 * worked / o->runs;
        record->allocations = mo_context_counters(ctx).allocations - allocations;
        record->peak_mb = peak_memory(ctx);
        record->growth_mb = record->peak_mb - before;
    }
    free(times);
    return mo_ok(ctx) && print_record(o, record) && (!o->profile || profile_runs(ctx, o, run, state, record));
}
