/* tools/embed.c - `mochi embed`: writes the embeddings of a graph's nodes, or of the graphs of a set, to an .npy file,
 * and optionally their labels. */
#include "tools/cli/options.h"
#include "tools/cli/progress.h"
#include "tools/train/run_json.h"
#include "train/graphs/row_names.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct embed_options {
    const char *weights, *recipe, *data, *out, *labels, *cache;
    const mo_encoder *encoder; /* the user's encoder, for weights trained with it; or NULL */
    int64_t max_rows;
    mo_context_options device; /* device, math mode and threads */
    int hop;
    mo_attributes attributes;
    bool quiet;
    given_options given;
} embed_options;

#define AT(field) offsetof(embed_options, field)

static const option table[] = {
    {OPTION_INPUT, "weights", "FILE", AT(weights),
        "a run's weights.safetensors; " SHIPPED_WEIGHTS "; none: no encoder, the features of one hop",
        .choices = "best|free|none"},
    {OPTION_ENCODER, "encoder", "FILE.so", AT(encoder), "your own encoder, with which the weights were trained"},
    {OPTION_WORD, "recipe", "NAME", AT(recipe),
        "refuse weights of another recipe: best, paper, paper++ or released; a file without mochi's metadata, as the "
        "released program writes it, counts as released",
        .choices = MO_RECIPE_CHOICES},
    {OPTION_INPUT, "data", "NAME", AT(data), "a graph: a name of `mochi data list`, or a path", .choices = "@graphs"},
    {OPTION_OUTPUT, "out", "Z.npy", AT(out),
        "the file to write: float32 [nodes, d], or [graphs, d] for a set of graphs; if the rows have names, they are "
        "written beside it, to Z.names.txt",
        .choices = ".npy"},
    {OPTION_OUTPUT, "labels", "y.npy", AT(labels), "also write the labels: int64, -1 for an unlabelled example",
        .choices = ".npy"},
    {OPTION_INT, "hop", "K", AT(hop), "the hop of --weights none, 0 to 3 (default 2)", 0, 3},
    MAX_ROWS_OPTION(embed_options, max_rows,
        "rows encoded at once; 0: all (default 2048 with rows of examples, as `best`; else 32768)"),
    ATTRIBUTES_OPTION(embed_options, attributes, "as for the weights"),
    KEEPING_OPTIONS(embed_options, cache),
    THREADS_OPTION(embed_options, device.threads),
    DEVICE_OPTIONS(embed_options, device),
    {OPTION_FLAG, "quiet", NULL, AT(quiet), "no notices on standard error, and no list of the files written"},
    {OPTION_END},
};

static const char about[] = "Encodes a graph with trained weights and writes the embeddings of its nodes; for a "
                            "set of graphs, the mean over each graph's nodes.\v"
                            "Examples:\n"
                            "  mochi embed --weights runs/a/weights.safetensors --data cora --out Z.npy\n"
                            "  mochi embed --weights none --hop 2 --data cora --out Z.npy --labels y.npy";

static void check_options(void *options, const struct argp_state *state) {
    const embed_options *o = options;
    const given_options *g = &o->given;
    bool none = !strcmp(o->weights, "none");
    if (!o->data || !o->out)
        refuse_command_line(state, EXIT_USAGE, "%s is missing", o->data ? "--out Z.npy" : "--data NAME");
    refuse_given(g, "hop", !none, "expected --weights none, which writes the rows of one hop");
    refuse_given(g, "recipe", none, "expected a weights file: the option checks its recipe");
    refuse_given(g, "encoder", none, "expected --weights of that encoder beside it, found none");
    refuse_given(g, "max-rows", none, "without weights nothing is encoded; expected --weights");
    refuse_math_on_cpu(g, &o->device);
}

const command_line embed_line = {.table = table, .about = about, .end = check_options};

/* The file of embeddings; write_block opens it with the first block. */
typedef struct embed_file {
    mo_npy_writer *npy;
    const char *path;
    mo_dtype dtype;
    int64_t shape[2];
} embed_file;

static bool write_block(mo_tape *t, mo_tensor *Z, int64_t first, int64_t examples, void *state) {
    embed_file *f = state;
    if (first == 0) {
        f->dtype = mo_tensor_dtype(Z);
        f->shape[0] = examples;
        f->shape[1] = mo_dim(Z, 1);
        f->npy = mo_npy_start(mo_tape_context(t), f->path, f->dtype, f->shape[0], f->shape[1]);
    }
    return mo_npy_append(f->npy, Z);
}

/* Writes the embeddings of the weights' model, block by block. */
static void embed_by_model(const embed_options *o, const mo_weights *weights, const mo_source *source, embed_file *f) {
    mo_model_choice choice = {
        .encoder = o->encoder, .head = mo_find_head(weights->head) || !weights->head[0] ? NULL : &mo_head_ridge};
    mo_model *model = mo_weights_model_as(weights, &choice); /* embedding uses no head, so ridge can take the place
                                                              * of a user's head, which is not loaded */
    if (mo_ok(source->graph->ctx))
        mo_embed_each(model, source, o->max_rows, write_block, f);
    mo_model_release(model);
}

/* Writes one hop of the features, without an encoder. */
static void embed_by_hop(const embed_options *o, const mo_source *source, embed_file *f) {
    mo_embed_hop_each(source, o->hop < 0 ? 2 : o->hop, o->max_rows, write_block, f);
}

