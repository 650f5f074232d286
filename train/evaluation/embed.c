/* train/evaluation/embed.c - the embeddings of every node or graph of a data set, encoded in blocks of rows, each graph
 * once. */
#include "tensor/given.h"
#include "train/episodes/episode_rows.h"
#include "train/evaluation/evaluation.h"
#include "train/features/example_rows.h"

#include <inttypes.h>

enum { MOST_GRAPHS = 8192 }; /* of a population: a kernel of 256 MiB */

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

/* Copies Z into rows first .. last - 1 of all. */
static void store_block(mo_tape *t, mo_tensor *all, const block *b, mo_tensor *Z) {
    mo_tensor *window = mo_slice(t, all, 0, b->first, b->last);
    if (mo_ok(mo_tape_context(t)))
        mo_tensor_copy(window, Z);
}

/* The embeddings of a block, on the tape. */
static mo_tensor *encode_block(mo_tape *t, mo_model model, const mo_source *source, const block *b) {
    mo_tensor *hops = mo_arrays_find(source->features->arrays, "hops");
    mo_episode e = {.task = source->task, .n_rows = 1};
    e.rows[0] = (mo_named){"hops", mo_fetch_range(t, hops, 1, b->first_node, b->first_node + b->rows), NULL};
    e.segment = is_set(source) ? block_segment(t, source, b) : NULL;
    return mo_model_encode(t, model, &e, NULL);
}

static int64_t example_count(const mo_source *source) {
    return is_set(source) ? source->graph->graphs : source->graph->nodes;
}

static bool check_embeddings(mo_context *ctx, mo_model model, const mo_tensor *Z, const block *b) {
    char got[160];
    if (mo_ok(ctx) && (mo_is_null(Z) || mo_ndim(Z) != 2 || mo_dim(Z, 0) != b->last - b->first))
        mo_fail(ctx, MO_INVALID, "embed: the model %s made %s of %" PRId64 " examples, expected a row of each",
            model.table->name, mo_is_null(Z) ? "nothing" : mo_shape_string(Z, got, sizeof got), b->last - b->first);
    return mo_ok(ctx);
}

static mo_tensor *embed_nodes(
    mo_tape *t, mo_model model, const mo_source *source, int64_t max_rows, mo_tensor *sketch) {
    mo_context *ctx = mo_tape_context(t);
    int64_t examples = example_count(source);
    mo_tensor *all = NULL;
    for (int64_t done = 0; done < examples && mo_ok(ctx); mo_tape_reset(t)) {
        block b = next_block(source, done, max_rows);
        mo_tensor *Z = encode_block(t, model, source, &b);
        bool fine = check_embeddings(ctx, model, Z, &b);
        Z = fine && sketch ? mo_matmul(t, Z, sketch) : Z;
        if (fine && !all)
            all = mo_tensor_create(ctx, mo_tensor_dtype(Z), 2, (int64_t[]){examples, mo_dim(Z, 1)});
        if (mo_ok(ctx))
            store_block(t, all, &b, Z);
        done = b.last;
    }
    return all;
}

/* Embeddings of n examples: [n, d], those of several experts side by side, each followed by a 1 if asked for. */
static mo_tensor *embed_listed(
    mo_tape *t, mo_model model, const mo_source *source, const int64_t *id, int64_t n, bool ones) {
    mo_episode e = {.task = source->task, .classes = 2};
    int64_t *zero = mo_tape_scratch(t, n, sizeof *zero); /* as labels: no head is fitted */
    mo_tensor *Z, *none;
    if (!zero)
        return mo_null_tensor(mo_tape_context(t));
    e.support_label = mo_from(t, MO_I64, 1, &n, zero);
    mo_example_tensors(t, source, id, n, NULL, &e);
    mo_model_embed(t, model, &e, NULL, &Z, &none);
    Z = ones ? mo_append_ones(t, Z) : Z;
    if (mo_ndim(Z) == 3)
        Z = mo_reshape(t, mo_contiguous(t, mo_permute(t, Z, (const int[]){1, 0, 2})), 2, (int64_t[]){n, -1});
    return Z;
}

mo_tensor *mo_embed_listed(mo_tape *t, mo_model model, const mo_source *source, const int64_t *id, int64_t n) {
    return embed_listed(t, model, source, id, n, false);
}

