/* tools/lessons/pitfalls.c - `mochi pitfalls`: the paper's synthetic experiments, and the geometry of real embeddings.
 */
#include "tools/lessons/pitfalls.h"
#include "tools/options.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

typedef struct pitfalls_options {
    int which;
    const char *rows, *graph; /* of cone */
    int64_t seeds;
    int threads, argc;
    char **argv;
    bool json;
    given_options given;
} pitfalls_options;

static const char *const experiments[] = {"origin", "hull", "calibration", "all", "cone"};

#define AT(field) offsetof(pitfalls_options, field)

static const option table[] = {
    {OPTION_INT64, "seeds", "N", AT(seeds), "draws of each synthetic experiment (default 20)", 1, 100000},
    EXPAND_OPTION,
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
    "calibration: confidence against accuracy; one temperature cannot mend what a shift or unequal norms do.\n"
    "cone: of embeddings Z of a graph's nodes what the paper's Appendix A says of those trained by link prediction: "
    "norms against the roots of degrees, cosines of neighbours and of all pairs, the cone about the mean.\v"
    "Examples:\n"
    "  mochi pitfalls all --json > pitfalls.jsonl; mochi-report pitfalls.jsonl --out pitfalls.html\n"
    "  mochi pitfalls calibration --seeds 120 --json\n"
    "  mochi embed --data cora --out Z.npy; mochi pitfalls cone Z.npy cora";

static void take_argument(void *options, const char *text, const struct argp_state *state) {
    pitfalls_options *o = options;
    static const int bits[] = {PITFALL_ORIGIN, PITFALL_HULL, PITFALL_CALIBRATION,
        PITFALL_ORIGIN | PITFALL_HULL | PITFALL_CALIBRATION, PITFALL_CONE};
    if (state->arg_num == 0)
        o->which = bits[parse_choice(state, "EXPERIMENT", text, experiments, 5)];
    else if (state->arg_num <= 2 && o->which == PITFALL_CONE)
        *(state->arg_num == 1 ? &o->rows : &o->graph) = text;
    else
        usage_error(state, "ARGUMENT", o->which == PITFALL_CONE ? "Z and GRAPH" : "nothing after the experiment", text);
}

static void check_pitfalls_options(void *options, const struct argp_state *state) {
    const pitfalls_options *o = options;
    const bool cone = o->which == PITFALL_CONE;
    if (!o->which)
        usage_error(state, "EXPERIMENT", "origin, hull, calibration, all or cone", "nothing");
    if (cone && !o->graph)
        usage_error(state, "cone", "Z and GRAPH", o->rows ? o->rows : "nothing");
    refuse_given(&o->given, "seeds", cone, "expected a synthetic experiment: Z is not drawn");
    refuse_given(&o->given, "max-expand", !cone, "expected cone Z GRAPH, which alone reads files");
}

const command_line pitfalls_line = {.table = table,
    .words = "origin|hull|calibration|all\ncone Z.npy GRAPH",
    .about = about,
    .take_word = take_argument,
    .end = check_pitfalls_options};

static bool measure_embeddings(mo_context *ctx, const pitfalls_options *o) {
    mo_tensor *Z = mo_npy_read(ctx, o->rows);
    mo_graph *graph = mo_ok(ctx) ? mo_graph_open(ctx, o->graph) : NULL;
    bool written = !graph || cone_measure(Z, graph, o->json ? command_object(o->argc, o->argv) : NULL);
    mo_graph_release(graph);
    mo_tensor_release(Z);
    return written;
}

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
    bool written = (o.which == PITFALL_CONE ? measure_embeddings : run_experiments)(ctx, &o);
    int code = !mo_ok(ctx) ? report_failure(ctx) : written ? EXIT_FINE : EXIT_FAILED;
    mo_context_release(ctx);
    return code;
}
