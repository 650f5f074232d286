/* tools/bench/bench.c - the program mochi-bench: reads its options and runs the benchmark that they choose. */
#include "tools/bench/bench.h"
#include "tools/cli/machine.h"
#include "tools/cli/memory.h"
#include "tools/cli/options.h"

#include <string.h>

static const char about[] =
    "step: forward, backward, clipping and AdamW of mochi++ on a synthetic episode of standard normal rows; cases nc15 "
    "nc64 lp "
    "gc_enzymes gc_dd gc_enzymes_mixed. gemm: float32 products; cases N, or MxKxN. solve: batches of systems, general "
    "and SPD, the solution alone and with its adjoint; cases BATCHxORDER, or BATCHxORDERxCOLUMNS. rows: softmax with "
    "its adjoint, and products of a sparse matrix one row of which is full; cases softmax:ROWSxN, "
    "spmm:NODESxDEGREExD.\v"
    "gflop counts the operations that the algorithm needs, 2 per multiply-add. gemm_share is gflop over the fastest "
    "run, as a share of the rate of the best 4096-cube product in the same process (with --runs 1 or 2: "
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
    const char *cases[10]; /* cases to run if the command line names none */
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

#define AT(field) offsetof(bench_input, options.field)

static const option table[] = {
    {OPTION_INT, "dim", "D", AT(dim), "step: width of features and embeddings (default 512)", 1, 65536},
    MAX_ROWS_OPTION(
        bench_input, options.max_rows, "step: rows encoded at once, and once more in backward; 0: all (default 0)"),
    {OPTION_INT, "runs", "N", AT(runs), "timed runs per case (default 15)", 1, 100000},
    {OPTION_INT, "warmup", "N", AT(warmup), "untimed runs before the timed ones (default 3)", 0, 100000},
    DEVICE_OPTIONS(bench_input, options.device),
    THREADS_OPTION(bench_input, options.device.threads),
    {OPTION_FLAG, "bits", NULL, AT(bits), "step: first compare the bits of repeated gradients"},
    {OPTION_FLAG, "replay", NULL, AT(replay), "step on a GPU: recorded once and replayed as a CUDA graph"},
    {OPTION_FLAG, "profile", NULL, AT(profile), "then as many runs under the profiler, and the time of each op",
        .not_with = "json", .why = "the profile is a table"},
    JSON_OPTION(bench_input, options.json, "one JSON object per case on standard output"),
    {OPTION_END},
};

static void take_bench_word(void *input, const char *word, const struct argp_state *state) {
    bench_input *in = input;
    if (in->chosen) {
        if (!in->chosen->knows(word))
            refuse_command_line(state, EXIT_USAGE, "%s has no case '%s'; see --help", in->chosen->name, word);
        append_name(&in->options.cases, word);
        return;
    }
    for (size_t i = 0; i < sizeof benchmarks / sizeof *benchmarks; i++)
        if (!strcmp(word, benchmarks[i].name))
            in->chosen = &benchmarks[i];
    if (!in->chosen)
        refuse_command_line(state, EXIT_USAGE, "'%s': expected step, gemm, solve or rows", word);
}

/* Refuses options that the chosen benchmark does not read. */
static void check_bench_options(void *input, const struct argp_state *state) {
    const bench_input *in = input;
    if (!in->chosen)
        refuse_command_line(state, EXIT_USAGE, "expected step, gemm, solve or rows");
    refuse_given(&in->given, "dim max-rows bits replay", in->chosen->run != bench_step, "expected the benchmark step");
    refuse_given(&in->given, "replay", in->options.device.device == MO_CPU,
        "expected --device cuda; the cpu has nothing to replay");
    refuse_math_on_cpu(&in->given, &in->options.device);
}

static const command_line bench_line = {.table = table,
    .words = "step|gemm|solve|rows [CASE...]",
    .about = about,
    .take_word = take_bench_word,
    .end = check_bench_options};

/* Prints the first line of --json: the command, and its machine. */
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
    bool quick = o->runs < 3, fine = true;
    double rate = measure_product(ctx, quick ? 1536 : 4096, MO_F32, 3);
    const char *const *cases = o->cases.count ? (const char *const *)o->cases.items : in->chosen->cases;
    int n = o->cases.count ? o->cases.count : (int)(sizeof in->chosen->cases / sizeof *in->chosen->cases);
    for (int i = 0; fine && i < n && cases[i]; i++)
        fine = in->chosen->run(ctx, o, cases[i], rate);
    return mo_ok(ctx);
}

int main(int argc, char **argv) {
    bench_input in = {.options = {.dim = 512, .runs = 15, .warmup = 3}};
    argp_err_exit_status = EXIT_USAGE;
    watch_output();
    need_json_memory();
    read_command_line(&bench_line, argc, argv, &in, &in.given);
    mo_context *ctx = open_context_on(in.options.device);
    int code = EXIT_FAILED;
    if (ctx && (!in.options.json || print_bench_run(ctx, argc, argv)))
        code = run_cases(ctx, &in) ? EXIT_FINE : report_failure(ctx);
    mo_context_release(ctx);
    free_names(&in.options.cases);
    return code;
}
