/* tools/eval/table.c - tables of accuracy by k, with trained weights and baselines side by side, and differences
 * between columns. These are paired, since all readouts use the same splits or episodes. */
#include "tools/eval/table.h"

#include "tools/cli/memory.h"

#include <inttypes.h>
#include <math.h>
#include <stb/stb_ds.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- figures ---- */

/* Copies a name for printing, without terminal control characters. */
static void put_printable(char *to, size_t bytes, const char *text) {
    snprintf(to, bytes, "%s", text);
    make_printable(to);
}

void add_figure(figure **list, const mo_eval_row *row, const char *block, const char *protocol, mo_seen seen) {
    figure x = {.protocol = protocol,
        .k = row->k,
        .mean = row->mean,
        .ci95 = row->ci95,
        .n = row->n,
        .small_classes = row->small_classes,
        .left_out = row->left_out,
        .classes = row->classes,
        .seen = seen};
    put_printable(x.data, sizeof x.data, row->data);
    put_printable(x.task, sizeof x.task, row->task);
    put_printable(x.features, sizeof x.features, row->features);
    put_printable(x.head, sizeof x.head, row->head);
    put_printable(x.metric, sizeof x.metric, row->metric);
    put_printable(x.block, sizeof x.block, block);
    mo_describe_shares(row->experts, row->n_experts, x.experts, sizeof x.experts);
    if (row->n > 0) {
        x.values = needed(calloc((size_t)row->n, sizeof *x.values));
        memcpy(x.values, row->values, (size_t)row->n * sizeof *x.values);
    }
    arrput(*list, x);
}

void free_figures(figure *list) {
    for (int i = 0; i < arrlen(list); i++)
        free(list[i].values);
    arrfree(list);
}

/* Returns whether two figures have the same data set, task and metric. */
static bool same_subject(const figure *a, const figure *b) {
    return !strcasecmp(a->data, b->data) && !strcmp(a->task, b->task) && !strcmp(a->metric, b->metric);
}

static bool same_table(const figure *a, const figure *b) {
    return same_subject(a, b) && !strcmp(a->block, b->block);
}

/* Returns the figure of a subject at k under a head, NULL if there is none. Inner products have no k: their figure
 * stands at every k. */
static const figure *find_figure(
    const figure *list, int n, const figure *subject, int64_t k, const char *features, const char *block) {
    for (int i = 0; i < n; i++) {
        const figure *x = &list[i];
        if (same_subject(x, subject) && (x->k == k || (x->k == 0 && !strcmp(x->task, "lp"))) &&
            !strcmp(x->features, features) && !strcmp(x->block, block))
            return x;
    }
    return NULL;
}

/* ---- making a table ---- */

/* A column: the figures with the same features. */
typedef struct table_column {
    const char *features, *title;
    const char *other_head; /* the head of the column's figures if it is not the table's; else NULL */
    mo_seen seen;           /* whether the weights of the column's figures have seen the graph */
} table_column;

typedef struct table_row {
    int64_t k;
    const figure *first, *cell[MAX_COLUMNS]; /* first: the first figure at this k; cell: NULL if a column has none */
} table_row;

typedef struct figure_table {
    const figure *subject; /* the figure that the table starts with */
    int n;
    table_column column[MAX_COLUMNS];
    table_row *rows; /* stb_ds array */
} figure_table;

