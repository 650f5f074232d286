/* tools/predict/predict.c - `mochi predict`: predicts the labels of a graph's nodes, or of the graphs of a set, from a
 * few known ones. */
#include "tools/predict/predict.h"
#include "tools/cli/memory.h"
#include "tools/cli/options.h"
#include "tools/cli/progress.h"
#include "train/graphs/label_column.h"
#include "train/graphs/row_names.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct predict_options {
    const char *data, *labels, *targets, *pairs, *out, *save, *readout, *cache, *explain;
    double coverage, interval;
    int transform;
    int task;     /* -1: node or graph classification, by the data */
    int64_t best; /* partners of each node to list; 0: none */
    int64_t demo; /* labels of each class to take from the data; 0: none */
    double least;
    mo_few_shot_options few_shot;
    names experts;
    mo_context_options device;
    bool probabilities, json, quiet;
    given_options given;
} predict_options;

/* With more classes than this, and fewer labels of a class on average, the labels are taken for ids: memory and time
 * grow with the classes, and such predictions say nothing. */
enum { MOST_RARE_CLASSES = 256, LEAST_MEAN = 3 };

#define AT(field) offsetof(predict_options, field)
#define ITS_OWN .not_with = "readout", .why = "a saved readout has its own"

static const option table[] = {
    {OPTION_INPUT, "data", "NAME", AT(data), "a graph, or a set of graphs: a name of `mochi data list`, or a path",
        .choices = "@graphs"},
    {OPTION_CHOICE, "task", "TASK", AT(task),
        "nc (nodes), gc (graphs) or lp (links); default: nodes of a single graph, graphs of a set",
        .choices = "nc|lp|gc"},
    {OPTION_INPUT, "labels", "FILE", AT(labels),
        "the known labels: CSV or TSV with lines NODE,CLASS, with or without a header (NODE: the name in the data, "
        "or the number from 0; CLASS: any text, empty if unknown), from a file, a pipe or - for standard input, or "
        "several files, separated by commas; or FILE.npy, for each example a whole number, negative if unknown, or a "
        "text, empty if unknown, with the examples in FILE.names.txt, one per line, if the data has names; for links, "
        "CSV or TSV with columns from, to, linked (yes, no) and, optionally, fit "
        "(how many times the fit counts the link; default 1); default: the data's own labels, where others are "
        "unknown"},
    {OPTION_INPUT, "targets", "FILE", AT(targets),
        "real numbers in place of classes: CSV or TSV with lines NODE,TARGET (empty: unknown), or a column with a "
        "target "
        "for each node; predicts the others, with an interval for each; default, in data without labels: targets.csv "
        "of "
        "the folder, or the graph attributes of a TU set",
        .not_with = "labels", .why = "labels are classes, targets are numbers"},
    {OPTION_CHOICE, "transform", "MODE", AT(transform),
        "fit the targets as they are (none), or their logarithms (log), for prices and other targets of widely "
        "different "
        "sizes; auto (default): the one whose left-out targets have clearly the larger density",
        .choices = "auto|none|log"},
    {OPTION_REAL, "interval", "P", AT(interval),
        "targets: the columns low and high hold a target with probability P (default: 0.9)", 0.01, 0.999},
    {OPTION_INT64, "demo-labels", "N", AT(demo),
        "instead of --labels, to try the command: the data's own labels of the first N nodes, or graphs of a set, of "
        "each class",
        1, INT32_MAX, .not_with = "labels", .why = "those are the labels, and none are taken from the data"},
    {OPTION_INPUT, "pairs", "FILE", AT(pairs),
        "with --task lp: the pairs of nodes to score, CSV or TSV; the readout is fitted to --labels, or to links of "
        "the graph itself"},
    {OPTION_INT64, "best", "N", AT(best),
        "with --task lp: the N best partners of each node that it is not linked to, with their probabilities, among "
        "nodes two and three steps away and those that are most alike",
        1, INT32_MAX, .not_with = "pairs", .why = "those are the pairs"},
    {OPTION_OUTPUT, "out", "FILE", AT(out),
        "file for the predictions of all other examples, in the form of its suffix: .csv, .tsv, .jsonl (label, "
        "probability, margin to the second class) or .npy (numbers of classes; the examples' names go to "
        "FILE.names.txt); default: CSV on standard output",
        .choices = PREDICTIONS},
    {OPTION_OUTPUT, "save", "FILE", AT(save),
        "save the fit: the state of the readout, its labels, its graph and the digests of weights and data "
        "(safetensors)",
        .choices = ".safetensors", .not_with = "readout", .why = "it is saved already"},
    {OPTION_INPUT, "readout", "FILE", AT(readout),
        "instead of --labels: a fit that --save wrote, for the same weights; gives the same predictions for its data, "
        "byte by byte, and predicts other data of the same columns without a new fit"},
    {OPTION_FLAG, "probabilities", NULL, AT(probabilities), "also the probability of every class"},
    {OPTION_REAL, "min-confidence", "P", AT(least),
        "examples whose probability is below P get no label; probabilities are rough below 4 labels of a class", 0, 1},
    {OPTION_REAL, "sets", "P", AT(coverage),
        "also a set of classes for each example, which has the right one with probability P: the classes whose "
        "probability is not below what it is, at P, for labels left out in turn (column set, a|b; JSON: a list)",
        0.01, 0.999},
    {OPTION_TEXT, "explain", "NODE", AT(explain),
        "instead of predictions: why this node, or graph of a set, is predicted as it is: what each label adds to the "
        "logits, and by which kernel",
        .not_with = "out", .why = "the reasons are printed in place of predictions"},
    {OPTION_INPUT, "weights", "FILE", AT(few_shot.weights), "weights.safetensors of a run; " SHIPPED_WEIGHTS,
        .choices = "best|free"},
    {OPTION_HEAD, "head", "NAME|FILE.so", AT(few_shot.head),
        "readout: " HEADS
        ", or FILE.so (default: that of the weights); with --readout, FILE.so of a readout of your own"},
    {OPTION_POSITIVE, "lambda", "L", AT(few_shot.lambda),
        "penalty of a --head that has one (default: that of the weights)", ITS_OWN},
    {OPTION_CHOICE, "transductive", "MODE", AT(few_shot.transductive),
        "refit the readout on its own predictions for all examples, with equally many assumed per class: no; yes; "
        "auto (default): unless labels left out in turn are then predicted worse, and for 100,000 examples or fewer; "
        "never, for a set of graphs: a prediction reads only that graph and the labelled ones",
        .choices = "no|yes|auto|never"},
    {OPTION_INPUTS, "expert", "ROWS.npy,..", AT(experts),
        "your own feature rows of the nodes, which are compared in addition to those of the weights; the nodes are in "
        "ROWS.names.txt, one per line, if the data has names"},
    ATTRIBUTES_OPTION(predict_options, few_shot.attributes, "as for the weights"),
    KEEPING_OPTIONS(predict_options, cache),
    THREADS_OPTION(predict_options, device.threads),
    DEVICE_OPTIONS(predict_options, device),
    JSON_OPTION(predict_options, json,
        "the summary as one JSON object on standard output and, without --out, one per prediction; nothing else"),
    {OPTION_FLAG, "quiet", NULL, AT(quiet), "no summary on standard error"},
    {OPTION_END},
};

