/* tools/data/manifest.h - the known data sets: address, licence, and the counts that a loader must find. They are
 * train/data/manifest.json, a file of the program's own, which train/data/README.md describes; an entry is an object of
 * its list, borrowed. */
#ifndef MANIFEST_H
#define MANIFEST_H

#include "tools/command.h"

/* The list of entries, to be given to json_decref. NULL on failure. */
json_t *manifest_read(mo_context *ctx);
/* The entry of this name, in upper or lower case; NULL if there is none. manifest_find raises then. */
const json_t *manifest_look(const json_t *manifest, const char *name);
const json_t *manifest_find(mo_context *ctx, const json_t *manifest, const char *name);
/* The text under a key of an entry or of one of its "files"; NULL if there is none. */
const char *manifest_text(const json_t *o, const char *key);
/* A new object of what a loader found: graphs, nodes, edges, features, classes; features without the node attributes of
 * a TU set, as names are read. */
json_t *find_counts(const mo_graph *graph);
/* Raises unless the graph has the counts that the entry states. */
bool check_counts(const json_t *entry, const mo_graph *graph);

/* Lines below the description of a graph: licence, citation, source, the counts of the manifest and whether the graph
 * has them. With graph NULL the first line says that the data set is not installed. */
void print_about(const json_t *entry, const mo_graph *graph);
/* The same as a new object: licence, page, cite, note, expected counts; "agrees" is null if graph is NULL. */
json_t *about_object(const json_t *entry, const mo_graph *graph);

#endif
