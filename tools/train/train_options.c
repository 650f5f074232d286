/* tools/train/train_options.c - the command line of `mochi train`: its table of options, and the refusal of options
 * that have no effect or contradict the run to resume.
 *
 * The words are read twice: first for the options that decide the defaults (--recipe, --resume, --out), then for the
 * options that change the defaults. So the order of the words does not matter. */
#include "tools/train/train_options.h"

#include "tools/cli/memory.h"
#include "tools/data/default_data.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- options that set more than one field ---- */

static void take_train_pool(void *options, const char *text, const struct argp_state *state) {
    train_options *o = options;
    mo_recipe *r = &o->recipe;
    pool_choice choice;
    parse_pool(state, "--pool", text, &choice);
    free_names(&o->pool);
    o->pool = choice.graphs;
    memcpy(r->family, choice.family, sizeof r->family);
    if (choice.link_share > 0 && !is_given(&o->given, "link-share"))
        r->link_share = choice.link_share;
}

static void take_train_encoder(void *of, const char *text, const struct argp_state *state) {
    mo_recipe *r = of;
    r->encoder = parse_encoder(state, text);
    snprintf(r->encoder_file, sizeof r->encoder_file, "%s", text);
}

static void take_train_head(void *of, const char *text, const struct argp_state *state) {
    mo_recipe *r = of;
    r->model.readout.head = parse_head(state, text);
    snprintf(r->head, sizeof r->head, "%s", text);
}

static void take_train_device(void *options, const char *text, const struct argp_state *state) {
    train_options *o = options;
    o->numbered = strchr(text, ':') != NULL;
    take_device(&o->device, text, state);
}

/* ---- the table ---- */

#define AT(field) offsetof(train_options, field)

static const option table[] = {
    {OPTION_GROUP, .help = "What to train on"},
    {OPTION_OTHER, "pool", "NAMES|POOL|FILE.pool", 0,
        "graphs, separated by commas: names of `mochi data list` or paths; NAME:nc+lp restricts a graph to those "
        "tasks, "
        "NAME:lp@0.1 holds out its own share of links (default: the embedded pool); paper or paper-offline: the graphs "
        "that the article trains on, or the part of them available offline; or a file of that form "
        "(train/README.md)",
        .choices = "paper|paper-offline|@graphs", .take = take_train_pool},
    {OPTION_GROUP, .help = "The model"},
    {OPTION_CHOICE, "recipe", "NAME", AT(recipe_number),
        "best: an encoder of 28 numbers whose input does not depend on the basis of an SVD (default); paper: as the "
        "article says; paper++: with one episode of each task family per step; released: as the authors' program does",
        .choices = MO_RECIPE_CHOICES},
    {OPTION_OTHER, "encoder", "FILE.so", AT(recipe),
        "your own encoder in place of the recipe's (`mochi new encoder NAME` writes one to start from)",
        .take = take_train_encoder},
    {OPTION_OTHER, "head", "NAME|FILE.so", AT(recipe),
        "readout that the encoder learns under: " HEADS ", or FILE.so with your own (default mixture, which in the "
        "recipe best is its own readout; else ridge)",
        .choices = HEADS, .take = take_train_head},
    {OPTION_FIELDS, .field = AT(recipe), .fields = mo_recipe_fields},
    {OPTION_GROUP, .help = "The run"},
    {OPTION_TEXT, "out", "RUN", AT(out),
        "folder for weights.safetensors, checkpoint.safetensors, log.jsonl and run.json"},
    {OPTION_FLAG, "resume", NULL, AT(resume), "continue from RUN's checkpoint, with the settings of RUN/run.json"},
    {OPTION_POSITIVE, "new-lr", "RATE", AT(new_lr),
        "with --resume: continue at another learning rate after a failed step; the only setting that may change",
        .needs = "resume", .why = "expected --resume: it changes the rate of a run that continues"},
    {OPTION_INT64, "checkpoint-every", "N", AT(checkpoint_every),
        "steps between checkpoints; 0: only at the end (default 500)"},
    PLACE_OPTION(train_options, place),
    KEEPING_OPTIONS(train_options, cache),
    {OPTION_OTHER, "device", "NAME", 0, "cpu, cuda, or cuda:N for GPU N, from 0 (default: cpu)",
        .choices = "cpu|cuda|cuda:1", .take = take_train_device},
    MATH_OPTIONS(train_options, device),
    {OPTION_CHOICE, "replay", "MODE", AT(replay),
        "on cuda, record the work of an episode as a CUDA graph and replay it for later episodes of the same shape; "
        "the weights do not depend on it. auto (default): if --k and --q are single numbers",
        .choices = "auto|yes|no"},
    THREADS_OPTION(train_options, device.threads),
    JSON_OPTION(train_options, json, "one JSON object per step on standard output"),
    {OPTION_FLAG, "quiet", NULL, AT(quiet), "no progress", .not_with = "json",
        .why = "--json has no progress to leave out"},
    {OPTION_END},
};

