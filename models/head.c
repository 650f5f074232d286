/* models/head.c - calling a head: checks of its table, of its inputs and of its result, and its initial parameters. */
#include "autograd/op.h"
#include "models/heads/heads.h"
#include "models/model.h"
#include "tensor/files/file.h"
#include "tensor/library.h"
#include "tensor/objects.h"

#include <dlfcn.h>

#include <math.h>
#include <stdio.h>
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
    int64_t shape[2], n;
    for (int i = 0; i < p->ndim; i++)
        shape[i] = p->shape[i] == MO_HEAD_DIM ? d : p->shape[i];
    mo_tensor *zero = mo_full(t, real, p->ndim, shape, 0); /* refuses a size that no memory holds */
    n = mo_numel(zero);
    if (p->value == 0 || mo_is_null(zero))
        return zero;
    double *x = mo_host_array(mo_tape_context(t), n, sizeof *x), bound = p->value / sqrt((double)shape[0]);
    if (!x)
        return mo_null_tensor(mo_tape_context(t));
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
    if (!mo_head_validate(ctx, head) || (head->n_parameters && !mo_given(ctx, head->name, "out", out)))
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
               mo_dim(Zs, -2) == mo_dim(Ys, -2) && mo_dim(Zs, -2) >= 1 && mo_dim(Ys, -1) >= 1;
    for (int i = 0; fit && i < n - 2; i++)
        fit = mo_dim(Zs, i) == mo_dim(Ys, i) && mo_dim(Zs, i) == mo_dim(Zq, i);
    char zs[160], ys[160], zq[160];
    if (!fit)
        mo_fail(ctx, MO_INVALID,
            "head %s: expected support [.., n_s, d], labels [.., n_s, C], queries [.., n_q, d], with a row and a class "
            "at least; got %s, %s, %s",
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
    double least = mo_least(t, weight);
    if (mo_ok(ctx) && !(least >= 0))
        mo_fail(ctx, MO_INVALID, "head %s: a row has the weight %g, expected 0 or more", head->name, least);
    return mo_ok(ctx);
}

/* ---- an episode as a head gets it ---- */

/* given: as the caller passed it. The other members are what the head gets. */
typedef struct head_call {
    const mo_head *head;
    mo_dtype given;
    mo_tensor *Zs, *Ys, *weight, *Zq; /* weight, Zq: NULL if there are none */
    mo_tensor *parameter[MO_MAX_HEAD_PARAMETERS];
    mo_tensor *counted; /* [.., n_s, 1]: 0 for a row that is padding; NULL: no row is */
    mo_tensor *present; /* [.., 1, C]: 0 for a class without a support row; NULL: no class is without */
    mo_tensor *centre;  /* [.., 1, d]: subtracted from all rows; NULL: nothing is */
} head_call;

static head_call call_of(
    const mo_head *head, mo_tensor *Zs, mo_tensor *Ys, mo_tensor *weight, mo_tensor *Zq, mo_tensor *const *parameters) {
    head_call c = {.head = head, .given = mo_tensor_dtype(Zs), .Zs = Zs, .Ys = Ys, .weight = weight, .Zq = Zq};
    for (int i = 0; i < head->n_parameters; i++)
        c.parameter[i] = parameters[i];
    return c;
}

static bool takes_weights(const mo_head *head) {
    return head->weighted || head->linear;
}

/* Raises MO_INVALID for the first episode that has only padding. */
static bool check_support(mo_tape *t, const mo_head *head, mo_tensor *size) {
    mo_tensor *total = mo_sum(t, size, MO_AXES(-1, -2), MO_DROP_AXES);
    if (mo_least(t, total) != 0)
        return mo_ok(mo_tape_context(t));
    int64_t item = 0, n = mo_numel(total);
    total = mo_reshape(t, total, 1, &n);
    while (item < n - 1 && mo_item(mo_slice(t, total, MO_AXIS(0), item, item + 1)) != 0)
        item++;
    return mo_fail(mo_tape_context(t), MO_INVALID,
        "head %s: episode %lld has no support row, as all its rows have the weight 0 or no label", head->name,
        (long long)item);
}

/* Finds padding and classes without a support row, and sets the padding's rows, labels and weights to 0. A head that
 * takes no weights gets its padding as it is. */
