/* tools/gin/gin_command.c - `mochi gin`: trains the paper's baseline GIN on a pool, writes its weights, and says what
 * its embeddings of the pool's graphs look like beside the paper's Appendix A. */
#include "tensor/hidden.h"
#include "tools/data/default_data.h"
#include "tools/gin/gin.h"
#include "tools/given.h"
#include "tools/lessons/cone.h"
#include "tools/memory.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_POOL = 0x100, KEY_OUT, KEY_STEPS, KEY_DIM, KEY_LR, KEY_SEED, KEY_THREADS, KEY_JSON, KEY_QUIET };

typedef struct gin_options {
    names pool; /* names of mo_graph_open */
    const char *out;
    int dim, threads, argc;
    char **argv;
    gin_training training;
    bool json, quiet;
    given_options given;
} gin_options;

static const struct argp_option options[] = {
    {"pool", KEY_POOL, "LIST", 0,
        "graphs, or a pool (paper, paper-offline, FILE.json): those whose links it serves are trained on, as the paper "
        "trains its baselines (default: " DEFAULT_POOL ")",
        0},
    {"out", KEY_OUT, "FILE", 0, "the weights to write, gin.safetensors", 0},
    {"steps", KEY_STEPS, "N", 0, "optimizer steps, each on one whole graph, graphs in turn (default 1000)", 0},
    {"dim", KEY_DIM, "D", 0, "width of the features, the layers and the embeddings (default 128; the paper: 512)", 0},
    {"lr", KEY_LR, "RATE", 0, "first learning rate; it falls to 0 along a cosine (default 0.003)", 0},
    {"seed", KEY_SEED, "N", 0, "seed of features, first parameters and drawn pairs (default 0)", 0},
    EXPAND_OPTION,
    {"threads", KEY_THREADS, "N", 0, "CPU threads (default: all processors)", 0},
    {"json", KEY_JSON, NULL, 0, "one JSON object per figure on standard output, nothing else", 0},
    {"quiet", KEY_QUIET, NULL, 0, "no losses on standard error while it trains", 0},
    {0},
};

static const char description[] =
    "Trains the baseline GIN of the paper: a graph isomorphism network of two layers over the frozen features, as a "
    "graph autoencoder; sigmoid(<z_u, z_v>) tells edges from drawn pairs. Then it prints, for each graph of the pool, "
    "the loss and what the paper's Appendix A says of such embeddings: norms against the roots of degrees, cosines of "
    "neighbours, the cone.\v"
    "`mochi eval --weights gin.safetensors` evaluates it under any readout, as a column \"gin\"; `mochi embed` writes "
    "its embeddings. Sets of graphs and graphs that a pool has for nodes alone are left out.\n\n"
    "Examples:\n"
    "  mochi gin --pool paper-offline --out gin.safetensors\n"
    "  mochi eval --weights best,gin.safetensors --suite paper-offline --json > eval.jsonl\n"
    "  mochi compare eval.jsonl paper\n"
    "  mochi embed --weights gin.safetensors --data cora --out Z.npy; mochi pitfalls cone Z.npy cora";

/* The graphs of a pool for links: "pubmed:nc+lp@0.1" is pubmed, "physics:nc" is left out. */
static void take_gin_pool(gin_options *o, const struct argp_state *state, const char *text) {
    pool_choice choice;
    parse_pool(state, "--pool", text, &choice);
    free_names(&o->pool);
    for (int i = 0; i < choice.graphs.count; i++) {
        char *name = choice.graphs.items[i], *tasks = strrchr(name, ':');
        if (tasks && !strchr(tasks, '/')) { /* a colon in a folder's name is none before tasks */
            if (!strstr(tasks, "lp"))
                continue;
            *tasks = 0;
        }
        append_name(&o->pool, name);
    }
    free_names(&choice.graphs);
    if (!o->pool.count)
        usage_error(state, "--pool", "a graph whose links are learned", text);
}

static void check_gin_options(gin_options *o, const struct argp_state *state) {
    if (!o->out)
        refuse_command_line(state, EXIT_USAGE, "--out FILE is missing");
    refuse_given(&o->given, "quiet", o->json, "--json prints nothing on standard error");
    if (!o->pool.count)
        take_gin_pool(o, state, DEFAULT_POOL);
}

