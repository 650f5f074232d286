/* tools/lessons/lab.c - `mochi lab`: experiments on gradients, as tables. */
#include "tools/lessons/lab.h"

#include "tools/options.h"

#include <stdio.h>
#include <string.h>

enum { LARGEST = 1 << 20, LAB_EXPERIMENTS = 3 };

static const char *const names_of[LAB_EXPERIMENTS] = {"adjoint", "conditioning", "truncation"};

static const struct {
    void (*run)(mo_context *ctx, const lab_options *o, lab_table *table);
    const char *without; /* options that it does not take */
} experiments[LAB_EXPERIMENTS] = {
    {lab_adjoint, ""},
    {lab_conditioning, "problem method iterations runs"},
    {lab_truncation, "problem method runs"},
};

/* The line of a command, and which options of it were given. */
typedef struct lab_words {
    lab_options o;
    given_options given;
} lab_words;

static void take_iterations(void *options, const char *text, const struct argp_state *state) {
    lab_options *o = &((lab_words *)options)->o;
    o->n_iterations = parse_integers(state, "--iterations", text, o->iterations, MOST_ITERATIONS, 1, LARGEST);
    for (int i = 1; i < o->n_iterations; i++)
        if (o->iterations[i] <= o->iterations[i - 1])
            usage_error(state, "--iterations", "rising numbers", text);
}

static void take_methods(void *options, const char *text, const struct argp_state *state) {
    lab_options *o = &((lab_words *)options)->o;
    names list = parse_names(state, "--method", text);
    memset(o->methods, 0, sizeof o->methods);
    for (int i = 0; i < list.count; i++)
        o->methods[parse_choice(state, "--method", list.items[i], lab_methods, LAB_METHODS)] = true;
    free_names(&list);
}

static const option table[] = {
    {OPTION_CHOICE, "problem", "NAME", offsetof(lab_words, o.problem),
        "adjoint: ridge, logistic or root (default logistic)", .choices = "ridge|logistic|root"},
    {OPTION_OTHER, "method", "NAMES", 0, "adjoint: a list of analytic, unrolled, implicit, neumann (default: all)",
        .choices = "analytic|unrolled|implicit|neumann", .take = take_methods},
    {OPTION_OTHER, "iterations", "LIST", 0, "adjoint, truncation: inner iterations, steps (default 10,30,100,300,1000)",
        .take = take_iterations},
    {OPTION_INT64, "n", "N", offsetof(lab_words, o.n),
        "size, 2 to 256 (default: adjoint 12, root 30; conditioning 24, truncation 12)", 2, 256},
    {OPTION_INT, "runs", "N", offsetof(lab_words, o.runs), "adjoint: timed runs; their median is printed (default 5)",
        1, 1000},
    SEED_OPTION(lab_words, o.seed, "the data"),
    THREADS_OPTION(lab_words, o.threads),
    JSON_OPTION(lab_words, o.json, "one JSON object per row on standard output; mochi-report draws them"),
    {OPTION_END},
};

static const char about[] =
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
    "for three spectral radii.\v"
    "Examples:\n"
    "  mochi lab adjoint\n"
    "  mochi lab adjoint --problem root --method unrolled,implicit\n"
    "  mochi lab conditioning --json > lab.jsonl; mochi-report lab.jsonl --out lab.html\n"
    "  mochi lab truncation --iterations 1,10,100 --json";

static void take_experiment(void *options, const char *word, const struct argp_state *state) {
    lab_options *o = &((lab_words *)options)->o;
    if (o->experiment >= 0)
        refuse_command_line(state, EXIT_USAGE, "'%s': expected one experiment", word);
    o->experiment = parse_choice(state, "EXPERIMENT", word, names_of, LAB_EXPERIMENTS);
}

static void check_lab_words(void *options, const struct argp_state *state) {
    const lab_words *words = options;
    char why[80];
    if (words->o.experiment < 0)
        refuse_command_line(state, EXIT_USAGE, "expected an experiment: mochi lab adjoint, conditioning or truncation");
    snprintf(why, sizeof why, "has no effect on %s", names_of[words->o.experiment]);
    refuse_given(&words->given, experiments[words->o.experiment].without, true, why);
    if (words->o.experiment == 0 && words->o.n > 64)
        refuse_command_line(
            state, EXIT_USAGE, "--n: expected at most 64 for adjoint, whose reference differentiates in each");
}

const command_line lab_line = {.table = table,
    .words = "adjoint|conditioning|truncation",
    .about = about,
    .take_word = take_experiment,
    .end = check_lab_words};

int lab_command(int argc, char **argv) {
    static lab_table rows; /* of the process, which runs one experiment */
    lab_words words = {.o = {.experiment = -1,
                           .problem = 1,
                           .threads = 1,
                           .runs = 5,
                           .methods = {true, true, true, true},
                           .iterations = {10, 30, 100, 300, 1000},
                           .n_iterations = 5}};
    read_command_line(&lab_line, argc, argv, &words, &words.given);
    mo_context *ctx = open_context(words.o.threads);
    if (!ctx)
        return EXIT_FAILED;
    rows.json = words.o.json;
    experiments[words.o.experiment].run(ctx, &words.o, &rows);
    if (mo_ok(ctx))
        lab_table_close(&rows);
    int code = mo_ok(ctx) ? EXIT_FINE : report_failure(ctx);
    mo_context_release(ctx);
    return code;
}
