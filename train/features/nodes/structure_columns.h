/* train/features/nodes/structure_columns.h - numbers that describe where a node stands in its graph (library internal).
 */
#ifndef MO_STRUCTURE_COLUMNS_H
#define MO_STRUCTURE_COLUMNS_H

#include "train/inside.h"

enum { MO_STRUCTURE_COLUMNS = 15 };

/* Returns the largest number of two-step walks from a node that is described exactly. It is unlimited if the whole
 * graph has at most 2^28 such walks, which take seconds; else it is 2^28 / nodes, and at least 2^11. */
int64_t mo_most_exact_walks(const mo_graph *graph);

/* Fills S [nodes, MO_STRUCTURE_COLUMNS] with the columns in the order of structure_columns.c, each minus its mean over
 * the nodes and divided by its standard deviation, clipped to -4 .. 4; a column that is the same for all nodes becomes
 * zero. Two columns of the nodes with more walks of two steps than `most` are estimates (sampled_walks.h). Returns how
 * many columns vary, or -1 on failure. */
int mo_structure_columns(const mo_graph *graph, int64_t most, float *S);

#endif
