/* models/model.c - a model is an encoder, a head and a temperature; or an encoder and a head of kernels.
 *
 * An example is a row (nodes), the product of two rows (links) or the mean of a graph's rows (graphs). The temperature
 * T = exp(log_temp) multiplies the head's logits (`logit`, as in the paper's text), or scales every example to norm T
 * before the head (`embed`, as in the released program). Loss: the smoothed cross-entropy of the queries. */
#include "models/model.h"
#include "tensor/objects.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- parameters ---- */

/* Writes first values that depend on the seed and the parameter's number alone. */
static void draw_first(mo_model *m, mo_tensor *P, const mo_encoder_parameter *p, uint64_t seed, int number) {
    int64_t n = mo_numel(P), fan_in = p->fan_in ? p->fan_in : p->ndim ? mo_dim(P, -1) : 1;
    mo_random r = mo_random_at(seed, MO_PURPOSE_INIT, (uint64_t)number);
    double bound = p->spread / sqrt((double)fan_in), *x = malloc((size_t)n * sizeof *x + 1);
    if (!x)
        mo_fail(m->ctx, MO_MEMORY, "encoder: out of memory for %s", p->name);
    for (int64_t i = 0; x && i < n; i++)
        x[i] = p->values ? p->values[i] : p->start + bound * (2 * mo_random_uniform(&r) - 1);
    mo_tensor *X = x ? mo_tensor_create_from(m->ctx, MO_F64, P->ndim, P->shape, x) : NULL;
    if (X && mo_ok(m->ctx))
        mo_tensor_copy(P, X);
    mo_tensor_release(X);
    free(x);
}

/* Adds n parameters in one block of memory, so that layers of one shape can be one batched product on a device. */
static void add_parameters(mo_model *m, const char *prefix, const mo_encoder_parameter *p, int n, uint64_t seed) {
    mo_parameter_form form[MO_MAX_ENCODER_PARAMETERS] = {0};
    char name[MO_MAX_ENCODER_PARAMETERS][160];
    mo_tensor **P = m->parameter + m->n_parameters;
    for (int i = 0; i < n; i++) {
        snprintf(name[i], sizeof name[i], "%s%.140s", prefix, p[i].name);
        form[i] = (mo_parameter_form){.name = name[i], .ndim = p[i].ndim};
        for (int k = 0; k < p[i].ndim; k++)
            form[i].shape[k] = p[i].shape[k] == MO_ENCODER_DIM      ? m->rows.dim
                               : p[i].shape[k] == MO_ENCODER_BLOCKS ? m->rows.hops + 1
                                                                    : p[i].shape[k];
    }
    if (n && mo_ok(m->ctx))
        mo_parameters(m->ctx, m->real, n, form, P);
    if (!mo_ok(m->ctx))
        return;
    m->n_parameters += n;
    for (int i = 0; i < n && mo_ok(m->ctx); i++)
        draw_first(m, P[i], &p[i], seed, i);
}

/* Adds the encoder's parameters, followed by copies of their first values if the encoder reads first values. */
static void add_encoder(mo_model *m, uint64_t seed) {
    int n = m->encoder.n_parameters;
    add_parameters(m, "encoder.", m->encoder.parameters, n, seed);
    for (int i = 0; i < n && mo_ok(m->ctx); i++) {
        const mo_tensor *P = m->first[i] = m->parameter[i];
        if (!m->encoder.reads_first)
            continue;
        m->first[n + i] = mo_tensor_create(m->ctx, m->real, P->ndim, P->shape);
        if (mo_ok(m->ctx))
            mo_tensor_copy(m->first[n + i], P);
    }
}

static const double *given_lambda(const mo_model *m) {
    return m->options.lambda > 0 ? &m->options.lambda : NULL;
}

/* Makes the head's tensors for one task at their first values; tensors with axes become parameters. */
static void add_head(mo_model *m, mo_tape *t, mo_task task) {
    const mo_head *head = m->options.head;
    mo_tensor *start[MO_MAX_HEAD_PARAMETERS];
    if (mo_head_start(t, head, m->real, m->options.width[task], given_lambda(m), m->seed, start) != MO_OK)
        return;
    for (int i = 0; i < head->n_parameters; i++) {
        const mo_head_parameter *p = &head->parameters[i];
        int64_t shape[2] = {mo_dim(start[i], 0), p->ndim == 2 ? mo_dim(start[i], 1) : 1};
        char name[96];
        snprintf(
            name, sizeof name, "head.%s%s%s", m->one_head ? "" : mo_task_name(task), m->one_head ? "" : ".", p->name);
        if (p->ndim)
            m->parameter[m->n_parameters++] = m->head[task][i] = mo_parameter(m->ctx, name, m->real, p->ndim, shape);
        else
            m->head[task][i] = mo_tensor_create(m->ctx, m->real, 0, NULL);
        mo_tensor_copy(m->head[task][i], start[i]);
    }
}

