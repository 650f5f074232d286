/* tools/fit/fit_options.c - the command line of `mochi fit`, and the refusal of options without effect. */
#include "tools/fit/fit.h"
#include "tools/predict/predict.h"
#include "train/graphs/loaders.h"
#include "train/graphs/table_reader.h"

#include <string.h>

#define DEFAULT_HEADS "ridge,logistic,prototype_euclidean,prototype_inner"
#define MEASURES_NOTHING "--save, --readout, --predict and --out measure nothing, and learn from all rows"

static void add_head(fit_options *o, const mo_head *head, const char *text, const struct argp_state *state) {
    if (o->n_heads == FIT_HEADS)
        usage_error(state, "--head", "at most 32 heads", text);
    o->heads[o->n_heads++] = head;
}

static void take_fit_heads(fit_options *o, const char *text, const struct argp_state *state) {
    names list = parse_names(state, "--head", text);
    o->n_heads = 0;
    for (int i = 0; i < list.count; i++) {
        bool all = !strcmp(list.items[i], "all");
        const mo_head *head = all ? mo_head_at(0) : parse_head(state, list.items[i]);
        for (int j = 0; head; head = all ? mo_head_at(++j) : NULL)
            add_head(o, head, text, state);
    }
    free_names(&list);
}

static void take_heads(void *options, const char *text, const struct argp_state *state) {
    take_fit_heads(options, text, state);
}

static void take_shots(void *options, const char *text, const struct argp_state *state) {
    fit_options *o = options;
    o->fit.n_shots = parse_integers(state, "--shots", text, o->shots, FIT_SHOTS, 1, 1 << 20);
}

#define AT(field) offsetof(fit_options, field)

static const option table[] = {
    {OPTION_TEXT, "label", "COLUMN", AT(label),
        "the rows are a table with a header (.csv, .tsv): the column that has their labels", .not_with = "readout",
        .why = "a saved readout has labels of its own"},
    {OPTION_GROUP, .help = "Heads:"},
    {OPTION_OTHER, "head", "NAMES", 0,
        "readouts, comma-separated, of " HEADS ", FILE.so, or all (default " DEFAULT_HEADS ")", .choices = HEADS,
        .take = take_heads},
    {OPTION_OTHER, "shots", "LIST", 0, "support rows per class (default 4,8,16,32,64)", .take = take_shots},
    {OPTION_REAL, "lambda", "L", AT(lambda), "penalty of the heads that have one, 0 or more (default: each head's own)",
        0, 1e300, .not_with = "tune", .why = "--tune loo chooses it"},
    {OPTION_WORD, "tune", "loo", AT(tune),
        "each episode chooses its head's regularisation, on rows of its own support that are held "
        "out in turn",
        .choices = "loo"},
    {OPTION_FLAG, "standardise", NULL, AT(standardise),
        "before every fit, subtract each column's mean in the support and divide by its standard deviation there; a "
        "column that is constant there becomes 0"},
    {OPTION_FLAG, "centre", NULL, AT(centre), "before every fit, subtract each column's mean in the support"},
    {OPTION_FLAG, "normalise", NULL, AT(normalise), "before every fit, divide each row by its Euclidean norm"},
    {OPTION_GROUP, .help = "Episodes:"},
    {OPTION_INT64, "episodes", "N", AT(fit.episodes), "episodes per k (default 100)", 1, INT32_MAX},
    {OPTION_INT64, "queries", "Q", AT(fit.queries), "query rows per class (default 30)", 1, 1 << 20},
    {OPTION_INT64, "ways", "W", AT(fit.ways), "classes per episode, drawn if there are more (default 64)", 2, 1 << 20},
    SEED_OPTION(fit_options, fit.seed, "the episodes"),
    {OPTION_OUTPUT, "draws", "FILE.npz", AT(draws),
        "write the episodes for other programs: for k = 4 the arrays k4_support and k4_query [episodes, rows per "
        "episode], row numbers in Z from 0, and k4_support_label and k4_query_label, the classes numbered in the "
        "episode from 0",
        .choices = ".npz"},
    {OPTION_GROUP, .help = "A split of your own in place of episodes:"},
    {OPTION_TEXT, "train", "FILE", AT(train),
        "numbers of the rows to learn from, counted from 0: .npy, or text with one number per line; without it, all "
        "rows but those of --test"},
    {OPTION_TEXT, "test", "FILE", AT(test),
        "numbers of the rows to test on; without it, all rows but those of --train"},
    {OPTION_GROUP, .help = "One head as a tool, in place of episodes (expects --head NAME):"},
    {OPTION_OUTPUT, "save", "FILE", AT(save),
        "save the head fitted to all labelled rows (safetensors, with those rows)", .choices = ".safetensors",
        .not_with = "label", .why = "a table's columns are read with all of its rows: expected arrays"},
    {OPTION_TEXT, "predict", "ROWS", AT(predict),
        "predict the rows of a file by the head fitted to all labelled rows, or by that of --readout",
        .not_with = "label",
        .why = "a table's own rows without a label are predicted: add those rows to it, and give --out FILE"},
    {OPTION_TEXT, "readout", "FILE", AT(readout), "instead of Z and y: a head that --save wrote, for --predict",
        .needs = "predict", .why = "expected --predict ROWS, which it is for"},
    {OPTION_OUTPUT, "out", "FILE", AT(out),
        "the predictions, as `mochi predict` writes them: .csv, .tsv, .jsonl or .npy (default: CSV on standard "
        "output); with --label those of the table's rows without a label",
        .choices = PREDICTIONS},
    {OPTION_FLAG, "probabilities", NULL, AT(probabilities), "also the probability of every class"},
    {OPTION_REAL, "min-confidence", "P", AT(least), "rows whose probability is below P get no label", 0, 1},
    {OPTION_GROUP, .help = "Output:"},
    {OPTION_FLAG, "sweep", NULL, AT(fit.sweep),
        "each head's figures at every value of its lambda (or shrinkage) that --tune tries, and in how many episodes "
        "--tune loo chose it"},
    {OPTION_FLAG, "pairs", NULL, AT(pairs),
        "the difference of every two heads on the same problems, with its 95% interval; * if it does not contain 0"},
    {OPTION_TEXT, "confusion", "HEAD", AT(confusion),
        "which classes that head confuses: the matrix, precision, recall and F1 of each class, the worst pairs",
        .choices = HEADS},
    {OPTION_FLAG, "diagnose", NULL, AT(diagnose), "the geometry class by class, and calibration by norm",
        .not_with = "no-geometry", .why = "it prints the geometry, which --no-geometry leaves out"},
    {OPTION_POSITIVE, "epsilon", "E", AT(epsilon),
        "the distance from the hull of the others up to which a prototype counts as included, in mean distances of "
        "two prototypes (default 0.1)",
        .not_with = "no-geometry", .why = "--no-geometry leaves the hull out"},
    {OPTION_FLAG, "no-geometry", NULL, AT(no_geometry),
        "omit the geometry of the prototypes, which takes longer with more classes", .not_with = "json",
        .why = "--json prints the geometry with --diagnose alone"},
    THREADS_OPTION(fit_options, device.threads),
    EXPAND_OPTION,
    DEVICE_OPTIONS(fit_options, device),
    JSON_OPTION(fit_options, json, "one JSON object per head and k on standard output, nothing else"),
    {OPTION_FLAG, "quiet", NULL, AT(quiet), "no warnings on standard error"},
    {OPTION_END},
};

