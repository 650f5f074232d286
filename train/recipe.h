/* train/recipe.h - the settings of a training run: named recipes, and their form in run.json. Part of tools/inside.h.
 */
#ifndef MO_RECIPE_H
#define MO_RECIPE_H

#include "train/inside.h"

enum { MO_RECIPE_PAPER, MO_RECIPE_PAPER_PLUS, MO_RECIPE_RELEASED, MO_RECIPE_BEST, MO_RECIPES };
#define MO_RECIPE_CHOICES "paper|paper++|released|best" /* in the order of the enum; choices of an option */

/* All settings that decide the weights of a run, but for the graphs of its pool. */
typedef struct mo_recipe {
    int number;                     /* MO_RECIPE_PAPER .. */
    mo_mochi_options model;         /* for `best`: the settings of a head that replaces its own readout */
    mo_invariant_options invariant; /* the encoder and readout of the recipe `best` */
    const mo_encoder *encoder;      /* the user's encoder, which replaces the recipe's; or NULL */
    char encoder_file[1024];        /* where it was read from */
    char head[1024];                /* the head's name, possibly a path; "mixture": the own readout of `best` */
    mo_feature_options features;
    mo_trainer_options training; /* those that are settings (mo_trainer_fields); the others are zero */
    double link_share;
    double family[MO_TASKS]; /* relative frequency of each task, if a step has one episode */
    uint64_t seed;
} mo_recipe;

/* The members that are options of `mochi train`, settings in run.json and keyword arguments in Python: those of the
 * structs within it that have a meaning, the link share and the seed. */
extern MO_API const mo_field mo_recipe_fields[];
/* Options that only recipes with the encoder GAMLP have. */
#define MO_RECIPE_OF_GAMLP "layers combine feature-norm hop-activation dropout"

/* "paper", ..; NULL: no recipe has the number. */
MO_API const char *mo_recipe_name(int number);
MO_API mo_recipe mo_recipe_defaults(int number);
/* Whether the recipe is `best` with its own encoder and its own readout. */
MO_API bool mo_recipe_reads_itself(const mo_recipe *r);
/* Returns a new model of the recipe for the graphs of a pool; NULL on failure. */
MO_API mo_model *mo_recipe_model(mo_context *ctx, const mo_recipe *r, const mo_pool *pool);
/* Makes fields agree that follow from others: the seeds, the form of features, what both encoders have, and lr_min at
 * most lr. */
MO_API void mo_recipe_settle(mo_recipe *r);
/* Why an option that was given for the recipe has no effect; NULL: it has one. option: "feature-norm". */
MO_API const char *mo_recipe_refuses(const mo_recipe *r, const char *option);
/* Sets a setting by its key ("weight_decay") from JSON text. Returns false and what was expected; "" if no setting has
 * that key. */
MO_API bool mo_recipe_set(mo_recipe *r, const char *key, const char *value, char expected[256]);
/* Returns the settings as JSON text with the n names of the pool, to be freed; NULL if out of memory. */
MO_API char *mo_recipe_text(const mo_recipe *r, const char *const *pool, int n);
/* Reads the settings that are numbers or choices from such an object; headed: it names a head. Returns false and in
 * `why` what is wrong. */
MO_API bool mo_recipe_read(mo_recipe *r, const json_t *settings, bool headed, char *why, size_t bytes);

#endif
