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
 * Nodes have two diffused rows (train/features/nodes/diffuse.c) behind the hops, in the same softmax. Links have two
 * more groups of extras, walks and matches (train/features/pairs/). Graphs have three more parts, each a unit row with
 * a weight of its own: statistics, subtrees, waves (train/features/sets/). A part whose rows an episode lacks counts as
 * zero.
 *
 * For nodes and graphs the row of the encoder's first parameters stands beside, one for both experts:
 *     [z_m | z_0] / sqrt 2,
 * so that the kernel is the mean of the trained and of the untrained one: training finds it hard to fall below the
 * latter on a graph unlike the pool's.
 *
 * A rotation Q inside equal singular values turns H into HQ and commutes with the profile, so z becomes zQ and all
 * inner products stay equal. The readout reads inner products alone (invariant_readout.c).
 *
 * The bound of 30: beyond the rank of a block its columns are zero and l = log(1e-6), where the exponent passes 88, the
 * logarithm of the largest float32, at c' = 1.9; training can reach such a c', since no embedding shows it, and inf * 0
 * is NaN. Rows are normalised next, so a factor of e^30 beside one of 1 leaves nothing of the latter in float32. The
 * largest exponent is not subtracted, because a row may be zero in the columns that have it. */
#include "models/invariant.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

mo_invariant_options mo_invariant_defaults(void) {
    return (mo_invariant_options){.hops = 3, .smoothing = 0.1};
}

/* ---- parameters ---- */

bool mo_invariant_has(const invariant *m, mo_invariant_part part) {
    return !(m->options.without >> part & 1);
}

/* Links have shown no gain by it. */
bool mo_invariant_reads_initial(const invariant *m, mo_task task) {
    return mo_invariant_has(m, MO_PART_INITIAL) && task != MO_TASK_LP;
}

/* Whether the model has the parameter. */
static bool invariant_uses(const invariant *m, int i) {
    if (i == DIFFUSED)
        return mo_invariant_has(m, MO_PART_DIFFUSED);
    if (i == SET_WEIGHT)
        return mo_invariant_has(m, MO_PART_STATISTICS) || mo_invariant_has(m, MO_PART_SUBTREES) ||
               mo_invariant_has(m, MO_PART_WAVES);
    return i < KERNEL_LAMBDA || !m->options.linear;
}

static void invariant_new_parameter(
    invariant *m, int i, const char *name, int ndim, const int64_t *shape, const double *value) {
    if (!invariant_uses(m, i))
        return;
    mo_tensor *P = m->parameter[i] = mo_parameter(m->ctx, name, m->real, ndim, shape);
    mo_tensor *first = value ? mo_tensor_from(m->ctx, MO_F64, ndim, shape, value) : NULL;
    if (first && mo_ok(m->ctx))
        mo_tensor_copy(P, first);
    mo_tensor_release(first);
    if (i >= N_ENCODER || !mo_invariant_has(m, MO_PART_INITIAL))
        return;
    m->initial[i] = mo_tensor_create(m->ctx, m->real, ndim, shape);
    if (mo_ok(m->ctx))
        mo_tensor_copy(m->initial[i], P);
}

/* Later hops count more than earlier ones, attributes more than structure, extras as much as the task uses them; all
 * other parameters start neutral. */
static void make_encoder(invariant *m) {
    static const double block_weight[2] = {-0.5, 0.5}, extras_weight[MO_TASKS] = {-2, 0.5, -0.5};
    int64_t hops = m->options.hops + 1;
    double hop[BLOCKS * EXPERTS * MO_MAX_INPUTS], weight[MO_TASKS][PARTS][EXPERTS];
    for (int64_t i = 0; i < BLOCKS * EXPERTS * hops; i++)
        hop[i] = i % hops >= 2;
    for (int t = 0; t < MO_TASKS; t++)
        for (int part = 0; part < PARTS; part++)
            for (int expert = 0; expert < EXPERTS; expert++)
                weight[t][part][expert] = part < BLOCKS ? block_weight[part] : extras_weight[t];
    invariant_new_parameter(m, HOP, "encoder.hop", 3, (int64_t[]){BLOCKS, EXPERTS, hops}, hop);
    invariant_new_parameter(m, PROFILE, "encoder.profile", 2, (int64_t[]){BLOCKS, 2}, NULL);
    invariant_new_parameter(
        m, WEIGHT, "encoder.log_weight", 3, (int64_t[]){MO_TASKS, PARTS, EXPERTS}, &weight[0][0][0]);
    invariant_new_parameter(m, DIFFUSED, "encoder.diffused", 3, (int64_t[]){BLOCKS, EXPERTS, DIFFUSED_ROWS}, NULL);
    invariant_new_parameter(m, SET_WEIGHT, "encoder.set_log_weight", 2, (int64_t[]){SET_BLOCKS, EXPERTS}, NULL);
}

