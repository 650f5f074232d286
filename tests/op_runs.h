/* tests/op_runs.h - one run of an op on one of its samples, with values and gradients on the host, for the generic op
 * suite. All random numbers have fixed seeds, and are the same for float32 and float64. */
#ifndef OP_RUNS_H
#define OP_RUNS_H

#include "autograd/sample.h"
#include "ops/inside.h"
#include "tensor/objects.h"
#include "tests/device.h"
#include "tests/scratch.h"

/* Sample k of an op; a test can change its inputs' sizes and kinds. */
typedef struct op_sample {
    const char *name;
    int k, n_in;
    mo_sample_input in[MO_MAX_SAMPLE_INPUTS];
    const void *attributes;
    void (*prepare)(mo_context *ctx, mo_dtype real, void *attributes);
    void (*finish)(mo_context *ctx, void *attributes);
} op_sample;

static inline op_sample op_sample_of(mo_context *ctx, const mo_op *op, int k) {
    const mo_sample *s = &op->samples[k];
    op_sample o = {s->name, k, 0, .attributes = s->attributes, .prepare = s->prepare, .finish = s->finish};
    o.n_in = mo_sample_inputs(ctx, op, s, o.in);
    assert_true(o.n_in >= 0);
    return o;
}

/* An op, a sample of it, and the inputs drawn for it. */
typedef struct op_case {
    mo_context *ctx;
    const mo_op *op;
    op_sample sample;
    mo_dtype real;
    const void *attributes;
    _Alignas(16) char prepared[256];
    mo_tensor *in[MO_MAX_INPUTS];
} op_case;

typedef struct op_value {
    int64_t n; /* number of elements; -1: the op has no such value */
    size_t bytes;
    void *raw;
    double *x; /* the elements of `raw` as doubles */
} op_value;

typedef struct op_result {
    op_value out[MO_MAX_OUTPUTS], grad[MO_MAX_INPUTS];
} op_result;

static inline mo_context *op_context(int threads) {
    mo_context *ctx = device_context_of(test_device(), threads);
    assert_int_equal(mo_register_ops(ctx), MO_OK);
    return ctx;
}

static inline op_case op_case_open(mo_context *ctx, const mo_op *op, const op_sample *s, mo_dtype real) {
    op_case c = {.ctx = ctx, .op = op, .sample = *s, .real = real, .attributes = s->attributes};
    mo_random r = mo_random_at(17, MO_PURPOSE_CHECK, 0);
    if (s->prepare) {
        assert_true(op->attributes_size <= sizeof c.prepared);
        s->prepare(ctx, real, c.prepared);
    }
    for (int i = 0; i < s->n_in; i++)
        c.in[i] = mo_sample_tensor(ctx, &s->in[i], real, &r);
    return c;
}

static inline const void *op_case_attributes(const op_case *c) {
    return c->sample.prepare ? c->prepared : c->attributes;
}

static inline void op_case_close(op_case *c) {
    for (int i = 0; i < c->sample.n_in; i++)
        mo_tensor_release(c->in[i]);
    if (c->sample.finish)
        c->sample.finish(c->ctx, c->prepared);
}

/* "matmul, sample \"batch\", float32" */
static inline const char *op_case_name(const op_case *c) {
    static _Thread_local char text[160];
    snprintf(text, sizeof text, "%s, sample \"%s\", %s", c->op->name, c->sample.name, mo_dtype_name(c->real));
    return text;
}

static inline void assert_case_fine(const op_case *c) {
    if (!mo_ok(c->ctx))
        fail_msg("%s: %s", op_case_name(c), mo_context_status(c->ctx)->message);
}

static inline op_value op_value_of(const mo_tensor *T) {
    op_value v = {.n = mo_numel(T)};
    v.bytes = (size_t)v.n * mo_dtype_size(T->dtype);
    v.raw = test_memory(v.bytes + 1);
    v.x = test_memory((size_t)v.n * sizeof(double) + 1);
    mo_tensor_read(T, v.raw, v.bytes);
    HELD(mo_tensor) *wide = mo_tensor_create(T->ctx, MO_F64, T->ndim, T->shape);
    mo_tensor_copy(wide, T);
    mo_tensor_read(wide, v.x, (size_t)v.n * sizeof(double));
    return v;
}

/* The outputs that have a cotangent: all, or the first alone, for which an op's adjoint is there. */
static inline int op_outputs_used(const mo_op *op) {
    return op->adjoint ? 1 : mo_op_outputs(op);
}

/* Draws standard normal cotangents for the real outputs that are used, and NULL for the others; the caller releases
 * these leaves. */
