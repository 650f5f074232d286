/* tests/tangents.h - computes the derivative of graph code along a direction v in three ways: J v by mo_jvp, J^T w by
 * mo_grad, and by a central difference. <J v, w> = <v, J^T w> up to rounding; J v is the difference quotient up to
 * O(e^2).
 *
 * Order 1 differentiates the function; order 2 its gradient, as a function of the inputs and of the cotangents. */
#ifndef TANGENTS_H
#define TANGENTS_H

#include "autograd/sample.h"
#include "autograd/tape.h"
#include "tests/scratch.h"

enum { MOST_TENSORS = MO_MAX_INPUTS + MO_MAX_OUTPUTS };
/* The quotient's error is e^2 times a third derivative, plus rounding / e: smaller steps are for an f that bends. */
static const double difference_steps[] = {1e-5, 1e-6, 1e-7};
enum { DIFFERENCE_STEPS = 3 };
static const double close_enough = 1e-6;

typedef struct graph_code {
    mo_context *ctx;
    mo_function f;
    void *state;
    mo_tensor *const *in;
    int n_in, n_out, order;
    int n_cotangents;
    mo_tensor *cotangent[MO_MAX_OUTPUTS]; /* for order 2; leaves */
    mo_random r;
} graph_code;

typedef struct tangent_errors {
    bool any;        /* an output depends on an input, and neither is empty */
    double dot;      /* |<J v, w> - <v, J^T w>| / max(|v| |w|, |J v| |w| + |v| |J^T w|) */
    double quotient; /* |J v - quotient| / max(1, |J v|) */
} tangent_errors;

/* Standard normal values in the shape of T: a leaf without a gradient, to be released. */
static inline mo_tensor *normal_like(graph_code *g, const mo_tensor *T) {
    mo_sample_input like = {.draw = MO_DRAW_CONSTANT, .ndim = T->ndim};
    memcpy(like.shape, T->shape, sizeof like.shape);
    return mo_sample_tensor(g->ctx, &like, MO_F64, &g->r);
}

static inline double inner_product(mo_tensor *const *A, mo_tensor *const *B, int n) {
    double sum = 0;
    for (int i = 0; i < n; i++) {
        int64_t count = mo_numel(A[i]);
        double *a = test_memory((size_t)count * sizeof *a), *b = test_memory((size_t)count * sizeof *b);
        mo_tensor_read(A[i], a, (size_t)count * sizeof *a);
        mo_tensor_read(B[i], b, (size_t)count * sizeof *b);
        for (int64_t k = 0; k < count; k++)
            sum += a[k] * b[k];
    }
    return sum;
}

/* Lists the inputs that move; returns their number. */
static inline int moving(const graph_code *g, mo_tensor **xs) {
    int n = 0;
    for (int i = 0; i < g->n_in; i++)
        if (mo_needs_grad(g->in[i]))
            xs[n++] = g->in[i];
    for (int i = 0; i < g->n_cotangents; i++)
        xs[n++] = g->cotangent[i];
    return n;
}

/* Lists the real outputs of f that depend on an input; returns their number. */
static inline int outputs_of(graph_code *g, mo_tape *t, mo_tensor **ys) {
    mo_tensor *out[MO_MAX_OUTPUTS];
    int n = 0;
    g->f(t, g->in, g->n_in, out, g->n_out, g->state);
    for (int i = 0; i < g->n_out && mo_ok(g->ctx); i++)
        if (mo_dtype_is_real(out[i]->dtype) && mo_needs_grad(out[i]))
            ys[n++] = out[i];
    return n;
}

/* Evaluates the outputs or, for order 2, the gradients; returns their number. */
static inline int evaluated(graph_code *g, mo_tape *t, mo_tensor **ys) {
    mo_tensor *xs[MOST_TENSORS], *out[MO_MAX_OUTPUTS];
    int ny = outputs_of(g, t, g->order == 1 ? ys : out);
    if (g->order == 1 || !mo_ok(g->ctx) || ny == 0)
        return ny;
    int nx = moving(g, xs) - g->n_cotangents;
    mo_grad(t, out, g->cotangent, ny, xs, ys, nx, MO_CREATE_GRAPH | MO_ALLOW_UNUSED);
    return nx;
}

static inline void move(graph_code *g, mo_tensor *const *xs, mo_tensor *const *vs, int nx, double by) {
    for (int j = 0; j < nx; j++) {
        int64_t n = mo_numel(xs[j]);
        size_t bytes = (size_t)n * sizeof(double);
        double *x = test_memory(bytes), *v = test_memory(bytes);
        mo_tensor_read(xs[j], x, bytes);
        mo_tensor_read(vs[j], v, bytes);
        for (int64_t k = 0; k < n; k++)
            x[k] += by * v[k];
        mo_tensor_write(xs[j], x, bytes);
    }
    assert_true(mo_ok(g->ctx));
}

