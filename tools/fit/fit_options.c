/* tools/fit/fit_options.c - the command line of `mochi fit`. */
#include "tools/fit/fit_options.h"
#include "tools/predict/predict.h"

#include <string.h>

#define DEFAULT_HEADS "ridge,logistic,prototype_euclidean,prototype_inner"

enum {
    KEY_HEAD = 0x100,
    KEY_SHOTS,
    KEY_EPISODES,
    KEY_QUERIES,
    KEY_WAYS,
    KEY_LAMBDA,
    KEY_TUNE,
    KEY_SEED,
    KEY_DIAGNOSE,
    KEY_EPSILON,
    KEY_NO_GEOMETRY,
    KEY_DRAWS,
    KEY_STANDARDISE,
    KEY_NORMALISE,
    KEY_CENTRE,
    KEY_TRAIN,
    KEY_TEST,
    KEY_PAIRS,
    KEY_SWEEP,
    KEY_CONFUSION,
    KEY_SAVE,
    KEY_READOUT,
    KEY_PREDICT,
    KEY_OUT,
    KEY_PROBABILITIES,
    KEY_MIN_CONFIDENCE,
    KEY_THREADS,
    KEY_JSON,
    KEY_QUIET
};

static const struct argp_option options[] = {
    {0, 0, NULL, 0, "Heads:", 1},
    {"head", KEY_HEAD, "NAMES", 0,
        "readouts, comma-separated, of " HEADS ", FILE.so, or all (default " DEFAULT_HEADS ")", 1},
    {"shots", KEY_SHOTS, "LIST", 0, "support rows per class (default 4,8,16,32,64)", 1},
    {"lambda", KEY_LAMBDA, "L", 0, "penalty of the heads that have one, 0 or more (default: each head's own)", 1},
    {"tune", KEY_TUNE, "loo", 0,
        "each episode chooses its head's regularisation by the held-out rows of its own support", 1},
    {"standardise", KEY_STANDARDISE, NULL, 0,
        "columns less their mean in the support, divided by their standard deviation there, before every fit; 0 where "
        "a column is constant in the support",
        1},
    {"centre", KEY_CENTRE, NULL, 0, "columns less their mean in the support, before every fit", 1},
    {"normalise", KEY_NORMALISE, NULL, 0, "each row divided by its Euclidean norm, before every fit", 1},
    {0, 0, NULL, 0, "Episodes:", 2},
    {"episodes", KEY_EPISODES, "N", 0, "episodes of each k (default 100)", 2},
    {"queries", KEY_QUERIES, "Q", 0, "query rows per class (default 30)", 2},
    {"ways", KEY_WAYS, "W", 0, "classes per episode, drawn if there are more (default 64)", 2},
    {"seed", KEY_SEED, "S", 0, "seed of the episodes (default 0)", 2},
    {"draws", KEY_DRAWS, "FILE.npz", 0,
        "write the episodes for another program: for k = 4 the arrays k4_support, k4_query [episodes, rows of one], "
        "row "
        "numbers in Z from 0, and k4_support_label, k4_query_label, classes of the episode from 0",
        2},
    {0, 0, NULL, 0, "A split of your own in place of episodes:", 3},
    {"train", KEY_TRAIN, "FILE", 0,
        "the rows to learn from: .npy or text, a number from 0 on each line; without it, all rows but those of --test",
        3},
    {"test", KEY_TEST, "FILE", 0, "the rows to test on; without it, all rows but those of --train", 3},
    {0, 0, NULL, 0, "One head as a tool, in place of episodes (expects --head NAME):", 3},
    {"save", KEY_SAVE, "FILE", 0, "keep the head fitted on all labelled rows (safetensors, with those rows)", 3},
    {"predict", KEY_PREDICT, "ROWS", 0,
        "predict rows of a file by the head fitted on all labelled rows, or by that of --readout", 3},
    {"readout", KEY_READOUT, "FILE", 0, "in place of Z and y: a head that --save kept, for --predict", 3},
    {"out", KEY_OUT, "FILE", 0,
        "the predictions, as `mochi predict` writes them: .csv, .tsv, .jsonl or .npy (default: CSV on standard output)",
        3},
    {"probabilities", KEY_PROBABILITIES, NULL, 0, "also the probability of every class", 3},
    {"min-confidence", KEY_MIN_CONFIDENCE, "P", 0, "rows whose probability is below P get no label", 3},
    {0, 0, NULL, 0, "Output:", 4},
    {"sweep", KEY_SWEEP, NULL, 0,
        "each head's figures at every value of its lambda (or shrinkage) that --tune tries, and how many episodes "
        "--tune "
        "loo gave it",
        4},
    {"pairs", KEY_PAIRS, NULL, 0,
        "the difference of every two heads on the same problems, with its 95% interval; * where that leaves out 0", 4},
    {"confusion", KEY_CONFUSION, "HEAD", 0,
        "which classes that head takes for which: the matrix, precision, recall and F1 of each class, the worst pairs",
        4},
    {"diagnose", KEY_DIAGNOSE, NULL, 0, "the geometry class by class, and calibration by norm", 4},
    {"epsilon", KEY_EPSILON, "E", 0,
        "epsilon of inclusion in the hull, in mean distances of two prototypes (default 0.1)", 4},
    {"no-geometry", KEY_NO_GEOMETRY, NULL, 0,
        "omit the geometry of the prototypes, which takes longer with more classes", 4},
    {"threads", KEY_THREADS, "N", 0, "CPU threads (default: all processors)", 4},
    EXPAND_OPTION,
    DEVICE_OPTIONS,
    {"json", KEY_JSON, NULL, 0, "one JSON object per head and k on standard output, nothing else", 4},
    {"quiet", KEY_QUIET, NULL, 0, "no warnings on standard error", 4},
    {0},
};

