/* tools/eval/eval_options.c - the command line of `mochi eval`. */
#include "tools/eval/eval_options.h"

#include "tools/data/default_data.h"
#include "tools/eval/eval_effect.h"
#include "tools/train/recipe.h"

#include <string.h>

enum {
    KEY_WEIGHTS = 0x100,
    KEY_RECIPE,
    KEY_SUITE,
    KEY_DATA,
    KEY_TASK,
    KEY_PROTOCOL,
    KEY_SHOTS,
    KEY_METRIC,
    KEY_EPISODES,
    KEY_QUERIES,
    KEY_SEEDS,
    KEY_HEAD,
    KEY_ENCODER,
    KEY_LAMBDA,
    KEY_HOP,
    KEY_POOL,
    KEY_DIM,
    KEY_SEED,
    KEY_TRANSDUCTIVE,
    KEY_AVERAGE,
    KEY_MAX_ROWS,
    KEY_DRAWS,
    KEY_TRAIN,
    KEY_TEST,
    KEY_FEATURES,
    KEY_THREADS,
    KEY_JSON,
    KEY_QUIET
};

static const struct argp_option options[] = {
    {NULL, 0, NULL, 0, "Weights and heads", 1},
    {"weights", KEY_WEIGHTS, "FILES", 0,
        "weights.safetensors of a run (or converted released weights), or several of them, separated by commas, each a "
        "column named by its recipe, with the baselines of the first; best: the weights that come with mochi "
        "(default); random: an untrained encoder; none: baselines without an encoder",
        0},
    {"recipe", KEY_RECIPE, "NAME", 0,
        "refuse weights of another recipe: best, paper, paper++ or released; a file without the metadata of mochi, as "
        "`convert.py weights` makes it of the released program's, is used as that program does",
        0},
    {"encoder", KEY_ENCODER, "FILE.so", 0, "the encoder of your own that the weights were trained with", 0},
    {"head", KEY_HEAD, "NAMES", 0,
        "readouts, at most eight, separated by commas: " HEADS
        ", or FILE.so with your own (default: the one trained with); on weights of the recipe best, mixture is "
        "its own readout, and every other head reads its embeddings as `mochi embed` writes them; dot: links by inner "
        "products, without a readout",
        0},
    {"lambda", KEY_LAMBDA, "L", 0, "ridge penalty (default: the weights' own, else 10)", 0},
    {"hop", KEY_HOP, "K", 0, "hop of the baseline `hop` (default: the best on the training pool)", 0},
    {"pool", KEY_POOL, "NAMES", 0,
        "graphs that choose the best hop if the weights do not name one (default: the embedded pool)", 0},
    {"dim", KEY_DIM, "D", 0, "width of the features without weights (default 512)", 0},
    {"transductive", KEY_TRANSDUCTIVE, NULL, 0,
        "on nodes and graphs, a further column for all weights of the recipe best, with +T behind its name: the "
        "readout refitted on its own predictions for all of them, with equally many assumed per class",
        0},
    {"average", KEY_AVERAGE, NULL, 0,
        "one column for all --weights, which are of one recipe with equal settings: their mean, and the standard "
        "deviation between them",
        0},
    {NULL, 0, NULL, 0, "Data and protocol", 2},
    {"suite", KEY_SUITE, "SUITE|FILE.json", 0,
        "data sets, tasks, shots, metrics, heads and protocol in place of the options below: paper, paper-offline "
        "(the part available offline), or a file of that form (train/episodes/README.md). Missing data sets are listed "
        "as "
        "not run",
        0},
    {"data", KEY_DATA, "NAMES", 0, "graphs, separated by commas (default: the embedded held-out graphs)", 0},
    {"task", KEY_TASK, "TASK", 0, "nc (nodes), lp (links) or gc (graphs) only (default: all that a graph can serve)",
        0},
    {"protocol", KEY_PROTOCOL, "NAME", 0,
        "split: a tenth of the examples is the test set, support from the rest, as the paper does; episode: balanced "
        "episodes (default split). Links: a fifth of the edges is the test set under both. public: the division of "
        "nodes that came with a graph (Planetoid's: 20 labels a class, 1,000 test nodes), or the mean over several; "
        "where none came, three are drawn, of 20 labels times the number of classes in proportion, half of the rest to "
        "test on; --data is by default cora, citeseer and pubmed, as far as they are there",
        0},
    {"train", KEY_TRAIN, "FILE", 0,
        "a split of your own, of the nodes of one graph: those to learn from, .npy or text, a node a line by its name "
        "or number; --test FILE: those to test on. With one of the two, the other part is all other nodes",
        0},
    {"test", KEY_TEST, "FILE", 0, "see --train", 0},
    {"shots", KEY_SHOTS, "K,..", 0, "support examples per class (default 4,8,16,32,64,512)", 0},
    {"metric", KEY_METRIC, "NAMES", 0,
        "only these metrics, separated by commas: accuracy, nll (cross-entropy in hundredths of a nat), ece (expected "
        "calibration error; both only if named) of nodes and graphs, auc, ap, mrr, hits_rank, hits_ogb, "
        "hits_pooled (links) (default: all)",
        0},
    {"episodes", KEY_EPISODES, "N", 0, "episodes of protocol episode (default 100)", 0},
    {"queries", KEY_QUERIES, "Q", 0, "query examples per class in protocol episode (default 30)", 0},
    {"seeds", KEY_SEEDS, "N", 0,
        "splits of protocol split, and of links (default 10; 3 of links where more than 5,000 are held out, as their "
        "rows are computed again for each split)",
        0},
    {"seed", KEY_SEED, "S", 0, "seed of splits, episodes and the untrained encoder (default 0)", 0},
    {NULL, 0, NULL, 0, "Execution", 3},
    {"draws", KEY_DRAWS, "DIR", 0,
        "write what is drawn: of repeat R at k = 4 of cora's nodes DIR/cora-nc-4-R.support.csv, which `mochi predict "
        "--labels` reads, and .test.csv, with the classes that the data have; of links also .graph.npz, without the "
        "test",
        0},
    {"max-rows", KEY_MAX_ROWS, "N", 0, "rows encoded at once; 0: all of an episode (default 32768)", 0},
    {"features", KEY_FEATURES, "PLACE", 0,
        "where features are kept: device, host memory, or disk, as files in --cache; rows are copied to the device as "
        "they are encoded (default: device, and host for a graph whose features do not fit)",
        0},
    KEEPING_OPTIONS,
    STACK_OPTION,
    DEVICE_OPTIONS,
    {"threads", KEY_THREADS, "N", 0, "CPU threads; the figures do not depend on it (default: all processors)", 0},
    {"json", KEY_JSON, NULL, 0,
        "one JSON object per line on standard output, distinguished by \"kind\": the run, each data set, each figure "
        "(cell), "
        "with mean, sd, ci95 and the values they come from",
        0},
    {"quiet", KEY_QUIET, NULL, 0, "no notices on standard error", 0},
    {0},
};

