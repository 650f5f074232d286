/* train/features/nodes/structure_columns.h - numbers that describe a node's position in its graph (library
 * internal). */
#ifndef MO_STRUCTURE_COLUMNS_H
#define MO_STRUCTURE_COLUMNS_H

#include "train/inside.h"

enum { MO_STRUCTURE_COLUMNS = 15 };

/* The most two-step walks of a node for which its columns are exact. Unlimited if the whole graph has at most 2^28
 * two-step walks, which take seconds; else 2^28 / nodes, and at least 2^11. */
int64_t mo_most_exact_walks(const mo_graph *graph);

/* Fills S [nodes, MO_STRUCTURE_COLUMNS] with the columns in the order of structure_columns.c, each minus its mean over
 * the nodes and divided by its standard deviation, clipped to -4 .. 4; a constant column becomes zero. For nodes with
 * more than `most` two-step walks two columns are estimates (closed_walks.h). Returns the number of columns that vary,
 * or -1 on failure. */
int mo_structure_columns(const mo_graph *graph, int64_t most, float *S);

#endif
