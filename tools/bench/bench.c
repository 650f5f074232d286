/* tools/bench/bench.c - the program mochi-bench: its options, and the benchmark that they choose. */
#include "tools/bench/bench.h"
#include "tools/core_rate.h"
#include "tools/given.h"
#include "tools/machine.h"
#include "tools/memory.h"

#include <string.h>

enum { KEY_DIM = 0x100, KEY_MAX_ROWS, KEY_RUNS, KEY_WARMUP, KEY_THREADS, KEY_REPLAY, KEY_PROFILE, KEY_JSON };

static const struct argp_option options[] = {
    {"dim", KEY_DIM, "D", 0, "step: width of features and embeddings (default 512)", 0},
    {"max-rows", KEY_MAX_ROWS, "N", 0, "step: rows encoded at once, and once more in backward; 0: all (default 0)", 0},
    {"runs", KEY_RUNS, "N", 0, "timed runs per case (default 15)", 0},
    {"warmup", KEY_WARMUP, "N", 0, "untimed runs before the timed ones (default 3)", 0},
    DEVICE_OPTIONS,
    {"threads", KEY_THREADS, "N", 0, "CPU threads (default: all processors)", 0},
    {"replay", KEY_REPLAY, NULL, 0, "step on a GPU: recorded once and replayed as a CUDA graph", 0},
    {"profile", KEY_PROFILE, NULL, 0, "then as many runs under the profiler, and the time of each op", 0},
    {"json", KEY_JSON, NULL, 0, "one JSON object per case on standard output", 0},
    {0},
};

static const char description[] =
    "step: forward, backward, clipping and AdamW of mochi++ on a synthetic episode of standard normal rows; cases nc15 "
    "nc64 lp "
    "gc_enzymes gc_dd gc_enzymes_mixed. gemm: float32 products; cases N, or MxKxN. solve: batches of systems, general "
    "and SPD, the solution alone and with its adjoint; cases BATCHxORDER, or BATCHxORDERxCOLUMNS. rows: softmax with "
    "its adjoint, and products of a sparse matrix one row of which is full; cases softmax:ROWSxN, "
    "spmm:NODESxDEGREExD.\v"
    "gflop counts the operations that the algorithm needs, 2 per multiply-add. gemm_share is gflop over the fastest "
    "run, as a share of the rate of the best 4096-cube product in the same process (on the cpu with --runs 1 or 2: "
    "1536-cube). peak_mb is the largest resident memory, growth_mb what of it came after the inputs were there; "
    "allocations are those of the timed runs.\n\n"
    "Examples:\n"
    "  mochi-bench step nc15 lp --threads 2\n"
    "  mochi-bench gemm 4096 3600x512x512\n"
    "  mochi-bench solve 1024x32 64x512x15\n"
    "  mochi-bench rows softmax:4096x1024 spmm:100000x10x512\n"
    "  mochi-bench step nc15 --profile";

typedef struct benchmark {
    const char *name;
    bench_case *run;
    bool (*knows)(const char *name);
    const char *cases[10]; /* those of a command line that names none */
} benchmark;

static const benchmark benchmarks[] = {
    {"step", bench_step, bench_step_knows, {"nc15", "nc64", "lp", "gc_enzymes", "gc_dd", "gc_enzymes_mixed"}},
    {"gemm", bench_gemm, bench_gemm_knows, {"4096", "3600x512x512"}},
    {"solve", bench_solve, bench_solve_knows, {"1x512", "64x8", "64x32", "64x128", "512x32", "512x128", "4096x8"}},
    {"rows", bench_rows, bench_rows_knows,
        {"softmax:65536x64", "softmax:4096x1024", "softmax:256x16384", "spmm:3000x4x512", "spmm:100000x10x512"}},
};

typedef struct bench_input {
    bench_options options;
    const benchmark *chosen;
    given_options given;
} bench_input;

/* Refuses options that the chosen benchmark does not read. */
static void refuse_unread_options(const bench_input *in) {
    static const char *const of_step[] = {"dim", "max-rows", "replay"};
    for (size_t i = 0; i < sizeof of_step / sizeof *of_step; i++)
        refuse_given(&in->given, of_step[i], in->chosen->run != bench_step, "expected the benchmark step");
    refuse_given(&in->given, "replay", in->options.device.device == MO_CPU,
        "expected --device cuda; the cpu has nothing to replay");
    refuse_math_on_cpu(&in->given, &in->options.device);
}

