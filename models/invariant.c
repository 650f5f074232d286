/* models/invariant.c - an encoder that reads only what every valid SVD of a graph agrees on.
 *
 * An SVD is unique up to signs and rotations inside equal singular values, so matrices learned over its coordinates do
 * not carry over to another graph. Four things do: linear combinations of hops, functions of the singular values, norms
 * and inner products. An example is two blocks of rows (structure A, attributes X) at hops 0 .. l over a common
 * spectrum, H [2, l + 1, n, d] with l_b = log(s_b / s_b1), and extras e [n, p] that contain no basis. For expert m,
 * block b and task t, with x^ = x / |x|:
 *     h_mb = (sum_k softmax_k(hop_bm)_k H_bk) * profile_b
 *     profile_b = exp(min(c_b l_b + c'_b l_b^2 / 4, 30)) of expert 1, 1 of the others
 *     z_m = [exp(w_tA) h^_mA | exp(w_tX) h^_mX | exp(w_tE) e / sqrt(p)]^
 * A rotation Q inside equal singular values turns H into HQ and commutes with the profile, so z becomes zQ and all
 * inner products stay equal. The readout reads inner products alone (invariant_readout.c).
 *
 * The bound of 30: beyond the rank of a block its columns are zero and l = log(1e-6), where the exponent passes 88, the
 * logarithm of the largest float32, at c' = 1.9; training can reach such a c', since no embedding shows it, and inf * 0
 * is NaN. Rows are normalised next, so a factor of e^30 beside one of 1 leaves nothing of the latter in float32. The
 * largest exponent is not subtracted, because a row may be zero in the columns that have it. */
#include "models/invariant.h"
#include "models/encoded.h"
#include "models/row_blocks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

mo_invariant_options mo_invariant_defaults(void) {
    return (mo_invariant_options){.hops = 3, .smoothing = 0.1};
}

/* ---- parameters ---- */

static void invariant_new_parameter(
    invariant *m, int i, const char *name, int ndim, const int64_t *shape, const double *value) {
    mo_tensor *P = m->parameter[i] = mo_parameter(m->ctx, name, m->real, ndim, shape);
    mo_tensor *first = value ? mo_tensor_from(m->ctx, MO_F64, ndim, shape, value) : NULL;
    if (first && mo_ok(m->ctx))
        mo_tensor_copy(P, first);
    mo_tensor_release(first);
}

/* Later hops count more than earlier ones, attributes more than structure, extras as much as the task uses them; all
 * other parameters start neutral. */
static void make_parameters(invariant *m) {
    static const double block_weight[2] = {-0.5, 0.5}, extras_weight[MO_TASKS] = {-2, 0.5, -0.5};
    int64_t hops = m->options.hops + 1;
    double hop[BLOCKS * EXPERTS * MO_MAX_INPUTS], weight[MO_TASKS][PARTS][EXPERTS], half[MO_TASKS], log_8[MO_TASKS];
    for (int64_t i = 0; i < BLOCKS * EXPERTS * hops; i++)
        hop[i] = i % hops >= 2;
    for (int t = 0; t < MO_TASKS; t++) {
        half[t] = 0.5;
        log_8[t] = log(8);
        for (int part = 0; part < PARTS; part++)
            for (int expert = 0; expert < EXPERTS; expert++)
                weight[t][part][expert] = part < BLOCKS ? block_weight[part] : extras_weight[t];
    }
    invariant_new_parameter(m, HOP, "encoder.hop", 3, (int64_t[]){BLOCKS, EXPERTS, hops}, hop);
    invariant_new_parameter(m, PROFILE, "encoder.profile", 2, (int64_t[]){BLOCKS, 2}, NULL);
    invariant_new_parameter(
        m, WEIGHT, "encoder.log_weight", 3, (int64_t[]){MO_TASKS, PARTS, EXPERTS}, &weight[0][0][0]);
    invariant_new_parameter(m, LOG_LAMBDA, "head.log_lambda", 2, (int64_t[]){MO_TASKS, EXPERTS}, NULL);
    invariant_new_parameter(m, EXPERT, "head.expert", 2, (int64_t[]){MO_TASKS, EXPERTS}, NULL);
    invariant_new_parameter(m, PENALTY, "head.penalty", 2, (int64_t[]){MO_TASKS, PENALTIES}, NULL);
    invariant_new_parameter(m, LOG_SHARPNESS, "head.log_sharpness", 1, (int64_t[]){MO_TASKS}, NULL);
    invariant_new_parameter(m, POWER, "head.power", 1, (int64_t[]){MO_TASKS}, half);
    invariant_new_parameter(m, LOG_LOO_TEMP, "head.log_loo_temp", 1, (int64_t[]){MO_TASKS}, log_8);
    invariant_new_parameter(m, LOG_TEMP, "log_temp", 1, (int64_t[]){MO_TASKS}, log_8);
    if (m->options.linear)
        return;
    invariant_new_parameter(m, KERNEL_LAMBDA, "head.kernel_log_lambda", 2, (int64_t[]){KERNEL_TASKS, EXPERTS}, NULL);
    invariant_new_parameter(m, KERNEL_PRIOR, "head.kernel_expert", 2, (int64_t[]){KERNEL_TASKS, EXPERTS}, NULL);
    invariant_new_parameter(m, LOG_GAMMA, "head.log_gamma", 1, (int64_t[]){KERNEL_TASKS}, NULL);
}

