/* tools/lessons/lab.c - `mochi lab adjoint`: gradients through a solver by four methods, compared with differences:
 * error, memory, time. */
#include "tools/lessons/lab.h"

#include "tensor/clock.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_PROBLEM = 0x100, KEY_METHOD, KEY_ITERATIONS, KEY_SEED, KEY_RUNS, KEY_SVG, KEY_THREADS, KEY_JSON };
enum { MOST_ITERATIONS = 16, LARGEST = 1 << 20 };

typedef struct lab_options {
    bool adjoint;
    int problem, threads, runs;
    bool methods[LAB_METHODS];
    int iterations[MOST_ITERATIONS], n_iterations;
    uint64_t seed;
    const char *svg;
    bool json;
} lab_options;

static const struct argp_option options[] = {
    {"problem", KEY_PROBLEM, "NAME", 0, "ridge, logistic or root (default logistic)", 0},
    {"method", KEY_METHOD, "NAMES", 0, "a list of analytic, unrolled, implicit, neumann (default: all)", 0},
    {"iterations", KEY_ITERATIONS, "LIST", 0, "inner iterations (default 10,30,100,300,1000)", 0},
    {"svg", KEY_SVG, "FILE", 0, "also draw a chart (by gnuplot)", 0},
    {"runs", KEY_RUNS, "N", 0, "timed runs; their median is printed (default 5)", 0},
    {"seed", KEY_SEED, "S", 0, "seed of the data (default 0)", 0},
    {"threads", KEY_THREADS, "N", 0, "CPU threads (default 1: the problems are small)", 0},
    {"json", KEY_JSON, NULL, 0,
        "one JSON object per row on standard output: problem, method, iterations, error, ms, peak_bytes", 0},
    {0},
};

static const char description[] =
    "The gradient of a loss in the hyper-parameters of an inner problem that is solved by gradient steps: against "
    "central differences in float64 of the exact solution, with the peak bytes of the tape and the time, as the inner "
    "iterations grow.\n\n"
    "analytic: the solution in closed form or by Newton's method, its Jacobian written out; no iterations.\n"
    "unrolled: every iteration is recorded, backward runs through them all.\n"
    "implicit: iterations leave nothing; conjugate gradients solve the adjoint system where they ended.\n"
    "neumann: the same with a truncated Neumann series, as many terms as iterations.\v"
    "Examples:\n"
    "  mochi lab adjoint\n"
    "  mochi lab adjoint --problem root --method unrolled,implicit --svg adjoint.svg\n"
    "  mochi lab adjoint --problem ridge --iterations 1,10,100,1000 --json";

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

static error_t take_lab_option(int key, char *text, struct argp_state *state) {
    lab_options *o = state->input;
    const char *const problems[LAB_KINDS] = {lab_kinds[0].name, lab_kinds[1].name, lab_kinds[2].name};
    if (key == KEY_PROBLEM)
        o->problem = parse_choice(state, "--problem", text, problems, LAB_KINDS);
    else if (key == KEY_METHOD)
        take_methods(o, text, state);
    else if (key == KEY_ITERATIONS)
        take_iterations(o, text, state);
    else if (key == KEY_SVG)
        o->svg = text;
    else if (key == KEY_RUNS)
        o->runs = (int)parse_integer(state, "--runs", text, 1, 1000);
    else if (key == KEY_SEED)
        o->seed = (uint64_t)parse_integer(state, "--seed", text, 0, INT64_MAX);
    else if (key == KEY_THREADS)
        o->threads = (int)parse_integer(state, "--threads", text, 1, 1024);
    else if (key == KEY_JSON)
        o->json = true;
    else if (key == ARGP_KEY_ARG && o->adjoint)
        refuse_command_line(state, EXIT_USAGE, "'%s': expected one experiment", text);
    else if (key == ARGP_KEY_ARG)
        o->adjoint = parse_choice(state, "EXPERIMENT", text, (const char *const[]){"adjoint"}, 1) == 0;
    else if (key == ARGP_KEY_END && !o->adjoint)
        refuse_command_line(state, EXIT_USAGE, "expected an experiment: mochi lab adjoint");
    else
        return ARGP_ERR_UNKNOWN;
    return 0;
}

/* ---- the reference ---- */

static double loss_at(const lab_problem *p, const double *theta, size_t bytes) {
    mo_tape *t = mo_tape_create(p->ctx, MO_EVAL);
    mo_tensor_write(p->theta, theta, bytes);
    double loss = t ? mo_item(p->kind->loss(t, p, lab_solve(t, p, p->theta))) : NAN;
    mo_tape_release(t);
    return loss;
}

