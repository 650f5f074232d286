/* tools/train/recipe_options.h - the options of `mochi train`, and what they set in a recipe. */
#ifndef RECIPE_OPTIONS_H
#define RECIPE_OPTIONS_H

#include "tools/train/train_options.h"

enum {
    KEY_POOL = 0x100,
    KEY_RECIPE,
    KEY_LAYERS,
    KEY_EPISODES,
    KEY_HEAD,
    KEY_ENCODER,
    KEY_DIM,
    KEY_STEPS,
    KEY_LAMBDA,
    KEY_K,
    KEY_Q,
    KEY_TEMPERATURE,
    KEY_COMBINE,
    KEY_HOP_ACTIVATION,
    KEY_FEATURE_NORM,
    KEY_HOPS,
    KEY_WITHOUT,
    KEY_DROPOUT,
    KEY_LINK_SHARE,
    KEY_POWER,
    KEY_LR,
    KEY_SMOOTHING,
    KEY_WEIGHT_DECAY,
    KEY_CLIP,
    KEY_SEED,
    KEY_THREADS,
    KEY_CLASSES,
    KEY_MAX_ROWS,
    KEY_CHECKPOINT,
    KEY_DIGEST,
    KEY_SOLVES,
    KEY_FEATURES,
    KEY_REPLAY,
    KEY_DETERMINISTIC,
    KEY_OUT,
    KEY_RESUME,
    KEY_NEW_LR,
    KEY_JSON,
    KEY_QUIET
};

/* Sets what an option of the recipe says; other keys are ignored. */
void take_recipe_option(train_options *o, int key, const char *text, const struct argp_state *state);

#endif
