/* models/head.c - fitting and applying a head: checks of its table, of its inputs and of its result, and its initial
 * parameters. */
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
    else if (!!head->fit + !!head->logits + !!head->residual != 1)
        mo_fail(ctx, MO_INVALID, "head %s: it has %d of fit, logits and residual, expected one of them", head->name,
            !!head->fit + !!head->logits + !!head->residual);
    else if ((head->apply || head->held_out) && !head->fit)
        mo_fail(ctx, MO_INVALID, "head %s: it has a function on its state, but no fit that makes one", head->name);
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
        return mo_code_of(ctx);
    for (int i = 0; i < head->n_parameters; i++) {
        const mo_head_parameter *p = &head->parameters[i];
        double value = lambda && !strcmp(p->name, "lambda") ? *lambda : p->value;
        if (p->ndim == 0 && p->low < p->high && !(value >= p->low && value <= p->high))
            mo_fail(
                ctx, MO_INVALID, "head %s: %s is %g, expected %g to %g", head->name, p->name, value, p->low, p->high);
        out[i] = p->ndim ? draw(t, p, i, real, d, seed) : mo_scalar(t, real, value);
    }
    return mo_code_of(ctx);
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

/* given: the dtype that the caller passed. The other members are what the head gets. */
typedef struct head_call {
    const mo_head *head;
    mo_dtype given;
    mo_support of; /* the caller's, with Zs, Ys and weight as the head gets them */
    mo_tensor *Zq; /* as the caller passed it; NULL if there are none */
    mo_tensor *parameter[MO_MAX_HEAD_PARAMETERS];
    mo_tensor *counted; /* [.., n_s, 1]: 0 for a row that is padding; NULL: no row is */
    mo_tensor *present; /* [.., 1, C]: 0 for a class without a support row; NULL: no class is without */
    mo_tensor *centre;  /* [.., 1, d]: subtracted from all rows; NULL: nothing is */
} head_call;

static head_call call_of(const mo_head *head, const mo_support *support, mo_tensor *Zq, mo_tensor *const *parameters) {
    head_call c = {.head = head, .given = mo_tensor_dtype(support->Zs), .of = *support, .Zq = Zq};
    for (int i = 0; i < head->n_parameters; i++)
        c.parameter[i] = parameters[i];
    return c;
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
    mo_tensor *size = mo_abs(t, mo_stop_gradient(t, c->of.Ys)), *zero = mo_scalar(t, c->given, 0);
    if (c->of.weight)
        size = mo_mul(t, size, mo_with_axis(t, mo_stop_gradient(t, c->of.weight), MO_AXIS(-1), 1));
    if (mo_numel(size) == 0)
        return mo_ok(mo_tape_context(t));
    mo_tensor *rows = mo_sum(t, size, MO_AXIS(-1), MO_KEEP_AXES), *classes = mo_sum(t, size, MO_AXIS(-2), MO_KEEP_AXES);
    bool padded = mo_least(t, rows) == 0;
    c->present = mo_least(t, classes) == 0 ? classes : NULL;
    if (!padded || !c->head->fit)
        return mo_ok(mo_tape_context(t));
    if (!check_support(t, c->head, size))
        return false;
    c->counted = mo_where(t, rows, mo_scalar(t, c->given, 1), zero);
    mo_tensor *flat = mo_sum(t, c->counted, MO_AXIS(-1), MO_DROP_AXES);
    c->of.weight = c->of.weight ? mo_where(t, flat, c->of.weight, zero) : flat;
    c->of.Zs = mo_where(t, rows, c->of.Zs, zero);
    c->of.Ys = mo_where(t, rows, c->of.Ys, zero);
    return mo_ok(mo_tape_context(t));
}

/* Returns the support's mean, or its mean without padding, as a constant. */
static mo_tensor *mean_of_rows(mo_tape *t, const head_call *c) {
    mo_axes rows = MO_AXIS(-2);
    mo_tensor *Zs = mo_stop_gradient(t, c->of.Zs);
    if (!c->counted)
        return mo_mean(t, Zs, rows, MO_KEEP_AXES);
    return mo_div(t, mo_sum(t, Zs, rows, MO_KEEP_AXES), mo_sum(t, c->counted, rows, MO_KEEP_AXES));
}