/* Removes the readout. */
static void drop_readout(mo_model *m) {
    for (int task = 0; task < MO_TASKS; task++)
        for (int i = 0; m->options.head && i < m->options.head->n_parameters; i++) {
            if (!m->options.head->parameters[i].ndim)
                mo_tensor_release(m->head[task][i]);
            m->head[task][i] = NULL;
        }
    for (; m->n_parameters > m->encoder.n_parameters; m->n_parameters--)
        mo_tensor_release(m->parameter[m->n_parameters - 1]);
    m->reads_kernels = false;
    m->log_temp = NULL;
    m->options.head = NULL;
}

/* ---- making one ---- */

mo_model *mo_model_make(
    mo_context *ctx, mo_dtype real, const mo_encoder *encoder, mo_encoder_rows rows, uint64_t seed) {
    mo_model *m = mo_ok(ctx) ? calloc(1, sizeof *m) : NULL;
    if (!m) {
        mo_fail(ctx, MO_MEMORY, "%s: out of memory", encoder->name);
        if (encoder->release)
            encoder->release(encoder->state);
        return NULL;
    }
    *m = (mo_model){.ctx = ctx, .real = real, .encoder = *encoder, .rows = rows};
    add_encoder(m, seed);
    return m;
}

mo_model *mo_model_made(mo_model *m) {
    if (m && mo_ok(m->ctx))
        return m;
    mo_model_release(m);
    return NULL;
}

void mo_model_put_kernels(mo_model *m, const mo_head *head, double smoothing) {
    m->reads_kernels = true;
    m->options.head = head;
    m->options.smoothing = smoothing;
}

static bool check_readout(mo_context *ctx, const mo_readout_options *o) {
    char label[80];
    if (!mo_head_validate(ctx, o->head))
        return false;
    snprintf(label, sizeof label, "head %.60s", o->head->name);
    return mo_fields_check(ctx, label, mo_readout_fields, o) && mo_fields_check(ctx, label, mo_width_fields, o);
}

void mo_model_put_head(mo_model *m, const mo_readout_options *options, bool one_head, uint64_t seed) {
    mo_context *ctx = m->ctx;
    mo_readout_options o = *options;
    if (!o.head)
        o.head = &mo_head_ridge;
    if (!mo_ok(ctx) || !check_readout(ctx, &o))
        return;
    drop_readout(m);
    m->options = o;
    m->one_head = one_head;
    m->seed = seed;
    m->log_temp = mo_parameter(ctx, "log_temp", m->real, one_head ? 0 : 1, (int64_t[]){MO_TASKS});
    m->parameter[m->n_parameters++] = m->log_temp;
    mo_tape *t = mo_ok(ctx) ? mo_tape_create(ctx, MO_EVAL) : NULL;
    for (int task = 0; task < (one_head ? 1 : MO_TASKS) && t && mo_ok(ctx); task++)
        if (o.width[task] > 0)
            add_head(m, t, (mo_task)task);
    mo_tape_release(t);
}

mo_model *mo_model_under_head(mo_model *m, const mo_readout_options *options, uint64_t seed) {
    if (m && mo_given(m->ctx, "model", "the readout's options", options))
        mo_model_put_head(m, options, false, seed);
    return mo_model_made(m);
}

mo_model *mo_encoder_create(mo_context *ctx, mo_dtype real, const mo_encoder *encoder, mo_encoder_rows rows,
    const mo_readout_options *readout, uint64_t seed) {
    if (!mo_encoder_validate(ctx, encoder))
        return NULL;
    if (rows.hops < 0 || rows.dim < 1)
        mo_fail(ctx, MO_INVALID, "encoder %s: %d hops of width %d, expected 0 or more and 1 or more", encoder->name,
            rows.hops, rows.dim);
    return mo_model_under_head(mo_model_make(ctx, real, encoder, rows, seed), readout, seed);
}

mo_model *mo_model_hold(mo_model *m) {
    m->holders++;
    return m;
}

