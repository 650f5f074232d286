/* tools/train/run_json.h - the settings of a run in its folder, and what weights a recipe asks for. */
#ifndef RUN_JSON_H
#define RUN_JSON_H

#include "tools/cli/command.h"

/* Raises if the weights in a file have another recipe than `name` (NULL: any). */
void require_recipe(mo_context *ctx, const mo_weights *weights, const char *file, const char *name);
/* Raises if the weights in a file need a user's encoder other than `encoder`. */
void require_encoder(mo_context *ctx, const mo_weights *weights, const char *file, const mo_encoder *encoder);
/* Reads the settings of a run from folder/run.json, and the names of its pool. *text receives the settings as written
 * there, to be freed; *math the mode of the run's matrix products. A setting that an older run.json lacks gets the
 * value that such a run used. Returns false after one line on standard error. */
bool recipe_read(mo_recipe *r, names *pool, const char *folder, char **text, mo_math *math);

#endif
