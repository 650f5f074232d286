/* models/gamlp.c - MOCHI's encoder: GAMLP with node-adaptive hop attention (Zhang et al. 2022; paper, section
 * Architecture).
 *
 * For a node with hop rows x_0 .. x_l:
 *     h_k = relu(W_k x_k + b_k)                          (relu_hops; else linear)
 *     s_k = v . relu(W_a [h_0 ; h_k] + b_a) + c,  a = softmax(s),  h = sum_k a_k h_k
 *     z = h + W_3 relu(W_2 relu(W_1 h + b_1) + b_2) + b_3   (3 layers), or W_2 relu(W_1 h + b_1) + b_2   (2 layers)
 * The mean over a graph's nodes commutes with the last layer, which is linear, and is taken before it. */
#include "models/model.h"
#include "tensor/library.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_HOPS = 12 };
enum { HOPS, SEGMENT }; /* the tensors of an episode that are read */

typedef struct linear_layer {
    mo_tensor *weight, *bias; /* [out, in], [out] */
} linear_layer;

/* Options and parameters; the encoder's table lists the layers in this order, each weight before its bias. */
typedef struct gamlp {
    mo_gamlp_options options;
    linear_layer input[MAX_HOPS + 1]; /* input_proj.{k} */
    linear_layer attention[2];        /* att_mlp.{0,2} */
    linear_layer output[3];           /* out_mlp.{0,3,6} */
} gamlp;

/* The state of the encoder's table. */
typedef struct gamlp_table {
    mo_gamlp_options options;
    int n;
    mo_encoder_parameter parameter[MO_MAX_ENCODER_PARAMETERS];
    char name[MO_MAX_ENCODER_PARAMETERS][32];
} gamlp_table;

static gamlp gamlp_of(const mo_encoder *encoder, mo_tensor *const *P) {
    gamlp m = {.options = ((const gamlp_table *)encoder->state)->options};
    int n = 0;
    for (int k = 0; k <= m.options.hops; k++, n += 2)
        m.input[k] = (linear_layer){P[n], P[n + 1]};
    for (int i = 0; i < 2; i++, n += 2)
        m.attention[i] = (linear_layer){P[n], P[n + 1]};
    for (int i = 0; i < m.options.layers; i++, n += 2)
        m.output[i] = (linear_layer){P[n], P[n + 1]};
    return m;
}

static bool drops(mo_tape *t, const gamlp *m, const mo_random *r) {
    return r && m->options.dropout > 0 && mo_tape_mode(t) == MO_RECORD;
}

/* Dropout numbers the entries over all rows of the episode, so that its draws do not depend on the division into
 * blocks. b->r: NULL without dropout. */
static mo_tensor *drop(mo_tape *t, const gamlp *m, mo_tensor *X, const mo_block *b) {
    if (!b->r)
        return X;
    mo_random at = *b->r;
    at.index += (uint64_t)(b->first * m->options.dim);
    b->r->index += (uint64_t)(b->all * m->options.dim);
    return mo_dropout(t, X, m->options.dropout, &at);
}

static bool check_hops(mo_tape *t, const gamlp *m, const mo_tensor *hops) {
    mo_context *ctx = mo_tape_context(t);
    char got[160];
    if ((mo_is_null(hops) || mo_ndim(hops) != 3 || mo_dim(hops, 0) != m->options.hops + 1 ||
            mo_dim(hops, 2) != m->options.dim))
        mo_fail(ctx, MO_INVALID, "gamlp: hop rows %s, expected [%d, N, %d]",
            mo_is_null(hops) ? "null" : mo_shape_string(hops, got, sizeof got), m->options.hops + 1, m->options.dim);
    return mo_ok(ctx);
}

/* Returns the hops H [K, n, d] after dropout, hop by hop. */
static mo_tensor *drop_hops(mo_tape *t, const gamlp *m, mo_tensor *H, const mo_block *b) {
    int K = m->options.hops + 1;
    mo_tensor *hop[MAX_HOPS + 1];
    if (!b->r)
        return H;
    for (int k = 0; k < K; k++)
        hop[k] = drop(t, m, mo_slice(t, H, MO_AXIS(0), k, k + 1), b);
    return mo_concat(t, hop, K, MO_AXIS(0));
}

