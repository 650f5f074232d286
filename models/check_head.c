/* models/check_head.c - compares a head's derivatives with finite differences, the logits of a batch with the logits of
 * its episodes one by one, a row of weight 2 with two copies of it, and held_out with fits without the rows.
 *
 * Labels are soft (rows of positive numbers that sum to 1), so that derivatives by labels are checked too. */
#include "models/model.h"
#include "tensor/files/number_text.h"
#include "tensor/library.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INPUTS = 3, MAX_IN = INPUTS + MO_MAX_HEAD_PARAMETERS + 1 };
/* The logits that a check differentiates: of plain rows; of a support with copies, by a head that is not linear in the
 * queries; of weighted rows, by a linear head. */
enum { PLAIN = 0, COPIES, WEIGHTS, CHECKS };

/* One sample. in: the float64 leaves Zs, Ys, Zq, the head's parameters and, for a weighted fit, the rows' weights.
 * weight: how often each row of a support with copies counts, or NULL. */
typedef struct problem {
    mo_context *ctx;
    const mo_head *head;
    mo_tensor *in[MAX_IN], *weight;
    int n_in;
    bool fits; /* the row weights are the last input */
} problem;

static const mo_head_sample own_samples[] = {
    {.support = 6, .queries = 4, .dim = 9, .classes = 3},
    {.support = 9, .queries = 3, .dim = 4, .classes = 2},
    {.support = 6, .queries = 3, .dim = 5, .classes = 2, .batch = 2},
};

static void draw_rows(mo_tensor *T, mo_random *r, bool labels) {
    int64_t n = mo_numel(T), C = mo_dim(T, -1);
    double *x = malloc((size_t)n * sizeof *x + 1);
    if (!x) {
        mo_fail(mo_tensor_context(T), MO_MEMORY, "check head: out of memory");
        return;
    }
    for (int64_t i = 0; i < n; i++)
        x[i] = labels ? 0.2 + (i % C == i / C % C) + mo_random_uniform(r) : mo_random_normal(r);
    for (int64_t i = 0; labels && i < n; i += C) {
        double sum = 0;
        for (int64_t c = 0; c < C; c++)
            sum += x[i + c];
        for (int64_t c = 0; c < C; c++)
            x[i + c] /= sum;
    }
    mo_tensor_write(T, x, (size_t)n * sizeof *x);
    free(x);
}

static void make_problem(problem *p, const mo_head_sample *s, mo_random *r, uint64_t seed) {
    int lead = s->batch > 0;
    int64_t rows[INPUTS] = {s->support, s->support, s->queries}, columns[INPUTS] = {s->dim, s->classes, s->dim};
    p->n_in = INPUTS + p->head->n_parameters;
    for (int i = 0; i < INPUTS; i++) {
        p->in[i] = mo_tensor_create(
            p->ctx, MO_F64, 2 + lead, (int64_t[]){lead ? s->batch : rows[i], lead ? rows[i] : columns[i], columns[i]});
        draw_rows(p->in[i], r, i == 1);
        if (i != 1 || !p->head->fixed_labels)
            mo_require_grad(p->in[i]);
    }
    mo_tape *t = mo_tape_create(p->ctx, MO_EVAL);
    mo_tensor *start[MO_MAX_HEAD_PARAMETERS];
    bool made = mo_head_start(t, p->head, MO_F64, s->dim, 0, seed, start) == MO_OK;
    for (int i = 0; i < p->head->n_parameters; i++) {
        const mo_head_parameter *parameter = &p->head->parameters[i];
        int64_t shape[2] = {made ? mo_dim(start[i], 0) : 1, made && parameter->ndim == 2 ? mo_dim(start[i], 1) : 1};
        mo_tensor *P = p->in[INPUTS + i] = mo_tensor_create(p->ctx, MO_F64, parameter->ndim, shape);
        if (made)
            mo_tensor_copy(P, start[i]);
        if (!parameter->fixed)
            mo_require_grad(P);
    }
    mo_tape_release(t);
}

/* Weights [.., n_s] of the support's rows. With r: drawn from 0.8 to 1.2, as finite differences are less exact far from
 * 1. Without r: 2 1 0 2 1 0 .., where each third row is a copy of the row two above it. */
