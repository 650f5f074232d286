/* tools/tape.c - `mochi tape`: prints the tape after one training step of a small MOCHI, or writes it to a file. */
#include "tools/cli/options.h"
#include "tools/cli/synthetic.h"

#include <stdio.h>
#include <string.h>

enum { DIM = 8, MAX_LABELS = 64, FEW = 16, KEPT = 4096 };

typedef struct tape_options {
    mo_task task;
    const char *out; /* path of a file to write; NULL: print */
    bool dot;        /* prints DOT instead of one line per node */
    int64_t values;
    bool forward, json, quiet;
    given_options given;
} tape_options;

static void take_values(void *values, const char *text, const struct argp_state *state) {
    *(int64_t *)values = text ? parse_integer(state, "--values", text, 1, 1 << 20) : FEW;
}

#define AT(field) offsetof(tape_options, field)

static const option table[] = {
    {OPTION_FLAG, "dot", NULL, AT(dot),
        "print the graph for graphviz, not as a line per node; nodes recorded by backward are red", .not_with = "out",
        .why = "--out writes another form of the graph"},
    {OPTION_OTHER, "values", "[N]", AT(values),
        "also print the elements of tensors with at most N of them (default 16)", .take = take_values},
    {OPTION_FLAG, "forward", NULL, AT(forward), "only the loss, without its gradient"},
    {OPTION_OUTPUT, "out", "FILE.tape", AT(out),
        "write the graph with elements and gradients, a safetensors file for other programs", .choices = ".tape"},
    {OPTION_FLAG, "json", NULL, AT(json), "one JSON object on standard output: `graph` of the metadata of a .tape file",
        .not_with = "dot", .why = "--dot prints another form of the graph"},
    {OPTION_FLAG, "quiet", NULL, AT(quiet), "no line on standard error"},
    {OPTION_END},
};

static const char about[] =
    "Shows the ops of one training step of a small MOCHI (dim 8, two classes, two support and two query examples of "
    "each) on standard normal rows: the loss of an episode of nodes, links or graphs, and its gradient in every "
    "parameter, recorded so that it could be differentiated again. TASK is nc (default), lp or gc.\v"
    "Examples:\n"
    "  mochi tape --forward\n"
    "  mochi tape gc --values\n"
    "  mochi tape lp --dot | dot -Tsvg > lp.svg\n"
    "  mochi tape --out run.tape";

static void take_task(void *options, const char *word, const struct argp_state *state) {
    if (state->arg_num > 0)
        refuse_command_line(state, EXIT_USAGE, "'%s': expected one task", word);
    ((tape_options *)options)->task = (mo_task)parse_choice(state, "TASK", word, (const char *[]){"nc", "lp", "gc"}, 3);
}

static void finish_tape_options(void *options, const struct argp_state *state) {
    tape_options *o = options;
    if (o->json && (o->out || o->values))
        refuse_command_line(state, EXIT_USAGE, "--json: it prints the graph alone, which leaves no place for %s",
            o->out ? "--out" : "--values");
    if (!o->values)
        o->values = o->out ? KEPT : 0;
}

const command_line tape_line = {
    .table = table, .words = "[nc|lp|gc]", .about = about, .take_word = take_task, .end = finish_tape_options};

static void write_graph_text(const char *text, void *file) {
    fputs(text, file);
}

static void print_step(mo_tape *t, mo_model *model, const mo_episode *e, const tape_options *o) {
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
    bool shown = !o->out; /* a file lists every backward pass by itself, so mo_grad is called only for printing */
    if (!o->forward && shown)
        mo_grad(t, &loss, NULL, 1, parameters, grads, n, MO_CREATE_GRAPH);
    for (int i = 0; i < n && !o->forward && shown; i++) {
        snprintf(texts[i], sizeof texts[i], "gradient of %s", mo_tensor_name(parameters[i]));
        labels[n_labels++] = (mo_label){texts[i], grads[i]};
    }
    mo_print_options print = {.format = !shown    ? MO_PRINT_TAPE
                                        : o->json ? MO_PRINT_JSON
                                        : o->dot  ? MO_PRINT_DOT
                                                  : MO_PRINT_TEXT,
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

static void record_step(mo_context *ctx, const tape_options *o) {
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

int tape_command(int argc, char **argv) {
    tape_options o = {.task = MO_TASK_NC};
    read_command_line(&tape_line, argc, argv, &o, &o.given);
    mo_context *ctx = open_context(1);
    if (!ctx)
        return EXIT_FAILED;
    record_step(ctx, &o);
    int code = mo_ok(ctx) ? EXIT_FINE : report_failure(ctx);
    if (code == EXIT_FINE && !o.quiet && !o.json)
        fputs("the ops of one training step, oldest first; `mochi explain OP` derives the adjoint of one\n", stderr);
    mo_context_release(ctx);
    return code;
}