void mo_model_release(mo_model *m) {
    if (!m || m->holders-- > 0)
        return;
    drop_readout(m);
    for (int i = 0; i < m->n_parameters; i++) {
        mo_tensor_release(m->parameter[i]);
        mo_tensor_release(m->first[m->encoder.n_parameters + i]);
    }
    if (m->encoder.release)
        m->encoder.release(m->encoder.state);
    free(m);
}

int mo_model_n_parameters(const mo_model *m) {
    return m ? m->n_parameters : 0;
}

mo_tensor *mo_model_parameter(const mo_model *m, int i) {
    return m && i >= 0 && i < m->n_parameters ? m->parameter[i] : NULL;
}

/* ---- weights and settings ---- */

/* Returns whether P can take X's values. Writes both shapes for an error message; `got` is "absent" if X is NULL. */
static bool shapes_agree(const mo_tensor *P, const mo_tensor *X, char want[160], char got[160]) {
    mo_shape_string(P, want, 160);
    snprintf(got, 160, "absent");
    if (X)
        mo_shape_string(X, got, 160);
    return strcmp(want, got) == 0;
}

/* Returns the number of parameters to read from arrays: without the head's tensors, and without per-task temperatures,
 * if the weights were trained with another head. */
static int n_loaded(const mo_model *m, const mo_arrays *arrays) {
    char want[160], got[160];
    int head = m->encoder.n_parameters + m->one_head, found = 0, fitting = 0;
    if (m->reads_kernels)
        return m->n_parameters;
    for (int i = head; i < m->n_parameters; i++) {
        const mo_tensor *X = mo_arrays_find(arrays, mo_tensor_name(m->parameter[i]));
        found += X != NULL;
        fitting += shapes_agree(m->parameter[i], X, want, got);
    }
    return (m->one_head ? found > 0 : fitting == m->n_parameters - head) ? m->n_parameters : head;
}

mo_code mo_model_load(mo_model *m, const mo_arrays *arrays) {
    if (!m || !arrays)
        return MO_INVALID;
    char want[160], got[160];
    for (int pass = 0, n = n_loaded(m, arrays); pass < 2; pass++) /* pass 0 checks, pass 1 writes */
        for (int i = 0; i < n && mo_ok(m->ctx); i++) {
            mo_tensor *P = m->parameter[i], *X = mo_arrays_find(arrays, mo_tensor_name(P));
            if (!shapes_agree(P, X, want, got))
                mo_fail(m->ctx, MO_FORMAT, "weights: %s is %s, expected %s", mo_tensor_name(P), got, want);
            else if (pass)
                mo_tensor_copy(P, X);
        }
    return mo_code_of(m->ctx);
}

#define AT(member) offsetof(mo_readout_options, member)
const mo_field mo_readout_fields[] = {
    {MO_FIELD_REAL, "lambda", "L", AT(lambda), "the head's penalty", 0},
    {MO_FIELD_CHOICE, "temperature", "WHERE", AT(temperature),
        "learned temperature on the logit, or on the unit-norm embed(ding)", .choices = "logit|embed"},
    {MO_FIELD_REAL, "smoothing", "S", AT(smoothing), "label smoothing of the loss, 0 or more and below 1", 0, 0.999},
    {MO_FIELDS_END},
};
const mo_field mo_width_fields[] = {
    {MO_FIELD_INT64, "width_nc", NULL, AT(width[MO_TASK_NC]), NULL, 0, 1 << 30, .optional = true},
    {MO_FIELD_INT64, "width_lp", NULL, AT(width[MO_TASK_LP]), NULL, 0, 1 << 30, .optional = true},
    {MO_FIELD_INT64, "width_gc", NULL, AT(width[MO_TASK_GC]), NULL, 0, 1 << 30, .optional = true},
    {MO_FIELDS_END},
};
#undef AT

static const mo_field rows_fields[] = {
    {MO_FIELD_INT, "hops", .at = offsetof(mo_encoder_rows, hops)},
    {MO_FIELD_INT, "dim", .at = offsetof(mo_encoder_rows, dim)},
    {MO_FIELDS_END},
};

/* The options of the model's encoder, and the table of their members. */
static const mo_field *encoder_fields(const mo_model *m, const void **options) {
    *options = m->encoder.fields ? m->encoder.options : &m->rows;
    return m->encoder.fields ? m->encoder.fields : rows_fields;
}

