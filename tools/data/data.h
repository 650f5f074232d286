/* tools/data/data.h - `mochi data`: its actions, and the manifest of known data sets (train/data/manifest.json,
 * described in train/data/README.md). An entry is an object of the manifest's list, borrowed. */
#ifndef DATA_H
#define DATA_H

#include "tools/options.h"

typedef struct data_options {
    names words; /* what the action acts on */
    bool json;
    bool all; /* list */
} data_options;

/* Actions on o->words, which need not be in the manifest m; m is NULL for convert, and for list without --all. Return
 * true on success; a failure is raised or has been reported. */
typedef bool data_action(mo_context *ctx, const data_options *o, const json_t *m);
data_action data_list, data_info, data_verify, data_convert;

/* Reports the context's error, if any, and clears it. Returns whether there was none. */
bool went_well(mo_context *ctx);
/* Finds a file of the data folder, plain or gzipped. Returns false if there is none. */
bool find_data_file(const char *path, char found[PATH_MAX]);

/* The entry of this name, ignoring case; NULL if there is none. */
const json_t *manifest_find(const json_t *manifest, const char *name);
/* The text under a key of an entry or of one of its "files"; NULL if there is none. */
const char *text_of(const json_t *o, const char *key);
/* State of an entry's downloads: "verified" if each has a SHA-256, else "unverified"; "by hand" if there is none. */
const char *trust_of(const json_t *entry);
/* A new object with a loaded graph's counts: graphs, nodes, edges, features, classes; features without a TU set's node
 * attributes, as when it is opened by name. */
json_t *find_counts(const mo_graph *graph);
/* The name of the first count of the entry that differs from the graph's; NULL: all agree. */
const char *find_other_count(const json_t *entry, const json_t *found);

#endif
