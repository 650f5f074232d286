/* models/headed.c - the encoder of a model under any head, instead of the model's own readout.
 *
 * The embeddings of several experts are read side by side; temperature T_t = exp(log_temp_t) of task t multiplies the
 * logits, or the unit-norm examples, as in MOCHI (mochi.c). The embeddings of the tasks differ in width, so each task
 * has head tensors of its own. */
#include "models/encoded.h"
#include "tensor/given.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_LEARNED = MO_TASKS * MO_MAX_HEAD_PARAMETERS };
static const char encoder_prefix[] = "encoder.";

typedef struct headed {
    mo_context *ctx;
    mo_dtype real;
    mo_model_table table; /* with the encoder's name and kind of rows */
    mo_model encoder;
    mo_readout_options options;
    uint64_t seed;
    int n_encoder; /* the encoder's parameters, without those of its readout */
    int *encoder_parameter;
    mo_tensor *log_temp;
    mo_tensor *head[MO_TASKS][MO_MAX_HEAD_PARAMETERS]; /* scalars at their initial values, learned tensors; or NULL */
    int n_learned;
    mo_tensor *learned[MAX_LEARNED];
} headed;

/* ---- parameters ---- */

static void find_encoder_parameters(headed *m) {
    int n = mo_model_n_parameters(m->encoder);
    m->encoder_parameter = calloc((size_t)n + 1, sizeof *m->encoder_parameter);
    if (!m->encoder_parameter)
        mo_fail(m->ctx, MO_MEMORY, "head %s: out of memory", m->options.head->name);
    for (int i = 0; i < n && mo_ok(m->ctx); i++)
        if (!strncmp(mo_tensor_name(mo_model_parameter(m->encoder, i)), encoder_prefix, sizeof encoder_prefix - 1))
            m->encoder_parameter[m->n_encoder++] = i;
}

/* Makes the head's tensors of one task, at their initial values. */
static void make_head_parameters(headed *m, mo_tape *t, mo_task task) {
    const mo_head *head = m->options.head;
    mo_tensor *start[MO_MAX_HEAD_PARAMETERS];
    const double *lambda = m->options.lambda > 0 ? &m->options.lambda : NULL;
    if (mo_head_start(t, head, m->real, m->options.width[task], lambda, m->seed, start) != MO_OK)
        return;
    for (int i = 0; i < head->n_parameters; i++) {
        const mo_head_parameter *p = &head->parameters[i];
        int64_t shape[2] = {mo_dim(start[i], 0), p->ndim == 2 ? mo_dim(start[i], 1) : 1};
        char name[96];
        snprintf(name, sizeof name, "head.%s.%s", mo_task_name(task), p->name);
        if (p->ndim)
            m->learned[m->n_learned++] = m->head[task][i] = mo_parameter(m->ctx, name, m->real, p->ndim, shape);
        else
            m->head[task][i] = mo_tensor_create(m->ctx, m->real, 0, NULL);
        mo_tensor_copy(m->head[task][i], start[i]);
    }
}

static int headed_n_parameters(const void *model) {
    const headed *m = model;
    return m->n_encoder + 1 + m->n_learned;
}

static mo_tensor *headed_parameter(const void *model, int i) {
    const headed *m = model;
    if (i < m->n_encoder)
        return mo_model_parameter(m->encoder, m->encoder_parameter[i]);
    return i == m->n_encoder ? m->log_temp : m->learned[i - m->n_encoder - 1];
}

/* From weights that were trained under another readout, only the encoder is loaded. */
static mo_code headed_load(void *model, const mo_arrays *arrays) {
    headed *m = model;
    mo_tensor **P = calloc((size_t)m->n_encoder + 1 + MAX_LEARNED, sizeof *P);
    int n = m->n_encoder;
    if (!P)
        mo_fail(m->ctx, MO_MEMORY, "weights: out of memory");
    for (int i = 0; P && i < headed_n_parameters(m); i++)
        P[i] = headed_parameter(m, i);
    if (P && mo_arrays_fit(P + m->n_encoder, 1 + m->n_learned, arrays))
        n += 1 + m->n_learned;
    if (P)
        mo_load_parameters(m->ctx, P, n, arrays);
    free(P);
    return mo_context_status(m->ctx)->code;
}

