/* tools/predict/suggest.c - `mochi suggest`: which nodes of a graph, or graphs of a set, to label next. */
#include "tools/given.h"
#include "tools/memory.h"
#include "tools/predict/predict.h"
#include "tools/progress.h"
#include "tools/table_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { KEY_WEIGHTS = 0x100, KEY_DATA, KEY_LABELS, KEY_KNOWN, KEY_N, KEY_OUT, KEY_THREADS };

typedef struct suggest_options {
    const char *data, *labels, *known, *out, *cache;
    int64_t n;
    mo_few_shot_options few_shot;
    mo_context_options device;
    given_options given;
} suggest_options;

static const struct argp_option options[] = {
    {"data", KEY_DATA, "NAME", 0, "a graph, or a set of graphs: a name of `mochi data list`, or a path", 0},
    {"n", KEY_N, "N", 0, "how many examples to name, the most useful first (default 20)", 0},
    {"labels", KEY_LABELS, "FILE", 0,
        "what is labelled already, as `mochi predict` reads it: the lists of earlier rounds, with commas between", 0},
    {"known", KEY_KNOWN, "MASK.npy", 0, "in place of --labels: the data's own labels, where the mask is not 0", 0},
    {"out", KEY_OUT, "FILE", 0,
        "a table for `mochi predict --labels` with its classes left to fill in: .csv or .tsv (default: CSV on standard "
        "output)",
        0},
    {"weights", KEY_WEIGHTS, "FILE", 0, "weights.safetensors of a run (default best: those that come with mochi)", 0},
    KEEPING_OPTIONS,
    {"threads", KEY_THREADS, "N", 0, "CPU threads; the list does not depend on it (default: all processors)", 0},
    DEVICE_OPTIONS,
    {0},
};

static const char description[] =
    "Names the nodes of a graph, or the graphs of a set, that are worth labelling next: those that together tell a "
    "ridge "
    "readout the most about all others. The classes play no part; without any label the list covers the data.\v"
    "Examples:\n"
    "  mochi suggest --data cora --n 28 --out first.csv\n"
    "  mochi suggest --data cora --labels first.csv --n 7 --out next.csv\n"
    "  mochi predict --data cora --labels first.csv,next.csv";

static error_t take_suggest_option(int key, char *text, struct argp_state *state) {
    suggest_options *o = state->input;
    note_given(&o->given, key);
    if (take_device(&o->device, key, text, state) || take_keeping(&o->few_shot.memory, &o->cache, key, text, state))
        return 0;
    if (key == KEY_DATA)
        o->data = text;
    else if (key == KEY_N)
        o->n = parse_integer(state, "--n", text, 1, INT32_MAX);
    else if (key == KEY_LABELS)
        o->labels = text;
    else if (key == KEY_KNOWN)
        o->known = text;
    else if (key == KEY_OUT)
        o->out = take_output(state, "--out", text, ".csv or .tsv");
    else if (key == KEY_WEIGHTS)
        o->few_shot.weights = text;
    else if (key == KEY_THREADS)
        o->device.threads = (int)parse_integer(state, "--threads", text, 1, 1024);
    else if (key == ARGP_KEY_ARG)
        refuse_command_line(state, EXIT_USAGE, "'%s': expected options only", text);
    else if (key == ARGP_KEY_END && !o->data)
        refuse_command_line(state, EXIT_USAGE, "--data NAME is missing");
    else if (key == ARGP_KEY_END && o->labels && o->known)
        refuse_command_line(state, EXIT_USAGE, "expected --labels FILE or --known MASK.npy, found both");
    else if (key == ARGP_KEY_END)
        refuse_math_on_cpu(&o->given, &o->device);
    else
        return key < KEY_WEIGHTS || key > KEY_THREADS ? ARGP_ERR_UNKNOWN : 0;
    return 0;
}

static bool write_suggestions(const mo_graph *graph, const char *path, const int64_t *id, int64_t n) {
    table_file t;
    open_table(&t, path);
    fprintf(t.out, "%s%clabel\n", graph->graphs > 1 ? "graph" : "node", t.comma);
    for (int64_t i = 0; i < n; i++) {
        put_example(&t, graph, id[i]);
        fprintf(t.out, "%c\n", t.comma);
    }
    return close_table(graph->ctx, &t);
}

/* Returns whether the list was written. */
static bool suggest(const suggest_options *o, mo_graph *graph, const mo_labels *known) {
    int64_t *id = needed(calloc((size_t)o->n, sizeof *id));
    phase_begin(false, "mochi suggest: features of %.80s", graph->name);
    mo_few_shot *f = mo_few_shot_open(graph, graph->graphs > 1 ? MO_TASK_GC : MO_TASK_NC, &o->few_shot);
    phase_begin(false, "mochi suggest: choosing %" PRId64, o->n);
    bool fine = mo_few_shot_suggest(f, known->id, known->n, o->n, id) == MO_OK;
    phase_end();
    fine = fine && write_suggestions(graph, o->out, id, o->n);
    mo_few_shot_release(f);
    free(id);
    return fine;
}

int suggest_command(int argc, char **argv) {
    static const struct argp argp = {.options = options, .parser = take_suggest_option, .doc = description};
    suggest_options o = {.n = 20};
    o.given = (given_options){.table = options, .command = argv[0]};
    parse_options(&argp, argc, argv, &o);
    o.few_shot.cache = o.cache ? o.cache : getenv("MOCHI_CACHE");
    o.few_shot.notice = print_event;
    mo_context *ctx = open_context_on(o.device);
    if (!ctx)
        return EXIT_FAILED;
    mo_labels known = {0};
    phase_begin(false, "mochi suggest: reading %.80s", o.data);
    mo_graph *graph = mo_graph_open(ctx, o.data);
    print_left_out(graph);
    if (graph && (o.labels || o.known))
        read_known(graph, o.labels, o.known, &known);
    bool written = mo_ok(ctx) && suggest(&o, graph, &known);
    int code = !mo_ok(ctx) ? report_failure(ctx) : written ? EXIT_FINE : EXIT_FAILED;
    mo_labels_release(&known);
    mo_graph_release(graph);
    mo_context_release(ctx);
    return code;
}
