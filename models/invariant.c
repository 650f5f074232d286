/* models/invariant.c - an encoder that reads only what every valid SVD of a graph agrees on.
 *
 * An SVD is unique up to signs and rotations inside equal singular values, so matrices learned over its coordinates do
 * not carry over to another graph. Four things do: linear combinations of hops, functions of the singular values, norms
 * and inner products. Each node, link or graph comes as two blocks of rows (structure A, attributes X) at hops 0 .. L
 * over a common spectrum, for n of them H [2, L + 1, n, d] with l_b = log(s_b / s_b1), and extras e [n, p] that contain
 * no basis. For block b and task t, with x^ = x / |x|:
 *     h_b = (sum_k softmax_k(hop_b)_k H_bk) * exp(min(c_b l_b + c'_b l_b^2 / 4, 30))
 *     z = [exp(w_tA) h^_A | exp(w_tX) h^_X | exp(w_tE) e / sqrt(p)]^
 * Nodes have two diffused rows (train/features/nodes/diffuse.c) behind the hops, in the same softmax. If the parameters
 * are fixed, an episode of nodes can bring the sums h_b before the profile, for z and z_0 below, in place of hops and
 * diffused rows. Links have two more groups of extras, walks and matches (train/features/pairs/). Graphs have three
 * more parts, each a unit row with a weight of its own: statistics, subtrees, waves (train/features/sets/). A part
 * whose rows an episode lacks counts as zero.
 *
 * For nodes and graphs, the row z_0 of the encoder with its first parameters stands beside z:
 *     [z | z_0] / sqrt 2,
 * so that the kernel is the mean of the trained and the untrained kernel. On a graph unlike the training pool's, the
 * result then rarely falls below the untrained encoder's.
 *
 * A rotation Q inside equal singular values turns H into HQ and commutes with the profile, so z becomes zQ and all
 * inner products stay equal. The readout, a mixture of kernels (heads/mixture.c), reads inner products alone.
 *
 * Why the bound of 30: beyond the rank of a block its columns are zero and l = log(1e-6). There, from c' = 1.9 on, the
 * exponent passes 88, the logarithm of the largest float32, and inf * 0 is NaN; training can reach such a c', as it has
 * no effect on embeddings. The bound loses nothing: rows are normalised next, and beside a factor e^30 a factor 1
 * already vanishes in float32. Subtracting the largest exponent would not do, because a row may be zero in just the
 * columns that have this exponent. */
#include "models/model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCKS = 2, PARTS = BLOCKS + 1, DIFFUSED_ROWS = 2, SET_BLOCKS = 3 };

enum {
    HOP,        /* [BLOCKS, L + 1] */
    PROFILE,    /* [BLOCKS, 2] */
    WEIGHT,     /* [MO_TASKS, PARTS] */
    DIFFUSED,   /* [BLOCKS, DIFFUSED_ROWS]: for nodes; one softmax runs over HOP and these */
    SET_WEIGHT, /* [SET_BLOCKS]: for graphs, besides WEIGHT */
    N_PARAMETERS
};

/* The state of the encoder's table. */
typedef struct invariant {
    mo_invariant_options options;
    mo_encoder_parameter parameter[N_PARAMETERS];
    double hop[BLOCKS * MO_MAX_INPUTS], weight[MO_TASKS][PARTS]; /* first values */
} invariant;

/* ---- the encoder ---- */

/* How many rows an embedding is made of: the trained one and the initial one, which for links brought no gain. */
static int sides_of(mo_task task) {
    return task == MO_TASK_LP ? 1 : 2;
}

/* The tensors read from an episode. Extras and spectrum are required, and the blocks or, of nodes, "mixed" [BLOCKS,
 * sides, n, d]: their sums over the hops and diffused rows. */
enum {
    ROW_BLOCKS,
    ROW_EXTRAS,
    ROW_SPECTRUM,
    ROW_DIFFUSED,
    ROW_SET,
    ROW_WALKS = ROW_SET + SET_BLOCKS,
    ROW_MATCHES,
    ROW_MIXED,
    ROWS
};

static const struct {
    const char *name;
    bool optional;
} rows_read[ROWS] = {
    {"blocks", false},
    {"extras", false},
    {"spectrum", false},
    {"diffused", true},
    {"statistics", true},
    {"subtrees", true},
    {"waves", true},
    {"walks", true},
    {"matches", true},
    {"mixed", false},
};

/* The rows of an episode, or of a block of it. */
typedef struct episode {
    const invariant *m;
    mo_task task;
    mo_tensor *rows[ROWS];     /* NULL: not in the episode */
    mo_tensor *const *side[2]; /* the parameters, and their first values */
} episode;

