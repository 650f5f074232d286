/* train/cache.h - features kept in files named by what they were made of (library internal). */
#ifndef MO_CACHE_H
#define MO_CACHE_H

#include "train/frozen_features.h"

/* Where, and who is told. */
typedef struct mo_cache {
    mo_context *ctx;
    const char *folder; /* NULL: nothing is kept */
    mo_notice notice;
    void *state;
} mo_cache;

/* The cache that the options name. */
mo_cache mo_cache_of(mo_context *ctx, const mo_feature_options *options);

/* folder/<32 digits><ending> of a key, the folder made where it is missing; free(). NULL on failure, which it raises.
 */
char *mo_cache_path(const mo_cache *cache, const char *key, const char *ending);

/* A cache never fails: what is absent, damaged, of another form, or cannot be written counts as not there, and leaves
 * the status as it was; a notice says so. key: everything that the values depend on, as text. */

/* Copies the arrays of that key over those given, of equal names, types and shapes. False where there is nothing to
 * use. */
bool mo_cache_load(const mo_cache *cache, const char *key, const mo_arrays *arrays);
/* Keeps arrays; the folder is made where it is missing. More than 4 GiB are not kept. */
void mo_cache_store(const mo_cache *cache, const char *key, const mo_arrays *arrays);

#endif
