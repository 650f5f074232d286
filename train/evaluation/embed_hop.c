/* train/evaluation/embed_hop.c - the rows of a source that a head reads if there is no model. */
#include "tensor/hidden.h"
#include "train/episodes/episode_rows.h"
#include "train/evaluation/evaluation.h"
#include "train/features/example_rows.h"

/* Rows at one hop, as a head reads them without a model. Nodes: the attributes at unit length (structure if there is at
 * most one column: at unit length a single number keeps only its sign). Graphs: the mean of both blocks over the hops
 * so far, with the extras, at unit length. Links: the sum of the cosines of both blocks. */
static mo_tensor *example_hop(mo_tape *t, const mo_source *source, int hop) {
    const mo_arrays *arrays = source->features->arrays;
    mo_tensor *blocks = mo_arrays_find(arrays, "blocks"), *extras = mo_arrays_find(arrays, "extras");
    int64_t K = mo_dim(blocks, 1), n = mo_dim(blocks, 2), w = mo_dim(blocks, 3), p = mo_dim(extras, 1);
    int from = source->task == MO_TASK_GC ? 0 : hop, first = (int)(p - MO_BLOCKS * K) + hop;
    if (source->task == MO_TASK_LP)
        return mo_add(
            t, mo_fetch_range(t, extras, 1, first, first + 1), mo_fetch_range(t, extras, 1, first + K, first + K + 1));
    mo_tensor *rows = mo_mean(t, mo_fetch_range(t, blocks, 1, from, hop + 1), MO_AXIS(1), MO_DROP_AXES),
              *side[MO_BLOCKS + 1];
    for (int b = 0; b < MO_BLOCKS; b++)
        side[b] = mo_reshape(t, mo_slice(t, rows, MO_AXIS(0), b, b + 1), 2, (int64_t[]){n, w});
    side[MO_BLOCKS] = mo_fetch_range(t, extras, 0, 0, n);
    int block = source->graph->features > 1;
    return mo_l2_normalize(
        t, source->task == MO_TASK_GC ? mo_concat(t, side, MO_BLOCKS + 1, MO_AXIS(1)) : side[block], 1e-12);
}

/* The rows of nodes first .. last - 1 at one hop. */
static mo_tensor *node_range(mo_tape *t, const mo_source *source, int hop, int64_t first, int64_t last) {
    return mo_fetch_block(t, mo_arrays_find(source->features->arrays, "hops"), hop, first, last);
}

/* The rows of nodes at one hop, or their means over the nodes of each graph. */
static mo_tensor *node_hop(mo_tape *t, const mo_source *source, int hop) {
    mo_tensor *rows = node_range(t, source, hop, 0, source->graph->nodes);
    if (source->task != MO_TASK_GC)
        return rows;
    int64_t examples = mo_graph_examples(source->graph);
    return mo_segment_mean(t, rows, mo_from(t, MO_I64, 1, (int64_t[]){examples + 1}, source->graph->graph_offset));
}

mo_code mo_embed_hop_each(const mo_source *source, int hop, int64_t max_rows, mo_embed_visit visit, void *state) {
    if (!source || !source->graph)
        return MO_INVALID;
    mo_context *ctx = source->graph->ctx;
    bool given = mo_given(ctx, "embed", "a function for the blocks", visit) &&
                 mo_given(ctx, "embed", "the source's features", source->features);
    if (given && (source->task == MO_TASK_GC || mo_has_example_rows(source) || hop < 0 || hop > source->features->hops))
        mo_fail(ctx, MO_INVALID, "embed: hop %d of %s block by block, expected rows of nodes and hops 0 to %d", hop,
            source->graph->name, source->features->hops);
    mo_tape *t = given && mo_ok(ctx) ? mo_tape_create(ctx, MO_EVAL) : NULL;
    int64_t n = source->graph->nodes, step = max_rows > 0 ? max_rows : n;
    for (int64_t i = 0; t && i < n && mo_ok(ctx); i += step, mo_tape_reset(t))
        if (!visit(t, node_range(t, source, hop, i, n - i < step ? n : i + step), i, n, state))
            break;
    mo_tape_release(t);
    return mo_code_of(ctx);
}

mo_tensor *mo_embed_hop(const mo_source *source, int hop) {
    if (!source || !source->graph)
        return NULL;
    if (!mo_given(source->graph->ctx, "embed", "the source's features", source->features))
        return mo_null_tensor(source->graph->ctx);
    mo_context *ctx = source->graph->ctx;
    if (mo_ok(ctx) && (hop < 0 || hop > source->features->hops))
        mo_fail(
            ctx, MO_INVALID, "embed: hop %d of %s, expected 0 to %d", hop, source->graph->name, source->features->hops);
    mo_tape *t = mo_ok(ctx) ? mo_tape_create(ctx, MO_EVAL) : NULL;
    if (!t)
        return mo_null_tensor(ctx);
    mo_tensor *rows = mo_has_example_rows(source) ? example_hop(t, source, hop) : node_hop(t, source, hop);
    mo_tensor *owned = mo_tensor_clone(ctx, rows);
    mo_tape_release(t);
    return owned;
}