static void take_bench_word(bench_input *in, const char *text, struct argp_state *state) {
    if (in->chosen) {
        if (!in->chosen->knows(text))
            refuse_command_line(state, EXIT_USAGE, "%s has no case '%s'; see --help", in->chosen->name, text);
        append_name(&in->options.cases, text);
        return;
    }
    for (size_t i = 0; i < sizeof benchmarks / sizeof *benchmarks; i++)
        if (!strcmp(text, benchmarks[i].name))
            in->chosen = &benchmarks[i];
    if (!in->chosen)
        refuse_command_line(state, EXIT_USAGE, "'%s': expected step, gemm, solve or rows", text);
}

static error_t take_bench_option(int key, char *text, struct argp_state *state) {
    bench_input *in = state->input;
    bench_options *o = &in->options;
    note_given(&in->given, key);
    if (take_device(&o->device, key, text, state))
        return 0;
    if (key == KEY_DIM)
        o->dim = (int)parse_integer(state, "--dim", text, 1, 65536);
    else if (key == KEY_MAX_ROWS)
        o->max_rows = parse_integer(state, "--max-rows", text, 0, INT64_MAX);
    else if (key == KEY_RUNS)
        o->runs = (int)parse_integer(state, "--runs", text, 1, 100000);
    else if (key == KEY_WARMUP)
        o->warmup = (int)parse_integer(state, "--warmup", text, 0, 100000);
    else if (key == KEY_THREADS)
        o->device.threads = (int)parse_integer(state, "--threads", text, 1, 1024);
    else if (key == KEY_JSON)
        o->json = true;
    else if (key == KEY_REPLAY)
        o->replay = true;
    else if (key == KEY_PROFILE)
        o->profile = true;
    else if (key == ARGP_KEY_ARG)
        take_bench_word(in, text, state);
    else if (key == ARGP_KEY_END && !in->chosen)
        refuse_command_line(state, EXIT_USAGE, "expected step, gemm, solve or rows");
    else if (key == ARGP_KEY_END)
        refuse_unread_options(in);
    else
        return ARGP_ERR_UNKNOWN;
    return 0;
}

/* The first line with --json: the command, and the machine it runs on. */
static bool print_bench_run(const mo_context *ctx, int argc, char **argv) {
    machine m = describe_machine();
    json_t *line = command_object(argc, argv);
    bool cpu = mo_context_device(ctx) == MO_CPU;
    json_object_update_new(line, json_pack("{s:s, s:i, s:s}", "device", cpu ? "cpu" : "cuda", "threads",
                                     mo_context_threads(ctx), "processor", m.processor));
    return print_json(line);
}

static bool run_cases(mo_context *ctx, const bench_input *in) {
    const bench_options *o = &in->options;
    bool quick = o->runs < 3 && mo_context_device(ctx) == MO_CPU, fine = true;
    double rate = measure_product(ctx, quick ? 1536 : 4096, MO_F32, 3);
    const char *const *cases = o->cases.count ? (const char *const *)o->cases.items : in->chosen->cases;
    int n = o->cases.count ? o->cases.count : (int)(sizeof in->chosen->cases / sizeof *in->chosen->cases);
    for (int i = 0; fine && i < n && cases[i]; i++)
        fine = in->chosen->run(ctx, o, cases[i], rate);
    return mo_ok(ctx);
}

int main(int argc, char **argv) {
    static const struct argp argp = {.options = options,
        .parser = take_bench_option,
        .args_doc = "step|gemm|solve|rows [CASE...]",
        .doc = description};
    bench_input in = {.options = {.dim = 512, .runs = 15, .warmup = 3}};
    argp_err_exit_status = EXIT_USAGE;
    watch_output();
    need_json_memory();
    in.given = (given_options){.table = options, .command = argv[0]};
    parse_options(&argp, argc, argv, &in);
    mo_context *ctx = open_context_on(in.options.device);
    int code = EXIT_FAILED;
    if (ctx && (!in.options.json || print_bench_run(ctx, argc, argv)))
        code = run_cases(ctx, &in) ? EXIT_FINE : report_failure(ctx);
    mo_context_release(ctx);
    free_names(&in.options.cases);
    return code;
}
