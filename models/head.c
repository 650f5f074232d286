/* models/head.c - calling a head: checks of its table, of its inputs and of its result, and its initial parameters. */
#include "models/heads/heads.h"
#include "models/model.h"
#include "tensor/files/file.h"
#include "tensor/storage.h"

#include <dlfcn.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool mo_head_validate(mo_context *ctx, const mo_head *head) {
    if (!mo_given(ctx, "head", "the head", head))
        return false;
    if (head->abi != MO_HEAD_ABI || head->size != sizeof(mo_head))
        mo_fail(ctx, MO_INVALID, "head: abi %d and size %zu, expected %d and %zu: rebuild it against this library",
            head->abi, head->size, MO_HEAD_ABI, sizeof(mo_head));
    else if (!head->name || !*head->name)
        mo_fail(ctx, MO_INVALID, "head: it has no name");
    else if (head->n_parameters < 0 || head->n_parameters > MO_MAX_HEAD_PARAMETERS ||
             (head->n_parameters && !head->parameters))
        mo_fail(ctx, MO_INVALID, "head %s: %d parameters, expected a table of 0 to %d", head->name, head->n_parameters,
            MO_MAX_HEAD_PARAMETERS);
    else if (!head->logits && !head->linear && !head->residual)
        mo_fail(ctx, MO_INVALID, "head %s: it has neither logits nor a linear fit nor a residual", head->name);
    else if (head->order != 1 && head->order != 2)
        mo_fail(ctx, MO_INVALID, "head %s: derivatives up to order %d, expected 1 or 2", head->name, head->order);
    else if (head->n_samples < 0 || (head->n_samples && !head->samples))
        mo_fail(ctx, MO_INVALID, "head %s: %d samples without a table of them", head->name, head->n_samples);
    for (int i = 0; mo_ok(ctx) && i < head->n_parameters; i++) {
        const mo_head_parameter *p = &head->parameters[i];
        if (!p->name || p->ndim < 0 || p->ndim > 2)
            mo_fail(ctx, MO_INVALID, "head %s: parameter %d, %s, has %d axes, expected a name and 0 to 2 axes",
                head->name, i, p->name ? p->name : "without a name", p->ndim);
    }
    return mo_ok(ctx);
}

/* Draws U(-value, value) / sqrt(shape[0]) as a function of the seed and the parameter's number alone. */
static mo_tensor *draw(mo_tape *t, const mo_head_parameter *p, int number, mo_dtype real, int64_t d, uint64_t seed) {
    int64_t shape[2], n = 1;
    for (int i = 0; i < p->ndim; i++)
        n *= shape[i] = p->shape[i] == MO_HEAD_DIM ? d : p->shape[i];
    if (p->value == 0)
        return mo_full(t, real, p->ndim, shape, 0);
    double *x = malloc((size_t)n * sizeof *x + 1), bound = p->value / sqrt((double)shape[0]);
    if (!x) {
        mo_fail(mo_tape_context(t), MO_MEMORY, "head: out of memory for %s", p->name);
        return mo_null_tensor(mo_tape_context(t));
    }
    mo_random r = mo_random_at(seed, MO_PURPOSE_INIT, (uint64_t)number);
    for (int64_t i = 0; i < n; i++)
        x[i] = bound * (2 * mo_random_uniform(&r) - 1);
    mo_tensor *X = mo_cast(t, mo_from(t, MO_F64, p->ndim, shape, x), real);
    free(x);
    return X;
}

mo_code mo_head_start(
    mo_tape *t, const mo_head *head, mo_dtype real, int64_t d, const double *lambda, uint64_t seed, mo_tensor **out) {
    mo_context *ctx = mo_tape_context(t);
    if (!mo_head_validate(ctx, head))
        return mo_context_status(ctx)->code;
    for (int i = 0; i < head->n_parameters; i++) {
        const mo_head_parameter *p = &head->parameters[i];
        double value = lambda && !strcmp(p->name, "lambda") ? *lambda : p->value;
        if (p->ndim == 0 && p->low < p->high && !(value >= p->low && value <= p->high))
            mo_fail(
                ctx, MO_INVALID, "head %s: %s is %g, expected %g to %g", head->name, p->name, value, p->low, p->high);
        out[i] = p->ndim ? draw(t, p, i, real, d, seed) : mo_scalar(t, real, value);
    }
    return mo_context_status(ctx)->code;
}

