/* tools/readouts/readouts_compare.c - compares heads: paired differences of accuracy, and a verdict. */
#include "tools/readouts/readouts.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

enum { MOST_HEADS = 32 };

/* Returns the mean of a - b in percent, paired; n is 0 if the two have fewer than two outcomes, or not equally many. */
static mo_summary subtract_heads(const mo_eval_row *a, const mo_eval_row *b) {
    bool paired = a->values && b->values && a->n == b->n && a->n > 1;
    return paired ? mo_summarize_pairs(a->values, b->values, a->n) : (mo_summary){0};
}

static bool heads_are_apart(mo_summary d) {
    return fabs(d.mean) > d.ci95;
}

static void print_problem(const mo_eval_row *row) {
    if (row->split)
        printf("on the split: ");
    else
        printf("k = %" PRId64 ": ", row->k);
}

/* The accuracy of guessing in percent, if no head's interval lies above it; else NaN. Episodes have equally many
 * queries of each class; a division that the user gave (classes: 0) has not. */
static double chance_of_all(const mo_eval_row *rows, int n, int64_t classes) {
    double chance = classes ? 100.0 / (double)classes : NAN;
    for (int i = 0; i < n; i++)
        if (rows[i].mean - rows[i].ci95 > chance)
            chance = NAN;
    return chance;
}

/* Prints the verdict on n heads at one k. */
static void print_one_verdict(const mo_eval_row *rows, int n, int64_t classes, bool first) {
    const mo_eval_row *best = NULL, *near[MOST_HEADS];
    int found = 0, others = -1;
    for (int i = 0; i < n; i++)
        if (rows[i].values && rows[i].n > 1) {
            best = !best || rows[i].mean > best->mean ? &rows[i] : best;
            others++;
        }
    if (others < 1)
        return;
    for (int i = 0; i < n && found < MOST_HEADS; i++)
        if (&rows[i] != best && rows[i].values && !heads_are_apart(subtract_heads(best, &rows[i])))
            near[found++] = &rows[i];
    fputs(first ? "\nverdict " : "        ", stdout);
    print_problem(best);
    double chance = chance_of_all(rows, n, classes);
    if (!isnan(chance)) {
        printf("no head is above chance, %.1f%%\n", chance);
        return;
    }
    if (found == 0)
        printf("%s is ahead of %s", best->head, others > 1 ? "the others" : rows[best == rows].head);
    else if (found == 1)
        printf("%s and %s are within noise of each other", best->head, near[0]->head);
    for (int i = 0; found > 1 && i < found; i++)
        printf("%s%s", i == 0 ? "" : i == found - 1 ? " and " : ", ", near[i]->head);
    if (found > 1)
        printf(" are within noise of %s, the best", best->head);
    if (found > 0 && found < others)
        printf("; %s is ahead of the others", best->head);
    putchar('\n');
}

void readouts_print_verdict(const mo_eval_row *rows, int n_rows, int n_heads, int64_t classes) {
    for (int i = 0; i + n_heads <= n_rows; i += n_heads)
        print_one_verdict(rows + i, n_heads, classes, i == 0);
}

static bool print_head_pair(const mo_eval_row *a, const mo_eval_row *b, bool json) {
    mo_summary d = subtract_heads(a, b);
    if (!d.n)
        return true;
    if (json)
        return print_json(json_pack("{s:s, s:I, s:s, s:s, s:o, s:o, s:I, s:b}", "kind", "fit pair", "k",
            (json_int_t)a->k, "head", a->head, "other_head", b->head, "difference", json_number(d.mean), "ci95",
            json_number(d.ci95), "n", (json_int_t)d.n, "apart", heads_are_apart(d)));
    printf("%6" PRId64 "  %-20s%-22s%+8.2f ±%6.2f%s\n", a->k, a->head, b->head, d.mean, d.ci95,
        heads_are_apart(d) ? "*" : "");
    return true;
}

bool readouts_print_pairs(const mo_eval_row *rows, int n_rows, int n_heads, bool json) {
    bool written = true;
    if (!json)
        printf("\n%6s  %-20s%-22s%s\n", "k", "head", "minus the head", "accuracy %, paired");
    for (int first = 0; first + n_heads <= n_rows; first += n_heads)
        for (int i = first; i < first + n_heads; i++)
            for (int j = i + 1; written && j < first + n_heads; j++)
                written = print_head_pair(&rows[i], &rows[j], json);
    return written;
}

/* ---- a sweep ---- */

static bool print_sweep_object(const mo_eval_row *r) {
    json_t *o =
        json_pack("{s:s, s:I, s:s, s:f, s:o, s:o, s:o, s:o, s:o, s:s*}", "kind", "fit sweep", "k", (json_int_t)r->k,
            "head", r->head, "value", r->value, "accuracy", json_number(r->mean), "ci95", json_number(r->ci95), "nll",
            json_number(r->nll), "ece", json_number(r->ece), "held_nll", json_number(r->held_nll), "error", r->failure);
    if (r->chosen >= 0)
        json_object_set_new(o, "chosen", json_integer(r->chosen));
    return print_json(o);
}

bool readouts_print_sweep(const mo_eval_row *rows, int n_rows, bool json) {
    bool written = true;
    if (n_rows && !json)
        printf("\n%6s  %-20s%12s%16s%9s%10s%9s\n", "k", "head", "value", "accuracy %", "nll", "held out",
            rows[0].chosen >= 0 ? "chosen" : "");
    for (const mo_eval_row *r = rows; r < rows + n_rows && written; r++) {
        if (json) {
            written = print_sweep_object(r);
            continue;
        }
        printf("%6" PRId64 "  %-20s%12.4g", r->k, r->head, r->value);
        if (r->failure)
            printf("%16s%9s%10s", r->failure, "-", "-");
        else
            printf("%8.2f ±%6.2f%9.3f%10.3f", r->mean, r->ci95, r->nll, r->held_nll);
        if (r->chosen >= 0)
            printf("%9" PRId64, r->chosen);
        putchar('\n');
    }
    return written;
}
