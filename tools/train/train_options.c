/* tools/train/train_options.c - the command line of `mochi train`.
 *
 * The words are read twice: first the options that decide the defaults (--recipe, --resume, --out), then the options
 * that change them, so that their order does not matter. */
#include "tools/memory.h"
#include "tools/train/recipe_options.h"

#include <stdlib.h>
#include <string.h>

static const struct argp_option options[] = {
    {NULL, 0, NULL, 0, "What to train on", 1},
    {"pool", KEY_POOL, "NAMES|POOL|FILE.json", 0,
        "graphs, separated by commas: names of `mochi data list` or paths; NAME:nc+lp restricts a graph to those "
        "tasks, "
        "NAME:lp@0.1 holds out its own share of links (default: the embedded pool); paper or paper-offline: the graphs "
        "that the "
        "article trains on, or the part of them available offline; or a file of that form (train/episodes/README.md)",
        0},
    {"link-share", KEY_LINK_SHARE, "S", 0,
        "share of each graph's edges held out of its features, for the "
        "link episodes (default 0.2)",
        0},
    {"max-classes", KEY_CLASSES, "C", 0, "most classes per episode (default 64)", 0},
    {"k", KEY_K, "A:B", 0,
        "support examples per class, drawn between A and B (default 4:64, twice that for links; paper 8:32; released "
        "96)",
        0},
    {"q", KEY_Q, "A:B", 0,
        "query examples per class (default 24, twice that for links and graphs; paper 16:64; released 192)", 0},
    {NULL, 0, NULL, 0, "The model", 2},
    {"recipe", KEY_RECIPE, "NAME", 0,
        "best: an encoder that does not see the basis of an SVD, 28 numbers (default); paper: as the article says; "
        "paper++: with one episode of each task family per step; released: as the authors' program does",
        0},
    {"layers", KEY_LAYERS, "2|3", 0, "layers of the output MLP; 3 has a residual (default 3)", 0},
    {"dim", KEY_DIM, "D", 0, "width of features and embeddings (default 256; paper 512)", 0},
    {"encoder", KEY_ENCODER, "FILE.so", 0,
        "your own encoder in place of the recipe's (`mochi new encoder NAME` writes one to start from)", 0},
    {"head", KEY_HEAD, "NAME|FILE.so", 0,
        "readout that the encoder learns under: " HEADS ", or FILE.so with your own (default mixture, which in the "
        "recipe best is its own readout; else ridge)",
        0},
    {"lambda", KEY_LAMBDA, "L", 0, "the head's penalty (default 10; 3 for best under a head other than its own)", 0},
    {"temperature", KEY_TEMPERATURE, "WHERE", 0,
        "learned temperature on the logit, or on the unit-norm embed(ding) "
        "(default logit; released embed)",
        0},
    {"combine", KEY_COMBINE, "HOW", 0,
        "the SVDs of adjacency and node features: concat, half of the width each (default), or their sum (released)",
        0},
    {"feature-norm", KEY_FEATURE_NORM, "WHICH", 0,
        "normalisation of the rows before the hops: none (default), or layer, LayerNorm without affine (released)", 0},
    {"hops", KEY_HOPS, "L", 0, "hops read beside the row itself (default 3)", 0},
    {"hop-activation", KEY_HOP_ACTIVATION, "WHICH", 0,
        "activation of each hop's layer: none (default), or relu (released)", 0},
    {"without", KEY_WITHOUT, "PARTS", 0,
        "leave parts out of the encoder of the recipe best, a comma between: diffused, initial, statistics, subtrees, "
        "waves, walks, matches",
        0},
    {"dropout", KEY_DROPOUT, "RATE", 0, "dropout after every ReLU (default 0)", 0},
    {"power-iterations", KEY_POWER, "N", 0, "power iterations of the randomized SVD; -1: until converged (default 2)",
        0},
    {NULL, 0, NULL, 0, "The optimiser", 3},
    {"steps", KEY_STEPS, "N", 0, "optimiser steps (default 400; paper 10000; released 12991)", 0},
    {"episodes-per-step", KEY_EPISODES, "E", 0,
        "episodes whose mean loss is a step's, 1 to 65535; from 2 on the task families take turns (default 3; paper 1)",
        0},
    {"lr", KEY_LR, "RATE", 0, "learning rate at the start of the cosine (default 1e-2; paper 3e-4)", 0},
    {"weight-decay", KEY_WEIGHT_DECAY, "D", 0, "decoupled weight decay of all parameters, 0 or more (default 1e-4)", 0},
    {"clip", KEY_CLIP, "NORM", 0, "largest norm of the gradient; 0: any (default 1)", 0},
    {"smoothing", KEY_SMOOTHING, "S", 0, "label smoothing of the loss, 0 or more and below 1 (default 0.1)", 0},
    {"seed", KEY_SEED, "S", 0, "seed of all random numbers; equal seeds give equal weights (default 0)", 0},
    {NULL, 0, NULL, 0, "The run", 4},
    {"out", KEY_OUT, "RUN", 0, "folder for weights.safetensors, checkpoint.safetensors, log.jsonl and run.json", 0},
    {"resume", KEY_RESUME, NULL, 0, "continue from RUN's checkpoint, with the settings of RUN/run.json", 0},
    {"new-lr", KEY_NEW_LR, "RATE", 0,
        "with --resume: continue at another learning rate after a failed step; the only setting that may change", 0},
    {"checkpoint-every", KEY_CHECKPOINT, "N", 0, "steps between checkpoints; 0: only at the end (default 500)", 0},
    {"digest", KEY_DIGEST, NULL, 0,
        "write RUN/digests.jsonl: of each step, digests of its episodes, gradients and parameters: two "
        "runs with equal files went the same way",
        0},
    {"solve-health", KEY_SOLVES, NULL, 0,
        "log the worst reciprocal condition and residual of each step's linear systems; costs an inverse in float64 of "
        "each",
        0},
    {"max-rows", KEY_MAX_ROWS, "N", 0,
        "rows encoded at once; backward encodes them once more, and memory holds one such block; 0: all of an episode "
        "(default 0)",
        0},
    {"features", KEY_FEATURES, "PLACE", 0,
        "where features are kept: device, host memory, or disk, as files in --cache; rows of an episode are fetched "
        "from there by a thread ahead of its step "
        "(default: device, and host for a graph whose features do not fit)",
        0},
    KEEPING_OPTIONS,
    DEVICE_OPTIONS,
    {"replay", KEY_REPLAY, NULL, 0,
        "record the work of an episode on cuda and replay it as a graph when one of its shape comes again; pays where "
        "--k and --q are single numbers; the weights do not depend on it",
        0},
    {"deterministic", KEY_DETERMINISTIC, NULL, 0,
        "processes with a GPU each add up their gradients in the order of one process, through host memory, and not by "
        "NCCL: the same weights for every number of them",
        0},
    {"threads", KEY_THREADS, "N", 0, "CPU threads; the weights do not depend on it (default: all processors)", 0},
    {"json", KEY_JSON, NULL, 0, "one JSON object per step on standard output", 0},
    {"quiet", KEY_QUIET, NULL, 0, "no progress", 0},
    {0},
};

