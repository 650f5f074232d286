/* tools/eval/table.c - tables of accuracy by k, with trained weights and baselines side by side, and differences
 * between columns. These are paired, since all readouts use the same splits or episodes. */
#include "tools/eval/table.h"

#include <inttypes.h>
#include <math.h>
#include <stb/stb_ds.h>
#include <stdio.h>
#include <string.h>

/* ---- making a table ---- */

static bool same_table(const result *a, const result *b) {
    return same_subject(a, b) && !strcmp(a->block, b->block);
}

bool starts_table(const results *list, int first, int i) {
    int earlier = first;
    while (earlier < i && !same_table(&list->items[earlier], &list->items[i]))
        earlier++;
    return earlier == i;
}

/* The title of a column: a description for baselines, else the features' name. */
static const char *title_of(const char *features) {
    static const char *const titles[][2] = {{"random", "untrained"}, {"x0", "raw features"}, {"hop", "best hop"}};
    for (int i = 0; i < 3; i++)
        if (!strcmp(features, titles[i][0]))
            return titles[i][1];
    return features;
}

static table_column *add_column(figure_table *t, const results *list, const char *features, const char *title) {
    for (int i = 0; i < t->n; i++)
        if (t->column[i].list == list && !strcmp(t->column[i].features, features))
            return &t->column[i];
    if (t->n == MAX_COLUMNS)
        return NULL;
    table_column *c = &t->column[t->n++];
    *c = (table_column){.list = list};
    snprintf(c->features, sizeof c->features, "%s", features);
    snprintf(c->title, sizeof c->title, "%s", title);
    return c;
}

/* Returns whether a figure x belongs to the table of the figure `row`. A published figure does if find_result finds it
 * for that row, unless it is one of list->best, the second copies of the best methods' figures. */
static bool is_of_table(const results *list, const result *x, const result *row) {
    if (!list->paper)
        return same_table(row, x);
    return strcmp(x->features, list->best) != 0 && find_result(list, row, row->k, x->features, row->block) == x;
}

/* Adds the columns that a list has in the table of the figure `row`. */
static void add_columns(figure_table *t, const results *list, const result *row) {
    static const char *const paper_columns[][2] = {
        {"MOCHI", "paper MOCHI"}, {"MOCHI++", "MOCHI++"}, {"paper best", "paper best"}};
    bool tables =
        list->paper && !strcmp(list->label, "paper"); /* shows only the paper's own methods and the best of all */
    for (int i = 0; tables && i < 3; i++)
        if (find_result(list, row, row->k, paper_columns[i][0], row->block))
            add_column(t, list, paper_columns[i][0], paper_columns[i][1]);
    for (int i = 0; !tables && i < arrlen(list->items); i++) {
        const result *x = &list->items[i];
        const int n = t->n;
        table_column *c = is_of_table(list, x, row) ? add_column(t, list, x->features, title_of(x->features)) : NULL;
        if (c && t->n > n && !list->paper && strcmp(x->head, x->block) != 0)
            c->other_head = x->head;
        if (c && x->seen > c->seen)
            c->seen = x->seen;
    }
}

static void add_rows(figure_table *t, const results *list, int first) {
    for (int i = first; i < arrlen(list->items); i++) {
        const result *x = &list->items[i];
        int row = 0;
        while (row < arrlen(t->rows) && t->rows[row].k != x->k)
            row++;
        if (same_table(t->subject, x) && row == arrlen(t->rows))
            arrput(t->rows, ((table_row){.k = x->k, .first = x}));
    }
}

figure_table make_table(const results *const *lists, int n, int first) {
    figure_table t = {.subject = &lists[0]->items[first]};
    add_rows(&t, lists[0], first);
    add_columns(&t, lists[0], t.subject);
    t.own = t.n;
    for (int i = 1; i < n; i++)
        for (int row = 0, before = t.n; row < arrlen(t.rows) && t.n == before; row++)
            add_columns(&t, lists[i], t.rows[row].first);
    for (int row = 0; row < arrlen(t.rows); row++)
        for (int i = 0; i < t.n; i++)
            t.rows[row].cell[i] =
                find_result(t.column[i].list, t.subject, t.rows[row].k, t.column[i].features, t.subject->block);
    return t;
}

void release_table(figure_table *t) {
    arrfree(t->rows);
}

int find_column(const figure_table *t, const char *features) {
    for (int i = 0; i < t->own; i++)
        if (!strcmp(t->column[i].features, features))
            return i;
    return -1;
}

/* ---- printing it ---- */

/* Prints the number of public splits, seeds or episodes that a mean is over. For links this is the number of splits,
 * which are called seeds. */
static void print_repeats(const result *x) {
    if (!strcmp(x->protocol, "public")) {
        printf(x->n > 1 ? ", n = %" PRId64 " public splits" : ", the public split", x->n);
        return;
    }
    bool episodes = !strcmp(x->protocol, "episode") && strcmp(x->task, "lp") != 0;
    printf(", n = %" PRId64 " %s%s", x->n, episodes ? "episode" : "seed", x->n == 1 ? "" : "s");
}