static const char about[] =
    "Predicts the labels of a graph's nodes, or of the graphs of a set, from a few known ones. Prints on standard "
    "error how accurate the predictions should be, found by leaving known labels out in turn. With --task lp, scores "
    "pairs of nodes without a link.\vExamples:\n"
    "  mochi predict --data cora --demo-labels 4 --out predictions.csv\n"
    "  mochi predict --data cora --labels seeds.csv --out predictions.csv\n"
    "  mochi predict --data kitchen --labels mine.csv --explain paella\n"
    "  mochi predict --data houses/ --targets prices.csv --out prices_of_all.csv\n"
    "  mochi predict --data cora --task lp --best 10 --out partners.csv\n"
    "  mochi predict --data cora --task lp --pairs pairs.csv --out links.csv\n"
    "  mochi predict --data mutag --labels y.npy --head logistic --probabilities";

/* Checks that the required options are given and fit together. */
static void check_options(void *options, const struct argp_state *state) {
    const predict_options *o = options;
    bool links = o->pairs || o->best, npy = o->out && mo_path_ends_with(o->out, ".npy");
    if (!o->data)
        refuse_command_line(state, EXIT_USAGE, "--data NAME is missing");
    else if (o->task == MO_TASK_LP && !links)
        refuse_command_line(state, EXIT_USAGE, "--task lp needs --pairs FILE or --best N");
    else if (links && o->task != MO_TASK_LP)
        refuse_command_line(state, EXIT_USAGE, "--%s needs --task lp", o->pairs ? "pairs" : "best");
    else if (!links && o->labels && o->readout)
        refuse_command_line(state, EXIT_USAGE, "expected one of --labels FILE and --readout FILE");
    else if (links && npy)
        refuse_command_line(
            state, EXIT_USAGE, "--out: expected a file .csv, .tsv or .jsonl of links, found '%s'", o->out);
    refuse_given(&o->given,
        "demo-labels pairs best probabilities min-confidence sets explain transductive head lambda expert readout",
        o->targets, "it is of classes, and --targets gives real numbers");
    refuse_given(&o->given, "transform interval", o->labels || o->demo || links, "it is of --targets");
    refuse_given(&o->given, "probabilities min-confidence sets transductive expert explain", links,
        "links, of --pairs and --best, have no such thing");
    refuse_given(&o->given, "demo-labels", links, "links are fitted to those of the graph itself");
    refuse_given(
        &o->given, "labels demo-labels transductive expert attributes", o->readout, "a saved readout has its own");
    bool library = o->few_shot.head && !mo_head_is_own(o->few_shot.head);
    refuse_given(&o->given, "head", o->readout && library, "a saved readout has its own");
    refuse_given(&o->given, "save", o->experts.count > 0, "a readout is saved without rows of --expert");
    refuse_given(&o->given, "pairs best probabilities min-confidence sets", o->explain,
        "--explain prints reasons in place of predictions");
    refuse_given(&o->given, "sets", npy, "an array of classes has no sets");
    refuse_math_on_cpu(&o->given, &o->device);
}