/* P lists first all parameters, then all first values. */
static episode episode_of(const invariant *m, mo_task task, mo_tensor *const *P) {
    return (episode){.m = m, .task = task, .side = {P, P + N_PARAMETERS}};
}

/* ---- sides: the trained parameters and, for nodes and graphs, the initial ones ---- */

#define MOST_EXPONENT 30 /* the squares of e^30 x and their sum over a row stay far below the largest float32 */

/* Returns exp(min(c l + c' l^2 / 4, 30)) for the spectra l [BLOCKS, d], as [BLOCKS, 1, 1, d]. */
static mo_tensor *profile(mo_tape *t, const episode *e, mo_tensor *c) {
    mo_tensor *l = e->rows[ROW_SPECTRUM], *linear = mo_mul(t, mo_slice(t, c, MO_AXIS(1), 0, 1), l);
    mo_tensor *square = mo_mul(t, mo_slice(t, c, MO_AXIS(1), 1, 2), mo_scale(t, mo_square(t, l), 0.25, 0));
    mo_tensor *exponent = mo_clamp(t, mo_add(t, linear, square), -INFINITY, MOST_EXPONENT);
    return mo_reshape(t, mo_exp(t, exponent), 4, (int64_t[]){BLOCKS, 1, 1, mo_dim(l, 1)});
}

/* Returns softmax weights of the K rows that are mixed, the hops and then the diffused rows, for every side: [BLOCKS,
 * sides, K]. */
static mo_tensor *hop_weights(mo_tape *t, const episode *e, bool diffused) {
    mo_tensor *weights[2];
    int sides = sides_of(e->task);
    for (int s = 0; s < sides; s++) {
        mo_tensor *logits = e->side[s][HOP];
        if (diffused)
            logits = mo_concat(t, (mo_tensor *[]){logits, e->side[s][DIFFUSED]}, 2, MO_AXIS(1));
        weights[s] = mo_with_axis(t, mo_softmax(t, logits, MO_AXIS(-1)), MO_AXIS(1), 1);
    }
    return mo_concat(t, weights, sides, MO_AXIS(1));
}

/* Returns sum_k w[b, s, first + k] H[b, k] for every block b and side s: [BLOCKS, sides, n d]. */
static mo_tensor *mixed_rows(mo_tape *t, mo_tensor *w, int64_t first, mo_tensor *H) {
    int64_t k = mo_dim(H, 1);
    mo_tensor *flat = mo_reshape(t, H, 3, (int64_t[]){BLOCKS, k, mo_dim(H, 2) * mo_dim(H, 3)});
    return mo_matmul(t, mo_slice(t, w, MO_AXIS(2), first, first + k), flat);
}

/* Returns the sums over hops and diffused rows, [BLOCKS, sides, n, d]. One product serves all sides: it reads hops
 * once. */
static mo_tensor *mixed_blocks(mo_tape *t, const episode *e) {
    mo_tensor *H = e->rows[ROW_BLOCKS], *D = e->rows[ROW_DIFFUSED];
    if (!H)
        return e->rows[ROW_MIXED];
    mo_tensor *w = hop_weights(t, e, D != NULL), *mixed = mixed_rows(t, w, 0, H);
    if (D)
        mixed = mo_add(t, mixed, mixed_rows(t, w, mo_dim(H, 1), D));
    return mo_reshape(t, mixed, 4, (int64_t[]){BLOCKS, sides_of(e->task), mo_dim(H, 2), mo_dim(H, 3)});
}

/* Returns unit rows h^ of both blocks, [BLOCKS, sides, n, d]. */
static mo_tensor *unit_blocks(mo_tape *t, const episode *e) {
    mo_tensor *profiles[2];
    int sides = sides_of(e->task);
    for (int s = 0; s < sides; s++)
        profiles[s] = profile(t, e, e->side[s][PROFILE]);
    mo_tensor *mixed = mixed_blocks(t, e);
    return mo_l2_normalize(t, mo_mul(t, mixed, mo_concat(t, profiles, sides, MO_AXIS(1))), 1e-6);
}

/* Returns e / sqrt(p), where e has the extras and, for links, the columns of walks and matches. */
static mo_tensor *extras(mo_tape *t, const episode *e) {
    mo_tensor *column[] = {e->rows[ROW_EXTRAS], e->rows[ROW_WALKS], e->rows[ROW_MATCHES]};
    int n = 0;
    for (int i = 0; i < 3; i++)
        if (column[i])
            column[n++] = column[i];
    mo_tensor *all = n > 1 ? mo_concat(t, column, n, MO_AXIS(1)) : column[0];
    return mo_scale(t, all, 1 / sqrt((double)mo_dim(all, 1)), 0);
}

/* Returns exp(log_weight[i]). */
static mo_tensor *factor(mo_tape *t, mo_tensor *log_weight, int i) {
    return mo_exp(t, mo_slice(t, log_weight, MO_AXIS(0), i, i + 1));
}