void print_subject(const figure_table *t) {
    const result *x = t->subject;
    int others = 0;
    printf("\n%s %s, %s head", x->data, x->task, x->block);
    for (int i = 0; i < t->n; i++)
        if (t->column[i].other_head)
            printf("%s%s: %s", others++ ? ", " : " (", t->column[i].title, t->column[i].other_head);
    printf("%s, %s in %s", others ? ")" : "", x->metric, strcmp(x->metric, "nll") ? "%" : "hundredths of a nat");
    print_repeats(x);
    putchar('\n');
}

void print_titles(const figure_table *t) {
    printf("%6s", "k");
    for (int i = 0; i < t->n; i++) {
        int room = t->column[i].seen ? 11 : 12; /* the mark is one column wide, but printf counts its bytes */
        printf("  %*.*s%s", room, room, t->column[i].title, seen_mark(t->column[i].seen));
    }
}

void print_value(double mean, double width) {
    if (isnan(mean))
        printf("  %12s", "-");
    else if (isnan(width))
        printf("  %5.1f       ", mean);
    else
        printf("  %5.1f ± %4.1f", mean, width); /* printf counts bytes, and the plus-minus sign has two, so no width is
                                                 * given for it */
}

void print_row(const figure_table *t, const table_row *row) {
    printf("%6" PRId64, row->k);
    for (int i = 0; i < t->n; i++) {
        const result *x = row->cell[i];
        print_value(x ? x->mean : NAN, !x ? NAN : t->column[i].list->paper ? x->sd : x->ci95);
    }
}

/* Prints one line if some classes have too few examples, so that their support repeats some. */
static void print_small_classes(const figure_table *t) {
    int said = 0;
    bool episode = !strcmp(t->subject->protocol, "episode");
    for (int row = 0; row < arrlen(t->rows); row++) {
        const result *x = t->rows[row].first;
        if (x->small_classes)
            printf("%s%" PRId64 " of %" PRId64 " %s at k = %" PRId64,
                said++    ? ", "
                : episode ? "fewer examples than k and the queries: "
                          : "fewer than k examples: ",
                x->small_classes, x->classes, strcmp(x->task, "lp") ? "classes" : "kinds", x->k);
    }
    if (said)
        puts(episode ? "; support and queries share them, some repeated"
                     : "; their support is all of their examples, some repeated");
}

/* Prints one line if a problem omits classes. */
static void print_left_out_classes(const result *x) {
    bool divided = !strcmp(x->protocol, "public");
    const char *classes = x->left_out == 1 ? "class" : "classes";
    if (x->left_out && divided)
        printf("left out: %s%" PRId64 " %s without a training node%s, with the test nodes\n", x->n > 1 ? "up to " : "",
            x->left_out, classes, x->n > 1 ? " in a split" : "");
    else if (x->left_out)
        printf("left out: %" PRId64 " %s of a single example\n", x->left_out, classes);
}

/* Prints the experts' shares in the mixture readout of the column `trained`, at each k. */
static void print_experts(const figure_table *t, const char *trained) {
    int said = 0, column = find_column(t, trained);
    for (int row = 0; row < arrlen(t->rows) && column >= 0; row++) {
        const result *x = t->rows[row].cell[column];
        if (x && x->experts[0])
            printf("%s k = %" PRId64 " %s", said++ ? ";" : "decided by:", x->k, x->experts);
    }
    if (said)
        putchar('\n');
}

static void print_table(const figure_table *t, const char *trained) {
    print_subject(t);
    print_titles(t);
    putchar('\n');
    for (int row = 0; row < arrlen(t->rows); row++) {
        print_row(t, &t->rows[row]);
        putchar('\n');
    }
    print_small_classes(t);
    print_left_out_classes(t->subject);
    if (!strcmp(t->subject->metric, "accuracy"))
        print_experts(t, trained);
    print_pairs(t, trained);
}

/* ---- differences between columns ---- */

bool leaves_out_zero(difference d) {
    return fabs(d.mean) > d.ci95;
}

/* Subtracts column b from column a; returns false if the figures cannot be paired. */
static bool subtract_columns(const table_row *row, int a, int b, difference *d) {
    if (a < 0 || b < 0 || !row->cell[a] || !row->cell[b])
        return false;
    *d = subtract_results(row->cell[a], row->cell[b]);
    return d->paired;
}

/* Prints a difference at k, after `before` others of its line. */
static void print_difference(int before, int64_t k, difference d) {
    printf("%s k = %" PRId64 " %+.1f ± %.1f%s", before ? "," : "", k, d.mean, d.ci95, leaves_out_zero(d) ? "*" : "");
}