static bool is_free(const mo_head *head) {
    return head->offset == MO_OFFSET_FREE || head->offset == MO_OFFSET_MEANS;
}

/* Subtracts the mean. As the logits do not depend on it, the derivatives are right with the mean as a constant. */
static void centre_rows(mo_tape *t, head_call *c) {
    c->centre = mean_of_rows(t, c);
    c->of.Zs = mo_sub(t, c->of.Zs, c->centre);
    if (c->counted)
        c->of.Zs = mo_where(t, c->counted, c->of.Zs, mo_scalar(t, c->given, 0));
}

/* Above this in place of MO_FAR_ROWS, rounding hides the differences of the cosines, about |row - mean|^2 / |mean|^2.
 */
#define TOO_FAR 0x1p20

static bool lies_far(mo_tape *t, const head_call *c, double ratio) {
    if (mo_numel(c->of.Zs) == 0)
        return false;
    mo_axes last = MO_AXIS(-1), rows = MO_AXIS(-2);
    mo_tensor *mean = mean_of_rows(t, c), *gap = mo_sub(t, mo_stop_gradient(t, c->of.Zs), mean);
    mo_tensor *spread = mo_sum(t, mo_square(t, gap), last, MO_KEEP_AXES);
    spread = c->counted ? mo_div(t, mo_sum(t, mo_mul(t, spread, c->counted), rows, MO_KEEP_AXES),
                              mo_sum(t, c->counted, rows, MO_KEEP_AXES))
                        : mo_mean(t, spread, rows, MO_KEEP_AXES);
    mo_tensor *far = mo_sum(t, mo_square(t, mean), last, MO_KEEP_AXES);
    return mo_least(t, mo_sub(t, mo_scale(t, spread, ratio, 0), far)) < 0;
}

enum { MANY = 1 << 16, FIRST_ROWS = 16 };

/* Whether a copy of many float32 rows without their mean can be spared: it takes a third of the time of class means. A
 * mean and distances to it need only the scale of the offset, which the first rows of each episode show. */
static bool may_keep_offset(mo_tape *t, const head_call *c) {
    if (c->head->offset != MO_OFFSET_MEANS || c->given != MO_F32 || c->counted || mo_numel(c->of.Zs) < MANY)
        return false;
    int64_t n = mo_dim(c->of.Zs, -2);
    mo_tensor *first = mo_slice(t, mo_stop_gradient(t, c->of.Zs), MO_AXIS(-2), 0, n < FIRST_ROWS ? n : FIRST_ROWS);
    return !lies_far(t, &(head_call){.of.Zs = first, .given = MO_F32}, MO_FAR_ROWS);
}

static void widen(mo_tape *t, head_call *c) {
    mo_tensor **in[] = {&c->of.Zs, &c->of.Ys, &c->of.weight, &c->counted, &c->present};
    for (size_t i = 0; i < sizeof in / sizeof *in; i++)
        if (*in[i])
            *in[i] = mo_cast(t, *in[i], MO_F64);
    for (int i = 0; i < c->head->n_parameters; i++)
        c->parameter[i] = mo_cast(t, c->parameter[i], MO_F64);
}

/* Treats rows far from 0 as the head asks; may read values on the host. Returns false after an error. */
static bool treat_offset(mo_tape *t, head_call *c) {
    bool narrow = c->given == MO_F32;
    if (is_free(c->head) && !may_keep_offset(t, c))
        centre_rows(t, c);
    else if (c->head->offset == MO_OFFSET_WIDE && narrow && lies_far(t, c, MO_FAR_ROWS))
        widen(t, c);
    else if (c->head->offset == MO_OFFSET_ANGLE && narrow && lies_far(t, c, TOO_FAR))
        mo_fail(mo_tape_context(t), MO_NUMERICAL,
            "head %s: the rows lie so far from 0 that float32 cannot tell their directions apart; centre the rows, or "
            "take float64",
            c->head->name);
    return mo_ok(mo_tape_context(t));
}

