/* tools/readouts/readouts_report.c - the table of `mochi readouts` and the diagnosis below it. */
#include "tools/readouts/readouts.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const quarters[MO_NORM_PARTS] = {"lowest", "second", "third", "highest"};

enum { PLOT = 41 /* columns: one for 2.5% */ };

void readouts_print_title(const mo_embeddings *E, const readouts_options *o, const mo_plan *split) {
    const char *rows = o->in.rows;
    int64_t ways = o->in.fit.ways;
    int64_t least = E->count[0], most = E->count[0];
    for (int64_t c = 1; c < E->graph->classes; c++) {
        least = E->count[c] < least ? E->count[c] : least;
        most = E->count[c] > most ? E->count[c] : most;
    }
    const char *given = mo_dtype_name(E->given), *computed = mo_dtype_name(mo_tensor_dtype(E->Z));
    bool same = E->given == mo_tensor_dtype(E->Z);
    printf("%s: %" PRId64 " %s rows of %" PRId64 "%s%s%s, %" PRId64 " classes of %" PRId64 " to %" PRId64 " rows\n",
        rows, mo_dim(E->Z, 0), given, mo_dim(E->Z, 1), same ? "" : " (computed in ", same ? "" : computed,
        same ? "" : ")", E->graph->classes, least, most);
    if (E->unlabelled)
        printf("%" PRId64 " of %" PRId64 " rows are unlabelled and left out\n", E->unlabelled,
            E->unlabelled + mo_dim(E->Z, 0));
    if (split)
        printf("a split: %" PRId64 " rows of %" PRId64 " classes to learn from, %" PRId64
               " to test on; k: rows of the smallest class\n",
            split->n_support, split->classes, split->n_query);
    else if (ways < E->graph->classes)
        printf("%" PRId64 " of %" PRId64 " classes take part in an episode (--ways)\n", ways, E->graph->classes);
    printf("\n%6s  %-20s%16s%9s%8s%8s%8s", "k", "head", "accuracy %", "nll", "nll(T)", "ece", "ece(T)");
    if (o->metrics)
        printf("%8s%8s%8s", "F1 %", "AUC", "top 3 %");
    if (o->plot)
        printf("  %-*s%s", PLOT - 4, "0", "100%");
    printf("%9s\n", "seconds");
    fflush(stdout);
}

/* Prints a number >= 0 in `columns` columns: a dash for NaN, large numbers with an exponent. */
static void print_number(const char *format, int columns, double value) {
    if (isnan(value))
        printf("%*s", columns, "-");
    else if (value >= 1e4)
        printf("%*.1e", columns, value);
    else
        printf(format, columns, value);
}

double readouts_macro_f1(const mo_embeddings *E, const mo_eval_row *row) {
    mo_confusion x = {0};
    double sum = 0;
    int64_t classes = 0;
    if (row->predicted && mo_confusion_count(E, row, &x) == MO_OK)
        for (int64_t c = 0; c < x.classes; c++) {
            mo_class_figures f = mo_confusion_class(&x, c);
            sum += f.n && f.f1 > 0 ? f.f1 : 0; /* a class that is never predicted counts as 0 */
            classes += f.n > 0;
        }
    mo_confusion_release(&x);
    return classes ? 100 * sum / (double)classes : NAN;
}

/* Draws an accuracy and its interval: "    |--o--|   ". */
static void draw_accuracy(const mo_eval_row *r) {
    double low = r->mean - r->ci95, high = r->mean + r->ci95;
    char line[PLOT + 1];
    for (int i = 0; i < PLOT; i++) {
        double left = 100.0 * (i - 0.5) / (PLOT - 1), right = 100.0 * (i + 0.5) / (PLOT - 1);
        line[i] = r->mean >= left && r->mean < right ? 'o' : high >= left && low < right ? '-' : ' ';
    }
    line[PLOT] = 0;
    printf("  %s", line);
}

void readouts_print_row(const mo_eval_row *r, const readouts_options *o, double f1) {
    if (r->failure) {
        printf("%6" PRId64 "  %-20s%16s  %s\n", r->k, r->head, "-", r->failure);
        fflush(stdout);
        return;
    }
    printf("%6" PRId64 "  %-20s%8.2f ±", r->k, r->head, r->mean);
    print_number("%*.2f", 6, r->ci95);
    print_number("%*.3f", 9, r->nll);
    print_number("%*.3f", 8, r->nll_temperature);
    print_number("%*.3f", 8, r->ece);
    print_number("%*.3f", 8, r->ece_temperature);
    if (o->metrics) {
        print_number("%*.2f", 8, f1);
        print_number("%*.3f", 8, r->auc);
        print_number("%*.2f", 8, r->top);
    }
    if (o->plot)
        draw_accuracy(r);
    printf("%9.3f\n", r->seconds);
    fflush(stdout);
}