static const char description[] =
    "Few-shot evaluation on graphs outside the training pool. Columns: `trained`, the encoder of the weights; "
    "`random`, the same encoder untrained; `x0` and `hop`, the same head on the frozen features and on their best hop; "
    "the "
    "paper's figures beside them if it has any.\v"
    "Values are in percent: mean ± half width of the 95% interval (Student's t). † marks figures on a graph that the "
    "weights were trained on, ? those where their file does not say.\n\n"
    "Examples:\n"
    "  mochi eval --data cora,mutag\n"
    "  MOCHI_DATA=../data mochi eval --weights none --data pubmed --task nc\n"
    "  mochi eval --weights runs/a/weights.safetensors --shots 4,16 --json\n"
    "  MOCHI_DATA=../data mochi eval --suite paper-offline --protocol split --seeds 3 --json";

static void take_eval_heads(eval_options *o, const char *text, const struct argp_state *state) {
    names list = parse_names(state, "--head", text);
    if (list.count > MAX_HEADS)
        usage_error(state, "--head", "at most 8 names", text);
    o->n_heads = 0;
    o->dot = false;
    for (int i = 0; i < list.count; i++)
        if (!strcmp(list.items[i], "dot"))
            o->dot = true;
        else
            o->heads[o->n_heads++] = parse_head(state, list.items[i]);
    free_names(&list);
}

