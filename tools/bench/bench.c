/* tools/bench/bench.c - `mochi bench`: options, timing, memory, one line a case. */
#include "tools/bench/bench.h"
#include "tools/given.h"
#include "tools/machine.h"

#include "tensor/clock.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    KEY_DIM = 0x100,
    KEY_VARIANT,
    KEY_TEMPERATURE,
    KEY_MAX_ROWS,
    KEY_RUNS,
    KEY_WARMUP,
    KEY_THREADS,
    KEY_REPLAY,
    KEY_PROFILE,
    KEY_SAVE,
    KEY_JSON
};

static const struct argp_option options[] = {
    {"dim", KEY_DIM, "D", 0, "width of features and embeddings; rank of the SVD (default 512)", 0},
    {"variant", KEY_VARIANT, "NAME", 0, "mochi: 2 layers; mochi++: 3 with a residual (default mochi++)", 0},
    {"temperature", KEY_TEMPERATURE, "WHERE", 0, "on the logit, or on the unit-norm embed(ding) (default embed)", 0},
    {"max-rows", KEY_MAX_ROWS, "N", 0, "step: rows encoded at once, and once more in backward; 0: all (default 0)", 0},
    {"runs", KEY_RUNS, "N", 0, "timed runs of a case (default 15)", 0},
    {"warmup", KEY_WARMUP, "N", 0, "runs before them that are not timed (default 3)", 0},
    DEVICE_OPTIONS,
    {"threads", KEY_THREADS, "N", 0, "CPU threads (default: all processors)", 0},
    {"replay", KEY_REPLAY, NULL, 0, "step on a GPU: recorded once and replayed as a CUDA graph", 0},
    {"profile", KEY_PROFILE, NULL, 0,
        "step, solve and head: then as many runs under the profiler, and where their time goes, op by op", 0},
    {"save", KEY_SAVE, "FILE.npz", 0, "svd: write U, S and V of the last case", 0},
    {"json", KEY_JSON, NULL, 0, "one JSON object a case on standard output", 0},
    {0},
};

static const char description[] =
    "step: forward, backward, clipping and AdamW on a synthetic episode of standard normal rows; cases nc15 nc64 lp "
    "gc_enzymes gc_dd gc_enzymes_mixed. gemm: float32 products; cases N, or MxKxN. svd: truncated SVD of a random "
    "graph of N nodes and mean degree 10, or of a graph by name or path; features: the SVD, LayerNorm and three hops, "
    "nothing cached; cases N, or NAME, features also NAME:nc, NAME:lp, NAME:gc, the rows of the recipe best. solve: "
    "batches of systems, general and SPD, the solution alone and with "
    "its adjoint; cases BATCHxORDER, or BATCHxORDERxCOLUMNS. head: a batch of episodes through a head, with the "
    "gradients; cases HEAD, or HEAD:EPISODESxCLASSESxSHOTSxDIM (64x5x10x64). rows: softmax with its adjoint, and "
    "products of a sparse matrix one row of which is full; cases softmax:ROWSxN, spmm:NODESxDEGREExD.\v"
    "gflop counts what the algorithm needs, 2 a multiply-add. gemm_share is gflop over the fastest run, as a share of "
    "the rate of the best 4096-cube product in the same process. peak_mb is the largest resident memory, growth_mb "
    "what "
    "of it came after the inputs were there; allocations are those of the timed runs.\n\n"
    "Examples:\n"
    "  mochi bench step nc15 lp --threads 2\n"
    "  mochi bench gemm 4096 3600x512x512\n"
    "  mochi bench svd 20000 --runs 1 --warmup 0 --json\n"
    "  mochi bench features 100000 enzymes cora:nc --runs 1 --warmup 0\n"
    "  mochi bench solve 1024x32 64x512x15\n"
    "  mochi bench head ridge lda:1024x5x5x64\n"
    "  mochi bench rows softmax:4096x1024 spmm:100000x10x512\n"
    "  mochi bench step nc15 --profile";

typedef struct benchmark {
    const char *name;
    bool (*run)(mo_context *ctx, const bench_options *o);
    bool (*knows)(const char *name);
} benchmark;

static const benchmark benchmarks[] = {
    {"step", bench_step, bench_step_knows},
    {"gemm", bench_gemm, bench_gemm_knows},
    {"svd", bench_svd, bench_graph_knows},
    {"features", bench_features, bench_graph_knows},
    {"solve", bench_solve, bench_solve_knows},
    {"head", bench_head, bench_head_knows},
    {"rows", bench_rows, bench_rows_knows},
};

typedef struct bench_input {
    bench_options options;
    const benchmark *chosen;
    given_options given;
} bench_input;