static bool of_own_readout(const char *key) {
    static const char *const keys[] = {"smoothing", "kernel", "lambda", "temperature", "head"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (!strcmp(key, keys[i]))
            return true;
    return false;
}

static int headed_settings(const void *model, mo_setting list[MO_MAX_SETTINGS]) {
    static const char *const width[MO_TASKS] = {"width_nc", "width_lp", "width_gc"};
    const headed *m = model;
    const mo_readout_options *o = &m->options;
    mo_setting all[MO_MAX_SETTINGS];
    int n = 0, encoder = m->encoder.table->settings(m->encoder.content, all);
    for (int i = 0; i < encoder && n < MO_MAX_SETTINGS - 4 - MO_TASKS; i++)
        if (!of_own_readout(all[i].key))
            list[n++] = all[i];
    list[n++] = (mo_setting){.key = "smoothing", .number = o->smoothing};
    list[n++] = (mo_setting){.key = "lambda", .number = o->lambda};
    list[n++] = (mo_setting){.key = "temperature", .word = o->temperature == MO_TEMPERATURE_EMBED ? "embed" : "logit"};
    list[n++] = (mo_setting){.key = "head", .word = o->head->name};
    for (int task = 0; task < MO_TASKS && m->n_learned; task++)
        list[n++] = (mo_setting){.key = width[task], .number = (double)o->width[task]};
    return n;
}

static void headed_release(void *model) {
    headed *m = model;
    mo_model_release(m->encoder);
    mo_tensor_release(m->log_temp);
    for (int task = 0; task < MO_TASKS; task++)
        for (int i = 0; i < MO_MAX_HEAD_PARAMETERS; i++)
            mo_tensor_release(m->head[task][i]);
    free(m->encoder_parameter);
    free(m);
}

/* ---- embeddings and readout ---- */

static mo_tensor *encode(mo_tape *t, const void *model, const mo_episode *e, mo_random *r) {
    const headed *m = model;
    mo_tensor *Z = mo_model_encode(t, m->encoder, e, r);
    if (!mo_ok(m->ctx) || mo_ndim(Z) != 3)
        return Z;
    int64_t shape[2] = {mo_dim(Z, 1), mo_dim(Z, 0) * mo_dim(Z, 2)};
    return mo_reshape(t, mo_contiguous(t, mo_permute(t, Z, (const int[]){1, 0, 2})), 2, shape);
}

/* The head's parameters for a task: the model's, or the initial values at width d. */
static bool head_parameters(mo_tape *t, const headed *m, mo_task task, int64_t d, mo_tensor **out) {
    const mo_head *head = m->options.head;
    if (m->options.width[task] == 0)
        return mo_head_start(t, head, m->real, d, m->options.lambda > 0 ? &m->options.lambda : NULL, m->seed, out) ==
               MO_OK;
    if (m->n_learned && m->options.width[task] != d)
        mo_fail(m->ctx, MO_INVALID, "head %s: embeddings of %s are %lld wide, expected %lld as it was made for",
            head->name, mo_task_name(task), (long long)d, (long long)m->options.width[task]);
    for (int i = 0; i < head->n_parameters; i++)
        out[i] = m->head[task][i];
    return mo_ok(m->ctx);
}

static mo_tensor *headed_readout(mo_tape *t, const void *model, const mo_episode *e, mo_tensor *Zs, mo_tensor *Zq) {
    const headed *m = model;
    mo_tensor *head[MO_MAX_HEAD_PARAMETERS];
    if (!mo_ok(m->ctx) || !head_parameters(t, m, e->task, mo_dim(Zs, -1), head))
        return mo_null_tensor(m->ctx);
    mo_tensor *T = mo_exp(t, mo_reshape(t, mo_slice(t, m->log_temp, MO_AXIS(0), e->task, e->task + 1), 0, NULL));
    bool logit = m->options.temperature == MO_TEMPERATURE_LOGIT;
    if (!logit) {
        Zs = mo_scale_unit(t, Zs, T, 1e-12);
        Zq = mo_scale_unit(t, Zq, T, 1e-12);
    }
    mo_tensor *logits = mo_episode_readout(t, e, m->options.head, Zs, Zq, head);
    return logit ? mo_mul(t, logits, T) : logits;
}

/* ---- making one ---- */

static bool headed_check(mo_context *ctx, mo_model encoder, const mo_readout_options *o) {
    if (!mo_ok(ctx) || !encoder.table || !mo_head_validate(ctx, o->head))
        return false;
    if (!encoder.table->encode || !encoder.table->settings || !encoder.table->n_parameters ||
        !encoder.table->parameter || !encoder.table->name)
        mo_fail(ctx, MO_INVALID, "head %s: the encoder's table is not complete", o->head->name);
    else if (!(o->smoothing >= 0 && o->smoothing < 1))
        mo_fail(
            ctx, MO_INVALID, "head %s: smoothing is %g, expected 0 or more and below 1", o->head->name, o->smoothing);
    else if (!(o->lambda >= 0))
        mo_fail(ctx, MO_INVALID, "head %s: lambda is %g, expected more than 0", o->head->name, o->lambda);
    for (int task = 0; task < MO_TASKS && mo_ok(ctx); task++)
        if (o->width[task] < 0)
            mo_fail(ctx, MO_INVALID, "head %s: embeddings of %s are %lld wide, expected 0 (none) or more",
                o->head->name, mo_task_name((mo_task)task), (long long)o->width[task]);
    return mo_ok(ctx);
}

mo_model mo_headed_create(
    mo_context *ctx, mo_dtype real, mo_model encoder, const mo_readout_options *options, uint64_t seed) {
    if (!mo_given(ctx, "headed", "options", options)) {
        mo_model_release(encoder);
        return (mo_model){NULL, NULL};
    }
    mo_readout_options o = *options;
    if (!o.head)
        o.head = &mo_head_ridge;
    headed *m = headed_check(ctx, encoder, &o) ? calloc(1, sizeof *m) : NULL;
    if (!m) {
        mo_fail(ctx, MO_MEMORY, "head %s: out of memory", o.head->name);
        mo_model_release(encoder);
        return (mo_model){NULL, NULL};
    }
    *m = (headed){.ctx = ctx, .real = real, .encoder = encoder, .options = o, .seed = seed};
    m->table = (mo_model_table){.name = encoder.table->name,
        .of_examples = encoder.table->of_examples,
        .n_parameters = headed_n_parameters,
        .parameter = headed_parameter,
        .load = headed_load,
        .settings = headed_settings,
        .encode = encode,
        .readout = headed_readout,
        .release = headed_release};
    find_encoder_parameters(m);
    m->log_temp = mo_parameter(ctx, "log_temp", real, 1, (int64_t[]){MO_TASKS});
    mo_tape *t = mo_ok(ctx) ? mo_tape_create(ctx, MO_EVAL) : NULL;
    for (int task = 0; task < MO_TASKS && t && mo_ok(ctx); task++)
        if (o.width[task] > 0)
            make_head_parameters(m, t, (mo_task)task);
    mo_tape_release(t);
    if (mo_ok(ctx))
        return (mo_model){&m->table, m};
    headed_release(m);
    return (mo_model){NULL, NULL};
}