static const char about[] =
    "Meta-trains MOCHI on a pool of graphs: every step solves few-shot problems drawn from them with a ridge head, and "
    "sends the gradient of its query loss through the solve into the encoder.\v"
    "Ctrl-C ends the run after the current step, writes its checkpoint, says how to resume and exits with 130; a "
    "second Ctrl-C kills it at once. SIGTERM and SIGHUP do the same and exit with 143 and 129. A resumed run ends with "
    "the same weights as a run that was never stopped.\n\n"
    "Examples:\n"
    "  mochi train --out runs/a --steps 2000\n"
    "  MOCHI_DATA=../data mochi train --pool pubmed:nc+lp,dd --out runs/b\n"
    "  mochi train --out runs/a --resume";

static void check_out(void *options, const struct argp_state *state) {
    const train_options *o = options;
    if (!o->out)
        refuse_command_line(state, EXIT_USAGE, "--out RUN is missing: the folder that the run is written to");
}

static const preset *train_presets(int *n) {
    static const int number[MO_RECIPES] = {MO_RECIPE_BEST, MO_RECIPE_PAPER, MO_RECIPE_PAPER_PLUS, MO_RECIPE_RELEASED};
    static mo_recipe of[MO_RECIPES];
    static preset all[MO_RECIPES];
    for (int i = 0; i < MO_RECIPES && !all[i].name; i++) {
        of[i] = mo_recipe_defaults(number[i]);
        all[i] = (preset){mo_recipe_name(number[i]), number[i] == MO_RECIPE_BEST ? MO_RECIPE_OF_GAMLP : "", &of[i]};
    }
    *n = MO_RECIPES;
    return all;
}

const command_line train_line = {.table = table, .presets = train_presets, .about = about, .end = check_out};

char *settings_text(const train_options *o) {
    return needed(mo_recipe_text(&o->recipe, (const char *const *)o->pool.items, o->pool.count));
}

/* ---- options without effect ---- */

bool replays(const train_options *o) {
    const mo_plan_options *p = &o->recipe.training.plan;
    bool repeats = p->k_min == p->k_max && p->q_min == p->q_max;
    return o->device.device != MO_CPU && (o->replay == REPLAY_YES || (o->replay == REPLAY_AUTO && repeats));
}

static void refuse_train_options(const train_options *o) {
    const given_options *g = &o->given;
    for (const option *row = g->table; row->kind; row++)
        if (row->kind != OPTION_GROUP) {
            const char *why = mo_recipe_refuses(&o->recipe, row->name);
            refuse_given(g, row->name, why, why);
        }
    refuse_given(g, "replay", o->device.device == MO_CPU, "expected --device cuda; the cpu has nothing to replay");
    refuse_math_on_cpu(g, &o->device);
}

bool share_is_used(const train_options *o, const mo_pool *pool) {
    int links = 0, own = 0; /* links: number of graphs with a task on links; own: number of graphs given with a share of
                             * their own (@) */
    for (int i = 0; i < mo_pool_size(pool); i++)
        links += mo_pool_source(pool, i)->task == MO_TASK_LP;
    for (int i = 0; i < o->pool.count; i++)
        own += strchr(o->pool.items[i], '@') != NULL;
    return !is_given(&o->given, "link-share") || links > own;
}

/* ---- resumed runs ---- */

static char *encode_effect(const json_t *value) {
    return value ? json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(15)) : NULL;
}

/* Reports in one line a setting in which the run to resume differs, by its option's name, with both values. Returns
 * true. */