bool mo_rows_lie_far(mo_tape *t, mo_tensor *Zs) {
    return mo_tensor_dtype(Zs) == MO_F32 && lies_far(t, &(head_call){.of.Zs = Zs, .given = MO_F32}, MO_FAR_ROWS);
}

/* The sum of K is n^2 |mean|^2, its trace n (|mean|^2 + spread). Where MO_FAR_ROWS spread is |mean|^2, these terms
 * differ by a part in it, far above their rounding. */
bool mo_gram_lies_far(mo_tape *t, mo_tensor *K) {
    if (mo_tensor_dtype(K) != MO_F32 || mo_numel(K) == 0)
        return false;
    K = mo_stop_gradient(t, K);
    double n = (double)mo_dim(K, -1);
    mo_tensor *mean = mo_sum(t, K, MO_AXES(-1, -2), MO_DROP_AXES);
    mo_tensor *trace = mo_sum(t, mo_diagonal(t, K), MO_AXIS(-1), MO_DROP_AXES);
    return mo_least(t, mo_sub(t, mo_scale(t, trace, MO_FAR_ROWS * n, 0), mo_scale(t, mean, MO_FAR_ROWS + 1, 0))) < 0;
}

/* Treats padding, classes without a support row and rows far from 0; reads no value if the support is complete. */
static bool prepare_call(mo_tape *t, head_call *c) {
    if (c->of.targets && c->head->offset == MO_OFFSET_WIDE)
        widen(t, c);
    if (c->of.targets)
        c->of.complete = true;
    if (!c->of.complete)
        return find_padding(t, c) && treat_offset(t, c);
    if (c->of.weight)
        c->of.weight = mo_cast(t, c->of.weight, c->given);
    if (is_free(c->head))
        centre_rows(t, c);
    return mo_ok(mo_tape_context(t));
}

/* ---- the classes that have a support row ---- */

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

/* Reads which classes of the first episode are present, 1 or 0; owned. NULL on failure. alike (may be NULL): whether
 * all episodes have the same. */
static double *read_present(mo_tape *t, mo_tensor *present, bool *alike) {
    int64_t C = mo_dim(present, -1), n = mo_numel(present);
    double *x = mo_host_array(mo_tape_context(t), n, sizeof *x);
    if (!x || !mo_read_as(present, MO_F64, x)) {
        free(x);
        return NULL;
    }
    for (int64_t i = C; alike && i < n; i++)
        *alike &= (x[i] != 0) == (x[i - C] != 0);
    return x;
}

/* The columns of X [.., C] whose class is present. */
static mo_tensor *present_columns(mo_tape *t, mo_tensor *X, mo_tensor *present) {
    int64_t n = 0, C = mo_dim(X, -1);
    double *x = read_present(t, present, NULL);
    mo_tensor **part = x ? mo_host_array(mo_tape_context(t), C, sizeof *part) : NULL;
    for (int64_t k = 0; part && k < C; k++)
        if (x[k] != 0)
            part[n++] = mo_slice(t, X, MO_AXIS(-1), k, k + 1);
    X = part ? concat_all(t, part, n, -1) : mo_null_tensor(mo_tape_context(t));
    free(part);
    free(x);
    return X;
}