/* Returns whether item i is the first figure of its table. */
static bool starts_table(const figure *list, int i) {
    int earlier = 0;
    while (earlier < i && !same_table(&list[earlier], &list[i]))
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

/* Returns the index of the column with these features; -1 if there is none. */
static int find_column(const figure_table *t, const char *features) {
    for (int i = 0; i < t->n; i++)
        if (!strcmp(t->column[i].features, features))
            return i;
    return -1;
}

/* Adds a figure of the table: its column and its row, if they are new. */
static void take_figure(figure_table *t, const figure *x) {
    int column = find_column(t, x->features), row = 0;
    if (column < 0 && t->n < MAX_COLUMNS) {
        column = t->n++;
        t->column[column] = (table_column){.features = x->features,
            .title = title_of(x->features),
            .other_head = strcmp(x->head, x->block) ? x->head : NULL};
    }
    if (column >= 0 && x->seen > t->column[column].seen)
        t->column[column].seen = x->seen;
    while (row < arrlen(t->rows) && t->rows[row].k != x->k)
        row++;
    if (row == arrlen(t->rows))
        arrput(t->rows, ((table_row){.k = x->k, .first = x}));
}

/* Makes the table that starts with the figure `first`, with columns in order of appearance. Free its rows. */
static figure_table make_table(const figure *list, int n, int first) {
    figure_table t = {.subject = &list[first]};
    for (int i = first; i < n; i++)
        if (same_table(t.subject, &list[i]))
            take_figure(&t, &list[i]);
    for (int row = 0; row < arrlen(t.rows); row++)
        for (int i = 0; i < t.n; i++)
            t.rows[row].cell[i] =
                find_figure(list, n, t.subject, t.rows[row].k, t.column[i].features, t.subject->block);
    return t;
}

/* ---- printing it ---- */

/* Returns the mark behind a title or a star: "†" if the weights were trained on the graph, "?" if they may have been,
 * else "". */
static const char *seen_mark(mo_seen seen) {
    return seen == MO_SEEN ? "†" : seen == MO_SEEN_UNKNOWN ? "?" : "";
}

/* Prints the number of public splits, seeds or episodes that a mean is over. For links this is the number of splits,
 * which are called seeds. */
static void print_repeats(const figure *x) {
    if (!strcmp(x->protocol, "public")) {
        printf(x->n > 1 ? ", n = %" PRId64 " public splits" : ", the public split", x->n);
        return;
    }
    bool episodes = !strcmp(x->protocol, "episode") && strcmp(x->task, "lp") != 0;
    printf(", n = %" PRId64 " %s%s", x->n, episodes ? "episode" : "seed", x->n == 1 ? "" : "s");
}

static void print_subject(const figure_table *t) {
    const figure *x = t->subject;
    int others = 0;
    printf("\n%s %s, %s head", x->data, x->task, x->block);
    for (int i = 0; i < t->n; i++)
        if (t->column[i].other_head)
            printf("%s%s: %s", others++ ? ", " : " (", t->column[i].title, t->column[i].other_head);
    printf("%s, %s in %s", others ? ")" : "", x->metric, strcmp(x->metric, "nll") ? "%" : "hundredths of a nat");
    print_repeats(x);
    if (!strcmp(x->task, "lp"))
        printf(", %s", !strcmp(x->protocol, "near") ? "all pairs two steps apart" : "against random pairs");
    putchar('\n');
}

static void print_titles(const figure_table *t) {
    printf("%6s", "k");
    for (int i = 0; i < t->n; i++) {
        int room = t->column[i].seen ? 11 : 12; /* the mark is one column wide, but printf counts its bytes */
        printf("  %*.*s%s", room, room, t->column[i].title, seen_mark(t->column[i].seen));
    }
}

static void print_value(double mean, double width) {
    if (isnan(mean))
        printf("  %12s", "-");
    else if (isnan(width))
        printf("  %5.1f       ", mean);
    else
        printf("  %5.1f ± %4.1f", mean, width); /* printf counts bytes, and the plus-minus sign has two, so no width is
                                                 * given for it */
}

static void print_row(const figure_table *t, const table_row *row) {
    printf("%6" PRId64, row->k);
    for (int i = 0; i < t->n; i++) {
        const figure *x = row->cell[i];
        print_value(x ? x->mean : NAN, x ? x->ci95 : NAN);
    }
}

/* Prints one line if some classes have too few examples, so that their support repeats some. */
static void print_small_classes(const figure_table *t) {
    int said = 0;
    bool episode = !strcmp(t->subject->protocol, "episode");
    for (int row = 0; row < arrlen(t->rows); row++) {
        const figure *x = t->rows[row].first;
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
static void print_left_out_classes(const figure *x) {
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
        const figure *x = t->rows[row].cell[column];
        if (x && x->experts[0])
            printf("%s k = %" PRId64 " %s", said++ ? ";" : "decided by:", x->k, x->experts);
    }
    if (said)
        putchar('\n');
}

/* ---- differences between columns ---- */

/* The difference of two means and the half width of its 95% interval. */
typedef struct difference {
    double mean, ci95;
    mo_seen seen; /* whether the weights of either figure have seen the graph */
} difference;

static bool leaves_out_zero(difference d) {
    return fabs(d.mean) > d.ci95;
}

/* Subtracts the figures of two cells, repeat by repeat; returns false if one is missing or they have no spread. */
static bool subtract_figures(const figure *a, const figure *b, difference *d) {
    if (!a || !b || a->n != b->n || a->n < 2)
        return false;
    *d = (difference){
        a->mean - b->mean, mo_summarize_pairs(a->values, b->values, a->n).ci95, a->seen > b->seen ? a->seen : b->seen};
    return true;
}

/* Prints a difference at k, after `before` others of its line. */
static void print_difference(int before, int64_t k, difference d) {
    printf("%s k = %" PRId64 " %+.1f ± %.1f%s", before ? "," : "", k, d.mean, d.ci95, leaves_out_zero(d) ? "*" : "");
}

static void print_differences(const figure_table *t, const char *features, const char *other) {
    int found = 0, a = find_column(t, features), b = find_column(t, other);
    for (int row = 0; row < arrlen(t->rows) && a >= 0 && b >= 0; row++) {
        difference d;
        if (!subtract_figures(t->rows[row].cell[a], t->rows[row].cell[b], &d))
            continue;
        if (!found)
            printf("%s%s - %s, paired:", title_of(features), seen_mark(d.seen), title_of(other));
        print_difference(found++, t->rows[row].k, d);
    }
    if (found)
        putchar('\n');
}

/* Prints how a table's head differs from the head `other` in the column `trained` or, if there is none, in the last
 * column. */
static void print_heads(const figure_table *t, const figure *list, int n, const char *other, const char *trained) {
    int found = 0, column = find_column(t, trained);
    if (column < 0)
        column = t->n - 1;
    const char *head = t->subject->block, *features = t->column[column].features;
    for (int row = 0; row < arrlen(t->rows) && strcmp(head, other) != 0; row++) {
        difference d;
        if (!subtract_figures(
                t->rows[row].cell[column], find_figure(list, n, t->subject, t->rows[row].k, features, other), &d))
            continue;
        if (!found)
            printf("%s head - %s head, %s, paired:", head, other, title_of(features));
        print_difference(found++, t->rows[row].k, d);
    }
    if (found)
        putchar('\n');
}

static void print_table(const figure_table *t, const char *trained) {
    static const char *const baselines[] = {"random", "free", "x0", "hop"};
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
    for (int i = 0; i < 4; i++)
        if (strcmp(trained, baselines[i]) != 0)
            print_differences(t, trained, baselines[i]);
}

void print_eval_tables(const figure *list, int n, const char *trained) {
    for (int i = 0; i < n; i++)
        if (starts_table(list, i)) {
            figure_table t = make_table(list, n, i);
            int first = 0;
            while (!same_subject(&list[first], t.subject))
                first++;
            print_table(&t, trained);
            print_heads(&t, list, n, list[first].block, trained);
            arrfree(t.rows);
        }
    fflush(stdout);
}

json_t *json_seen(mo_seen seen) {
    return seen == MO_SEEN_UNKNOWN ? json_null() : json_boolean(seen == MO_SEEN);
}

/* ---- graphs that the weights were trained on ---- */

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
