/* tests/toy_ops.h - a few ops as a user would write them, with the public interface and the kernel table, and a tape:
 * for tests of the tape and of the gradient checker. */
#ifndef TOY_OPS_H
#define TOY_OPS_H

#include "autograd/tape.h"
#include "tests/scratch.h"

typedef struct toy {
    mo_context *ctx;
    mo_tape *t;
    int64_t empty;       /* bytes that the context holds without a tape */
    mo_tensor *owned[8]; /* released at the end */
    int n_owned;
} toy;

static inline int toy_create(void **state) {
    toy *y = calloc(1, sizeof *y);
    y->ctx = mo_context_create(&(mo_context_options){.device = MO_CPU, .threads = 1});
    y->empty = mo_context_counters(y->ctx).bytes_live;
    y->t = mo_tape_create(y->ctx, MO_RECORD);
    *state = y;
    return y->ctx && y->t && mo_ok(y->ctx) ? 0 : -1;
}

/* Tear-down: fails if anything is still held after the tape is released. */
static inline int toy_release(void **state) {
    toy *y = *state;
    mo_tape_release(y->t);
    while (y->n_owned)
        mo_tensor_release(y->owned[--y->n_owned]);
    int64_t live = mo_context_counters(y->ctx).bytes_live - y->empty;
    if (live != 0)
        print_error("%lld bytes were not released\n", (long long)live);
    mo_context_release(y->ctx);
    free(y);
    return live == 0 ? 0 : -1;
}

FIXTURES_OF(toy, false, toy_create, toy_release)

/* Returns a float64 leaf [2] that needs a gradient, and that the test releases. */
static inline mo_tensor *toy_leaf_apart(mo_context *ctx, double first, double second) {
    return mo_require_grad(mo_tensor_create_from(ctx, MO_F64, 1, (int64_t[]){2}, (double[]){first, second}));
}

/* Returns its argument, which is released when the test ends. */
static inline mo_tensor *toy_own(toy *y, mo_tensor *T) {
    assert_in_range(y->n_owned, 0, sizeof y->owned / sizeof *y->owned - 1);
    return y->owned[y->n_owned++] = T;
}

/* Returns such a leaf, which is released when the test ends. */
static inline mo_tensor *toy_leaf(toy *y, double first, double second) {
    return toy_own(y, toy_leaf_apart(y->ctx, first, second));
}

/* Returns one element of a float64 tensor. */
static inline double at(const mo_tensor *T, int64_t i) {
    double x[64];
    assert_false(mo_is_null(T));
    assert_true(mo_numel(T) <= 64 && i < mo_numel(T));
    assert_int_equal(mo_tensor_read(T, x, (size_t)mo_numel(T) * sizeof *x), MO_OK);
    return x[i];
}

static inline void assert_values(const mo_tensor *T, double first, double second) {
    double a = at(T, 0), b = at(T, 1);
    if (!(fabs(a - first) <= 1e-12 * fmax(1, fabs(first)) && fabs(b - second) <= 1e-12 * fmax(1, fabs(second))))
        fail_msg("expected %.15g and %.15g, found %.15g and %.15g", first, second, a, b);
}

static inline bool toy_shape(mo_call *c) {
    if (!mo_call_real(c, 0, c->n_in - 1))
        return false;
    if (mo_numel(c->in[0]) != mo_numel(c->in[c->n_in - 1]))
        return mo_call_fail(c, MO_INVALID, "expected equal sizes");
    for (int i = 0; i < c->n_out; i++)
        if (!mo_call_output(c, i, c->in[0]->dtype, c->in[0]->ndim, c->in[0]->shape))
            return false;
    return true;
}

static inline void toy_map(mo_call *c, mo_map2 f) {
    mo_view a = mo_tensor_view(c->in[0]), b = mo_tensor_view(c->in[c->n_in - 1]), y = mo_tensor_view(c->out[0]);
    mo_kernels_of(c->ctx, y.dtype)->map2(c->ctx, f, &a, &b, &y);
}