static const char description[] =
    "Few-shot accuracy and calibration of readouts on your own embeddings. Z: rows [n, d] of numbers (.npy, .npz or "
    ".safetensors; FILE:NAME takes one array of several); y: the class of each row, a whole number (negative: "
    "unlabelled) "
    "or a text (empty: unlabelled), as such an array, as .txt with one label a line, or as .csv or .tsv with a header "
    "(its only column, the one named label, or FILE:NAME). Unlabelled rows are left out; real numbers are refused. "
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
    "in the convex hull of the others, or within epsilon of it; how confidence follows the norm.\n\n"
    "Examples:\n"
    "  mochi fit Z.npy y.npy\n"
    "  mochi fit cora.npz:Z cora.npz:y --head ridge,logistic,lda --shots 4,16 --tune loo\n"
    "  mochi fit Z.npy y.npy --diagnose --json";

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

static void take_fit_shots(fit_options *o, const char *text, const struct argp_state *state) {
    names list = parse_names(state, "--shots", text);
    if (list.count > FIT_SHOTS)
        usage_error(state, "--shots", "at most 64 numbers", text);
    for (int i = 0; i < list.count; i++)
        o->shots[i] = parse_integer(state, "--shots", list.items[i], 1, 1 << 20);
    o->fit.n_shots = list.count;
    free_names(&list);
}

static void take_number(fit_options *o, int key, const char *text, const struct argp_state *state) {
    mo_fit_options *f = &o->fit;
    if (key == KEY_EPISODES)
        f->episodes = parse_integer(state, "--episodes", text, 1, INT32_MAX);
    else if (key == KEY_QUERIES)
        f->queries = parse_integer(state, "--queries", text, 1, 1 << 20);
    else if (key == KEY_WAYS)
        f->ways = parse_integer(state, "--ways", text, 2, 1 << 20);
    else if (key == KEY_SEED)
        f->seed = (uint64_t)parse_integer(state, "--seed", text, 0, INT64_MAX);
    else if (key == KEY_LAMBDA) {
        o->lambda = parse_real(state, "--lambda", text, 0, 1e300);
        f->lambda = &o->lambda;
    } else if (key == KEY_EPSILON) {
        o->epsilon = parse_positive(state, "--epsilon", text);
    } else if (key == KEY_THREADS)
        o->threads = (int)parse_integer(state, "--threads", text, 1, 1024);
}