bool mo_model_describe(const mo_model *m, json_t *object, bool as_text) {
    const void *options;
    const mo_field *fields = encoder_fields(m, &options);
    bool learns = m->n_parameters > m->encoder.n_parameters + 1;
    if (json_object_set_new(object, "kind", json_string(m->encoder.name)) ||
        !mo_fields_write(fields, options, object, as_text))
        return false;
    if (m->reads_kernels)
        return true;
    return mo_fields_write(mo_readout_fields, &m->options, object, as_text) &&
           !json_object_set_new(object, "head", json_string(m->options.head->name)) &&
           (!learns || m->one_head || mo_fields_write(mo_width_fields, &m->options, object, as_text));
}

double mo_model_setting(const mo_model *m, const char *key) {
    const void *options = NULL;
    const mo_field *f = m && key ? mo_field_find(encoder_fields(m, &options), key, NULL) : NULL;
    if (m && key && !f && !m->reads_kernels) {
        f = mo_field_find(mo_readout_fields, key, NULL);
        options = &m->options;
    }
    return f ? mo_field_number(f, options) : NAN;
}

/* ---- embeddings, readout, loss ---- */

bool mo_model_given(mo_tape *t, const mo_model *m, const mo_episode *e) {
    mo_context *ctx = mo_tape_context(t);
    if (!mo_given(ctx, "model", "the model", m) || !mo_given(ctx, "model", "the episode", e))
        return false;
    if ((int)e->task < 0 || e->task >= MO_TASKS || e->n_rows < 0 || e->n_rows > MO_MAX_ROWS)
        mo_fail(ctx, MO_INVALID, "model: an episode of task %d with %d named rows, expected 0 to %d and 0 to %d",
            (int)e->task, e->n_rows, MO_TASKS - 1, MO_MAX_ROWS);
    return mo_ok(ctx);
}

void mo_model_embed(mo_tape *t, const mo_model *m, const mo_episode *e, mo_random *r, mo_tensor **Zs, mo_tensor **Zq) {
    if (Zs && Zq)
        *Zs = *Zq = mo_null_tensor(mo_tape_context(t));
    if (!mo_given(mo_tape_context(t), "model", "Zs or Zq", Zs && Zq ? Zs : NULL))
        return;
    mo_tensor *Z = mo_model_encode(t, m, e, r);
    if (!mo_is_null(Z))
        mo_episode_examples(t, e, Z, m->encoder.of_examples, Zs, Zq);
}

/* The head's tensors for a task: the model's own or, if the task has no width, first values at width d. */
static bool head_of_task(mo_tape *t, const mo_model *m, mo_task task, int64_t d, mo_tensor **out) {
    const mo_head *head = m->options.head;
    if (m->options.width[task] == 0)
        return mo_head_start(t, head, m->real, d, given_lambda(m), m->seed, out) == MO_OK;
    if (m->n_parameters > m->encoder.n_parameters + 1 && m->options.width[task] != d)
        mo_fail(m->ctx, MO_INVALID, "head %s: embeddings of %s are %lld wide, expected %lld as it was made for",
            head->name, mo_task_name(task), (long long)d, (long long)m->options.width[task]);
    for (int i = 0; i < head->n_parameters; i++)
        out[i] = m->head[task][i];
    return mo_ok(m->ctx);
}

/* ---- a head of kernels ---- */

int mo_own_experts(mo_task task, bool inductive, const char *const **name) {
    static const char *const names[] = {"T", "Tg"};
    if (name)
        *name = names;
    return inductive ? 0 : task == MO_TASK_NC ? 1 : 2;
}

/* How much to trust T before labels are seen. T helps where neighbours share a class, and their attributes are then
 * alike too; friendship graphs are an exception, because their attributes are unrelated to the class asked for. Trust
 * stops growing at two standard deviations. Where T is right, its logits from few labels are too even, so the
 * expected temperature grows with trust. */
static double trust_in_own(const mo_episode *e) {
    return fmin(fmax(e->assortativity, 0), 2);
}

/* The experts T (1 + <x, y>) and Tg (1 + exp(-|x - y|^2)) are kernels of the rows; those that the episode carries are
 * further ones. An inductive episode has only these. */
static mo_support kernel_support(mo_tape *t, const mo_model *m, const mo_episode *e, mo_tensor *Zs) {
    static const mo_row_kernels of_rows[] = {MO_ROWS_UNUSED, MO_ROWS_LINEAR, MO_ROWS_GAUSSIAN};
    mo_support s = mo_episode_support(t, e, m->options.head, Zs);
    s.of_rows = of_rows[mo_own_experts(e->task, e->inductive, NULL)];
    s.kernels = mo_episode_find(e, "kernels");
    s.centres = e->centres;
    s.class_weight = e->class_weight;
    s.trust = trust_in_own(e);
    s.columns = e->columns;
    s.kernel_prior = e->kernel_prior;
    return s;
}