/* (8 (L(e) - L(-e)) - (L(2 e) - L(-2 e))) / 12 e in each hyper-parameter: its error is O(e^4), about 1e-12. */
static void difference_gradient(const lab_problem *p, double *theta, double *gradient) {
    int64_t n = mo_numel(p->theta);
    size_t bytes = (size_t)n * sizeof *theta;
    const double e = 1e-3;
    mo_tensor_read(p->theta, theta, bytes);
    for (int64_t i = 0; i < n && mo_ok(p->ctx); i++) {
        double value = theta[i], sum = 0;
        for (int k = 1; k <= 2; k++)
            for (int sign = -1; sign <= 1; sign += 2) {
                theta[i] = value + sign * k * e;
                sum += sign * (k == 1 ? 8 : -1) * loss_at(p, theta, bytes);
            }
        theta[i] = value;
        gradient[i] = sum / (12 * e);
    }
    mo_tensor_write(p->theta, theta, bytes);
}

/* ---- one row ---- */

static double relative_error(const double *x, const double *reference, int64_t n) {
    double error = 0, size = 0;
    for (int64_t i = 0; i < n; i++) {
        error += (x[i] - reference[i]) * (x[i] - reference[i]);
        size += reference[i] * reference[i];
    }
    return sqrt(error / size);
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static bool measure_method(const lab_problem *p, int runs, const double *reference, double *gradient, lab_row *row) {
    double *times = malloc((size_t)runs * sizeof *times);
    if (!times)
        mo_fail(p->ctx, MO_MEMORY, "lab: out of memory");
    mo_context_reset_peaks(p->ctx);
    bool fine = times && lab_gradient(p, row->method, row->iterations, gradient); /* the first run warms up */
    row->peak_bytes = mo_context_counters(p->ctx).tape_peak;
    for (int i = 0; fine && i < runs; i++) {
        double start = mo_clock(CLOCK_MONOTONIC);
        fine = lab_gradient(p, row->method, row->iterations, gradient);
        times[i] = mo_clock(CLOCK_MONOTONIC) - start;
    }
    if (fine) {
        qsort(times, (size_t)runs, sizeof *times, by_value);
        row->milliseconds = 1e3 * times[runs / 2];
        row->error = relative_error(gradient, reference, mo_numel(p->theta));
    }
    free(times);
    return fine;
}

static bool print_lab_row(const lab_options *o, const lab_row *r) {
    if (o->json)
        return print_json(json_pack("{s:s, s:s, s:i, s:o, s:f, s:I}", "problem", lab_kinds[o->problem].name, "method",
            lab_methods[r->method], "iterations", r->iterations, "error", json_number(r->error), "ms", r->milliseconds,
            "peak_bytes", (json_int_t)r->peak_bytes));
    return printf("%-9s %10d  %9.1e  %10.1f  %9.3f\n", lab_methods[r->method], r->iterations, r->error,
               (double)r->peak_bytes / 1024, r->milliseconds) > 0;
}

static void run_lab_problem(const lab_problem *p, const lab_options *o, double *work) {
    int64_t n = mo_numel(p->theta);
    lab_row rows[LAB_METHODS * MOST_ITERATIONS];
    int n_rows = 0;
    bool fine = true;
    difference_gradient(p, work, work + n);
    if (mo_ok(p->ctx) && !o->json)
        printf("%s: %s\ngradient in %lld hyper-parameters, error relative to central differences in float64\n\n"
               "%-9s %10s  %9s  %10s  %9s\n",
            p->kind->name, p->kind->meaning, (long long)n, "method", "iterations", "error", "tape KiB", "ms");
    for (int method = 0; method < LAB_METHODS; method++)
        for (int i = 0; o->methods[method] && fine && i < o->n_iterations; i++) {
            rows[n_rows] = (lab_row){.method = method, .iterations = o->iterations[i]};
            fine = mo_ok(p->ctx) && measure_method(p, o->runs, work + n, work + 2 * n, &rows[n_rows]) &&
                   print_lab_row(o, &rows[n_rows]);
            n_rows++;
        }
    char title[200];
    snprintf(title, sizeof title, "Gradient through a solver: %s", p->kind->meaning);
    if (fine && o->svg && mo_ok(p->ctx))
        lab_chart(p->ctx, title, rows, n_rows, o->svg);
}

int lab_command(int argc, char **argv) {
    static const struct argp argp = {
        .options = options, .parser = take_lab_option, .args_doc = "adjoint", .doc = description};
    lab_options o = {.problem = 1,
        .threads = 1,
        .runs = 5,
        .methods = {true, true, true, true},
        .iterations = {10, 30, 100, 300, 1000},
        .n_iterations = 5};
    parse_options(&argp, argc, argv, &o);
    mo_context *ctx = open_context(o.threads);
    if (!ctx)
        return EXIT_FAILED;
    lab_problem p = lab_open(ctx, &lab_kinds[o.problem], o.seed);
    double *work = mo_ok(ctx) ? malloc(3 * (size_t)mo_numel(p.theta) * sizeof *work) : NULL;
    if (work)
        run_lab_problem(&p, &o, work);
    else if (mo_ok(ctx))
        mo_fail(ctx, MO_MEMORY, "lab: out of memory");
    int code = mo_ok(ctx) ? EXIT_FINE : report_failure(ctx);
    free(work);
    lab_close(&p);
    mo_context_release(ctx);
    return code;
}
