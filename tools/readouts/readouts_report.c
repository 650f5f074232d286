/* tools/readouts/readouts_report.c - the table of `mochi readouts`. */
#include "tools/readouts/readouts.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

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