/* Gives X a column for each class: those of the classes that are not present hold `value`. */
static mo_tensor *all_columns(mo_tape *t, mo_tensor *X, mo_tensor *present, double value) {
    int64_t C = mo_dim(present, -1), shape[MO_MAX_AXES];
    if (mo_is_null(X))
        return X;
    if (mo_dim(X, -1) == C) {
        mo_tensor *other = mo_scalar(t, mo_tensor_dtype(X), value);
        return value == 0 ? X : mo_where(t, present, X, other);
    }
    double *x = read_present(t, present, NULL);
    mo_tensor **part = x ? mo_host_array(mo_tape_context(t), C, sizeof *part) : NULL;
    for (int axis = 0; axis < mo_ndim(X); axis++)
        shape[axis] = axis < mo_ndim(X) - 1 ? mo_dim(X, axis) : 1;
    mo_tensor *none = mo_full(t, mo_tensor_dtype(X), mo_ndim(X), shape, value);
    for (int64_t k = 0, at = 0; part && k < C; k++)
        if (x[k] != 0) {
            part[k] = mo_slice(t, X, MO_AXIS(-1), at, at + 1);
            at++;
        } else {
            part[k] = none;
        }
    X = part ? concat_all(t, part, C, -1) : mo_null_tensor(mo_tape_context(t));
    free(part);
    free(x);
    return X;
}

/* ---- fitting ---- */

/* Checks that a linear head gave W [.., d + 1, C] of the dtype of its support, or float64. */
static void check_weights(mo_context *ctx, const head_call *c, const mo_state *s) {
    const mo_tensor *W = mo_state_find(s, "W"), *Zs = c->of.Zs, *Ys = c->of.Ys;
    int n = mo_ndim(Zs);
    bool fits = W && !mo_is_null(W) && mo_ndim(W) == n && mo_dtype_is_real(mo_tensor_dtype(W)) &&
                mo_dim(W, -1) == mo_dim(Ys, -1) && mo_dim(W, -2) == mo_dim(Zs, -1) + 1;
    for (int i = 0; i < n - 2 && fits; i++)
        fits = mo_dim(W, i) == mo_dim(Zs, i);
    char got[160] = "no tensor", zs[160], ys[160];
    if (W && !mo_is_null(W))
        mo_shape_string(W, got, sizeof got);
    if (mo_ok(ctx) && !fits)
        mo_fail(ctx, MO_INVALID,
            "head %s: its linear fit gave W %s, expected [.., d + 1, C] for the support %s with labels %s",
            c->head->name, got, mo_shape_string(Zs, zs, sizeof zs), mo_shape_string(Ys, ys, sizeof ys));
}

static const char parameter_prefix[] = "parameter.";

/* The state of a head that has only `logits`: its support and parameters. */
static void keep_support(const head_call *c, mo_state *s) {
    char name[128];
    mo_state_put(s, "Zs", c->of.Zs);
    mo_state_put(s, "Ys", c->of.Ys);
    for (int i = 0; i < c->head->n_parameters; i++) {
        snprintf(name, sizeof name, "%s%d", parameter_prefix, i);
        mo_state_put(s, name, c->parameter[i]);
    }
}

/* Fits the classes that are present, or all of them. */
static void fit_call(mo_tape *t, const head_call *c, mo_state *s) {
    mo_context *ctx = mo_tape_context(t);
    head_call own = *c;
    *s = (mo_state){
        .head = c->head, .d = mo_dim(c->of.Zs, -1), .classes = mo_dim(c->of.Ys, -1), .axes = mo_ndim(c->of.Zs)};
    if (c->present && !c->head->separate_classes)
        own.of.Ys = present_columns(t, c->of.Ys, c->present);
    if (!mo_ok(ctx))
        return;
    if (c->head->fit)
        c->head->fit(t, &own.of, own.parameter, s);
    else if (c->head->logits)
        keep_support(&own, s);
    else
        mo_state_put(s, "W", mo_head_weights(t, c->head, own.of.Zs, own.of.Ys, own.parameter));
    if (mo_ok(ctx) && !c->head->apply && !c->head->logits)
        check_weights(ctx, &own, s);
    s->real = s->n && mo_dtype_is_real(mo_tensor_dtype(s->tensor[0])) ? mo_tensor_dtype(s->tensor[0]) : c->given;
    if (c->head->held_out && c->of.held_out) {
        mo_state_put(s, "Zs", own.of.Zs);
        mo_state_put(s, "Ys", own.of.Ys);
        if (own.of.weight)
            mo_state_put(s, "weight", own.of.weight);
    }
    if (c->centre)
        mo_state_put(s, "centre", c->centre);
    if (c->present)
        mo_state_put(s, "present", c->present);
}