bool readouts_print_row_object(const mo_eval_row *r, double f1) {
    return print_json(json_pack("{s:s, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:s*}", "head",
        r->head, "k", (json_int_t)r->k, "accuracy", json_number(r->mean), "ci95", json_number(r->ci95), "nll",
        json_number(r->nll), "brier", json_number(r->brier), "ece", json_number(r->ece), "nll_temperature",
        json_number(r->nll_temperature), "ece_temperature", json_number(r->ece_temperature), "macro_f1",
        json_number(f1), "auc", json_number(r->auc), "top3", json_number(r->top), "seconds", json_number(r->seconds),
        "error", r->failure));
}

/* ---- diagnosis ---- */

static double mean_confidence(const mo_calibration *c) {
    double sum = 0;
    for (int b = 0; b < MO_ECE_BINS; b++)
        sum += c->bin[b].confidence;
    return c->n ? sum / (double)c->n : NAN;
}

static double accuracy_of(const mo_calibration *c) {
    return c->n ? (double)c->right / (double)c->n : NAN;
}

static void print_geometry(const mo_embeddings *E, const mo_diagnosis *x, double epsilon) {
    int64_t inside = 0, included = 0, flagged = 0, nearest = 0;
    for (int64_t c = 0; c < x->classes; c++) {
        inside += x->prototype[c].inside;
        included += x->prototype[c].included;
        flagged += x->prototype[c].flagged;
        nearest = x->prototype[c].distance < x->prototype[nearest].distance ? c : nearest;
    }
    printf("\noffset  the mean is %.3g from the origin, %.2f times the spread within classes (%.3g);\n"
           "        the boundaries of %" PRId64 " of %" PRId64 " pairs of prototypes have all their rows on one side\n",
        x->offset, x->spread > 0 ? x->offset / x->spread : INFINITY, x->spread, x->missed, x->pairs);
    printf("hull    %" PRId64 " of %" PRId64 " prototypes inside the hull of the others, %" PRId64
           " within epsilon = %g, %" PRId64 " flagged as interior;\n"
           "        nearest: class %s, %.3f of the mean distance, wins a score by %.3g at most\n",
        inside, x->classes, included, epsilon, flagged, E->name[nearest], x->prototype[nearest].distance,
        x->prototype[nearest].distance * x->mean_distance * x->radius);
}

static void print_prototypes(const mo_embeddings *E, const mo_diagnosis *x) {
    int width = 12; /* columns of the longest label */
    for (int64_t c = 0; c < x->classes; c++) {
        int own = (int)strlen(E->name[c]);
        width = own > width ? own : width;
    }
    printf("\n%*s%8s%10s%16s%12s\n", width, "class", "rows", "|p|", "hull distance", "normalised");
    for (int64_t c = 0; c < x->classes; c++) {
        const mo_prototype *p = &x->prototype[c];
        printf("%*s%8" PRId64 "%10.4g%16.4g%12.4f  %s%s%s\n", width, E->name[c], E->count[c], p->norm,
            p->distance * x->mean_distance, p->distance, p->outer ? "outer " : "",
            p->inside     ? "INSIDE "
            : p->included ? "epsilon-included "
                          : "",
            p->flagged ? "flagged" : "");
    }
}

/* Prints confidence and accuracy of the queries in each quarter of the norms |z|. */
static void print_norms(const mo_eval_row *rows, int n_rows) {
    printf("\nconfidence / accuracy of queries by |z|, in quarters of all rows\n%6s  %-20s", "k", "head");
    for (int part = 0; part < MO_NORM_PARTS; part++)
        printf("%14s", quarters[part]);
    putchar('\n');
    for (int i = 0; i < n_rows; i++) {
        if (rows[i].failure)
            continue;
        printf("%6" PRId64 "  %-20s", rows[i].k, rows[i].head);
        for (int part = 0; part < MO_NORM_PARTS; part++)
            printf("   %.3f/%.3f", mean_confidence(&rows[i].by_norm[part]), accuracy_of(&rows[i].by_norm[part]));
        putchar('\n');
    }
}

