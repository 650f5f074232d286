/* autograd/gradcheck.c - checking a vjp: central differences along random directions, in float64.
 *
 * For y = f(x) and a random cotangent G let s(x) = <G, f(x)>. The vjp claims grad s; along a direction v
 *     <grad s, v>  must equal  (s(x + e v) - s(x - e v)) / 2e  up to O(e^2) + O(u / e),
 * with e = 1e-5 about 1e-10. Order two is the same check on the function (x, G) -> grad s, recorded with
 * MO_CREATE_GRAPH: vjps are made of ops, so no other machinery is needed. */
#include "autograd/sample.h"
#include "tensor/files/number_text.h"
#include "tensor/storage.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_TENSORS = MO_MAX_INPUTS + MO_MAX_OUTPUTS, DIRECTIONS = 3 };
static const double step = 1e-5;

/* A function and the leaves at which it is checked; inputs says how each leaf may be perturbed. */
typedef struct problem {
    mo_context *ctx;
    mo_function f;
    void *state;
    int n_in, n_out;
    mo_tensor *in[MAX_TENSORS];
    mo_sample_input inputs[MAX_TENSORS];
    mo_tensor *cotangent[MAX_TENSORS];
    mo_random r;
    const char *sample;
    mo_check_result *result;
} problem;

/* n numbers, to be freed with free(); NULL raises. */
static double *check_numbers(const problem *p, int64_t n) {
    double *x = malloc((size_t)n * sizeof *x + 1);
    if (!x)
        mo_fail(p->ctx, MO_MEMORY, "check: out of memory for %lld numbers", (long long)n);
    return x;
}

/* ---- s(x) and its gradient ---- */

static double weighted_sum(problem *p, mo_tape *t, double *sum) {
    mo_tensor *out[MAX_TENSORS];
    *sum = 0;
    p->f(t, p->in, p->n_in, out, p->n_out, p->state);
    for (int i = 0; i < p->n_out && mo_ok(p->ctx); i++) {
        int64_t n = mo_numel(out[i]);
        double *y = check_numbers(p, n), *g = check_numbers(p, n);
        if (y && g && mo_tensor_dtype(out[i]) == MO_F64) {
            mo_tensor_read(out[i], y, (size_t)n * sizeof *y);
            mo_tensor_read(p->cotangent[i], g, (size_t)n * sizeof *g);
            for (int64_t j = 0; j < n && mo_ok(p->ctx); j++)
                *sum += y[j] * g[j];
        }
        free(y);
        free(g);
    }
    return *sum;
}

/* s at x + e v, where v perturbs input i; restores x. */
static double perturbed(problem *p, int i, const double *x, const double *v, double e) {
    int64_t n = mo_numel(p->in[i]);
    double *moved = check_numbers(p, n), sum = NAN;
    mo_tape *t = mo_tape_create(p->ctx, MO_RECORD);
    if (moved && t) {
        for (int64_t j = 0; j < n; j++)
            moved[j] = x[j] + e * v[j];
        mo_tensor_write(p->in[i], moved, (size_t)n * sizeof *moved);
        weighted_sum(p, t, &sum);
        mo_tensor_write(p->in[i], x, (size_t)n * sizeof *x);
    }
    mo_tape_release(t);
    free(moved);
    return sum;
}

static void compare(problem *p, int i, double analytic, double numeric, double norm) {
    double scale = fmax(1, fmax(fabs(analytic), norm)), error = fabs(analytic - numeric) / scale;
    mo_check_result *r = p->result;
    if (!(error <= r->error)) { /* NaN counts as largest */
        r->error = isnan(error) ? INFINITY : error;
        mo_format(r->worst, sizeof r->worst, "sample \"%s\", input %d: vjp %.12g, difference quotient %.12g", p->sample,
            i, analytic, numeric);
    }
}

static void check_input(problem *p, int i, const double *grad) {
    int64_t n = mo_numel(p->in[i]);
    double *x = check_numbers(p, n), *v = check_numbers(p, n), norm = 0;
    for (int64_t j = 0; j < n; j++)
        norm += grad[j] * grad[j];
    if (x && v)
        mo_tensor_read(p->in[i], x, (size_t)n * sizeof *x);
    for (int k = 0; x && v && n && k < DIRECTIONS && mo_ok(p->ctx); k++) {
        mo_sample_direction(&p->inputs[i], &p->r, v, n);
        double up = perturbed(p, i, x, v, step), down = perturbed(p, i, x, v, -step), analytic = 0;
        for (int64_t j = 0; j < n; j++)
            analytic += grad[j] * v[j];
        if (mo_ok(p->ctx))
            compare(p, i, analytic, (up - down) / (2 * step), sqrt(norm));
    }
    free(x);
    free(v);
}