/* Adds factor * T to the numbers at sum. */
static inline double *add_values(const mo_tensor *T, double factor, double *sum) {
    int64_t n = mo_numel(T);
    double *x = test_memory((size_t)n * sizeof *x);
    mo_tensor_read(T, x, (size_t)n * sizeof *x);
    for (int64_t k = 0; k < n; k++)
        sum[k] += factor * x[k];
    return sum + n;
}

/* Returns |tangents - (f(x + e v) - f(x - e v)) / 2e| for e = step, and moves the inputs back. */
static inline double quotient_distance(graph_code *g, mo_tensor *const *tangents, int ny, mo_tensor *const *xs,
    mo_tensor *const *vs, int nx, double step) {
    int64_t total = 0;
    for (int i = 0; i < ny; i++)
        total += mo_numel(tangents[i]);
    double *distance = test_memory((size_t)total * sizeof *distance), *at = distance, sum = 0;
    for (int i = 0; i < ny; i++)
        at = add_values(tangents[i], -1, at);
    for (int side = 1; side >= -1 && mo_ok(g->ctx); side -= 2) {
        mo_tensor *ys[MOST_TENSORS];
        mo_tape *t = mo_tape_create(g->ctx, MO_RECORD);
        move(g, xs, vs, nx, side * step);
        int n = evaluated(g, t, ys);
        at = distance;
        for (int i = 0; i < n && mo_ok(g->ctx); i++)
            at = add_values(ys[i], side / (2 * step), at);
        mo_tape_release(t);
        if (mo_ok(g->ctx))
            move(g, xs, vs, nx, -side * step);
    }
    for (int64_t k = 0; k < total; k++)
        sum += distance[k] * distance[k];
    return sqrt(sum);
}

/* Draws cotangents for order 2. */
static inline void graph_code_open(graph_code *g) {
    HELD(mo_tape) *t = mo_tape_create(g->ctx, MO_RECORD);
    mo_tensor *out[MO_MAX_OUTPUTS];
    int n = g->order == 2 ? outputs_of(g, t, out) : 0;
    for (int i = 0; i < n && mo_ok(g->ctx); i++)
        g->cotangent[g->n_cotangents++] = mo_require_grad(normal_like(g, out[i]));
}

static inline void graph_code_close(graph_code *g) {
    for (int i = 0; i < g->n_cotangents; i++)
        mo_tensor_release(g->cotangent[i]);
}

/* Computes both errors along one random direction. An error of the context stays there. */
static inline tangent_errors tangent_errors_of(graph_code *g) {
    tangent_errors e = {0};
    mo_tensor *xs[MOST_TENSORS], *ys[MOST_TENSORS], *vs[MOST_TENSORS], *ws[MOST_TENSORS], *tangents[MOST_TENSORS];
    mo_tensor *grads[MOST_TENSORS];
    graph_code_open(g);
    mo_tape *t = mo_tape_create(g->ctx, MO_RECORD);
    int nx = moving(g, xs), ny = mo_ok(g->ctx) ? evaluated(g, t, ys) : 0;
    for (int j = 0; j < nx; j++)
        vs[j] = normal_like(g, xs[j]);
    for (int i = 0; i < ny; i++)
        ws[i] = normal_like(g, ys[i]);
    unsigned flags = MO_RETAIN | MO_ALLOW_UNUSED;
    if (nx && ny && mo_jvp(t, ys, ny, xs, vs, nx, tangents, MO_ALLOW_UNUSED) == MO_OK &&
        mo_grad(t, ys, ws, ny, xs, grads, nx, flags) == MO_OK) {
        double Jv = inner_product(tangents, tangents, ny), JTw = inner_product(grads, grads, nx);
        double v = inner_product(vs, vs, nx), w = inner_product(ws, ws, ny), scale = sqrt(Jv * w) + sqrt(JTw * v);
        double apart = fabs(inner_product(tangents, ws, ny) - inner_product(vs, grads, nx));
        e.any = scale > 0;
        e.dot = apart == 0 ? 0 : apart / fmax(scale, sqrt(v * w)); /* rounding relative to |v| |w| too, as J v can
                                                                    * cancel to 0 */
        e.quotient = INFINITY;
        for (int k = 0; k < DIFFERENCE_STEPS && e.quotient > close_enough && mo_ok(g->ctx); k++)
            e.quotient = fmin(
                e.quotient, quotient_distance(g, tangents, ny, xs, vs, nx, difference_steps[k]) / fmax(1, sqrt(Jv)));
    }
    for (int j = 0; j < nx; j++)
        mo_tensor_release(vs[j]);
    for (int i = 0; i < ny; i++)
        mo_tensor_release(ws[i]);
    mo_tape_release(t);
    graph_code_close(g);
    return e;
}

#endif
