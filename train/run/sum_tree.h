/* train/run/sum_tree.h - the gradients of a step as nodes of a fixed binary tree over its episodes (library internal).
 *
 * Node (level, index) is the sum over the 2^level episodes from index 2^level on. */
#ifndef MO_SUM_TREE_H
#define MO_SUM_TREE_H

#include "autograd/tape.h"
#include "train/ranks/ranks.h"

enum { MO_TREE_LEVELS = 16, MO_TREE_NODES = 2 * MO_TREE_LEVELS + 2 };

typedef struct mo_tree_node {
    int level;
    int64_t index;
    mo_tensor *whole; /* owned by the tree, as is sum; NULL before the place is first used */
    mo_tensor **sum;  /* parts of `whole`, one behind the other */
} mo_tree_node;

typedef struct mo_sum_tree {
    mo_context *ctx;
    mo_tensor *const *like; /* n tensors of the shapes of a sum */
    int n;
    int depth; /* number of nodes: of episodes that follow one another, no two of which have the same parent */
    mo_tree_node node[MO_TREE_NODES];
    mo_tree_node spare; /* memory for a sum that this process does not compute */
} mo_sum_tree;

/* The bytes of one tensor's values: of a parameter, its gradient or a moment. */
static inline size_t mo_gradient_bytes(const mo_tensor *X) {
    return (size_t)mo_numel(X) * mo_dtype_size(X->dtype);
}

/* Borrows `like`; the spare node has its memory. Returns NULL on failure. */
mo_sum_tree *mo_sum_tree_create(mo_context *ctx, mo_tensor *const *like, int n);
void mo_sum_tree_release(mo_sum_tree *tree);
/* Adds the node that follows the last one; pairs of nodes of one parent are joined. X[n] is copied. */
void mo_sum_tree_push(mo_sum_tree *tree, mo_tape *t, int level, int64_t index, mo_tensor *const *X);
/* The same of the spare node's sum, whose memory the tree takes instead of a copy; the spare node gets other memory. */
void mo_sum_tree_push_spare(mo_sum_tree *tree, mo_tape *t, int level, int64_t index);
/* The sum over all nodes, from the last to the first; NULL without nodes. It holds until the next push. */
mo_tensor *const *mo_sum_tree_join(mo_sum_tree *tree, mo_tape *t);
/* The sum over the `episodes` of a step, of which each rank has pushed its own, on every rank. Every rank calls this,
 * one that has failed too, whose nodes are then any memory: all hear of it when they agree. `message` is host memory of
 * mo_sum_tree_bytes bytes for a device's sums, NULL on a CPU. It holds until the next push. */
mo_tensor *const *mo_sum_tree_share(
    mo_sum_tree *tree, mo_tape *t, const mo_ranks *ranks, int64_t episodes, char *message);
/* The memory of the joined sum as one contiguous tensor of float32, with zeros between its parts; the null tensor
 * without nodes. */
mo_tensor *mo_sum_tree_whole(const mo_sum_tree *tree);
/* The bytes of that memory, for n tensors like these. */
size_t mo_sum_tree_bytes(mo_tensor *const *like, int n);

#endif
