/* tools/readouts/readouts.c - `mochi readouts`: compares heads on embeddings from array files or a table. */
#include "tools/readouts/readouts.h"
#include "tensor/library.h"
#include "tools/cli/digest.h"
#include "tools/cli/memory.h"
#include "tools/cli/progress.h"

#include <inttypes.h>
#include <stb/stb_ds.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The rows of the table that the program keeps, and the state of its output. */
typedef struct report {
    mo_context *ctx;
    const readouts_options *options;
    const mo_embeddings *E;
    mo_eval_row *rows; /* all rows, with copies of their outcomes */
    int n_rows;
    mo_eval_row *swept;                 /* stretchy buffer (stb_ds): the rows of --sweep */
    mo_plan split;                      /* the split that --train and --test give; else no support */
    mo_confusion confusion[MOST_SHOTS]; /* one per row of the head of --confusion */
    int confused[MOST_SHOTS], n_confused;
    int64_t classes; /* of an episode; 0: a split, whose classes differ in size */
    char unfit[256]; /* why the first head without a fit has none; "": all have one */
    bool lost_output;
    bool watched; /* shows progress, as standard error is a terminal */
    bool drawn;   /* a progress line is on the terminal now */
    const char *part;
    double started, shown_at;
} report;

/* Redraws the line of progress of `part`, if this part has run for half a second or more. */
static void show_fit_progress(const char *part, int64_t done, int64_t of, void *state) {
    report *r = state;
    double now = mo_clock(CLOCK_MONOTONIC);
    if (r->part != part) {
        r->part = part;
        r->started = now;
    }
    if (!r->watched || now - r->started < 0.5 || now - r->shown_at < 0.1)
        return;
    r->shown_at = now;
    r->drawn = redraw(stderr, "%s: %" PRId64 " of %" PRId64, part, done, of);
}

/* Clears the progress line before other output. */
static void clear_progress(report *r) {
    if (r->drawn)
        clear_line(stderr);
    r->drawn = false;
    r->part = NULL;
}

static void warn_of_small_classes(const report *r, const mo_eval_row *d) {
    if (r->options->in.quiet)
        return;
    if (d->small_classes)
        fprintf(stderr,
            "mochi readouts: k = %" PRId64 ": %" PRId64 " %s fewer than k + %" PRId64
            " rows; theirs are divided between support and queries and drawn repeatedly\n",
            d->k, d->small_classes, d->small_classes == 1 ? "class has" : "classes have", r->options->in.fit.queries);
    if (d->left_out)
        fprintf(stderr, "mochi readouts: k = %" PRId64 ": %" PRId64 " %s left out\n", d->k, d->left_out,
            d->left_out == 1 ? "class of one row is" : "classes of one row are");
}

/* Called at the first head of each k. */
static void on_draws(report *r, const mo_eval_row *row) {
    warn_of_small_classes(r, row);
    r->classes = row->split ? 0 : row->classes;
}

/* Keeps a row of the table with its outcomes and its confusion matrix, which later output reads. */
static void keep_fit_row(report *r, const mo_eval_row *row) {
    const char *head = r->options->confusion;
    mo_eval_row *kept = &r->rows[r->n_rows];
    *kept = *row;
    kept->predicted = NULL;
    kept->values = NULL;
    if (row->failure && !r->unfit[0])
        snprintf(r->unfit, sizeof r->unfit, "%s", row->failure);
    if (!row->failure) {
        size_t bytes = (size_t)row->n * sizeof *row->values;
        kept->values = memcpy(needed(malloc(bytes + 1)), row->values, bytes);
    }
    if (head && row->predicted && !strcmp(head, row->head)) {
        mo_confusion_count(r->E, row, &r->confusion[r->n_confused]);
        r->confused[r->n_confused++] = r->n_rows;
    }
    r->n_rows++;
}

static void take_fit_row(const mo_eval_row *row, void *state) {
    report *r = state;
    clear_progress(r);
    if (row->swept) {
        arrput(r->swept, *row);
        if (row->failure)
            arrlast(r->swept).failure = "no fit";
        return;
    }
    if (r->n_rows % r->options->in.n_heads == 0)
        on_draws(r, row);
    keep_fit_row(r, row);
    double f1 = r->options->in.fit.ranking ? readouts_macro_f1(r->E, row) : NAN;
    if (!r->options->json)
        readouts_print_row(row, r->options, f1);
    else if (!r->lost_output)
        r->lost_output = !readouts_print_row_object(row, f1);
}