static int invariant_n_parameters(const void *model) {
    return ((const invariant *)model)->options.linear ? N_LINEAR : N_PARAMETERS;
}

static mo_tensor *invariant_parameter(const void *model, int i) {
    return ((const invariant *)model)->parameter[i];
}

static mo_code invariant_load(void *model, const mo_arrays *arrays) {
    invariant *m = model;
    return mo_load_parameters(m->ctx, m->parameter, invariant_n_parameters(m), arrays);
}

static int invariant_settings(const void *model, mo_setting list[MO_MAX_SETTINGS]) {
    const mo_invariant_options *o = &((const invariant *)model)->options;
    list[0] = (mo_setting){.key = "hops", .number = o->hops};
    list[1] = (mo_setting){.key = "smoothing", .number = o->smoothing};
    list[2] = (mo_setting){.key = "kernel", .word = "linear"};
    return o->linear ? 3 : 2;
}

static void invariant_release(void *model) {
    invariant *m = model;
    for (int i = 0; i < invariant_n_parameters(m); i++)
        mo_tensor_release(m->parameter[i]);
    free(m);
}

/* ---- encoder ---- */

#define MOST_EXPONENT 30 /* squares of e^30 x, and their sum over a row, are far from the largest float32 */

/* exp(min(c l + c' l^2 / 4, 30)) of the spectra l [BLOCKS, d]: [BLOCKS, EXPERTS, 1, d], ones for the plain expert. */
static mo_tensor *profile(mo_tape *t, const invariant *m, mo_tensor *l) {
    int64_t shape[4] = {BLOCKS, 1, 1, mo_dim(l, 1)};
    mo_tensor *c = m->parameter[PROFILE], *linear = mo_mul(t, mo_slice(t, c, 1, 0, 1), l);
    mo_tensor *square = mo_mul(t, mo_slice(t, c, 1, 1, 2), mo_scale(t, mo_square(t, l), 0.25, 0));
    mo_tensor *exponent = mo_clamp(t, mo_add(t, linear, square), -INFINITY, MOST_EXPONENT);
    mo_tensor *shaped = mo_reshape(t, mo_exp(t, exponent), 4, shape);
    return mo_concat(t, (mo_tensor *[]){mo_full(t, m->real, 4, shape, 1), shaped}, 2, 1);
}

/* Unit rows of both blocks, [BLOCKS, EXPERTS, n, d]. */
static mo_tensor *unit_blocks(mo_tape *t, const invariant *m, mo_tensor *H, mo_tensor *l) {
    int64_t n = mo_dim(H, 2), d = mo_dim(H, 3);
    mo_tensor *w = mo_softmax(t, m->parameter[HOP], -1);
    mo_tensor *mixed = mo_matmul(t, w, mo_reshape(t, H, 3, (int64_t[]){BLOCKS, mo_dim(H, 1), n * d}));
    mixed = mo_reshape(t, mixed, 4, (int64_t[]){BLOCKS, EXPERTS, n, d});
    return mo_l2_normalize(t, mo_mul(t, mixed, profile(t, m, l)), 1e-6);
}

static bool check_rows(const invariant *m, const mo_tensor *H, const mo_tensor *l, const mo_tensor *extras) {
    char blocks[160], spectrum[160], more[160];
    if (!mo_ok(m->ctx))
        return false;
    if (mo_ndim(H) != 4 || mo_dim(H, 0) != BLOCKS || mo_dim(H, 1) != m->options.hops + 1 || mo_ndim(l) != 2 ||
        mo_dim(l, 0) != BLOCKS || mo_dim(l, 1) != mo_dim(H, 3) || mo_ndim(extras) != 2 ||
        mo_dim(extras, 0) != mo_dim(H, 2))
        mo_fail(m->ctx, MO_INVALID,
            "invariant: expected blocks [2, %d, n, d], spectrum [2, d], extras [n, p]; got %s, %s, %s",
            m->options.hops + 1, mo_shape_string(H, blocks, sizeof blocks),
            mo_shape_string(l, spectrum, sizeof spectrum), mo_shape_string(extras, more, sizeof more));
    return mo_ok(m->ctx);
}