static mo_tensor *mix(mo_tape *t, const gamlp *m, mo_tensor *hops, const mo_block *rows, mo_tensor **attention) {
    int K = m->options.hops + 1;
    mo_tensor *W[MAX_HOPS + 1], *b[MAX_HOPS + 1];
    const linear_layer *layer = m->attention;
    for (int k = 0; k < K; k++) {
        W[k] = m->input[k].weight;
        b[k] = m->input[k].bias;
    }
    mo_tensor *H = drop_hops(t, m, mo_hop_layers(t, hops, W, b, K, m->options.relu_hops), rows);
    return mo_hop_attention(
        t, H, (mo_tensor *[]){layer[0].weight, layer[0].bias, layer[1].weight, layer[1].bias}, attention);
}

mo_tensor *mo_gamlp_mix(mo_tape *t, const mo_model *model, mo_tensor *hops, mo_random *r, mo_tensor **attention) {
    mo_tensor *own, **a = attention ? attention : &own;
    *a = mo_null_tensor(mo_tape_context(t));
    if (!mo_given(mo_tape_context(t), "gamlp", "a model of mo_mochi_create", mo_mochi_encoder(model)))
        return *a;
    gamlp m = gamlp_of(&model->encoder, model->first);
    if (!check_hops(t, &m, hops))
        return *a;
    return mix(t, &m, hops, &(mo_block){.all = mo_dim(hops, 1), .r = drops(t, &m, r) ? r : NULL}, a);
}

/* Runs all layers but the last. Returns the input of the last layer; *h: the mixed hops that a residual adds. */
static mo_tensor *hidden(mo_tape *t, const gamlp *m, const mo_block *b, mo_tensor **h) {
    mo_tensor *attention, *z = *h = mix(t, m, b->rows[HOPS], b, &attention);
    for (int i = 0; i < m->options.layers - 1; i++)
        z = drop(t, m, mo_linear_relu(t, z, m->output[i].weight, m->output[i].bias), b);
    return z;
}

static bool residual(const gamlp *m) {
    return m->options.layers == 3;
}

static mo_tensor *last_layer(mo_tape *t, const gamlp *m, mo_tensor *z, mo_tensor *h) {
    z = mo_linear(t, z, m->output[m->options.layers - 1].weight, m->output[m->options.layers - 1].bias);
    return residual(m) ? mo_add(t, z, h) : z;
}

/* ---- an episode, or a block of its rows ---- */

static mo_tensor *encode_nodes(mo_tape *t, const mo_block *b) {
    gamlp m = gamlp_of(b->encoder, b->parameters);
    mo_tensor *h, *z = hidden(t, &m, b, &h);
    return last_layer(t, &m, z, h);
}

/* All graphs at once: the means of their nodes. */
static mo_tensor *encode_graphs(mo_tape *t, const mo_block *b) {
    gamlp m = gamlp_of(b->encoder, b->parameters);
    mo_tensor *segment = b->rows[SEGMENT], *h, *z = mo_segment_mean(t, hidden(t, &m, b, &h), segment);
    return last_layer(t, &m, z, residual(&m) ? mo_segment_mean(t, h, segment) : h);
}

/* Clips offset [G + 1], which counts all rows, to the rows of this block. In the last block, offsets are not clipped
 * above, so that the segment sum reports offsets past the end. */
static mo_tensor *offsets_within(mo_tape *t, mo_tensor *offset, const mo_block *b) {
    mo_tensor *place = mo_scale(t, mo_cast(t, offset, MO_F64), 1, -(double)b->first);
    return mo_cast(t, mo_clamp(t, place, 0, b->last < b->all ? (double)(b->last - b->first) : INFINITY), MO_I64);
}