const command_line predict_line = {.table = table, .about = about, .end = check_options};

int64_t list_unknown(const int64_t *known, int64_t n_known, int64_t examples, int64_t *id) {
    bool *is_known = needed(calloc((size_t)examples + 1, sizeof *is_known));
    int64_t n = 0;
    for (int64_t i = 0; i < n_known; i++)
        if (known[i] < examples)
            is_known[known[i]] = true;
    for (int64_t i = 0; i < examples; i++)
        if (!is_known[i])
            id[n++] = i;
    free(is_known);
    return n;
}

void say_elsewhere(const mo_saved_readout *saved, const mo_graph *graph) {
    if (saved && saved->old)
        fprintf(stderr, "the readout is of other data: nothing is fitted again%s\n",
            saved->known.id[0] < mo_graph_examples(graph) ? "; its labelled nodes are found in these by name" : "");
}

/* Prints on standard error if the weights of that name were trained on the graph, or may have been. */
static void say_seen(const mo_graph *graph, const mo_weights *weights, const char *file) {
    mo_seen seen = mo_weights_seen(weights, graph);
    if (seen == MO_SEEN)
        fprintf(stderr, "the weights %s were trained on this graph\n", file);
    else if (seen == MO_SEEN_UNKNOWN)
        fprintf(stderr, "whether the weights %s were trained on this graph is unknown\n", file);
}