static const char description[] =
    "Meta-trains MOCHI on a pool of graphs: every step solves few-shot problems drawn from them with a ridge head, and "
    "sends the gradient of its query loss through the solve into the encoder.\v"
    "Ctrl-C ends the run after the current step, writes its checkpoint, says how to resume and exits with 130; a "
    "second Ctrl-C kills it at once. SIGTERM and SIGHUP do the same and exit with 143 and 129. A resumed run ends with "
    "the same weights as a run that was never stopped.\n\n"
    "Examples:\n"
    "  mochi train --out runs/a --steps 2000\n"
    "  MOCHI_DATA=../data mochi train --pool pubmed:nc+lp,dd --out runs/b\n"
    "  mochi train --out runs/a --resume";

/* Pass 1. */
static void take_source(train_options *o, int key, const char *text, const struct argp_state *state) {
    if (key == KEY_RECIPE)
        o->recipe_number = parse_choice(state, "--recipe", text, recipe_names, N_RECIPES);
    else if (key == KEY_OUT)
        o->out = text;
    else if (key == KEY_RESUME)
        o->resume = true;
}

static void take_run(train_options *o, int key, const char *text, const struct argp_state *state) {
    if (key == KEY_CHECKPOINT)
        o->checkpoint_every = parse_integer(state, "--checkpoint-every", text, 0, INT64_MAX);
    else if (key == KEY_DIGEST)
        o->digest = true;
    else if (key == KEY_SOLVES)
        o->solves = true;
    else if (key == KEY_FEATURES)
        o->place = MO_FEATURES_ON_DEVICE + parse_choice(state, "--features", text, place_names, 3);
    else if (key == KEY_NEW_LR)
        o->new_lr = parse_positive(state, "--new-lr", text);
    else if (key == KEY_REPLAY)
        o->replay = true;
    else if (key == KEY_DETERMINISTIC)
        o->deterministic = true;
    else if (key == KEY_THREADS)
        o->threads = (int)parse_integer(state, "--threads", text, 1, 1024);
    else if (key == KEY_JSON)
        o->json = true;
    else if (key == KEY_QUIET)
        o->quiet = true;
}

