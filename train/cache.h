/* train/cache.h - features kept in files named by what they were made of (library internal). */
#ifndef MO_CACHE_H
#define MO_CACHE_H

#include "train/train.h"

/* A cache never fails: what is absent, damaged, of another form, or cannot be written counts as not there, and leaves
 * the status as it was. key: everything that the values depend on, as text. */

/* The arrays of that key, or NULL; release. */
mo_arrays *mo_cache_read(mo_context *ctx, const char *folder, const char *key);
/* Keeps arrays; the folder is made where it is missing. More than 4 GiB are not kept. */
void mo_cache_write(const char *folder, const char *key, const mo_arrays *arrays);

/* Fills X0 and residual from the folder. False where there is nothing to use. */
bool mo_cache_load(const char *folder, const char *key, mo_tensor *X0, double *residual);
/* Keeps them there. */
void mo_cache_store(const char *folder, const char *key, mo_tensor *X0, double residual);

#endif