static bool find_padding(mo_tape *t, head_call *c) {
    mo_tensor *size = mo_abs(t, mo_stop_gradient(t, c->Ys)), *zero = mo_scalar(t, c->given, 0);
    if (c->weight)
        size = mo_mul(t, size, mo_with_axis(t, mo_stop_gradient(t, c->weight), MO_AXIS(-1), 1));
    if (mo_numel(size) == 0)
        return mo_ok(mo_tape_context(t));
    mo_tensor *rows = mo_sum(t, size, MO_AXIS(-1), MO_KEEP_AXES), *classes = mo_sum(t, size, MO_AXIS(-2), MO_KEEP_AXES);
    bool padded = mo_least(t, rows) == 0;
    c->present = mo_least(t, classes) == 0 ? classes : NULL;
    if (!padded || !takes_weights(c->head))
        return mo_ok(mo_tape_context(t));
    if (!check_support(t, c->head, size))
        return false;
    c->counted = mo_where(t, rows, mo_scalar(t, c->given, 1), zero);
    mo_tensor *flat = mo_sum(t, c->counted, MO_AXIS(-1), MO_DROP_AXES);
    c->weight = c->weight ? mo_where(t, flat, c->weight, zero) : flat;
    c->Zs = mo_where(t, rows, c->Zs, zero);
    c->Ys = mo_where(t, rows, c->Ys, zero);
    return mo_ok(mo_tape_context(t));
}

/* Returns the support's mean, or its mean without padding, as a constant. */
static mo_tensor *mean_of_rows(mo_tape *t, const head_call *c) {
    mo_axes rows = MO_AXIS(-2);
    mo_tensor *Zs = mo_stop_gradient(t, c->Zs);
    if (!c->counted)
        return mo_mean(t, Zs, rows, MO_KEEP_AXES);
    return mo_div(t, mo_sum(t, Zs, rows, MO_KEEP_AXES), mo_sum(t, c->counted, rows, MO_KEEP_AXES));
}

/* Subtracts the mean. As the logits do not depend on it, the derivatives are right with the mean as a constant. */
static void centre_rows(mo_tape *t, head_call *c) {
    c->centre = mean_of_rows(t, c);
    c->Zs = mo_sub(t, c->Zs, c->centre);
    if (c->counted)
        c->Zs = mo_where(t, c->counted, c->Zs, mo_scalar(t, c->given, 0));
    if (c->Zq)
        c->Zq = mo_sub(t, c->Zq, c->centre);
}

/* In an episode whose |mean|^2 is above FAR times the mean |row - mean|^2, float32 keeps too little of the distances:
 * in products of rows, each is rounded by |mean|^2 / 2^24. */
#define FAR 64.0
/* Above this, rounding hides the differences of the cosines, about |row - mean|^2 / |mean|^2. */
#define TOO_FAR 0x1p20

static bool lies_far(mo_tape *t, const head_call *c, double ratio) {
    if (mo_numel(c->Zs) == 0)
        return false;
    mo_axes last = MO_AXIS(-1), rows = MO_AXIS(-2);
    mo_tensor *mean = mean_of_rows(t, c), *gap = mo_sub(t, mo_stop_gradient(t, c->Zs), mean);
    mo_tensor *spread = mo_sum(t, mo_square(t, gap), last, MO_KEEP_AXES);
    spread = c->counted ? mo_div(t, mo_sum(t, mo_mul(t, spread, c->counted), rows, MO_KEEP_AXES),
                              mo_sum(t, c->counted, rows, MO_KEEP_AXES))
                        : mo_mean(t, spread, rows, MO_KEEP_AXES);
    mo_tensor *far = mo_sum(t, mo_square(t, mean), last, MO_KEEP_AXES);
    return mo_least(t, mo_sub(t, mo_scale(t, spread, ratio, 0), far)) < 0;
}

static void widen(mo_tape *t, head_call *c) {
    mo_tensor **in[] = {&c->Zs, &c->Ys, &c->weight, &c->Zq, &c->counted, &c->present};
    for (size_t i = 0; i < sizeof in / sizeof *in; i++)
        if (*in[i])
            *in[i] = mo_cast(t, *in[i], MO_F64);
    for (int i = 0; i < c->head->n_parameters; i++)
        c->parameter[i] = mo_cast(t, c->parameter[i], MO_F64);
}

/* Treats rows far from 0 as the head asks; may read values on the host. Returns false after an error. */
static bool treat_offset(mo_tape *t, head_call *c) {
    bool narrow = c->given == MO_F32;
    if (c->head->offset == MO_OFFSET_FREE)
        centre_rows(t, c);
    else if (c->head->offset == MO_OFFSET_WIDE && narrow && lies_far(t, c, FAR))
        widen(t, c);
    else if (c->head->offset == MO_OFFSET_ANGLE && narrow && lies_far(t, c, TOO_FAR))
        mo_fail(mo_tape_context(t), MO_NUMERICAL,
            "head %s: the rows lie so far from 0 that float32 cannot tell their directions apart; centre the rows, or "
            "take float64",
            c->head->name);
    return mo_ok(mo_tape_context(t));
}