/* Computes the embeddings and writes them. */
static void write_embeddings(
    const embed_options *o, const mo_weights *weights, const mo_source *source, embed_file *f) {
    if (weights)
        embed_by_model(o, weights, source, f);
    else
        embed_by_hop(o, source, f);
    if (f->npy)
        mo_npy_finish(f->npy);
}

/* Writes the names of the rows beside an array, if they have any, and prints the paths of both and what the array
 * holds: `shape` of `ndim` axes. Returns false if it could not print. */
static bool tell_file(const embed_options *o, const mo_graph *graph, const embed_file *f, int ndim) {
    char shape[64], path[PATH_MAX];
    bool names = mo_row_names_write(graph, f->path, NULL, mo_graph_examples(graph)) == MO_OK && graph->names &&
                 mo_row_names_path(f->path, path, sizeof path);
    snprintf(shape, sizeof shape, ndim == 2 ? "[%" PRId64 ", %" PRId64 "]" : "[%" PRId64 "]", f->shape[0], f->shape[1]);
    return o->quiet || (printf("%s: %s %s of %s\n", f->path, mo_dtype_name(f->dtype), shape, graph->name) > 0 &&
                           (!names || printf("%s: the names of its rows\n", path) > 0));
}

/* Writes the embeddings and, if asked, the labels; if these cannot be written, a new file of embeddings is removed.
 * Returns false if standard output was lost. */
static bool write_arrays(mo_context *ctx, const embed_options *o, const mo_weights *weights, const mo_source *source) {
    const mo_graph *graph = source->graph;
    embed_file rows = {.path = o->out}, labels = {.path = o->labels, .dtype = MO_I64, .shape = {graph->n_labels, 0}};
    bool was_there = access(o->out, F_OK) == 0;
    phase_begin(o->quiet, "mochi embed: embeddings of %.80s", graph->name);
    write_embeddings(o, weights, source, &rows);
    phase_end();
    mo_tensor *y =
        mo_ok(ctx) && o->labels ? mo_tensor_create_from(ctx, MO_I64, 1, &graph->n_labels, graph->label) : NULL;
    if (mo_ok(ctx) && o->labels && mo_npy_write(y, o->labels) != MO_OK && !was_there)
        unlink(o->out);
    mo_tensor_release(y);
    return !mo_ok(ctx) || (tell_file(o, graph, &rows, 2) && (!o->labels || tell_file(o, graph, &labels, 1)));
}

/* Computes the features of a graph, then writes its embeddings. Returns false if standard output was lost. */
static bool embed_graph(mo_context *ctx, const embed_options *o, const mo_weights *weights, mo_graph *graph) {
    mo_feature_options features =
        weights ? weights->features : (mo_feature_options){.dim = 512, .hops = 3, .power_iterations = 2};
    features.attributes = o->attributes ? o->attributes : features.attributes;
    int64_t rows = features.form == MO_ROWS_PER_NODE ? graph->nodes : mo_graph_examples(graph);
    if (weights)
        features.encoded = o->max_rows > 0 && o->max_rows < rows ? o->max_rows : rows;
    else
        features.beside = features.dim;
    features.notice = o->quiet ? NULL : print_notice;
    features.cache = o->cache ? o->cache : getenv("MOCHI_CACHE");
    if (o->labels && !graph->n_labels)
        mo_fail(ctx, MO_INVALID, "--labels: %s has none", graph->name);
    mo_row_names_fit(graph, o->out);
    mo_source source = {.task = graph->graphs > 1 ? MO_TASK_GC : MO_TASK_NC};
    phase_begin(o->quiet, "mochi embed: features of %.80s", graph->name);
    source.graph = mo_ok(ctx) ? mo_graph_scale(graph, &features) : NULL;
    if (source.graph)
        source.features = mo_task_features_open(source.graph, source.task, NULL, &features);
    bool written = !mo_ok(ctx) || write_arrays(ctx, o, weights, &source);
    mo_features_release(source.features);
    mo_graph_release(source.graph);
    return written;
}

int embed_command(int argc, char **argv) {
    embed_options o = {.weights = "best", .max_rows = -1, .hop = -1};
    read_command_line(&embed_line, argc, argv, &o, &o.given);
    mo_context *ctx = open_context_on(o.device);
    if (!ctx)
        return EXIT_FAILED;
    mo_weights *weights = strcmp(o.weights, "none") ? mo_weights_read(ctx, o.weights) : NULL;
    require_recipe(ctx, weights, o.weights, o.recipe);
    if (o.max_rows < 0)
        o.max_rows = weights && weights->features.form == MO_ROWS_PER_EXAMPLE ? MO_EXAMPLE_ROWS : 32768;
    require_encoder(ctx, weights, o.weights, o.encoder);
    phase_begin(o.quiet, "mochi embed: reading %.80s", o.data);
    mo_graph *graph = mo_ok(ctx) ? mo_graph_open(ctx, o.data) : NULL;
    if (!o.quiet)
        print_left_out(graph);
    bool written = !mo_ok(ctx) || embed_graph(ctx, &o, weights, graph);
    int code = !mo_ok(ctx) ? report_failure(ctx) : written ? EXIT_FINE : EXIT_FAILED;
    mo_graph_release(graph);
    mo_weights_release(weights);
    mo_context_release(ctx);
    return code;
}
