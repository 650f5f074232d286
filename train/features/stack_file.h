/* train/features/stack_file.h - features in files: the cache, and hop stacks that exceed the memory of a run (library
 * internal). */
#ifndef MO_STACK_FILE_H
#define MO_STACK_FILE_H

#include "train/frozen_features.h"

/* ---- cache.c: features cached in files that are named by the inputs of the computation ---- */

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

/* mo_cache_load and mo_cache_store never raise: an entry that is damaged, in another format or not writable counts as
 * absent, and a notice reports it. key: everything that the values depend on, as text. */

/* Copies the entry's arrays into the given arrays of the same names, types and shapes. Returns false if there is no
 * entry with that key and valid digests. */
bool mo_cache_load(const mo_cache *cache, const char *key, const mo_arrays *arrays);
/* Stores arrays; makes the folder if it is missing. Arrays of more than 4 GiB in all are not stored. */
void mo_cache_store(const mo_cache *cache, const char *key, const mo_arrays *arrays);

/* ---- stack_file.c: hop stacks, in memory or in mapped files of the cache ---- */

/* A hop stack. The caller sets on_disk, cache, key, shape, ndim and, before mo_stack_close, quality; mo_stack_open sets
 * the rest. */
typedef struct mo_stack_file {
    bool on_disk; /* false: the rows are in memory, and no file is read or written */
    mo_cache cache;
    const char *key; /* everything that the values depend on */
    int64_t shape[MO_MAX_AXES];
    int ndim;
    double quality[2]; /* residual and orthogonality of the SVDs, stored with the rows */
    bool whole;        /* the file is complete: nothing to compute */
    mo_tensor *rows;
    char *path;
    int fd; /* of the file that is read or written; -1: none */
    struct mo_file_writer *writer;
} mo_stack_file;

#define MO_STACK_ENDING ".npy" /* ending of the file's name */
enum { MO_STACK_PAGE = 4096 /* bytes before the data */ };

/* Opens the float32 rows of that key: read-only if they exist; else for the caller to fill, in memory from
 * mo_tensor_reserve. Borrowed until mo_stack_close, which must be called even on failure; returns the null tensor on
 * failure. */
mo_tensor *mo_stack_open(mo_stack_file *s);
/* Puts a file that was filled in place, with the quality; after a failure nothing is left of it. Returns the rows,
 * owned, read-only if they are in a file; the null tensor on failure. */
mo_tensor *mo_stack_close(mo_stack_file *s);

#endif
