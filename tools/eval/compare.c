/* tools/eval/compare.c - `mochi compare`: compares evaluations with each other or with the paper's tables. */
#include "tools/eval/table.h"
#include "tools/options.h"

#include <math.h>
#include <stb/stb_ds.h>
#include <stdio.h>
#include <string.h>

enum { MAX_FILES = 6 };

typedef struct compare_options {
    const char *files[MAX_FILES];
    int n;
    names heads, metrics; /* empty: all */
    const char *features; /* the features to compare; NULL: those of each table's first column */
    bool json;
} compare_options;

static const char about[] =
    "Compares evaluations that `mochi eval --json` wrote; `paper` stands for the paper's tables, `public` for "
    "published figures of other methods on the public split (`mochi eval --protocol public`). Prints a column for "
    "each kind of features in each file, and the differences between the first file and every other one.\v"
    "± is the half width of the 95% interval, for the paper the standard deviation. A difference is of paired values "
    "if both files have the same number of seeds or episodes of one protocol, else Welch's; * marks an interval that "
    "does not contain 0. † marks figures on a graph that the weights were trained on, ? those where that is "
    "unknown.\n\nExamples:\n"
    "  mochi compare a.jsonl b.jsonl --head ridge --metric accuracy\n"
    "  mochi compare a.jsonl paper\n"
    "  mochi eval --protocol public --json > p.jsonl; mochi compare p.jsonl public";

/* ---- options ---- */

#define AT(field) offsetof(compare_options, field)

static const option table[] = {
    {OPTION_NAMES, "head", "NAMES", AT(heads), "only figures of these readouts (default: all)", .choices = HEADS},
    {OPTION_NAMES, "metric", "NAMES", AT(metrics),
        "only figures of these metrics: accuracy, auc, ap, .. (default: all)",
        .choices = "accuracy|nll|ece|auc|ap|mrr|hits_rank|hits_ogb|hits_pooled"},
    {OPTION_TEXT, "features", "NAME", AT(features),
        "the features whose figures are subtracted: trained, best, hop .. (default: the first of each block; for the "
        "paper the best)"},
    JSON_OPTION(compare_options, json, "one JSON object per difference on standard output"),
    {OPTION_END},
};

static void take_file(void *options, const char *word, const struct argp_state *state) {
    compare_options *o = options;
    if (o->n == MAX_FILES)
        refuse_command_line(state, EXIT_USAGE, "'%s': expected at most %d files", word, MAX_FILES);
    o->files[o->n++] = word;
}

static void check_files(void *options, const struct argp_state *state) {
    const compare_options *o = options;
    if (o->n < 2)
        refuse_command_line(
            state, EXIT_USAGE, "expected two files of `mochi eval --json`, or one and paper or public, found %d", o->n);
}

const command_line compare_line = {
    .table = table, .words = "FILE FILE|paper|public..", .about = about, .take_word = take_file, .end = check_files};

static bool is_listed_name(const names *list, const char *name) {
    for (int i = 0; i < list->count; i++)
        if (!strcmp(list->items[i], name))
            return true;
    return list->count == 0;
}

/* ---- differences ---- */

/* The files to compare, and the state of the comparison. */
typedef struct comparison {
    const compare_options *options;
    results files[MAX_FILES];
    bool lost_output;
    int compared, apart; /* number of differences; number whose interval leaves out 0 */
    seen_graphs seen;    /* graphs of the printed tables */
} comparison;

/* Returns the index of the first figure in a list that belongs to the subject's table; -1 if there is none. */
static int find_table(const results *list, const result *subject) {
    for (int i = 0; i < arrlen(list->items); i++)
        if (same_subject(subject, &list->items[i]) && !strcmp(subject->block, list->items[i].block))
            return i;
    return -1;
}

/* Returns the features that a difference takes from a file. Published figures: the best method's. Other files: the
 * first of --features, `first` (the first file's features) and the table's first column for which the file has a
 * figure. */