/* Fits a head of kernels, whose parameters have the values of its table, in float64. */
static mo_code fit_kernels(mo_tape *t, const mo_model *m, const mo_support *s, mo_state *state) {
    mo_tensor *parameter[MO_MAX_HEAD_PARAMETERS];
    if (mo_ok(m->ctx) &&
        mo_head_start(t, m->options.head, MO_F64, mo_dim(s->Zs, -1), NULL, m->seed, parameter) == MO_OK)
        mo_head_fit(t, m->options.head, s, parameter, state);
    return mo_code_of(m->ctx);
}

/* ---- a head and a temperature ---- */

/* T = exp(log_temp). */
static mo_tensor *temperature_of(mo_tape *t, const mo_model *m, mo_task task) {
    mo_tensor *log_temp = m->log_temp;
    if (!m->one_head)
        log_temp = mo_reshape(t, mo_slice(t, log_temp, MO_AXIS(0), task, task + 1), 0, NULL);
    return mo_exp(t, log_temp);
}

/* Scales rows to norm T if the temperature is one of embeddings. */
static mo_tensor *tempered_rows(mo_tape *t, const mo_model *m, mo_tensor *Z, mo_tensor *T) {
    return m->options.temperature == MO_TEMPERATURE_LOGIT ? Z : mo_scale_unit(t, Z, T, 1e-12);
}

static mo_code fit_head(
    mo_tape *t, const mo_model *m, const mo_episode *e, mo_tensor *Zs, bool held_out, mo_state *state) {
    mo_tensor *parameter[MO_MAX_HEAD_PARAMETERS];
    if (!mo_ok(m->ctx) || !head_of_task(t, m, m->one_head ? 0 : e->task, mo_dim(Zs, -1), parameter))
        return mo_code_of(m->ctx);
    mo_tensor *T = temperature_of(t, m, e->task);
    mo_support s = mo_episode_support(t, e, m->options.head, tempered_rows(t, m, Zs, T));
    s.held_out = held_out;
    if (mo_head_fit(t, m->options.head, &s, parameter, state) == MO_OK)
        mo_state_put(state, "temperature", T);
    return mo_code_of(m->ctx);
}

mo_code mo_model_fit(
    mo_tape *t, const mo_model *m, const mo_episode *e, mo_tensor *Zs, bool held_out, mo_state *state) {
    if (!mo_model_given(t, m, e) || !mo_given(mo_tape_context(t), "model", "the state", state))
        return mo_code_of(mo_tape_context(t));
    *state = (mo_state){0};
    if (!m->reads_kernels)
        return fit_head(t, m, e, Zs, held_out, state);
    mo_support s = kernel_support(t, m, e, Zs);
    s.held_out = held_out;
    return fit_kernels(t, m, &s, state);
}

mo_tensor *mo_model_apply(mo_tape *t, const mo_model *m, const mo_episode *e, const mo_state *state, mo_tensor *Zq) {
    mo_context *ctx = mo_tape_context(t);
    if (!mo_model_given(t, m, e))
        return mo_null_tensor(ctx);
    if (m->reads_kernels)
        return mo_state_apply(t, state, Zq, mo_episode_find(e, "query kernels"));
    mo_tensor *T = mo_state_get(t, state, "temperature");
    mo_tensor *logits = mo_state_apply(t, state, tempered_rows(t, m, Zq, T), NULL);
    return m->options.temperature == MO_TEMPERATURE_LOGIT ? mo_mul(t, logits, T) : logits;
}

mo_tensor *mo_model_spread(mo_tape *t, const mo_model *m, const mo_episode *e, const mo_state *state, mo_tensor *Zq) {
    if (!mo_model_given(t, m, e))
        return mo_null_tensor(mo_tape_context(t));
    return mo_mixture_spread(t, state, Zq, mo_episode_find(e, "query kernels"), mo_episode_find(e, "query diagonal"));
}

mo_tensor *mo_model_held_out(
    mo_tape *t, const mo_model *m, const mo_state *state, const int64_t *row, int64_t groups, int64_t h) {
    if (!mo_given(mo_tape_context(t), "model", "the model", m))
        return mo_null_tensor(mo_tape_context(t));
    mo_tensor *logits = mo_state_held_out(t, state, row, groups, h);
    bool scaled = !m->reads_kernels && m->options.temperature == MO_TEMPERATURE_LOGIT;
    return scaled ? mo_mul(t, logits, mo_state_get(t, state, "temperature")) : logits;
}

