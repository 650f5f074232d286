/* tools/bench/bench.c - the program mochi-bench: reads its options and runs the benchmark that they choose. */
#include "tools/bench/bench.h"
#include "tools/cli/machine.h"
#include "tools/cli/memory.h"
#include "tools/cli/options.h"

#include <string.h>

static const char about[] =
    "Times training steps of mochi++: forward, backward, clipping and AdamW on a synthetic episode of standard normal "
    "rows; cases nc15 nc64 lp gc_enzymes gc_dd gc_enzymes_mixed (default: all).\v"
    "gflop counts the operations that the algorithm needs, 2 per multiply-add. gemm_share is gflop over the fastest "
    "run, as a share of the rate of the best 4096-cube product in the same process (with --runs 1 or 2: "
    "1536-cube), gemm_gflops. peak_mb is the largest resident memory, growth_mb what of it came after the inputs were "
    "there; allocations are those of the timed runs.\n\n"
    "Examples:\n"
    "  mochi-bench nc15 lp --threads 2\n"
    "  mochi-bench nc15 --profile";

typedef struct bench_input {
    bench_options options;
    given_options given;
} bench_input;

#define AT(field) offsetof(bench_input, options.field)

static const option table[] = {
    {OPTION_INT, "dim", "D", AT(dim), "width of features and embeddings (default 512)", 1, 65536},
    MAX_ROWS_OPTION(
        bench_input, options.max_rows, "rows encoded at once, and once more in backward; 0: all (default 0)"),
    {OPTION_INT, "runs", "N", AT(runs), "timed runs per case (default 15)", 1, 100000},
    {OPTION_INT, "warmup", "N", AT(warmup), "untimed runs before the timed ones (default 3)", 0, 100000},
    DEVICE_OPTIONS(bench_input, options.device),
    THREADS_OPTION(bench_input, options.device.threads),
    {OPTION_FLAG, "bits", NULL, AT(bits), "first compare the bits of repeated gradients"},
    {OPTION_FLAG, "replay", NULL, AT(replay), "on a GPU: the step is recorded once and replayed as a CUDA graph"},
    {OPTION_FLAG, "profile", NULL, AT(profile), "then as many runs under the profiler, and the time of each op",
        .not_with = "json", .why = "the profile is a table"},
    JSON_OPTION(bench_input, options.json, "one JSON object per case on standard output"),
    {OPTION_END},
};

static void take_case(void *input, const char *word, const struct argp_state *state) {
    if (!bench_knows(word))
        refuse_command_line(state, EXIT_USAGE, "expected cases, found '%s'; see --help", word);
    append_name(&((bench_input *)input)->options.cases, word);
}

static void check_bench_options(void *input, const struct argp_state *state) {
    const bench_input *in = input;
    (void)state;
    refuse_given(&in->given, "replay", in->options.device.device == MO_CPU,
        "expected --device cuda; the cpu has nothing to replay");
    refuse_math_on_cpu(&in->given, &in->options.device);
}

static const command_line bench_line = {
    .table = table, .words = "[CASE...]", .about = about, .take_word = take_case, .end = check_bench_options};

/* Prints the first line of --json: the command, and its machine. */
static bool print_bench_run(const mo_context *ctx, int argc, char **argv) {
    machine m = describe_machine();
    json_t *line = command_object(argc, argv);
    bool cpu = mo_context_device(ctx) == MO_CPU;
    json_object_update_new(line, json_pack("{s:s, s:i, s:s}", "device", cpu ? "cpu" : "cuda", "threads",
                                     mo_context_threads(ctx), "processor", m.processor));
    return print_json(line);
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
        code = bench_steps(ctx, &in.options) ? EXIT_FINE : report_failure(ctx);
    mo_context_release(ctx);
    free_names(&in.options.cases);
    return code;
}
