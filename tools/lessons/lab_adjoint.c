/* tools/lessons/lab_adjoint.c - `mochi lab adjoint`: gradients through a solver by four methods, compared with
 * differences: error, memory, time. */
#include "tools/lessons/lab.h"

#include "tensor/hidden.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const lab_column columns[] = {
    {"error", "error", "%9.1e", 0, false},
    {"peak_bytes", "tape KiB", "%10.1f", 1024, true},
    {"ms", "ms", "%9.3f", 0, false},
};

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

static bool measure_method(
    const lab_problem *p, int runs, const double *reference, double *gradient, lab_table_row *row) {
    double *times = malloc((size_t)runs * sizeof *times);
    if (!times)
        mo_fail(p->ctx, MO_MEMORY, "lab: out of memory");
    mo_context_reset_peaks(p->ctx);
    bool fine = times && lab_gradient(p, row->series, (int)row->x, gradient); /* the first run warms up */
    row->y[1] = (double)mo_context_counters(p->ctx).tape_peak;
    for (int i = 0; fine && i < runs; i++) {
        double start = mo_clock(CLOCK_MONOTONIC);
        fine = lab_gradient(p, row->series, (int)row->x, gradient);
        times[i] = mo_clock(CLOCK_MONOTONIC) - start;
    }
    if (fine) {
        row->y[2] = 1e3 * lab_median(times, runs);
        row->y[0] = lab_relative_error(gradient, reference, mo_numel(p->theta));
    }
    free(times);
    return fine;
}

static void measure_all(const lab_problem *p, const lab_options *o, lab_table *table, double *work) {
    int64_t n = mo_numel(p->theta);
    char lines[256];
    difference_gradient(p, work, work + n);
    snprintf(lines, sizeof lines,
        "%s: %s\ngradient in %lld hyper-parameters, error relative to central differences in float64", p->kind->name,
        p->kind->meaning, (long long)n);
    if (mo_ok(p->ctx))
        lab_table_open(table, lines);
    bool fine = true;
    for (int method = 0; method < LAB_METHODS; method++)
        for (int i = 0; o->methods[method] && fine && i < o->n_iterations; i++) {
            lab_table_row row = {.series = method, .x = (double)o->iterations[i]};
            fine =
                mo_ok(p->ctx) && measure_method(p, o->runs, work + n, work + 2 * n, &row) && lab_table_add(table, row);
        }
}

void lab_adjoint(mo_context *ctx, const lab_options *o, lab_table *table) {
    lab_problem p;
    lab_open(&p, ctx, &lab_kinds[o->problem], o->seed, o->n);
    snprintf(table->title, sizeof table->title, "Gradient through a solver: %s", mo_ok(ctx) ? p.kind->meaning : "");
    table->series_name = table->series_head = "method";
    for (int i = 0; i < LAB_METHODS; i++)
        table->series[i] = lab_methods[i];
    table->x_name = table->x_head = "iterations";
    table->x_whole = true;
    table->columns = columns;
    table->n_columns = 3;
    table->problem = p.kind->name;
    double *work = mo_ok(ctx) ? malloc(3 * (size_t)mo_numel(p.theta) * sizeof *work) : NULL;
    if (work)
        measure_all(&p, o, table, work);
    else if (mo_ok(ctx))
        mo_fail(ctx, MO_MEMORY, "lab: out of memory");
    free(work);
    lab_close(&p);
}
