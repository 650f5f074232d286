/* tools/readouts/readouts_options.c - the command line of `mochi readouts`, and the refusal of options without effect.
 */
#include "tools/readouts/readouts.h"

#include <string.h>

#define DEFAULT_HEADS "ridge,logistic,prototype_euclidean,prototype_inner"

static void take_compared_heads(void *options, const char *text, const struct argp_state *state) {
    take_row_heads(&((readouts_options *)options)->in, text, &knn_head, state);
}

static void take_shots(void *options, const char *text, const struct argp_state *state) {
    readouts_options *o = options;
    o->in.fit.n_shots = parse_integers(state, "--shots", text, o->shots, MOST_SHOTS, 1, 1 << 20);
}

#define AT(field) offsetof(readouts_options, field)

static const option table[] = {
    LABEL_OPTION(readouts_options, in, .low = 0),
    {OPTION_GROUP, .help = "Heads:"},
    {OPTION_OTHER, "head", "NAMES", 0,
        "readouts, comma-separated, of " HEADS
        ", knn (the 5 nearest support rows vote), FILE.so, or all of the library's "
        "(default " DEFAULT_HEADS ")",
        .choices = HEADS, .take = take_compared_heads},
    {OPTION_OTHER, "shots", "LIST", 0, "support rows per class (default 4,8,16,32,64)", .take = take_shots},
    {OPTION_REAL, "lambda", "L", AT(in.lambda),
        "penalty of the heads that have one, 0 or more (default: each head's own)", 0, 1e300, .not_with = "tune",
        .why = "--tune loo chooses it"},
    {OPTION_WORD, "tune", "loo", AT(in.tune),
        "each episode chooses its head's regularisation, on rows of its own support that are held "
        "out in turn",
        .choices = "loo"},
    SCALING_OPTIONS(readouts_options, in),
    {OPTION_GROUP, .help = "Episodes:"},
    {OPTION_INT64, "episodes", "N", AT(in.fit.episodes), "episodes per k (default 100)", 1, INT32_MAX},
    {OPTION_INT64, "queries", "Q", AT(in.fit.queries), "query rows per class (default 30)", 1, 1 << 20},
    {OPTION_INT64, "ways", "W", AT(in.fit.ways), "classes per episode, drawn if there are more (default 64)", 2,
        1 << 20},
    SEED_OPTION(readouts_options, in.fit.seed, "the episodes"),
    {OPTION_GROUP, .help = "A split of your own in place of episodes:"},
    {OPTION_INPUT, "train", "FILE", AT(train),
        "numbers of the rows to learn from, counted from 0: .npy, or text with one number per line; without it, all "
        "rows but those of --test"},
    {OPTION_INPUT, "test", "FILE", AT(test),
        "numbers of the rows to test on; without it, all rows but those of --train"},
    {OPTION_GROUP, .help = "Output:"},
    {OPTION_FLAG, "sweep", NULL, AT(in.fit.sweep),
        "each head's figures at every value of its lambda (or shrinkage) that --tune tries, and in how many episodes "
        "--tune loo chose it"},
    {OPTION_FLAG, "metrics", NULL, AT(metrics),
        "also macro-F1 over all queries, the area under the curve of one class against the rest, and the accuracy of "
        "the "
        "three first classes (--json has them always)",
        .not_with = "json", .why = "--json has them always"},
    {OPTION_FLAG, "pairs", NULL, AT(pairs),
        "the difference of every two heads on the same problems, with its 95% interval; * if it does not contain 0"},
    {OPTION_TEXT, "confusion", "HEAD", AT(confusion),
        "which classes that head confuses: the matrix, precision, recall and F1 of each class, the worst pairs",
        .choices = HEADS},
    THREADS_OPTION(readouts_options, device.threads),
    EXPAND_OPTION,
    DEVICE_OPTIONS(readouts_options, device),
    JSON_OPTION(readouts_options, json, "one JSON object per head and k on standard output, nothing else"),
    {OPTION_FLAG, "quiet", NULL, AT(in.quiet), "no warnings on standard error"},
    {OPTION_END},
};