static void print_differences(const figure_table *t, const char *features, const char *other) {
    int found = 0, a = find_column(t, features), b = find_column(t, other);
    for (int row = 0; row < arrlen(t->rows); row++) {
        difference d;
        if (!subtract_columns(&t->rows[row], a, b, &d))
            continue;
        if (!found)
            printf("%s%s - %s, paired:", title_of(features), seen_mark(d.seen), title_of(other));
        print_difference(found++, t->rows[row].k, d);
    }
    if (found)
        putchar('\n');
}

/* Prints how a table's head differs from the head of its subject's first table, in the column `trained` or, if there is
 * none, in the last column of the first list. Prints nothing below the first table. */
static void print_heads(const figure_table *t, const results *list, int first, const char *trained) {
    int found = 0, column = find_column(t, trained);
    if (column < 0)
        column = t->own - 1;
    while (!same_subject(&list->items[first], t->subject))
        first++;
    const char *head = t->subject->block, *other = list->items[first].block, *features = t->column[column].features;
    for (int row = 0; row < arrlen(t->rows) && strcmp(head, other) != 0; row++) {
        const result *x = t->rows[row].cell[column],
                     *y = find_result(list, t->subject, t->rows[row].k, features, other);
        difference d = {0};
        if (x && y)
            d = subtract_results(x, y);
        if (!d.paired)
            continue;
        if (!found)
            printf("%s head - %s head, %s, paired:", head, other, title_of(features));
        print_difference(found++, t->rows[row].k, d);
    }
    if (found)
        putchar('\n');
}

typedef enum verdict { WITHIN_NOISE, WORSE } verdict;

/* Prints at which k the column `features` is within noise of the column `other`, or worse. Prints nothing if there is
 * no such k. */
static void print_verdict(const figure_table *t, const char *features, const char *other, verdict v) {
    const char *metric = t->subject->metric;
    bool loss = !strcmp(metric, "nll") || !strcmp(metric, "ece");
    int found = 0, a = find_column(t, features), b = find_column(t, other);
    for (int row = 0; row < arrlen(t->rows); row++) {
        difference d;
        if (!subtract_columns(&t->rows[row], a, b, &d) ||
            (v == WORSE ? !((loss ? -d.mean : d.mean) + d.ci95 < 0) : leaves_out_zero(d)))
            continue;
        if (!found++ && v == WORSE)
            printf("%s is worse than %s%s:", title_of(features), title_of(other), loss ? " (less is better)" : "");
        else if (found == 1)
            printf("%s is within noise of %s at k =", title_of(features), title_of(other));
        printf("%s%s %" PRId64, found > 1 ? "," : "", v == WORSE ? " k =" : "", t->rows[row].k);
        if (v == WORSE)
            printf(" (%s%.1f ± %.1f)", loss ? "+" : "", d.mean, d.ci95);
    }
    if (found)
        putchar('\n');
}

void print_pairs(const figure_table *t, const char *features) {
    static const char *const others[] = {"random", "free", "x0", "hop"};
    for (int i = 0; i < 4; i++)
        if (strcmp(features, others[i]) != 0)
            print_differences(t, features, others[i]);
    for (verdict v = WITHIN_NOISE; v <= WORSE; v++)
        for (int i = 0; i < 4; i++)
            if (strcmp(features, others[i]) != 0)
                print_verdict(t, features, others[i], v);
}

bool print_eval_tables(const results *list, int first, const results *paper, const char *trained) {
    bool any = false;
    for (int i = first; i < arrlen(list->items); i++)
        if (starts_table(list, first, i)) {
            figure_table t = make_table((const results *[]){list, paper}, 2, i);
            print_table(&t, trained);
            print_heads(&t, list, first, trained);
            any |= t.n > t.own;
            release_table(&t);
        }
    fflush(stdout);
    return any;
}

bool print_pair_objects(const figure_table *t, const char *label) {
    const result *x = t->subject;
    bool written = true;
    for (int row = 0; row < arrlen(t->rows); row++)
        for (int a = 0; a < t->own; a++)
            for (int b = a + 1; b < t->own && written; b++) {
                difference d;
                if (!subtract_columns(&t->rows[row], a, b, &d))
                    continue;
                json_t *o = json_pack("{s:s, s:s, s:s, s:s, s:I, s:s, s:s, s:s, s:o, s:o, s:b, s:b, s:o}", "kind",
                    "pair", "data", x->data, "task", x->task, "metric", x->metric, "k", (json_int_t)t->rows[row].k,
                    "head", x->block, "features", t->column[a].features, "other_features", t->column[b].features,
                    "difference", json_number(d.mean), "ci95", json_number(d.ci95), "paired", d.paired, "apart",
                    leaves_out_zero(d), "seen", json_seen(d.seen));
                if (label)
                    json_object_set_new(o, "file", json_string(label));
                written = print_json(o);
            }
    return written;
}

/* ---- graphs that the weights were trained on ---- */

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
