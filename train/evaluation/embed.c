/* train/evaluation/embed.c - the embeddings of every node or graph of a data set, in blocks of rows, each graph encoded
 * once; and the rows of a source that a head reads if there is no model. */
#include "tensor/hidden.h"
#include "tensor/storage.h"
#include "train/episodes/episode_rows.h"
#include "train/evaluation/evaluation.h"
#include "train/features/example_rows.h"

#include <inttypes.h>

/* Examples first .. last - 1 and, if the model encodes nodes, the range of their nodes. */
typedef struct embed_block {
    int64_t first, last, rows, first_node;
} embed_block;

/* How embeddings of all examples are processed; a visit gets each block. */
typedef struct embedding {
    mo_model *model;
    const mo_source *source;
    int64_t max_rows;
    bool ones;         /* append a 1 to each row of a model of examples */
    mo_tensor *sketch; /* a matrix by which the rows are multiplied, or NULL */
    mo_embed_visit visit;
    void *state;
} embedding;

static bool is_set(const mo_source *source) {
    return source->task == MO_TASK_GC;
}

/* The next block, from example `first` on: at most max_rows rows, but at least one example. */
static embed_block next_block(const mo_source *source, int64_t first, int64_t max_rows) {
    const mo_graph *graph = source->graph;
    embed_block b = {.first = first, .last = first, .first_node = is_set(source) ? graph->graph_offset[first] : first};
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

static mo_tensor *block_segment(mo_tape *t, const mo_source *source, const embed_block *b) {
    int64_t entries = b->last - b->first + 1, *offset = mo_tape_scratch(t, entries, sizeof *offset);
    if (!offset)
        return mo_null_tensor(mo_tape_context(t));
    for (int64_t g = 0; g < entries; g++)
        offset[g] = source->graph->graph_offset[b->first + g] - b->first_node;
    return mo_from(t, MO_I64, 1, &entries, offset);
}

static mo_tensor *encode_block(mo_tape *t, mo_model *model, const mo_source *source, const embed_block *b) {
    mo_tensor *hops = mo_arrays_find(source->features->arrays, "hops");
    mo_episode e = {.task = source->task, .n_rows = 1};
    e.rows[0] = (mo_named){"hops", mo_fetch_range(t, hops, 1, b->first_node, b->first_node + b->rows), NULL};
    e.segment = is_set(source) ? block_segment(t, source, b) : NULL;
    return mo_model_encode(t, model, &e, NULL);
}

static int64_t example_count(const mo_source *source) {
    return is_set(source) ? source->graph->graphs : source->graph->nodes;
}

static bool check_embeddings(mo_context *ctx, mo_model *model, const mo_tensor *Z, const embed_block *b) {
    char got[160];
    if (mo_ok(ctx) && (mo_is_null(Z) || mo_ndim(Z) != 2 || mo_dim(Z, 0) != b->last - b->first))
        mo_fail(ctx, MO_INVALID, "embed: the model %s made %s of %" PRId64 " examples, expected a row of each",
            model->encoder.name, mo_is_null(Z) ? "nothing" : mo_shape_string(Z, got, sizeof got), b->last - b->first);
    return mo_ok(ctx);
}

/* Embeddings [n, d] of n examples, with a 1 appended to each row if asked for. */
static mo_tensor *embed_listed(
    mo_tape *t, mo_model *model, const mo_source *source, const int64_t *id, int64_t n, bool ones) {
    mo_episode e = {.task = source->task, .classes = 2};
    int64_t *zero = mo_tape_scratch(t, n, sizeof *zero); /* labels that no head reads */
    mo_tensor *Z, *none;
    if (!zero)
        return mo_null_tensor(mo_tape_context(t));
    e.support_label = mo_from(t, MO_I64, 1, &n, zero);
    mo_example_tensors(t, source, id, n, NULL, &e);
    mo_model_embed(t, model, &e, NULL, &Z, &none);
    return ones ? mo_append_ones(t, Z) : Z;
}

mo_tensor *mo_embed_listed(mo_tape *t, mo_model *model, const mo_source *source, const int64_t *id, int64_t n) {
    return embed_listed(t, model, source, id, n, false);
}

static mo_tensor *embed_some(
    mo_tape *t, mo_model *model, const mo_source *source, int64_t first, int64_t n, bool ones) {
    int64_t *id = mo_tape_scratch(t, n, sizeof *id);
    for (int64_t i = 0; id && i < n; i++)
        id[i] = first + i;
    return id ? embed_listed(t, model, source, id, n, ones) : mo_null_tensor(mo_tape_context(t));
}

static int64_t embed_examples(const embedding *e) {
    bool rows = e->model->encoder.of_examples;
    return rows ? mo_dim(mo_arrays_find(e->source->features->arrays, "extras"), 0) : example_count(e->source);
}

static embed_block block_from(const embedding *e, int64_t first) {
    if (!e->model->encoder.of_examples)
        return next_block(e->source, first, e->max_rows);
    int64_t left = embed_examples(e) - first, n = e->max_rows > 0 && e->max_rows < left ? e->max_rows : left;
    return (embed_block){.first = first, .last = first + n, .rows = n};
}

static mo_tensor *block_rows(mo_tape *t, const embedding *e, const embed_block *b) {
    mo_context *ctx = mo_tape_context(t);
    bool examples = e->model->encoder.of_examples;
    mo_tensor *Z = examples ? embed_some(t, e->model, e->source, b->first, b->last - b->first, e->ones)
                            : encode_block(t, e->model, e->source, b);
    if (!examples && !check_embeddings(ctx, e->model, Z, b))
        return mo_null_tensor(ctx);
    return e->sketch ? mo_matmul(t, Z, e->sketch) : Z;
}

static void embed_blocks(mo_tape *t, const embedding *e) {
    int64_t examples = embed_examples(e);
    bool going = true;
    for (embed_block b = {0}; b.last < examples && going && mo_ok(mo_tape_context(t)); mo_tape_reset(t)) {
        b = block_from(e, b.last);
        mo_tensor *Z = block_rows(t, e, &b);
        going = mo_ok(mo_tape_context(t)) && e->visit(t, Z, b.first, examples, e->state);
    }
}

/* ---- all examples ---- */

static mo_code embed_source(const embedding *e) {
    mo_context *ctx = e->source->graph->ctx;
    if (!mo_given(ctx, "embed", "the model", e->model) ||
        !mo_given(ctx, "embed", "the source's features", e->source->features))
        return mo_code_of(ctx);
    if (mo_ok(ctx) && e->max_rows < 0)
        mo_fail(ctx, MO_INVALID, "embed: max_rows is %" PRId64 ", expected 0 (all) or more", e->max_rows);
    if (mo_ok(ctx) && e->model->encoder.of_examples != mo_has_example_rows(e->source))
        mo_fail(ctx, MO_INVALID, "embed: the model %s does not read the rows of %s:%s", e->model->encoder.name,
            e->source->graph->name, mo_task_name(e->source->task));
    mo_tape *t = mo_ok(ctx) ? mo_tape_create(ctx, MO_EVAL) : NULL;
    if (t)
        embed_blocks(t, e);
    mo_tape_release(t);
    return mo_code_of(ctx);
}

/* Copies block Z into *all, one tensor for all blocks. */
static bool keep_block(mo_tape *t, mo_tensor *Z, int64_t first, int64_t examples, void *all) {
    mo_tensor **kept = all;
    mo_context *ctx = mo_tape_context(t);
    if (!*kept)
        *kept = mo_tensor_create(ctx, mo_tensor_dtype(Z), 2, (int64_t[]){examples, mo_dim(Z, 1)});
    mo_tensor *window = mo_ok(ctx) ? mo_slice(t, *kept, MO_AXIS(0), first, first + mo_dim(Z, 0)) : NULL;
    return window && mo_tensor_copy(window, Z) == MO_OK;
}

/* All rows in one tensor; the null tensor on failure, NULL without a source. */
static mo_tensor *embed_kept(mo_model *model, const mo_source *source, int64_t max_rows, bool ones, mo_tensor *sketch) {
    mo_tensor *all = NULL;
    if (!source || !source->graph)
        return NULL;
    const embedding e = {model, source, max_rows, ones, sketch, keep_block, &all};
    if (embed_source(&e) == MO_OK && all)
        return all;
    mo_tensor_release(all);
    return mo_null_tensor(source->graph->ctx);
}

mo_tensor *mo_embed_all(mo_model *model, const mo_source *source, int64_t max_rows) {
    return embed_kept(model, source, max_rows, false, NULL);
}

mo_code mo_embed_each(mo_model *model, const mo_source *source, int64_t max_rows, mo_embed_visit visit, void *state) {
    if (!source || !source->graph)
        return MO_INVALID;
    if (!mo_given(source->graph->ctx, "embed", "a function for the blocks", visit))
        return mo_code_of(source->graph->ctx);
    const embedding e = {model, source, max_rows, false, NULL, visit, state};
    return embed_source(&e);
}

mo_tensor *mo_embed_sketched(mo_model *model, const mo_source *source, int64_t max_rows, mo_tensor *sketch) {
    return embed_kept(model, source, max_rows, false, sketch);
}

int64_t mo_embedding_width(mo_model *model, const mo_source *source) {
    if (!source || !source->graph)
        return 0;
    mo_context *ctx = source->graph->ctx;
    mo_tape *t = mo_given(ctx, "embed", "the model", model) ? mo_tape_create(ctx, MO_EVAL) : NULL;
    int64_t width = 0;
    if (t && !model->encoder.of_examples) {
        embed_block b = next_block(source, 0, 1);
        width = mo_dim(encode_block(t, model, source, &b), -1);
    } else if (t) {
        width = mo_dim(embed_some(t, model, source, 0, 1, false), -1);
    }
    mo_tape_release(t);
    return mo_ok(ctx) ? width : 0;
}

static bool check_population(mo_model *model, const mo_source *source) {
    mo_context *ctx = source->graph->ctx;
    if (mo_given(ctx, "embed", "the model", model) &&
        !(model->encoder.of_examples && model->readout && source->task != MO_TASK_LP))
        mo_fail(ctx, MO_UNSUPPORTED, "embed: the model %s has no transductive readout of %s:%s", model->encoder.name,
            source->graph->name, mo_task_name(source->task));
    return mo_ok(ctx);
}

mo_population mo_embed_population(mo_model *model, const mo_source *source, int64_t max_rows) {
    mo_context *ctx = source->graph->ctx;
    mo_population all = {mo_null_tensor(ctx), mo_null_tensor(ctx)};
    mo_tape *t = check_population(model, source) ? mo_tape_create(ctx, MO_EVAL) : NULL;
    if (t) {
        all.Z = embed_kept(model, source, max_rows, true, NULL);
        mo_tensor *gram = mo_gram(t, mo_transpose(t, all.Z));
        if (mo_ok(ctx))
            all.gram = mo_tensor_clone(ctx, gram);
    }
    mo_tape_release(t);
    return all;
}

/* ---- without a model ---- */

/* Rows at one hop, as a head reads them without a model. Nodes: the attributes at unit length (structure if there is at
 * most one attribute: at unit length a single number keeps only its sign). Graphs: the mean of both blocks over hops 0
 * .. hop, with the extras, at unit length. Links: the sum of the cosines of both blocks. */
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
