/* tools/data/data.h - `mochi data`: its actions, and the manifest of known data sets (train/data/manifest.json, a file
 * of the program's own, which train/data/README.md describes). An entry is an object of its list, borrowed. */
#ifndef DATA_H
#define DATA_H

#include "tools/options.h"

typedef struct data_options {
    names words; /* what the action acts on */
    bool json;
    bool all; /* list */
} data_options;

/* Each acts on o->words, which are in the manifest m or not; m is NULL for convert, and for list without --all. Returns
 * whether all went well; raises, or has reported what did not. */
typedef bool data_action(mo_context *ctx, const data_options *o, const json_t *m);
data_action data_list, data_info, data_verify, data_convert;

/* Reports the context's error, if there is one, and goes on. Returns whether there was none. */
bool went_well(mo_context *ctx);
/* Finds a file of the data folder, perhaps gzipped. Returns false if it is not there. */
bool find_data_file(const char *path, char found[PATH_MAX]);

/* The entry of this name, in upper or lower case; NULL if there is none. */
const json_t *manifest_find(const json_t *manifest, const char *name);
/* The text under a key of an entry or of one of its "files"; NULL if there is none. */
const char *text_of(const json_t *o, const char *key);
/* Of the downloads of an entry: "verified" if each has a SHA-256, else "unverified"; "by hand" if there is none. */
const char *trust_of(const json_t *entry);
/* A new object of what a loader found: graphs, nodes, edges, features, classes; features without the node attributes of
 * a TU set, as names are read. */
json_t *find_counts(const mo_graph *graph);
/* The name of the first count that a graph does not have; NULL: it has all that the entry states. */
const char *find_other_count(const json_t *entry, const json_t *found);

#endif
