/* ops/solvers/jacobian.c - F as graph code, and its Jacobian J = dF/dx: products with J, and its factors if J is small.
 *
 * Row i of J is the vjp of F with the unit cotangent e_i: m sweeps over one recorded F give the Jacobians of all items
 * of a batch at once, since item k of F depends on item k of x alone. */
#include "autograd/tape.h"
#include "ops/rules/factor.h"
#include "ops/rules/shapes.h"
#include "ops/solvers/implicit.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

void *mo_implicit_state(const mo_implicit_problem *p) {
    return p->options.state_size ? (void *)(uintptr_t)p->state : p->options.state;
}

int64_t mo_implicit_unknowns(const mo_implicit_problem *p, const mo_tensor *x) {
    int64_t m = 1;
    for (int i = p->options.batch_axes; i < x->ndim; i++)
        m *= x->shape[i];
    return m;
}

double mo_implicit_tolerance(const mo_implicit_problem *p, mo_dtype real) {
    return p->options.tolerance > 0 ? p->options.tolerance : real == MO_F64 ? 1e-10 : 1e-5;
}

bool mo_implicit_is_dense(const mo_implicit_problem *p, const mo_tensor *x) {
    int64_t limit = p->options.dense_limit ? p->options.dense_limit : 64;
    return mo_implicit_unknowns(p, x) <= limit;
}

bool mo_implicit_record(mo_tape *t, const mo_implicit_problem *p, const char *name, mo_tensor *x,
    mo_tensor *const *theta, mo_implicit_graph *g) {
    mo_context *ctx = mo_tape_context(t);
    char got[160], want[160];
    if (!mo_needs_grad(x))
        x = mo_require_grad(mo_stop_gradient(t, x));
    g->x = mo_reshape(t, x, x->ndim, x->shape);
    for (int i = 0; i < p->n; i++)
        g->theta[i] =
            mo_dtype_is_real(theta[i]->dtype) ? mo_reshape(t, theta[i], theta[i]->ndim, theta[i]->shape) : theta[i];
    g->F = mo_ok(ctx) ? p->residual(t, g->x, g->theta, p->n, mo_implicit_state(p)) : NULL;
    if (!mo_ok(ctx))
        return false;
    if (mo_is_null(g->F))
        mo_fail(ctx, MO_INVALID, "%s: the residual returned nothing and no error", name);
    else if (!mo_same_shape(g->F, x) || g->F->dtype != x->dtype)
        mo_fail(ctx, MO_INVALID, "%s: the residual is %s %s, expected %s %s like x_star", name,
            mo_shape_string(g->F, got, sizeof got), mo_dtype_name(g->F->dtype), mo_shape_string(x, want, sizeof want),
            mo_dtype_name(x->dtype));
    return mo_ok(ctx);
}

static bool is_older(const mo_tape *t, const mo_tensor *X, const mo_tensor *than) {
    int64_t i = 0;
    while (i < t->n_tensors && t->tensors[i] != X && t->tensors[i] != than)
        i++;
    return i < t->n_tensors && t->tensors[i] == X;
}

bool mo_implicit_is_closed(mo_tape *t, const char *name, const mo_implicit_graph *g) {
    const int64_t first = g->x->node->index + 1;
    char shape[160];
    for (int64_t i = first; i < t->n_nodes; i++)
        for (int k = 0; k < t->nodes[i]->n_in; k++) {
            const mo_tensor *X = t->nodes[i]->in[k];
            bool own = X->node ? X->node->index >= first : X->tape && !is_older(t, X, g->x);
            if (X->requires_grad && X != g->x && !own)
                mo_fail(t->ctx, MO_INVALID,
                    "%s: the function reads a tensor that needs a gradient and is not in theta, %s %s: its gradient "
                    "would be lost",
                    name, mo_shape_string(X, shape, sizeof shape), mo_dtype_name(X->dtype));
        }
    return mo_ok(t->ctx);
}

/* ---- products ---- */

static mo_tensor *vjp_of(mo_tape *t, mo_tensor *y, mo_tensor *at, mo_tensor *v, unsigned flags) {
    mo_tensor *product;
    mo_grad(t, &y, &v, 1, &at, &product, 1, flags | MO_ALLOW_UNUSED);
    return product;
}

mo_tensor *mo_jacobian_transposed_times(mo_tape *t, mo_tensor *v, void *state) {
    mo_jacobian *J = state;
    return vjp_of(t, J->g.F, J->g.x, v, MO_RETAIN);
}

mo_tensor *mo_jacobian_times(mo_tape *t, mo_tensor *v, void *state) {
    mo_jacobian *J = state;
    return vjp_of(t, J->q, J->w, v, MO_RETAIN);
}

void mo_jacobian_open(mo_tape *t, mo_jacobian *J) {
    mo_tensor *x = J->g.x, *w = mo_full(t, x->dtype, x->ndim, x->shape, 0);
    J->w = mo_reshape(t, mo_require_grad(w), x->ndim, x->shape);
    J->q = vjp_of(t, J->g.F, x, J->w, MO_CREATE_GRAPH);
}

/* ---- factors ---- */

