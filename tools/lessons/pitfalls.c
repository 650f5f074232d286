/* tools/lessons/pitfalls.c - `mochi pitfalls`: the paper's synthetic experiments. */
#include "tools/lessons/pitfalls.h"
#include "tools/options.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

typedef struct pitfalls_options {
    int which;
    int64_t seeds;
    int threads, argc;
    char **argv;
    bool json;
    given_options given;
} pitfalls_options;

static const char *const experiments[] = {"origin", "hull", "calibration", "all"};

#define AT(field) offsetof(pitfalls_options, field)

static const option table[] = {
    {OPTION_INT64, "seeds", "N", AT(seeds), "draws of each synthetic experiment (default 20)", 1, 100000},
    THREADS_OPTION(pitfalls_options, threads),
    JSON_OPTION(
        pitfalls_options, json, "one JSON object per figure on standard output, nothing else; mochi-report draws them"),
    {OPTION_END},
};

static const char about[] =
    "Shows how class means fail as a readout under inner products: the paper's three synthetic experiments.\n\n"
    "origin: all embeddings are moved; distances stay, prototypes fall to chance, a ridge does not.\n"
    "hull: a class of two modes has its mean where others win; the same question to your embeddings: `mochi fit Z y "
    "--diagnose`.\n"
    "calibration: confidence against accuracy; one temperature cannot mend what a shift or unequal norms do.\v"
    "Examples:\n"
    "  mochi pitfalls all --json > pitfalls.jsonl; mochi-report pitfalls.jsonl --out pitfalls.html\n"
    "  mochi pitfalls calibration --seeds 120 --json";

static void take_argument(void *options, const char *text, const struct argp_state *state) {
    pitfalls_options *o = options;
    static const int bits[] = {
        PITFALL_ORIGIN, PITFALL_HULL, PITFALL_CALIBRATION, PITFALL_ORIGIN | PITFALL_HULL | PITFALL_CALIBRATION};
    if (state->arg_num > 0)
        usage_error(state, "ARGUMENT", "nothing after the experiment", text);
    o->which = bits[parse_choice(state, "EXPERIMENT", text, experiments, 4)];
}

static void check_pitfalls_options(void *options, const struct argp_state *state) {
    if (!((pitfalls_options *)options)->which)
        usage_error(state, "EXPERIMENT", "origin, hull, calibration or all", "nothing");
}

const command_line pitfalls_line = {.table = table,
    .words = "origin|hull|calibration|all",
    .about = about,
    .take_word = take_argument,
    .end = check_pitfalls_options};

static bool run_experiments(mo_context *ctx, const pitfalls_options *o) {
    bool written = !o->json || print_json(command_object(o->argc, o->argv));
    return written && pitfalls_run(ctx, o->which, o->seeds, o->json);
}

int pitfalls_command(int argc, char **argv) {
    pitfalls_options o = {.argc = argc, .argv = argv, .seeds = 20, .threads = 1};
    read_command_line(&pitfalls_line, argc, argv, &o, &o.given);
    mo_context *ctx = open_context(o.threads);
    if (!ctx)
        return EXIT_FAILED;
    bool written = run_experiments(ctx, &o);
    int code = !mo_ok(ctx) ? report_failure(ctx) : written ? EXIT_FINE : EXIT_FAILED;
    mo_context_release(ctx);
    return code;
}