/* Reads the arrays of --expert; each expert has the name of its file. Owned. */
static mo_expert *read_experts(const mo_graph *graph, const predict_options *o) {
    mo_expert *experts = needed(calloc((size_t)o->experts.count + 1, sizeof *experts));
    for (int i = 0; i < o->experts.count; i++) {
        const char *path = o->experts.items[i], *slash = strrchr(path, '/');
        experts[i] = (mo_expert){slash ? slash + 1 : path, mo_node_rows_read(graph, path)};
    }
    return experts;
}

/* Whether real targets are asked for: by a file, or by those beside data without labels, whose path is written to
 * `own`. Raises if the data have both and none is named. */
static bool asks_targets(const predict_options *o, const mo_graph *graph, char *own, size_t bytes) {
    if (o->task == MO_TASK_LP || o->labels || o->demo)
        return false;
    bool found = !o->targets && mo_targets_find(graph, own, bytes);
    if (found && graph->n_labels > 0)
        mo_fail(graph->ctx, MO_INVALID, "%s: has labels, and targets in %s: expected one of --labels and --targets",
            o->data, own);
    return o->targets || found;
}

/* Fits the readout, unless it is fitted, and writes the predictions. Returns whether everything was written. */
static bool predict(mo_context *ctx, predict_options *o, mo_graph *graph, const mo_weights *weights,
    const mo_labels *known, const mo_saved_readout *saved) {
    bool set = graph->graphs > 1;
    int64_t examples = mo_graph_examples(graph);
    mo_task task = o->task < 0 ? set ? MO_TASK_GC : MO_TASK_NC : (mo_task)o->task;
    if (saved && saved->graph != graph && o->explain)
        return mo_fail(ctx, MO_UNSUPPORTED,
            "--explain: %s is not the data of the fit, whose labelled examples it would show", o->data);
    if (o->out && mo_path_ends_with(o->out, ".npy"))
        mo_row_names_fit(graph, o->out);
    phase_begin(o->quiet, "mochi predict: features of %.80s", graph->name);
    mo_expert *experts = read_experts(graph, o);
    o->few_shot.experts = experts;
    o->few_shot.n_experts = o->experts.count;
    mo_few_shot *f = mo_few_shot_open_as(saved ? saved->graph : graph, task, &o->few_shot, weights);
    for (int i = 0; i < o->experts.count; i++)
        mo_tensor_release(experts[i].rows);
    free(experts);
    int64_t *id = needed(malloc((size_t)examples * sizeof *id + 1)),
            n = list_unknown(known->id, known->n, examples, id);
    double *probability = needed(malloc((size_t)(n * known->classes) * sizeof *probability + 1));
    phase_begin(o->quiet, "mochi predict: labels of %" PRId64 " %ss", n, set ? "graph" : "node");
    if (saved)
        mo_few_shot_take(f, saved);
    else
        mo_few_shot_fit(f, known->id, known->label, known->n);
    bool fine = mo_ok(ctx) && mo_few_shot_probabilities(f, id, n, probability) == MO_OK;
    predictions p = {.graph = graph,
        .n = n,
        .classes = known->classes,
        .id = id,
        .probability = probability,
        .name = known->name,
        .what = set ? "graph" : "node",
        .json = o->json,
        .coverage = o->coverage,
        .bound = mo_few_shot_set_bound(f, o->coverage),
        .all = o->probabilities,
        .least = o->least,
        .fit = f,
        .known = known,
        .truth = find_truth(graph, known)};
    for (int64_t i = 0; fine && i < n; i++)
        p.unreached += !mo_few_shot_reaches(f, id[i]);
    mo_few_shot_cover cover = {0};
    fine = fine && ((o->quiet && !o->json) || mo_few_shot_cover_of(f, id, n, &cover) == MO_OK);
    phase_end();
    if (fine && !o->quiet && !o->json && !o->labels && !o->readout)
        fprintf(stderr, "labels of %" PRId64 " %ss taken from the data%s\n", known->n, p.what,
            o->demo ? ", as a demonstration" : "");
    if (fine && !o->quiet && !o->json)
        say_elsewhere(saved, graph);
    if (fine && !o->quiet && !o->json)
        print_summary(known, f, &cover, &p);
    fine = fine && (!o->json || o->explain || print_summary_object(known, f, &cover, &p));
    fine = fine && (!o->save || mo_few_shot_write(f, graph, &o->few_shot, weights, known, NULL, o->save) == MO_OK);
    fine = fine &&
           (o->explain ? explain_prediction(f, graph, known, o->explain, o->json) : write_predictions(ctx, &p, o->out));
    mo_few_shot_release(f);
    free(probability);
    free(id);
    return fine;
}

