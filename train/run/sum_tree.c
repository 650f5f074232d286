/* train/run/sum_tree.c - a stack of nodes of a binary tree over the episodes of a step. A node whose left neighbour has
 * the same parent is joined with it, so that the sums, and with them the rounding, are those of the whole tree whoever
 * computed its parts: a process that has all episodes, or several that have some of them each. */
#include "train/run/sum_tree.h"

#include "tensor/storage.h"

enum { PART_ALIGNMENT = 256 };

mo_sum_tree *mo_sum_tree_create(mo_context *ctx, mo_tensor *const *like, int n) {
    mo_sum_tree *tree = mo_host_alloc(ctx, sizeof *tree);
    if (tree)
        *tree = (mo_sum_tree){.ctx = ctx, .like = like, .n = n};
    return tree;
}

void mo_sum_tree_release(mo_sum_tree *tree) {
    if (!tree)
        return;
    for (int k = 0; k < MO_TREE_NODES; k++) {
        for (int i = 0; tree->node[k].sum && i < tree->n; i++)
            mo_tensor_release(tree->node[k].sum[i]);
        mo_tensor_release(tree->node[k].whole);
        mo_host_free(tree->ctx, tree->node[k].sum, (size_t)tree->n * sizeof *tree->node[k].sum);
    }
    mo_host_free(tree->ctx, tree, sizeof *tree);
}

/* Bytes of a part, with the zeros behind it: parts begin where memory of their own would. */
static size_t part_bytes(const mo_tensor *like) {
    size_t bytes = (size_t)mo_numel(like) * mo_dtype_size(like->dtype);
    return (bytes + PART_ALIGNMENT - 1) / PART_ALIGNMENT * PART_ALIGNMENT;
}

/* Returns false if there is no memory. */
static bool make_node(mo_sum_tree *tree, mo_tree_node *node) {
    mo_context *ctx = tree->ctx;
    size_t bytes = 0, at = 0;
    if (node->sum)
        return mo_ok(ctx);
    for (int i = 0; i < tree->n; i++)
        bytes += part_bytes(tree->like[i]);
    node->whole = mo_tensor_create(ctx, MO_F32, 1, (int64_t[]){(int64_t)(bytes / sizeof(float))});
    node->sum = mo_host_alloc(ctx, (size_t)tree->n * sizeof *node->sum);
    for (int i = 0; node->sum && i < tree->n && mo_ok(ctx); i++, at += part_bytes(tree->like[i - 1])) {
        const mo_tensor *like = tree->like[i];
        mo_storage_retain(node->whole->storage);
        node->sum[i] = mo_tensor_onto(ctx, node->whole->storage, like->dtype, like->ndim, like->shape);
        if (mo_ok(ctx))
            node->sum[i]->offset = (int64_t)(at / mo_dtype_size(like->dtype));
    }
    return mo_ok(ctx);
}

static void add_node(mo_sum_tree *tree, mo_tape *t, mo_tree_node *left, mo_tensor *const *right) {
    for (int i = 0; i < tree->n && mo_ok(tree->ctx); i++)
        mo_accumulate_in_place(t, left->sum[i], right[i]);
}

static bool have_one_parent(const mo_tree_node *left, int level, int64_t index) {
    return left->level == level && left->index + 1 == index && index % 2 == 1;
}

static void rise(mo_tree_node *node) {
    node->level++;
    node->index /= 2;
}

void mo_sum_tree_push(mo_sum_tree *tree, mo_tape *t, int level, int64_t index, mo_tensor *const *X) {
    if (!mo_ok(tree->ctx))
        return;
    mo_tree_node *top = tree->node + tree->depth - 1;
    if (tree->depth && have_one_parent(top, level, index)) {
        add_node(tree, t, top, X);
        rise(top);
    } else if (make_node(tree, ++top)) {
        tree->depth++;
        top->level = level;
        top->index = index;
        for (int i = 0; i < tree->n && mo_ok(tree->ctx); i++)
            mo_tensor_copy(top->sum[i], X[i]);
    }
    for (; tree->depth > 1 && have_one_parent(top - 1, top->level, top->index); top--, tree->depth--) {
        add_node(tree, t, top - 1, top->sum);
        rise(top - 1);
    }
}

mo_tensor *const *mo_sum_tree_join(mo_sum_tree *tree, mo_tape *t) {
    for (int k = tree->depth - 1; k > 0; k--)
        add_node(tree, t, &tree->node[k - 1], tree->node[k].sum);
    return tree->depth ? tree->node[0].sum : NULL;
}

mo_tensor *mo_sum_tree_whole(const mo_sum_tree *tree) {
    return tree->depth ? tree->node[0].whole : mo_null_tensor(tree->ctx);
}

int mo_sum_tree_level(int64_t first, int64_t end) {
    int level = 0;
    while (first % ((int64_t)2 << level) == 0 && first + ((int64_t)2 << level) <= end)
        level++;
    return level;
}
