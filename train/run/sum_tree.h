/* train/run/sum_tree.h - the gradients of a step as nodes of a fixed binary tree over its episodes (library internal).
 *
 * Node (level, index) is the sum over the 2^level episodes from index 2^level on. A run of episodes first .. end - 1 is
 * a row of such nodes, the largest that fit; node k of the row lies in memory k of the tree. */
#ifndef MO_SUM_TREE_H
#define MO_SUM_TREE_H

#include "autograd/tape.h"
#include "train/run/ranks.h"

enum { MO_TREE_LEVELS = 16, MO_TREE_NODES = 2 * MO_TREE_LEVELS + 2 };

typedef struct mo_tree_node {
    mo_tensor *whole; /* owned by the tree, as is sum; NULL before the place is first used */
    mo_tensor **sum;  /* parts of `whole`, one behind the other */
} mo_tree_node;

typedef struct mo_sum_tree {
    mo_context *ctx;
    mo_tensor *const *like; /* n tensors of the shapes of a sum */
    int n;
    mo_tree_node node[MO_TREE_NODES];
    mo_tree_node spare; /* memory for a sum that this process does not compute */
} mo_sum_tree;

/* The bytes of one tensor's values: of a parameter, its gradient or a moment. */
static inline size_t mo_gradient_bytes(const mo_tensor *X) {
    return (size_t)mo_numel(X) * mo_dtype_size(X->dtype);
}

/* Borrows `like`. Returns NULL on failure. */
mo_sum_tree *mo_sum_tree_create(mo_context *ctx, mo_tensor *const *like, int n);
void mo_sum_tree_release(mo_sum_tree *tree);
/* Adds X[n], the sum over the 2^level episodes from `at` on, to the nodes of the episodes first .. at - 1. It reads no
 * value and keeps no count, so that it can be captured. The spare node's sum is taken instead of copied; the spare node
 * gets other memory. */
void mo_sum_tree_push(mo_sum_tree *tree, mo_tape *t, int64_t first, int64_t at, int level, mo_tensor *const *X);
/* The sum over the episodes first .. end - 1, which have been pushed; NULL without any. It holds until the next push.
 */
mo_tensor *const *mo_sum_tree_join(mo_sum_tree *tree, mo_tape *t, int64_t first, int64_t end);

/* Takes the memory that sums of other ranks need. Returns whether there is some. */
bool mo_sum_tree_reserve(mo_sum_tree *tree);
/* The sum over the `episodes` of a step, of which each rank has pushed its own, on every rank. Every rank calls this,
 * one that has failed too, whose nodes are then any memory: all hear of it when they agree. `message` is host memory of
 * mo_sum_tree_bytes bytes for a device's sums, NULL on a CPU. It holds until the next push. */
mo_tensor *const *mo_sum_tree_share(
    mo_sum_tree *tree, mo_tape *t, const mo_ranks *ranks, int64_t episodes, char *message);
/* The bytes of a node's memory, for n tensors like these: float32, with zeros between the parts. */
size_t mo_sum_tree_bytes(mo_tensor *const *like, int n);

#endif
