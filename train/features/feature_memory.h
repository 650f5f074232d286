/* train/features/feature_memory.h - the memory that features need, compared with the memory allowed (library
 * internal). */
#ifndef MO_FEATURE_MEMORY_H
#define MO_FEATURE_MEMORY_H

#include "train/frozen_features.h"

/* Decides, before features are computed, whether a graph's hop stack goes to a file: if its place is ON_DISK, or if the
 * features with the stack in memory exceed options->memory or, without that limit, the free memory (a notice reports
 * this). sides: 1, or 2 for separate blocks. sums: the number of sums of hops that are kept of each block instead of
 * its hops; 0: the hops are kept. Raises if the features exceed the limit even with the stack on disk, if there is no
 * folder for the file, or if the graph's context is not on the CPU. */
bool mo_hops_go_to_disk(const mo_graph *graph, const mo_feature_options *options, int sides, int sums);
/* Returns whether the features of a task can be made and kept on the device of a context; writes the bytes needed and
 * the bytes available for features. Always true for the CPU. */
bool mo_features_fit(mo_context *ctx, const mo_graph *graph, mo_task task, const mo_feature_options *options,
    double *needed, double *left);

/* Bytes to encode `rows` rows of features with these options by a model of this library, as measured (MOCHI for rows of
 * nodes, the invariant encoder for rows of examples). */
double mo_encoding_bytes(const mo_feature_options *options, int64_t rows);
/* Returns the bytes of memory still available to this process: the system's, or less if a limit on its control group,
 * or on a group above it, allows less; infinite if the system does not say. root: "", or a folder that replaces the
 * root directory. */
double mo_free_memory(const char *root);
/* Raises MO_MEMORY: `what` needs `bytes` of memory, but only `most` are allowed by memory of the options (limited) or
 * are free. Sizes are written as --memory takes them, the needed ones rounded up. */
void mo_fail_memory(const mo_graph *graph, const char *what, double bytes, double most, bool limited);
/* Raises MO_MEMORY if the kernels of a graph or a set need more bytes than the limit, or than the free memory (limit
 * 0). Returns whether they fit. */
bool mo_kernels_fit(const mo_graph *graph, double bytes, int64_t limit);

#endif