static void make_readout(invariant *m) {
    double half[MO_TASKS], log_8[MO_TASKS];
    for (int t = 0; t < MO_TASKS; t++) {
        half[t] = 0.5;
        log_8[t] = log(8);
    }
    invariant_new_parameter(m, LOG_LAMBDA, "head.log_lambda", 2, (int64_t[]){MO_TASKS, EXPERTS}, NULL);
    invariant_new_parameter(m, EXPERT, "head.expert", 2, (int64_t[]){MO_TASKS, EXPERTS}, NULL);
    invariant_new_parameter(m, PENALTY, "head.penalty", 2, (int64_t[]){MO_TASKS, PENALTIES}, NULL);
    invariant_new_parameter(m, LOG_SHARPNESS, "head.log_sharpness", 1, (int64_t[]){MO_TASKS}, NULL);
    invariant_new_parameter(m, POWER, "head.power", 1, (int64_t[]){MO_TASKS}, half);
    invariant_new_parameter(m, LOG_LOO_TEMP, "head.log_loo_temp", 1, (int64_t[]){MO_TASKS}, log_8);
    invariant_new_parameter(m, LOG_TEMP, "log_temp", 1, (int64_t[]){MO_TASKS}, log_8);
    invariant_new_parameter(m, KERNEL_LAMBDA, "head.kernel_log_lambda", 2, (int64_t[]){KERNEL_TASKS, EXPERTS}, NULL);
    invariant_new_parameter(m, KERNEL_PRIOR, "head.kernel_expert", 2, (int64_t[]){KERNEL_TASKS, EXPERTS}, NULL);
    invariant_new_parameter(m, LOG_GAMMA, "head.log_gamma", 1, (int64_t[]){KERNEL_TASKS}, NULL);
}

static int invariant_n_parameters(const void *model) {
    int n = 0;
    for (int i = 0; i < N_PARAMETERS; i++)
        n += invariant_uses(model, i);
    return n;
}

/* The i-th parameter of this model, which leaves out those of parts that it lacks. */
static mo_tensor *invariant_parameter(const void *model, int i) {
    const invariant *m = model;
    int at = 0;
    while (!invariant_uses(m, at) || i-- > 0)
        at++;
    return m->parameter[at];
}

static int invariant_settings(const void *model, mo_setting list[MO_MAX_SETTINGS]) {
    const invariant *m = model;
    const mo_invariant_options *o = &m->options;
    int n = 0;
    list[n++] = (mo_setting){.key = "hops", .number = o->hops};
    list[n++] = (mo_setting){.key = "smoothing", .number = o->smoothing};
    if (o->linear)
        list[n++] = (mo_setting){.key = "kernel", .word = "linear"};
    if (m->parts[0])
        list[n++] = (mo_setting){.key = "parts", .word = m->parts};
    return n;
}

static void invariant_release(void *model) {
    invariant *m = model;
    for (int i = 0; i < N_PARAMETERS; i++)
        mo_tensor_release(m->parameter[i]);
    for (int i = 0; i < N_ENCODER; i++)
        mo_tensor_release(m->initial[i]);
    free(m);
}

static const mo_model_table table = {
    .name = "invariant",
    .of_examples = true,
    .n_parameters = invariant_n_parameters,
    .parameter = invariant_parameter,
    .settings = invariant_settings,
    .encode = mo_invariant_encode,
    .readout = mo_invariant_readout,
    .transduce = mo_invariant_transduce,
    .learn = mo_invariant_learn,
    .apply = mo_invariant_apply,
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
    mo_invariant_write_parts(MO_ALL_PARTS & ~o.without, m->parts, sizeof m->parts);
    make_encoder(m);
    make_readout(m);
    if (mo_ok(ctx))
        return (mo_model){&table, m};
    invariant_release(m);
    return none;
}
