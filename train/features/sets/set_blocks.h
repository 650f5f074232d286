/* train/features/sets/set_blocks.h - blocks that describe the graphs of a set, each computed separately (library
 * internal). */
#ifndef MO_SET_BLOCKS_H
#define MO_SET_BLOCKS_H

#include "train/features/closed_walks.h"
#include "train/svd/basis.h"

enum { MO_DEGREE_BUCKETS = 17, MO_STRUCTURE = MO_DEGREE_BUCKETS + MO_RETURNS + 1 };
enum { MO_STATISTICS = 17, MO_SUBTREES = 256, MO_WAVES = 512 };

/* structure.c: for each node its row of structure, and the triangles, in both directions, and cycles of four nodes
 * through it. A sum over the nodes of a graph counts each of its triangles 6 times and each of its cycles 4 times. */
typedef struct mo_set_structure {
    float *x;       /* [nodes, MO_STRUCTURE] */
    double *closed; /* [nodes, 2] */
} mo_set_structure;
bool mo_set_structure_find(const mo_graph *graph, mo_set_structure *s);
void mo_set_structure_free(mo_set_structure *s);

/* scaled_set.c: scales the features of a copy of a graph's struct, if it is a set; all else stays borrowed. *own
 * receives the scaled values, to be freed after use, or NULL. Returns false on failure. */
bool mo_set_scale(mo_graph *graph, float **own);

/* Rows of unit length, or zero, for every graph of the set: [graphs, columns]. Return false on failure. */
/* structure.c */
bool mo_set_statistics(const mo_graph *graph, const mo_set_structure *s, float *out);
/* subtrees.c: the kernel's columns [graphs, columns]: those that two or more graphs have, or with `single` those that
 * any graph has. The caller releases them. NULL on failure. */
mo_csr *mo_set_subtree_columns(const mo_graph *graph, bool single);
/* The coordinates of the kernel's columns in their SVD, on the tape. quality receives the SVD's quality. */
mo_tensor *mo_set_subtrees(mo_tape *t, const mo_graph *graph, const mo_feature_options *o, mo_basis_quality *quality);
/* waves.c */
bool mo_set_waves(const mo_graph *graph, const mo_set_structure *s, uint64_t seed, float *out);

/* Divides rows [n, w] by their lengths; zero rows stay. */
void mo_unit_rows(float *x, int64_t n, int64_t w);

#endif