/* ---- applying ---- */

static mo_tensor *given_logits(mo_tape *t, const mo_state *s, mo_tensor *Zq) {
    mo_tensor *parameter[MO_MAX_HEAD_PARAMETERS];
    char name[128];
    for (int i = 0; i < s->head->n_parameters; i++) {
        snprintf(name, sizeof name, "%s%d", parameter_prefix, i);
        parameter[i] = mo_state_get(t, s, name);
    }
    mo_tensor *Zs = mo_state_get(t, s, "Zs"), *Ys = mo_state_get(t, s, "Ys");
    return mo_ok(mo_tape_context(t)) ? s->head->logits(t, Zs, Ys, Zq, parameter) : Zs;
}

static mo_tensor *apply_call(mo_tape *t, const mo_state *s, mo_tensor *Zq, mo_tensor *kernels) {
    mo_context *ctx = mo_tape_context(t);
    const mo_head *head = s->head;
    mo_dtype given = mo_tensor_dtype(Zq), real = s->real;
    mo_tensor *centre = mo_state_find(s, "centre"), *present = mo_state_find(s, "present"), *logits;
    if (centre && mo_tensor_dtype(centre) == given)
        Zq = mo_cast(t, mo_sub(t, Zq, centre), real);
    else
        Zq = centre ? mo_sub(t, mo_cast(t, Zq, real), mo_cast(t, centre, real)) : mo_cast(t, Zq, real);
    if (head->logits)
        logits = given_logits(t, s, Zq);
    else if (head->apply)
        logits = head->apply(t, s, Zq, kernels ? mo_cast(t, kernels, real) : NULL);
    else
        logits = mo_matmul(t, mo_append_ones(t, Zq), mo_state_get(t, s, "W"));
    if (!mo_ok(ctx))
        return mo_null_tensor(ctx);
    bool all = !present || mo_is_null(logits) || mo_ndim(logits) == 0 || mo_dim(logits, -1) == s->classes;
    if (!check_logits(ctx, head, logits, Zq, all ? s->classes : mo_dim(logits, -1)))
        return mo_null_tensor(ctx);
    if (present)
        logits = all_columns(t, logits, present, -INFINITY);
    return mo_cast(t, logits, given);
}

/* The weights [.., d + 1, C] of a linear head for rows that are not centred, and for all classes. */
static mo_tensor *weights_of_call(mo_tape *t, const mo_state *s) {
    mo_tensor *centre = mo_state_find(s, "centre"), *present = mo_state_find(s, "present"), *W, *b;
    mo_divide_weights(t, mo_state_get(t, s, "W"), &W, &b);
    if (centre)
        b = mo_sub(t, b, mo_matmul(t, mo_cast(t, centre, mo_tensor_dtype(W)), W));
    if (present) {
        W = all_columns(t, W, present, 0);
        b = all_columns(t, b, present, -INFINITY);
    }
    return mo_join_weights(t, W, b);
}

/* ---- both in one, for a batch of episodes ---- */

/* Returns the logits or, if there are no queries, the weights. */
static mo_tensor *call_head(mo_tape *t, const head_call *c) {
    mo_state s;
    fit_call(t, c, &s);
    if (!mo_ok(mo_tape_context(t)))
        return mo_null_tensor(mo_tape_context(t));
    return c->Zq ? apply_call(t, &s, c->Zq, NULL) : weights_of_call(t, &s);
}

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
    int lead = mo_ndim(c->of.Zs) - 2;
    mo_tensor **in[] = {&one.of.Zs, &one.of.Ys, &one.of.weight, &one.Zq, &one.present, &one.centre};
    for (size_t i = 0; i < sizeof in / sizeof *in; i++)
        if (*in[i])
            *in[i] = mo_slice(t, one_batch_axis(t, *in[i], lead), MO_AXIS(0), b, b + 1);
    for (int i = 0; i < c->head->n_parameters; i++)
        if (mo_ndim(c->parameter[i]) > c->head->parameters[i].ndim) /* one of each episode */
            one.parameter[i] = mo_slice(t, one_batch_axis(t, c->parameter[i], lead), MO_AXIS(0), b, b + 1);
    return one;
}

