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

/* ---- abs ---- */

static const mo_sample abs_samples[] = {
    {.name = "matrix", .n_in = 1, .in = {{.ndim = 2, .shape = {3, 4}}}, .attributes = &magnitude},
    {.name = "scalar", .n_in = 1, .in = {{.ndim = 0}}, .attributes = &magnitude},
};

static const mo_error_sample piecewise_error_samples[] = {
    {{.name = "dtype", .n_in = 1, .in = {{MO_DRAW_INDEX, 1, {3}, 2}}, .attributes = &magnitude}, MO_MISMATCH,
        "input 0 is int64, expected float32 or float64; got [3] int64"},
};

const mo_op mo_op_abs = {
    .name = "abs",
    .min_in = 1,
    .max_in = 1,
    .n_out = 1,
    .attributes_size = sizeof(piecewise),
    .reads_in = 1,
    .shape = piecewise_shape,
    .forward = piecewise_forward,
    .vjp = piecewise_vjp,
    .samples = abs_samples,
    .n_samples = 2,
    .error_samples = piecewise_error_samples,
    .n_error_samples = 1,
};

mo_tensor *mo_abs(mo_tape *t, mo_tensor *X) {
    return mo_apply(t, &mo_op_abs, (mo_tensor *[]){X}, 1, &magnitude);
}

/* ---- leaky_relu ---- */

static const mo_sample leaky_relu_samples[] = {
    {.name = "matrix", .n_in = 1, .in = {{.ndim = 2, .shape = {3, 4}}}, .attributes = &leaky},
    {.name = "empty", .n_in = 1, .in = {{.ndim = 2, .shape = {0, 4}}}, .attributes = &leaky},
};

const mo_op mo_op_leaky_relu = {
    .name = "leaky_relu",
    .min_in = 1,
    .max_in = 1,
    .n_out = 1,
    .attributes_size = sizeof(piecewise),
    .reads_in = 1,
    .shape = piecewise_shape,
    .forward = piecewise_forward,
    .vjp = piecewise_vjp,
    .samples = leaky_relu_samples,
    .n_samples = 2,
    .error_samples = piecewise_error_samples,
    .n_error_samples = 1,
};

mo_tensor *mo_leaky_relu(mo_tape *t, mo_tensor *X, double a) {
    piecewise p = leaky;
    p.a = a;
    return mo_apply(t, &mo_op_leaky_relu, (mo_tensor *[]){X}, 1, &p);
}

/* ---- clamp ---- */

static const mo_sample clamp_samples[] = {
    {.name = "matrix", .n_in = 1, .in = {{MO_DRAW_DISTINCT, 2, {3, 4}, 0}}, .attributes = &clamped},
    {.name = "scalar", .n_in = 1, .in = {{.draw = MO_DRAW_DISTINCT}}, .attributes = &clamped},
};

static const mo_error_sample clamp_error_samples[] = {
    {{.name = "order", .n_in = 1, .in = {{.ndim = 1, .shape = {3}}}, .attributes = &falling}, MO_INVALID,
        "clamp: bounds 1 and 0, expected a rising pair"},
    {{.name = "dtype", .n_in = 1, .in = {{MO_DRAW_INDEX, 1, {3}, 2}}, .attributes = &clamped}, MO_MISMATCH, "int64"},
};

const mo_op mo_op_clamp = {
    .name = "clamp",
    .min_in = 1,
    .max_in = 1,
    .n_out = 1,
    .attributes_size = sizeof(piecewise),
    .reads_in = 1,
    .shape = piecewise_shape,
    .forward = piecewise_forward,
    .vjp = piecewise_vjp,
    .samples = clamp_samples,
    .n_samples = 2,
    .error_samples = clamp_error_samples,
    .n_error_samples = 2,
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
    {.name = "abs", .n_in = 1, .in = {{.ndim = 2, .shape = {3, 4}}}, .attributes = &magnitude},
    {.name = "leaky_relu", .n_in = 1, .in = {{.ndim = 1, .shape = {5}}}, .attributes = &leaky},
    {.name = "clamp", .n_in = 1, .in = {{MO_DRAW_DISTINCT, 2, {3, 4}, 0}}, .attributes = &clamped},
};

const mo_op mo_op_slope = {
    .name = "slope",
    .min_in = 1,
    .max_in = 1,
    .n_out = 1,
    .attributes_size = sizeof(piecewise),
    .shape = piecewise_shape,
    .forward = slope_forward,
    .vjp = slope_vjp,
    .samples = slope_samples,
    .n_samples = 3,
    .error_samples = piecewise_error_samples,
    .n_error_samples = 1,
};
