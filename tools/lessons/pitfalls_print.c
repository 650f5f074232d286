/* tools/lessons/pitfalls_print.c - the figures of the synthetic experiments as tables with a plot beside them, and as
 * JSON. */
#include "tools/lessons/pitfalls.h"

#include <inttypes.h>
#include <math.h>
#include <stb/stb_ds.h>
#include <stdio.h>
#include <string.h>

enum { PLOT = 31 };

static mo_summary summary_of(const pitfall_figures *f, const pitfall_row *r) {
    return r ? mo_summarize(r->values, f->seeds) : (mo_summary){.mean = NAN, .sd = NAN, .ci95 = NAN};
}

static mo_summary pitfall_summary(
    const pitfall_figures *f, const char *setting, double x, const char *head, const char *metric) {
    return summary_of(f, find_pitfall(f, setting, x, head, metric));
}

static void print_value(mo_summary s, int digits) {
    if (isnan(s.ci95))
        printf("  %7.*f      ", digits, s.mean);
    else
        printf("  %7.*f ± %-4.*f", digits, s.mean, digits, s.ci95);
}

/* Prints p and r on a line from low to high, * if they coincide. */
static void print_plot(double p, double r, double low, double high) {
    char line[PLOT + 1];
    int at[2] = {
        (int)lround((p - low) / (high - low) * (PLOT - 1)), (int)lround((r - low) / (high - low) * (PLOT - 1))};
    memset(line, ' ', PLOT);
    line[PLOT] = '\0';
    for (int i = 0; i < 2; i++)
        at[i] = at[i] < 0 ? 0 : at[i] >= PLOT ? PLOT - 1 : at[i];
    line[at[0]] = 'p';
    line[at[1]] = at[0] == at[1] ? '*' : 'r';
    printf("   |%s|\n", line);
}

static void print_origin(const pitfall_figures *f) {
    const pitfalls_setup *p = &pitfalls_parameters;
    printf("origin: two classes %g apart, noise %g, all moved by t along the line between them\n"
           "        (%" PRId64 " rows in %" PRId64 " dimensions, half of them support; ridge with lambda = %g)\n\n",
        p->origin.margin, p->origin.noise, 2 * p->origin.per_class, p->d, p->origin.lambda);
    printf("%6s  %14s  %14s    %-*s%s\n", "t", "prototype %", "ridge %", PLOT - 2, "40", "100");
    for (int i = 0; i < p->origin.n_steps; i++) {
        double t = p->origin.step[i];
        mo_summary a = pitfall_summary(f, "t", t, "prototype_inner", "accuracy"),
                   b = pitfall_summary(f, "t", t, "ridge", "accuracy");
        printf("%6.2f", t);
        print_value(a, 1);
        print_value(b, 1);
        print_plot(a.mean, b.mean, 40, 100);
    }
    puts("\n        Distances between rows stay as they are; the boundary of two prototypes stays at the origin.\n");
}

static void print_hull(const pitfall_figures *f) {
    const pitfalls_setup *p = &pitfalls_parameters;
    printf("hull: A has two modes at (-+delta, 1), B and C lie at (-0.6 delta, -0.5) and (0.6 delta, -0.5), noise %g\n"
           "      (%" PRId64 " rows a class in %" PRId64
           " dimensions, half of them support; ridge with lambda = %g)\n\n",
        p->hull.noise, p->hull.per_class, p->d, p->hull.lambda);
    printf("%36s%32s%28s\n%6s  %14s", "recall of A %", "accuracy %", "recall of A", "delta", "prototype");
    printf("  %14s  %14s  %14s  %5s    %-*s%s\n", "ridge", "prototype", "ridge", "p_A", PLOT - 3, "0", "100");
    for (int i = 0; i < p->hull.n_steps; i++) {
        double delta = p->hull.step[i];
        mo_summary a = pitfall_summary(f, "delta", delta, "prototype_inner", "recall_A"),
                   b = pitfall_summary(f, "delta", delta, "ridge", "recall_A");
        printf("%6.2f", delta);
        print_value(a, 1);
        print_value(b, 1);
        print_value(pitfall_summary(f, "delta", delta, "prototype_inner", "accuracy"), 1);
        print_value(pitfall_summary(f, "delta", delta, "ridge", "accuracy"), 1);
        printf("  %5.2f", pitfall_summary(f, "delta", delta, "prototype_inner", "hull_distance").mean);
        print_plot(a.mean, b.mean, 0, 100);
    }
    puts("\n      p_A: distance of A's prototype to the hull of the others'.");
    for (int i = 0; pitfalls_hull_notes[i]; i++)
        printf("      %s\n", pitfalls_hull_notes[i]);
    putchar('\n');
}