static void take_weights(eval_options *o, const char *text, const struct argp_state *state) {
    free_names(&o->weights);
    o->weights = parse_names(state, "--weights", text);
    if (o->weights.count > MAX_WEIGHTS)
        usage_error(state, "--weights", "at most 8 files", text);
}

static void take_eval_shots(eval_options *o, const char *text, const struct argp_state *state) {
    names list = parse_names(state, "--shots", text);
    if (list.count > MAX_SHOTS)
        usage_error(state, "--shots", "at most 64 numbers", text);
    for (int i = 0; i < list.count; i++)
        o->shots[i] = parse_integer(state, "--shots", list.items[i], 1, INT32_MAX);
    o->evaluation.n_shots = list.count;
    free_names(&list);
}

const char *metric_name(int i) {
    return i < METRIC_ACCURACY ? mo_link_metric_name(i) : mo_class_metric_name(i - METRIC_ACCURACY);
}

static void take_metrics(eval_options *o, const char *text, const struct argp_state *state) {
    const char *metric[N_METRICS];
    for (int i = 0; i < N_METRICS; i++)
        metric[i] = metric_name(i);
    names list = parse_names(state, "--metric", text);
    o->metrics = 0;
    for (int i = 0; i < list.count; i++)
        o->metrics |= 1u << parse_choice(state, "--metric", list.items[i], metric, N_METRICS);
    o->evaluation.calibration = o->metrics >> METRIC_ACCURACY > 1;
    free_names(&list);
}

static void take_subject(eval_options *o, int key, const char *text, const struct argp_state *state) {
    if (key == KEY_RECIPE)
        o->recipe = recipe_names[parse_choice(state, "--recipe", text, recipe_names, N_RECIPES)];
    else if (key == KEY_SUITE)
        o->suite = text;
    else if (key == KEY_WEIGHTS)
        take_weights(o, text, state);
    else if (key == KEY_ENCODER)
        o->encoder = parse_encoder(state, text);
    else if (key == KEY_HEAD)
        take_eval_heads(o, text, state);
    else if (key == KEY_LAMBDA)
        o->lambda = parse_positive(state, "--lambda", text);
    else if (key == KEY_HOP)
        o->hop = (int)parse_integer(state, "--hop", text, 0, 12);
    else if (key == KEY_DIM)
        o->dim = (int)parse_integer(state, "--dim", text, 1, 65536);
    else if (key == KEY_FEATURES)
        o->place = MO_FEATURES_ON_DEVICE + parse_choice(state, "--features", text, place_names, 3);
    else if (key == KEY_DRAWS)
        o->draws = take_output(state, "--draws", text, NULL);
    else if (key == KEY_THREADS)
        o->threads = (int)parse_integer(state, "--threads", text, 1, 1024);
    else if (key == KEY_TRANSDUCTIVE)
        o->transductive = true;
    else if (key == KEY_AVERAGE)
        o->average = true;
    else if (key == KEY_JSON)
        o->json = true;
    else if (key == KEY_QUIET)
        o->quiet = true;
}