static bool check_inputs(
    mo_context *ctx, const mo_head *head, const mo_tensor *Zs, const mo_tensor *Ys, const mo_tensor *Zq) {
    if (mo_is_null(Zs) || mo_is_null(Ys) || mo_is_null(Zq)) {
        mo_fail(ctx, MO_INVALID, "head %s: an input is the null tensor", head->name);
        return false;
    }
    int n = mo_ndim(Zs);
    bool fit = n >= 2 && mo_ndim(Ys) == n && mo_ndim(Zq) == n && mo_dim(Zs, -1) == mo_dim(Zq, -1) &&
               mo_dim(Zs, -2) == mo_dim(Ys, -2) && mo_dim(Zs, -2) >= 1;
    for (int i = 0; fit && i < n - 2; i++)
        fit = mo_dim(Zs, i) == mo_dim(Ys, i) && mo_dim(Zs, i) == mo_dim(Zq, i);
    char zs[160], ys[160], zq[160];
    if (!fit)
        mo_fail(ctx, MO_INVALID,
            "head %s: expected support [.., n_s, d], labels [.., n_s, C], queries [.., n_q, d]; "
            "got %s, %s, %s",
            head->name, mo_shape_string(Zs, zs, sizeof zs), mo_shape_string(Ys, ys, sizeof ys),
            mo_shape_string(Zq, zq, sizeof zq));
    else if (!mo_dtype_is_real(mo_tensor_dtype(Zs)) || mo_tensor_dtype(Zs) != mo_tensor_dtype(Ys) ||
             mo_tensor_dtype(Zs) != mo_tensor_dtype(Zq))
        mo_fail(ctx, MO_MISMATCH, "head %s: support %s, labels %s, queries %s, expected one real dtype", head->name,
            mo_dtype_name(mo_tensor_dtype(Zs)), mo_dtype_name(mo_tensor_dtype(Ys)), mo_dtype_name(mo_tensor_dtype(Zq)));
    return mo_ok(ctx);
}

/* Checks that the head returned logits [.., n_q, C] of the queries' dtype. */
static bool check_logits(mo_context *ctx, const mo_head *head, const mo_tensor *L, const mo_tensor *Zq, int64_t C) {
    int n = mo_ndim(Zq);
    char got[160], want[160];
    int64_t shape[MO_MAX_AXES];
    if (mo_is_null(L)) {
        mo_fail(ctx, MO_INVALID, "head %s: it returned no tensor", head->name);
        return false;
    }
    bool fit = mo_ndim(L) == n && mo_dim(L, -1) == C;
    for (int i = 0; fit && i < n - 1; i++)
        fit = mo_dim(L, i) == mo_dim(Zq, i);
    if (!fit || mo_tensor_dtype(L) != mo_tensor_dtype(Zq)) {
        for (int i = 0; i < n; i++)
            shape[i] = i < n - 1 ? mo_dim(Zq, i) : C;
        mo_fail(ctx, MO_INVALID, "head %s: it returned logits %s %s, expected %s %s", head->name,
            mo_shape_string(L, got, sizeof got), mo_dtype_name(mo_tensor_dtype(L)),
            mo_format_shape(n, shape, want, sizeof want), mo_dtype_name(mo_tensor_dtype(Zq)));
    }
    return mo_ok(ctx);
}

static mo_tensor *linear_logits(
    mo_tape *t, const mo_head *head, mo_tensor *Zs, mo_tensor *Ys, mo_tensor *Zq, mo_tensor *const *parameters) {
    mo_tensor *W, *b;
    head->linear(t, Zs, Ys, NULL, parameters, &W, &b);
    return mo_add(t, mo_matmul(t, Zq, W), b);
}