/* Fills row i of J [items, m, m] for every item: the vjp of F with e_i. */
static void fill_row(mo_call *c, const mo_implicit_graph *g, int64_t i, mo_tensor *J) {
    mo_scope scope = mo_scope_open(c->t);
    int64_t items = mo_dim(J, 0), m = mo_dim(J, 1);
    mo_tensor *e = mo_full(c->t, g->x->dtype, g->x->ndim, g->x->shape, 0), *row;
    mo_view flat = mo_tensor_view(e), to = mo_tensor_view(J);
    flat.ndim = 2;
    flat.shape[0] = items, flat.shape[1] = m;
    flat.stride[0] = m, flat.stride[1] = 1;
    mo_view unit = mo_window(flat, 1, i, 1);
    if (mo_ok(c->ctx))
        c->ctx->backend->fill(c->ctx, 1, &unit);
    mo_tensor *F = g->F;
    mo_grad(c->t, &F, &e, 1, (mo_tensor *[]){g->x}, &row, 1, MO_RETAIN | MO_ALLOW_UNUSED);
    row = mo_contiguous(c->t, row);
    if (mo_ok(c->ctx)) {
        flat.data = mo_tensor_view(row).data;
        to = mo_window(to, 1, i, 1);
        to.ndim = 2;
        to.shape[1] = m;
        to.stride[1] = 1;
        c->ctx->backend->copy(c->ctx, &flat, &to);
    }
    mo_scope_close(c->t, &scope, NULL, 0);
}

/* Sets J to the Jacobian that the user's function computes. */
static void copy_jacobian(mo_call *c, const mo_implicit_problem *p, const mo_implicit_graph *g, mo_tensor *J) {
    mo_scope scope = mo_scope_open(c->t);
    mo_tensor *given = p->options.jacobian(c->t, mo_stop_gradient(c->t, g->x), g->theta, p->n, mo_implicit_state(p));
    char got[160], want[160];
    int64_t shape[MO_MAX_AXES];
    int ndim = p->options.batch_axes + 2;
    for (int i = 0; i < ndim && ndim <= MO_MAX_AXES; i++)
        shape[i] = i < p->options.batch_axes ? g->x->shape[i] : mo_dim(J, 1);
    bool fits = !mo_is_null(given) && given->dtype == J->dtype && given->ndim == ndim;
    for (int i = 0; fits && i < ndim; i++)
        fits = given->shape[i] == shape[i];
    if (mo_ok(c->ctx) && !fits)
        mo_fail(c->ctx, MO_INVALID, "%s: the given Jacobian is %s %s, expected %s %s", c->op->name,
            mo_is_null(given) ? "nothing" : mo_shape_string(given, got, sizeof got),
            mo_is_null(given) ? "" : mo_dtype_name(given->dtype), mo_format_shape(ndim, shape, want, sizeof want),
            mo_dtype_name(J->dtype));
    mo_tensor *flat = mo_reshape(c->t, mo_contiguous(c->t, given), 3, J->shape);
    if (mo_ok(c->ctx))
        mo_tensor_copy(J, flat);
    mo_scope_close(c->t, &scope, NULL, 0);
}

/* Raises for the first item whose J is singular or not finite. If the options accept failures, an item whose J is not
 * finite raises no error and is only reported as missed. */
static bool check_factors(mo_call *c, const mo_implicit_options *o, const mo_tensor *info) {
    int64_t items = mo_numel(info);
    int32_t *word = mo_host_alloc(c->ctx, (size_t)items * sizeof *word);
    char which[80] = "";
    if (word)
        mo_tensor_read(info, word, (size_t)items * sizeof *word);
    for (int64_t i = 0; word && i < items && mo_ok(c->ctx); i++) {
        if (word[i] == -1 && o->accept && o->report)
            o->report->missed = true;
        if (!word[i] || (word[i] == -1 && o->accept))
            continue;
        if (items > 1)
            snprintf(which, sizeof which, " of system %" PRId64 " of %" PRId64, i, items);
        mo_fail(c->ctx, MO_NUMERICAL, "%s: the Jacobian dF/dx%s %s", c->op->name, which,
            word[i] == -1 ? "holds a value that is not finite" : "is singular to working precision");
    }
    mo_host_free(c->ctx, word, (size_t)items * sizeof *word);
    return mo_ok(c->ctx);
}

bool mo_implicit_factor(
    mo_call *c, const mo_implicit_problem *p, const mo_implicit_graph *g, mo_tensor **LU, mo_tensor **pivot) {
    int64_t m = mo_implicit_unknowns(p, g->x), items = 1;
    for (int i = 0; i < p->options.batch_axes; i++)
        items *= g->x->shape[i];
    *LU = mo_tape_tensor(c->t, g->x->dtype, 3, (int64_t[]){items, m, m});
    *pivot = mo_tape_tensor(c->t, MO_I32, 2, (int64_t[]){items, m});
    mo_tensor *info = mo_full(c->t, MO_I32, 1, &items, 0);
    if (p->options.jacobian)
        copy_jacobian(c, p, g, *LU);
    for (int64_t i = 0; !p->options.jacobian && i < m && mo_ok(c->ctx); i++)
        fill_row(c, g, i, *LU);
    if (!mo_ok(c->ctx))
        return false;
    mo_view lu = mo_tensor_view(*LU), piv = mo_tensor_view(*pivot), word = mo_tensor_view(info);
    mo_kernels_of(c->ctx, lu.dtype)->getrf(c->ctx, &lu, &piv, &word);
    if (p->options.accept) {
        mo_fill_failed(c, info, *LU, NAN);
        mo_fill_failed(c, info, *pivot, 1); /* any valid row number: the rows are NaN */
    }
    return check_factors(c, &p->options, info);
}
