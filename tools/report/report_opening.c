/* tools/report/report_opening.c - the first lines of the page: what came out, in at most five sentences. */
#include "tools/report/report_cells.h"

#include <inttypes.h>
#include <stb/stb_ds.h>
#include <stdarg.h>
#include <string.h>

enum { MOST_LINES = 5, ENDS = 50 };

typedef struct opening {
    FILE *page;
    int n;
} opening;

/* Adds a sentence. The caller names the subject. */
__attribute__((format(printf, 2, 3))) static void open_line(opening *o, const char *format, ...) {
    char text[600];
    va_list arguments;
    if (o->n++ >= MOST_LINES)
        return;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fputs("<li>", o->page);
    put_text(o->page, text);
    fputs("</li>\n", o->page);
}

/* The mean loss of up to ENDS steps at one end of a log. */
static double loss_at(const json_t *log, bool last) {
    size_t n = json_array_size(log), many = n < ENDS ? n : ENDS;
    double sum = 0;
    for (size_t i = 0; i < many; i++)
        sum += number_of(json_array_get(log, last ? n - 1 - i : i), "loss");
    return sum / (double)many;
}

static void open_training(opening *o, const report *r) {
    if (!arrlen(r->runs))
        return;
    const report_run *run = &r->runs[0];
    const json_t *settings = json_object_get(run->about, "settings");
    char more[40] = "";
    if (arrlen(r->runs) > 1)
        snprintf(more, sizeof more, " %d more trainings are below.", (int)arrlen(r->runs) - 1);
    open_line(o, "Training %.150s took %zu of %.0f steps of recipe %.40s in %.1f s; its loss went from %.2f to %.2f.%s",
        run->path, json_array_size(run->log), number_of(settings, "steps"), text_of(settings, "recipe"),
        training_seconds(run), loss_at(run->log, false), loss_at(run->log, true), more);
}

/* The number of lines, each a data set, task, head and k, on which two or more columns have a figure, and how often
 * each column has the highest. */
static int count_highest(const cell_table *t, int *highest) {
    int lines = 0, n = (int)arrlen(t->at);
    for (int i = 0, line = -1; i < n; i++) {
        int columns = 0, best = i;
        if (t->at[i].line <= line || !is_main_metric(t->at[i].cell))
            continue;
        line = t->at[i].line;
        for (int j = i; j < n; j++)
            if (t->at[j].line == line && !isnan(number_of(t->at[j].cell, "mean"))) {
                columns++;
                if (!(number_of(t->at[j].cell, "mean") <= number_of(t->at[best].cell, "mean")))
                    best = j;
            }
        if (columns < 2)
            continue;
        lines++;
        for (int c = 0; c < arrlen(t->columns); c++)
            highest[c] += !strcmp(t->columns[c], t->at[best].features);
    }
    return lines;
}

/* How many of a column's figures the paper has too, by MOCHI++, and how many of them are above it. */
static int count_above_paper(const cell_table *t, const char *column, int *above) {
    int n = 0;
    *above = 0;
    for (int i = 0; i < arrlen(t->at); i++) {
        const json_t *cell = t->at[i].cell;
        const result *paper = is_main_metric(cell) ? paper_of(t->r, cell, true) : NULL;
        if (!paper || strcmp(t->at[i].features, column) != 0 || isnan(number_of(cell, "mean")))
            continue;
        *above += number_of(cell, "mean") > paper->mean;
        n++;
    }
    return n;
}

/* Tells how often a column is apart from the others by more than the interval of the difference. */
static void open_pairs(opening *o, const report *r, const char *column) {
    const json_t *pairs = r->lines[LINE_PAIR];
    int n = 0, above = 0, below = 0;
    for (size_t i = 0; i < json_array_size(pairs); i++) {
        const json_t *pair = json_array_get(pairs, i);
        int sign = !strcmp(text_of(pair, "features"), column) - !strcmp(text_of(pair, "other_features"), column);
        double difference = sign * number_of(pair, "difference");
        if (!sign || !is_main_metric(pair))
            continue;
        n++;
        above += json_is_true(json_object_get(pair, "apart")) && difference > 0;
        below += json_is_true(json_object_get(pair, "apart")) && difference < 0;
    }
    if (n)
        open_line(o,
            "Of its %d differences to another column %d are above 0 by more than their 95%% interval, %d below.", n,
            above, below);
}

static void open_cells(opening *o, const report *r) {
    cell_table t = locate_cells(r);
    int *highest = NULL, best = 0, above, shared;
    arrsetlen(highest, (size_t)arrlen(t.columns));
    for (int c = 0; c < arrlen(t.columns); c++)
        highest[c] = 0;
    int lines = count_highest(&t, highest);
    for (int c = 1; c < arrlen(t.columns); c++)
        best = highest[c] > highest[best] ? c : best;
    if (lines) {
        open_line(o,
            "Of %d few-shot comparisons (a data set, task, head and k each) %.60s has the highest figure in %d.", lines,
            t.columns[best], highest[best]);
        open_pairs(o, r, t.columns[best]);
    }
    if (arrlen(t.columns) && (shared = count_above_paper(&t, t.columns[best], &above)))
        open_line(o, "%.60s is above the paper's MOCHI++ in %d of the %d figures that both have.", t.columns[best],
            above, shared);
    arrfree(highest);
    free_cells(&t);
}

static void open_predictions(opening *o, const report *r) {
    for (int i = 0; i < arrlen(r->tables); i++) {
        const prediction_table *t = &r->tables[i];
        int64_t known = count_predictions(t, is_known), judged = count_predictions(t, is_judged),
                wrong = count_predictions(t, is_wrong);
        char right[80] = "";
        if (judged)
            snprintf(right, sizeof right, "; where the class is known, %.1f%% are right",
                100 * (double)(judged - wrong) / (double)judged);
        open_line(o, "%.150s has %" PRId64 " predictions from %" PRId64 " labels%s.", t->path,
            (int64_t)arrlen(t->rows) - known, known, right);
    }
}

/* The highest accuracy of `mochi fit`. */
static void open_fits(opening *o, const report *r) {
    const json_t *lines = r->lines[LINE_FIT], *best = NULL;
    for (size_t i = 0; i < json_array_size(lines); i++) {
        const json_t *line = json_array_get(lines, i);
        if (!best || number_of(line, "accuracy") > number_of(best, "accuracy"))
            best = line;
    }
    if (best)
        open_line(o, "Of the readouts on embeddings, head %.40s at k = %.0f is the most accurate, %.1f%%.",
            text_of(best, "head"), number_of(best, "k"), number_of(best, "accuracy"));
}

static void open_benches(opening *o, const report *r) {
    const json_t *bench = json_array_get(r->lines[LINE_BENCH], 0);
    if (bench)
        open_line(o, "Benchmark %.60s takes %.2f ms (median), %.0f%% of the machine's rate of matrix products.",
            text_of(bench, "case"), number_of(bench, "med_ms"), 100 * number_of(bench, "gemm_share"));
}

void report_opening(const report *r, FILE *page) {
    opening o = {.page = page};
    fputs("<ul>\n", page);
    open_training(&o, r);
    open_cells(&o, r);
    open_predictions(&o, r);
    open_fits(&o, r);
    open_benches(&o, r);
    if (!o.n)
        fputs("<li>The inputs hold no figure that can be told in a sentence.</li>\n", page);
    fputs("</ul>\n", page);
}