static inline void op_cotangents(const op_case *c, mo_tensor *const *out, mo_tensor **gs) {
    mo_random r = mo_random_at(18, MO_PURPOSE_CHECK, 0);
    for (int i = 0; i < mo_op_outputs(c->op); i++) {
        mo_sample_input like = {.draw = MO_DRAW_CONSTANT, .ndim = out[i]->ndim};
        memcpy(like.shape, out[i]->shape, sizeof like.shape);
        bool used = i < op_outputs_used(c->op) && mo_dtype_is_real(out[i]->dtype);
        gs[i] = used ? mo_sample_tensor(c->ctx, &like, out[i]->dtype, &r) : NULL;
    }
}

/* Runs the op on `in`, which replaces the case's inputs, and computes the gradients of the inputs that need one. If the
 * op fails, returns an empty result, and the context has the error. */
static inline op_result op_case_run(op_case *c, mo_tape *t, mo_tensor *const *in) {
    op_result result;
    mo_tensor *out[MO_MAX_OUTPUTS], *gs[MO_MAX_OUTPUTS] = {0}, *xs[MO_MAX_INPUTS], *grads[MO_MAX_INPUTS];
    int which[MO_MAX_INPUTS], nx = 0;
    memset(&result, 0, sizeof result);
    for (int i = 0; i < MO_MAX_INPUTS; i++)
        result.grad[i].n = -1;
    if (mo_apply_all(t, c->op, in, c->sample.n_in, op_case_attributes(c), out) != MO_OK)
        return result;
    for (int i = 0; i < mo_op_outputs(c->op); i++)
        result.out[i] = op_value_of(out[i]);
    for (int i = 0; c->op->vjp && i < c->sample.n_in; i++)
        if (mo_needs_grad(in[i])) {
            which[nx] = i;
            xs[nx++] = in[i];
        }
    op_cotangents(c, out, gs);
    if (nx)
        mo_grad(t, out, gs, op_outputs_used(c->op), xs, grads, nx, MO_ALLOW_UNUSED);
    for (int k = 0; k < nx && mo_ok(c->ctx); k++)
        result.grad[which[k]] = op_value_of(grads[k]);
    for (int i = 0; i < mo_op_outputs(c->op); i++)
        mo_tensor_release(gs[i]);
    return result;
}

/* Runs the op on the case's own inputs. */
static inline op_result op_case_plain(op_case *c) {
    HELD(mo_tape) *t = mo_tape_create(c->ctx, MO_RECORD);
    op_result r = op_case_run(c, t, c->in);
    assert_case_fine(c);
    return r;
}

/* Fails if values differ by more than tolerance times the largest of them (or times 1, if that is larger). */
static inline void assert_close(
    const op_case *c, const char *what, int i, const op_value *got, const op_value *expected, double tolerance) {
    double scale = 1;
    if (got->n != expected->n)
        fail_msg("%s: %s %d has %lld elements, expected %lld", op_case_name(c), what, i, (long long)got->n,
            (long long)expected->n);
    for (int64_t k = 0; k < got->n; k++)
        scale = fmax(scale, fabs(expected->x[k]));
    for (int64_t k = 0; k < got->n; k++)
        if (!(fabs(got->x[k] - expected->x[k]) <= tolerance * scale))
            fail_msg("%s: %s %d, element %lld is %.17g, expected %.17g", op_case_name(c), what, i, (long long)k,
                got->x[k], expected->x[k]);
}

static inline void assert_results_close(
    const op_case *c, const op_result *got, const op_result *expected, double tolerance) {
    for (int i = 0; i < mo_op_outputs(c->op); i++)
        assert_close(c, "output", i, &got->out[i], &expected->out[i], tolerance);
    for (int i = 0; i < c->sample.n_in; i++)
        assert_close(c, "gradient of input", i, &got->grad[i], &expected->grad[i], tolerance);
}

/* Calls f for every sample of every op in a context of one thread; frees the memory of the test after each. */
static inline int for_each_case(mo_dtype real, void (*f)(op_case *c)) {
    HELD(mo_context) *ctx = op_context(1);
    int count = 0;
    for (int i = 0; i < mo_n_ops(ctx); i++) {
        const mo_op *op = mo_op_at(ctx, i);
        for (int k = 0; k < mo_n_samples(op); k++, count++) {
            op_sample s = op_sample_of(ctx, op, k);
            op_case c = op_case_open(ctx, op, &s, real);
            assert_case_fine(&c);
            f(&c);
            op_case_close(&c);
            free_test_memory();
        }
    }
    return count;
}

#endif