static const char about[] =
    "Few-shot accuracy and calibration of readouts on your own embeddings. Z: rows [n, d] of numbers (.npy, .npz or "
    ".safetensors; FILE:NAME takes one array of several); y: the class of each row, a whole number (negative: "
    "unlabelled) "
    "or a text (empty: unlabelled), as such an array, as .txt with one label a line, or as .csv or .tsv with a header "
    "(its only column, the one named label, or FILE:NAME). Unlabelled rows are left out; real numbers are refused. "
    "Or one table with a header, .csv or .tsv, and --label COLUMN: all other columns are attributes, read and scaled "
    "as "
    "those of a graph's nodes (numbers, words, yes and no, gaps), but a column of names. "
    "Computes in float32, or in float64 where the rows are float64 or "
    "integers that float32 cannot hold.\v"
    "Of the prototypes, prototype_euclidean takes distances to class means, as prototypical networks and nearest "
    "centroids "
    "do; prototype_inner takes inner products with them, as the paper does; prototype_centred those about the mean of "
    "the "
    "support; prototype_cosine the angle.\n\n"
    "An episode draws k support and 30 query rows of every class; all heads of a k meet the same episodes. "
    "accuracy: in percent, with the half width of its 95% interval over episodes; nll, brier: means over queries; ece: "
    "expected "
    "calibration error, 15 bins over all queries; ece(T): the same after a temperature that each episode fits to the "
    "held-out rows of its own support (5-fold cross-validation; never the queries; none at k = 1). "
    "--tune loo takes the regularisation whose held-out rows (leave-one-out for ridge, else 5-fold) have the least "
    "cross-entropy at their temperature.\n\n"
    "The diagnosis: how far the mean of the rows is from the origin, in spreads of the classes; which prototypes lie "
    "in the convex hull of the others, or within epsilon of it; how confidence follows the norm. Normalised distances "
    "are in mean distances of two prototypes. Flagged are prototypes nearer to the hull of the others than every "
    "corner "
    "of the outer hull in the plane of the first two principal components.\n\n"
    "Examples:\n"
    "  mochi fit Z.npy y.npy\n"
    "  mochi fit cora.npz:Z cora.npz:y --head ridge,logistic,lda --shots 4,16 --tune loo\n"
    "  mochi fit Z.npy y.npy --diagnose --json\n"
    "  mochi fit customers.csv --label churn\n"
    "  mochi fit customers.csv --label churn --head ridge --tune loo --out predictions.csv";

static void take_file(void *options, const char *word, const struct argp_state *state) {
    fit_options *o = options;
    if (o->rows && o->labels)
        refuse_command_line(state, EXIT_USAGE, "'%s': expected two files, rows and labels", word);
    *(o->rows ? &o->labels : &o->rows) = word;
}

