/* tools/predict/suggest.c - `mochi suggest`: suggests which nodes of a graph, or graphs of a set, to label next. */
#include "tools/cli/memory.h"
#include "tools/cli/options.h"
#include "tools/cli/progress.h"
#include "tools/cli/table_file.h"
#include "tools/predict/predict.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct suggest_options {
    const char *data, *labels, *targets, *out, *cache;
    int64_t n;
    mo_few_shot_options few_shot;
    mo_context_options device;
    bool json, quiet;
    given_options given;
} suggest_options;

#define AT(field) offsetof(suggest_options, field)

static const option table[] = {
    {OPTION_INPUT, "data", "NAME", AT(data), "a graph, or a set of graphs: a name of `mochi data list`, or a path",
        .choices = "@graphs"},
    {OPTION_INT64, "n", "N", AT(n), "how many examples to name, the most useful first (default 20)", 1, INT32_MAX},
    {OPTION_INPUT, "labels", "FILE", AT(labels),
        "the labels known so far, as `mochi predict` reads them: for example the lists of earlier rounds, separated "
        "by commas"},
    {OPTION_INPUT, "targets", "FILE", AT(targets),
        "real targets known so far, as `mochi predict --targets` reads them: the examples are named that most reduce "
        "the "
        "sum of the variances of a ridge's predictions",
        .not_with = "labels", .why = "labels are classes, targets are numbers"},
    {OPTION_OUTPUT, "out", "FILE", AT(out),
        "a table for `mochi predict --labels`, whose classes you fill in: .csv or .tsv (default: CSV on standard "
        "output)",
        .choices = ".csv or .tsv"},
    {OPTION_INPUT, "weights", "FILE", AT(few_shot.weights), "weights.safetensors of a run; " SHIPPED_WEIGHTS,
        .choices = "best|free"},
    ATTRIBUTES_OPTION(suggest_options, few_shot.attributes, "as for the weights"),
    KEEPING_OPTIONS(suggest_options, cache),
    THREADS_OPTION(suggest_options, device.threads),
    DEVICE_OPTIONS(suggest_options, device),
    {OPTION_FLAG, "json", NULL, AT(json), "one JSON object per example on standard output", .not_with = "out",
        .why = "--out writes a table"},
    {OPTION_FLAG, "quiet", NULL, AT(quiet), "no notices on standard error"},
    {OPTION_END},
};

static const char about[] =
    "Names the nodes of a graph, or the graphs of a set, that are worth labelling next: those that together tell a "
    "ridge readout the most about all others. Classes are not used; without any label the list covers the data.\v"
    "Examples:\n"
    "  mochi suggest --data cora --n 28 --out first.csv\n"
    "  mochi suggest --data cora --labels first.csv --n 7 --out next.csv\n"
    "  mochi predict --data cora --labels first.csv,next.csv";

static void check_options(void *options, const struct argp_state *state) {
    const suggest_options *o = options;
    if (!o->data)
        refuse_command_line(state, EXIT_USAGE, "--data NAME is missing");
    refuse_math_on_cpu(&o->given, &o->device);
}

const command_line suggest_line = {.table = table, .about = about, .end = check_options};

static bool print_suggestions(const mo_graph *graph, const int64_t *id, int64_t n) {
    bool written = true;
    for (int64_t i = 0; i < n && written; i++)
        written = print_json(json_pack("{s:s, s:I, s:o}", "kind", "suggest", "rank", (json_int_t)i + 1,
            graph->graphs > 1 ? "graph" : "node", json_example(graph, id[i])));
    return written;
}

static bool write_suggestions(
    const mo_graph *graph, const char *path, const char *column, const int64_t *id, int64_t n) {
    table_file t;
    open_table(&t, path, false);
    begin_table(&t, (const char *[]){graph->graphs > 1 ? "graph" : "node", column}, 2);
    for (int64_t i = 0; i < n; i++) {
        put_example(&t, graph, id[i]);
        put_text(&t, NULL);
        end_row(&t);
    }
    return close_table(graph->ctx, &t);
}

/* Makes the list and writes it. Returns whether it was written. */
static bool suggest(const suggest_options *o, mo_graph *graph, const mo_labels *known) {
    int64_t *id = needed(calloc((size_t)o->n, sizeof *id));
    phase_begin(o->quiet, "mochi suggest: features of %.80s", graph->name);
    mo_few_shot *f = mo_few_shot_open(graph, graph->graphs > 1 ? MO_TASK_GC : MO_TASK_NC, &o->few_shot);
    phase_begin(o->quiet, "mochi suggest: choosing %" PRId64, o->n);
    bool fine = mo_few_shot_suggest(f, known->id, known->n, o->n, id) == MO_OK;
    phase_end();
    fine = fine && (o->json ? print_suggestions(graph, id, o->n)
                            : write_suggestions(graph, o->out, o->targets ? "target" : "label", id, o->n));
    mo_few_shot_release(f);
    free(id);
    return fine;
}

int suggest_command(int argc, char **argv) {
    suggest_options o = {.n = 20};
    read_command_line(&suggest_line, argc, argv, &o, &o.given);
    o.few_shot.cache = o.cache ? o.cache : getenv("MOCHI_CACHE");
    o.few_shot.notice = o.quiet ? NULL : print_event;
    mo_context *ctx = open_context_on(o.device);
    if (!ctx)
        return EXIT_FAILED;
    mo_labels known = {0};
    phase_begin(o.quiet, "mochi suggest: reading %.80s", o.data);
    mo_graph *graph = mo_graph_open(ctx, o.data);
    if (!o.quiet)
        print_left_out(graph);
    if (graph && o.labels)
        read_known(graph, o.labels, &known);
    mo_targets y = {0};
    if (graph && o.targets && mo_targets_read(graph, o.targets, &y))
        known = (mo_labels){.n = y.n, .id = y.id};
    bool written = mo_ok(ctx) && suggest(&o, graph, &known);
    if (o.targets)
        known = (mo_labels){0};
    mo_targets_release(&y);
    int code = !mo_ok(ctx) ? report_failure(ctx) : written ? EXIT_FINE : EXIT_FAILED;
    mo_labels_release(&known);
    mo_graph_release(graph);
    mo_context_release(ctx);
    return code;
}