static void take_scaling(fit_options *o, int key, const struct argp_state *state) {
    mo_scaling scaling = key == KEY_CENTRE        ? MO_SCALING_CENTRE
                         : key == KEY_STANDARDISE ? MO_SCALING_STANDARDISE
                                                  : MO_SCALING_NORMALISE;
    if (o->fit.scaling && o->fit.scaling != scaling)
        refuse_command_line(
            state, EXIT_USAGE, "expected one of --standardise, --centre and --normalise, found several");
    o->fit.scaling = scaling;
}

/* The files of a readout that is kept, and what is written of its predictions. Returns whether it took the key. */
static bool take_readout(fit_options *o, int key, const char *text, const struct argp_state *state) {
    if (key == KEY_SAVE)
        o->save = take_output(state, "--save", text, ".safetensors");
    else if (key == KEY_READOUT)
        o->readout = text;
    else if (key == KEY_PREDICT)
        o->predict = text;
    else if (key == KEY_OUT)
        o->out = take_output(state, "--out", text, PREDICTIONS);
    else if (key == KEY_PROBABILITIES)
        o->probabilities = true;
    else if (key == KEY_MIN_CONFIDENCE)
        o->least = parse_real(state, "--min-confidence", text, 0, 1);
    else
        return false;
    return true;
}

static error_t take_fit_option(int key, char *text, struct argp_state *state) {
    fit_options *o = state->input;
    note_given(&o->given, key);
    if (take_device(&o->device, key, text, state) || take_expand(key, text, state) || take_readout(o, key, text, state))
        return 0;
    if (key == ARGP_KEY_ARG && state->arg_num < 2)
        *(state->arg_num == 0 ? &o->rows : &o->labels) = text;
    else if (key == ARGP_KEY_ARG)
        refuse_command_line(state, EXIT_USAGE, "'%s': expected two files, rows and labels", text);
    else if (key == ARGP_KEY_END && o->readout && state->arg_num > 0)
        refuse_command_line(state, EXIT_USAGE, "--readout: it has rows and labels of its own, expected no others");
    else if (key == ARGP_KEY_END && !o->readout && state->arg_num < 2)
        refuse_command_line(state, EXIT_USAGE, "expected two files, rows and labels: mochi fit Z.npy y.npy");
    else if (key == KEY_HEAD)
        take_fit_heads(o, text, state);
    else if (key == KEY_SHOTS)
        take_fit_shots(o, text, state);
    else if (key == KEY_TUNE)
        o->fit.tune = parse_choice(state, "--tune", text, (const char *[]){"loo"}, 1) == 0;
    else if (key == KEY_DRAWS)
        o->draws = take_output(state, "--draws", text, ".npz");
    else if (key == KEY_TRAIN || key == KEY_TEST)
        *(key == KEY_TRAIN ? &o->train : &o->test) = text;
    else if (key == KEY_STANDARDISE || key == KEY_NORMALISE || key == KEY_CENTRE)
        take_scaling(o, key, state);
    else if (key == KEY_CONFUSION)
        o->confusion = text;
    else if (key == KEY_SWEEP)
        o->fit.sweep = true;
    else if (key == KEY_PAIRS)
        o->pairs = true;
    else if (key == KEY_DIAGNOSE)
        o->diagnose = true;
    else if (key == KEY_NO_GEOMETRY)
        o->no_geometry = true;
    else if (key == KEY_JSON)
        o->json = true;
    else if (key == KEY_QUIET)
        o->quiet = true;
    else if (key < KEY_HEAD || key > KEY_QUIET)
        return ARGP_ERR_UNKNOWN;
    take_number(o, key, text, state);
    return 0;
}

void parse_fit_options(fit_options *o, int argc, char **argv) {
    static const struct argp argp = {.options = options,
        .parser = take_fit_option,
        .args_doc = "Z y",
        .doc = description,
        .help_filter = name_heads};
    *o = (fit_options){.argc = argc, .argv = argv, .epsilon = 0.1, .shots = {4, 8, 16, 32, 64}};
    o->fit = (mo_fit_options){.n_shots = 5, .episodes = 100, .queries = 30, .ways = 64};
    o->given = (given_options){.table = options, .command = argv[0]};
    parse_options(&argp, argc, argv, o);
    o->fit.shots = o->shots;
    if (!o->n_heads)
        take_fit_heads(o, DEFAULT_HEADS, NULL);
    refuse_fit_options(o);
}