/* Those of examples first .. first + n - 1. */
static mo_tensor *embed_some(mo_tape *t, mo_model model, const mo_source *source, int64_t first, int64_t n, bool ones) {
    int64_t *id = mo_tape_scratch(t, n, sizeof *id);
    for (int64_t i = 0; id && i < n; i++)
        id[i] = first + i;
    return id ? embed_listed(t, model, source, id, n, ones) : mo_null_tensor(mo_tape_context(t));
}

static mo_tensor *embed_examples(
    mo_tape *t, mo_model model, const mo_source *source, int64_t max_rows, bool ones, mo_tensor *sketch) {
    mo_context *ctx = mo_tape_context(t);
    int64_t examples = mo_dim(mo_arrays_find(source->features->arrays, "extras"), 0);
    mo_tensor *all = NULL;
    for (int64_t done = 0; done < examples && mo_ok(ctx); mo_tape_reset(t)) {
        int64_t left = examples - done, n = max_rows > 0 && max_rows < left ? max_rows : left;
        mo_tensor *Z = embed_some(t, model, source, done, n, ones);
        Z = sketch ? mo_matmul(t, Z, sketch) : Z;
        if (!all && mo_ok(ctx))
            all = mo_tensor_create(ctx, mo_tensor_dtype(Z), 2, (int64_t[]){examples, mo_dim(Z, 1)});
        if (mo_ok(ctx))
            mo_tensor_copy(mo_slice(t, all, 0, done, done + n), Z);
        done += n;
    }
    return all;
}

/* sketch (may be NULL): a matrix that the rows are multiplied with. */
static mo_tensor *embed_source(
    mo_model model, const mo_source *source, int64_t max_rows, bool ones, mo_tensor *sketch) {
    if (!source || !source->graph)
        return NULL;
    mo_context *ctx = source->graph->ctx;
    if (!mo_given(ctx, "embed", "the model's table", model.table) ||
        !mo_given(ctx, "embed", "the source's features", source->features))
        return mo_null_tensor(ctx);
    if (mo_ok(ctx) && max_rows < 0)
        mo_fail(ctx, MO_INVALID, "embed: max_rows is %" PRId64 ", expected 0 (all) or more", max_rows);
    if (mo_model_validate(ctx, model) && model.table->of_examples != mo_has_example_rows(source))
        mo_fail(ctx, MO_INVALID, "embed: the model %s does not read the rows of %s:%s", model.table->name,
            source->graph->name, mo_task_name(source->task));
    mo_tape *t = mo_ok(ctx) ? mo_tape_create(ctx, MO_EVAL) : NULL;
    mo_tensor *all = NULL;
    if (t)
        all = model.table->of_examples ? embed_examples(t, model, source, max_rows, ones, sketch)
                                       : embed_nodes(t, model, source, max_rows, sketch);
    mo_tape_release(t);
    if (mo_ok(ctx) && all)
        return all;
    mo_tensor_release(all);
    return mo_null_tensor(ctx);
}

mo_tensor *mo_embed_all(mo_model model, const mo_source *source, int64_t max_rows) {
    return embed_source(model, source, max_rows, false, NULL);
}

mo_tensor *mo_embed_sketched(mo_model model, const mo_source *source, int64_t max_rows, mo_tensor *sketch) {
    return embed_source(model, source, max_rows, false, sketch);
}

int64_t mo_embedding_width(mo_model model, const mo_source *source) {
    if (!source || !source->graph)
        return 0;
    mo_context *ctx = source->graph->ctx;
    mo_tape *t = mo_model_validate(ctx, model) ? mo_tape_create(ctx, MO_EVAL) : NULL;
    int64_t width = 0;
    if (t && !model.table->of_examples) {
        block b = next_block(source, 0, 1);
        width = mo_dim(encode_block(t, model, source, &b), -1);
    } else if (t) {
        width = mo_dim(embed_some(t, model, source, 0, 1, false), -1);
    }
    mo_tape_release(t);
    return mo_ok(ctx) ? width : 0;
}

/* A graph may have any number of nodes, as their system is as wide as an embedding; the system of a set of graphs has a
 * row of each. */
