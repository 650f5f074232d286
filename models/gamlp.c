/* models/gamlp.c - GAMLP with node-adaptive hop attention (Zhang et al. 2022; paper, section Architecture).
 *
 * For a node with hop rows x_0 .. x_l:
 *     h_k = relu(W_k x_k + b_k)                          (relu_hops; else linear)
 *     s_k = v . relu(W_a [h_0 ; h_k] + b_a) + c,  a = softmax(s),  h = sum_k a_k h_k
 *     z = h + W_3 relu(W_2 relu(W_1 h + b_1) + b_2) + b_3   (3 layers), or W_2 relu(W_1 h + b_1) + b_2   (2 layers)
 * The mean over a graph's nodes commutes with the last layer and comes before it. */
#include "models/gamlp.h"
#include "models/row_blocks.h"
#include "tensor/given.h"

#include <math.h>

/* Rows first .. of all rows of the episode: dropout numbers its entries over all rows. */
typedef struct row_range {
    int64_t first, all;
} row_range;

static bool drops(mo_tape *t, const mo_gamlp *m, const mo_random *r) {
    return r && m->options.dropout > 0 && mo_tape_mode(t) == MO_RECORD;
}

static mo_tensor *drop(mo_tape *t, const mo_gamlp *m, mo_tensor *X, row_range rows, mo_random *r) {
    if (!drops(t, m, r))
        return X;
    mo_random at = *r;
    at.index += (uint64_t)(rows.first * m->options.dim);
    r->index += (uint64_t)(rows.all * m->options.dim);
    return mo_dropout(t, X, m->options.dropout, &at);
}

static bool check_hops(mo_tape *t, const mo_gamlp *m, const mo_tensor *hops) {
    mo_context *ctx = mo_tape_context(t);
    char got[160];
    if (!mo_given(ctx, "gamlp", "the model", m))
        return false;
    if ((mo_is_null(hops) || mo_ndim(hops) != 3 || mo_dim(hops, 0) != m->options.hops + 1 ||
            mo_dim(hops, 2) != m->options.dim))
        mo_fail(ctx, MO_INVALID, "gamlp: hop rows %s, expected [%d, N, %d]",
            mo_is_null(hops) ? "null" : mo_shape_string(hops, got, sizeof got), m->options.hops + 1, m->options.dim);
    return mo_ok(ctx);
}

/* Dropout of the hops [K, n, d]: it numbers the entries of each hop over all rows of the episode. */
static mo_tensor *drop_hops(mo_tape *t, const mo_gamlp *m, mo_tensor *H, row_range rows, mo_random *r) {
    int K = m->options.hops + 1;
    mo_tensor *hop[MO_GAMLP_MAX_HOPS + 1];
    if (!drops(t, m, r))
        return H;
    for (int k = 0; k < K; k++)
        hop[k] = drop(t, m, mo_slice(t, H, MO_AXIS(0), k, k + 1), rows, r);
    return mo_concat(t, hop, K, MO_AXIS(0));
}

static mo_tensor *mix(
    mo_tape *t, const mo_gamlp *m, mo_tensor *hops, row_range rows, mo_random *r, mo_tensor **attention) {
    int K = m->options.hops + 1;
    mo_tensor *W[MO_GAMLP_MAX_HOPS + 1], *b[MO_GAMLP_MAX_HOPS + 1];
    const mo_linear_layer *layer = m->attention;
    for (int k = 0; k < K; k++) {
        W[k] = m->input[k].weight;
        b[k] = m->input[k].bias;
    }
    mo_tensor *H = mo_hop_layers(t, hops, W, b, K, m->options.relu_hops);
    H = drop_hops(t, m, H, rows, r);
    return mo_hop_attention(
        t, H, (mo_tensor *[]){layer[0].weight, layer[0].bias, layer[1].weight, layer[1].bias}, attention);
}

mo_tensor *mo_gamlp_mix(mo_tape *t, const mo_gamlp *m, mo_tensor *hops, mo_random *r, mo_tensor **attention) {
    mo_tensor *own, **a = attention ? attention : &own;
    *a = mo_null_tensor(mo_tape_context(t));
    return check_hops(t, m, hops) ? mix(t, m, hops, (row_range){0, mo_dim(hops, 1)}, r, a) : *a;
}

