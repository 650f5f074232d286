/* train/features/cache.h - features cached in files that are named by the inputs of the computation (library
 * internal). */
#ifndef MO_CACHE_H
#define MO_CACHE_H

#include "train/frozen_features.h"

/* The cache folder, and the notice that receives its events. */
typedef struct mo_cache {
    mo_context *ctx;
    const char *folder; /* NULL: no cache */
    mo_notice notice;
    void *state;
} mo_cache;

/* The cache that the options name. */
mo_cache mo_cache_of(mo_context *ctx, const mo_feature_options *options);

/* The file name of a key's entry, without its ending: XXH3-128 in 32 digits. */
enum { MO_CACHE_NAME = 33 };
const char *mo_cache_name(const char *key, char name[MO_CACHE_NAME]);
/* The path folder/<32 digits><ending> of a key; makes the folder if it is missing. The caller frees it with free().
 * Raises and returns NULL on failure. */
char *mo_cache_path(const mo_cache *cache, const char *key, const char *ending);

/* The cache never raises: an entry that is missing, damaged, in another format or not writable counts as absent, and a
 * notice reports it. key: everything that the values depend on, as text. */

/* Copies the entry's arrays into the given arrays of the same names, types and shapes. Returns false if there is no
 * entry with that key and valid digests. */
bool mo_cache_load(const mo_cache *cache, const char *key, const mo_arrays *arrays);
/* Stores arrays; makes the folder if it is missing. Arrays above 4 GiB are not stored. */
void mo_cache_store(const mo_cache *cache, const char *key, const mo_arrays *arrays);

#endif
