/* ops/piecewise.c - piecewise linear functions entry by entry, and their slopes: |x|, leaky ReLU, clamp.
 *
 * X of any shape -> Y of the same shape; float32 or float64. abs: |x|. leaky_relu: x where x > 0, a x elsewhere. clamp:
 * min(max(x, a), b) with a <= b. The function of a NaN is NaN; its slope there is NaN for abs, a for leaky_relu, 0 for
 * clamp. Errors: other dtypes, bounds out of order. Saved: nothing.
 *
 * dY = slope(X) dX, hence X_bar = Y_bar * slope(X). At the kinks: |x| has slope 0 at 0, leaky_relu has a there, clamp
 * has 1 on its bounds. The slope itself is flat wherever it has a derivative: no gradient. */
#include "ops/inside.h"
#include "ops/rules/maps.h"
#include "tensor/backend.h"
#include "tensor/objects.h"

/* The state of an op: which function it computes, and that function's slope. */
typedef struct piecewise {
    mo_map1 function, slope;
} piecewise;

/* The options of an op: the parameters of its function. */
typedef struct bounds {
    double a, b;
} bounds;

/* The slope is a constant of the sweep, so a kernel makes it without an op. */
static void piecewise_vjp(mo_vjp *v) {
    mo_tensor *X = mo_contiguous(v->t, v->in[0]), *slope = mo_tape_tensor(v->t, X->dtype, X->ndim, X->shape);
    const bounds *at = v->attributes;
    mo_view x = mo_tensor_view(X), y = mo_tensor_view(slope);
    if (mo_ok(X->ctx))
        mo_kernels_of(X->ctx, X->dtype)->map1(X->ctx, ((const piecewise *)v->op->state)->slope, at->a, at->b, &x, &y);
    v->in_bar[0] = mo_mul(v->t, v->out_bar[0], slope);
}

/* ---- abs ---- */

static const mo_sample abs_samples[] = {
    {"matrix", "[3, 4]"},
    {"scalar", "[]"},
};

const mo_op mo_op_abs = {
    .name = "abs",
    .state = &(const piecewise){MO_MAP_ABS, MO_MAP_SIGN},
    .attributes_size = sizeof(bounds),
    .reads_in = 1,
    .forward = mo_map1_forward,
    .vjp = piecewise_vjp,
    MO_SAMPLES(abs_samples),
};

mo_tensor *mo_abs(mo_tape *t, mo_tensor *X) {
    return mo_apply(t, &mo_op_abs, (mo_tensor *[]){X}, 1, NULL);
}

/* ---- leaky_relu ---- */

static const mo_sample leaky_relu_samples[] = {
    {"a tenth", "[3, 4]", &(const bounds){.a = 0.1}},
    {"relu", "[2]"},
};

const mo_op mo_op_leaky_relu = {
    .name = "leaky_relu",
    .state = &(const piecewise){MO_MAP_LEAKY_RELU, MO_MAP_LEAKY_STEP},
    .attributes_size = sizeof(bounds),
    .reads_in = 1,
    .forward = mo_map1_forward,
    .vjp = piecewise_vjp,
    MO_SAMPLES(leaky_relu_samples),
};

mo_tensor *mo_leaky_relu(mo_tape *t, mo_tensor *X, double a) {
    return mo_apply(t, &mo_op_leaky_relu, (mo_tensor *[]){X}, 1, &(bounds){.a = a});
}

/* ---- clamp ---- */

static bool clamp_shape(mo_call *c) {
    const bounds *p = c->attributes;
    if (!mo_call_real(c, 0, 0))
        return false;
    if (!(p->a <= p->b))
        return mo_call_fail(c, MO_INVALID, "bounds %g and %g, expected a rising pair", p->a, p->b);
    return mo_call_output(c, 0, c->in[0]->dtype, c->in[0]->ndim, c->in[0]->shape);
}

static const mo_sample clamp_samples[] = {
    {"matrix", "distinct[3, 4]", &(const bounds){-0.3, 0.5}},
    {"scalar", "distinct[]", &(const bounds){-0.3, 0.5}},
    {"order", "[3]", &(const bounds){1, 0}, .error = "clamp: bounds 1 and 0, expected a rising pair"},
};

const mo_op mo_op_clamp = {
    .name = "clamp",
    .state = &(const piecewise){MO_MAP_CLAMP, MO_MAP_CLAMP_MASK},
    .attributes_size = sizeof(bounds),
    .reads_in = 1,
    .shape = clamp_shape,
    .forward = mo_map1_forward,
    .vjp = piecewise_vjp,
    MO_SAMPLES(clamp_samples),
};

mo_tensor *mo_clamp(mo_tape *t, mo_tensor *X, double a, double b) {
    return mo_apply(t, &mo_op_clamp, (mo_tensor *[]){X}, 1, &(bounds){a, b});
}
