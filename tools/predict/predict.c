/* tools/predict/predict.c - `mochi predict`: the labels of a graph's nodes, or of the graphs of a set, from a few that
 * are known. */
#include "tools/given.h"
#include "tools/memory.h"
#include "tools/predict/predict_readout.h"
#include "tools/progress.h"
#include "train/graphs/label_column.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    KEY_WEIGHTS = 0x100,
    KEY_DATA,
    KEY_TASK,
    KEY_LABELS,
    KEY_KNOWN,
    KEY_PAIRS,
    KEY_OUT,
    KEY_SAVE,
    KEY_READOUT,
    KEY_HEAD,
    KEY_LAMBDA,
    KEY_TRANSDUCTIVE,
    KEY_EXPERT,
    KEY_PROBABILITIES,
    KEY_PCA,
    KEY_MIN_CONFIDENCE,
    KEY_THREADS,
    KEY_QUIET
};

typedef struct predict_options {
    const char *data, *labels, *known, *pairs, *out, *save, *readout, *cache;
    int task; /* -1: that of the data */
    double least;
    mo_few_shot_options few_shot;
    names experts;
    mo_context_options device;
    int threads;
    bool probabilities, pca, quiet;
    given_options given;
} predict_options;

static const struct argp_option options[] = {
    {"data", KEY_DATA, "NAME", 0, "a graph, or a set of graphs: a name of `mochi data list`, or a path", 0},
    {"task", KEY_TASK, "TASK", 0,
        "nc (nodes), gc (graphs) or lp (links); default: nodes of a single graph, graphs of a set", 0},
    {"labels", KEY_LABELS, "FILE", 0,
        "the labels that are known: CSV or TSV of lines NODE,CLASS, below a header or none (nodes by their names in "
        "the "
        "data, or by their numbers from 0; a class is any text, empty where unknown), of a file, a pipe or -, standard "
        "input, or of several with commas between; or .npy, for each example a whole number, "
        "negative where unknown, or a text, empty where unknown; of links, CSV or TSV of columns from, to, linked "
        "(yes, no) and, if you like, fit (how often, 1)",
        0},
    {"known", KEY_KNOWN, "MASK.npy", 0, "in place of --labels: the data's own labels, where the mask is not 0", 0},
    {"pairs", KEY_PAIRS, "FILE", 0,
        "of --task lp: pairs of nodes to score, CSV or TSV; the readout is fitted on --labels, or on "
        "links of the graph itself",
        0},
    {"out", KEY_OUT, "FILE", 0,
        "predictions of all other examples, by its suffix as .csv, .tsv, .jsonl (label, probability, margin to the "
        "second class) or .npy (numbers of classes of all examples asked for); default: CSV on standard output",
        0},
    {"save", KEY_SAVE, "FILE", 0, "keep the fit: labels, readout and the digests of weights and data (safetensors)", 0},
    {"readout", KEY_READOUT, "FILE", 0,
        "in place of --labels: a fit that was kept, of the same weights and data; the predictions are the same bytes",
        0},
    {"probabilities", KEY_PROBABILITIES, NULL, 0, "also the probability of every class", 0},
    {"pca", KEY_PCA, NULL, 0,
        "for mochi-report: also the examples whose label is known, the class that the data itself has for each, and "
        "its place in the plane of the embedding's first two principal components (known, truth, x, y)",
        0},
    {"min-confidence", KEY_MIN_CONFIDENCE, "P", 0,
        "examples whose probability is below P get no label; probabilities are rough below 4 labels of a class", 0},
    {"weights", KEY_WEIGHTS, "FILE", 0, "weights.safetensors of a run (default best: those that come with mochi)", 0},
    {"head", KEY_HEAD, "NAME|FILE.so", 0, "readout: " HEADS ", or FILE.so (default: that of the weights)", 0},
    {"lambda", KEY_LAMBDA, "L", 0, "penalty of a --head that has one (default: that of the weights)", 0},
    {"transductive", KEY_TRANSDUCTIVE, "no|yes|auto", 0,
        "refit the readout on its own predictions for all examples, with equally many assumed per class; default "
        "auto: where labels left out in turn are predicted no worse, of 100,000 examples or fewer",
        0},
    {"expert", KEY_EXPERT, "ROWS.npy,..", 0,
        "rows of your own for the nodes, by which they are compared too, beside those of the weights", 0},
    KEEPING_OPTIONS,
    {"threads", KEY_THREADS, "N", 0, "CPU threads; the predictions do not depend on it (default: all processors)", 0},
    DEVICE_OPTIONS,
    {"quiet", KEY_QUIET, NULL, 0, "no summary on standard error", 0},
    {0},
};

static const char description[] =
    "Predicts the labels of a graph's nodes, or of the graphs of a set, from a few that are known. Says on standard "
    "error how accurate the predictions should be, from known labels that are left out in turn. Or scores pairs that "
    "lack a link.\vExamples:\n"
    "  mochi predict --data cora --labels seeds.csv --out predictions.csv\n"
    "  mochi predict --data cora --task lp --pairs pairs.csv --out links.csv\n"
    "  mochi predict --data mutag --known mask.npy --head logistic --probabilities";