int predict_command(int argc, char **argv) {
    predict_options o = {.task = -1, .interval = 0.9, .few_shot.transductive = MO_TRANSDUCTIVE_AUTO};
    read_command_line(&predict_line, argc, argv, &o, &o.given);
    o.few_shot.cache = o.cache ? o.cache : getenv("MOCHI_CACHE");
    o.few_shot.notice = o.quiet ? NULL : print_event;
    mo_context *ctx = open_context_on(o.device);
    if (!ctx)
        return EXIT_FAILED;
    mo_labels known = {0};
    mo_saved_readout saved = {0};
    phase_begin(o.quiet, "mochi predict: reading %.80s", o.data);
    mo_graph *graph = mo_graph_open(ctx, o.data);
    const char *file = o.few_shot.weights ? o.few_shot.weights : "best";
    mo_weights *weights =
        graph ? mo_weights_read(ctx, file) : NULL; /* once: what is saved and printed is what is used */
    char own[4096];
    bool links = o.task == MO_TASK_LP, keeps = weights && o.readout && !links;
    if (keeps)
        mo_saved_readout_read(o.readout, graph, &o.few_shot, weights, &saved);
    bool real = keeps ? saved.known.id && !saved.known.label : weights && asks_targets(&o, graph, own, sizeof own);
    const target_request numbers = {.path = o.targets ? o.targets : own,
        .saved = keeps ? &saved : NULL,
        .save = o.save,
        .out = o.out,
        .transform = (mo_target_transform)o.transform,
        .coverage = o.interval,
        .json = o.json,
        .quiet = o.quiet};
    const link_request asked = {o.pairs, o.labels, o.readout, o.save, o.out, o.best, o.json};
    bool written = weights && mo_ok(ctx) &&
                   (real          ? predict_targets(graph, &o.few_shot, weights, &numbers)
                       : links    ? predict_links(graph, &o.few_shot, weights, &asked)
                       : keeps    ? true
                       : o.labels ? read_known(graph, o.labels, &known)
                                  : take_own_labels(graph, o.demo, &known));
    if (written && known.classes == 1)
        written = mo_fail(ctx, MO_INVALID,
            "%s: expected labels of two classes or more, found one, '%.40s' (%" PRId64 " label%s%s%s)",
            o.labels ? o.labels : o.data, known.name[0], known.n, known.n == 1 ? "" : "s", known.left_out ? "; " : "",
            known.left_out ? known.left_out : "");
    if (written && known.classes > MOST_RARE_CLASSES && known.n < LEAST_MEAN * known.classes)
        written = mo_fail(ctx, MO_INVALID,
            "%s: expected classes, found %" PRId64 " of them in %" PRId64
            " labels, as a column of ids or names has: more than %d classes need %d labels each on average",
            o.labels ? o.labels : o.data, known.classes, known.n, MOST_RARE_CLASSES, LEAST_MEAN);
    written = written &&
              (real || links || predict(ctx, &o, graph, weights, keeps ? &saved.known : &known, keeps ? &saved : NULL));
    phase_end();
    if (written && links && !o.quiet)
        print_left_out(graph); /* for nodes the summary prints it */
    if (written && !o.quiet)
        say_seen(graph, weights, file);
    int code = !mo_ok(ctx) ? report_failure(ctx) : written ? EXIT_FINE : EXIT_FAILED;
    mo_labels_release(&known);
    mo_saved_readout_release(&saved);
    mo_weights_release(weights);
    mo_graph_release(graph);
    mo_context_release(ctx);
    free_names(&o.experts);
    return code;
}
