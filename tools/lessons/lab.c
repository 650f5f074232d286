/* tools/lessons/lab.c - `mochi lab`: experiments on gradients, as tables. */
#include "tools/lessons/lab.h"

#include "tools/given.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_PROBLEM = 0x100, KEY_METHOD, KEY_ITERATIONS, KEY_N, KEY_SEED, KEY_RUNS, KEY_THREADS, KEY_JSON };
enum { LARGEST = 1 << 20 };
enum { TAKES_ITERATIONS = 1, TAKES_N = 2, TAKES_RUNS = 4, TAKES_PROBLEM = 8, LAB_EXPERIMENTS = 5 };

static const char *const names_of[LAB_EXPERIMENTS] = {
    "adjoint", "conditioning", "truncation", "differences", "checkpointing"};

static const struct {
    void (*run)(mo_context *ctx, const lab_options *o, lab_table *table);
    unsigned takes;
} experiments[LAB_EXPERIMENTS] = {
    {lab_adjoint, TAKES_PROBLEM | TAKES_ITERATIONS | TAKES_RUNS | TAKES_N},
    {lab_conditioning, TAKES_N},
    {lab_truncation, TAKES_ITERATIONS | TAKES_N},
    {lab_differences, 0},
    {lab_checkpointing, TAKES_N | TAKES_RUNS},
};

/* The line of a command, and which options of it were given. */
typedef struct lab_line {
    lab_options o;
    given_options given;
} lab_line;

static const struct argp_option options[] = {
    {"problem", KEY_PROBLEM, "NAME", 0,
        "adjoint: ridge, logistic, root or FILE.so, a mo_lab_plugin of yours (default logistic)", 0},
    {"method", KEY_METHOD, "NAMES", 0, "adjoint: a list of analytic, unrolled, implicit, neumann (default: all)", 0},
    {"iterations", KEY_ITERATIONS, "LIST", 0,
        "adjoint, truncation: inner iterations, steps (default 10,30,100,300,1000)", 0},
    {"n", KEY_N, "N", 0,
        "size, 2 to 256 (default: adjoint 12, root 30; conditioning 24, truncation 12, checkpointing 64)", 0},
    {"runs", KEY_RUNS, "N", 0, "adjoint, checkpointing: timed runs; their median is printed (default 5)", 0},
    {"seed", KEY_SEED, "S", 0, "seed of the data (default 0)", 0},
    {"threads", KEY_THREADS, "N", 0, "CPU threads (default 1: the problems are small)", 0},
    {"json", KEY_JSON, NULL, 0, "one JSON object per row on standard output; mochi-report draws them", 0},
    {0},
};

static const char description[] =
    "adjoint: the gradient of a loss in the hyper-parameters of an inner problem that is solved by gradient steps: "
    "against central differences in float64 of the exact solution, with the peak bytes of the tape and the time, as "
    "the inner iterations grow. Four methods: analytic (the solution in closed form or by Newton's method, its "
    "Jacobian "
    "written out; no iterations), unrolled (every iteration is recorded, backward runs through them all), implicit "
    "(iterations leave nothing; conjugate gradients solve the adjoint system where they ended), neumann (the same with "
    "a truncated Neumann series, as many terms as iterations).\n\n"
    "conditioning: the error of a solve and of its gradient against the condition number, in float64, float32 and "
    "TF32's 11 bits, with and without refinement.\n\n"
    "truncation: the gradient through K steps, and the implicit one where they ended, against that of the solution, "
    "for three spectral radii.\n\n"
    "differences: difference quotients against the gradient, as their step shrinks.\n\n"
    "checkpointing: memory against time of a chain of layers that is recorded, or computed again in backward.\v"
    "Examples:\n"
    "  mochi lab adjoint\n"
    "  mochi lab adjoint --problem root --method unrolled,implicit\n"
    "  mochi lab adjoint --problem ./mine.so --n 20\n"
    "  mochi lab conditioning --json > lab.jsonl; mochi-report lab.jsonl --out lab.html\n"
    "  mochi lab truncation --iterations 1,10,100 --json";

static void take_iterations(lab_options *o, const char *text, const struct argp_state *state) {
    names list = parse_names(state, "--iterations", text);
    if (list.count > MOST_ITERATIONS)
        usage_error(state, "--iterations", "at most 16 numbers", text);
    o->n_iterations = list.count;
    for (int i = 0; i < list.count; i++) {
        o->iterations[i] = (int)parse_integer(state, "--iterations", list.items[i], 1, LARGEST);
        if (i && o->iterations[i] <= o->iterations[i - 1])
            usage_error(state, "--iterations", "rising numbers", text);
    }
    free_names(&list);
}