static bool tell_contradiction(const train_options *o, const char *key, const json_t *kept, const json_t *now) {
    char option[64], *before = encode_effect(kept), *after = encode_effect(now);
    snprintf(option, sizeof option, "%s", strcmp(key, "families") ? key : "pool");
    for (char *c = option; *c; c++)
        *c = *c == '_' ? '-' : *c;
    fprintf(stderr, "%s: --%s: the run in %s has %s, found %s; a resumed run keeps its settings\n", o->given.command,
        option, o->out, before ? before : "none", after ? after : "none");
    free(before);
    free(after);
    return true;
}

/* Returns whether a setting is compared as text. Graphs are compared by content once they are open, since names can
 * differ between machines. */
static bool is_compared(const char *key) {
    return strcmp(key, "pool") != 0;
}

/* Ends the program if an option gives another value than kept_text, the settings of the run to resume. */
static void refuse_contradictions(const train_options *o, const char *kept_text) {
    char *text = settings_text(o);
    json_t *kept = json_loads(kept_text, 0, NULL), *now = json_loads(text, 0, NULL), *value;
    const char *key;
    bool refused = false;
    json_object_foreach(now, key, value) {
        if (!refused && is_compared(key) && !json_equal(value, json_object_get(kept, key)))
            refused = tell_contradiction(o, key, json_object_get(kept, key), value);
    }
    json_object_foreach(kept, key, value) {
        if (!refused && is_compared(key) && !json_object_get(now, key))
            refused = tell_contradiction(o, key, value, NULL);
    }
    json_decref(kept);
    json_decref(now);
    free(text);
    if (refused)
        exit(EXIT_USAGE);
}

/* Takes the math mode from the run to resume; refuses another --math. */
static void take_math_of_run(train_options *o, mo_math kept) {
    char why[4200];
    snprintf(why, sizeof why, "the run in %s has \"%s\", found \"%s\"; a resumed run keeps its settings", o->out,
        math_names[kept], math_names[o->device.math]);
    refuse_given(&o->given, "math", o->device.math != kept, why);
    o->device.math = kept;
}

/* Writes the new learning rate into the run's settings. */
static void take_new_rate(train_options *o) {
    json_t *settings = json_loads(o->kept_text, 0, NULL);
    o->recipe.training.adamw.lr = o->new_lr;
    mo_recipe_settle(&o->recipe);
    json_object_set_new(settings, "lr", json_real(o->recipe.training.adamw.lr));
    json_object_set_new(settings, "lr_min", json_real(o->recipe.training.adamw.lr_min));
    free(o->kept_text);
    o->kept_text = needed(json_dumps(settings, JSON_COMPACT | JSON_REAL_PRECISION(17)));
    json_decref(settings);
}

bool parse_train_options(train_options *o, int argc, char **argv) {
    mo_math math = MO_MATH_FP32;
    *o = (train_options){.recipe_number = MO_RECIPE_BEST, .checkpoint_every = 500};
    read_command_line(&train_line, argc, argv, o, &o->given);
    free_names(&o->pool);
    o->pool = parse_names(NULL, "--pool", DEFAULT_POOL);
    o->recipe = mo_recipe_defaults(o->recipe_number);
    if (o->resume && !recipe_read(&o->recipe, &o->pool, o->out, &o->kept_text, &math))
        return false;
    char *kept = o->resume ? settings_text(o) : NULL;
    if (o->resume && is_given(&o->given, "recipe"))
        o->recipe.number = o->recipe_number;
    read_command_line(&train_line, argc, argv, o, &o->given);
    if (kept) {
        refuse_contradictions(o, kept);
        take_math_of_run(o, math);
    }
    if (o->resume && o->new_lr > 0)
        take_new_rate(o);
    free(kept);
    refuse_train_options(o);
    if (o->recipe.number == MO_RECIPE_RELEASED && o->recipe.model.encoder.layers == 2 && !o->resume &&
        !is_given(&o->given, "episodes-per-step"))
        o->recipe.training.episodes_per_step = 1; /* with two layers, the released program has one episode per step */
    if (!o->resume && !is_given(&o->given, "lambda") && mo_head_is_own(o->recipe.model.readout.head))
        o->recipe.model.readout.lambda = 0; /* a head of one's own keeps its own */
    mo_recipe_settle(&o->recipe);
    return true;
}

void free_train_options(train_options *o) {
    free_names(&o->pool);
    free(o->kept_text);
}