bool mo_rows_lie_far(mo_tape *t, mo_tensor *Zs) {
    return mo_tensor_dtype(Zs) == MO_F32 && lies_far(t, &(head_call){.Zs = Zs, .given = MO_F32}, FAR);
}

/* Returns logits, or biases, of the caller's dtype, with -infinity for classes without a support row. */
static mo_tensor *without_absent(mo_tape *t, const head_call *c, mo_tensor *logits) {
    if (c->present)
        logits = mo_where(t, c->present, logits, mo_scalar(t, mo_tensor_dtype(logits), -INFINITY));
    return mo_cast(t, logits, c->given);
}

/* ---- calling it ---- */

/* Fits W [.., d, C] and b [.., 1, C], and checks them. */
static bool call_linear(mo_tape *t, const head_call *c, mo_tensor **W, mo_tensor **b) {
    mo_context *ctx = mo_tape_context(t);
    const mo_tensor *found[2];
    char got[2][160], zs[160], ys[160];
    *W = *b = mo_null_tensor(ctx);
    c->head->linear(t, c->Zs, c->Ys, c->weight, c->parameter, W, b);
    found[0] = *W;
    found[1] = *b;
    int n = mo_ndim(c->Zs);
    bool fits = mo_ok(ctx);
    for (int k = 0; k < 2 && fits; k++) {
        fits = found[k] && !mo_is_null(found[k]) && mo_ndim(found[k]) == n &&
               mo_tensor_dtype(found[k]) == mo_tensor_dtype(c->Zs) && mo_dim(found[k], -1) == mo_dim(c->Ys, -1) &&
               mo_dim(found[k], -2) == (k ? 1 : mo_dim(c->Zs, -1));
        for (int i = 0; i < n - 2 && fits; i++)
            fits = mo_dim(found[k], i) == mo_dim(c->Zs, i);
    }
    for (int k = 0; k < 2 && mo_ok(ctx) && !fits; k++)
        if (!found[k] || mo_is_null(found[k]))
            snprintf(got[k], sizeof got[k], "no tensor");
        else
            snprintf(got[k], sizeof got[k], "%.120s %s", mo_shape_string(found[k], zs, sizeof zs),
                mo_dtype_name(mo_tensor_dtype(found[k])));
    if (mo_ok(ctx) && !fits)
        mo_fail(ctx, MO_INVALID,
            "head %s: its linear fit gave W %s and b %s, expected [.., d, C] and [.., 1, C] of the dtype of the "
            "support %s %s with labels %s",
            c->head->name, got[0], got[1], mo_shape_string(c->Zs, zs, sizeof zs), mo_dtype_name(mo_tensor_dtype(c->Zs)),
            mo_shape_string(c->Ys, ys, sizeof ys));
    return fits;
}

static mo_tensor *call_logits(mo_tape *t, const head_call *c) {
    mo_context *ctx = mo_tape_context(t);
    const mo_head *head = c->head;
    mo_tensor *logits, *W, *b;
    if (c->weight && head->weighted)
        logits = head->weighted(t, c->Zs, c->Ys, c->weight, c->Zq, c->parameter);
    else if (head->logits && !c->weight)
        logits = head->logits(t, c->Zs, c->Ys, c->Zq, c->parameter);
    else if (head->linear)
        logits = call_linear(t, c, &W, &b) ? mo_add(t, mo_matmul(t, c->Zq, W), b) : mo_null_tensor(ctx);
    else
        logits = mo_matmul(t, mo_append_ones(t, c->Zq), mo_head_weights(t, head, c->Zs, c->Ys, c->parameter));
    return mo_ok(ctx) && check_logits(ctx, head, logits, c->Zq, mo_dim(c->Ys, -1)) ? logits : mo_null_tensor(ctx);
}

/* Writes the results of a call: logits, or W and b if there are no queries. Returns their number, 0 after an error. */
static int call_head(mo_tape *t, const head_call *c, mo_tensor *out[2]) {
    if (c->Zq)
        out[0] = call_logits(t, c);
    else if (c->head->linear)
        call_linear(t, c, &out[0], &out[1]);
    else
        mo_divide_weights(t, mo_head_weights(t, c->head, c->Zs, c->Ys, c->parameter), &out[0], &out[1]);
    return !mo_ok(mo_tape_context(t)) ? 0 : c->Zq ? 1 : 2;
}

/* ---- the classes that have a support row ---- */