/* Random cotangents in the shapes of the outputs. */
static void draw_cotangents(problem *p) {
    mo_tape *t = mo_tape_create(p->ctx, MO_RECORD);
    mo_tensor *out[MAX_TENSORS];
    if (!t)
        return;
    p->f(t, p->in, p->n_in, out, p->n_out, p->state);
    for (int i = 0; i < p->n_out && mo_ok(p->ctx); i++) {
        mo_sample_input like = {.draw = MO_DRAW_NORMAL, .ndim = mo_ndim(out[i])};
        for (int a = 0; a < like.ndim; a++)
            like.shape[a] = mo_dim(out[i], a);
        p->cotangent[i] = mo_sample_tensor(p->ctx, &like, MO_F64, &p->r);
    }
    mo_tape_release(t);
}

/* One check of p->f at its inputs. */
static void check_problem(problem *p) {
    mo_tape *t = mo_tape_create(p->ctx, MO_RECORD);
    mo_tensor *out[MAX_TENSORS], *xs[MAX_TENSORS], *grads[MAX_TENSORS];
    int which[MAX_TENSORS], nx = 0;
    for (int i = 0; i < p->n_in; i++)
        if (mo_needs_grad(p->in[i])) {
            which[nx] = i;
            xs[nx++] = p->in[i];
        }
    if (t)
        p->f(t, p->in, p->n_in, out, p->n_out, p->state);
    if (t && mo_ok(p->ctx))
        mo_grad(t, out, p->cotangent, p->n_out, xs, grads, nx, MO_ALLOW_UNUSED);
    for (int k = 0; t && k < nx && mo_ok(p->ctx); k++) {
        int64_t n = mo_numel(grads[k]);
        double *g = check_numbers(p, n);
        if (g && mo_tensor_read(grads[k], g, (size_t)n * sizeof *g) == MO_OK)
            check_input(p, which[k], g);
        free(g);
    }
    mo_tape_release(t);
}

/* ---- order two: the gradient as a function of the inputs and the cotangents ---- */

typedef struct gradient_of {
    mo_function f;
    void *state;
    int n_in, n_out;
} gradient_of;

static void gradient_function(mo_tape *t, mo_tensor *const *in, int n_in, mo_tensor **out, int n_out, void *state) {
    const gradient_of *g = state;
    mo_tensor *y[MAX_TENSORS], *xs[MAX_TENSORS];
    int nx = 0;
    for (int i = 0; i < g->n_in; i++)
        if (mo_needs_grad(in[i]))
            xs[nx++] = in[i];
    g->f(t, in, g->n_in, y, g->n_out, g->state);
    for (int i = 0; i < n_out; i++)
        out[i] = mo_null_tensor(mo_tape_context(t));
    (void)n_in;
    mo_grad(t, y, in + g->n_in, g->n_out, xs, out, nx, MO_CREATE_GRAPH | MO_ALLOW_UNUSED);
}

static void check_second(problem *p) {
    gradient_of g = {p->f, p->state, p->n_in, p->n_out};
    problem q = {
        .ctx = p->ctx, .f = gradient_function, .state = &g, .r = p->r, .sample = p->sample, .result = p->result};
    memcpy(q.in, p->in, sizeof q.in);
    memcpy(q.inputs, p->inputs, sizeof q.inputs);
    q.n_in = p->n_in;
    for (int i = 0; i < p->n_in; i++)
        q.n_out += mo_needs_grad(p->in[i]);
    for (int i = 0; i < p->n_out; i++) {
        mo_sample_input like = {.draw = MO_DRAW_NORMAL, .ndim = mo_ndim(p->cotangent[i])};
        for (int a = 0; a < like.ndim; a++)
            like.shape[a] = mo_dim(p->cotangent[i], a);
        q.inputs[q.n_in] = like;
        q.in[q.n_in++] = p->cotangent[i];
    }
    draw_cotangents(&q);
    if (mo_ok(p->ctx))
        check_problem(&q);
    for (int i = 0; i < q.n_out; i++)
        mo_tensor_release(q.cotangent[i]);
}

static void check_certificate(problem *p) {
    mo_certify(&(mo_certified){p->ctx, p->f, p->state, p->in, p->inputs, p->cotangent, p->n_in, p->n_out, p->sample},
        &p->r, p->result);
}

