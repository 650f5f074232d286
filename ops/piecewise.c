/* ops/piecewise.c - piecewise linear functions entry by entry, and the slopes they have: |x|, leaky ReLU, clamp.
 *
 * X of any shape -> Y of the same; float32 or float64. abs: |x|. leaky_relu: x where x > 0, a x elsewhere. clamp:
 * min(max(x, a), b) with a <= b. slope: the derivative of one of these functions at X. NaN gives NaN, but its slope is
 * sign(x) = NaN, a or 0. Errors: other dtypes, bounds out of order. Saved: nothing.
 *
 * dY = slope(X) dX, hence X_bar = Y_bar * slope(X). At the kinks: |x| has slope 0 at 0, leaky_relu has a there, clamp
 * has 1 on its bounds. The slope itself is flat wherever it has a derivative: no gradient. */
#include "ops/inside.h"
#include "tensor/storage.h"

/* The function, or for the op slope the function whose derivative it is; a and b are its parameters. */
typedef struct piecewise {
    mo_map1 function, slope;
    double a, b;
} piecewise;

static bool piecewise_shape(mo_call *c) {
    const piecewise *p = c->attributes;
    if (!mo_call_real(c, 0, 0))
        return false;
    if (p->function == MO_MAP_CLAMP && !(p->a <= p->b))
        return mo_call_fail(c, MO_INVALID, "bounds %g and %g, expected a rising pair", p->a, p->b);
    return mo_call_output(c, 0, c->in[0]->dtype, c->in[0]->ndim, c->in[0]->shape);
}

static void map(mo_call *c, mo_map1 f) {
    const piecewise *p = c->attributes;
    mo_view x = mo_tensor_view(c->in[0]), y = mo_tensor_view(c->out[0]);
    mo_kernels_of(c->ctx, y.dtype)->map1(c->ctx, f, p->a, p->b, &x, &y);
}

static void piecewise_forward(mo_call *c) {
    map(c, ((const piecewise *)c->attributes)->function);
}

extern const mo_op mo_op_slope;

static void piecewise_vjp(mo_vjp *v) {
    mo_tensor *slope = mo_apply(v->t, &mo_op_slope, v->in, 1, v->attributes);
    v->in_bar[0] = mo_mul(v->t, v->out_bar[0], slope);
}

static const piecewise magnitude = {MO_MAP_ABS, MO_MAP_SIGN, 0, 0};
static const piecewise leaky = {MO_MAP_LEAKY_RELU, MO_MAP_LEAKY_STEP, 0.1, 0};
static const piecewise clamped = {MO_MAP_CLAMP, MO_MAP_CLAMP_MASK, -0.3, 0.5};
static const piecewise falling = {MO_MAP_CLAMP, MO_MAP_CLAMP_MASK, 1, 0};

/* What all of them refuse, whatever the function. */
#define REFUSED                                                                                                        \
    {                                                                                                                  \
        .name = "dtype", .in = "index<2>[3]", .attributes = &magnitude,                                                \
        .error = "input 0 is int64, expected float32 or float64; got [3] int64", .code = MO_MISMATCH                   \
    }

/* ---- abs ---- */

static const mo_sample abs_samples[] = {
    {.name = "matrix", .in = "[3, 4]", .attributes = &magnitude},
    {.name = "scalar", .in = "[]", .attributes = &magnitude},
    REFUSED,
};

const mo_op mo_op_abs = {
    .name = "abs",
    .n_in = 1,
    .attributes_size = sizeof(piecewise),
    .reads_in = 1,
    .shape = piecewise_shape,
    .forward = piecewise_forward,
    .vjp = piecewise_vjp,
    MO_SAMPLES(abs_samples),
};

mo_tensor *mo_abs(mo_tape *t, mo_tensor *X) {
    return mo_apply(t, &mo_op_abs, (mo_tensor *[]){X}, 1, &magnitude);
}

/* ---- leaky_relu ---- */

static const mo_sample leaky_relu_samples[] = {
    {.name = "matrix", .in = "[3, 4]", .attributes = &leaky},
    {.name = "empty", .in = "[0, 4]", .attributes = &leaky},
    REFUSED,
};

const mo_op mo_op_leaky_relu = {
    .name = "leaky_relu",
    .n_in = 1,
    .attributes_size = sizeof(piecewise),
    .reads_in = 1,
    .shape = piecewise_shape,
    .forward = piecewise_forward,
    .vjp = piecewise_vjp,
    MO_SAMPLES(leaky_relu_samples),
};

mo_tensor *mo_leaky_relu(mo_tape *t, mo_tensor *X, double a) {
    piecewise p = leaky;
    p.a = a;
    return mo_apply(t, &mo_op_leaky_relu, (mo_tensor *[]){X}, 1, &p);
}

/* ---- clamp ---- */

static const mo_sample clamp_samples[] = {
    {.name = "matrix", .in = "distinct[3, 4]", .attributes = &clamped},
    {.name = "scalar", .in = "distinct[]", .attributes = &clamped},
    {.name = "order", .in = "[3]", .attributes = &falling, .error = "clamp: bounds 1 and 0, expected a rising pair"},
    {.name = "dtype", .in = "index<2>[3]", .attributes = &clamped, .error = "int64", .code = MO_MISMATCH},
};

const mo_op mo_op_clamp = {
    .name = "clamp",
    .n_in = 1,
    .attributes_size = sizeof(piecewise),
    .reads_in = 1,
    .shape = piecewise_shape,
    .forward = piecewise_forward,
    .vjp = piecewise_vjp,
    MO_SAMPLES(clamp_samples),
};

mo_tensor *mo_clamp(mo_tape *t, mo_tensor *X, double a, double b) {
    piecewise p = clamped;
    p.a = a;
    p.b = b;
    return mo_apply(t, &mo_op_clamp, (mo_tensor *[]){X}, 1, &p);
}

/* ---- slope ---- */

static void slope_forward(mo_call *c) {
    map(c, ((const piecewise *)c->attributes)->slope);
}

static void slope_vjp(mo_vjp *v) {
    (void)v; /* flat: no gradient */
}

static const mo_sample slope_samples[] = {
    {.name = "abs", .in = "[3, 4]", .attributes = &magnitude},
    {.name = "leaky_relu", .in = "[5]", .attributes = &leaky},
    {.name = "clamp", .in = "distinct[3, 4]", .attributes = &clamped},
    REFUSED,
};

const mo_op mo_op_slope = {
    .name = "slope",
    .n_in = 1,
    .attributes_size = sizeof(piecewise),
    .shape = piecewise_shape,
    .forward = slope_forward,
    .vjp = slope_vjp,
    MO_SAMPLES(slope_samples),
};