/* Returns whether one fit serves all episodes: their classes are fitted separately, or they lack the same. */
static bool fits_together(mo_tape *t, const head_call *c) {
    bool alike = true;
    if (c->present && !c->head->separate_classes)
        free(read_present(t, c->present, &alike));
    return alike;
}

/* Runs the call so that a class without a support row has no part in the fit of its episode. */
static mo_tensor *call_episodes(mo_tape *t, const head_call *c) {
    mo_context *ctx = mo_tape_context(t);
    if (fits_together(t, c))
        return call_head(t, c);
    int64_t B = mo_numel(c->present) / mo_dim(c->of.Ys, -1), shape[MO_MAX_AXES];
    mo_tensor **part = mo_host_array(ctx, B, sizeof *part);
    int lead = mo_ndim(c->of.Zs) - 2;
    for (int64_t b = 0; part && b < B && mo_ok(ctx); b++) {
        head_call alone = call_of_episode(t, c, b);
        part[b] = call_head(t, &alone);
    }
    mo_tensor *all = mo_ok(ctx) ? concat_all(t, part, B, 0) : mo_null_tensor(ctx);
    for (int axis = 0; axis < lead + 2; axis++)
        shape[axis] = axis < lead ? mo_dim(c->of.Zs, axis) : mo_dim(all, axis - lead + 1);
    free(part);
    return mo_reshape(t, all, lead + 2, shape);
}

/* ---- the calls ---- */

static bool check_call(
    mo_tape *t, const mo_head *head, const mo_support *s, const mo_tensor *Zq, mo_tensor *const *parameters) {
    mo_context *ctx = mo_tape_context(t);
    if (!mo_head_validate(ctx, head) || !mo_given(ctx, head->name, "the support", s) ||
        (head->n_parameters && !mo_given(ctx, head->name, "parameters", parameters)) ||
        !check_inputs(ctx, head, s->Zs, s->Ys, Zq ? Zq : s->Zs))
        return false;
    if (s->weight && !s->complete && !check_weight(t, head, s->Zs, s->weight))
        return false;
    if (s->weight && !head->fit)
        mo_fail(ctx, MO_UNSUPPORTED, "head %s: it takes no weights of rows", head->name);
    if (s->targets && !head->targets)
        mo_fail(ctx, MO_UNSUPPORTED, "head %s: it reads classes, and no real targets", head->name);
    return mo_ok(ctx);
}

mo_tensor *mo_head_apply(
    mo_tape *t, const mo_head *head, mo_tensor *Zs, mo_tensor *Ys, mo_tensor *Zq, mo_tensor *const *parameters) {
    return mo_head_apply_weighted(t, head, &(mo_support){.Zs = Zs, .Ys = Ys}, Zq, parameters);
}

mo_tensor *mo_head_apply_weighted(
    mo_tape *t, const mo_head *head, const mo_support *support, mo_tensor *Zq, mo_tensor *const *parameters) {
    if (mo_is_null(Zq)) {
        mo_fail(mo_tape_context(t), MO_INVALID, "head %s: an input is the null tensor", head ? head->name : "");
        return mo_null_tensor(mo_tape_context(t));
    }
    if (!check_call(t, head, support, Zq, parameters))
        return mo_null_tensor(mo_tape_context(t));
    if (mo_numel(support->Ys) == 0) /* there is no episode: logits of that shape, for every head */
        return mo_matmul(t, Zq, mo_matmul(t, mo_transpose(t, support->Zs), support->Ys));
    head_call c = call_of(head, support, Zq, parameters);
    return prepare_call(t, &c) ? call_episodes(t, &c) : mo_null_tensor(mo_tape_context(t));
}

