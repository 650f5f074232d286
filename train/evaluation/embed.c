/* train/evaluation/embed.c - the embeddings of every node or graph of a data set, in blocks of rows, each graph encoded
 * once; and the rows of a source that a head reads if there is no model. */
#include "tensor/library.h"
#include "tensor/objects.h"
#include "train/episodes/episode_rows.h"
#include "train/evaluation/evaluation.h"
#include "train/features/example_rows.h"

#include <inttypes.h>

/* Examples first .. last - 1 and, unless they have rows of their own, the range of their nodes. */
typedef struct embed_block {
    int64_t first, last, rows, first_node;
} embed_block;

/* How embeddings of all examples are processed; a visit gets each block. */
typedef struct embedding {
    mo_model *model; /* NULL: the rows of nodes at one hop, or their means over each graph */
    int hop;
    const mo_source *source;
    int64_t max_rows;
    mo_tensor *sketch; /* a matrix by which the rows are multiplied, or NULL */
    mo_embed_visit visit;
    void *state;
} embedding;

static bool is_set(const mo_source *source) {
    return source->task == MO_TASK_GC;
}

static int64_t embed_examples(const embedding *e) {
    bool own = mo_has_example_rows(e->source);
    return own ? mo_dim(mo_arrays_find(e->source->features->arrays, "extras"), 0) : mo_graph_examples(e->source->graph);
}

