/* tools/eval/eval_table.c - accuracy by k, trained and baselines side by side. */
#include "tools/eval/eval_table.h"
#include "tools/eval/pairs.h"

#include <inttypes.h>
#include <math.h>
#include <stb/stb_ds.h>
#include <stdio.h>
#include <string.h>

static const char *const paper_columns[][2] = {
    {"MOCHI", "paper MOCHI"}, {"MOCHI++", "MOCHI++"}, {"paper best", "paper best"}};

bool same_block(const result *a, const result *b) {
    return same_subject(a, b) && !strcmp(a->block, b->block);
}

bool starts_row(const results *list, int first, int i) {
    const result *block = &list->items[first], *items = list->items;
    int earlier = first;
    while (earlier < i && !(same_block(block, &items[earlier]) && items[earlier].k == items[i].k))
        earlier++;
    return earlier == i && same_block(block, &items[i]);
}

/* Whether published figures have a row, of equal k. */
static bool in_paper(const results *paper, const result *row) {
    for (int i = 0; i < arrlen(paper->items); i++)
        if (same_subject(&paper->items[i], row) && equal_shots(paper, &paper->items[i], row->k))
            return !strcmp(paper->items[i].protocol, "public") == !strcmp(row->protocol, "public");
    return false;
}

const char *seen_mark(mo_seen seen) {
    return seen == MO_SEEN ? "†" : seen == MO_SEEN_UNKNOWN ? "?" : "";
}

void note_seen(seen_graphs graphs, const char *data, mo_seen seen) {
    for (int i = 0; i < graphs[seen].count; i++)
        if (!strcmp(graphs[seen].items[i], data))
            return;
    append_name(&graphs[seen], data);
}

void print_seen(const seen_graphs graphs) {
    static const char *const meaning[] = {[MO_SEEN] = "† the weights were trained on this graph",
        [MO_SEEN_UNKNOWN] = "? whether the weights were trained on this graph is unknown"};
    for (int seen = MO_SEEN; seen > MO_UNSEEN; seen--)
        for (int i = 0; i < graphs[seen].count; i++)
            printf("%s%s%s%s", i ? "" : meaning[seen], i ? ", " : ": ", graphs[seen].items[i],
                i == graphs[seen].count - 1 ? "\n" : "");
}

void free_seen(seen_graphs graphs) {
    for (int seen = MO_UNSEEN; seen <= MO_SEEN; seen++)
        free_names(&graphs[seen]);
}

static int add_column(table_column *c, const results *list, const char *features, const char *title) {
    c->list = list;
    c->seen = MO_UNSEEN;
    snprintf(c->features, sizeof c->features, "%s", features);
    snprintf(c->title, sizeof c->title, "%s", title);
    return 1;
}

/* Whether a figure is of the block: of published ones, which any readout may stand beside, but for the best of them. */
static bool is_of_block(const results *list, const result *x, const result *block) {
    if (!list->paper)
        return same_block(block, x);
    return strcmp(x->features, list->best) != 0 && find_result(list, block, block->k, x->features, block->block) == x;
}

int add_columns(table_column columns[MAX_COLUMNS], int n, const results *list, const result *block) {
    int start = n;
    bool tables = list->paper && !strcmp(list->label, "paper"); /* of too many methods to show */
    for (size_t i = 0; tables && i < sizeof paper_columns / sizeof *paper_columns && n < MAX_COLUMNS; i++)
        if (find_result(list, block, block->k, paper_columns[i][0], block->block))
            n += add_column(&columns[n], list, paper_columns[i][0], paper_columns[i][1]);
    for (int i = 0; !tables && i < arrlen(list->items) && n < MAX_COLUMNS; i++) {
        const result *x = &list->items[i];
        int known = start;
        while (known < n && strcmp(columns[known].features, x->features) != 0)
            known++;
        if (!is_of_block(list, x, block))
            continue;
        if (known == n)
            n += add_column(&columns[n], list, x->features, x->features);
        if (x->seen > columns[known].seen)
            columns[known].seen = x->seen;
    }
    return n - start;
}

void print_value(double mean, double width) {
    if (isnan(mean))
        printf("  %12s", "-");
    else if (isnan(width))
        printf("  %5.1f       ", mean);
    else
        printf("  %5.1f ± %4.1f", mean, width); /* the plus-minus sign has two bytes */
}

void print_titles(const table_column *columns, int n) {
    printf("%6s", "k");
    for (int i = 0; i < n; i++) {
        int room = columns[i].seen ? 11 : 12; /* a mark has one column, whatever its bytes */
        printf("  %*.*s%s", room, room, columns[i].title, seen_mark(columns[i].seen));
    }
}

