/* tools/train/train_options.h - the command line of `mochi train`. */
#ifndef TRAIN_OPTIONS_H
#define TRAIN_OPTIONS_H

#include "tools/cli/options.h"
#include "tools/train/run_json.h"

/* Whether work on a GPU is replayed. AUTO: if every episode of a graph has the same numbers of examples. */
enum { REPLAY_AUTO, REPLAY_YES, REPLAY_NO };

typedef struct train_options {
    mo_recipe recipe; /* first, so that an option's field in the recipe has one offset in both */
    names pool;       /* owned */
    const char *out, *cache;
    mo_feature_place place;
    int replay;      /* REPLAY_AUTO .. */
    bool numbered;   /* --device has a number */
    char *kept_text; /* for resumed runs: the settings in run.json, owned */
    bool resume, json, quiet;
    mo_context_options device; /* device, math mode and threads */
    int64_t checkpoint_every;
    double new_lr; /* --new-lr; 0: the run's own learning rate */
    int recipe_number;
    given_options given;
} train_options;

/* Reads the command line; ends the program on wrong usage. Returns false if the settings of the run to resume cannot be
 * read; the function has then reported why. */
bool parse_train_options(train_options *o, int argc, char **argv);
void free_train_options(train_options *o);
/* The settings as run.json has them, to be freed. */
char *settings_text(const train_options *o);
bool replays(const train_options *o);

/* Returns whether the pool has a graph that uses --link-share, or the option was not given. */
bool share_is_used(const train_options *o, const mo_pool *pool);

#endif