/* Returns unit rows [n, width] of one side; h: the result of unit_blocks. */
static mo_tensor *embed_side(mo_tape *t, const episode *e, mo_tensor *h, int side) {
    mo_tensor *const *P = e->side[side];
    int64_t shape[] = {mo_dim(h, 2), mo_dim(h, 3)};
    mo_tensor *part[PARTS + SET_BLOCKS], *own = mo_slice(t, h, MO_AXIS(1), side, side + 1);
    mo_tensor *weight = mo_reshape(t, mo_slice(t, P[WEIGHT], MO_AXIS(0), e->task, e->task + 1), 1, (int64_t[]){PARTS});
    int parts = 0;
    for (int b = 0; b < BLOCKS; b++) {
        mo_tensor *block = mo_reshape(t, mo_slice(t, own, MO_AXIS(0), b, b + 1), 2, shape);
        part[parts++] = mo_mul(t, block, factor(t, weight, b));
    }
    part[parts++] = mo_mul(t, extras(t, e), factor(t, weight, BLOCKS));
    for (int b = 0; b < SET_BLOCKS; b++)
        if (e->rows[ROW_SET + b])
            part[parts++] = mo_mul(t, e->rows[ROW_SET + b], factor(t, P[SET_WEIGHT], b));
    return mo_l2_normalize(t, mo_concat(t, part, parts, MO_AXIS(1)), 1e-12);
}

/* ---- a whole episode ---- */

/* Finds the required rows, and the optional ones that the episode has; returns false if a required one is missing. */
static bool find_rows(mo_tape *t, const mo_episode *given, episode *e) {
    mo_context *ctx = mo_tape_context(t);
    bool mixed = given->task == MO_TASK_NC && mo_episode_find(given, "mixed");
    for (int i = 0; i < ROWS && mo_ok(ctx); i++) {
        bool wanted = !rows_read[i].optional || mo_episode_find(given, rows_read[i].name);
        if (wanted && i != (mixed ? ROW_BLOCKS : ROW_MIXED))
            e->rows[i] = mo_episode_rows(t, given, rows_read[i].name);
    }
    return mo_ok(ctx);
}

/* The rows from which the number of rows and the width are taken. */
static const mo_tensor *main_rows(const episode *e) {
    return e->rows[e->rows[ROW_BLOCKS] ? ROW_BLOCKS : ROW_MIXED];
}

static bool check_blocks(mo_context *ctx, const episode *e) {
    const mo_tensor *H = main_rows(e), *l = e->rows[ROW_SPECTRUM], *x = e->rows[ROW_EXTRAS];
    char blocks[160], spectrum[160], more[160];
    bool mixed = !e->rows[ROW_BLOCKS];
    int hops = mixed ? sides_of(e->task) : e->m->options.hops + 1;
    if (mo_ndim(H) != 4 || mo_dim(H, 0) != BLOCKS || mo_dim(H, 1) != hops || mo_ndim(l) != 2 ||
        mo_dim(l, 0) != BLOCKS || mo_dim(l, 1) != mo_dim(H, 3) || mo_ndim(x) != 2 || mo_dim(x, 0) != mo_dim(H, 2))
        mo_fail(ctx, MO_INVALID, "invariant: expected %s [2, %d, n, d], spectrum [2, d], extras [n, p]; got %s, %s, %s",
            mixed ? "mixed" : "blocks", hops, mo_shape_string(H, blocks, sizeof blocks),
            mo_shape_string(l, spectrum, sizeof spectrum), mo_shape_string(x, more, sizeof more));
    return mo_ok(ctx);
}

static bool check_parts(mo_context *ctx, const episode *e) {
    const mo_tensor *H = main_rows(e), *D = e->rows[ROW_DIFFUSED];
    char blocks[160], got[160];
    bool fits = !D || (mo_ndim(D) == 4 && mo_dim(D, 0) == BLOCKS && mo_dim(D, 1) == DIFFUSED_ROWS &&
                          mo_dim(D, 2) == mo_dim(H, 2) && mo_dim(D, 3) == mo_dim(H, 3));
    if (!fits)
        mo_fail(ctx, MO_INVALID, "invariant: expected diffused [2, %d, n, d] beside blocks %s; got %s", DIFFUSED_ROWS,
            mo_shape_string(H, blocks, sizeof blocks), mo_shape_string(D, got, sizeof got));
    for (int i = ROW_SET; i < ROW_MIXED && mo_ok(ctx); i++)
        if (e->rows[i] && (mo_ndim(e->rows[i]) != 2 || mo_dim(e->rows[i], 0) != mo_dim(H, 2)))
            mo_fail(ctx, MO_INVALID, "invariant: expected %s [n, p] beside blocks %s; got %s", rows_read[i].name,
                mo_shape_string(H, blocks, sizeof blocks), mo_shape_string(e->rows[i], got, sizeof got));
    return mo_ok(ctx);
}

