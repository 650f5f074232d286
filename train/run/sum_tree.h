/* train/run/sum_tree.h - the gradients of a step as nodes of a fixed binary tree over its episodes (library internal).
 *
 * Node (level, index) is the sum over the 2^level episodes from index * 2^level on. Episodes first .. end - 1 are a row
 * of such nodes, each as large as fits; tree.node[k] holds node k of the row. */
#ifndef MO_SUM_TREE_H
#define MO_SUM_TREE_H

#include "autograd/tape.h"
#include "train/run/ranks.h"

enum { MO_TREE_LEVELS = 16, MO_TREE_NODES = 2 * MO_TREE_LEVELS + 2 };

typedef struct mo_tree_node {
    mo_tensor *whole; /* owned by the tree, like sum; NULL before its first use */
    mo_tensor **sum;  /* the parts of `whole`, one per tensor */
} mo_tree_node;

typedef struct mo_sum_tree {
    mo_context *ctx;
    mo_tensor *const *like; /* n tensors that give the shapes of a sum's tensors */
    int n;
    mo_tree_node node[MO_TREE_NODES];
    mo_tree_node spare; /* memory for a sum that this process does not compute */
} mo_sum_tree;

/* The bytes of the values of one tensor: parameter, gradient or moment. */
static inline size_t mo_gradient_bytes(const mo_tensor *X) {
    return (size_t)mo_numel(X) * mo_dtype_size(X->dtype);
}

/* Borrows `like`. Returns NULL on failure. */
mo_sum_tree *mo_sum_tree_create(mo_context *ctx, mo_tensor *const *like, int n);
void mo_sum_tree_release(mo_sum_tree *tree);
/* Adds X[n], the sum over the 2^level episodes from `at` on, behind the nodes of episodes first .. at - 1. Reads no
 * value and keeps no count, so that it can be captured. If X is the spare node's sum, its memory is swapped in instead
 * of copied. */
void mo_sum_tree_push(mo_sum_tree *tree, mo_tape *t, int64_t first, int64_t at, int level, mo_tensor *const *X);
/* The sum over the pushed episodes first .. end - 1; NULL if there are none. Valid until the next push. */
mo_tensor *const *mo_sum_tree_join(mo_sum_tree *tree, mo_tape *t, int64_t first, int64_t end);

/* Allocates the spare node, for sums of other ranks. Returns false if there is no memory. */
bool mo_sum_tree_reserve(mo_sum_tree *tree);
/* Gives every rank the sum over the `episodes` of a step, of which each rank has pushed its own. Every rank calls this,
 * also one that has failed: it sends arbitrary numbers, and all ranks learn of the failure when they agree. message:
 * mo_sum_tree_bytes bytes of host memory for a device's sums, NULL on a CPU. Valid until the next push. */
mo_tensor *const *mo_sum_tree_share(
    mo_sum_tree *tree, mo_tape *t, const mo_ranks *ranks, int64_t episodes, char *message);
/* The bytes of a node's memory for n tensors like these: float32, with zeros between the parts. */
size_t mo_sum_tree_bytes(mo_tensor *const *like, int n);

#endif