/* X with its first `lead` axes as one. */
static mo_tensor *one_batch_axis(mo_tape *t, mo_tensor *X, int lead) {
    int64_t shape[MO_MAX_AXES];
    int n = mo_ndim(X) - lead;
    shape[0] = 1;
    for (int i = 0; i < mo_ndim(X); i++)
        i < lead ? (shape[0] *= mo_dim(X, i)) : (shape[i - lead + 1] = mo_dim(X, i));
    return mo_reshape(t, mo_contiguous(t, X), n + 1, shape);
}

/* The call for episode b alone, as a batch of one. */
static head_call call_of_episode(mo_tape *t, const head_call *c, int64_t b) {
    head_call one = *c;
    int lead = mo_ndim(c->Zs) - 2;
    mo_tensor **in[] = {&one.Zs, &one.Ys, &one.weight, &one.Zq};
    for (size_t i = 0; i < sizeof in / sizeof *in; i++)
        if (*in[i])
            *in[i] = mo_slice(t, one_batch_axis(t, *in[i], lead), MO_AXIS(0), b, b + 1);
    for (int i = 0; i < c->head->n_parameters; i++)
        if (mo_ndim(c->parameter[i]) > c->head->parameters[i].ndim) /* one of each episode */
            one.parameter[i] = mo_slice(t, one_batch_axis(t, c->parameter[i], lead), MO_AXIS(0), b, b + 1);
    return one;
}

/* mo_concat of any number of parts. */
static mo_tensor *concat_all(mo_tape *t, mo_tensor *const *part, int64_t n, int axis) {
    mo_tensor *whole[MO_MAX_INPUTS];
    int64_t size = (n + MO_MAX_INPUTS - 1) / MO_MAX_INPUTS, m = 0;
    if (n <= MO_MAX_INPUTS)
        return mo_concat(t, part, (int)n, MO_AXIS(axis));
    for (int64_t at = 0; at < n; at += size)
        whole[m++] = concat_all(t, part + at, size < n - at ? size : n - at, axis);
    return mo_concat(t, whole, (int)m, MO_AXIS(axis));
}

/* Runs the call for the classes with present[k] != 0 alone; the other columns of the results are 0. part: room for C
 * tensors. */
static int call_for_classes(mo_tape *t, head_call c, const double *present, mo_tensor **part, mo_tensor *out[2]) {
    int64_t n = 0, C = mo_dim(c.Ys, -1);
    for (int64_t k = 0; k < C; k++)
        if (present[k] != 0)
            part[n++] = mo_slice(t, c.Ys, MO_AXIS(-1), k, k + 1);
    c.Ys = concat_all(t, part, n, -1);
    int results = call_head(t, &c, out);
    for (int i = 0; i < results; i++) {
        int64_t shape[MO_MAX_AXES];
        for (int axis = 0; axis < mo_ndim(out[i]); axis++)
            shape[axis] = axis < mo_ndim(out[i]) - 1 ? mo_dim(out[i], axis) : 1;
        mo_tensor *none = mo_full(t, mo_tensor_dtype(out[i]), mo_ndim(out[i]), shape, 0);
        for (int64_t k = 0, at = 0; k < C; k++)
            if (present[k] != 0) {
                part[k] = mo_slice(t, out[i], MO_AXIS(-1), at, at + 1);
                at++;
            } else {
                part[k] = none;
            }
        out[i] = concat_all(t, part, C, -1);
    }
    return mo_ok(mo_tape_context(t)) ? results : 0;
}

/* Runs the call so that a class without a support row has no part in the fit of its episode. */
static int call_present(mo_tape *t, const head_call *c, mo_tensor *out[2]) {
    mo_context *ctx = mo_tape_context(t);
    if (!c->present || c->head->separate_classes)
        return call_head(t, c, out);
    int64_t C = mo_dim(c->Ys, -1), B = mo_numel(c->present) / C, shape[MO_MAX_AXES];
    double *present = mo_host_array(ctx, B * C, sizeof *present);
    mo_tensor **part = mo_host_array(ctx, C + 2 * B, sizeof *part), *one[2];
    bool read = present && part && mo_read_as(c->present, MO_F64, present), alike = true;
    for (int64_t i = C; read && i < B * C; i++)
        alike &= (present[i] != 0) == (present[i - C] != 0);
    int results = 0, lead = mo_ndim(c->Zs) - 2;
    if (read && alike) {
        results = call_for_classes(t, *c, present, part, out);
    } else if (read) {
        for (int64_t b = 0; b < B && mo_ok(ctx); b++) {
            results = call_for_classes(t, call_of_episode(t, c, b), present + b * C, part, one);
            for (int i = 0; i < results; i++)
                part[C + i * B + b] = one[i];
        }
        for (int i = 0; i < results && mo_ok(ctx); i++) {
            out[i] = concat_all(t, part + C + i * B, B, 0);
            for (int axis = 0; axis < lead + 2; axis++)
                shape[axis] = axis < lead ? mo_dim(c->Zs, axis) : mo_dim(out[i], axis - lead + 1);
            out[i] = mo_reshape(t, out[i], lead + 2, shape);
        }
    }
    free(part);
    free(present);
    return mo_ok(ctx) ? results : 0;
}