/* Sums [z | h] (only z without a residual) over the block's rows of each graph. */
static mo_tensor *sum_graphs(mo_tape *t, const mo_block *b) {
    gamlp m = gamlp_of(b->encoder, b->parameters);
    mo_tensor *h, *z = hidden(t, &m, b, &h), *offset = offsets_within(t, b->rows[SEGMENT], b);
    z = mo_segment_sum(t, z, offset);
    return residual(&m) ? mo_concat(t, (mo_tensor *[]){z, mo_segment_sum(t, h, offset)}, 2, MO_AXIS(1)) : z;
}

/* Divides the sums [G, d] or [G, 2 d] by the graphs' sizes and applies the last layer. */
static mo_tensor *finish_graphs(mo_tape *t, const gamlp *m, mo_tensor *sums, mo_tensor *segment) {
    int64_t G = mo_dim(segment, 0) - 1, d = m->options.dim;
    mo_tensor *offset = mo_cast(t, segment, MO_F64);
    mo_tensor *count = mo_sub(t, mo_slice(t, offset, MO_AXIS(0), 1, G + 1), mo_slice(t, offset, MO_AXIS(0), 0, G));
    count = mo_reshape(t, mo_cast(t, count, mo_tensor_dtype(m->input[0].weight)), 2, (int64_t[]){G, 1});
    sums = mo_div_or_zero(t, sums, count);
    return last_layer(
        t, m, mo_slice(t, sums, MO_AXIS(1), 0, d), residual(m) ? mo_slice(t, sums, MO_AXIS(1), d, 2 * d) : NULL);
}

static mo_tensor *gamlp_encode(
    mo_tape *t, const mo_encoder *encoder, mo_tensor *const *parameters, const mo_episode *e, mo_random *r) {
    mo_context *ctx = mo_tape_context(t);
    gamlp m = gamlp_of(encoder, parameters);
    mo_named rows = mo_episode_named(t, e, "hops");
    if (!mo_ok(ctx) || !check_hops(t, &m, rows.tensor))
        return mo_null_tensor(ctx);
    int64_t N = mo_dim(rows.index ? rows.index : rows.tensor, 1);
    bool in_blocks = mo_needs_blocks(ctx, N, e->max_rows), dropped = drops(t, &m, r);
    const mo_blocks b = {.all = {.encoder = encoder, .last = N, .all = N, .r = dropped ? r : NULL},
        .rows = {[HOPS] = {rows.tensor, rows.index, 1}, [SEGMENT] = {e->segment, NULL, -1}},
        .n_parameters = encoder->n_parameters,
        .parameters = parameters,
        .max_rows = e->max_rows,
        .join = in_blocks && e->segment ? MO_ADD_BLOCKS : 0,
        .encode = !e->segment ? encode_nodes
                  : in_blocks ? sum_graphs
                              : encode_graphs};
    mo_tensor *z = mo_encode_blocks(t, &b);
    if (dropped)
        r->index += (uint64_t)((m.options.hops + m.options.layers) * N * m.options.dim);
    return in_blocks && e->segment ? finish_graphs(t, &m, z, e->segment) : z;
}

/* ---- the table, and MOCHI ---- */

static bool gamlp_check_options(mo_context *ctx, const mo_gamlp_options *o) {
    if (o->dim < 1 || o->dim > 1 << 16)
        mo_fail(ctx, MO_INVALID, "gamlp: dim is %d, expected 1 to 65536", o->dim);
    else if (o->hops < 0 || o->hops > MAX_HOPS)
        mo_fail(ctx, MO_INVALID, "gamlp: hops is %d, expected 0 to %d", o->hops, MAX_HOPS);
    else if (o->layers != 2 && o->layers != 3)
        mo_fail(ctx, MO_INVALID, "gamlp: layers is %d, expected 2 or 3", o->layers);
    else if (!(o->dropout >= 0 && o->dropout < 1))
        mo_fail(ctx, MO_INVALID, "gamlp: dropout is %g, expected 0 or more and below 1", o->dropout);
    return mo_ok(ctx);
}