static void take_task(eval_options *o, int key, const char *text, const struct argp_state *state) {
    mo_eval_options *e = &o->evaluation;
    if (key == KEY_DATA) {
        free_names(&o->data);
        o->data = parse_names(state, "--data", text);
    } else if (key == KEY_POOL) {
        pool_choice choice;
        parse_pool(state, "--pool", text, &choice);
        free_names(&o->pool);
        o->pool = choice.graphs;
    } else if (key == KEY_TASK) {
        o->task = parse_choice(state, "--task", text, (const char *[]){"nc", "lp", "gc"}, MO_TASKS);
    } else if (key == KEY_PROTOCOL) {
        e->protocol = (mo_protocol)parse_choice(
            state, "--protocol", text, (const char *[]){"split", "episode", "public"}, MO_PROTOCOLS);
    } else if (key == KEY_SHOTS) {
        take_eval_shots(o, text, state);
    } else if (key == KEY_METRIC) {
        take_metrics(o, text, state);
    } else if (key == KEY_EPISODES) {
        e->episodes = parse_integer(state, "--episodes", text, 1, INT32_MAX);
    } else if (key == KEY_QUERIES) {
        e->queries = parse_integer(state, "--queries", text, 1, INT32_MAX);
    } else if (key == KEY_SEEDS) {
        o->seeds_said = true;
        e->seeds = parse_integer(state, "--seeds", text, 1, INT32_MAX);
    } else if (key == KEY_SEED) {
        e->seed = (uint64_t)parse_integer(state, "--seed", text, 0, INT64_MAX);
    } else if (key == KEY_TRAIN || key == KEY_TEST) {
        *(key == KEY_TRAIN ? &o->train : &o->test) = text;
    } else if (key == KEY_MAX_ROWS) {
        e->max_rows = parse_integer(state, "--max-rows", text, 0, INT64_MAX);
    }
}

static error_t take_eval_option(int key, char *text, struct argp_state *state) {
    eval_options *o = state->input;
    note_given(&o->given, key);
    if (take_device(&o->device, key, text, state) || take_keeping(&o->memory, &o->cache, key, text, state) ||
        take_stack(&o->stack, key, text, state))
        return 0;
    if (key == ARGP_KEY_ARG)
        refuse_command_line(state, EXIT_USAGE, "'%s': expected options only", text);
    else if (key < KEY_WEIGHTS || key > KEY_QUIET)
        return ARGP_ERR_UNKNOWN;
    take_subject(o, key, text, state);
    take_task(o, key, text, state);
    return 0;
}

void parse_eval_options(eval_options *o, int argc, char **argv) {
    static const struct argp argp = {
        .options = options, .parser = take_eval_option, .doc = description, .help_filter = name_heads};
    *o = (eval_options){.task = -1, .hop = -1, .dim = 512, .shots = {4, 8, 16, 32, 64, 512}, .argc = argc};
    o->argv = argv;
    o->evaluation = (mo_eval_options){.n_shots = 6, .episodes = 100, .seeds = 10, .max_rows = 32768};
    o->given = (given_options){.table = options, .command = argv[0]};
    parse_options(&argp, argc, argv, o);
    if (o->train || o->test)
        o->evaluation.protocol = MO_PROTOCOL_PUBLIC; /* with another division */
    bool public = o->evaluation.protocol == MO_PROTOCOL_PUBLIC;
    o->evaluation.shots = o->shots;
    if (public) { /* nodes, and the k of their division */
        o->task = o->task < 0 ? MO_TASK_NC : o->task;
        o->evaluation.n_shots = 1;
    }
    refuse_eval_words(o);
    o->weights = o->weights.count ? o->weights : parse_names(NULL, "--weights", "best");
    if (!o->data.count)
        o->data = parse_names(NULL, "--data", public ? PUBLIC_DATA : DEFAULT_HELD_OUT);
    if (!o->pool.count)
        o->pool = parse_names(NULL, "--pool", DEFAULT_POOL);
}

void free_eval_options(eval_options *o) {
    free_names(&o->weights);
    free_names(&o->data);
    free_names(&o->pool);
}