mo_code mo_head_fit(
    mo_tape *t, const mo_head *head, const mo_support *support, mo_tensor *const *parameters, mo_state *state) {
    mo_context *ctx = mo_tape_context(t);
    if (!mo_given(ctx, "head", "the state", state))
        return mo_code_of(ctx);
    *state = (mo_state){0};
    if (!check_call(t, head, support, NULL, parameters))
        return mo_code_of(ctx);
    head_call c = call_of(head, support, NULL, parameters);
    if (prepare_call(t, &c) && !fits_together(t, &c) && mo_ok(ctx))
        mo_fail(ctx, MO_UNSUPPORTED,
            "head %s: the episodes of the batch lack unlike classes, which it fits together; fit them one by one",
            head->name);
    if (mo_ok(ctx))
        fit_call(t, &c, state);
    if (!mo_ok(ctx))
        *state = (mo_state){0};
    return mo_code_of(ctx);
}

mo_tensor *mo_state_apply(mo_tape *t, const mo_state *s, mo_tensor *Zq, mo_tensor *kernels) {
    mo_context *ctx = mo_tape_context(t);
    char zq[160];
    if (!mo_ok(ctx) || !mo_given(ctx, "state", "the state", s && s->head ? s : NULL))
        return mo_null_tensor(ctx);
    if (mo_is_null(Zq) || mo_ndim(Zq) != s->axes || mo_dim(Zq, -1) != s->d || !mo_dtype_is_real(mo_tensor_dtype(Zq))) {
        mo_fail(ctx, MO_INVALID,
            "head %s: expected real rows of %d axes and width %lld, as those it was fitted on; got %s", s->head->name,
            s->axes, (long long)s->d, mo_shape_string(Zq, zq, sizeof zq));
        return mo_null_tensor(ctx);
    }
    return apply_call(t, s, Zq, kernels);
}

mo_code mo_head_linear(mo_tape *t, const mo_head *head, mo_tensor *Zs, mo_tensor *Ys, mo_tensor *weight,
    mo_tensor *const *parameters, mo_tensor **W, mo_tensor **b) {
    mo_context *ctx = mo_tape_context(t);
    const mo_support support = {.Zs = Zs, .Ys = Ys, .weight = weight};
    if (W && b)
        *W = *b = mo_null_tensor(ctx);
    if (!mo_head_validate(ctx, head) || !mo_given(ctx, head->name, "W", W) || !mo_given(ctx, head->name, "b", b))
        return mo_code_of(ctx);
    if (head->apply || head->logits)
        mo_fail(ctx, MO_UNSUPPORTED, "head %s: its logits are not linear in the queries", head->name);
    if (!mo_ok(ctx) || !check_call(t, head, &support, NULL, parameters))
        return mo_code_of(ctx);
    head_call c = call_of(head, &support, NULL, parameters);
    if (prepare_call(t, &c))
        mo_divide_weights(t, mo_cast(t, call_episodes(t, &c), c.given), W, b);
    if (!mo_ok(ctx))
        *W = *b = mo_null_tensor(ctx);
    return mo_code_of(ctx);
}

/* ---- without some of the support ---- */

/* Raises unless row[groups, h] are numbers of n rows. */
static bool check_groups(
    mo_context *ctx, const mo_head *head, const int64_t *row, int64_t groups, int64_t h, int64_t n) {
    if (!mo_given(ctx, head->name, "the rows", row))
        return false;
    if (groups < 1 || h < 1 || h >= n)
        mo_fail(ctx, MO_INVALID, "head %s: %lld groups of %lld rows of %lld, expected one group and one row at least",
            head->name, (long long)groups, (long long)h, (long long)n);
    for (int64_t i = 0; mo_ok(ctx) && i < groups * h; i++)
        if (row[i] < 0 || row[i] >= n)
            mo_fail(ctx, MO_INVALID, "head %s: row %lld of a support of %lld rows", head->name, (long long)row[i],
                (long long)n);
    return mo_ok(ctx);
}