static void take_methods(lab_options *o, const char *text, const struct argp_state *state) {
    names list = parse_names(state, "--method", text);
    memset(o->methods, 0, sizeof o->methods);
    for (int i = 0; i < list.count; i++)
        o->methods[parse_choice(state, "--method", list.items[i], lab_methods, LAB_METHODS)] = true;
    free_names(&list);
}

static void take_experiment(lab_options *o, const char *text, const struct argp_state *state) {
    if (o->experiment >= 0)
        refuse_command_line(state, EXIT_USAGE, "'%s': expected one experiment", text);
    o->experiment = parse_choice(state, "EXPERIMENT", text, names_of, LAB_EXPERIMENTS);
}

static void check_lab_line(const lab_line *line, const struct argp_state *state) {
    if (line->o.experiment < 0)
        refuse_command_line(state, EXIT_USAGE,
            "expected an experiment: mochi lab adjoint, conditioning, truncation, differences or checkpointing");
    const unsigned takes = experiments[line->o.experiment].takes;
    char why[80];
    snprintf(why, sizeof why, "has no effect on %s", names_of[line->o.experiment]);
    refuse_given(&line->given, "problem", !(takes & TAKES_PROBLEM), why);
    refuse_given(&line->given, "method", !(takes & TAKES_PROBLEM), why);
    refuse_given(&line->given, "iterations", !(takes & TAKES_ITERATIONS), why);
    refuse_given(&line->given, "n", !(takes & TAKES_N), why);
    if (takes & TAKES_PROBLEM && !line->o.plugin && line->o.n > 64)
        refuse_command_line(
            state, EXIT_USAGE, "--n: expected at most 64 for adjoint, whose reference differentiates in each");
    refuse_given(&line->given, "runs", !(takes & TAKES_RUNS), why);
}

static bool take_lab_number(lab_options *o, int key, const char *text, const struct argp_state *state) {
    if (key == KEY_N)
        o->n = parse_integer(state, "--n", text, 2, 256);
    else if (key == KEY_RUNS)
        o->runs = (int)parse_integer(state, "--runs", text, 1, 1000);
    else if (key == KEY_SEED)
        o->seed = (uint64_t)parse_integer(state, "--seed", text, 0, INT64_MAX);
    else if (key == KEY_THREADS)
        o->threads = (int)parse_integer(state, "--threads", text, 1, 1024);
    else
        return false;
    return true;
}

static error_t take_lab_option(int key, char *text, struct argp_state *state) {
    lab_line *line = state->input;
    lab_options *o = &line->o;
    const char *const problems[LAB_KINDS] = {lab_kinds[0].name, lab_kinds[1].name, lab_kinds[2].name};
    note_given(&line->given, key);
    if (take_lab_number(o, key, text, state))
        return 0;
    if (key == KEY_PROBLEM && lab_is_plugin(text))
        o->plugin = text;
    else if (key == KEY_PROBLEM)
        o->problem = parse_choice(state, "--problem", text, problems, LAB_KINDS);
    else if (key == KEY_METHOD)
        take_methods(o, text, state);
    else if (key == KEY_ITERATIONS)
        take_iterations(o, text, state);
    else if (key == KEY_JSON)
        o->json = true;
    else if (key == ARGP_KEY_ARG)
        take_experiment(o, text, state);
    else if (key == ARGP_KEY_END)
        check_lab_line(line, state);
    else
        return ARGP_ERR_UNKNOWN;
    return 0;
}

int lab_command(int argc, char **argv) {
    static const struct argp argp = {
        .options = options, .parser = take_lab_option, .args_doc = "EXPERIMENT", .doc = description};
    static lab_table table; /* of the process, which runs one experiment */
    lab_line line = {.o = {.experiment = -1,
                         .problem = 1,
                         .threads = 1,
                         .runs = 5,
                         .methods = {true, true, true, true},
                         .iterations = {10, 30, 100, 300, 1000},
                         .n_iterations = 5},
        .given = {.table = options, .command = "mochi lab"}};
    parse_options(&argp, argc, argv, &line);
    mo_context *ctx = open_context(line.o.threads);
    if (!ctx)
        return EXIT_FAILED;
    table.json = line.o.json;
    experiments[line.o.experiment].run(ctx, &line.o, &table);
    if (mo_ok(ctx))
        lab_table_close(&table);
    int code = mo_ok(ctx) ? EXIT_FINE : report_failure(ctx);
    mo_context_release(ctx);
    return code;
}