/* Draws cotangents, checks to the given order, and turns errors into failures of the result. */
static void check_to_order(problem *p, int order) {
    draw_cotangents(p);
    if (mo_ok(p->ctx))
        order == 0 ? check_certificate(p) : order == 1 ? check_problem(p) : check_second(p);
    if (!mo_ok(p->ctx)) {
        p->result->error = INFINITY;
        snprintf(p->result->worst, sizeof p->result->worst, "sample \"%s\": %.200s", p->sample,
            mo_context_status(p->ctx)->message);
        mo_clear_error(p->ctx);
    }
    for (int i = 0; i < p->n_out; i++)
        mo_tensor_release(p->cotangent[i]);
    p->result->samples++;
}

/* ---- one op ---- */

typedef struct op_call {
    const mo_op *op;
    const void *attributes;
} op_call;

static void op_function(mo_tape *t, mo_tensor *const *in, int n_in, mo_tensor **out, int n_out, void *state) {
    const op_call *call = state;
    (void)n_out;
    mo_apply_all(t, call->op, in, n_in, call->attributes, out);
}

static bool check_sample(mo_context *ctx, const mo_op *op, const mo_sample *s, int order, problem *p) {
    _Alignas(16) char attributes[256];
    op_call call = {op, s->attributes};
    if (s->prepare && op->attributes_size <= sizeof attributes) {
        s->prepare(ctx, MO_F64, attributes);
        call.attributes = attributes;
    }
    p->f = op_function;
    p->state = &call;
    p->n_in = s->n_in;
    p->n_out = op->n_out;
    p->sample = s->name;
    for (int i = 0; i < s->n_in; i++) {
        p->inputs[i] = s->in[i];
        p->in[i] = mo_sample_tensor(ctx, &s->in[i], MO_F64, &p->r);
    }
    check_to_order(p, order);
    for (int i = 0; i < s->n_in; i++)
        mo_tensor_release(p->in[i]);
    if (s->finish)
        s->finish(ctx, attributes);
    return true;
}

mo_check_result mo_check_op(mo_context *ctx, const mo_op *op, int order, uint64_t seed) {
    mo_check_result result = {0};
    if (!mo_ok(ctx) || !op || !op->samples || op->n_samples < 1) {
        snprintf(result.worst, sizeof result.worst, "%s",
            mo_ok(ctx) ? "there is no op, or it has no samples" : "the context is in error");
        return result;
    }
    for (int i = 0; op->vjp && i < op->n_samples; i++) {
        problem p = {.ctx = ctx, .result = &result, .r = mo_random_at(seed, MO_PURPOSE_CHECK, (uint64_t)i)};
        check_sample(ctx, op, &op->samples[i], order, &p);
    }
    if (!op->vjp)
        snprintf(result.worst, sizeof result.worst, "no derivative: integer or constant result");
    result.pass = result.error <= (order == 0 ? 1e-10 : order == 1 ? 1e-6 : 1e-5);
    return result;
}

mo_check_result mo_check_function(mo_context *ctx, mo_function f, void *state, mo_tensor *const *in, int n_in,
    int n_out, int order, double tolerance, uint64_t seed) {
    mo_check_result result = {0};
    if (!mo_ok(ctx) || !f || !in) {
        snprintf(result.worst, sizeof result.worst, "%s",
            mo_ok(ctx) ? "there is no function, or it has no inputs" : "the context is in error");
        return result;
    }
    if (n_in > MO_MAX_INPUTS || n_out > MO_MAX_OUTPUTS) {
        snprintf(result.worst, sizeof result.worst, "%d inputs and %d outputs, expected at most %d and %d", n_in, n_out,
            MO_MAX_INPUTS, MO_MAX_OUTPUTS);
        return result;
    }
    problem p = {
        .ctx = ctx, .f = f, .state = state, .n_in = n_in, .n_out = n_out, .result = &result, .sample = "given"};
    p.r = mo_random_at(seed, MO_PURPOSE_CHECK, 0);
    for (int i = 0; i < n_in; i++) {
        p.in[i] = in[i];
        p.inputs[i] = (mo_sample_input){.draw = MO_DRAW_NORMAL, .ndim = mo_ndim(in[i])};
        for (int a = 0; a < p.inputs[i].ndim; a++)
            p.inputs[i].shape[a] = mo_dim(in[i], a);
    }
    check_to_order(&p, order);
    result.pass = result.error <= tolerance;
    return result;
}