static const char *find_minuend(const comparison *c, int file, const result *subject, const char *first) {
    const results *r = &c->files[file];
    const char *const wanted[] = {c->options->features, first};
    if (r->paper)
        return r->best;
    for (int i = 0; i < 2; i++)
        if (wanted[i] && find_result(r, subject, subject->k, wanted[i], subject->block))
            return wanted[i];
    int own = find_table(r, subject);
    return own < 0 ? NULL : r->items[own].features;
}

static bool print_difference_json(const result *a, const result *b, const results *of, difference d) {
    return print_json(json_pack("{s:s, s:s, s:s, s:s, s:I, s:s, s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:b, s:b, s:o}",
        "kind", "difference", "data", a->data, "task", a->task, "metric", a->metric, "k", (json_int_t)a->k, "head",
        a->block, "features", a->features, "other", of->label, "other_features", b->features, "mean",
        json_number(a->mean), "other_mean", json_number(b->mean), "difference", json_number(d.mean), "ci95",
        json_number(d.ci95), "paired", d.paired, "apart", leaves_out_zero(d), "seen", json_seen(d.seen)));
}

/* Prints the difference between the first file and another for one k. */
static void show_difference(comparison *c, int file, const result *subject, int64_t k) {
    const char *first = find_minuend(c, 0, subject, NULL), *other = find_minuend(c, file, subject, first);
    const result *a = first ? find_result(&c->files[0], subject, k, first, subject->block) : NULL;
    const result *b = other ? find_result(&c->files[file], subject, k, other, subject->block) : NULL;
    difference d = {.mean = NAN, .ci95 = NAN};
    if (a && b) {
        d = subtract_results(a, b);
        c->compared++;
        c->apart += leaves_out_zero(d);
    }
    if (!c->options->json) {
        print_value(d.mean, d.ci95);
        printf("%c%s", leaves_out_zero(d) ? '*' : ' ', seen_mark(d.seen));
    } else if (a && b && !c->lost_output) {
        c->lost_output = !print_difference_json(a, b, &c->files[file], d);
    }
}

/* ---- tables ---- */

static bool has_column(const figure_table *t, const results *list) {
    for (int i = 0; i < t->n; i++)
        if (t->column[i].list == list)
            return true;
    return false;
}

static void print_head(const comparison *c, const figure_table *t) {
    print_subject(t);
    printf("%6s", "");
    for (int i = 0; i < t->n; i++) {
        bool opens = i == 0 || t->column[i].list != t->column[i - 1].list;
        printf("  %12.12s", opens ? t->column[i].list->label : "");
    }
    putchar('\n');
    print_titles(t);
    for (int file = 1; file < c->options->n; file++) {
        char title[64];
        snprintf(title, sizeof title, "- %.40s", c->files[file].label);
        if (has_column(t, &c->files[file]))
            printf("  %12.12s ", title);
    }
    putchar('\n');
}

/* Prints how the first column of a file's table differs from the columns of the baselines (print_pairs); as JSON, the
 * differences of all pairs of columns. */
static void show_pairs(comparison *c, const results *list, const result *subject) {
    int first = find_table(list, subject);
    if (list->paper || first < 0)
        return;
    figure_table t = make_table(&list, 1, first);
    if (!c->options->json)
        print_pairs(&t, t.subject->features);
    else if (!c->lost_output)
        c->lost_output = !print_pair_objects(&t, list->label);
    release_table(&t);
}

/* Returns whether the paper has figures for the links of this data set, at any k. */
static bool has_links(const comparison *c, const result *subject) {
    for (int file = 1; file < c->options->n && !strcmp(subject->task, "lp"); file++)
        for (int i = 0; i < arrlen(c->files[file].items) && c->files[file].paper; i++)
            if (same_subject(&c->files[file].items[i], subject))
                return true;
    return false;
}

