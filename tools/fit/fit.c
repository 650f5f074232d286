/* tools/fit/fit.c - `mochi fit`: fits one readout to all labelled rows, saves it, and predicts rows by it. */
#include "tools/fit/fit.h"
#include "tools/cli/memory.h"
#include "tools/predict/predict.h"
#include "train/graphs/row_names.h"
#include "train/inside.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AT(field) offsetof(fit_options, field)
#define ITS_OWN .not_with = "readout", .why = "a saved readout has its own"

static const option table[] = {
    LABEL_OPTION(fit_options, in, ITS_OWN),
    {OPTION_TEXT, "target", "COLUMN", AT(target),
        "in place of --label: the column of real numbers, which a ridge predicts where it is empty, with an interval "
        "of "
        "90%",
        .not_with = "label", .why = "labels are classes, targets are numbers"},
    {OPTION_GROUP, .help = "The readout:"},
    {OPTION_HEAD, "head", "NAME", AT(in.heads),
        "the readout: " HEADS
        ", or FILE.so (default: ridge, as with --tune loo); with --readout, FILE.so of a readout of "
        "your own"},
    {OPTION_REAL, "lambda", "L", AT(in.lambda), "penalty of a head that has one, 0 or more", 0, 1e300,
        .not_with = "tune", .why = "--tune loo chooses it"},
    {OPTION_WORD, "tune", "loo", AT(in.tune),
        "choose the head's regularisation by labelled rows that are held out in turn", .choices = "loo", ITS_OWN},
    SCALING_OPTIONS(fit_options, in),
    SEED_OPTION(fit_options, in.fit.seed, "the folds of rows that are held out"),
    {OPTION_OUTPUT, "save", "FILE", AT(save), "save the readout (safetensors, with its rows)",
        .choices = ".safetensors", .not_with = "label",
        .why = "a table's columns are read with all of its rows: add rows to predict to the table, with nothing in its "
               "column of labels, or give arrays"},
    {OPTION_INPUT, "readout", "FILE", AT(readout), "instead of Z and y: a readout that --save wrote, for --predict",
        .needs = "predict", .why = "expected --predict ROWS, which it is for"},
    {OPTION_GROUP, .help = "Predictions:"},
    {OPTION_INPUT, "predict", "ROWS", AT(predict), "predict the rows of a file", .not_with = "label",
        .why = "a table's own rows without a label are predicted: add those rows to it, and give --out FILE"},
    {OPTION_OUTPUT, "out", "FILE", AT(out),
        "the predictions, as `mochi predict` writes them: .csv, .tsv, .jsonl or .npy (default: CSV on standard "
        "output); with --label those of the table's rows without a label",
        .choices = PREDICTIONS},
    {OPTION_FLAG, "probabilities", NULL, AT(probabilities), "also the probability of every class"},
    {OPTION_REAL, "min-confidence", "P", AT(least), "rows whose probability is below P get no label", 0, 1},
    {OPTION_GROUP, .help = "Output:"},
    THREADS_OPTION(fit_options, device.threads),
    EXPAND_OPTION,
    DEVICE_OPTIONS(fit_options, device),
    JSON_OPTION(fit_options, json,
        "one JSON object of the fit on standard output and, without --out, one per predicted row; nothing else"),
    {OPTION_FLAG, "quiet", NULL, AT(in.quiet), "no summary on standard error"},
    {OPTION_END},
};

static const char about[] = "Fits one readout to all labelled rows, saves it and predicts rows by it; `mochi readouts` "
                            "says which readout suits "
                            "them. " ROWS_HELP " Of a table, the rows without a label are predicted.\vExamples:\n"
                            "  mochi fit customers.csv --label churn --out predictions.csv\n"
                            "  mochi fit houses.csv --target price --out prices.csv\n"
                            "  mochi fit Z.npy y.npy --head logistic --tune loo --save readout.safetensors\n"
                            "  mochi fit --readout readout.safetensors --predict new.npy --out predictions.csv\n"
                            "  mochi fit Z.npy y.npy --predict new.npy --probabilities";

static void take_file(void *options, const char *word, const struct argp_state *state) {
    take_row_file(&((fit_options *)options)->in, word, state);
}

static void check_files(void *options, const struct argp_state *state) {
    const fit_options *o = options;
    if (o->target) {
        if (!o->in.rows || o->in.labels || o->readout)
            refuse_command_line(state, EXIT_USAGE, "--target: expected one file, the table with that column");
        return;
    }
    if (o->readout && o->in.rows)
        refuse_command_line(state, EXIT_USAGE, "--readout: it has rows and labels of its own, expected no others");
    if (!o->readout)
        check_row_files(&o->in, "fit", state);
    if (!o->save && !o->predict && !o->in.label && !o->readout)
        refuse_command_line(state, EXIT_USAGE,
            "expected what the fit is for: --save FILE or --predict ROWS or, of a table, --label COLUMN; `mochi "
            "readouts %s %s` compares readouts",
            o->in.rows, o->in.labels ? o->in.labels : "--label COLUMN");
}

