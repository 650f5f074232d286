/* tools/train/recipe_options.c - what an option of `mochi train` sets in the recipe of the run: the settings that its
 * weights depend on. */
#include "tools/train/recipe_options.h"

#include <stdio.h>
#include <string.h>

static unsigned parse_parts(const struct argp_state *state, const char *option, const char *text) {
    unsigned parts;
    char word[64];
    if (!mo_invariant_read_parts(text, &parts, word, sizeof word))
        usage_error(state, option, "parts of the invariant encoder", word);
    return parts;
}

static void take_model(recipe *r, int key, const char *text, const struct argp_state *state) {
    if (key == KEY_LAYERS)
        r->model.encoder.layers = (int)parse_integer(state, "--layers", text, 2, 3);
    else if (key == KEY_DIM)
        r->features.dim = (int)parse_integer(state, "--dim", text, 1, 65536);
    else if (key == KEY_ENCODER) {
        r->encoder = parse_encoder(state, text);
        snprintf(r->encoder_file, sizeof r->encoder_file, "%s", text);
    } else if (key == KEY_HEAD) {
        r->model.head = parse_head(state, text);
        snprintf(r->head, sizeof r->head, "%s", text);
    } else if (key == KEY_LAMBDA)
        r->model.lambda = parse_positive(state, "--lambda", text);
    else if (key == KEY_TEMPERATURE)
        r->model.temperature = (mo_temperature)parse_choice(state, "--temperature", text, temperature_names, 2);
    else if (key == KEY_COMBINE)
        r->features.combine = (mo_combine)parse_choice(state, "--combine", text, combine_names, 2);
    else if (key == KEY_HOP_ACTIVATION)
        r->model.encoder.relu_hops = parse_choice(state, "--hop-activation", text, hop_activation_names, 2);
    else if (key == KEY_FEATURE_NORM)
        r->features.norm = (mo_feature_norm)parse_choice(state, "--feature-norm", text, feature_norm_names, 2);
    else if (key == KEY_HOPS)
        r->model.encoder.hops = r->invariant.hops = (int)parse_integer(state, "--hops", text, 0, 12);
    else if (key == KEY_WITHOUT)
        r->invariant.without = parse_parts(state, "--without", text);
    else if (key == KEY_DROPOUT)
        r->model.encoder.dropout = parse_real(state, "--dropout", text, 0, 0.99);
    else if (key == KEY_POWER)
        r->features.power_iterations = (int)parse_integer(state, "--power-iterations", text, -1, 100);
}

static void take_pool(train_options *o, const char *text, const struct argp_state *state) {
    recipe *r = &o->recipe;
    pool_choice choice;
    parse_pool(state, "--pool", text, &choice);
    free_names(&r->pool);
    r->pool = choice.graphs;
    memcpy(r->family, choice.family, sizeof r->family);
    if (choice.link_share > 0 && !is_given(&o->given, "link-share"))
        r->link_share = choice.link_share;
}

static void take_training(train_options *o, int key, const char *text, const struct argp_state *state) {
    recipe *r = &o->recipe;
    int64_t range[2];
    if (key == KEY_POOL) {
        take_pool(o, text, state);
    } else if (key == KEY_LINK_SHARE) {
        r->link_share = parse_real(state, "--link-share", text, 0.001, 0.9);
    } else if (key == KEY_CLASSES) {
        r->plan.max_classes = parse_integer(state, "--max-classes", text, 2, 1 << 20);
    } else if (key == KEY_K) {
        parse_range(state, "--k", text, range);
        r->plan.k_min = range[0];
        r->plan.k_max = range[1];
    } else if (key == KEY_Q) {
        parse_range(state, "--q", text, range);
        r->plan.q_min = range[0];
        r->plan.q_max = range[1];
    } else if (key == KEY_STEPS) {
        r->steps = parse_integer(state, "--steps", text, 1, INT32_MAX);
    } else if (key == KEY_EPISODES) {
        r->episodes_per_step = (int)parse_integer(state, "--episodes-per-step", text, 1, 65535);
    } else if (key == KEY_MAX_ROWS) {
        r->max_rows = parse_integer(state, "--max-rows", text, 0, INT64_MAX);
    } else if (key == KEY_LR) {
        r->adamw.lr = parse_positive(state, "--lr", text);
    } else if (key == KEY_WEIGHT_DECAY) {
        r->adamw.weight_decay = parse_real(state, "--weight-decay", text, 0, 1e6);
    } else if (key == KEY_CLIP) {
        r->adamw.clip = parse_real(state, "--clip", text, 0, 1e300);
    } else if (key == KEY_SMOOTHING) {
        r->model.smoothing = r->invariant.smoothing = parse_real(state, "--smoothing", text, 0, 0.999);
    } else if (key == KEY_SEED) {
        r->seed = (uint64_t)parse_integer(state, "--seed", text, 0, INT64_MAX);
    }
}

void take_recipe_option(train_options *o, int key, const char *text, const struct argp_state *state) {
    take_training(o, key, text, state);
    take_model(&o->recipe, key, text, state);
}