static bool check_call(mo_context *ctx, const mo_head *head, const mo_tensor *Zs, const mo_tensor *Ys,
    const mo_tensor *Zq, mo_tensor *const *parameters) {
    return mo_head_validate(ctx, head) &&
           (!head->n_parameters || mo_given(ctx, head->name, "parameters", parameters)) &&
           check_inputs(ctx, head, Zs, Ys, Zq);
}

mo_tensor *mo_head_apply_weighted(mo_tape *t, const mo_head *head, mo_tensor *Zs, mo_tensor *Ys, mo_tensor *weight,
    mo_tensor *Zq, mo_tensor *const *parameters) {
    mo_context *ctx = mo_tape_context(t);
    if (!check_call(ctx, head, Zs, Ys, Zq, parameters))
        return mo_null_tensor(ctx);
    weight = weight && head->weighted ? mo_cast(t, weight, mo_tensor_dtype(Zs)) : NULL;
    head_call c = call_of(head, Zs, Ys, weight, Zq, parameters);
    if (head->offset == MO_OFFSET_FREE)
        centre_rows(t, &c);
    return call_logits(t, &c);
}

mo_tensor *mo_head_apply_rows(mo_tape *t, const mo_head *head, mo_tensor *Zs, mo_tensor *Ys, mo_tensor *weight,
    mo_tensor *Zq, mo_tensor *const *parameters) {
    mo_context *ctx = mo_tape_context(t);
    if (!check_call(ctx, head, Zs, Ys, Zq, parameters) || (weight && !check_weight(t, head, Zs, weight)))
        return mo_null_tensor(ctx);
    if (weight && !takes_weights(head)) {
        mo_fail(ctx, MO_UNSUPPORTED, "head %s: it takes no weights of rows", head->name);
        return mo_null_tensor(ctx);
    }
    head_call c = call_of(head, Zs, Ys, weight, Zq, parameters);
    mo_tensor *out[2];
    if (mo_numel(Ys) == 0) /* there is no episode: logits of that shape, for every head */
        return mo_matmul(t, Zq, mo_matmul(t, mo_transpose(t, Zs), Ys));
    return find_padding(t, &c) && treat_offset(t, &c) && call_present(t, &c, out) ? without_absent(t, &c, out[0])
                                                                                  : mo_null_tensor(ctx);
}

mo_tensor *mo_head_apply(
    mo_tape *t, const mo_head *head, mo_tensor *Zs, mo_tensor *Ys, mo_tensor *Zq, mo_tensor *const *parameters) {
    return mo_head_apply_rows(t, head, Zs, Ys, NULL, Zq, parameters);
}

mo_code mo_head_fit(mo_tape *t, const mo_head *head, mo_tensor *Zs, mo_tensor *Ys, mo_tensor *weight,
    mo_tensor *const *parameters, mo_tensor **W, mo_tensor **b) {
    mo_context *ctx = mo_tape_context(t);
    if (W && b)
        *W = *b = mo_null_tensor(ctx);
    if (!mo_head_validate(ctx, head) || !mo_given(ctx, head->name, "W", W) || !mo_given(ctx, head->name, "b", b) ||
        !check_call(ctx, head, Zs, Ys, Zs, parameters) || (weight && !check_weight(t, head, Zs, weight)))
        return mo_context_status(ctx)->code;
    if (!head->linear && (!head->residual || weight)) {
        mo_fail(ctx, MO_UNSUPPORTED, "head %s: %s", head->name,
            head->residual ? "a residual has no weights of rows" : "its logits are not linear in the queries");
        return mo_context_status(ctx)->code;
    }
    head_call c = call_of(head, Zs, Ys, weight, NULL, parameters);
    mo_tensor *out[2];
    if (find_padding(t, &c) && treat_offset(t, &c) && call_present(t, &c, out)) {
        if (c.centre)
            out[1] = mo_sub(t, out[1], mo_matmul(t, c.centre, out[0]));
        *W = mo_cast(t, out[0], c.given);
        *b = without_absent(t, &c, out[1]);
    }
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