static void check_files(void *options, const struct argp_state *state) {
    const fit_options *o = options;
    bool table = o->label || (o->rows && !o->labels && (mo_is_table(o->rows) || mo_foreign_rows(o->rows)));
    if (o->readout && o->rows)
        refuse_command_line(state, EXIT_USAGE, "--readout: it has rows and labels of its own, expected no others");
    if (o->label && o->labels)
        refuse_command_line(
            state, EXIT_USAGE, "--label: expected one file, the table with that column, found '%s' too", o->labels);
    if (!o->readout && !(table ? o->rows : o->labels))
        refuse_command_line(state, EXIT_USAGE,
            "expected two files, rows and labels: mochi fit Z.npy y.npy; or a table and its column of labels: mochi "
            "fit table.csv --label COLUMN");
    if (o->standardise + o->centre + o->normalise > 1)
        refuse_command_line(
            state, EXIT_USAGE, "expected one of --standardise, --centre and --normalise, found several");
}

const command_line fit_line = {
    .table = table, .words = "Z y | TABLE --label COLUMN", .about = about, .take_word = take_file, .end = check_files};

/* ---- options without effect ---- */

static bool may_tune(const mo_head *head) {
    bool may = head_has(head, "lambda");
    for (int i = 0; i < head->n_parameters; i++) {
        const mo_head_parameter *p = &head->parameters[i];
        may |= p->ndim == 0 && p->low >= 0 && p->low < p->high && p->high <= 1; /* a parameter between 0 and 1, such as
                                                                                 * a shrinkage */
    }
    return may;
}

static void refuse_confusion(const fit_options *o) {
    bool there = false;
    for (int i = 0; i < o->n_heads; i++)
        there |= o->confusion && !strcmp(o->heads[i]->name, o->confusion);
    refuse_given(&o->given, "confusion", !there, "expected one of the heads of --head");
}

bool uses_one_head(const fit_options *o) {
    return o->save || o->readout || o->predict || (o->label && o->out);
}

static void refuse_fit_options(const fit_options *o) {
    const given_options *g = &o->given;
    bool lambda = false, tunable = false, one = uses_one_head(o), split = o->train || o->test;
    for (int i = 0; i < o->n_heads; i++) {
        lambda |= head_has(o->heads[i], "lambda");
        tunable |= may_tune(o->heads[i]);
    }
    refuse_given(g,
        "shots episodes queries ways draws train test pairs sweep confusion diagnose epsilon no-geometry json", one,
        MEASURES_NOTHING);
    refuse_given(
        g, "head lambda tune seed standardise centre normalise save", o->readout, "a saved readout has its own");
    refuse_given(g, "out probabilities min-confidence", !o->predict && !o->label,
        "expected --predict ROWS, or --label COLUMN of a table with rows to predict");
    refuse_given(g, "probabilities min-confidence", !o->predict && !o->out, "expected --out FILE");
    refuse_given(g,
        o->save      ? "save"
        : o->predict ? "predict"
                     : "out",
        !o->readout && (!is_given(g, "head") || o->n_heads != 1), "expected one head: --head NAME");
    bool held_out = split || one;
    for (int i = 0; i < o->fit.n_shots; i++)
        held_out |= o->shots[i] > 1;
    refuse_given(g, "lambda", !lambda, "none of these heads has it");
    refuse_given(g, "tune sweep", !tunable, "none of these heads has a regularisation");
    refuse_given(g, "tune", !held_out, "a support of one row a class has no rows to hold out");
    refuse_given(g, "shots episodes queries ways draws", split, "--train and --test give one split, without episodes");
    refuse_confusion(o);
    refuse_given(g, "pairs", o->n_heads < 2, "expected two heads or more");
    refuse_given(g, "epsilon", o->json && !o->diagnose, "--json prints the geometry with --diagnose alone");
    refuse_math_on_cpu(g, &o->device);
}

mo_candidate fit_candidate(const fit_options *o, int i) {
    return (mo_candidate){.features = "rows",
        .head = o->heads[i],
        .fixed = is_given(&o->given, "lambda") && head_has(o->heads[i], "lambda"),
        .value = o->lambda,
        .seed = o->fit.seed,
        .scaling = o->scaling};
}

void parse_fit_options(fit_options *o, int argc, char **argv) {
    *o = (fit_options){.argc = argc, .argv = argv, .epsilon = 0.1, .shots = {4, 8, 16, 32, 64}};
    o->fit = (mo_eval_options){
        .protocol = MO_PROTOCOL_EPISODE, .n_shots = 5, .episodes = 100, .queries = 30, .ways = 64, .hold_out = true};
    read_command_line(&fit_line, argc, argv, o, &o->given);
    o->fit.shots = o->shots;
    o->fit.tune = o->tune;
    o->scaling = o->standardise ? MO_SCALING_STANDARDISE
                 : o->centre    ? MO_SCALING_CENTRE
                 : o->normalise ? MO_SCALING_NORMALISE
                                : MO_SCALING_NONE;
    if (!o->n_heads)
        take_fit_heads(o, DEFAULT_HEADS, NULL);
    refuse_fit_options(o);
}
