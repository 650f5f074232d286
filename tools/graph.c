/* tools/graph.c - `mochi graph`: the tape after one training step of a small MOCHI, printed or as a file. */
#include "tools/synthetic.h"
#include "tools/command.h"
#include "tools/given.h"

#include <stdio.h>
#include <string.h>

enum { KEY_DOT = 0x100, KEY_TEXT, KEY_VALUES, KEY_FORWARD, KEY_OUT, DIM = 8, MAX_LABELS = 64, FEW = 16, KEPT = 4096 };

typedef struct graph_options {
    mo_task task;
    const char *out; /* a file to write; NULL: none */
    mo_print_format format;
    int64_t values;
    bool forward;
    given_options given;
} graph_options;

static const struct argp_option options[] = {
    {"text", KEY_TEXT, NULL, 0, "one line per node, oldest first (default)", 0},
    {"dot", KEY_DOT, NULL, 0, "for graphviz; nodes recorded by backward are red", 0},
    {"values", KEY_VALUES, "N", OPTION_ARG_OPTIONAL, "with the elements of tensors that have at most N (default 16)",
        0},
    {"forward", KEY_FORWARD, NULL, 0, "without the gradient", 0},
    {"out", KEY_OUT, "FILE.tape", 0,
        "write the graph with elements and gradients, a safetensors file for other programs", 0},
    {0},
};

static const char description[] =
    "Shows the ops of one training step of a small MOCHI (dim 8, two classes, two support and two query examples of "
    "each) on standard normal rows: the loss of an episode of nodes, links or graphs, and its gradient in every "
    "parameter, recorded so that it could be differentiated again. TASK is nc (default), lp or gc.\v"
    "Examples:\n"
    "  mochi graph --forward\n"
    "  mochi graph gc --values\n"
    "  mochi graph lp --dot | dot -Tsvg > lp.svg\n"
    "  mochi graph --out run.tape";

/* What one form of the graph leaves no use for. */
static void finish_graph_options(graph_options *o) {
    given_options *given = &o->given;
    refuse_given(given, "text", is_given(given, "dot"), "--dot is another form of the same graph");
    refuse_given(given, "text", o->out != NULL, "--out writes another form of the graph");
    refuse_given(given, "dot", o->out != NULL, "--out writes another form of the graph");
    if (!o->values)
        o->values = o->out ? KEPT : 0;
}

static error_t take_graph_option(int key, char *text, struct argp_state *state) {
    graph_options *o = state->input;
    note_given(&o->given, key);
    if (key == KEY_DOT)
        o->format = MO_PRINT_DOT;
    else if (key == KEY_TEXT)
        o->format = MO_PRINT_TEXT;
    else if (key == KEY_VALUES)
        o->values = text ? parse_integer(state, "--values", text, 1, 1 << 20) : FEW;
    else if (key == KEY_FORWARD)
        o->forward = true;
    else if (key == KEY_OUT)
        o->out = take_output(state, "--out", text, ".tape");
    else if (key == ARGP_KEY_ARG && state->arg_num == 0)
        o->task = (mo_task)parse_choice(state, "TASK", text, (const char *[]){"nc", "lp", "gc"}, 3);
    else if (key == ARGP_KEY_END)
        finish_graph_options(o);
    else
        return ARGP_ERR_UNKNOWN;
    return 0;
}

static void write_graph_text(const char *text, void *file) {
    fputs(text, file);
}

static void print_step(mo_tape *t, mo_model *model, const mo_episode *e, const graph_options *o) {
    mo_label labels[MAX_LABELS];
    char texts[MAX_LABELS][96];
    mo_tensor *logits, *loss = mo_model_loss(t, model, e, NULL, &logits), *parameters[MAX_LABELS], *grads[MAX_LABELS];
    int n = mo_model_n_parameters(model), n_labels = 0;
    if (n > MAX_LABELS - 2)
        n = MAX_LABELS - 2;
    labels[n_labels++] = (mo_label){"loss", loss};
    labels[n_labels++] = (mo_label){"logits", logits};
    for (int i = 0; i < n; i++)
        parameters[i] = mo_model_parameter(model, i);
    bool shown = !o->out; /* a file has the gradients of every value, which nothing has to record */
    if (!o->forward && shown)
        mo_grad(t, &loss, NULL, 1, parameters, grads, n, MO_CREATE_GRAPH);
    for (int i = 0; i < n && !o->forward && shown; i++) {
        snprintf(texts[i], sizeof texts[i], "gradient of %s", mo_tensor_name(parameters[i]));
        labels[n_labels++] = (mo_label){texts[i], grads[i]};
    }
    mo_print_options print = {.format = shown ? o->format : MO_PRINT_TAPE,
        .values = o->values,
        .n_labels = n_labels,
        .labels = labels,
        .no_gradients = o->forward};
    if (!mo_ok(mo_tape_context(t)))
        return;
    if (shown)
        mo_tape_print(t, &print, write_graph_text, stdout);
    else
        mo_tape_write(t, &print, o->out);
}

static void record_step(mo_context *ctx, const graph_options *o) {
    mo_mochi_options settings = mo_mochi_defaults();
    settings.encoder.dim = DIM;
    synthetic rows = {.task = o->task, .classes = 2, .k = 2, .q = 2, .nodes = 3};
    mo_model *model = mo_mochi_create(ctx, MO_F32, &settings, 0);
    mo_tape *t = mo_tape_create(ctx, MO_RECORD);
    mo_episode e = synthetic_episode(ctx, &rows, DIM);
    if (model && t && mo_ok(ctx))
        print_step(t, model, &e, o);
    mo_tape_release(t);
    release_synthetic(&e);
    mo_model_release(model);
}

int graph_command(int argc, char **argv) {
    static const struct argp argp = {
        .options = options, .parser = take_graph_option, .args_doc = "[TASK]", .doc = description};
    graph_options o = {.task = MO_TASK_NC};
    o.given = (given_options){.table = options, .command = argv[0]};
    parse_options(&argp, argc, argv, &o);
    mo_context *ctx = open_context(1);
    if (!ctx)
        return EXIT_FAILED;
    record_step(ctx, &o);
    int code = mo_ok(ctx) ? EXIT_FINE : report_failure(ctx);
    mo_context_release(ctx);
    return code;
}
