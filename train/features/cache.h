/* train/features/cache.h - features kept in files named by what they were made of (library internal). */
#ifndef MO_CACHE_H
#define MO_CACHE_H

#include "train/frozen_features.h"

/* The folder of cached features, and the notice that its events go to. */
typedef struct mo_cache {
    mo_context *ctx;
    const char *folder; /* NULL: no cache */
    mo_notice notice;
    void *state;
} mo_cache;

/* The cache that the options name. */
mo_cache mo_cache_of(mo_context *ctx, const mo_feature_options *options);

/* The name of a key's entry, without its ending: XXH3-128 in 32 digits. */
enum { MO_CACHE_NAME = 33 };
const char *mo_cache_name(const char *key, char name[MO_CACHE_NAME]);
/* Whether an entry says that it was made of that key: metadata as JSON text, or NULL. */
bool mo_cache_made_of(const char *metadata, const char *key);
/* The path folder/<32 digits><ending> of a key; makes the folder if it is missing. The caller frees it with free().
 * Returns NULL on failure, which it raises. */
char *mo_cache_path(const mo_cache *cache, const char *key, const char *ending);

/* A cache never fails: an entry that is absent, damaged, of another form or cannot be written counts as absent, leaves
 * the status unchanged, and is reported by a notice. key: everything that the values depend on, as text. */

/* Copies the arrays of that key over the given arrays of equal names, types and shapes. Returns false if there is no
 * entry with digests that hold, made of that key. */
bool mo_cache_load(const mo_cache *cache, const char *key, const mo_arrays *arrays);
/* Stores arrays; makes the folder if it is missing. Arrays above 4 GiB are not stored. */
void mo_cache_store(const mo_cache *cache, const char *key, const mo_arrays *arrays);

#endif