const command_line fit_line = {.table = table,
    .words = "Z y | TABLE --label COLUMN",
    .about = about,
    .take_word = take_file,
    .end = check_files,
    .other = &readouts_line,
    .other_is = "`mochi readouts`, which compares readouts on drawn problems"};

static void parse_fit_options(fit_options *o, int argc, char **argv) {
    *o = (fit_options){0};
    read_command_line(&fit_line, argc, argv, o, &o->given);
    const given_options *g = &o->given;
    refuse_given(g, "lambda seed standardise centre normalise save", o->readout, "a saved readout has its own");
    refuse_given(g, "out probabilities min-confidence", !o->predict && !o->in.label && !o->target,
        "expected --predict ROWS, or --label COLUMN of a table with rows to predict");
    if (o->target) {
        refuse_given(g, "head lambda tune seed standardise centre normalise save predict probabilities min-confidence",
            true, "real targets of a table are predicted by one ridge, whose penalties their evidence weighs");
        return;
    }
    bool library = o->in.heads[0] && !mo_head_is_own(o->in.heads[0]);
    refuse_given(g, "head", o->readout && library, "a saved readout has its own");
    o->in.n_heads = 1;
    if (!o->in.heads[0]) {
        o->in.heads[0] = mo_find_head("ridge");
        o->in.tune = is_given(g, "lambda") ? NULL : "loo";
    }
    settle_row_options(&o->in, g);
    refuse_math_on_cpu(g, &o->device);
}

static void print_fit_summary(const mo_row_readout *r, const fit_options *o) {
    fprintf(stderr, "%s on %" PRId64 " rows of %" PRId64 ", %" PRId64 " classes", r->state.head->name, r->n, r->state.d,
        r->classes);
    if (!isnan(r->value))
        fprintf(stderr, ", regularisation %.3g chosen by its held-out rows", r->value);
    else if (is_given(&o->given, "lambda"))
        fprintf(stderr, ", regularisation %.3g", o->in.lambda);
    else if (mo_regularisation(r->state.head) >= 0)
        fputs(", its own regularisation (--tune loo chooses one)", stderr);
    if (r->held_out)
        fprintf(stderr, "; held out in turn, %" PRId64 " of %" PRId64 " are predicted right: %.1f%%", r->right,
            r->held_out, 100.0 * (double)r->right / (double)r->held_out);
    fputc('\n', stderr);
}

/* Predicts rows, called by the names of `named` at the numbers `id`, and writes the predictions. */
static bool predict_rows(mo_context *ctx, const fit_options *o, const mo_row_readout *r, const mo_tensor *rows,
    const mo_graph *named, const int64_t *id) {
    int64_t m = mo_dim(rows, 0);
    double *probability = needed(malloc((size_t)(m * r->classes) * sizeof *probability + 1));
    predictions p = {.graph = named,
        .n = m,
        .classes = r->classes,
        .id = id,
        .probability = probability,
        .name = r->name,
        .what = "row",
        .json = o->json,
        .all = o->probabilities,
        .least = o->least};
    bool written = mo_row_readout_probabilities(r, rows, probability) == MO_OK;
    if (written && !o->in.quiet && !o->json)
        print_number_of_predictions(&p);
    written = written && write_predictions(ctx, &p, o->out);
    free(probability);
    return written;
}

/* Predicts the rows of a file. */
static bool predict_file(mo_context *ctx, const fit_options *o, const mo_row_readout *r) {
    mo_tensor *rows = mo_embedding_rows_read(ctx, o->predict);
    int64_t m = mo_ok(ctx) ? mo_dim(rows, 0) : 0, *id = needed(malloc((size_t)m * sizeof *id + 1));
    mo_graph *named = mo_ok(ctx) ? mo_named_rows(ctx, o->predict, m) : NULL;
    for (int64_t i = 0; i < m; i++)
        id[i] = i;
    bool written = named && predict_rows(ctx, o, r, rows, named, id);
    mo_graph_release(named);
    mo_tensor_release(rows);
    free(id);
    return written;
}

/* Predicts the rows of a table that have no label. */
static bool predict_unlabelled(mo_context *ctx, const fit_options *o, const mo_row_readout *r, const mo_graph *table) {
    int64_t m = 0, *id = needed(malloc((size_t)table->nodes * sizeof *id + 1));
    for (int64_t i = 0; i < table->nodes; i++)
        if (table->label[i] < 0)
            id[m++] = i;
    mo_tensor *rows = mo_ok(ctx) ? mo_rows_attributes(table, id, m) : NULL;
    bool written = mo_ok(ctx) && predict_rows(ctx, o, r, rows, table, id);
    mo_tensor_release(rows);
    free(id);
    return written;
}

