/* tools/lessons/pitfalls.c - `mochi pitfalls`: the paper's synthetic experiments, and the hull of prototypes of real
 * embeddings.
 */
#include "tools/lessons/pitfalls.h"
#include "tools/options.h"

#include "tools/fit/fit.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

typedef struct pitfalls_options {
    int which;
    const char *rows, *labels; /* for hull: real embeddings; for cone: these and a graph */
    int64_t seeds;
    double epsilon;
    int threads, argc;
    char **argv;
    bool json;
    given_options given;
} pitfalls_options;

static const char *const experiments[] = {"origin", "hull", "calibration", "all", "cone"};

#define AT(field) offsetof(pitfalls_options, field)

static const option table[] = {
    {OPTION_INT64, "seeds", "N", AT(seeds), "draws of each synthetic experiment (default 20)", 1, 100000},
    {OPTION_POSITIVE, "epsilon", "E", AT(epsilon),
        "hull Z y: epsilon of inclusion, in mean distances of two prototypes (default 0.1)"},
    EXPAND_OPTION,
    THREADS_OPTION(pitfalls_options, threads),
    JSON_OPTION(
        pitfalls_options, json, "one JSON object per figure on standard output, nothing else; mochi-report draws them"),
    {OPTION_END},
};

static const char about[] =
    "Shows how class means fail as a readout under inner products: the paper's three synthetic experiments.\n\n"
    "origin: all embeddings are moved; distances stay, prototypes fall to chance, a ridge does not.\n"
    "hull: a class of two modes has its mean where others win; with Z and y, the same question to your embeddings: how "
    "far each class mean is from the convex hull of the others, in the full space.\n"
    "calibration: confidence against accuracy; one temperature cannot mend what a shift or unequal norms do.\n"
    "cone: of embeddings Z of a graph's nodes what the paper's Appendix A says of those trained by link prediction: "
    "norms "
    "against the roots of degrees, cosines of neighbours and of all pairs, the cone about the mean.\v"
    "Z: rows [n, d] (.npy, .npz or .safetensors; FILE:NAME takes one array of several), y: their classes, whole "
    "numbers (a negative one: unlabelled, left out).\n"
    "Normalised distances are in mean distances of two prototypes. Flagged are prototypes nearer to the hull of the "
    "others than every corner of the outer hull in the plane of the first two principal components.\n\n"
    "Examples:\n"
    "  mochi pitfalls all --json > pitfalls.jsonl; mochi-report pitfalls.jsonl --out pitfalls.html\n"
    "  mochi pitfalls calibration --seeds 120 --json\n"
    "  mochi pitfalls hull Z.npy y.npy\n"
    "  mochi embed --data cora --out Z.npy; mochi pitfalls cone Z.npy cora";

static void take_argument(void *options, const char *text, const struct argp_state *state) {
    pitfalls_options *o = options;
    static const int bits[] = {PITFALL_ORIGIN, PITFALL_HULL, PITFALL_CALIBRATION,
        PITFALL_ORIGIN | PITFALL_HULL | PITFALL_CALIBRATION, PITFALL_CONE};
    if (state->arg_num == 0)
        o->which = bits[parse_choice(state, "EXPERIMENT", text, experiments, 5)];
    else if (state->arg_num <= 2 && (o->which == PITFALL_HULL || o->which == PITFALL_CONE))
        *(state->arg_num == 1 ? &o->rows : &o->labels) = text;
    else
        usage_error(state, "ARGUMENT",
            o->which == PITFALL_HULL   ? "Z and y"
            : o->which == PITFALL_CONE ? "Z and GRAPH"
                                       : "nothing after the experiment",
            text);
}

static void check_pitfalls_options(void *options, const struct argp_state *state) {
    const pitfalls_options *o = options;
    if (!o->which)
        usage_error(state, "EXPERIMENT", "origin, hull, calibration, all or cone", "nothing");
    if (o->rows && !o->labels)
        usage_error(state, o->which == PITFALL_CONE ? "cone" : "hull",
            o->which == PITFALL_CONE ? "Z and GRAPH" : "Z and y", o->rows);
    if (o->which == PITFALL_CONE && !o->rows)
        usage_error(state, "cone", "Z and GRAPH", "nothing");
    refuse_given(&o->given, "seeds", o->rows, "expected a synthetic experiment: Z and y are not drawn");
    refuse_given(
        &o->given, "epsilon", !o->rows || o->which == PITFALL_CONE, "expected hull Z y, which alone asks for it");
    refuse_given(&o->given, "max-expand", !o->rows, "expected hull Z y or cone Z GRAPH, which alone read files");
}

const command_line pitfalls_line = {.table = table,
    .words = "origin|hull|calibration|all\nhull Z y\ncone Z.npy GRAPH",
    .about = about,
    .take_word = take_argument,
    .end = check_pitfalls_options};

static bool diagnose_embeddings(mo_context *ctx, const pitfalls_options *o) {
    mo_embeddings *E = mo_embeddings_open(ctx, o->rows, o->labels);
    mo_diagnosis x = {0};
    json_t *run = o->json && E ? command_object(o->argc, o->argv) : NULL;
    bool written =
        !run || (json_object_set_new(run, "unlabelled", json_integer(E->unlabelled)) == 0 && print_json(run));
    if (E && written && mo_diagnose(E, &(mo_diagnosis_options){.epsilon = o->epsilon}, &x) == MO_OK) {
        if (o->json) {
            written = fit_print_diagnosis_objects(E, &x, NULL, 0);
        } else {
            for (int64_t c = 0; c < x.classes; c++)
                make_printable(E->name[c]);
            fit_print_unlabelled(E);
            fit_print_diagnosis(E, &x, NULL, 0, true, o->epsilon);
        }
    }
    mo_diagnosis_release(&x);
    mo_embeddings_release(E);
    return written;
}

static bool measure_embeddings(mo_context *ctx, const pitfalls_options *o) {
    mo_tensor *Z = mo_npy_read(ctx, o->rows);
    mo_graph *graph = mo_ok(ctx) ? mo_graph_open(ctx, o->labels) : NULL;
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
    pitfalls_options o = {.argc = argc, .argv = argv, .seeds = 20, .epsilon = 0.1, .threads = 1};
    read_command_line(&pitfalls_line, argc, argv, &o, &o.given);
    mo_context *ctx = open_context(o.threads);
    if (!ctx)
        return EXIT_FAILED;
    bool written = o.which == PITFALL_CONE ? measure_embeddings(ctx, &o)
                   : o.rows                ? diagnose_embeddings(ctx, &o)
                                           : run_experiments(ctx, &o);
    int code = !mo_ok(ctx) ? report_failure(ctx) : written ? EXIT_FINE : EXIT_FAILED;
    mo_context_release(ctx);
    return code;
}
