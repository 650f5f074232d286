/* train/features/feature_memory.h - the memory that a graph needs, estimated before the work, and the memory that there
 * is (library internal). */
#ifndef MO_FEATURE_MEMORY_H
#define MO_FEATURE_MEMORY_H

#include "train/frozen_features.h"

/* Bytes in use at once, at most, while the features of a graph are made, then held and encoded: the one estimate, by
 * which a run warns of too little memory and chooses what to keep. kept: rows of options->dim numbers that each node
 * keeps in memory; 0: the hop stack is a file. */
double mo_estimate_memory(const mo_graph *graph, const mo_feature_options *options, int64_t kept);
/* Bytes of host memory that the context may still take: its bound less what it holds; without a bound, the free memory.
 */
double mo_memory_left(const mo_context *ctx);
/* Decides, before features are computed, whether a graph's hop stack, `rows` rows of options->dim numbers per node,
 * goes to a file: if its place is ON_DISK, or if the estimate with the stack in memory exceeds what is left and there
 * is a folder for the file (a notice reports this). Raises MO_MEMORY if the free memory, of a context without a bound,
 * does not suffice either way; with a bound the allocator decides. */
bool mo_hops_go_to_disk(const mo_graph *graph, const mo_feature_options *options, int64_t rows);

/* Returns the bytes of memory still available to this process: the system's, or less if a limit on its control group,
 * or on a group above it, allows less; infinite if the system does not say. root: "", or a folder that replaces the
 * root directory. */
double mo_free_memory(const char *root);

#endif
