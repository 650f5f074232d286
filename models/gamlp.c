/* models/gamlp.c - MOCHI's encoder: GAMLP with node-adaptive hop attention (Zhang et al. 2022; paper, section
 * Architecture).
 *
 * For a node with hop rows x_0 .. x_l:
 *     h_k = relu(W_k x_k + b_k)                          (relu_hops; else linear)
 *     s_k = v . relu(W_a [h_0 ; h_k] + b_a) + c,  a = softmax(s),  h = sum_k a_k h_k
 *     z = h + W_3 relu(W_2 relu(W_1 h + b_1) + b_2) + b_3   (3 layers), or W_2 relu(W_1 h + b_1) + b_2   (2 layers) */
#include "models/model.h"
#include "tensor/library.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_HOPS = 12 };

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
 * blocks. */
static mo_tensor *drop(mo_tape *t, const gamlp *m, mo_tensor *X, const mo_encoding *x) {
    if (!drops(t, m, x->r))
        return X;
    mo_random at = *x->r;
    at.index += (uint64_t)(x->first * m->options.dim);
    x->r->index += (uint64_t)(x->all * m->options.dim);
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
static mo_tensor *drop_hops(mo_tape *t, const gamlp *m, mo_tensor *H, const mo_encoding *x) {
    int K = m->options.hops + 1;
    mo_tensor *hop[MAX_HOPS + 1];
    if (!drops(t, m, x->r))
        return H;
    for (int k = 0; k < K; k++)
        hop[k] = drop(t, m, mo_slice(t, H, MO_AXIS(0), k, k + 1), x);
    return mo_concat(t, hop, K, MO_AXIS(0));
}

static mo_tensor *mix(mo_tape *t, const gamlp *m, mo_tensor *hops, const mo_encoding *x, mo_tensor **attention) {
    int K = m->options.hops + 1;
    mo_tensor *W[MAX_HOPS + 1], *b[MAX_HOPS + 1];
    const linear_layer *layer = m->attention;
    for (int k = 0; k < K; k++) {
        W[k] = m->input[k].weight;
        b[k] = m->input[k].bias;
    }
    mo_tensor *H = drop_hops(t, m, mo_hop_layers(t, hops, W, b, K, m->options.relu_hops), x);
    return mo_hop_attention(
        t, H, (mo_tensor *[]){layer[0].weight, layer[0].bias, layer[1].weight, layer[1].bias}, attention);
}

mo_tensor *mo_gamlp_mix(mo_tape *t, const mo_model *model, mo_tensor *hops, mo_random *r, mo_tensor **attention) {
    mo_tensor *own, **a = attention ? attention : &own;
    *a = mo_null_tensor(mo_tape_context(t));
    if (!mo_given(mo_tape_context(t), "gamlp", "a model of mo_mochi_create", mo_mochi_encoder(model)))
        return *a;
    gamlp m = gamlp_of(&model->encoder, model->first);
    return check_hops(t, &m, hops) ? mix(t, &m, hops, &(mo_encoding){.all = mo_dim(hops, 1), .r = r}, a) : *a;
}

static mo_tensor *gamlp_encode(mo_tape *t, const mo_encoding *x) {
    gamlp m = gamlp_of(x->encoder, x->parameters);
    int last = m.options.layers - 1;
    mo_tensor *attention;
    if (x->n > x->max_rows) {
        mo_tensor *Z = mo_in_blocks(t, x);
        if (drops(t, &m, x->r)) /* each block draws from a position of its own */
            x->r->index += (uint64_t)((m.options.hops + m.options.layers) * x->n * m.options.dim);
        return Z;
    }
    mo_tensor *h = mix(t, &m, mo_episode_rows(t, x->episode, "hops"), x, &attention), *z = h;
    for (int i = 0; i < last; i++)
        z = drop(t, &m, mo_linear_relu(t, z, m.output[i].weight, m.output[i].bias), x);
    z = mo_linear(t, z, m.output[last].weight, m.output[last].bias);
    return m.options.layers == 3 ? mo_add(t, z, h) : z;
}

/* ---- the table, and MOCHI ---- */

#define AT(member) offsetof(mo_gamlp_options, member)
const mo_field mo_gamlp_fields[] = {
    {MO_FIELD_INT, "dim", NULL, AT(dim), NULL, 1, 65536},
    {MO_FIELD_INT, "hops", NULL, AT(hops), NULL, 0, MAX_HOPS},
    {MO_FIELD_INT, "layers", "2|3", AT(layers), "layers of the output MLP; 3 has a residual", 2, 3, "2|3"},
    {MO_FIELD_EITHER, "hop_activation", "WHICH", AT(relu_hops), "activation of each hop's layer",
        .choices = "none|relu"},
    {MO_FIELD_REAL, "dropout", "RATE", AT(dropout), "dropout after every ReLU", 0, 0.99},
    {MO_FIELDS_END},
};
#undef AT

/* Adds the weight [out, in] and the bias of layer part[number]. */
static void add_layer(gamlp_table *g, const char *part, int number, int64_t out, int64_t in) {
    for (int bias = 0; bias < 2; bias++, g->n++) {
        snprintf(g->name[g->n], sizeof *g->name, "%s.%d.%s", part, number, bias ? "bias" : "weight");
        g->parameter[g->n] = (mo_encoder_parameter){
            .name = g->name[g->n], .spread = 1, .ndim = bias ? 1 : 2, .shape = {out, in}, .fan_in = in};
    }
}

mo_mochi_options mo_mochi_defaults(void) {
    return (mo_mochi_options){
        .encoder = {.dim = 512, .hops = 3, .layers = 3, .relu_hops = true},
        .readout = {.head = &mo_head_ridge, .lambda = 10, .smoothing = 0.1},
    };
}

mo_model *mo_mochi_create(mo_context *ctx, mo_dtype real, const mo_mochi_options *options, uint64_t seed) {
    mo_mochi_options o = options ? *options : mo_mochi_defaults();
    int d = o.encoder.dim;
    if (!mo_ok(ctx) || !mo_fields_check(ctx, "gamlp", mo_gamlp_fields, &o.encoder))
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
        .encode = gamlp_encode,
        .fields = mo_gamlp_fields,
        .options = &g->options,
        .state = g,
        .release = free};
    mo_model *m = mo_model_make(ctx, real, &encoder, (mo_encoder_rows){o.encoder.hops, d}, seed);
    for (int task = 0; task < MO_TASKS; task++)
        o.readout.width[task] = d;
    if (m)
        mo_model_put_head(m, &o.readout, true, seed);
    return mo_model_made(m);
}

const mo_gamlp_options *mo_mochi_encoder(const mo_model *m) {
    return m && m->encoder.encode == gamlp_encode ? &((const gamlp_table *)m->encoder.state)->options : NULL;
}