/* Options without effect on what is asked for. */
static void refuse_options(const predict_options *o) {
    static const char why[] = "a kept readout has its own";
    refuse_given(&o->given, "head", o->readout, why);
    refuse_given(&o->given, "lambda", o->readout, why);
    refuse_given(&o->given, "transductive", o->readout, why);
    refuse_given(&o->given, "expert", o->readout, why);
    refuse_given(&o->given, "save", o->readout, "it is kept already");
    refuse_given(&o->given, "save", o->experts.count > 0, "a readout is kept without rows of --expert");
    static const char *const of_classes[] = {
        "known", "probabilities", "pca", "min-confidence", "transductive", "expert", "quiet"};
    for (size_t i = 0; i < sizeof of_classes / sizeof *of_classes; i++)
        refuse_given(&o->given, of_classes[i], o->pairs != NULL, "links, of --pairs, have no such thing");
    refuse_given(&o->given, "labels", o->readout && o->pairs, why);
    refuse_given(&o->given, "pca", o->out && mo_path_ends_with(o->out, ".npy"), "an array of classes has no places");
    refuse_math_on_cpu(&o->given, &o->device);
}

/* What is there, and goes together. */
static void check_options(const predict_options *o, const struct argp_state *state) {
    bool links = o->pairs;
    if (!o->data)
        refuse_command_line(state, EXIT_USAGE, "--data NAME is missing");
    else if (o->task == MO_TASK_LP && !links)
        refuse_command_line(state, EXIT_USAGE, "--task lp needs --pairs FILE");
    else if (links && o->task != MO_TASK_LP)
        refuse_command_line(state, EXIT_USAGE, "--pairs needs --task lp");
    else if (!links && !!o->labels + !!o->known + !!o->readout != 1)
        refuse_command_line(state, EXIT_USAGE, "expected one of --labels FILE, --known MASK.npy and --readout FILE");
    else if (links && o->out && mo_path_ends_with(o->out, ".npy"))
        refuse_command_line(
            state, EXIT_USAGE, "--out: expected a file .csv, .tsv or .jsonl of links, found '%s'", o->out);
    refuse_options(o);
}

static error_t take_option(int key, char *text, struct argp_state *state) {
    static const char *const tasks[] = {"nc", "lp", "gc"};
    predict_options *o = state->input;
    note_given(&o->given, key);
    if (take_device(&o->device, key, text, state) || take_keeping(&o->few_shot.memory, &o->cache, key, text, state))
        return 0;
    if (key == KEY_DATA)
        o->data = text;
    else if (key == KEY_TASK)
        o->task = parse_choice(state, "--task", text, tasks, 3);
    else if (key == KEY_LABELS)
        o->labels = text;
    else if (key == KEY_KNOWN)
        o->known = text;
    else if (key == KEY_PAIRS)
        o->pairs = text;
    else if (key == KEY_OUT)
        o->out = take_output(state, "--out", text, PREDICTIONS);
    else if (key == KEY_SAVE)
        o->save = take_output(state, "--save", text, ".safetensors");
    else if (key == KEY_READOUT)
        o->readout = text;
    else if (key == KEY_WEIGHTS)
        o->few_shot.weights = text;
    else if (key == KEY_HEAD)
        o->few_shot.head = parse_head(state, text);
    else if (key == KEY_LAMBDA)
        o->few_shot.lambda = parse_positive(state, "--lambda", text);
    else if (key == KEY_TRANSDUCTIVE)
        o->few_shot.transductive = (mo_transductive)parse_choice(state, "--transductive", text, transductive_names, 3);
    else if (key == KEY_EXPERT)
        o->experts = parse_names(state, "--expert", text);
    else if (key == KEY_PROBABILITIES)
        o->probabilities = true;
    else if (key == KEY_PCA)
        o->pca = true;
    else if (key == KEY_MIN_CONFIDENCE)
        o->least = parse_real(state, "--min-confidence", text, 0, 1);
    else if (key == KEY_THREADS)
        o->threads = (int)parse_integer(state, "--threads", text, 1, 1024);
    else if (key == KEY_QUIET)
        o->quiet = true;
    else if (key == ARGP_KEY_ARG)
        refuse_command_line(state, EXIT_USAGE, "'%s': expected options only", text);
    else if (key == ARGP_KEY_END)
        check_options(o, state);
    else
        return key < KEY_WEIGHTS || key > KEY_QUIET ? ARGP_ERR_UNKNOWN : 0;
    return 0;
}

/* Numbers of the examples without a known label; returns how many. */
static int64_t list_unknown(const mo_labels *known, int64_t examples, int64_t *id) {
    int64_t n = 0, at = 0; /* known->id rises */
    for (int64_t i = 0; i < examples; i++)
        if (at < known->n && known->id[at] == i)
            at++;
        else
            id[n++] = i;
    return n;
}

