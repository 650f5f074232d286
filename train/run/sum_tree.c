/* train/run/sum_tree.c - sums along a binary tree over the episodes of a step, joined as a binary counter carries. Sums
 * and rounding are the same whether one process computes the whole tree or several processes compute parts of it. */
#include "train/run/trainer.h"

#include "tensor/storage.h"

enum { PART_ALIGNMENT = 256 };

/* Bytes of one tensor's part, padded with zeros so that the next part is aligned like an allocation. */
static size_t part_bytes(const mo_tensor *like) {
    size_t bytes = mo_gradient_bytes(like);
    return (bytes + PART_ALIGNMENT - 1) / PART_ALIGNMENT * PART_ALIGNMENT;
}

size_t mo_sum_tree_bytes(mo_tensor *const *like, int n) {
    size_t bytes = 0;
    for (int i = 0; i < n; i++)
        bytes += part_bytes(like[i]);
    return bytes;
}

/* Allocates a node's memory at its first use. Returns false if there is no memory. */
static bool make_node(mo_sum_tree *tree, mo_tree_node *node) {
    mo_context *ctx = tree->ctx;
    size_t at = 0, bytes = mo_sum_tree_bytes(tree->like, tree->n);
    if (node->sum)
        return mo_ok(ctx);
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

static void release_node(mo_sum_tree *tree, mo_tree_node *node) {
    for (int i = 0; node->sum && i < tree->n; i++)
        mo_tensor_release(node->sum[i]);
    mo_tensor_release(node->whole);
    mo_host_free(tree->ctx, node->sum, (size_t)tree->n * sizeof *node->sum);
}

void mo_sum_tree_release(mo_sum_tree *tree) {
    if (!tree)
        return;
    for (int k = 0; k < MO_TREE_NODES; k++)
        release_node(tree, &tree->node[k]);
    release_node(tree, &tree->spare);
    mo_host_free(tree->ctx, tree, sizeof *tree);
}

mo_sum_tree *mo_sum_tree_create(mo_context *ctx, mo_tensor *const *like, int n) {
    mo_sum_tree *tree = mo_host_alloc(ctx, sizeof *tree);
    if (tree)
        *tree = (mo_sum_tree){.ctx = ctx, .like = like, .n = n};
    return tree;
}

/* ---- nodes ---- */

/* The level of the first node of the row for episodes first .. end - 1 (trainer.h). */
static int level_of(int64_t first, int64_t end) {
    int level = 0;
    while (first % ((int64_t)2 << level) == 0 && first + ((int64_t)2 << level) <= end)
        level++;
    return level;
}

/* The number of nodes in the row for episodes first .. end - 1. */
static int count_nodes(int64_t first, int64_t end) {
    int n = 0;
    for (; first < end; n++)
        first += (int64_t)1 << level_of(first, end);
    return n;
}

static void add_to_node(mo_sum_tree *tree, mo_tape *t, int k, mo_tensor *const *X) {
    for (int i = 0; i < tree->n && mo_ok(tree->ctx); i++)
        mo_accumulate_in_place(t, tree->node[k].sum[i], X[i]);
}

void mo_sum_tree_push(mo_sum_tree *tree, mo_tape *t, int64_t first, int64_t at, int level, mo_tensor *const *X) {
    int before = count_nodes(first, at), after = count_nodes(first, at + ((int64_t)1 << level));
    mo_tree_node *next = tree->node + before;
    if (!mo_ok(tree->ctx))
        return;
    if (after > before && !make_node(tree, next))
        return;
    if (after > before && X == tree->spare.sum) {
        mo_tree_node other = *next;
        *next = tree->spare;
        tree->spare = other;
    } else if (after > before) {
        for (int i = 0; i < tree->n && mo_ok(tree->ctx); i++)
            mo_tensor_copy(next->sum[i], X[i]);
    } else {
        /* X and the last node have the same parent, which replaces that node; then equal-sized neighbours merge. */
        add_to_node(tree, t, before - 1, X);
        for (int k = before - 1; k >= after; k--)
            add_to_node(tree, t, k - 1, tree->node[k].sum);
    }
}

mo_tensor *const *mo_sum_tree_join(mo_sum_tree *tree, mo_tape *t, int64_t first, int64_t end) {
    for (int k = count_nodes(first, end) - 1; k > 0; k--)
        add_to_node(tree, t, k - 1, tree->node[k].sum);
    return tree->node[0].sum;
}

/* ---- several ranks ---- */

bool mo_sum_tree_reserve(mo_sum_tree *tree) {
    return make_node(tree, &tree->spare);
}

/* The bytes of a sum in host memory: in place on a CPU; else `message`, which receives the sum if `read`. */
static char *bytes_of_sum(mo_tensor *whole, char *message, bool read) {
    if (message && read)
        mo_tensor_read(whole, message, (size_t)mo_numel(whole) * sizeof(float));
    return message ? message : mo_tensor_view(whole).data;
}

/* Sends the nodes of episodes first .. end - 1, this rank's and those received, to rank `to`. */
static void send_nodes(
    const mo_sum_tree *tree, const mo_ranks *ranks, int to, int64_t first, int64_t end, char *message) {
    size_t bytes = mo_sum_tree_bytes(tree->like, tree->n);
    for (int k = 0, n = count_nodes(first, end); k < n; k++) {
        mo_tensor *whole = tree->node[k].sum ? tree->node[k].whole : tree->spare.whole; /* a failed rank has no sum */
        ranks->send(ranks->state, to, bytes_of_sum(whole, message, true), bytes);
    }
}

/* Receives the nodes of episodes at .. end - 1 and adds them behind this rank's episodes first .. at - 1. */
static void receive_nodes(mo_sum_tree *tree, mo_tape *t, const mo_ranks *ranks, int from, int64_t first, int64_t at,
    int64_t end, char *message) {
    size_t bytes = mo_sum_tree_bytes(tree->like, tree->n);
    for (int level; at < end; at += (int64_t)1 << level) {
        level = level_of(at, end);
        ranks->receive(ranks->state, from, bytes_of_sum(tree->spare.whole, message, false), bytes);
        if (message)
            mo_tensor_write(tree->spare.whole, message, bytes);
        mo_sum_tree_push(tree, t, first, at, level, tree->spare.sum);
    }
}

/* Ranks send their nodes up the binomial tree (ranks.c); rank 0 joins them and sends the total down. */
mo_tensor *const *mo_sum_tree_share(
    mo_sum_tree *tree, mo_tape *t, const mo_ranks *ranks, int64_t episodes, char *message) {
    int E = (int)episodes, rank = ranks->rank;
    int64_t first = mo_ranks_first(E, ranks->size, rank), end = mo_ranks_first(E, ranks->size, rank + 1);
    for (int bit = 1; bit < ranks->size; bit *= 2) {
        if (rank & bit) {
            send_nodes(tree, ranks, rank - bit, first, end, message);
            break;
        }
        if (rank + bit >= ranks->size)
            continue;
        int64_t more = mo_ranks_first(E, ranks->size, mo_ranks_end(ranks, rank + bit, bit));
        receive_nodes(tree, t, ranks, rank + bit, first, end, more, message);
        end = more;
    }
    mo_tensor *const *total = !rank && mo_ok(tree->ctx) ? mo_sum_tree_join(tree, t, 0, E) : NULL;
    mo_tensor *whole = total ? tree->node[0].whole : tree->spare.whole;
    size_t bytes = mo_sum_tree_bytes(tree->like, tree->n);
    char *data = bytes_of_sum(whole, message, !rank);
    mo_ranks_broadcast(ranks, data, bytes);
    if (rank && message)
        mo_tensor_write(whole, message, bytes);
    return total ? total : tree->spare.sum;
}
