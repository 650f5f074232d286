/* tools/eval/pairs.c - differences between the columns of a table: all readouts meet the same splits or episodes. */
#include "tools/eval/pairs.h"

#include <inttypes.h>
#include <math.h>
#include <stb/stb_ds.h>
#include <stdio.h>
#include <string.h>

static bool leaves_out_zero(difference d) {
    return fabs(d.mean) > d.ci95;
}

/* The figures a and b of one row; false where they are not of pairs. */
static bool subtract_columns(
    const results *list, const result *row, const char *features, const char *other, difference *d) {
    const result *a = find_result(list, row, row->k, features, row->block),
                 *b = find_result(list, row, row->k, other, row->block);
    if (!a || !b)
        return false;
    *d = subtract_results(a, b);
    return d->paired;
}

static void print_line(const results *list, int first, const char *features, const char *other) {
    int found = 0;
    for (int i = first; i < arrlen(list->items); i++) {
        difference d;
        if (!starts_row(list, first, i) || !subtract_columns(list, &list->items[i], features, other, &d))
            continue;
        if (!found++)
            printf("%s%s - %s, of pairs:", features, seen_mark(d.seen), other);
        printf("%s k = %" PRId64 " %+.1f ± %.1f%s", found > 1 ? "," : "", list->items[i].k, d.mean, d.ci95,
            leaves_out_zero(d) ? "*" : "");
    }
    if (found)
        putchar('\n');
}

/* Whether less is better. */
static bool is_loss(const char *metric) {
    return !strcmp(metric, "nll") || !strcmp(metric, "ece");
}

/* A verdict, with the k for which it holds; nothing where it holds for none. */
typedef enum verdict { WITHIN_NOISE, WORSE } verdict;

static void print_verdict(const results *list, int first, const char *features, const char *other, verdict v) {
    bool random = !strcmp(other, "random"), loss = is_loss(list->items[first].metric);
    int found = 0;
    for (int i = first; i < arrlen(list->items); i++) {
        difference d;
        if (!starts_row(list, first, i) || !subtract_columns(list, &list->items[i], features, other, &d) ||
            (v == WORSE ? !((loss ? -d.mean : d.mean) + d.ci95 < 0) : leaves_out_zero(d)))
            continue;
        if (!found++ && v == WORSE)
            printf("%s %s%s:", loss ? "above" : "below", random ? "the untrained encoder" : other,
                loss ? " (less is better)" : "");
        else if (found == 1)
            printf("%s is within noise of %s at k =", features, random ? "untrained (random)" : other);
        printf("%s%s %" PRId64, found > 1 ? "," : "", v == WORSE ? " k =" : "", list->items[i].k);
        if (v == WORSE)
            printf(" (%s%.1f ± %.1f)", loss ? "+" : "", d.mean, d.ci95);
    }
    if (found)
        putchar('\n');
}

void print_pairs(const results *list, int first, const char *features) {
    static const char *const others[] = {"random", "free", "x0", "hop"};
    for (int i = 0; i < 4; i++)
        if (strcmp(features, others[i]) != 0)
            print_line(list, first, features, others[i]);
    for (verdict v = WITHIN_NOISE; v <= WORSE; v++)
        for (int i = 0; i < 4; i++)
            if (strcmp(features, others[i]) != 0)
                print_verdict(list, first, features, others[i], v);
}

static bool print_pair_json(
    const result *row, const char *label, const char *features, const char *other, difference d) {
    json_t *o = json_pack("{s:s, s:s, s:s, s:s, s:I, s:s, s:s, s:s, s:o, s:o, s:b, s:b, s:o}", "kind", "pair", "data",
        row->data, "task", row->task, "metric", row->metric, "k", (json_int_t)row->k, "head", row->block, "features",
        features, "other_features", other, "difference", json_number(d.mean), "ci95", json_number(d.ci95), "paired",
        d.paired, "apart", leaves_out_zero(d), "seen", json_seen(d.seen));
    if (label)
        json_object_set_new(o, "file", json_string(label));
    return print_json(o);
}

static bool print_row_json(const results *list, const result *row, const char *label) {
    table_column columns[MAX_COLUMNS];
    int n = add_columns(columns, 0, list, row);
    for (int a = 0; a < n; a++)
        for (int b = a + 1; b < n; b++) {
            difference d;
            if (subtract_columns(list, row, columns[a].features, columns[b].features, &d) &&
                !print_pair_json(row, label, columns[a].features, columns[b].features, d))
                return false;
        }
    return true;
}

bool print_pairs_json(const results *list, int first, const result *block, const char *label) {
    for (int i = first; i < arrlen(list->items); i++) {
        int earlier = first;
        while (earlier < i &&
               !(same_block(&list->items[earlier], &list->items[i]) && list->items[earlier].k == list->items[i].k))
            earlier++;
        if (earlier == i && (!block || same_block(block, &list->items[i])) &&
            !print_row_json(list, &list->items[i], label))
            return false;
    }
    return true;
}
