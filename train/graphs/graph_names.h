/* train/graphs/graph_names.h - the names of known data sets and where each lies (library internal). */
#ifndef MO_GRAPH_NAMES_H
#define MO_GRAPH_NAMES_H

#include <stdbool.h>
#include <stddef.h>

/* A name that mo_graph_open accepts. */
typedef struct mo_graph_name {
    const char *name;
    const char *path; /* below mo_data_folder */
} mo_graph_name;

/* The table, ended by a NULL name. */
extern const mo_graph_name mo_graph_names[];
const mo_graph_name *mo_find_graph_name(const char *name); /* ignores case; NULL if unknown */
/* Writes the path of the data set, embedded or below mo_data_folder, and whether it is embedded; returns false if it is
 * in neither place. */
bool mo_locate_graph(const mo_graph_name *entry, char *path, size_t bytes, bool *embedded);

/* Writes the path of embedded weights, NAME.safetensors; returns false if there are none. */
bool mo_locate_weights(const char *name, char *path, size_t bytes);
/* Writes the path of an embedded pool or suite, given with its ending, such as NAME.pool; false if there is none. */
bool mo_locate_list(const char *name, const char *ending, char *path, size_t bytes);

#endif