/* All layers but the last output layer: its input, and the h that its residual adds. */
static mo_tensor *hidden(mo_tape *t, const mo_gamlp *m, mo_tensor *hops, row_range rows, mo_random *r, mo_tensor **h) {
    mo_tensor *attention, *z = *h = mix(t, m, hops, rows, r, &attention);
    for (int i = 0; i < m->options.layers - 1; i++)
        z = drop(t, m, mo_linear_relu(t, z, m->output[i].weight, m->output[i].bias, NULL), rows, r);
    return z;
}

static bool residual(const mo_gamlp *m) {
    return m->options.layers == 3;
}

static mo_tensor *last_layer(mo_tape *t, const mo_gamlp *m, mo_tensor *z, mo_tensor *h) {
    z = mo_linear(t, z, m->output[m->options.layers - 1].weight, m->output[m->options.layers - 1].bias);
    return residual(m) ? mo_add(t, z, h) : z;
}

/* The embeddings of nodes. If no dropout lies between the last two layers, they are one op. */
static mo_tensor *gamlp_embed(mo_tape *t, const mo_gamlp *m, mo_tensor *hops, row_range rows, mo_random *r) {
    const mo_linear_layer *layer = m->output;
    mo_tensor *h, *z, *attention;
    if (drops(t, m, r)) {
        z = hidden(t, m, hops, rows, r, &h);
        return last_layer(t, m, z, h);
    }
    z = h = mix(t, m, hops, rows, r, &attention);
    for (; layer + 2 < m->output + m->options.layers; layer++)
        z = mo_linear_relu(t, z, layer->weight, layer->bias, NULL);
    z = mo_perceptron(t, z, layer[0].weight, layer[0].bias, NULL, layer[1].weight, layer[1].bias);
    return residual(m) ? mo_add(t, z, h) : z;
}

/* ---- in blocks of rows ---- */

/* Rows first .. of hops; r: the random position where the episode's dropout begins. */
typedef struct block {
    const mo_gamlp *m;
    row_range rows;
    bool indexed, drops;
    mo_random r;
} block;

typedef struct episode {
    block block;
    mo_named hops;
    mo_tensor *segment;
} episode;

/* The rows among the inputs of a recomputed function: the inputs are hops, the index if there is one, the caller's own
 * tensors, and last the parameters, which are put into m. */
static mo_tensor *block_rows(mo_tape *t, mo_tensor *const *in, int n, const block *b, mo_gamlp *m) {
    *m = mo_gamlp_with(b->m, in + n - b->m->n_parameters);
    return mo_gather_indexed(t, in[0], b->indexed ? in[1] : NULL);
}

static mo_tensor *embed_rows(mo_tape *t, mo_tensor *const *in, int n, void *state) {
    block *b = state;
    mo_gamlp m;
    mo_tensor *hops = block_rows(t, in, n, b, &m);
    return gamlp_embed(t, &m, hops, b->rows, b->drops ? &b->r : NULL);
}

/* offset [G + 1] of all rows, relative to n of them. The offsets of the last rows are not clipped above, so that the
 * segment sum reports an error in them. */
static mo_tensor *offsets_within(mo_tape *t, mo_tensor *offset, row_range rows, int64_t n) {
    mo_tensor *place = mo_scale(t, mo_cast(t, offset, MO_F64), 1, -(double)rows.first);
    return mo_cast(t, mo_clamp(t, place, 0, rows.first + n < rows.all ? (double)n : INFINITY), MO_I64);
}