/* Adds the weight [out, in] and the bias of layer part[number]. */
static void add_layer(gamlp_table *g, const char *part, int number, int64_t out, int64_t in) {
    for (int bias = 0; bias < 2; bias++, g->n++) {
        snprintf(g->name[g->n], sizeof *g->name, "%s.%d.%s", part, number, bias ? "bias" : "weight");
        g->parameter[g->n] = (mo_encoder_parameter){
            .name = g->name[g->n], .spread = 1, .ndim = bias ? 1 : 2, .shape = {out, in}, .fan_in = in};
    }
}

static int gamlp_settings(const mo_encoder *encoder, mo_setting list[MO_MAX_ENCODER_SETTINGS]) {
    const mo_gamlp_options *o = &((const gamlp_table *)encoder->state)->options;
    const mo_setting all[] = {
        {.key = "dim", .number = o->dim},
        {.key = "hops", .number = o->hops},
        {.key = "layers", .number = o->layers},
        {.key = "relu_hops", .number = o->relu_hops},
        {.key = "dropout", .number = o->dropout},
    };
    memcpy(list, all, sizeof all);
    return sizeof all / sizeof *all;
}

mo_mochi_options mo_mochi_defaults(void) {
    return (mo_mochi_options){
        .encoder = {.dim = 512, .hops = 3, .layers = 3, .relu_hops = true},
        .temperature = MO_TEMPERATURE_LOGIT,
        .smoothing = 0.1,
        .head = &mo_head_ridge,
        .lambda = 10,
    };
}

static bool mochi_check_options(mo_context *ctx, const mo_mochi_options *o) {
    if (!mo_head_validate(ctx, o->head))
        return false;
    if (!(o->lambda >= 0))
        mo_fail(ctx, MO_INVALID, "head %s: lambda is %g, expected above 0, or 0 for the head's own", o->head->name,
            o->lambda);
    else if (!(o->smoothing >= 0 && o->smoothing < 1))
        mo_fail(ctx, MO_INVALID, "mochi: smoothing is %g, expected 0 or more and below 1", o->smoothing);
    return mo_ok(ctx);
}

mo_model *mo_mochi_create(mo_context *ctx, mo_dtype real, const mo_mochi_options *options, uint64_t seed) {
    mo_mochi_options o = options ? *options : mo_mochi_defaults();
    int d = o.encoder.dim;
    if (!o.head)
        o.head = &mo_head_ridge;
    if (!mo_ok(ctx) || !mochi_check_options(ctx, &o) || !gamlp_check_options(ctx, &o.encoder))
        return NULL;
    gamlp_table *g = calloc(1, sizeof *g);
    if (!g) {
        mo_fail(ctx, MO_MEMORY, "mochi: out of memory");
        return NULL;
    }
    g->options = o.encoder;
    for (int k = 0; k <= o.encoder.hops; k++)
        add_layer(g, "input_proj", k, d, d);
    add_layer(g, "att_mlp", 0, d, 2 * d);
    add_layer(g, "att_mlp", 2, 1, d);
    for (int i = 0; i < o.encoder.layers; i++)
        add_layer(g, "out_mlp", 3 * i, d, d);
    const mo_encoder encoder = {.name = "mochi",
        .n_parameters = g->n,
        .parameters = g->parameter,
        .whole = gamlp_encode,
        .settings = gamlp_settings,
        .state = g,
        .release = free};
    mo_model *m = mo_model_make(ctx, real, &encoder, (mo_encoder_rows){o.encoder.hops, d}, seed);
    mo_readout_options readout = {o.head, o.lambda, o.temperature, o.smoothing, {d, d, d}};
    if (m)
        mo_model_put_head(m, &readout, true, seed);
    return mo_model_made(m);
}

const mo_gamlp_options *mo_mochi_encoder(const mo_model *m) {
    return m && m->encoder.whole == gamlp_encode ? &((const gamlp_table *)m->encoder.state)->options : NULL;
}