static mo_tensor *weights_of_rows(const problem *p, mo_random *r) {
    int64_t shape[2] = {mo_dim(p->in[0], 0), mo_dim(p->in[0], 1)};
    mo_tensor *weight = mo_tensor_create(p->ctx, MO_F64, mo_ndim(p->in[0]) - 1, shape);
    int64_t n = mo_numel(weight);
    double *w = malloc((size_t)n * sizeof *w + 1);
    if (!w)
        mo_fail(p->ctx, MO_MEMORY, "check head: out of memory");
    for (int64_t i = 0; w && i < n; i++)
        w[i] = r ? 0.8 + 0.4 * mo_random_uniform(r) : (double)((2 * i + 2) % 3);
    if (w)
        mo_tensor_write(weight, w, (size_t)n * sizeof *w);
    free(w);
    return weight;
}

static void release_problem(problem *p) {
    for (int i = 0; i < p->n_in; i++)
        mo_tensor_release(p->in[i]);
    mo_tensor_release(p->weight);
}

/* Logits of a head whose rows are taken as they are: complete, as in an episode of the library. */
static mo_tensor *weighted_logits(
    mo_tape *t, const problem *p, const mo_head *head, mo_tensor *const *in, mo_tensor *weight) {
    const mo_support support = {.Zs = in[0], .Ys = in[1], .weight = weight, .complete = !p->fits};
    mo_state state;
    if (mo_head_fit(t, head, &support, in + INPUTS, &state) != MO_OK)
        return mo_null_tensor(p->ctx);
    return mo_state_apply(t, &state, in[2], NULL);
}

static void head_function(mo_tape *t, mo_tensor *const *in, int n_in, mo_tensor **out, int n_out, void *state) {
    (void)n_in;
    (void)n_out;
    const problem *p = state;
    out[0] =
        p->fits ? weighted_logits(t, p, p->head, in, in[p->n_in - 1]) : weighted_logits(t, p, p->head, in, p->weight);
}

/* Returns the largest difference between two logits, divided by the largest logit or by 1, whichever is larger. */
static double largest_gap(mo_tape *t, mo_tensor *A, mo_tensor *B) {
    double scale = fmax(1, mo_item(mo_max(t, mo_abs(t, A), MO_ALL, MO_DROP_AXES)));
    return mo_item(mo_max(t, mo_abs(t, mo_sub(t, A, B)), MO_ALL, MO_DROP_AXES)) / scale;
}

/* What an error function finds on a tape of its own; INFINITY after a failure. */
static double measure(double (*error)(mo_tape *t, problem *p), problem *p) {
    mo_tape *t = mo_tape_create(p->ctx, MO_EVAL);
    double found = t && mo_ok(p->ctx) ? error(t, p) : 0;
    mo_tape_release(t);
    return mo_ok(p->ctx) && !isnan(found) ? found : INFINITY;
}

/* Returns the largest difference between the logits of a batch and of its episodes one by one, divided by the largest
 * logit or by 1, whichever is larger. */
static double batch_error(mo_tape *t, problem *p) {
    mo_tensor *together, *in[MAX_IN];
    double error = 0;
    head_function(t, p->in, p->n_in, &together, 1, p);
    double scale = fmax(1, mo_item(mo_max(t, mo_abs(t, together), MO_ALL, MO_DROP_AXES)));
    for (int i = INPUTS; i < p->n_in; i++)
        in[i] = p->in[i];
    for (int64_t b = 0; b < mo_dim(p->in[0], 0) && mo_ok(p->ctx); b++) {
        mo_tensor *alone;
        problem one = *p;
        if (p->weight)
            one.weight =
                mo_reshape(t, mo_slice(t, p->weight, MO_AXIS(0), b, b + 1), 1, (int64_t[]){mo_dim(p->weight, 1)});
        if (p->fits)
            in[p->n_in - 1] = mo_reshape(t, mo_slice(t, p->in[p->n_in - 1], MO_AXIS(0), b, b + 1), 1,
                (int64_t[]){mo_dim(p->in[p->n_in - 1], 1)});
        for (int i = 0; i < INPUTS; i++)
            in[i] = mo_reshape(t, mo_slice(t, p->in[i], MO_AXIS(0), b, b + 1), 2,
                (int64_t[]){mo_dim(p->in[i], 1), mo_dim(p->in[i], 2)});
        head_function(t, in, p->n_in, &alone, 1, &one);
        mo_tensor *gap = mo_sub(t, mo_slice(t, together, MO_AXIS(0), b, b + 1), alone);
        double apart = mo_item(mo_max(t, mo_abs(t, gap), MO_ALL, MO_DROP_AXES)) / scale;
        error = apart <= error ? error : apart;
    }
    return error;
}