/* Options that the benchmark does not read. */
static void refuse_unread_options(const bench_input *in) {
    static const char *const of_step[] = {"variant", "temperature", "max-rows", "replay"};
    const given_options *g = &in->given;
    bool step = in->chosen->run == bench_step, gemm = in->chosen->run == bench_gemm;
    bool svd = in->chosen->run == bench_svd, features = in->chosen->run == bench_features;
    bool profiles = step || in->chosen->run == bench_solve || in->chosen->run == bench_head;
    for (size_t i = 0; i < sizeof of_step / sizeof *of_step; i++)
        refuse_given(g, of_step[i], !step, "expected the benchmark step");
    refuse_given(g, "dim", !(step || gemm || svd || features), "expected step, gemm, svd or features");
    refuse_given(g, "dim", gemm && in->options.cases.count, "the cases say how large the products are");
    refuse_given(g, "profile", !profiles, "expected step, solve or head");
    refuse_given(g, "save", !svd, "expected the benchmark svd");
    refuse_given(
        g, "replay", in->options.device.device == MO_CPU, "expected --device cuda; the cpu has nothing to replay");
    refuse_math_on_cpu(g, in->options.device.device);
}

static void take_bench_word(bench_input *in, const char *text, struct argp_state *state) {
    if (in->chosen) {
        if (!in->chosen->knows(text))
            refuse_command_line(state, EXIT_USAGE, "bench %s has no case '%s'; see --help", in->chosen->name, text);
        append_name(&in->options.cases, text);
        return;
    }
    for (size_t i = 0; i < sizeof benchmarks / sizeof *benchmarks; i++)
        if (!strcmp(text, benchmarks[i].name))
            in->chosen = &benchmarks[i];
    if (!in->chosen)
        refuse_command_line(state, EXIT_USAGE, "'%s': expected step, gemm, svd, features, solve, head or rows", text);
}

static error_t take_bench_option(int key, char *text, struct argp_state *state) {
    bench_input *in = state->input;
    bench_options *o = &in->options;
    note_given(&in->given, key);
    if (take_device(&o->device, key, text, state))
        return 0;
    if (key == KEY_DIM)
        o->dim = (int)parse_integer(state, "--dim", text, 1, 65536);
    else if (key == KEY_VARIANT)
        o->plus = parse_choice(state, "--variant", text, (const char *[]){"mochi", "mochi++"}, 2);
    else if (key == KEY_TEMPERATURE)
        o->temperature =
            (mo_temperature)parse_choice(state, "--temperature", text, (const char *[]){"logit", "embed"}, 2);
    else if (key == KEY_MAX_ROWS)
        o->max_rows = parse_integer(state, "--max-rows", text, 0, INT64_MAX);
    else if (key == KEY_RUNS)
        o->runs = (int)parse_integer(state, "--runs", text, 1, 100000);
    else if (key == KEY_WARMUP)
        o->warmup = (int)parse_integer(state, "--warmup", text, 0, 100000);
    else if (key == KEY_THREADS)
        o->threads = (int)parse_integer(state, "--threads", text, 1, 1024);
    else if (key == KEY_SAVE)
        o->save = text;
    else if (key == KEY_JSON)
        o->json = true;
    else if (key == KEY_REPLAY)
        o->replay = true;
    else if (key == KEY_PROFILE)
        o->profile = true;
    else if (key == ARGP_KEY_ARG)
        take_bench_word(in, text, state);
    else if (key == ARGP_KEY_END && !in->chosen)
        refuse_command_line(state, EXIT_USAGE, "expected step, gemm, svd, features, solve, head or rows");
    else if (key == ARGP_KEY_END)
        refuse_unread_options(in);
    else
        return key < KEY_DIM || key > KEY_JSON ? ARGP_ERR_UNKNOWN : 0;
    return 0;
}

double bench_memory(bool peak) {
    const char *key = peak ? "VmHWM: %lf" : "VmRSS: %lf";
    char line[256];
    double kb = NAN;
    FILE *status = fopen("/proc/self/status", "r");
    while (status && isnan(kb) && fgets(line, sizeof line, status))
        if (sscanf(line, key, &kb) != 1)
            kb = NAN;
    if (status)
        fclose(status);
    return kb / 1024;
}

void bench_reset_peak(void) {
    FILE *file = fopen("/proc/self/clear_refs", "w");
    if (file) {
        fputs("5", file);
        fclose(file);
    }
}

