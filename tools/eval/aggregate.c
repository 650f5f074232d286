/* tools/eval/aggregate.c - the paper's normalised aggregate (its appendix "Normalized Aggregate Score"):
 *     S_t = 1/|C_t| sum_c v_c / v*_c,    S = mean_t S_t,
 * v_c a method's accuracy (nodes, graphs) or AUC (links) on cell c, v*_c the best v_c of all methods. */
#include "tools/eval/aggregate.h"

#include "tools/eval/eval_table.h"

#include <math.h>
#include <stb/stb_ds.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static int task_number(const result *x) {
    for (int task = 0; task < MO_TASKS; task++)
        if (!strcmp(x->task, mo_task_name((mo_task)task)))
            return task;
    return -1;
}

/* Whether a figure is part of the aggregate; beside published ones, links of one k alone are. */
static bool result_counts(const result *x, bool published) {
    bool links = !strcmp(x->task, "lp");
    const char *metric = links ? "auc" : "accuracy";
    if (links && published && x->k && x->k != PAPER_LINKS_K)
        return false;
    return task_number(x) >= 0 && !strcmp(x->metric, metric) && isfinite(x->mean) && strcmp(x->features, "paper best");
}

static bool same_cell(const result *a, const result *b) {
    return same_subject(a, b) && !strcmp(a->protocol, b->protocol) && (a->k == b->k || !strcmp(a->task, "lp"));
}

typedef struct cell {
    const result *first; /* its first figure, which names it */
    double best;
    int lists, last; /* the lists that have a figure, and the last of them */
} cell;

static bool is_of_method(const aggregate *a, const result *x, int list) {
    return a->list == list && !strcmp(a->features, x->features) && !strcmp(a->head, x->head);
}

static void add_result(const result *x, int list, aggregate **methods, cell **cells) {
    int m = 0, c = 0;
    while (m < arrlen(*methods) && !is_of_method(&(*methods)[m], x, list))
        m++;
    if (m == arrlen(*methods)) {
        aggregate *a = arraddnptr(*methods, 1);
        memset(a, 0, sizeof *a);
        a->list = list;
        memcpy(a->features, x->features, sizeof a->features);
        memcpy(a->head, x->head, sizeof a->head);
    }
    while (c < arrlen(*cells) && !same_cell((*cells)[c].first, x))
        c++;
    if (c == arrlen(*cells))
        arrput(*cells, ((cell){x, x->mean, 1, list}));
    (*cells)[c].best = fmax((*cells)[c].best, x->mean);
    (*cells)[c].lists += (*cells)[c].last != list;
    (*cells)[c].last = list;
}

/* Leaves the cells for which every one of n lists has a figure. */
static void keep_common_cells(cell **cells, int n) {
    int kept = 0;
    for (int c = 0; c < arrlen(*cells); c++)
        if ((*cells)[c].lists == n)
            (*cells)[kept++] = (*cells)[c];
    if (*cells)
        arrsetlen(*cells, (size_t)kept);
}

/* The method's figure on a cell, for links its figure at the largest number of shots; NaN if it has none. */
static double aggregate_figure(const results *list, const aggregate *a, const result *cell, bool published) {
    double value = NAN;
    for (int j = 0; j < arrlen(list->items); j++) {
        const result *x = &list->items[j];
        if (result_counts(x, published) && same_cell(cell, x) && is_of_method(a, x, a->list))
            value = x->mean;
    }
    return value;
}

static void sum_up_cells(const results *list, aggregate *a, const cell *cells, bool published) {
    int families = 0;
    for (int c = 0; c < arrlen(cells); c++) {
        int task = task_number(cells[c].first);
        a->family[task] += aggregate_figure(list, a, cells[c].first, published) / cells[c].best;
        a->cells[task]++;
    }
    for (int task = 0; task < MO_TASKS; task++)
        if (a->cells[task]) {
            a->family[task] /= a->cells[task];
            a->S += a->family[task];
            families++;
        }
    a->S /= families;
}

