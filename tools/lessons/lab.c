/* tools/lessons/lab.c - `mochi lab`: experiments on gradients, as tables. */
#include "tools/lessons/lab.h"

#include "tools/options.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LARGEST = 1 << 20, LAB_EXPERIMENTS = 3 };

static const lab_experiment *const experiments[LAB_EXPERIMENTS] = {&lab_adjoint, &lab_conditioning, &lab_truncation};

/* The options of the command, and which of them were given. */
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
    memset(o->series, 0, sizeof o->series);
    for (int i = 0; i < list.count; i++)
        o->series[parse_choice(state, "--method", list.items[i], lab_adjoint.series, 4)] = true;
    free_names(&list);
}

static const option table[] = {
    {OPTION_CHOICE, "problem", "NAME", offsetof(lab_words, o.problem),
        "adjoint: the inner problem: ridge, logistic or root (default logistic)", .choices = "ridge|logistic|root"},
    {OPTION_OTHER, "method", "NAMES", 0,
        "adjoint: the methods: a list of analytic, unrolled, implicit, neumann (default: all)",
        .choices = "analytic|unrolled|implicit|neumann", .take = take_methods},
    {OPTION_OTHER, "iterations", "LIST", 0,
        "adjoint, truncation: numbers of inner iterations (default 10,30,100,300,1000)", .take = take_iterations},
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
    "adjoint: the gradient of a loss in the hyper-parameters of an inner problem, which gradient steps solve. Prints "
    "its error against central differences of the exact solution in float64, the peak bytes of the tape and the time, "
    "for growing numbers of inner iterations. Four methods: analytic (the solution in closed form or by Newton's "
    "method, its Jacobian written out; no iterations), unrolled (every iteration is recorded, and backward runs "
    "through them all), implicit (iterations are not recorded; conjugate gradients solve the adjoint system where "
    "they ended), neumann (the same with a truncated Neumann series, as many terms as iterations).\n\n"
    "conditioning: the error of a solve and of its gradient against the condition number, in float64, float32 and "
    "TF32's 11 bits, with and without refinement.\n\n"
    "truncation: the error of the gradient through K steps, and of the implicit one where they ended, against the "
    "gradient of the solution, for three spectral radii.\vExamples:\n"
    "  mochi lab adjoint\n"
    "  mochi lab adjoint --problem root --method unrolled,implicit\n"
    "  mochi lab conditioning --json > lab.jsonl; mochi-report lab.jsonl --out lab.html\n"
    "  mochi lab truncation --iterations 1,10,100 --json";

static void take_experiment(void *options, const char *word, const struct argp_state *state) {
    lab_options *o = &((lab_words *)options)->o;
    if (o->experiment >= 0)
        refuse_command_line(state, EXIT_USAGE, "'%s': expected one experiment", word);
    const char *const list[] = {lab_adjoint.name, lab_conditioning.name, lab_truncation.name};
    o->experiment = parse_choice(state, "EXPERIMENT", word, list, LAB_EXPERIMENTS);
}

static void check_lab_words(void *options, const struct argp_state *state) {
    const lab_words *words = options;
    char why[80];
    if (words->o.experiment < 0)
        refuse_command_line(state, EXIT_USAGE, "expected an experiment: mochi lab adjoint, conditioning or truncation");
    snprintf(why, sizeof why, "has no effect on %s", experiments[words->o.experiment]->name);
    refuse_given(&words->given, experiments[words->o.experiment]->without, true, why);
    if (words->o.experiment == 0 && words->o.n > 64)
        refuse_command_line(
            state, EXIT_USAGE, "--n: expected at most 64 for adjoint: its reference perturbs each parameter");
}

const command_line lab_line = {.table = table,
    .words = "adjoint|conditioning|truncation",
    .about = about,
    .take_word = take_experiment,
    .end = check_lab_words};

/* ---- the table ---- */

static int series_width(const lab_experiment *e) {
    size_t width = 9;
    for (int i = 0; i < LAB_SERIES && e->series[i]; i++)
        width = strlen(e->series[i]) > width ? strlen(e->series[i]) : width;
    return (int)(strlen(e->series_head) > width ? strlen(e->series_head) : width);
}

static int column_width(const lab_experiment *e, int column) {
    return snprintf(NULL, 0, e->columns[column].format, 1.0);
}

static void print_head(const lab_experiment *e, const char *lines) {
    printf("%s\n\n%-*s %10s", lines, series_width(e), e->series_head, e->x_head);
    for (int i = 0; i < LAB_COLUMNS && e->columns[i].name; i++)
        printf("  %*s", column_width(e, i), e->columns[i].head);
    putchar('\n');
}

static bool print_row(const lab_experiment *e, int series, double x, const double *y) {
    printf("%-*s ", series_width(e), e->series[series]);
    printf(e->n_x ? "%10.0e" : "%10.0f", x);
    for (int i = 0; i < LAB_COLUMNS && e->columns[i].name; i++) {
        printf("  ");
        if (isnan(y[i]))
            printf("%*s", column_width(e, i), "-");
        else
            printf(e->columns[i].format, y[i] / (e->columns[i].unit > 0 ? e->columns[i].unit : 1));
    }
    return putchar('\n') != EOF;
}

static json_t *json_value(bool whole, double value) {
    return whole ? json_integer((json_int_t)value) : json_number(value);
}

static bool print_row_object(const lab_experiment *e, const lab_options *o, int series, double x, const double *y) {
    json_t *object = json_object();
    if (e == &lab_adjoint)
        json_object_set_new(object, "problem", json_string(lab_problems[o->problem]));
    json_object_set_new(object, e->series_name, json_string(e->series[series]));
    json_object_set_new(object, e->x_name, json_value(!e->n_x, x));
    for (int i = 0; i < LAB_COLUMNS && e->columns[i].name; i++)
        json_object_set_new(object, e->columns[i].name, json_value(e->columns[i].unit > 0, y[i]));
    return print_json(object);
}

static void run_experiment(mo_context *ctx, const lab_experiment *e, const lab_options *o) {
    char lines[256] = "";
    void *state = e->open(ctx, o, lines, sizeof lines);
    bool fine = mo_ok(ctx);
    if (fine && !o->json)
        print_head(e, lines);
    for (int series = 0; series < LAB_SERIES && e->series[series]; series++)
        for (int i = 0; fine && o->series[series] && i < (e->n_x ? e->n_x : o->n_iterations); i++) {
            double x = e->n_x ? e->x[i] : (double)o->iterations[i], y[LAB_COLUMNS] = {0};
            e->measure(state, o, series, x, y);
            fine = mo_ok(ctx) && (o->json ? print_row_object(e, o, series, x, y) : print_row(e, series, x, y));
        }
    e->close(state);
    if (mo_ok(ctx) && !o->json && e->reading) {
        putchar('\n');
        print_wrapped(e->reading, 0);
    }
}

int lab_command(int argc, char **argv) {
    lab_words words = {.o = {.experiment = -1,
                           .problem = 1,
                           .threads = 1,
                           .runs = 5,
                           .series = {true, true, true, true, true},
                           .iterations = {10, 30, 100, 300, 1000},
                           .n_iterations = 5}};
    read_command_line(&lab_line, argc, argv, &words, &words.given);
    mo_context *ctx = open_context(words.o.threads);
    if (!ctx)
        return EXIT_FAILED;
    run_experiment(ctx, experiments[words.o.experiment], &words.o);
    int code = mo_ok(ctx) ? EXIT_FINE : report_failure(ctx);
    mo_context_release(ctx);
    return code;
}