/* The next block, from example `first` on: at most max_rows rows, but at least one example. */
static embed_block next_block(const embedding *e, int64_t first) {
    int64_t left = embed_examples(e) - first, n = e->max_rows > 0 && e->max_rows < left ? e->max_rows : left;
    embed_block b = {.first = first, .last = first + n, .rows = n, .first_node = first};
    const int64_t *offset = e->source->graph->graph_offset + first;
    if (!is_set(e->source) || mo_has_example_rows(e->source))
        return b;
    for (n = 1; n < left && (e->max_rows <= 0 || offset[n + 1] - offset[0] <= e->max_rows); n++)
        ;
    return (embed_block){.first = first, .last = first + n, .rows = offset[n] - offset[0], .first_node = offset[0]};
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

static bool check_embeddings(mo_context *ctx, mo_model *model, const mo_tensor *Z, const embed_block *b) {
    char got[160];
    if (mo_ok(ctx) && (mo_is_null(Z) || mo_ndim(Z) != 2 || mo_dim(Z, 0) != b->last - b->first))
        mo_fail(ctx, MO_INVALID, "embed: the model %s made %s of %" PRId64 " examples, expected a row of each",
            model->encoder.name, mo_is_null(Z) ? "nothing" : mo_shape_string(Z, got, sizeof got), b->last - b->first);
    return mo_ok(ctx);
}

mo_tensor *mo_embed_listed(mo_tape *t, mo_model *model, const mo_source *source, const int64_t *id, int64_t n) {
    mo_episode e = {.task = source->task, .classes = 2};
    int64_t *zero = mo_tape_scratch(t, n, sizeof *zero); /* labels that no head reads */
    mo_tensor *Z, *none;
    if (!zero)
        return mo_null_tensor(mo_tape_context(t));
    e.support_label = mo_from(t, MO_I64, 1, &n, zero);
    mo_example_tensors(t, source, id, n, NULL, &e);
    mo_model_embed(t, model, &e, NULL, &Z, &none);
    return Z;
}

static mo_tensor *embed_examples_of(mo_tape *t, const embedding *e, const embed_block *b) {
    int64_t *id = mo_tape_scratch(t, b->rows, sizeof *id);
    for (int64_t i = 0; id && i < b->rows; i++)
        id[i] = b->first + i;
    return id ? mo_embed_listed(t, e->model, e->source, id, b->rows) : mo_null_tensor(mo_tape_context(t));
}

static mo_tensor *hop_block(mo_tape *t, const embedding *e, const embed_block *b) {
    mo_tensor *hops = mo_arrays_find(e->source->features->arrays, "hops");
    mo_tensor *X = mo_fetch_block(t, hops, e->hop, b->first_node, b->first_node + b->rows);
    return is_set(e->source) ? mo_segment_mean(t, X, block_segment(t, e->source, b)) : X;
}

static mo_tensor *block_rows(mo_tape *t, const embedding *e, const embed_block *b) {
    mo_context *ctx = mo_tape_context(t);
    if (!e->model)
        return hop_block(t, e, b);
    bool examples = e->model->encoder.of_examples;
    mo_tensor *Z = examples ? embed_examples_of(t, e, b) : encode_block(t, e->model, e->source, b);
    if (!examples && !check_embeddings(ctx, e->model, Z, b))
        return mo_null_tensor(ctx);
    return e->sketch ? mo_matmul(t, Z, e->sketch) : Z;
}

/* ---- all examples ---- */

static mo_code embed_source(const embedding *e) {
    mo_context *ctx = e->source->graph->ctx;
    if (mo_ok(ctx) && e->max_rows < 0)
        mo_fail(ctx, MO_INVALID, "embed: max_rows is %" PRId64 ", expected 0 (all) or more", e->max_rows);
    if (mo_ok(ctx) && (e->model && e->model->encoder.of_examples) != mo_has_example_rows(e->source))
        mo_fail(ctx, MO_INVALID, "embed: %s does not read the rows of %s:%s",
            e->model ? e->model->encoder.name : "a hop of nodes", e->source->graph->name,
            mo_task_name(e->source->task));
    mo_tape *t = mo_ok(ctx) ? mo_tape_create(ctx, MO_EVAL) : NULL;
    int64_t examples = t ? embed_examples(e) : 0;
    bool going = true;
    for (embed_block b = {0}; b.last < examples && going && mo_ok(ctx); mo_tape_reset(t)) {
        b = next_block(e, b.last);
        mo_tensor *Z = block_rows(t, e, &b);
        going = mo_ok(ctx) && e->visit(t, Z, b.first, examples, e->state);
    }
    mo_tape_release(t);
    return mo_code_of(ctx);
}

/* As embed_source, for a caller's model and source. */
static mo_code embed_with(const embedding *e) {
    if (!e->source || !e->source->graph)
        return MO_INVALID;
    mo_context *ctx = e->source->graph->ctx;
    if (!mo_given(ctx, "embed", "the model", e->model) ||
        !mo_given(ctx, "embed", "a function for the blocks", e->visit) ||
        !mo_given(ctx, "embed", "the source's features", e->source->features))
        return mo_code_of(ctx);
    return embed_source(e);
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

static bool keep_with_ones(mo_tape *t, mo_tensor *Z, int64_t first, int64_t examples, void *all) {
    return keep_block(t, mo_append_ones(t, Z), first, examples, all);
}

/* The rows that keep_block has kept; the null tensor on failure. */
static mo_tensor *take_kept(const mo_source *source, mo_tensor *all) {
    if (all && mo_ok(source->graph->ctx))
        return all;
    mo_tensor_release(all);
    return mo_null_tensor(source->graph->ctx);
}

mo_tensor *mo_embed_sketched(mo_model *model, const mo_source *source, int64_t max_rows, mo_tensor *sketch) {
    mo_tensor *all = NULL;
    if (!source || !source->graph)
        return NULL;
    embed_with(&(embedding){model, 0, source, max_rows, sketch, keep_block, &all});
    return take_kept(source, all);
}

mo_tensor *mo_embed_all(mo_model *model, const mo_source *source, int64_t max_rows) {
    return mo_embed_sketched(model, source, max_rows, NULL);
}

mo_code mo_embed_each(mo_model *model, const mo_source *source, int64_t max_rows, mo_embed_visit visit, void *state) {
    return embed_with(&(embedding){model, 0, source, max_rows, NULL, visit, state});
}

static bool note_width(mo_tape *t, mo_tensor *Z, int64_t first, int64_t examples, void *state) {
    (void)t, (void)first, (void)examples;
    *(int64_t *)state = mo_dim(Z, -1);
    return false;
}

int64_t mo_embedding_width(mo_model *model, const mo_source *source) {
    int64_t width = 0;
    mo_embed_each(model, source, 1, note_width, &width);
    return width;
}

static bool check_population(mo_model *model, const mo_source *source) {
    mo_context *ctx = source->graph->ctx;
    if (mo_given(ctx, "embed", "the model", model) &&
        !(model->encoder.of_examples && model->reads_kernels && source->task != MO_TASK_LP))
        mo_fail(ctx, MO_UNSUPPORTED, "embed: the model %s has no transductive readout of %s:%s", model->encoder.name,
            source->graph->name, mo_task_name(source->task));
    return mo_ok(ctx);
}

mo_population mo_embed_population(mo_model *model, const mo_source *source, int64_t max_rows) {
    mo_context *ctx = source->graph->ctx;
    mo_population all = {mo_null_tensor(ctx), mo_null_tensor(ctx)};
    mo_tensor *Z = NULL;
    if (check_population(model, source))
        mo_embed_each(model, source, max_rows, keep_with_ones, &Z);
    all.Z = take_kept(source, Z);
    mo_tape *t = mo_ok(ctx) ? mo_tape_create(ctx, MO_EVAL) : NULL;
    if (t)
        all.gram = mo_tensor_clone(ctx, mo_gram(t, mo_transpose(t, all.Z)));
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

/* Raises unless the source has rows at that hop. */
static bool check_hop(const mo_source *source, int hop) {
    mo_context *ctx = source->graph->ctx;
    if (mo_given(ctx, "embed", "the source's features", source->features) && (hop < 0 || hop > source->features->hops))
        mo_fail(
            ctx, MO_INVALID, "embed: hop %d of %s, expected 0 to %d", hop, source->graph->name, source->features->hops);
    return mo_ok(ctx);
}

mo_code mo_embed_hop_each(const mo_source *source, int hop, int64_t max_rows, mo_embed_visit visit, void *state) {
    if (!source || !source->graph)
        return MO_INVALID;
    return check_hop(source, hop) ? embed_source(&(embedding){NULL, hop, source, max_rows, NULL, visit, state})
                                  : mo_code_of(source->graph->ctx);
}

mo_tensor *mo_embed_hop(const mo_source *source, int hop) {
    mo_tensor *all = NULL;
    if (!source || !source->graph)
        return NULL;
    mo_context *ctx = source->graph->ctx;
    if (!check_hop(source, hop))
        return mo_null_tensor(ctx);
    if (!mo_has_example_rows(source)) {
        mo_embed_hop_each(source, hop, 0, keep_block, &all);
        return take_kept(source, all);
    }
    mo_tape *t = mo_tape_create(ctx, MO_EVAL);
    if (t)
        all = mo_tensor_clone(ctx, example_hop(t, source, hop));
    mo_tape_release(t);
    return take_kept(source, all);
}
