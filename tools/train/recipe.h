/* tools/train/recipe.h - the settings of a training run: named recipes, and their form in run.json. */
#ifndef RECIPE_H
#define RECIPE_H

#include "tools/command.h"

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
    int hop_activation; /* of each hop's layer in GAMLP: 0 none, 1 relu */
    double link_share;
    double family[MO_TASKS]; /* relative frequency of each task, if a step has one episode */
    int64_t steps;
    int episodes_per_step;
    int64_t max_rows; /* most rows per block; 0: no blocks. Blocks change the order of sums, and so the weights' bits */
    mo_adamw_options adamw;
    mo_plan_options plan;
    uint64_t seed;
} recipe;

/* Returns the settings of a named recipe, on the embedded pool. */
recipe recipe_defaults(int number);
/* Returns whether the recipe is `best` with its own encoder and its own readout. */
bool reads_itself(const recipe *r);
/* Returns a new model of the recipe for the graphs of a pool; NULL on failure. */
mo_model *recipe_model(mo_context *ctx, const recipe *r, const mo_pool *pool);
/* Returns the trainer options that the recipe fixes; all others are zero. */
mo_trainer_options recipe_training(const recipe *r);
/* Raises if the weights in a file have another recipe than `name` (NULL: any). */
void require_recipe(mo_context *ctx, const mo_weights *weights, const char *file, const char *name);
/* Raises if the weights in a file need a user's encoder other than `encoder`. */
void require_encoder(mo_context *ctx, const mo_weights *weights, const char *file, const mo_encoder *encoder);
/* Makes fields agree that follow from others: the seeds, the form of features, what both encoders have, and lr_min at
 * most lr. */
void recipe_settle(recipe *r);
/* Returns the settings as JSON text, to be freed; NULL if out of memory. */
char *recipe_text(const recipe *r);
/* Reads the settings of a run from folder/run.json. *text receives the settings as written there, to be freed; *math
 * the mode of the run's matrix products. A setting that an older run.json lacks gets the value that such a run used.
 * Returns false after one line on standard error. */
bool recipe_read(recipe *r, const char *folder, char **text, mo_math *math);

#endif