/* Returns how much logits change if 1 is added to all rows (largest_gap). */
static double shift_error(mo_tape *t, problem *p) {
    mo_head plain = *p->head;
    mo_tensor *logits[2];
    plain.offset = MO_OFFSET_KEPT;
    for (int k = 0; k < 2; k++) {
        mo_tensor *in[MAX_IN];
        memcpy(in, p->in, sizeof in);
        in[0] = mo_scale(t, p->in[0], 1, k);
        in[2] = mo_scale(t, p->in[2], 1, k);
        logits[k] = weighted_logits(t, p, &plain, in, p->weight);
    }
    return largest_gap(t, logits[0], logits[1]);
}

/* Returns how much logits change if the labels get a class without a row (largest_gap). */
static double absent_class_error(mo_tape *t, problem *p) {
    mo_tensor *none = mo_scale(t, mo_slice(t, p->in[1], MO_AXIS(-1), 0, 1), 0, 0);
    mo_tensor *Ys = mo_concat(t, (mo_tensor *[]){p->in[1], none}, 2, MO_AXIS(-1));
    mo_tensor *in[MAX_IN];
    memcpy(in, p->in, sizeof in);
    mo_tensor *logits = weighted_logits(t, p, p->head, in, p->weight);
    in[1] = Ys;
    mo_tensor *more = weighted_logits(t, p, p->head, in, p->weight);
    return largest_gap(t, logits, mo_slice(t, more, MO_AXIS(-1), 0, mo_dim(p->in[1], -1)));
}

/* Returns how much logits differ between a support whose first row has weight 2 and whose last row has weight 0, and
 * one that has the first row twice and the last one not (largest_gap). */
static double weight_error(mo_tape *t, problem *p) {
    mo_tensor *in[MAX_IN], *zeros = mo_sum(t, mo_scale(t, p->in[1], 0, 0), MO_AXIS(-1), MO_DROP_AXES);
    memcpy(in, p->in, sizeof in);
    int64_t n = mo_dim(zeros, -1);
    mo_tensor *first = mo_scale(t, mo_slice(t, zeros, MO_AXIS(-1), 0, 1), 0, 2);
    mo_tensor *rest = mo_scale(t, mo_slice(t, zeros, MO_AXIS(-1), 1, n - 1), 0, 1);
    mo_tensor *last = mo_slice(t, zeros, MO_AXIS(-1), n - 1, n);
    mo_tensor *weight = mo_concat(t, (mo_tensor *[]){first, rest, last}, 3, MO_AXIS(-1));
    mo_tensor *there = mo_with_axis(t, mo_clamp(t, weight, 0, 1), MO_AXIS(-1), 1); /* a row of weight 0 is of zeros */
    for (int i = 0; i < 2; i++)
        in[i] = mo_mul(t, p->in[i], there);
    mo_tensor *weighted = weighted_logits(t, p, p->head, in, weight);
    for (int i = 0; i < 2; i++)
        in[i] = mo_concat(t,
            (mo_tensor *[]){mo_slice(t, p->in[i], MO_AXIS(-2), 0, n - 1), mo_slice(t, p->in[i], MO_AXIS(-2), 0, 1)}, 2,
            MO_AXIS(-2));
    return largest_gap(t, weighted, weighted_logits(t, p, p->head, in, NULL));
}

/* The largest gap between held_out of `groups` groups of h rows and fits without each group. */
static double groups_error(
    problem *p, mo_tape *t, const mo_state *state, mo_tensor *weight, const int64_t *row, int64_t groups, int64_t h) {
    int64_t n = mo_dim(p->in[0], 0), C = mo_dim(p->in[1], 1), kept[64];
    mo_tensor *found = mo_state_held_out(t, state, row, groups, h);
    double error = 0;
    for (int64_t g = 0; g < groups && mo_ok(p->ctx); g++) {
        int64_t m = 0;
        for (int64_t i = 0; i < n; i++) {
            bool left = false;
            for (int64_t k = 0; k < h; k++)
                left |= row[g * h + k] == i;
            if (!left)
                kept[m++] = i;
        }
        mo_tensor *others = mo_from(t, MO_I64, 1, &m, kept), *in[MAX_IN];
        memcpy(in, p->in, sizeof in);
        for (int i = 0; i < 2; i++)
            in[i] = mo_gather_rows(t, p->in[i], others);
        in[2] = mo_gather_rows(t, p->in[0], mo_from(t, MO_I64, 1, &h, row + g * h));
        mo_tensor *own = weight ? mo_gather_rows(t, weight, others) : NULL;
        mo_tensor *of_group = mo_reshape(t, mo_slice(t, found, MO_AXIS(0), g, g + 1), 2, (int64_t[]){h, C});
        double apart = largest_gap(t, weighted_logits(t, p, p->head, in, own), of_group);
        error = apart <= error ? error : apart;
    }
    return error;
}