/* Embeddings of rows [n, width], or [n, 2 width] with the initial row beside the trained one. */
static mo_tensor *invariant_encode(mo_tape *t, const mo_encoding *x) {
    mo_context *ctx = mo_tape_context(t);
    episode e = episode_of(x->encoder->state, x->episode->task, x->parameters);
    if (x->n > x->max_rows)
        return mo_in_blocks(t, x);
    if (!find_rows(t, x->episode, &e) || !check_blocks(ctx, &e) || !check_parts(ctx, &e))
        return mo_null_tensor(ctx);
    mo_tensor *h = unit_blocks(t, &e), *z[2];
    int sides = sides_of(e.task);
    for (int s = 0; s < sides; s++)
        z[s] = embed_side(t, &e, h, s);
    return sides == 1 ? z[0] : mo_scale(t, mo_concat(t, z, 2, MO_AXIS(1)), sqrt(0.5), 0);
}

mo_tensor *mo_invariant_hop_weights(mo_tape *t, const mo_model *m) {
    if (!mo_ok(m->ctx) || m->encoder.encode != invariant_encode)
        return NULL;
    episode e = episode_of(m->encoder.state, MO_TASK_NC, m->first);
    return hop_weights(t, &e, true);
}

/* ---- parameters ---- */

/* Hops from 2 on start above hops 0 and 1, attributes start above structure, and extras have a first weight per
 * task. */
static void fill_first_values(invariant *m) {
    static const double block_weight[2] = {-0.5, 0.5}, extras_weight[MO_TASKS] = {-2, 0.5, -0.5};
    int hops = m->options.hops + 1;
    for (int i = 0; i < BLOCKS * hops; i++)
        m->hop[i] = i % hops >= 2;
    for (int t = 0; t < MO_TASKS; t++)
        for (int part = 0; part < PARTS; part++)
            m->weight[t][part] = part < BLOCKS ? block_weight[part] : extras_weight[t];
}

static void list_parameters(invariant *m) {
    const mo_encoder_parameter all[N_PARAMETERS] = {
        [HOP] = {.name = "hop", .values = m->hop, .ndim = 2, .shape = {BLOCKS, MO_ENCODER_BLOCKS}},
        [PROFILE] = {.name = "profile", .ndim = 2, .shape = {BLOCKS, 2}},
        [WEIGHT] = {.name = "log_weight", .values = &m->weight[0][0], .ndim = 2, .shape = {MO_TASKS, PARTS}},
        [DIFFUSED] = {.name = "diffused", .ndim = 2, .shape = {BLOCKS, DIFFUSED_ROWS}},
        [SET_WEIGHT] = {.name = "set_log_weight", .ndim = 1, .shape = {SET_BLOCKS}},
    };
    memcpy(m->parameter, all, sizeof all);
}

/* ---- the table ---- */

const mo_field mo_invariant_fields[] = {
    {MO_FIELD_INT, "hops", NULL, offsetof(mo_invariant_options, hops), NULL, 0, MO_MAX_INPUTS - 1},
    {MO_FIELD_REAL, "smoothing", NULL, offsetof(mo_invariant_options, smoothing), NULL, 0, 0.999},
    {MO_FIELDS_END},
};

mo_invariant_options mo_invariant_defaults(void) {
    return (mo_invariant_options){.hops = 3, .smoothing = 0.1};
}

mo_model *mo_invariant_create(mo_context *ctx, mo_dtype real, const mo_invariant_options *options) {
    mo_invariant_options o = options ? *options : mo_invariant_defaults();
    if (!mo_ok(ctx) || !mo_fields_check(ctx, "invariant", mo_invariant_fields, &o))
        return NULL;
    invariant *m = calloc(1, sizeof *m);
    if (!m) {
        mo_fail(ctx, MO_MEMORY, "invariant: out of memory");
        return NULL;
    }
    m->options = o;
    fill_first_values(m);
    list_parameters(m);
    const mo_encoder encoder = {.name = "invariant",
        .of_examples = true,
        .n_parameters = N_PARAMETERS,
        .parameters = m->parameter,
        .encode = invariant_encode,
        .reads_first = true,
        .fields = mo_invariant_fields,
        .options = &m->options,
        .state = m,
        .release = free};
    mo_model *model = mo_model_make(ctx, real, &encoder, (mo_encoder_rows){.hops = o.hops}, 0);
    if (model)
        mo_model_put_kernels(model, &mo_head_mixture, o.smoothing);
    return mo_model_made(model);
}
