/* train/features/nodes/structure_columns.h - numbers that describe where a node stands in its graph (library internal).
 */
#ifndef MO_STRUCTURE_COLUMNS_H
#define MO_STRUCTURE_COLUMNS_H

#include "train/inside.h"

enum { MO_STRUCTURE_COLUMNS = 15 };

/* Fills S [nodes, MO_STRUCTURE_COLUMNS] with the columns in the order of structure_columns.c, each minus its mean over
 * the nodes and divided by its standard deviation, clipped to -4 .. 4; a column that is the same for all nodes becomes
 * zero. Returns how many are not, or -1 on failure. */
int mo_structure_columns(const mo_graph *graph, float *S);

#endif