/* Returns how much held_out differs from fits without the rows (largest_gap), in groups of one, two and three rows,
 * with weights and without. An episode without leading axes. */
static double held_out_error(mo_tape *t, problem *p) {
    int64_t n = mo_dim(p->in[0], 0);
    const int64_t row[] = {0, n - 1, 1, n - 2};
    double error = 0;
    for (int weighted = 0; weighted <= (p->head->fit != NULL); weighted++) {
        double w[64];
        for (int64_t i = 0; i < n; i++)
            w[i] = 0.5 + 0.5 * (double)(i % 3);
        mo_tensor *weight = weighted ? mo_from(t, MO_F64, 1, &n, w) : NULL;
        const mo_support support = {
            .Zs = p->in[0], .Ys = p->in[1], .weight = weight, .complete = true, .held_out = true};
        mo_state state;
        bool fits = mo_head_fit(t, p->head, &support, p->in + INPUTS, &state) == MO_OK;
        for (int64_t h = 1; fits && h <= 3 && h + 2 < n; h++) {
            double apart = groups_error(p, t, &state, weight, row, h == 1 ? 3 : h == 2 && n > 4 ? 2 : 1, h);
            error = apart <= error ? error : apart;
        }
    }
    return error;
}

/* Returns |<J u, v> - <u, J v>| / (|v| |J^T u|) for J = dF/dW of a residual, at random W, u and v. */
static double asymmetry(problem *p, uint64_t seed) {
    mo_tape *t = mo_tape_create(p->ctx, MO_RECORD);
    mo_random r = mo_random_at(seed, MO_PURPOSE_CHECK, UINT64_MAX);
    int ndim = mo_ndim(p->in[0]);
    int64_t shape[3] = {mo_dim(p->in[0], 0)};
    shape[ndim - 2] = mo_dim(p->in[0], -1) + 1;
    shape[ndim - 1] = mo_dim(p->in[1], -1);
    mo_tensor *drawn[3], *J_u, *J_v; /* W, u, v; J^T u, J^T v */
    for (int i = 0; i < 3; i++) {
        drawn[i] = mo_tensor_create(p->ctx, MO_F64, ndim, shape);
        draw_rows(drawn[i], &r, false);
    }
    mo_tensor *W = mo_require_grad(drawn[0]), *u = drawn[1], *v = drawn[2];
    mo_tensor *F = p->head->residual(t, W, p->in[0], p->in[1], p->in + INPUTS);
    mo_grad(t, &F, &u, 1, &W, &J_u, 1, MO_RETAIN | MO_ALLOW_UNUSED);
    mo_grad(t, &F, &v, 1, &W, &J_v, 1, MO_ALLOW_UNUSED);
    double gap = mo_item(mo_sum(t, mo_sub(t, mo_mul(t, J_u, v), mo_mul(t, J_v, u)), MO_ALL, MO_DROP_AXES));
    mo_tensor *sizes =
        mo_mul(t, mo_sum(t, mo_square(t, J_u), MO_ALL, MO_DROP_AXES), mo_sum(t, mo_square(t, v), MO_ALL, MO_DROP_AXES));
    double size = sqrt(mo_item(sizes));
    for (int i = 0; i < 3; i++)
        mo_tensor_release(drawn[i]);
    mo_tape_release(t);
    return size > 0 ? fabs(gap) / size : 0;
}

