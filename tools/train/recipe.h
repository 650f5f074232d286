/* tools/train/recipe.h - the settings of a training run: named recipes, and their form in run.json. */
#ifndef RECIPE_H
#define RECIPE_H

#include "tools/cli/command.h"

enum { RECIPE_PAPER, RECIPE_PAPER_PLUS, RECIPE_RELEASED, RECIPE_BEST, N_RECIPES };
#define RECIPES "paper|paper++|released|best" /* in the order of the enum; choices of an option */
extern const char *const recipe_names[N_RECIPES];

/* All settings that determine the weights of a run, and no other settings. */
typedef struct recipe {
    int number; /* RECIPE_PAPER .. */
    names pool;
    mo_mochi_options model;         /* for `best`: the settings of a head that replaces its own readout */
    mo_invariant_options invariant; /* the encoder and readout of the recipe `best` */
    const mo_encoder *encoder;      /* the user's encoder, which replaces the recipe's; or NULL */
    char encoder_file[1024];        /* the value of --encoder */
    char head[1024];                /* the value of --head, possibly a path; "mixture": the own readout of the
                                     * recipe `best` */
    mo_feature_options features;
    mo_trainer_options training; /* those that are settings (mo_trainer_fields); the others are zero */
    double link_share;
    double family[MO_TASKS]; /* relative frequency of each task, if a step has one episode */
    uint64_t seed;
} recipe;

/* The members that are options of `mochi train`, settings in run.json and keyword arguments in Python: those of the
 * structs within it that have a meaning, the link share and the seed. */
extern const mo_field recipe_fields[];

/* Options that not every recipe has, and further ones that can have no effect. */
#define OPTIONS_OF_GAMLP "layers combine feature-norm hop-activation dropout"
#define OPTIONS_OF_HEADS "lambda temperature"
#define OPTIONS_REFUSED OPTIONS_OF_GAMLP " " OPTIONS_OF_HEADS " lr-min"

/* Returns the settings of a named recipe, on the embedded pool. */
recipe recipe_defaults(int number);
/* Returns whether the recipe is `best` with its own encoder and its own readout. */
bool reads_itself(const recipe *r);
/* Returns a new model of the recipe for the graphs of a pool; NULL on failure. */
mo_model *recipe_model(mo_context *ctx, const recipe *r, const mo_pool *pool);
/* Raises if the weights in a file have another recipe than `name` (NULL: any). */
void require_recipe(mo_context *ctx, const mo_weights *weights, const char *file, const char *name);
/* Raises if the weights in a file need a user's encoder other than `encoder`. */
void require_encoder(mo_context *ctx, const mo_weights *weights, const char *file, const mo_encoder *encoder);
/* Makes fields agree that follow from others: the seeds, the form of features, what both encoders have, and lr_min at
 * most lr. */
void recipe_settle(recipe *r);
/* Why an option that was given for the recipe has no effect; NULL: it has one. */
const char *recipe_refuses(const recipe *r, const char *option);
/* Sets a setting by its key ("weight_decay") from JSON text. Returns false and what was expected; "" if no setting has
 * that key. */
bool recipe_set(recipe *r, const char *key, const char *value, char expected[256]);
/* Returns the settings as JSON text, to be freed; NULL if out of memory. */
char *recipe_text(const recipe *r);
/* Reads the settings of a run from folder/run.json. *text receives the settings as written there, to be freed; *math
 * the mode of the run's matrix products. A setting that an older run.json lacks gets the value that such a run used.
 * Returns false after one line on standard error. */
bool recipe_read(recipe *r, const char *folder, char **text, mo_math *math);

#endif