/* Prints the first line of --json: the command and its inputs. Returns false if standard output was lost. */
static bool print_fit_run(const report *r) {
    const readouts_options *o = r->options;
    const char *labels = o->in.label ? o->in.rows : o->in.labels;
    json_t *line = command_object(o->argc, o->argv);
    json_t *more = json_pack("{s:i, s:I, s:I, s:I, s:{s:s, s:o}, s:{s:s, s:o, s:s*}}", "threads",
        mo_context_threads(r->ctx), "seed", (json_int_t)o->in.fit.seed, "episodes", (json_int_t)o->in.fit.episodes,
        "unlabelled", (json_int_t)r->E->unlabelled, "rows", "file", o->in.rows, "xxh3", file_digest(r->ctx, o->in.rows),
        "labels", "file", labels, "xxh3", file_digest(r->ctx, labels), "column", o->in.label);
    json_object_update_new(line, more);
    if (r->split.n_support)
        json_object_update_new(
            line, json_pack("{s:s*, s:s*, s:I, s:I}", "train", o->train, "test", o->test, "train_rows",
                      (json_int_t)r->split.n_support, "test_rows", (json_int_t)r->split.n_query));
    if (mo_ok(r->ctx))
        return print_json(line);
    json_decref(line);
    return true;
}

/* Prints the comparison of the heads, and the class-by-class figures of the head of --confusion. */
static void compare_fits(report *r) {
    const readouts_options *o = r->options;
    r->lost_output = r->lost_output || !readouts_print_sweep(r->swept, (int)arrlen(r->swept), o->json);
    if (o->pairs)
        r->lost_output = r->lost_output || !readouts_print_pairs(r->rows, r->n_rows, o->in.n_heads, o->json);
    for (int i = 0; i < r->n_confused && mo_ok(r->ctx); i++) {
        const mo_eval_row *row = &r->rows[r->confused[i]];
        if (!o->json)
            readouts_print_confusion(r->E, row, &r->confusion[i]);
        else
            r->lost_output = r->lost_output || !readouts_print_confusion_objects(r->E, row, &r->confusion[i]);
    }
    if (!o->json)
        readouts_print_verdict(r->rows, r->n_rows, o->in.n_heads, r->classes);
}

static void release_rows(report *r) {
    for (int i = 0; r->rows && i < r->n_rows; i++)
        free((double *)r->rows[i].values);
    for (int i = 0; i < r->n_confused; i++)
        mo_confusion_release(&r->confusion[i]);
    mo_plan_release(&r->split);
    arrfree(r->swept);
    free(r->rows);
}

static void run_fits(report *r) {
    const readouts_options *o = r->options;
    r->rows = needed(calloc((size_t)o->in.n_heads * (size_t)o->in.fit.n_shots, sizeof *r->rows));
    if (o->train || o->test)
        mo_split_read(r->E, o->train, o->test, &r->split);
    const mo_plan *split = r->split.n_support ? &r->split : NULL;
    if (mo_ok(r->ctx) && !o->json)
        readouts_print_title(r->E, o, split);
    else if (mo_ok(r->ctx))
        r->lost_output = !print_fit_run(r);
    mo_candidate heads[ROW_HEADS];
    for (int i = 0; i < o->in.n_heads; i++)
        heads[i] = row_candidate(&o->in, i);
    mo_eval_options fit = o->in.fit;
    fit.progress = show_fit_progress;
    fit.state = r;
    fit.split = split;
    fit.n_shots = split ? 1 : o->in.fit.n_shots;
    if (mo_ok(r->ctx))
        mo_evaluate(r->ctx, r->E->source, heads, o->in.n_heads, &fit, take_fit_row, r);
    clear_progress(r);
    if (mo_ok(r->ctx))
        compare_fits(r);
    if (mo_ok(r->ctx) && r->unfit[0])
        mo_fail(r->ctx, MO_NUMERICAL, "%s", r->unfit);
    release_rows(r);
}

int readouts_command(int argc, char **argv) {
    readouts_options o;
    parse_readouts_options(&o, argc, argv);

    mo_context *ctx = open_context_on(o.device);
    if (!ctx)
        return EXIT_FAILED;
    mo_graph *table = NULL;
    report r = {.ctx = ctx, .options = &o, .watched = !o.in.quiet && can_redraw(stderr)};
    mo_embeddings *E = open_labelled_rows(ctx, &o.in, &table);
    r.E = E;
    if (table && E && E->unlabelled && !o.in.quiet)
        fprintf(stderr,
            "%" PRId64 " rows have no label; to predict them: mochi fit '%s' --label '%s' --out predictions.csv\n",
            E->unlabelled, o.in.rows, o.in.label);
    for (int64_t c = 0; E && !o.json && c < E->graph->classes; c++)
        make_printable(E->name[c]);
    if (E)
        run_fits(&r);
    int code = !mo_ok(ctx) ? report_failure(ctx) : r.lost_output ? EXIT_FAILED : EXIT_FINE;
    mo_embeddings_release(E);
    mo_graph_release(table);
    mo_context_release(ctx);
    return code;
}