/* Prints a table of the first file if another file has figures for it. A table of links is printed also if the paper
 * has this data set only at other k; it then lacks the paper's columns. */
static void show_table(comparison *c, int first) {
    const results *lists[MAX_FILES];
    for (int file = 0; file < c->options->n; file++)
        lists[file] = &c->files[file];
    figure_table t = make_table(lists, c->options->n, first);
    bool shown = t.n > t.own || has_links(c, t.subject);
    for (int i = 0; i < t.n && shown; i++)
        note_seen(c->seen, t.subject->data, t.column[i].seen);
    if (shown && !c->options->json)
        print_head(c, &t);
    for (int row = 0; row < arrlen(t.rows) && shown; row++) {
        if (!c->options->json)
            print_row(&t, &t.rows[row]);
        for (int file = 1; file < c->options->n; file++)
            if (has_column(&t, lists[file]))
                show_difference(c, file, t.subject, t.rows[row].k);
        if (!c->options->json)
            putchar('\n');
    }
    for (int file = 0; file < c->options->n && shown; file++)
        show_pairs(c, lists[file], t.subject);
    release_table(&t);
}

static void show_all(comparison *c) {
    const results *list = &c->files[0];
    for (int i = 0; i < arrlen(list->items); i++)
        if (starts_table(list, 0, i) && is_listed_name(&c->options->heads, list->items[i].block) &&
            is_listed_name(&c->options->metrics, list->items[i].metric))
            show_table(c, i);
}

/* Returns whether a figure of any file has this head, metric or features. */
static bool occurs_in_files(const comparison *c, const char *option, const char *name) {
    for (int file = 0; file < c->options->n; file++)
        for (int i = 0; i < arrlen(c->files[file].items); i++) {
            const result *x = &c->files[file].items[i];
            const char *has = !strcmp(option, "head") ? x->block : !strcmp(option, "metric") ? x->metric : x->features;
            if (!strcmp(has, name))
                return true;
        }
    return false;
}

/* Returns false, after one line, if a name on the command line matches no figure. */
static bool names_occur(const comparison *c) {
    const compare_options *o = c->options;
    const names *lists[] = {&o->heads, &o->metrics};
    const char *const option[] = {"head", "metric", "features"};
    for (int l = 0; l < 3; l++)
        for (int i = 0; i < (l < 2 ? lists[l]->count : o->features != NULL); i++) {
            const char *name = l < 2 ? lists[l]->items[i] : o->features;
            if (!occurs_in_files(c, option[l], name)) {
                fprintf(stderr, "mochi compare: --%s: no figure of these files has '%s'\n", option[l], name);
                return false;
            }
        }
    return true;
}

int compare_command(int argc, char **argv) {
    compare_options o = {0};
    given_options given = {0};
    comparison c = {.options = &o};
    char why[512];
    int code = EXIT_FINE, opened = 0;
    read_command_line(&compare_line, argc, argv, &o, &given);
    for (; opened < o.n && code == EXIT_FINE; opened++)
        if (!results_read(&c.files[opened], o.files[opened], why, sizeof why)) {
            fprintf(stderr, "mochi: %s\n", why);
            code = EXIT_FAILED;
        }
    if (code == EXIT_FINE && !names_occur(&c))
        code = EXIT_USAGE;
    if (code == EXIT_FINE) {
        show_all(&c);
        if (c.compared == 0) {
            fprintf(
                stderr, "mochi: compare: expected figures for the same data, task, head, metric and k, found none\n");
            code = EXIT_FAILED;
        } else if (!o.json) {
            printf("\n%d differences, %d with an interval that leaves out 0 (*)\n", c.compared, c.apart);
            print_seen(c.seen);
        }
    }
    for (int i = 0; i < opened; i++)
        results_free(&c.files[i]);
    free_seen(c.seen);
    free_names(&o.heads);
    free_names(&o.metrics);
    return c.lost_output ? EXIT_FAILED : code;
}
