/* train/features/feature_memory.h - what features take, against what they may take (library internal). */
#ifndef MO_FEATURE_MEMORY_H
#define MO_FEATURE_MEMORY_H

#include "train/frozen_features.h"

/* Returns whether the hop stack of a graph goes to a file: it is placed there, or its features would take more than
 * options->memory, or than is free, in memory but not with the stack on disk; a notice says so. sides: 1, or 2 for
 * blocks kept apart. Raises if the stack on disk takes too much too, if there is no folder for the file, or if the
 * graph's context is not one of the CPU. Called before anything is computed. */
bool mo_hops_go_to_disk(const mo_graph *graph, const mo_feature_options *options, int sides);
/* Returns whether the features of a task can be made and kept on the device of a context; writes the bytes they need
 * and the bytes left for features. Always true for the CPU. */
bool mo_features_fit(mo_context *ctx, const mo_graph *graph, mo_task task, const mo_feature_options *options,
    double *needed, double *left);

/* Bytes of encoding a block of `rows` rows of such features by a model of this library: its tensors, as measured (MOCHI
 * with rows of nodes, the invariant encoder with rows of examples). */
double mo_encoding_bytes(const mo_feature_options *options, int64_t rows);
/* Bytes that this process may still take, of memory and, with_swap, of memory and swap; infinite where the system does
 * not tell. root: "", or a folder that stands for the root. */
double mo_free_memory(const char *root, double *with_swap);
/* Raises MO_MEMORY where the kernels of a graph or a set need more bytes than the limit, or than is free (limit 0).
 * Returns whether they fit. */
bool mo_kernels_fit(const mo_graph *graph, double bytes, int64_t limit);

#endif