/* The number of seeds on which the ece of one readout is above the other's. */
static int64_t count_above(const pitfall_figures *f, const char *setting, const char *above, const char *below) {
    const pitfall_row *a = find_pitfall(f, setting, NAN, above, "ece"),
                      *b = find_pitfall(f, setting, NAN, below, "ece");
    int64_t count = 0;
    for (int64_t i = 0; a && b && i < f->seeds; i++)
        count += a->values[i] > b->values[i];
    return count;
}

static void print_order(const pitfall_figures *f, const char *setting) {
    printf("             %s: prototype above temperature on %" PRId64 " of %" PRId64
           " seeds, temperature above logistic on %" PRId64 ".\n",
        setting, count_above(f, setting, "prototype_inner", "temperature"), f->seeds,
        count_above(f, setting, "temperature", "logistic"));
}

static void print_calibration(const pitfall_figures *f) {
    const pitfalls_setup *p = &pitfalls_parameters;
    printf("calibration: %" PRId64 " classes of %" PRId64 " rows in %" PRId64
           " dimensions, in random directions, half of them support\n"
           "             shifted: at radius %g, noise %g, all moved by a vector of length %g; logistic, lambda = %g\n"
           "             radius:  at radii %g to %g, noise %g; logistic, lambda = %g\n\n",
        p->calibration.classes, p->calibration.per_class, p->d, p->calibration.shifted_radius,
        p->calibration.shifted_noise, p->calibration.shift, p->calibration.shifted_lambda, p->calibration.radius_low,
        p->calibration.radius_high, p->calibration.radius_noise, p->calibration.radius_lambda);
    printf("  %-9s%-12s  %15s  %7s  %15s\n", "", "", "ece", "paper", "accuracy %");
    for (int i = 0; i < arrlen(f->rows); i++) {
        const pitfall_row *r = &f->rows[i];
        if (strcmp(r->metric, "ece"))
            continue;
        printf("  %-9s%-12s", r->setting, r->head);
        print_value(summary_of(f, r), 4);
        printf("  %7.3g", pitfalls_paper_ece(r->setting, r->head));
        print_value(pitfall_summary(f, r->setting, NAN, r->head, "accuracy"), 1);
        putchar('\n');
    }
    puts("\n             temperature: prototypes after one temperature, fitted to the support.");
    print_order(f, "shifted");
    print_order(f, "radius");
    for (int i = 0; pitfalls_calibration_notes[i]; i++)
        printf("             %s\n", pitfalls_calibration_notes[i]);
    putchar('\n');
}

void pitfalls_print(const pitfall_figures *figures, int which) {
    if (which & PITFALL_ORIGIN)
        print_origin(figures);
    if (which & PITFALL_HULL)
        print_hull(figures);
    if (which & PITFALL_CALIBRATION)
        print_calibration(figures);
    printf("%" PRId64 " seeds; ± is the half width of the 95%% interval of the mean\n", figures->seeds);
}

/* ---- JSON ---- */

static bool print_row_object(const pitfall_figures *f, const pitfall_row *r) {
    mo_summary s = summary_of(f, r);
    json_t *values = json_array();
    for (int64_t i = 0; i < f->seeds; i++)
        json_array_append_new(values, json_number(r->values[i]));
    return print_json(json_pack("{s:s, s:s, s:s, s:o, s:s, s:s, s:o, s:o, s:o, s:o}", "kind", "pitfall", "pitfall",
        r->pitfall, "setting", r->setting, "x", json_number(r->x), "head", r->head, "metric", r->metric, "mean",
        json_number(s.mean), "sd", json_number(s.sd), "ci95", json_number(s.ci95), "values", values));
}

static bool print_pitfall_reliability_object(const pitfall_reliability *d) {
    json_t *o = json_pack("{s:s, s:s, s:s}", "kind", "reliability", "setting", d->setting, "head", d->head);
    return json_object_update_new(o, calibration_bins(&d->counts)) == 0 && print_json(o);
}

bool pitfalls_print_objects(const pitfall_figures *figures) {
    bool written = true;
    for (int i = 0; written && i < arrlen(figures->rows); i++)
        written = print_row_object(figures, &figures->rows[i]);
    for (int i = 0; written && i < arrlen(figures->reliability); i++)
        written = print_pitfall_reliability_object(&figures->reliability[i]);
    return written;
}