static error_t take_train_option(int key, char *text, struct argp_state *state) {
    train_options *o = state->input;
    note_given(&o->given, key);
    if (key == KEY_DEVICE)
        o->numbered = strchr(text, ':') != NULL;
    if (take_device(&o->device, key, text, state) || take_keeping(&o->memory, &o->cache, key, text, state))
        return 0;
    if (key == ARGP_KEY_ARG)
        refuse_command_line(state, EXIT_USAGE, "'%s': expected options only", text);
    else if (key == ARGP_KEY_END && !o->out)
        refuse_command_line(state, EXIT_USAGE, "--out RUN is missing: the folder that the run is written to");
    else if (key < KEY_POOL || key > KEY_QUIET)
        return ARGP_ERR_UNKNOWN;
    else if (!o->sourced)
        take_source(o, key, text, state);
    else {
        take_recipe_option(o, key, text, state);
        take_run(o, key, text, state);
    }
    return 0;
}

/* Writes the new rate into the run's settings. */
static void take_new_rate(train_options *o) {
    json_t *settings = json_loads(o->kept_text, 0, NULL);
    o->recipe.adamw.lr = o->new_lr;
    recipe_settle(&o->recipe);
    json_object_set_new(settings, "lr", json_real(o->recipe.adamw.lr));
    json_object_set_new(settings, "lr_min", json_real(o->recipe.adamw.lr_min));
    free(o->kept_text);
    o->kept_text = needed(json_dumps(settings, JSON_COMPACT | JSON_REAL_PRECISION(17)));
    json_decref(settings);
}

bool parse_train_options(train_options *o, int argc, char **argv) {
    static const struct argp argp = {
        .options = options, .parser = take_train_option, .doc = description, .help_filter = name_heads};
    *o = (train_options){.recipe_number = RECIPE_BEST, .checkpoint_every = 500};
    o->given = (given_options){.table = options, .command = argv[0]};
    parse_options(&argp, argc, argv, o);
    o->recipe = recipe_defaults(o->recipe_number);
    mo_math math = MO_MATH_FP32;
    if (o->resume && !recipe_read(&o->recipe, o->out, &o->kept_text, &math))
        return false;
    char *kept = o->resume ? recipe_text(&o->recipe) : NULL;
    if (o->resume && is_given(&o->given, "recipe"))
        o->recipe.number = o->recipe_number;
    o->sourced = true;
    parse_options(&argp, argc, argv, o);
    if (kept) {
        refuse_contradictions(o, kept);
        take_math_of_run(&o->given, o->out, math, &o->device);
    }
    if (o->resume && o->new_lr > 0)
        take_new_rate(o);
    free(kept);
    refuse_train_options(o);
    if (o->recipe.number == RECIPE_RELEASED && o->recipe.model.encoder.layers == 2 && !o->resume &&
        !is_given(&o->given, "episodes-per-step"))
        o->recipe.episodes_per_step = 1; /* as in the released program */
    recipe_settle(&o->recipe);
    return true;
}

void free_train_options(train_options *o) {
    free_names(&o->recipe.pool);
    free(o->kept_text);
}