/* Says on standard error if the weights were trained on the graph, or perhaps were. */
static void say_seen(const mo_graph *graph, const char *file) {
    mo_weights *weights = mo_weights_read(graph->ctx, file);
    mo_seen seen = mo_weights_seen(weights, graph);
    if (weights && seen == MO_SEEN)
        fprintf(stderr, "the weights %s were trained on this graph\n", file);
    else if (weights && seen == MO_SEEN_UNKNOWN)
        fprintf(stderr, "whether the weights %s were trained on this graph is unknown\n", file);
    mo_weights_release(weights);
}

/* The arrays of --expert, each called as its file; owned. */
static mo_expert *read_experts(mo_context *ctx, const predict_options *o) {
    mo_expert *experts = needed(calloc((size_t)o->experts.count + 1, sizeof *experts));
    for (int i = 0; i < o->experts.count; i++) {
        const char *path = o->experts.items[i], *slash = strrchr(path, '/');
        experts[i] = (mo_expert){slash ? slash + 1 : path, mo_array_read(ctx, path)};
    }
    return experts;
}

/* Returns whether everything was written. */
static bool predict(mo_context *ctx, predict_options *o, mo_graph *graph, const mo_labels *known) {
    bool set = graph->graphs > 1;
    int64_t examples = mo_graph_examples(graph);
    mo_task task = o->task < 0 ? set ? MO_TASK_GC : MO_TASK_NC : (mo_task)o->task;
    o->few_shot.labels = known->n;
    phase_begin(o->quiet, "mochi predict: features of %.80s", graph->name);
    mo_expert *experts = read_experts(ctx, o);
    o->few_shot.experts = experts;
    o->few_shot.n_experts = o->experts.count;
    mo_few_shot *f = mo_few_shot_open(graph, task, &o->few_shot);
    for (int i = 0; i < o->experts.count; i++)
        mo_tensor_release(experts[i].rows);
    free(experts);
    int64_t *id = needed(malloc((size_t)examples * sizeof *id + 1)), n = list_unknown(known, examples, id);
    double *probability = needed(malloc((size_t)(n * known->classes) * sizeof *probability + 1));
    phase_begin(o->quiet, "mochi predict: labels of %" PRId64 " %ss", n, set ? "graph" : "node");
    mo_few_shot_fit(f, known->id, known->label, known->n);
    double *plane = o->pca ? needed(malloc((size_t)examples * 2 * sizeof *plane + 1)) : NULL;
    bool fine = mo_ok(ctx) && mo_few_shot_probabilities(f, id, n, probability) == MO_OK;
    fine = fine && (!plane || mo_few_shot_plane(f, plane) == MO_OK);
    predictions p = {.graph = graph,
        .n = n,
        .classes = known->classes,
        .id = id,
        .probability = probability,
        .name = known->name,
        .what = set ? "graph" : "node",
        .all = o->probabilities,
        .least = o->least,
        .known = known,
        .truth = find_truth(graph, known),
        .plane = plane};
    mo_few_shot_cover cover = {0};
    fine = fine && (o->quiet || mo_few_shot_cover_of(f, id, n, &cover) == MO_OK);
    phase_end();
    if (fine && !o->quiet)
        print_summary(known, f, &cover, &p);
    fine = fine && (!o->save || save_readout(o->save, graph, &o->few_shot, known));
    fine = fine && write_predictions(ctx, &p, o->out);
    mo_few_shot_release(f);
    free(plane);
    free(probability);
    free(id);
    return fine;
}

int predict_command(int argc, char **argv) {
    static const struct argp argp = {
        .options = options, .parser = take_option, .doc = description, .help_filter = name_heads};
    predict_options o = {.task = -1, .few_shot.transductive = MO_TRANSDUCTIVE_AUTO};
    o.given = (given_options){.table = options, .command = argv[0]};
    parse_options(&argp, argc, argv, &o);
    o.device.threads = o.threads;
    o.few_shot.cache = o.cache ? o.cache : getenv("MOCHI_CACHE");
    o.few_shot.notice = o.quiet ? NULL : print_event;
    mo_context *ctx = open_context_on(o.device);
    if (!ctx)
        return EXIT_FAILED;
    mo_labels known = {0};
    phase_begin(o.quiet, "mochi predict: reading %.80s", o.data);
    mo_graph *graph = mo_graph_open(ctx, o.data);
    bool links = o.pairs;
    const link_request asked = {o.pairs, o.labels, o.readout, o.save, o.out};
    bool written = graph && (links          ? predict_links(graph, &o.few_shot, &asked)
                                : o.readout ? load_readout(o.readout, graph, &o.few_shot, &known)
                                            : read_known(graph, o.labels, o.known, &known));
    written = written && (links || predict(ctx, &o, graph, &known));
    phase_end();
    if (written && links && !o.quiet)
        print_left_out(graph); /* of nodes the summary says it */
    if (written && !o.quiet)
        say_seen(graph, o.few_shot.weights ? o.few_shot.weights : "best");
    int code = !mo_ok(ctx) ? report_failure(ctx) : written ? EXIT_FINE : EXIT_FAILED;
    mo_labels_release(&known);
    mo_graph_release(graph);
    mo_context_release(ctx);
    return code;
}