static const mo_sample toy_samples[] = {
    {.name = "pair", .in = "[3] [3]"},
};

/* ---- Y = A * B ---- */

static inline void toy_mul_forward(mo_call *c) {
    toy_map(c, MO_MAP_MUL);
}

static inline void toy_mul_vjp(mo_vjp *v) {
    for (int i = 0; i < 2; i++)
        if (v->needs[i])
            v->in_bar[i] = mo_apply(v->t, v->op, (mo_tensor *[]){v->out_bar[0], v->in[1 - i]}, 2, NULL);
}

static const mo_op toy_mul_op = {.name = "toy_mul",
    .n_in = 2,
    .reads_in = 3,
    .shape = toy_shape,
    .forward = toy_mul_forward,
    .vjp = toy_mul_vjp,
    MO_SAMPLES(toy_samples)};

static inline mo_tensor *toy_mul(mo_tape *t, mo_tensor *A, mo_tensor *B) {
    return mo_apply(t, &toy_mul_op, (mo_tensor *[]){A, B}, 2, NULL);
}

/* ---- Y = A + B ---- */

static inline void toy_add_forward(mo_call *c) {
    toy_map(c, MO_MAP_ADD);
}

static inline void toy_add_vjp(mo_vjp *v) {
    for (int i = 0; i < 2; i++)
        if (v->needs[i])
            v->in_bar[i] = v->out_bar[0];
}

static const mo_op toy_add_op = {.name = "toy_add",
    .n_in = 2,
    .shape = toy_shape,
    .forward = toy_add_forward,
    .vjp = toy_add_vjp,
    MO_SAMPLES(toy_samples)};

static inline mo_tensor *toy_add(mo_tape *t, mo_tensor *A, mo_tensor *B) {
    return mo_apply(t, &toy_add_op, (mo_tensor *[]){A, B}, 2, NULL);
}

/* ---- Y = the sum of X [n], and its adjoint, a view with a stride of 0 ---- */

static inline bool toy_sum_shape(mo_call *c) {
    return mo_call_real(c, 0, 0) && mo_call_output(c, 0, c->in[0]->dtype, 0, NULL);
}

static inline void toy_sum_forward(mo_call *c) {
    mo_view x = mo_tensor_view(c->in[0]), y = x;
    y.data = mo_tensor_view(c->out[0]).data;
    for (int i = 0; i < y.ndim; i++)
        y.stride[i] = 0;
    mo_kernels_of(c->ctx, x.dtype)->reduce(c->ctx, MO_REDUCE_SUM, &x, &y);
}

static inline bool toy_spread_shape(mo_call *c) {
    return mo_call_real(c, 0, 0);
}

static inline void toy_spread_forward(mo_call *c) {
    const int64_t *n = c->attributes;
    mo_call_view(c, 1, n, (int64_t[]){0}, 0);
}

static inline void toy_spread_vjp(mo_vjp *v);

static const mo_op toy_spread_op = {.name = "toy_spread",
    .n_in = 1,
    .attributes_size = sizeof(int64_t),
    .is_view = true,
    .shape = toy_spread_shape,
    .forward = toy_spread_forward,
    .vjp = toy_spread_vjp,
    MO_SAMPLES(toy_samples)};

static inline void toy_sum_vjp(mo_vjp *v) {
    int64_t n = mo_numel(v->in[0]);
    v->in_bar[0] = mo_apply(v->t, &toy_spread_op, v->out_bar, 1, &n);
}

static const mo_op toy_sum_op = {.name = "toy_sum",
    .n_in = 1,
    .shape = toy_sum_shape,
    .forward = toy_sum_forward,
    .vjp = toy_sum_vjp,
    MO_SAMPLES(toy_samples)};

static inline mo_tensor *toy_sum(mo_tape *t, mo_tensor *X) {
    return mo_apply(t, &toy_sum_op, (mo_tensor *[]){X}, 1, NULL);
}

static inline void toy_spread_vjp(mo_vjp *v) {
    v->in_bar[0] = toy_sum(v->t, v->out_bar[0]);
}

#endif
