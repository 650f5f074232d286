/* train/embed.c - the embeddings of every node or graph of a data set, encoded in blocks of rows, each graph once. */
#include "train/evaluation.h"

#include <inttypes.h>

/* Examples first .. last - 1 are encoded together; for graphs `segment` holds their offsets. */
typedef struct block {
    int64_t first, last, rows;
    int64_t first_node;
} block;

static bool is_set(const mo_source *source) {
    return source->task == MO_TASK_GC;
}

/* The next block from example `first` on: at most max_rows rows, but at least one example. */
static block next_block(const mo_source *source, int64_t first, int64_t max_rows) {
    const mo_graph *graph = source->graph;
    block b = {.first = first, .last = first, .first_node = is_set(source) ? graph->graph_offset[first] : first};
    int64_t examples = is_set(source) ? graph->graphs : graph->nodes;
    while (b.last < examples) {
        int64_t end = is_set(source) ? graph->graph_offset[b.last + 1] : b.last + 1;
        if (b.last > first && max_rows > 0 && end - b.first_node > max_rows)
            break;
        b.rows = end - b.first_node;
        b.last++;
    }
    return b;
}

static mo_tensor *block_segment(mo_tape *t, const mo_source *source, const block *b) {
    int64_t entries = b->last - b->first + 1, *offset = mo_tape_scratch(t, entries, sizeof *offset);
    if (!offset)
        return mo_null_tensor(mo_tape_context(t));
    for (int64_t g = 0; g < entries; g++)
        offset[g] = source->graph->graph_offset[b->first + g] - b->first_node;
    return mo_from(t, MO_I64, 1, &entries, offset);
}

/* Z into rows first .. last - 1 of all. */
static void store_block(mo_tape *t, mo_tensor *all, const block *b, mo_tensor *Z) {
    mo_tensor *window = mo_slice(t, all, 0, b->first, b->last);
    if (mo_ok(mo_tape_context(t)))
        mo_tensor_copy(window, Z);
}

static void encode_block(mo_tape *t, const mo_mochi *model, const mo_source *source, const block *b, mo_tensor *all) {
    int64_t *node = mo_tape_scratch(t, b->rows, sizeof *node);
    for (int64_t i = 0; node && i < b->rows; i++)
        node[i] = b->first_node + i;
    mo_tensor *hops = node ? mo_hop_rows(t, source, node, b->rows) : mo_null_tensor(mo_tape_context(t));
    mo_tensor *segment = is_set(source) ? block_segment(t, source, b) : NULL;
    store_block(t, all, b, mo_gamlp_encode(t, mo_mochi_encoder(model), hops, segment, NULL));
}

static int64_t example_count(const mo_source *source) {
    return is_set(source) ? source->graph->graphs : source->graph->nodes;
}

mo_tensor *mo_embed_all(const mo_mochi *model, const mo_source *source, int64_t max_rows) {
    mo_tensor *first = mo_mochi_parameter(model, 0);
    mo_context *ctx = mo_tensor_context(first);
    int64_t examples = example_count(source), shape[2] = {examples, mo_mochi_options_of(model)->encoder.dim};
    if (mo_ok(ctx) && max_rows < 0)
        mo_fail(ctx, MO_INVALID, "embed: max_rows is %" PRId64 ", expected 0 (all) or more", max_rows);
    mo_tape *t = mo_ok(ctx) ? mo_tape_create(ctx, MO_EVAL) : NULL;
    mo_tensor *all = t ? mo_tensor_create(ctx, mo_tensor_dtype(first), 2, shape) : mo_null_tensor(ctx);
    for (int64_t done = 0; done < examples && mo_ok(ctx);) {
        block b = next_block(source, done, max_rows);
        encode_block(t, model, source, &b, all);
        mo_tape_reset(t);
        done = b.last;
    }
    mo_tape_release(t);
    if (mo_ok(ctx))
        return all;
    mo_tensor_release(all);
    return mo_null_tensor(ctx);
}

mo_tensor *mo_embed_hop(const mo_source *source, int hop) {
    mo_tensor *hops = mo_arrays_find(source->features->arrays, "hops");
    mo_context *ctx = source->graph->ctx;
    if (mo_ok(ctx) && (!hops || hop < 0 || hop >= mo_dim(hops, 0)))
        mo_fail(
            ctx, MO_INVALID, "embed: hop %d of %s, expected 0 to %d", hop, source->graph->name, source->features->hops);
    mo_tape *t = mo_ok(ctx) ? mo_tape_create(ctx, MO_EVAL) : NULL;
    if (!t)
        return mo_null_tensor(ctx);
    int64_t shape[2] = {example_count(source), mo_dim(hops, 2)};
    mo_tensor *rows = mo_reshape(t, mo_slice(t, hops, 0, hop, hop + 1), 2, (int64_t[]){mo_dim(hops, 1), shape[1]});
    if (is_set(source))
        rows = mo_segment_mean(t, rows, mo_from(t, MO_I64, 1, (int64_t[]){shape[0] + 1}, source->graph->graph_offset));
    mo_tensor *owned = mo_tensor_create(ctx, MO_F32, 2, shape);
    if (mo_ok(ctx))
        mo_tensor_copy(owned, rows);
    mo_tape_release(t);
    return owned;
}
