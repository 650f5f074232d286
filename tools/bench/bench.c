/* tools/bench/bench.c - `mochi bench`: its options, and the benchmark that they choose. */
#include "tools/bench/bench.h"
#include "tools/given.h"
#include "tools/machine.h"

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
    {"runs", KEY_RUNS, "N", 0, "timed runs per case (default 15)", 0},
    {"warmup", KEY_WARMUP, "N", 0, "untimed runs before the timed ones (default 3)", 0},
    DEVICE_OPTIONS,
    {"threads", KEY_THREADS, "N", 0, "CPU threads (default: all processors)", 0},
    {"replay", KEY_REPLAY, NULL, 0, "step on a GPU: recorded once and replayed as a CUDA graph", 0},
    {"profile", KEY_PROFILE, NULL, 0,
        "step, solve and head: then as many runs under the profiler, and the time of each op", 0},
    {"save", KEY_SAVE, "FILE.npz", 0, "svd: write U, S and V of the last case", 0},
    {"json", KEY_JSON, NULL, 0, "one JSON object per case on standard output", 0},
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
    "products of a sparse matrix one row of which is full; cases softmax:ROWSxN, spmm:NODESxDEGREExD. expect: whether "
    "the accuracy that predict expects of a few "
    "labels holds on the examples left, over as many draws as --runs; cases NAME:LABELS (cora:4).\v"
    "gflop counts the operations that the algorithm needs, 2 per multiply-add. gemm_share is gflop over the fastest "
    "run, as a share of "
    "the rate of the best 4096-cube product in the same process (on the cpu with --runs 1 or 2: 1536-cube). peak_mb is "
    "the largest resident memory, growth_mb "
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
    {"expect", bench_expect, bench_expect_knows},
};

typedef struct bench_input {
    bench_options options;
    const benchmark *chosen;
    given_options given;
} bench_input;

/* Refuses options that the chosen benchmark does not read. */
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
    refuse_given(g, "warmup", in->chosen->run == bench_expect, "nothing is timed");
    refuse_given(
        g, "replay", in->options.device.device == MO_CPU, "expected --device cuda; the cpu has nothing to replay");
    refuse_math_on_cpu(g, &in->options.device);
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
        refuse_command_line(
            state, EXIT_USAGE, "'%s': expected step, gemm, svd, features, solve, head, rows or expect", text);
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
        o->save = take_output(state, "--save", text, ".npz");
    else if (key == KEY_JSON)
        o->json = true;
    else if (key == KEY_REPLAY)
        o->replay = true;
    else if (key == KEY_PROFILE)
        o->profile = true;
    else if (key == ARGP_KEY_ARG)
        take_bench_word(in, text, state);
    else if (key == ARGP_KEY_END && !in->chosen)
        refuse_command_line(state, EXIT_USAGE, "expected step, gemm, svd, features, solve, head, rows or expect");
    else if (key == ARGP_KEY_END)
        refuse_unread_options(in);
    else
        return key < KEY_DIM || key > KEY_JSON ? ARGP_ERR_UNKNOWN : 0;
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

int bench_command(int argc, char **argv) {
    static const struct argp argp = {.options = options,
        .parser = take_bench_option,
        .args_doc = "step|gemm|svd|features|solve|head|rows|expect [CASE...]",
        .doc = description};
    bench_input in = {
        .options = {.dim = 512, .runs = 15, .warmup = 3, .plus = true, .temperature = MO_TEMPERATURE_EMBED}};
    in.given = (given_options){.table = options, .command = argv[0]};
    parse_options(&argp, argc, argv, &in);
    in.options.device.threads = in.options.threads;
    mo_context *ctx = open_context_on(in.options.device);
    int code = EXIT_FAILED;
    if (ctx && in.options.json && !print_bench_run(ctx, argc, argv))
        code = EXIT_FAILED; /* reported at the end */
    else if (ctx)
        code = in.chosen->run(ctx, &in.options) ? EXIT_FINE : report_failure(ctx);
    mo_context_release(ctx);
    free_names(&in.options.cases);
    return code;
}
