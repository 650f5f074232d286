/* tools/train_options.h - the command line of `mochi train`. */
#ifndef TRAIN_OPTIONS_H
#define TRAIN_OPTIONS_H

#include "tools/recipe.h"

typedef struct train_options {
    recipe recipe;
    const char *out, *cache;
    int64_t memory; /* bytes for the features of a graph; 0: any */
    mo_feature_place place;
    bool replay;
    char *kept_text; /* resumed runs: the settings as run.json has them, owned */
    bool resume, json, quiet;
    int threads;
    mo_context_options device; /* and math */
    int64_t checkpoint_every;
    int recipe_number;
    bool episodes_given, share_given, sourced; /* sourced: the defaults are in place */
} train_options;

/* Wrong usage ends the program. False, reported, where the settings of a run to be resumed cannot be read. */
bool parse_train_options(train_options *o, int argc, char **argv);
void free_train_options(train_options *o);

#endif
