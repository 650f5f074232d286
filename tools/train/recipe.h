/* tools/train/recipe.h - the settings of a training run: named recipes, and their form in run.json. */
#ifndef RECIPE_H
#define RECIPE_H

#include "tools/command.h"

enum { RECIPE_PAPER, RECIPE_PAPER_PLUS, RECIPE_RELEASED, RECIPE_BEST, N_RECIPES };
#define RECIPES "paper|paper++|released|best" /* in the order of the enum, for tables of options */
extern const char *const recipe_names[N_RECIPES];
extern const char *const temperature_names[2],
    *const combine_names[2], *const feature_norm_names[2],
                                 *const hop_activation_names[2]; /* in the order of the library's enums */

/* All settings that decide the weights of a run, and no other settings. */
typedef struct recipe {
    int number; /* RECIPE_PAPER .. */
    names pool;
    mo_mochi_options model;         /* for best: the part that a head uses instead of its own readout */
    mo_invariant_options invariant; /* settings of best */
    const mo_encoder *encoder;      /* the user's encoder instead of the recipe's; or NULL */
    char encoder_file[1024];        /* the argument of --encoder */
    char head[1024];                /* the argument of --head, possibly a path; the recipe best has "mixture" */
    mo_feature_options features;
    double link_share;
    double family[MO_TASKS]; /* relative frequency of each task, at one episode per step */
    int64_t steps;
    int episodes_per_step;
    int64_t max_rows; /* blocks change the order of sums, and so the bits; 0: no blocks */
    mo_adamw_options adamw;
    mo_plan_options plan;
    uint64_t seed;
} recipe;

/* A named recipe on the embedded pool. */
recipe recipe_defaults(int number);
/* Whether the recipe uses the encoder of best with its own readout. */
bool reads_itself(const recipe *r);
/* A new model of the recipe for a pool's graphs; its table is NULL on failure. */
mo_model *recipe_model(mo_context *ctx, const recipe *r, const mo_pool *pool);
/* The trainer options that the recipe fixes; all others are zero. */
mo_trainer_options recipe_training(const recipe *r);
/* Raises if the weights in a file have another recipe than the given one (NULL: any). */
void require_recipe(mo_context *ctx, const mo_weights *weights, const char *file, const char *name);
/* Raises if the weights of a file need a user's encoder other than the given one. */
void require_encoder(mo_context *ctx, const mo_weights *weights, const char *file, const mo_encoder *encoder);
/* Copies seed and width to all structs that hold them. */
void recipe_settle(recipe *r);
/* The settings as JSON text, to be freed; NULL if out of memory. */
char *recipe_text(const recipe *r);
/* Reads the settings of a run from folder/run.json. *text, to be freed, is their JSON as written; *math is the mode of
 * its products. A setting that an older run.json lacks gets the value that such a run used. Returns false after one
 * line on standard error. */
bool recipe_read(recipe *r, const char *folder, char **text, mo_math *math);

#endif
