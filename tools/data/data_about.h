/* tools/data/data_about.h - what the manifest says of a data set, beside what is found. */
#ifndef DATA_ABOUT_H
#define DATA_ABOUT_H

#include "tools/data/manifest.h"

/* Lines below the description of a graph: licence, citation, source, the counts of the manifest and whether the graph
 * has them. graph NULL: the data set is not here, which the first line says. */
void print_about(const manifest_entry *entry, const mo_graph *graph);
/* The same as a new object: licence, page, cite, note, expected counts; agrees is null without a graph. */
json_t *about_object(const manifest_entry *entry, const mo_graph *graph);

#endif