mo_tensor *mo_head_apply_weighted(mo_tape *t, const mo_head *head, mo_tensor *Zs, mo_tensor *Ys, mo_tensor *weight,
    mo_tensor *Zq, mo_tensor *const *parameters) {
    mo_context *ctx = mo_tape_context(t);
    if (!mo_head_validate(ctx, head) || (head->n_parameters && !mo_given(ctx, head->name, "parameters", parameters)) ||
        !check_inputs(ctx, head, Zs, Ys, Zq))
        return mo_null_tensor(ctx);
    mo_tensor *logits =
        weight && head->weighted ? head->weighted(t, Zs, Ys, mo_cast(t, weight, mo_tensor_dtype(Zs)), Zq, parameters)
        : head->logits           ? head->logits(t, Zs, Ys, Zq, parameters)
        : head->linear           ? linear_logits(t, head, Zs, Ys, Zq, parameters)
                                 : mo_matmul(t, mo_append_ones(t, Zq), mo_head_weights(t, head, Zs, Ys, parameters));
    return mo_ok(ctx) && check_logits(ctx, head, logits, Zq, mo_dim(Ys, -1)) ? logits : mo_null_tensor(ctx);
}

mo_tensor *mo_head_apply(
    mo_tape *t, const mo_head *head, mo_tensor *Zs, mo_tensor *Ys, mo_tensor *Zq, mo_tensor *const *parameters) {
    return mo_head_apply_weighted(t, head, Zs, Ys, NULL, Zq, parameters);
}

/* Checks that row weights are [.., n_s], of the rows' dtype and not negative. */
static bool check_weight(mo_tape *t, const mo_head *head, const mo_tensor *Zs, mo_tensor *weight) {
    mo_context *ctx = mo_tape_context(t);
    char zs[160], w[160];
    bool fit =
        !mo_is_null(weight) && mo_ndim(weight) == mo_ndim(Zs) - 1 && mo_tensor_dtype(weight) == mo_tensor_dtype(Zs);
    for (int i = 0; fit && i < mo_ndim(weight); i++)
        fit = mo_dim(weight, i) == mo_dim(Zs, i);
    if (!fit) {
        mo_fail(ctx, MO_INVALID, "head %s: expected weights [.., n_s] of the dtype of the support; got %s, %s",
            head->name, mo_shape_string(weight, w, sizeof w), mo_shape_string(Zs, zs, sizeof zs));
        return false;
    }
    double least = -mo_item(mo_max(t, mo_neg(t, mo_stop_gradient(t, weight)), MO_ALL, MO_DROP_AXES));
    if (mo_ok(ctx) && !(least >= 0))
        mo_fail(ctx, MO_INVALID, "head %s: a row has the weight %g, expected 0 or more", head->name, least);
    return mo_ok(ctx);
}

mo_code mo_head_fit(mo_tape *t, const mo_head *head, mo_tensor *Zs, mo_tensor *Ys, mo_tensor *weight,
    mo_tensor *const *parameters, mo_tensor **W, mo_tensor **b) {
    mo_context *ctx = mo_tape_context(t);
    if (W && b)
        *W = *b = mo_null_tensor(ctx);
    if (!mo_head_validate(ctx, head) || !mo_given(ctx, head->name, "W", W) || !mo_given(ctx, head->name, "b", b) ||
        (head->n_parameters && !mo_given(ctx, head->name, "parameters", parameters)) ||
        !check_inputs(ctx, head, Zs, Ys, Zs) || (weight && !check_weight(t, head, Zs, weight)))
        return mo_context_status(ctx)->code;
    if (head->linear)
        head->linear(t, Zs, Ys, weight, parameters, W, b);
    else if (head->residual && !weight)
        mo_divide_weights(t, mo_head_weights(t, head, Zs, Ys, parameters), W, b);
    else
        mo_fail(ctx, MO_UNSUPPORTED, "head %s: %s", head->name,
            head->residual ? "a residual has no weights of rows" : "its logits are not linear in the queries");
    if (!mo_ok(ctx))
        *W = *b = mo_null_tensor(ctx);
    return mo_context_status(ctx)->code;
}

/* ---- from a shared object: its exported mo_head_plugin, checked for the version it was built for ---- */

const mo_head *mo_load_head(mo_context *ctx, const char *path) {
    void *object;
    const mo_plugin expected = {MO_HEAD_ABI, sizeof(mo_head)};
    const mo_head *head = mo_plugin_open(ctx, "load head", "mo_head_plugin", expected, path, &object);
    if (!head || mo_head_validate(ctx, head))
        return head;
    dlclose(object);
    return NULL;
}