static error_t take_gin_option(int key, char *text, struct argp_state *state) {
    gin_options *o = state->input;
    note_given(&o->given, key);
    if (take_expand(key, text, state))
        return 0;
    if (key == KEY_POOL)
        take_gin_pool(o, state, text);
    else if (key == KEY_OUT)
        o->out = take_output(state, "--out", text, ".safetensors");
    else if (key == KEY_STEPS)
        o->training.steps = parse_integer(state, "--steps", text, 1, INT32_MAX);
    else if (key == KEY_DIM)
        o->dim = (int)parse_integer(state, "--dim", text, 1, 2048);
    else if (key == KEY_LR)
        o->training.lr = parse_positive(state, "--lr", text);
    else if (key == KEY_SEED)
        o->training.seed = (uint64_t)parse_integer(state, "--seed", text, 0, INT64_MAX);
    else if (key == KEY_THREADS)
        o->threads = (int)parse_integer(state, "--threads", text, 1, 1024);
    else if (key == KEY_JSON)
        o->json = true;
    else if (key == KEY_QUIET)
        o->quiet = true;
    else if (key == ARGP_KEY_ARG)
        refuse_command_line(state, EXIT_USAGE, "'%s': expected options only", text);
    else if (key == ARGP_KEY_END)
        check_gin_options(o, state);
    else
        return ARGP_ERR_UNKNOWN;
    return 0;
}

/* Shows about twenty steps of each graph. */
static void show_gin_step(int64_t step, const mo_graph *graph, double loss, void *state) {
    const gin_options *o = state;
    int64_t every = o->training.steps / (20 * o->pool.count) + 1;
    if (step / o->pool.count % every == 0)
        fprintf(stderr, "step %" PRId64 "  %s  loss %.3f\n", step, graph->name, loss);
}

/* Prints loss and geometry of the embeddings of a graph. Returns false if a line could not be written. */
static bool print_gin_graph(const gin_options *o, const gin *g, const gin_graph *graph) {
    double loss = gin_loss(g, graph, o->training.seed);
    cone_figures f = {0};
    mo_tape *t = mo_tape_create(g->ctx, MO_EVAL);
    mo_tensor *Z = t ? gin_encode(t, g, graph->A, graph->X) : NULL;
    bool known = mo_ok(g->ctx) && cone_measure(Z, graph->graph, &f) == MO_OK, written = true;
    if (known && o->json) {
        written = print_json(json_pack("{s:s, s:s, s:I, s:I, s:o}", "kind", "gin", "data", graph->graph->name, "nodes",
                      (json_int_t)graph->graph->nodes, "edges", (json_int_t)(graph->graph->nnz / 2), "loss",
                      json_number(loss))) &&
                  cone_print_object(&f);
    } else if (known) {
        printf("\n%s, loss %.3f: ", graph->graph->name, loss);
        cone_print(&f);
    }
    mo_tape_release(t);
    return written;
}

/* Trains, writes the weights and prints the figures. Returns false if a line could not be written. */
static bool run_gin(mo_context *ctx, gin_options *o) {
    mo_feature_options features = {.dim = o->dim, .power_iterations = 2, .seed = o->training.seed};
    gin_graph *graphs = needed(calloc((size_t)o->pool.count, sizeof *graphs));
    gin g;
    bool written = !o->json || print_json(command_object(o->argc, o->argv));
    gin_create(ctx, o->dim, o->training.seed, &g);
    for (int i = 0; i < o->pool.count && mo_ok(ctx); i++)
        gin_graph_open(ctx, o->pool.items[i], &features, &graphs[i]);
    double started = mo_clock(CLOCK_MONOTONIC);
    if (mo_ok(ctx))
        gin_train(&g, graphs, o->pool.count, &o->training);
    if (mo_ok(ctx) && o->training.report)
        fprintf(stderr, "%" PRId64 " steps in %.0f s\n", o->training.steps, mo_clock(CLOCK_MONOTONIC) - started);
    features.hops = 3; /* beside its embeddings an evaluation shows single hops, as of other weights */
    if (mo_ok(ctx))
        gin_write(&g, &features, graphs, o->pool.count, o->out);
    for (int i = 0; i < o->pool.count && mo_ok(ctx) && written; i++)
        written = print_gin_graph(o, &g, &graphs[i]);
    for (int i = 0; i < o->pool.count; i++)
        gin_graph_release(&graphs[i]);
    gin_release(&g);
    free(graphs);
    return written;
}

int gin_command(int argc, char **argv) {
    static const struct argp argp = {.options = options, .parser = take_gin_option, .doc = description};
    gin_options o = {.dim = 128, .training = {.steps = 1000, .lr = 0.003}, .argc = argc, .argv = argv};
    o.given = (given_options){.table = options, .command = argv[0]};
    parse_options(&argp, argc, argv, &o);
    if (!o.json && !o.quiet)
        o.training.report = show_gin_step;
    o.training.state = &o;
    mo_context *ctx = open_context(o.threads);
    bool written = !ctx || run_gin(ctx, &o);
    int code = !ctx ? EXIT_FAILED : !mo_ok(ctx) ? report_failure(ctx) : written ? EXIT_FINE : EXIT_FAILED;
    free_names(&o.pool);
    mo_context_release(ctx);
    return code;
}
