/* tools/embed.c - `mochi embed`: the embeddings of a graph's nodes, or of the graphs of a set, as an .npy file. */
#include "tools/command.h"

#include <stdio.h>

enum { KEY_WEIGHTS = 0x100, KEY_DATA, KEY_OUT, KEY_MAX_ROWS, KEY_CACHE, KEY_THREADS };

typedef struct embed_options {
    const char *weights, *data, *out, *cache;
    int64_t max_rows;
    int threads;
} embed_options;

static const struct argp_option options[] = {
    {"weights", KEY_WEIGHTS, "FILE", 0, "weights.safetensors of a run", 0},
    {"data", KEY_DATA, "NAME", 0, "a graph: a name of `mochi data list`, or a path", 0},
    {"out", KEY_OUT, "Z.npy", 0, "the file to write: float32 [nodes, d], or [graphs, d] for a set of graphs", 0},
    {"max-rows", KEY_MAX_ROWS, "N", 0, "rows encoded at once; 0: all (default 32768)", 0},
    {"cache", KEY_CACHE, "DIR", 0, "keep computed features in this folder", 0},
    {"threads", KEY_THREADS, "N", 0, "CPU threads (default: all processors)", 0},
    {0},
};

static const char description[] = "Encodes a graph with trained weights and writes the embeddings of its nodes; for a "
                                  "set of graphs, the mean over each graph's nodes.\v"
                                  "Example:\n"
                                  "  mochi embed --weights runs/a/weights.safetensors --data cora --out Z.npy";

static error_t take_option(int key, char *text, struct argp_state *state) {
    embed_options *o = state->input;
    if (key == KEY_WEIGHTS)
        o->weights = text;
    else if (key == KEY_DATA)
        o->data = text;
    else if (key == KEY_OUT)
        o->out = text;
    else if (key == KEY_MAX_ROWS)
        o->max_rows = parse_integer(state, "--max-rows", text, 0, INT64_MAX);
    else if (key == KEY_CACHE)
        o->cache = text;
    else if (key == KEY_THREADS)
        o->threads = (int)parse_integer(state, "--threads", text, 1, 1024);
    else if (key == ARGP_KEY_ARG)
        argp_failure(state, EXIT_USAGE, 0, "'%s': expected options only", text);
    else if (key == ARGP_KEY_END && !(o->weights && o->data && o->out))
        argp_failure(state, EXIT_USAGE, 0, "%s is missing",
            !o->weights ? "--weights FILE"
            : !o->data  ? "--data NAME"
                        : "--out Z.npy");
    else
        return key < KEY_WEIGHTS || key > KEY_THREADS ? ARGP_ERR_UNKNOWN : 0;
    return 0;
}

/* Encodes with a model made as the weights say. Raises on failure. */
static void embed_graph(const embed_options *o, const mo_weights *weights, mo_graph *graph) {
    mo_feature_options features = weights->features;
    features.cache = o->cache;
    mo_source source = {.graph = graph, .task = graph->graphs > 1 ? MO_TASK_GC : MO_TASK_NC};
    bool of_examples = features.form == MO_FEATURES_OF_EXAMPLES;
    source.features = of_examples ? mo_example_features_open(graph, source.task, NULL, &features)
                                  : mo_features_open(graph, &features);
    mo_model model = source.features ? mo_weights_model(weights) : (mo_model){NULL, NULL};
    if (model.table) {
        mo_tensor *Z = mo_embed_all(model, &source, o->max_rows);
        char shape[64];
        if (mo_npy_write(Z, o->out) == MO_OK)
            printf("%s: float32 %s of %s\n", o->out, mo_shape_string(Z, shape, sizeof shape), graph->name);
        mo_tensor_release(Z);
    }
    mo_model_release(model);
    mo_features_release(source.features);
}

int embed_command(int argc, char **argv) {
    static const struct argp argp = {.options = options, .parser = take_option, .doc = description};
    embed_options o = {.max_rows = 32768};
    argp_parse(&argp, argc, argv, 0, NULL, &o);
    mo_context *ctx = open_context(o.threads);
    if (!ctx)
        return EXIT_FAILED;
    mo_weights *weights = mo_weights_read(ctx, o.weights);
    mo_graph *graph = weights ? mo_graph_open(ctx, o.data) : NULL;
    if (graph)
        embed_graph(&o, weights, graph);
    int code = mo_ok(ctx) ? EXIT_FINE : report_failure(ctx);
    mo_graph_release(graph);
    mo_weights_release(weights);
    mo_context_release(ctx);
    return code;
}