static bool check_population(mo_model model, const mo_source *source) {
    mo_context *ctx = source->graph->ctx;
    if (mo_model_validate(ctx, model) &&
        !(model.table->of_examples && model.table->transduce && source->task != MO_TASK_LP))
        mo_fail(ctx, MO_UNSUPPORTED, "embed: the model %s has no transductive readout of %s:%s", model.table->name,
            source->graph->name, mo_task_name(source->task));
    else if (source->task == MO_TASK_GC && source->graph->graphs > MOST_GRAPHS)
        mo_fail(ctx, MO_UNSUPPORTED,
            "embed: %s has %" PRId64 " graphs, expected at most %d for a readout of all, whose kernel is that wide",
            source->graph->name, source->graph->graphs, MOST_GRAPHS);
    return mo_ok(ctx);
}

/* Z^T Z of nodes; Z_m Z_m^T of graphs, for every expert m. Each of the M experts has a column of ones in Z, which the
 * width of an embedding does not count. */
static mo_tensor *population_gram(mo_tape *t, mo_model model, const mo_source *source, mo_tensor *Z) {
    if (source->task != MO_TASK_GC)
        return mo_gram(t, mo_transpose(t, Z));
    int64_t M = mo_dim(Z, 1) - mo_embedding_width(model, source), N = mo_dim(Z, 0);
    if (!mo_ok(mo_tape_context(t)))
        return mo_null_tensor(mo_tape_context(t));
    mo_tensor *experts = mo_reshape(t, Z, 3, (int64_t[]){N, M, mo_dim(Z, 1) / M});
    return mo_gram(t, mo_contiguous(t, mo_permute(t, experts, (const int[]){1, 0, 2})));
}

mo_population mo_embed_population(mo_model model, const mo_source *source, int64_t max_rows) {
    mo_context *ctx = source->graph->ctx;
    mo_population all = {mo_null_tensor(ctx), mo_null_tensor(ctx)};
    mo_tape *t = check_population(model, source) ? mo_tape_create(ctx, MO_EVAL) : NULL;
    if (t) {
        int64_t shape[MO_MAX_AXES];
        all.Z = embed_source(model, source, max_rows, true, NULL);
        mo_tensor *gram = population_gram(t, model, source, all.Z);
        for (int i = 0; i < mo_ndim(gram); i++)
            shape[i] = mo_dim(gram, i);
        if (mo_ok(ctx)) {
            all.gram = mo_tensor_create(ctx, mo_tensor_dtype(gram), mo_ndim(gram), shape);
            mo_tensor_copy(all.gram, gram);
        }
    }
    mo_tape_release(t);
    return all;
}

/* The rows that a head without a model reads at one hop. Nodes: the attributes (structure if there are none) at unit
 * length. Graphs: the mean of both blocks over the hops so far, with the extras, at unit length. Links: the sum of the
 * cosines of both blocks. */
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
        side[b] = mo_reshape(t, mo_slice(t, rows, 0, b, b + 1), 2, (int64_t[]){n, w});
    side[MO_BLOCKS] = mo_fetch_range(t, extras, 0, 0, n);
    int block = source->graph->features > 1;
    return mo_l2_normalize(t, source->task == MO_TASK_GC ? mo_concat(t, side, MO_BLOCKS + 1, 1) : side[block], 1e-12);
}

/* The rows of nodes at one hop, or their means over the nodes of each graph. */
static mo_tensor *node_hop(mo_tape *t, const mo_source *source, int hop) {
    mo_tensor *hops = mo_arrays_find(source->features->arrays, "hops");
    int64_t examples = example_count(source), d = mo_dim(hops, 2);
    mo_tensor *rows = mo_reshape(t, mo_fetch_range(t, hops, 0, hop, hop + 1), 2, (int64_t[]){mo_dim(hops, 1), d});
    if (is_set(source))
        rows = mo_segment_mean(t, rows, mo_from(t, MO_I64, 1, (int64_t[]){examples + 1}, source->graph->graph_offset));
    return rows;
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
    mo_tensor *owned = mo_tensor_create(ctx, MO_F32, 2, (int64_t[]){mo_dim(rows, 0), mo_dim(rows, 1)});
    if (mo_ok(ctx))
        mo_tensor_copy(owned, rows);
    mo_tape_release(t);
    return owned;
}