mo_tensor *mo_model_readout(
    mo_tape *t, const mo_model *m, const mo_episode *e, mo_tensor *Zs, mo_tensor *Zq, mo_tensor **share) {
    mo_context *ctx = mo_tape_context(t);
    mo_state state;
    if (share)
        *share = NULL;
    if (!mo_model_given(t, m, e))
        return mo_null_tensor(ctx);
    const char *section = mo_tape_section(t, "head");
    bool fitted = mo_model_fit(t, m, e, Zs, false, &state) == MO_OK;
    mo_tensor *logits = fitted ? mo_model_apply(t, m, e, &state, Zq) : mo_null_tensor(ctx);
    if (share && fitted)
        *share = mo_state_find(&state, "share");
    mo_tape_section(t, section);
    return logits;
}

/* A row of the population is [x | 1], so that 1 + <x, y> is a product of rows. */
static mo_tensor *population_kernels(
    mo_tape *t, const mo_episode *e, mo_tensor *Z, mo_tensor *Zst, mo_tensor *further) {
    mo_tensor *K = mo_matmul(t, Z, Zst);
    further = further ? mo_cast(t, further, mo_tensor_dtype(Z)) : NULL;
    return mo_join_kernels(t, K, mo_own_experts(e->task, e->inductive, NULL), further);
}

static const char population_rows[] = "population";

mo_tensor *mo_model_transduce(
    mo_tape *t, const mo_model *m, const mo_episode *e, const mo_population *all, mo_state *state) {
    mo_context *ctx = mo_tape_context(t);
    mo_state own;
    if (!mo_model_given(t, m, e) || !mo_given(ctx, "model", "population", all))
        return mo_null_tensor(ctx);
    if (!m->reads_kernels || e->inductive) {
        mo_fail(ctx, MO_UNSUPPORTED, "the model %s has no transductive readout", m->encoder.name);
        return mo_null_tensor(ctx);
    }
    mo_tensor *Zs = mo_gather_rows(t, all->Z, e->support[0]);
    mo_tensor *rows = e->centres ? mo_gather_rows(t, Zs, e->centres) : Zs, *Zst = mo_transpose(t, rows);
    mo_support s = kernel_support(t, m, e, Zs);
    s.kernels = population_kernels(t, e, Zs, Zst, s.kernels);
    s.of_rows = MO_ROWS_UNUSED;
    s.trusted = mo_own_experts(e->task, false, NULL);
    state = state ? state : &own;
    if (fit_kernels(t, m, &s, state) != MO_OK)
        return mo_null_tensor(ctx);
    mo_state_put(state, population_rows, rows);
    mo_tensor *K = population_kernels(t, e, all->Z, Zst, mo_episode_find(e, "query kernels"));
    return mo_state_transduce(t, state, K, all, e->support[0], s.Ys);
}

mo_tensor *mo_model_apply_transduced(
    mo_tape *t, const mo_model *m, const mo_episode *e, const mo_state *state, mo_tensor *Zq) {
    mo_context *ctx = mo_tape_context(t);
    mo_tensor *rows = mo_model_given(t, m, e) ? mo_state_get(t, state, population_rows) : mo_null_tensor(ctx);
    if (!mo_ok(ctx))
        return mo_null_tensor(ctx);
    mo_tensor *K = population_kernels(t, e, Zq, mo_transpose(t, rows), mo_episode_find(e, "query kernels"));
    return mo_state_apply_transduced(t, state, K, Zq);
}

mo_tensor *mo_model_logits(mo_tape *t, const mo_model *m, const mo_episode *e, mo_random *r) {
    mo_tensor *Zs = NULL, *Zq = NULL;
    mo_model_embed(t, m, e, r, &Zs, &Zq);
    return mo_model_readout(t, m, e, Zs, Zq, NULL);
}

mo_tensor *mo_model_loss(mo_tape *t, const mo_model *m, const mo_episode *e, mo_random *r, mo_tensor **logits) {
    mo_tensor *Y = mo_model_logits(t, m, e, r);
    if (logits)
        *logits = mo_keep(Y);
    return mo_is_null(Y) ? Y : mo_softmax_cross_entropy(t, Y, e->query_label, m->options.smoothing);
}