void readouts_print_norm_line(const mo_eval_row *rows, int n_rows) {
    const mo_eval_row *worst = rows;
    double largest = -1;
    for (int i = 0; i < n_rows; i++) {
        const mo_calibration *part = rows[i].by_norm;
        double gap = fabs(mean_confidence(&part[MO_NORM_PARTS - 1]) - mean_confidence(&part[0]));
        if (gap > largest) {
            largest = gap;
            worst = &rows[i];
        }
    }
    const mo_calibration *low = &worst->by_norm[0], *high = &worst->by_norm[MO_NORM_PARTS - 1];
    if (largest >= 0)
        printf("norm    %s, k = %" PRId64 ": confidence %.2f and accuracy %.2f in the lowest quarter of |z|,\n"
               "        %.2f and %.2f in the highest (--diagnose: class by class, head by head)\n",
            worst->head, worst->k, mean_confidence(low), accuracy_of(low), mean_confidence(high), accuracy_of(high));
}

void readouts_print_diagnosis(
    const mo_embeddings *E, const mo_diagnosis *x, const mo_eval_row *rows, int n_rows, bool whole, double epsilon) {
    print_geometry(E, x, epsilon);
    if (whole) {
        print_prototypes(E, x);
        print_norms(rows, n_rows);
    } else {
        readouts_print_norm_line(rows, n_rows);
    }
}

static bool print_prototype_object(const mo_embeddings *E, const mo_diagnosis *x, int64_t c) {
    const mo_prototype *p = &x->prototype[c];
    return print_json(json_pack("{s:s, s:I, s:I, s:o, s:o, s:o, s:b, s:b, s:b, s:b, s:[o, o], s:s*}", "diagnosis",
        "class", "class", (json_int_t)E->value[c], "rows", (json_int_t)E->count[c], "norm", json_number(p->norm),
        "hull_distance", json_number(p->distance * x->mean_distance), "hull_distance_normalised",
        json_number(p->distance), "inside", p->inside, "epsilon_included", p->included, "outer", p->outer, "flagged",
        p->flagged, "plane", json_number(p->x), json_number(p->y), "name", E->texts ? E->name[c] : NULL));
}

static bool print_norm_object(const mo_eval_row *r, int part) {
    const mo_calibration *c = &r->by_norm[part];
    return print_json(json_pack("{s:s, s:s, s:I, s:s, s:I, s:o, s:o, s:o}", "diagnosis", "norm", "head", r->head, "k",
        (json_int_t)r->k, "quarter", quarters[part], "queries", (json_int_t)c->n, "accuracy",
        json_number(100 * accuracy_of(c)), "confidence", json_number(mean_confidence(c)), "ece",
        json_number(mo_calibration_ece(c))));
}

/* Prints the calibration over all queries, whatever the norms of their rows, one entry per bin of confidence. */
static bool print_fit_reliability_object(const mo_eval_row *r) {
    mo_calibration all = {0};
    for (int part = 0; part < MO_NORM_PARTS; part++)
        mo_calibration_merge(&all, &r->by_norm[part]);
    json_t *o = json_pack("{s:s, s:s, s:I}", "diagnosis", "reliability", "head", r->head, "k", (json_int_t)r->k);
    return json_object_update_new(o, calibration_bins(&all)) == 0 && print_json(o);
}

bool readouts_print_diagnosis_objects(
    const mo_embeddings *E, const mo_diagnosis *x, const mo_eval_row *rows, int n_rows) {
    bool written = print_json(json_pack("{s:s, s:o, s:o, s:o, s:o, s:I, s:I}", "diagnosis", "offset", "offset",
        json_number(x->offset), "spread", json_number(x->spread), "radius", json_number(x->radius), "mean_distance",
        json_number(x->mean_distance), "pairs", (json_int_t)x->pairs, "pairs_missed", (json_int_t)x->missed));
    for (int64_t c = 0; written && c < x->classes; c++)
        written = print_prototype_object(E, x, c);
    for (int i = 0; written && i < n_rows; i++)
        written = rows[i].failure || print_fit_reliability_object(&rows[i]);
    for (int i = 0; written && i < n_rows; i++)
        for (int part = 0; written && !rows[i].failure && part < MO_NORM_PARTS; part++)
            written = print_norm_object(&rows[i], part);
    return written;
}