static int compare_times(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Of a device: all that is in use of its memory, workspaces of its libraries too. */
static double peak_memory(mo_context *ctx) {
    return mo_context_device(ctx) == MO_CPU ? bench_memory(true) : 1e-6 * (double)mo_context_counters(ctx).device_peak;
}

/* In use now, and from where the peak counts. */
static double memory_before(mo_context *ctx) {
    mo_context_reset_peaks(ctx);
    bench_reset_peak();
    return mo_context_device(ctx) == MO_CPU ? bench_memory(false) : peak_memory(ctx);
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
    for (int i = 0; i < o->runs && mo_ok(ctx); i++) {
        double start = mo_clock(CLOCK_MONOTONIC);
        run(state);
        mo_context_wait(ctx);
        times[i] = 1e3 * (mo_clock(CLOCK_MONOTONIC) - start);
    }
    if (mo_ok(ctx)) {
        qsort(times, (size_t)o->runs, sizeof *times, compare_times);
        record->min_ms = times[0];
        record->med_ms = times[o->runs / 2];
        record->max_ms = times[o->runs - 1];
        record->allocations = mo_context_counters(ctx).allocations - allocations;
        record->peak_mb = peak_memory(ctx);
        record->growth_mb = record->peak_mb - before;
    }
    free(times);
    return mo_ok(ctx);
}

static json_t *bench_rounded(double value, double scale) {
    return json_number(round(value * scale) / scale);
}

static void write_profile_text(const char *text, void *file) {
    fputs(text, file);
}

/* An object an op and place: totals over the runs. */
static bool print_profile(mo_context *ctx, const bench_record *record, int runs) {
    int n = mo_profile_entries(ctx, NULL, 0);
    mo_profile_entry *entries = calloc((size_t)n + 1, sizeof *entries);
    bool written = entries != NULL;
    if (!entries)
        mo_fail(ctx, MO_MEMORY, "bench: out of memory");
    else
        mo_profile_entries(ctx, entries, n);
    for (int i = 0; written && i < n; i++) {
        const mo_profile_entry *e = &entries[i];
        char where[100];
        snprintf(where, sizeof where, e->vjp_of ? "vjp of %s" : "%s",
            e->vjp_of     ? e->vjp_of->name
            : e->backward ? "backward"
                          : "forward");
        written = print_json(json_pack("{s:s, s:s, s:s, s:s, s:s, s:i, s:I, s:o, s:o, s:o}", "kind", "op", "case",
            record->name, "variant", record->variant, "op", e->op->name, "where", where, "runs", runs, "calls",
            (json_int_t)e->calls, "ms", bench_rounded(1e3 * e->seconds, 1e6), "gflop",
            bench_rounded(1e-9 * e->flops, 1e9), "mb", bench_rounded(1e-6 * e->bytes, 1e3)));
    }
    free(entries);
    return written;
}

bool bench_profile(
    mo_context *ctx, const bench_options *o, void (*run)(void *state), void *state, const bench_record *record) {
    if (!o->profile || mo_profile_start(ctx) != MO_OK)
        return mo_ok(ctx);
    for (int i = 0; i < o->runs && mo_ok(ctx); i++)
        run(state);
    mo_profile_stop(ctx);
    if (o->json)
        return print_profile(ctx, record, o->runs) && mo_ok(ctx);
    printf("%s %s, %d runs:\n", record->name, record->variant, o->runs);
    mo_profile_report(ctx, 1e9 * record->gemm_rate, write_profile_text, stdout);
    return mo_ok(ctx);
}

bool bench_print(const bench_options *o, const bench_record *r) {
    double share = r->gflop / (1e-3 * r->min_ms) / r->gemm_rate;
    if (o->json)
        return print_json(json_pack("{s:s, s:s, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:I}", "case", r->name,
            "variant", r->variant, "rows", (json_int_t)r->rows, "gflop", bench_rounded(r->gflop, 1e9), "min_ms",
            bench_rounded(r->min_ms, 1e6), "med_ms", bench_rounded(r->med_ms, 1e6), "max_ms",
            bench_rounded(r->max_ms, 1e6), "gemm_share", bench_rounded(share, 1e4), "peak_mb",
            bench_rounded(r->peak_mb, 10), "growth_mb", bench_rounded(r->growth_mb, 10), "allocations",
            (json_int_t)r->allocations));
    printf("%-16s %-17s %8lld rows %9.4g GFLOP  min %9.3f  med %9.3f  max %9.3f ms  %5.1f%% of the GEMM rate  peak "
           "%.0f MB (+%.0f)\n",
        r->name, r->variant, (long long)r->rows, r->gflop, r->min_ms, r->med_ms, r->max_ms, 100 * share, r->peak_mb,
        r->growth_mb);
    return fflush(stdout) == 0;
}

/* What is run, and on what machine: the first line with --json. */
static bool print_bench_run(const mo_context *ctx, int argc, char **argv) {
    machine m = describe_machine();
    json_t *line = command_object(argc, argv);
    bool cpu = mo_context_device(ctx) == MO_CPU;
    json_object_update_new(line, json_pack("{s:s, s:i, s:s}", "device", cpu ? "cpu" : "cuda", "threads",
                                     mo_context_threads(ctx), "processor", m.processor));
    return print_json(line);
}

int bench_command(int argc, char **argv) {
    static const struct argp argp = {.options = options,
        .parser = take_bench_option,
        .args_doc = "step|gemm|svd|features|solve|head|rows [CASE...]",
        .doc = description};
    bench_input in = {
        .options = {.dim = 512, .runs = 15, .warmup = 3, .plus = true, .temperature = MO_TEMPERATURE_EMBED}};
    in.given = (given_options){.table = options, .command = argv[0]};
    parse_options(&argp, argc, argv, &in);
    in.options.device.threads = in.options.threads;
    mo_context *ctx = open_context_on(in.options.device);
    int code = EXIT_FAILED;
    if (ctx && in.options.json && !print_bench_run(ctx, argc, argv))
        code = EXIT_FAILED; /* said at the end */
    else if (ctx)
        code = in.chosen->run(ctx, &in.options) ? EXIT_FINE : report_failure(ctx);
    mo_context_release(ctx);
    free_names(&in.options.cases);
    return code;
}
