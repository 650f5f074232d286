/* tools/train/recipe.h - the settings of a training run: named recipes, and their form in run.json. */
#ifndef RECIPE_H
#define RECIPE_H

#include "tools/command.h"

enum { RECIPE_PAPER, RECIPE_PAPER_PLUS, RECIPE_RELEASED, RECIPE_BEST, N_RECIPES };
extern const char *const recipe_names[N_RECIPES];
extern const char *const temperature_names[2],
    *const combine_names[2], *const kernel_names[2],
                                 *const feature_norm_names[2],
                                     *const hop_activation_names[2]; /* in the order of the library's enums */
extern const char *const place_names[3];                             /* of --features, from MO_FEATURES_ON_DEVICE on */

/* Everything that decides which weights a run ends with, and nothing else. */
typedef struct recipe {
    int number; /* RECIPE_PAPER .. */
    names pool;
    mo_mochi_options model;         /* of best: what a head in place of its own readout has of it */
    mo_invariant_options invariant; /* of best */
    const mo_encoder *encoder;      /* in place of the recipe's; or NULL */
    char encoder_file[1024];        /* as --encoder names it */
    char head[1024];                /* of the model, as --head names it: a file's path too; of best "ridge_mixture" */
    mo_feature_options features;
    double link_share;
    double family[MO_TASKS]; /* how often each is drawn, at one episode a step */
    int64_t steps;
    int episodes_per_step;
    int64_t max_rows; /* blocks change the order of sums, and so bits; 0: none */
    mo_adamw_options adamw;
    mo_plan_options plan;
    uint64_t seed;
} recipe;

/* A named recipe on the embedded pool. */
recipe recipe_defaults(int number);
/* Whether it is the encoder of best, read by its own readout. */
bool reads_itself(const recipe *r);
/* A new model of the recipe for the graphs of a pool; without a table on failure. */
mo_model recipe_model(mo_context *ctx, const recipe *r, const mo_pool *pool);
/* Raises where the weights of a file are not of the recipe that was asked for (NULL: any). */
void require_recipe(mo_context *ctx, const mo_weights *weights, const char *file, const char *name);
/* Raises where the weights of a file are of an encoder from outside and this is not it. */
void require_encoder(mo_context *ctx, const mo_weights *weights, const char *file, const mo_encoder *encoder);
/* Brings seed and width, which several parts hold, to all of them. */
void recipe_settle(recipe *r);
/* The settings as JSON text, to be freed; NULL when out of memory. */
char *recipe_text(const recipe *r);
/* The settings that a run left in folder/run.json, and in *text, to be freed, as JSON the way it wrote them: settings
 * that an older run does not name are what it ran with. False with one line on standard error. */
bool recipe_read(recipe *r, const char *folder, char **text);

#endif
