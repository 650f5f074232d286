/* tools/data/data.h - `mochi data`: its actions, and the manifest of known data sets (train/data/manifest.json,
 * described in train/data/README.md). Functions borrow an entry, an object of the manifest's list. */
#ifndef DATA_H
#define DATA_H

#include "tools/cli/options.h"

typedef struct data_options {
    names words; /* names or files that the action reads */
    bool json;
    bool all; /* --all, of `data list` */
} data_options;

/* Runs an action on o->words, which need not be in the manifest m; m is NULL for `convert`, and for `list` without
 * --all. Returns true on success; a failure is raised or has been reported. */
typedef bool data_action(mo_context *ctx, const data_options *o, const json_t *m);
data_action data_list, data_info, data_convert;

/* Whether the context has no error; reports an error and clears it. */
bool went_well(mo_context *ctx);

/* Returns the manifest's entry of this name, ignoring case; NULL if there is none. */
const json_t *manifest_find(const json_t *manifest, const char *name);
/* The text under a key of an entry or of one of its "files"; NULL if there is none. */
const char *text_of(const json_t *o, const char *key);
/* How the downloads of an entry are checked: "verified" if each has a SHA-256, else "unverified"; "by hand" if the
 * entry has no download. */
const char *trust_of(const json_t *entry);

#endif