/* Prints what was fitted, as JSON; false if the line could not be written. */
static bool print_fit_object(const mo_row_readout *r) {
    return print_json(json_pack("{s:s, s:s, s:I, s:I, s:I, s:o, s:o, s:I, s:I}", "kind", "readout", "head",
        r->state.head->name, "rows", (json_int_t)r->n, "columns", (json_int_t)r->state.d, "classes",
        (json_int_t)r->classes, "regularisation", json_number(r->value), "temperature", json_number(r->temperature),
        "held_out", (json_int_t)r->held_out, "right", (json_int_t)r->right));
}

/* Fits the readout to the rows of E, or (NULL) reads it; saves it and predicts. Returns whether all was written. */
static bool use_fit(mo_context *ctx, const fit_options *o, const mo_embeddings *E, const mo_graph *table) {
    mo_row_readout r = {0};
    const mo_candidate c = row_candidate(&o->in, 0);
    bool fine =
        E ? mo_row_readout_fit(E, &c, NULL, o->in.fit.tune, &r) == MO_OK
          : mo_row_readout_read(ctx, o->readout, is_given(&o->given, "head") ? o->in.heads[0] : NULL, &r) == MO_OK;
    if (fine && E && !o->in.quiet && !o->json)
        print_fit_summary(&r, o);
    fine = fine && (!o->json || print_fit_object(&r)) && (!o->save || mo_row_readout_write(&r, o->save) == MO_OK) &&
           (!o->predict || predict_file(ctx, o, &r)) && (!table || predict_unlabelled(ctx, o, &r, table));
    mo_row_readout_release(&r);
    return fine;
}

/* Fits a ridge to the rows of a table that have a target, and predicts the others. Columns have mean 0 and deviation 1
 * there, so that a penalty means the same whatever their number. */
static bool fit_targets(mo_context *ctx, const fit_options *o) {
    mo_targets y = {0};
    mo_feature_options options = {.notice = o->in.quiet ? NULL : print_notice};
    mo_graph *table = mo_rows_open_targets(ctx, o->in.rows, o->target, &options, &y);
    int64_t n = table ? table->nodes : 0, *id = needed(malloc((size_t)n * sizeof *id + 1));
    for (int64_t i = 0; i < n; i++)
        id[i] = i;
    if (table && y.n == n)
        mo_fail(ctx, MO_INVALID, "%s: expected rows to predict, with nothing in the column %.60s, found none",
            o->in.rows, o->target);
    mo_tape *t = mo_tape_create(ctx, MO_EVAL);
    mo_tensor *X = table && mo_ok(ctx) ? mo_rows_attributes(table, id, n) : NULL, *mean, *spread;
    bool fine = X && mo_ok(ctx);
    if (fine) {
        mo_tensor *Z = mo_cast(t, X, MO_F64);
        mo_axes rows = MO_AXIS(0);
        mean = mo_mean(t, Z, rows, MO_KEEP_AXES);
        spread = mo_sqrt(t, mo_mean(t, mo_square(t, mo_sub(t, Z, mean)), rows, MO_KEEP_AXES));
        Z = mo_scale(t, mo_div_or_zero(t, mo_sub(t, Z, mean), spread), 1 / sqrt((double)mo_dim(X, 1)), 0);
        const mo_few_shot_options of_rows = {.rows = Z, .head = &mo_head_mixture};
        const target_request r = {
            .path = o->in.rows, .out = o->out, .coverage = 0.9, .json = o->json, .quiet = o->in.quiet};
        fine = mo_ok(ctx) && predict_row_targets(table, &y, &of_rows, &r);
    }
    mo_tensor_release(X);
    mo_tape_release(t);
    mo_targets_release(&y);
    mo_graph_release(table);
    free(id);
    return fine;
}

int fit_command(int argc, char **argv) {
    fit_options o;
    parse_fit_options(&o, argc, argv);
    mo_context *ctx = open_context_on(o.device);
    if (!ctx)
        return EXIT_FAILED;
    if (o.target) {
        bool written = fit_targets(ctx, &o) && mo_ok(ctx);
        int code = !mo_ok(ctx) ? report_failure(ctx) : written ? EXIT_FINE : EXIT_FAILED;
        mo_context_release(ctx);
        return code;
    }
    mo_graph *table = NULL;
    mo_embeddings *E = o.readout ? NULL : open_labelled_rows(ctx, &o.in, &table);
    if (table && E && !E->unlabelled)
        mo_fail(ctx, MO_INVALID,
            "%s: expected rows to predict, with nothing or a mark of the unknown in the column %.60s, found none; "
            "`mochi readouts` compares readouts on rows with labels",
            o.in.rows, o.in.label);
    bool written = mo_ok(ctx) && use_fit(ctx, &o, E, table);
    int code = !mo_ok(ctx) ? report_failure(ctx) : written ? EXIT_FINE : EXIT_FAILED;
    mo_embeddings_release(E);
    mo_graph_release(table);
    mo_context_release(ctx);
    return code;
}
