/* tools/train/train_options.h - the command line of `mochi train`. */
#ifndef TRAIN_OPTIONS_H
#define TRAIN_OPTIONS_H

#include "tools/given.h"
#include "tools/train/recipe.h"

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
    double new_lr; /* 0: that of the run */
    int recipe_number;
    bool sourced; /* the defaults are in place */
    given_options given;
} train_options;

/* Wrong usage ends the program. False, reported, where the settings of a run to be resumed cannot be read. */
bool parse_train_options(train_options *o, int argc, char **argv);
void free_train_options(train_options *o);

/* ---- train_effect.c ---- */

/* Whether a graph of the pool takes the share of links that --link-share says; true where it was not given. */
bool share_is_used(const train_options *o, const mo_pool *pool);
/* Ends the program by EXIT_USAGE, with one line that names it, at an option that has no effect on this run. */
void refuse_train_options(const train_options *o);
/* The same at an option that differs from the settings of the run that is resumed, as they were before options changed
 * them. */
void refuse_contradictions(const train_options *o, const char *kept_text);

#endif
