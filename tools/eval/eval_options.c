/* tools/eval/eval_options.c - the command line of `mochi eval`, and the refusal of options without effect. */
#include "tools/eval/eval.h"

#include "tools/data/default_data.h"

#include <string.h>

static void take_heads(void *options, const char *text, const struct argp_state *state) {
    eval_options *o = options;
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

static void take_shots(void *options, const char *text, const struct argp_state *state) {
    eval_options *o = options;
    o->evaluation.n_shots = parse_integers(state, "--shots", text, o->shots, MAX_SHOTS, 1, INT32_MAX);
}

const char *metric_name(int i) {
    return i < METRIC_ACCURACY ? mo_link_metric_name(i) : mo_class_metric_name(i - METRIC_ACCURACY);
}

static void take_metrics(void *options, const char *text, const struct argp_state *state) {
    eval_options *o = options;
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

static void take_eval_pool(void *options, const char *text, const struct argp_state *state) {
    eval_options *o = options;
    pool_choice choice;
    parse_pool(state, "--pool", text, &choice);
    free_names(&o->pool);
    o->pool = choice.graphs;
}

#define NAMED_BY_SUITE "--suite names data sets and tasks itself: expected neither --data nor --task"
#define AT(field) offsetof(eval_options, field)

static const option table[] = {
    {OPTION_GROUP, .help = "Weights and heads"},
    {OPTION_INPUTS, "weights", "FILES", AT(weights),
        "weights.safetensors of a run (or converted released weights), or several of them, separated by commas, each a "
        "column named by its recipe, with the baselines of the first; " SHIPPED_WEIGHTS "; random: "
        "an untrained encoder; none: baselines without an encoder",
        .high = MAX_WEIGHTS, .choices = "best|free|random|none"},
    {OPTION_WORD, "recipe", "NAME", AT(recipe),
        "refuse weights of another recipe: best, paper, paper++ or released; a file without mochi's metadata, as the "
        "released program writes it, counts as released",
        .choices = MO_RECIPE_CHOICES},
    {OPTION_ENCODER, "encoder", "FILE.so", AT(encoder), "your own encoder, with which the weights were trained"},
    {OPTION_OTHER, "head", "NAMES", 0,
        "readouts, at most eight, separated by commas: " HEADS
        ", or FILE.so with your own (default: the one trained with); with weights of the recipe best, mixture is "
        "their own readout, and every other head reads the embeddings that `mochi embed` writes; dot: links by inner "
        "products, without a readout",
        .choices = HEADS, .take = take_heads},
    {OPTION_POSITIVE, "lambda", "L", AT(lambda),
        "penalty of the heads (default: the weights' own, else 10; of a FILE.so its own)"},
    {OPTION_INT, "hop", "K", AT(hop), "hop of the baseline `hop` (default: the best on the training pool)", 0, 12},
    {OPTION_OTHER, "pool", "NAMES", 0,
        "graphs on which the best hop is chosen if the weights do not name one (default: the embedded pool)",
        .choices = "@graphs|paper|paper-offline", .take = take_eval_pool, .not_with = "hop",
        .why = "--hop says which hop is taken"},
    {OPTION_INT, "dim", "D", AT(dim), "width of the features without weights (default 512)", 1, 65536},
    {OPTION_CHOICE, "transductive", "MODE", AT(transductive),
        "for nodes and graphs, further columns for all weights of the recipe best. yes: +T, the readout refitted on "
        "its own predictions for all examples, with equally many assumed per class; for graphs also -T, which uses "
        "statistics and vocabularies of the labelled ones only. auto: +T?, with the refit if held-out labels are then "
        "predicted no worse, as in `mochi predict`. Default no",
        .choices = "no|yes|auto"},
    {OPTION_GROUP, .help = "Data and protocol"},
    {OPTION_INPUT, "suite", "SUITE|FILE.suite", AT(suite),
        "data sets, tasks, shots, heads and protocol in place of the options below: paper, paper-offline (the "
        "part available offline), or a file of that form (train/README.md). Missing data sets are listed as "
        "not run",
        .choices = "paper|paper-offline"},
    {OPTION_INPUTS, "data", "NAMES", AT(data), "graphs, separated by commas (default: the embedded held-out graphs)",
        .choices = "@graphs", .not_with = "suite", .why = NAMED_BY_SUITE},
    {OPTION_CHOICE, "task", "TASK", AT(task),
        "only this task: nc (nodes), lp (links) or gc (graphs) (default: all that a graph allows); or real targets of "
        "nodes (nr) or graphs (gr), which lie beside the data, k of them known: r2 and mae in percent of the mean's, "
        "and "
        "coverage of the 90% interval",
        .choices = "nc|lp|gc|nr|gr", .not_with = "suite", .why = NAMED_BY_SUITE},
    {OPTION_CHOICE, "protocol", "NAME", AT(evaluation.protocol),
        "split (default): a tenth of the examples is the test set, and the support is drawn from the rest, as in the "
        "paper; episode: balanced episodes; links have a fifth of the edges as the test set under both. public: the "
        "division of nodes that comes with a graph (Planetoid's: 20 labels per class, 1,000 test nodes), or the mean "
        "over several; a graph without one gets three: training nodes, 20 times the number of classes, drawn in "
        "proportion to the classes, and half of the rest as test nodes; default of --data: cora, citeseer and pubmed, "
        "those that are installed",
        .choices = "split|episode|public"},
    {OPTION_CHOICE, "negatives", "KIND", AT(negatives),
        "links: the pairs without a link. random (default): drawn from all, as in the paper; near: links and other "
        "pairs that are two steps apart, which distance alone does not tell apart",
        .choices = "random|near"},
    {OPTION_OTHER, "shots", "K,..", 0, "support examples per class (default 4,8,16,32,64,512)", .take = take_shots},
    {OPTION_OTHER, "metric", "NAMES", 0,
        "only these metrics, separated by commas: accuracy, nll (cross-entropy in hundredths of a nat), ece (expected "
        "calibration error; both only if named) of nodes and graphs, auc, ap, mrr, hits_rank, hits_ogb, hits_pooled "
        "(links) (default: all)",
        .choices = "accuracy|nll|ece|auc|ap|mrr|hits_rank|hits_ogb|hits_pooled", .take = take_metrics},
    {OPTION_INT64, "episodes", "N", AT(evaluation.episodes), "episodes of protocol episode (default 100)", 1,
        INT32_MAX},
    {OPTION_INT64, "queries", "Q", AT(evaluation.queries), "query examples per class in protocol episode (default 30)",
        1, INT32_MAX},
    {OPTION_INT64, "seeds", "N", AT(evaluation.seeds),
        "splits of protocol split, and of links (default 10; 3 for links if more than 5,000 edges are held out, as "
        "rows are computed again for each split)",
        1, INT32_MAX},
    SEED_OPTION(eval_options, evaluation.seed, "splits, episodes and the untrained encoder"),
    {OPTION_GROUP, .help = "Execution"},
    {OPTION_OUTPUT, "draws", "DIR", AT(draws),
        "write the drawn examples: for repeat R at k = 4 on cora's nodes DIR/cora-nc-4-R.support.csv, which `mochi "
        "predict --labels` reads, and .test.csv, with the classes of the data; for links also .graph.npz, the graph "
        "without the test edges"},
    MAX_ROWS_OPTION(eval_options, evaluation.max_rows, "rows encoded at once; 0: all of an episode (default 32768)"),
    ATTRIBUTES_OPTION(eval_options, attributes, "as for the weights"),
    PLACE_OPTION(eval_options, place),
    KEEPING_OPTIONS(eval_options, cache),
    DEVICE_OPTIONS(eval_options, device),
    THREADS_OPTION(eval_options, device.threads),
    JSON_OPTION(eval_options, json,
        "one JSON object per line on standard output, distinguished by \"kind\": the run, each data set, each figure "
        "(cell), with mean, sd, ci95 and the values they come from"),
    {OPTION_FLAG, "quiet", NULL, AT(quiet), "no notices on standard error"},
    {OPTION_END},
};

static const char about[] =
    "Few-shot evaluation on graphs outside the training pool. Columns: `trained`, the encoder of the weights; "
    "`untrained`, the same encoder before its first step; `raw features` and `best hop`, the same head on the frozen "
    "features and on their best hop, without an encoder (with --json random, x0 and hop). `mochi-report EVAL.jsonl "
    "--text` shows what --json wrote beside the paper's figures, or beside other evaluations.\v"
    "Values are in percent: mean ± half width of the 95% interval (Student's t). † marks figures on a graph that the "
    "weights were trained on, ? those where their file does not say.\n\n"
    "Examples:\n"
    "  mochi eval --data cora,mutag\n"
    "  MOCHI_DATA=../data mochi eval --weights none --data pubmed --task nc\n"
    "  mochi eval --weights runs/a/weights.safetensors --shots 4,16 --json\n"
    "  MOCHI_DATA=../data mochi eval --suite paper-offline --protocol split --seeds 3 --json";

const command_line eval_line = {.table = table, .about = about};

unsigned metrics_of(mo_task task) {
    unsigned links = (1u << MO_LINK_METRICS) - 1;
    return task == MO_TASK_LP ? links : ((1u << N_METRICS) - 1) & ~links;
}

/* ---- the subjects of the evaluation ---- */

/* Counts the weights given as this word; if NULL, the weights that are files, neither "random" nor "none". */
static int count_weights(const eval_options *o, const char *word) {
    int n = 0;
    for (int i = 0; i < o->weights.count; i++) {
        const char *name = o->weights.items[i];
        n += word ? !strcmp(name, word) : strcmp(name, "random") != 0 && strcmp(name, "none") != 0;
    }
    return n;
}

/* The tasks to be evaluated, as bits; a named graph's tasks are unknown until it is opened. */
static unsigned tasks_of(const eval_options *o, const mo_suite *suite) {
    unsigned tasks = o->task >= 0 ? 1u << o->task : 7;
    for (int i = 0; suite && i < suite->n; i++)
        tasks = (i ? tasks : 0) | 1u << suite->task[i].task;
    return tasks;
}

static bool has_lambda(const subject *s, bool of_models) {
    bool has = false;
    for (int i = 0; i < s->n_candidates; i++)
        has |= (s->candidates[i].model != NULL) == of_models && mo_head_has(s->candidates[i].head, "lambda") &&
               !s->candidates[i].head->kernels;
    return has;
}

const char *eval_protocol_name(const eval_options *o, const char *task) {
    bool links = !strcmp(task, "lp");
    return links ? (o->negatives ? "near" : "split") : mo_protocol_name(o->evaluation.protocol);
}

/* ---- refusals by the command line alone ---- */

static void refuse_eval_words(const eval_options *o) {
    const given_options *g = &o->given;
    refuse_given(g, "encoder", o->weights.count && !count_weights(o, NULL),
        "expected --weights of that encoder beside it, found none");
    bool public = o->evaluation.protocol == MO_PROTOCOL_PUBLIC;
    refuse_given(g, "suite", public, "--protocol public has a task and a k of its own: expected --data or neither");
    refuse_given(g, "protocol", public && o->task != MO_TASK_NC, "public: expected --task nc: it divides nodes");
    refuse_given(g, "shots", public, "--protocol public has the k of its division");
    refuse_given(g, "shots", o->dot && !o->n_heads, "--head dot has no support");
    refuse_given(g, "weights", o->weights.count > 1 && count_weights(o, NULL) < o->weights.count,
        "random and none beside other weights: their table has the untrained encoder and the single hops already");
    refuse_math_on_cpu(g, &o->device);
}

/* ---- refusals that depend on weights and suite ---- */

static void refuse_by_weights(const eval_options *o, const subject *subjects, int n) {
    const given_options *g = &o->given;
    bool lambda = false, dot = false, transductive = false, model = false;
    for (int j = 0; j < n; j++) {
        const subject *s = &subjects[j];
        lambda |= has_lambda(s, s->n_models > 0);
        model |= s->n_models > 0;
        for (int i = 0; i < s->n_candidates; i++) {
            dot |= s->candidates[i].dot;
            transductive |= s->candidates[i].transductive;
        }
    }
    refuse_given(g, "recipe", !count_weights(o, NULL), "expected a weights file: the option checks its recipe");
    refuse_given(g, "dim", !count_weights(o, "random") && !count_weights(o, "none"),
        "the weights fix the width of their features; expected --weights random or none");
    refuse_given(g, "max-rows", !model, "without weights nothing is encoded; expected --weights");
    refuse_given(g, "transductive", !transductive,
        "expected weights of the recipe best with their own readout, the head mixture");
    refuse_given(
        g, "head", o->dot && !dot, "dot needs node embeddings; weights of the recipe best have none: use --head ridge");
    refuse_given(g, "lambda", !lambda,
        "the readouts of these weights have learned it or have none; name a --head that has a lambda");
}

static void refuse_by_tasks(const eval_options *o, const mo_suite *suite) {
    const given_options *g = &o->given;
    unsigned tasks = tasks_of(o, suite), wanted = 0;
    bool links = tasks >> MO_TASK_LP & 1, classes = tasks & ~(1u << MO_TASK_LP);
    bool episodes = o->evaluation.protocol == MO_PROTOCOL_EPISODE;
    refuse_given(g, "protocol", !classes, "links have one protocol: a split");
    refuse_given(g, "episodes queries", !classes || !episodes,
        "expected --protocol episode and nodes or graphs (the default protocol is split)");
    refuse_given(g, "seeds", episodes && !links, "expected --protocol split; for protocol episode use --episodes");
    refuse_given(g, "seeds", o->evaluation.protocol == MO_PROTOCOL_PUBLIC,
        "expected --protocol split; protocol public uses the splits that came with the data");
    refuse_given(g, "negatives", !links, "expected links");
    refuse_given(g, "negatives", o->suite, "the suites are those of the paper, whose pairs are random");
    refuse_given(g, "transductive", !classes, "expected nodes or graphs: links have no transductive readout");
    refuse_given(g, "head", o->dot && !links, "dot: expected links; only links are scored by inner products");
    for (int task = 0; task < MO_TASKS; task++)
        wanted |= tasks >> task & 1 ? metrics_of((mo_task)task) : 0;
    refuse_given(g, "metric", o->metrics & ~wanted, "names a metric that the tasks to evaluate do not have");
}

void refuse_eval_options(const eval_options *o, const subject *subjects, int n, const mo_suite *suite) {
    unsigned tasks = tasks_of(o, suite);
    bool known = true;
    refuse_by_tasks(o, suite);
    refuse_by_weights(o, subjects, n);
    for (int task = 0; task < MO_TASKS; task++)
        known &= !(tasks >> task & 1) || subjects[0].best_hop[task] >= 0;
    refuse_given(&o->given, "pool", known, "the weights already name the best hop");
}

void parse_eval_options(eval_options *o, int argc, char **argv) {
    *o = (eval_options){.task = -1, .hop = -1, .dim = 512, .shots = {4, 8, 16, 32, 64, 512}, .argc = argc};
    o->argv = argv;
    o->evaluation = (mo_eval_options){.n_shots = 6, .episodes = 100, .seeds = 10, .max_rows = 32768};
    read_command_line(&eval_line, argc, argv, o, &o->given);
    bool public = o->evaluation.protocol == MO_PROTOCOL_PUBLIC;
    o->seeds_said = is_given(&o->given, "seeds");
    o->targets = o->task >= MO_TASKS;
    if (o->targets) {
        o->task = o->task == MO_TASKS ? MO_TASK_NC : MO_TASK_GC;
        refuse_given(&o->given, "protocol queries seeds metric draws transductive head", true,
            "real targets are drawn in episodes, predicted by the readout of the weights, and have metrics of their "
            "own");
        o->evaluation.protocol = MO_PROTOCOL_EPISODE;
        if (!is_given(&o->given, "shots"))
            o->evaluation.n_shots = 3, memcpy(o->shots, (int64_t[]){16, 64, 256}, 3 * sizeof *o->shots);
    }
    o->evaluation.shots = o->shots;
    if (public) { /* protocol `public` has only nodes, and its division sets k */
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