void print_figures(const table_column *columns, int n, const result *block, int64_t k) {
    printf("%6" PRId64, k);
    for (int i = 0; i < n; i++) {
        const result *x = find_result(columns[i].list, block, k, columns[i].features, block->block);
        double width = !x ? NAN : columns[i].list->paper ? x->sd : x->ci95;
        print_value(x ? x->mean : NAN, width);
    }
}

/* The head of a column if it is not the block's, else NULL. */
static const char *other_head(const table_column *column, const result *block) {
    const results *list = column->list;
    for (int i = 0; !list->paper && i < arrlen(list->items); i++) {
        const result *x = &list->items[i];
        if (same_block(block, x) && !strcmp(x->features, column->features))
            return strcmp(x->head, x->block) ? x->head : NULL;
    }
    return NULL;
}

/* Prints the number of seeds or episodes behind a mean. Links are split under both protocols. */
static void print_repeats(const result *block) {
    if (!strcmp(block->protocol, "public")) {
        printf(block->n > 1 ? ", n = %" PRId64 " public splits" : ", the public split", block->n);
        return;
    }
    bool episodes = !strcmp(block->protocol, "episode") && strcmp(block->task, "lp") != 0;
    printf(", n = %" PRId64 " %s%s", block->n, episodes ? "episode" : "seed", block->n == 1 ? "" : "s");
}

/* Prints one line if some classes have fewer than k examples: their support is smaller than k. */
static void print_small_classes(const results *list, int first) {
    int said = 0;
    for (int i = first; i < arrlen(list->items); i++) {
        const result *x = &list->items[i];
        if (!starts_row(list, first, i) || !x->small_classes)
            continue;
        printf("%s%" PRId64 " of %" PRId64 " %s at k = %" PRId64,
            said++ ? ", " : "fewer than k examples: ", x->small_classes, x->classes,
            strcmp(x->task, "lp") ? "classes" : "kinds", x->k);
    }
    if (said)
        puts("; their support is all they have, then drawn from it again");
}

/* Prints, for the figures of the weights, what their readout rests on at each k. */
static void print_experts(const results *list, int first, const char *trained) {
    int said = 0;
    for (int i = first; i < arrlen(list->items); i++) {
        const result *x = &list->items[i];
        if (same_block(&list->items[first], x) && !strcmp(x->features, trained) && x->experts[0])
            printf("%s k = %" PRId64 " %s", said++ ? ";" : "decided by:", x->k, x->experts);
    }
    if (said)
        putchar('\n');
}

/* Prints one line if a problem leaves classes out. */
static void print_left_out_classes(const result *block) {
    bool divided = !strcmp(block->protocol, "public");
    const char *classes = block->left_out == 1 ? "class" : "classes";
    if (block->left_out && divided)
        printf("left out: %s%" PRId64 " %s without a training node%s, with the test nodes\n",
            block->n > 1 ? "up to " : "", block->left_out, classes, block->n > 1 ? " in a split" : "");
    else if (block->left_out)
        printf("left out: %" PRId64 " %s of a single example\n", block->left_out, classes);
}

void print_subject(const table_column *columns, int n, const result *block) {
    int others = 0;
    printf("\n%s %s, %s head", block->data, block->task, block->block);
    for (int i = 0; i < n; i++)
        if (other_head(&columns[i], block))
            printf("%s%s: %s", others++ ? ", " : " (", columns[i].title, other_head(&columns[i], block));
    printf("%s, %s in %%", others ? ")" : "", block->metric);
    print_repeats(block);
    putchar('\n');
}

static bool print_block(const results *list, int first, const results *paper, const char *trained) {
    const result *block = &list->items[first];
    table_column columns[MAX_COLUMNS];
    int n = add_columns(columns, 0, list, block), own = n;
    for (int i = first; i < arrlen(list->items) && n == own; i++)
        if (starts_row(list, first, i) && in_paper(paper, &list->items[i]))
            n += add_columns(columns, n, paper, &list->items[i]);
    print_subject(columns, n, block);
    print_titles(columns, n);
    putchar('\n');
    for (int i = first; i < arrlen(list->items); i++) {
        if (!starts_row(list, first, i))
            continue;
        print_figures(columns, n, block, list->items[i].k);
        putchar('\n');
    }
    print_small_classes(list, first);
    print_left_out_classes(block);
    if (!strcmp(block->metric, "accuracy"))
        print_experts(list, first, trained);
    print_pairs(list, first, trained);
    return n > own;
}

bool print_eval_table(const results *list, int first, const results *paper, const char *trained) {
    bool any = false;
    for (int i = first; i < arrlen(list->items); i++) {
        int earlier = first;
        while (earlier < i && !same_block(&list->items[earlier], &list->items[i]))
            earlier++;
        if (earlier == i)
            any |= print_block(list, i, paper, trained);
    }
    fflush(stdout);
    return any;
}