mo_tensor *mo_state_held_out(mo_tape *t, const mo_state *s, const int64_t *row, int64_t groups, int64_t h) {
    mo_context *ctx = mo_tape_context(t);
    if (!mo_ok(ctx) || !mo_given(ctx, "state", "the state", s && s->head ? s : NULL))
        return mo_null_tensor(ctx);
    const mo_tensor *Ys = mo_state_find(s, "Ys");
    if (!s->head->held_out)
        mo_fail(ctx, MO_UNSUPPORTED, "head %s: it has no closed form of fits without rows; expected mo_head_refit",
            s->head->name);
    else if (!Ys || s->axes != 2)
        mo_fail(ctx, MO_STATE, "head %s: its state was not fitted to hold rows out of one episode", s->head->name);
    if (!mo_ok(ctx) || !check_groups(ctx, s->head, row, groups, h, mo_dim(Ys, 0)))
        return mo_null_tensor(ctx);
    mo_tensor *logits = s->head->held_out(t, s, row, groups, h), *present = mo_state_find(s, "present");
    return present && mo_ok(ctx) ? all_columns(t, logits, present, -INFINITY) : logits;
}

/* The rows of X [n, c] or [n] outside or, if `of`, inside the group row[h]. at: room for n numbers. */
static mo_tensor *part_of(mo_tape *t, mo_tensor *X, const int64_t *row, int64_t h, bool of, int64_t *at) {
    int64_t n = mo_dim(X, 0), m = 0;
    for (int64_t i = 0; of && i < h; i++)
        at[m++] = row[i];
    for (int64_t i = 0; !of && i < n; i++) {
        bool held = false;
        for (int64_t k = 0; k < h; k++)
            held |= row[k] == i;
        if (!held)
            at[m++] = i;
    }
    mo_tensor *index = mo_from(t, MO_I64, 1, &m, at);
    if (mo_ndim(X) == 2)
        return mo_gather_rows(t, X, index);
    return mo_reshape(t, mo_gather_rows(t, mo_with_axis(t, X, MO_AXIS(1), 1), index), 1, &m);
}

mo_tensor *mo_head_refit(mo_tape *t, const mo_head *head, const mo_support *support, mo_tensor *const *parameters,
    const int64_t *row, int64_t groups, int64_t h) {
    mo_context *ctx = mo_tape_context(t);
    if (!check_call(t, head, support, NULL, parameters))
        return mo_null_tensor(ctx);
    if (mo_ndim(support->Zs) != 2 || support->kernels || support->class_weight)
        mo_fail(ctx, MO_UNSUPPORTED, "head %s: rows are held out of one episode without kernels", head->name);
    if (!mo_ok(ctx) || !check_groups(ctx, head, row, groups, h, mo_dim(support->Zs, 0)))
        return mo_null_tensor(ctx);
    int64_t *at = mo_host_array(ctx, mo_dim(support->Zs, 0), sizeof *at);
    mo_tensor **logits = mo_host_array(ctx, groups, sizeof *logits);
    for (int64_t g = 0; at && logits && g < groups; g++) {
        const int64_t *own = row + g * h;
        mo_support rest = *support;
        mo_state state;
        rest.Zs = part_of(t, support->Zs, own, h, false, at);
        rest.Ys = part_of(t, support->Ys, own, h, false, at);
        rest.weight = support->weight ? part_of(t, support->weight, own, h, false, at) : NULL;
        rest.complete = rest.held_out = false;
        mo_head_fit(t, head, &rest, parameters, &state);
        logits[g] =
            mo_with_axis(t, mo_state_apply(t, &state, part_of(t, support->Zs, own, h, true, at), NULL), MO_AXIS(0), 1);
    }
    mo_tensor *all = mo_ok(ctx) ? concat_all(t, logits, groups, 0) : mo_null_tensor(ctx);
    free(logits);
    free(at);
    return all;
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