static void check_head_sample(problem *p, const mo_head_sample *s, int order, uint64_t seed, mo_check_result *result) {
    mo_check_result r = {0};
    mo_hold_errors(p->ctx);
    if (mo_ok(p->ctx))
        r = mo_check_function(p->ctx, head_function, p, p->in, p->n_in, 1, order, order == 1 ? 1e-6 : 1e-5, seed);
    double apart = s->batch ? measure(batch_error, p) : 0;
    bool claims = p->head->symmetric && p->head->residual && !p->fits && !p->weight;
    double skew = claims && mo_ok(p->ctx) ? asymmetry(p, seed) : 0;
    bool free = p->head->offset == MO_OFFSET_FREE || p->head->offset == MO_OFFSET_MEANS;
    double shifted = free && !p->fits ? measure(shift_error, p) : 0;
    double disturbed = p->head->separate_classes && !p->fits ? measure(absent_class_error, p) : 0;
    /* A head that leaves rows out of fits of its own leaves copies out together with a row of weight 2 alone. */
    bool plain = order == 1 && !p->fits && !p->weight && !p->head->leaves_out;
    double miscounted = plain && p->head->fit && s->support > 2 ? measure(weight_error, p) : 0;
    bool leaves = plain && p->head->held_out && !s->batch && s->support > 3 && s->support <= 64;
    double kept = leaves ? measure(held_out_error, p) : 0;
    const struct {
        double found, most;
        const char *text;
    } finding[] = {
        {apart, 1e-10, "the logits of a batch differ by %.3g from the logits of its episodes"},
        {skew, 1e-8,
            "dF/dW is declared symmetric, but <J u, v> and <u, J v> differ by %.3g |v| |J u|; set .symmetric = false"},
        {shifted, 1e-6,
            ".offset says that a shift of all rows changes no logit, but adding 1 changes one by %.3g; set "
            "MO_OFFSET_KEPT"},
        {disturbed, 1e-8,
            "a class without a support row changes another class's logit by %.3g; set .separate_classes = false"},
        {miscounted, 1e-5,
            "a row of weight 2 is not as two copies, or one of weight 0 not as none, by %.3g in a logit: the fit must "
            "count the weights (s->weight)"},
        /* logistic stops at a gradient of 1e-6 */
        {kept, 1e-4, "held_out differs by %.3g in a logit from fits without the rows"},
    };
    if (!mo_ok(p->ctx)) {
        r.pass = false;
        r.error = INFINITY;
        snprintf(r.worst, sizeof r.worst, "%.250s", mo_context_status(p->ctx)->message);
        mo_clear_error(p->ctx);
    }
    for (size_t i = 0; i < sizeof finding / sizeof *finding && r.pass; i++)
        if (!(finding[i].found <= finding[i].most)) {
            r.pass = false;
            r.error = finding[i].found;
            mo_format(r.worst, sizeof r.worst, finding[i].text, finding[i].found);
        }
    mo_release_errors(p->ctx);
    result->samples++;
    if (result->pass && (!r.pass || r.error > result->error)) /* keeps the first failure */
        memcpy(result->worst, r.worst, sizeof r.worst);
    result->error = fmax(r.error, result->error);
    result->pass &= r.pass;
}

mo_check_result mo_check_head(mo_context *ctx, const mo_head *head, int order, uint64_t seed) {
    mo_check_result result = {.pass = true};
    const mo_head_sample *samples = own_samples;
    int n = sizeof own_samples / sizeof *own_samples;
    bool batch = false;
    if (!mo_head_validate(ctx, head) || order > head->order) {
        result.pass = false;
        result.error = INFINITY;
        snprintf(result.worst, sizeof result.worst, "%.250s",
            mo_ok(ctx) ? "no derivative of this order" : mo_context_status(ctx)->message);
        return result;
    }
    if (head->n_samples) {
        samples = head->samples;
        n = head->n_samples;
    }
    for (int i = 0; i < n; i++)
        batch |= samples[i].batch > 0;
    for (int i = 0; i < n + !batch; i++) /* one more sample, a batch, if the head's samples have none */
        for (int check = PLAIN; check < CHECKS; check++) {
            bool linear = head->fit && !head->apply;
            if ((check == COPIES && (!head->fit || linear)) || (check == WEIGHTS && !linear))
                continue;
            mo_random r = mo_random_at(seed, MO_PURPOSE_CHECK, (uint64_t)i);
            problem p = {.ctx = ctx, .head = head};
            mo_head_sample s = samples[i < n ? i : 0];
            s.batch = i < n ? s.batch : 2;
            make_problem(&p, &s, &r, seed);
            p.fits = check == WEIGHTS;
            if (check == COPIES)
                p.weight = weights_of_rows(&p, NULL);
            if (p.fits)
                p.in[p.n_in++] = mo_require_grad(weights_of_rows(&p, &r));
            check_head_sample(&p, &s, order, seed, &result);
            release_problem(&p);
        }
    return result;
}