static double order_of(const aggregate *a) {
    double nc = a->family[MO_TASK_NC];
    return isfinite(a->S) ? 10 + a->S : isfinite(nc) ? nc : -1;
}

static int by_score(const void *x, const void *y) {
    double a = order_of(x), b = order_of(y);
    return a < b ? 1 : a > b ? -1 : strcmp(((const aggregate *)x)->features, ((const aggregate *)y)->features);
}

aggregate *aggregate_results(const results *const *lists, int n) {
    aggregate *methods = NULL;
    cell *cells = NULL;
    bool published = false;
    for (int i = 0; i < n; i++)
        published |= lists[i]->paper;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < arrlen(lists[i]->items); j++)
            if (result_counts(&lists[i]->items[j], published))
                add_result(&lists[i]->items[j], i, &methods, &cells);
    keep_common_cells(&cells, n);
    if (!arrlen(cells))
        arrfree(methods);
    for (int m = 0; m < arrlen(methods); m++) {
        sum_up_cells(lists[methods[m].list], &methods[m], cells, published);
        methods[m].label = n > 1 ? lists[methods[m].list]->label : NULL;
    }
    arrfree(cells);
    if (methods)
        qsort(methods, (size_t)arrlen(methods), sizeof *methods, by_score);
    return methods;
}

static void print_share(double value) {
    if (isfinite(value))
        printf("  %6.3f", value);
    else
        printf("  %6s", "-");
}

void print_aggregates(const aggregate *list) {
    if (!arrlen(list))
        return;
    printf("\nnormalised aggregate: the mean over %d (nc), %d (lp), %d (gc) cells of figure / best figure%s\n",
        list->cells[MO_TASK_NC], list->cells[MO_TASK_LP], list->cells[MO_TASK_GC],
        list->label ? " of any file; the cells are those that all files have" : "");
    printf(list->label ? "%-12s " : "", "file");
    printf("%-24s %-16s  %6s  %6s  %6s  %6s\n", "features", "head", "S", "nc", "lp", "gc");
    for (int i = 0; i < arrlen(list); i++) {
        if (list[i].label)
            printf("%-12.12s ", list[i].label);
        printf("%-24s %-16s", list[i].features, list[i].head);
        print_share(list[i].S);
        for (int task = 0; task < MO_TASKS; task++)
            print_share(list[i].cells[task] ? list[i].family[task] : NAN);
        putchar('\n');
    }
}

/* ---- means over k ---- */

enum { PAPER_SHOTS = 6 };
static const int64_t paper_shots[PAPER_SHOTS] = {4, 8, 16, 32, 64, 512};

/* Whether two figures differ in nothing but k. */
static bool same_but_k(const result *a, const result *b) {
    return same_block(a, b) && !strcmp(a->features, b->features) && !strcmp(a->head, b->head) &&
           !strcmp(a->protocol, b->protocol);
}

void add_means_over_k(results *r) {
    int n = (int)arrlen(r->items);
    for (int i = 0; i < n; i++) {
        int found = 0;
        double sum = 0;
        for (int s = 0; s < PAPER_SHOTS; s++)
            for (int j = 0; j < n; j++)
                if (r->items[j].k == paper_shots[s] && same_but_k(&r->items[i], &r->items[j])) {
                    sum += r->items[j].mean;
                    found++;
                    break;
                }
        result mean = r->items[i];
        if (found < PAPER_SHOTS || mean.k != paper_shots[0] || strcmp(mean.task, "nc") ||
            strcmp(mean.metric, "accuracy"))
            continue;
        snprintf(mean.metric, sizeof mean.metric, "accuracy_over_k");
        mean.k = 0;
        mean.values = NULL;
        mean.mean = sum / PAPER_SHOTS;
        mean.sd = mean.ci95 = mean.sd_weights = NAN;
        arrput(r->items, mean);
    }
}
