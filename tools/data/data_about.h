/* tools/data/data_about.h - prints the manifest's entry of a data set beside the graph found. */
#ifndef DATA_ABOUT_H
#define DATA_ABOUT_H

#include "tools/data/manifest.h"

/* Lines below the description of a graph: licence, citation, source, the counts of the manifest and whether the graph
 * has them. With graph NULL the first line says that the data set is not installed. */
void print_about(const manifest_entry *entry, const mo_graph *graph);
/* The entry as a new object: licence, page, cite, note, expected counts; "agrees" is null if graph is NULL. */
json_t *about_object(const manifest_entry *entry, const mo_graph *graph);

#endif