/* [z | h] (z if there is no residual) summed over the rows of each graph; the inputs before the parameters: offsets. */
static mo_tensor *gamlp_sum_rows(mo_tape *t, mo_tensor *const *in, int n, void *state) {
    block *b = state;
    mo_gamlp m;
    mo_tensor *h, *hops = block_rows(t, in, n, b, &m);
    mo_tensor *z = hidden(t, &m, hops, b->rows, b->drops ? &b->r : NULL, &h);
    mo_tensor *offset = offsets_within(t, in[n - m.n_parameters - 1], b->rows, mo_dim(hops, 1));
    z = mo_segment_sum(t, z, offset);
    return residual(&m) ? mo_concat(t, (mo_tensor *[]){z, mo_segment_sum(t, h, offset)}, 2, MO_AXIS(1)) : z;
}

static mo_tensor *gamlp_encode_block(mo_tape *t, int64_t first, int64_t last, const void *state) {
    const episode *e = state;
    block b = e->block;
    mo_tensor *in[3 + MO_GAMLP_MAX_PARAMETERS];
    int n = 0;
    b.rows.first = first;
    in[n++] = b.indexed ? e->hops.tensor : mo_slice(t, e->hops.tensor, MO_AXIS(1), first, last);
    if (b.indexed)
        in[n++] = mo_slice(t, e->hops.index, MO_AXIS(1), first, last);
    if (e->segment)
        in[n++] = e->segment;
    for (int i = 0; i < b.m->n_parameters; i++)
        in[n++] = b.m->parameter[i];
    return mo_recompute(t, e->segment ? gamlp_sum_rows : embed_rows, in, n, &b, sizeof b);
}

/* From the sums [G, d] or [G, 2 d] to the embeddings of graphs. */
static mo_tensor *finish_graphs(mo_tape *t, const mo_gamlp *m, mo_tensor *sums, mo_tensor *segment) {
    int64_t G = mo_dim(segment, 0) - 1, d = m->options.dim;
    mo_tensor *offset = mo_cast(t, segment, MO_F64);
    mo_tensor *count = mo_sub(t, mo_slice(t, offset, MO_AXIS(0), 1, G + 1), mo_slice(t, offset, MO_AXIS(0), 0, G));
    count = mo_reshape(t, mo_cast(t, count, mo_tensor_dtype(m->parameter[0])), 2, (int64_t[]){G, 1});
    sums = mo_div_or_zero(t, sums, count);
    return last_layer(
        t, m, mo_slice(t, sums, MO_AXIS(1), 0, d), residual(m) ? mo_slice(t, sums, MO_AXIS(1), d, 2 * d) : NULL);
}

static mo_tensor *encode_blocks(
    mo_tape *t, const mo_gamlp *m, mo_named hops, int64_t N, const mo_episode *given, mo_random *r) {
    mo_tensor *segment = given->segment;
    episode e = {.block = {.m = m, .rows.all = N, .indexed = hops.index != NULL, .drops = drops(t, m, r)},
        .hops = hops,
        .segment = segment};
    if (e.block.drops) {
        e.block.r = *r;
        r->index += (uint64_t)((m->options.hops + m->options.layers) * N * m->options.dim);
    }
    mo_tensor *Z = mo_encode_blocks(t, N, given->max_rows, segment ? MO_ADD_BLOCKS : 0, gamlp_encode_block, &e);
    return segment ? finish_graphs(t, m, Z, segment) : Z;
}

mo_tensor *mo_gamlp_encode(mo_tape *t, const mo_gamlp *m, const mo_episode *e, mo_random *r) {
    mo_named rows = mo_episode_named(t, e, "hops");
    if (!mo_ok(mo_tape_context(t)) || !check_hops(t, m, rows.tensor))
        return mo_null_tensor(mo_tape_context(t));
    int64_t N = mo_dim(rows.index ? rows.index : rows.tensor, 1);
    if (mo_needs_blocks(mo_tape_context(t), N, e->max_rows))
        return encode_blocks(t, m, rows, N, e, r);
    mo_tensor *h, *z, *hops = mo_gather_indexed(t, rows.tensor, rows.index);
    if (!e->segment)
        return gamlp_embed(t, m, hops, (row_range){0, N}, r);
    z = mo_segment_mean(t, hidden(t, m, hops, (row_range){0, N}, r, &h), e->segment);
    return last_layer(t, m, z, residual(m) ? mo_segment_mean(t, h, e->segment) : h);
}