/* Embeddings of rows [EXPERTS, n, 2 d + p] from blocks H, spectrum l and extras. */
static mo_tensor *invariant_encode_rows(
    mo_tape *t, const invariant *m, mo_task task, mo_tensor *H, mo_tensor *l, mo_tensor *extras) {
    int64_t n = mo_dim(H, 2), d = mo_dim(H, 3), p = mo_dim(extras, 1);
    mo_tensor *weight = mo_exp(t, mo_invariant_of_task(t, m, WEIGHT, task, 4, (int64_t[]){PARTS, EXPERTS, 1, 1}));
    mo_tensor *h = mo_mul(t, unit_blocks(t, m, H, l), mo_slice(t, weight, 0, 0, BLOCKS)), *part[PARTS];
    for (int b = 0; b < BLOCKS; b++)
        part[b] = mo_reshape(t, mo_slice(t, h, 0, b, b + 1), 3, (int64_t[]){EXPERTS, n, d});
    mo_tensor *of_extras = mo_reshape(t, mo_slice(t, weight, 0, BLOCKS, PARTS), 3, (int64_t[]){EXPERTS, 1, 1});
    part[BLOCKS] = mo_mul(t, mo_scale(t, extras, 1 / sqrt((double)p), 0), of_extras);
    return mo_l2_normalize(t, mo_concat(t, part, PARTS, 2), 1e-12);
}

/* ---- in blocks of rows ---- */

enum { N_ENCODER = WEIGHT + 1 }; /* the encoder's parameters come first */

/* The parts of an episode that do not change from block to block. */
typedef struct episode {
    const invariant *m;
    mo_task task;
    mo_tensor *H, *l, *extras;
} episode;

/* in: H and extras of the block's rows, the spectrum, the encoder's parameters. */
static mo_tensor *encode_recomputed(mo_tape *t, mo_tensor *const *in, int n, void *state) {
    const episode *e = state;
    (void)n;
    invariant own = *e->m;
    for (int i = 0; i < N_ENCODER; i++)
        own.parameter[i] = in[3 + i];
    return invariant_encode_rows(t, &own, e->task, in[0], in[2], in[1]);
}

static mo_tensor *invariant_encode_block(mo_tape *t, int64_t first, int64_t last, const void *state) {
    const episode *e = state;
    mo_tensor *in[3 + N_ENCODER] = {mo_slice(t, e->H, 2, first, last), mo_slice(t, e->extras, 0, first, last), e->l};
    for (int i = 0; i < N_ENCODER; i++)
        in[3 + i] = e->m->parameter[i];
    return mo_recompute(t, encode_recomputed, in, 3 + N_ENCODER, e, sizeof *e);
}

static mo_tensor *encode(mo_tape *t, const void *model, const mo_episode *given, mo_random *r) {
    (void)r;
    const invariant *m = model;
    episode e = {m, given->task, mo_episode_rows(t, given, "blocks"), mo_episode_rows(t, given, "spectrum"),
        mo_episode_rows(t, given, "extras")};
    if (!check_rows(m, e.H, e.l, e.extras))
        return mo_null_tensor(m->ctx);
    int64_t n = mo_dim(e.H, 2);
    if (mo_needs_blocks(m->ctx, n, given->max_rows))
        return mo_encode_blocks(t, n, given->max_rows, 1, invariant_encode_block, &e);
    return invariant_encode_rows(t, m, e.task, e.H, e.l, e.extras);
}

static const mo_model_table table = {
    .name = "invariant",
    .of_examples = true,
    .n_parameters = invariant_n_parameters,
    .parameter = invariant_parameter,
    .load = invariant_load,
    .settings = invariant_settings,
    .encode = encode,
    .readout = mo_invariant_readout,
    .transduce = mo_invariant_transduce,
    .release = invariant_release,
};

mo_model mo_invariant_create(mo_context *ctx, mo_dtype real, const mo_invariant_options *options) {
    const mo_model none = {NULL, NULL};
    mo_invariant_options o = options ? *options : mo_invariant_defaults();
    if (mo_ok(ctx) && (o.hops < 0 || o.hops >= MO_MAX_INPUTS || !(o.smoothing >= 0 && o.smoothing < 1)))
        mo_fail(ctx, MO_INVALID, "invariant: %d hops and smoothing %g, expected 0 to %d, and 0 or more and below 1",
            o.hops, o.smoothing, MO_MAX_INPUTS - 1);
    invariant *m = mo_ok(ctx) ? calloc(1, sizeof *m) : NULL;
    if (!m) {
        mo_fail(ctx, MO_MEMORY, "invariant: out of memory");
        return none;
    }
    *m = (invariant){.ctx = ctx, .real = real, .options = o};
    make_parameters(m);
    if (mo_ok(ctx))
        return (mo_model){&table, m};
    invariant_release(m);
    return none;
}