static const char about[] =
    "Few-shot accuracy and calibration of readouts on your own embeddings, side by side. " ROWS_HELP
    " Unlabelled rows are left out; `mochi fit` predicts them.\v"
    "Of the prototypes, prototype_euclidean takes distances to class means, as prototypical networks and nearest "
    "centroids "
    "do; prototype_inner takes inner products with them, as the paper does; prototype_centred those about the mean of "
    "the "
    "support; prototype_cosine the angle.\n\n"
    "An episode draws k support and 30 query rows of every class; all heads of a k meet the same episodes. "
    "accuracy: in percent, with the half width of its 95% interval over episodes; nll: mean over queries; ece: "
    "expected "
    "calibration error, 15 bins over all queries; nll(T), ece(T): the same after a temperature that each episode fits "
    "to the "
    "held-out rows of its own support (5-fold cross-validation; never the queries; none at k = 1). "
    "--tune loo takes the regularisation whose held-out rows (leave-one-out for ridge, else 5-fold) have the least "
    "cross-entropy at their temperature.\n\n"
    "Examples:\n"
    "  mochi readouts Z.npy y.npy\n"
    "  mochi readouts cora.npz:Z cora.npz:y --head ridge,logistic,lda --shots 4,16 --tune loo\n"
    "  mochi readouts Z.npy y.npy --pairs --json\n"
    "  mochi readouts customers.csv --label churn";

static void take_file(void *options, const char *word, const struct argp_state *state) {
    take_row_file(&((readouts_options *)options)->in, word, state);
}

static void check_files(void *options, const struct argp_state *state) {
    check_row_files(&((readouts_options *)options)->in, "readouts", state);
}

const command_line readouts_line = {.table = table,
    .words = "Z y | TABLE --label COLUMN",
    .about = about,
    .take_word = take_file,
    .end = check_files,
    .other = &fit_line,
    .other_is = "`mochi fit`, which fits one readout, saves it and predicts by it"};

/* ---- options without effect ---- */

static void refuse_confusion(const readouts_options *o) {
    bool there = false;
    for (int i = 0; i < o->in.n_heads; i++)
        there |= o->confusion && !strcmp(o->in.heads[i]->name, o->confusion);
    refuse_given(&o->given, "confusion", !there, "expected one of the heads of --head");
}

static void refuse_readouts_options(const readouts_options *o) {
    const given_options *g = &o->given;
    bool split = o->train || o->test, held_out = split;
    for (int i = 0; i < o->in.fit.n_shots; i++)
        held_out |= o->shots[i] > 1;
    refuse_given(g, "tune", !held_out, "a support of one row a class has no rows to hold out");
    refuse_given(g, "shots episodes queries ways", split, "--train and --test give one split, without episodes");
    refuse_confusion(o);
    refuse_given(g, "pairs", o->in.n_heads < 2, "expected two heads or more");
    refuse_math_on_cpu(g, &o->device);
}

void parse_readouts_options(readouts_options *o, int argc, char **argv) {
    *o = (readouts_options){.argc = argc, .argv = argv, .shots = {4, 8, 16, 32, 64}};
    o->in.fit = (mo_eval_options){
        .protocol = MO_PROTOCOL_EPISODE, .n_shots = 5, .episodes = 100, .queries = 30, .ways = 64, .hold_out = true};
    read_command_line(&readouts_line, argc, argv, o, &o->given);
    o->in.fit.shots = o->shots;
    if (!o->in.n_heads)
        take_row_heads(&o->in, DEFAULT_HEADS, &knn_head, NULL);
    o->in.fit.ranking = o->metrics || o->json;
    bool tunable = settle_row_options(&o->in, &o->given);
    refuse_given(&o->given, "sweep", !tunable, "none of these heads has a regularisation");
    refuse_readouts_options(o);
}
