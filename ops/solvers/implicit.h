/* ops/solvers/implicit.h - the linear systems of implicit differentiation, with the matrix J = dF/dx or J^T (library
 * internal). */
#ifndef MO_IMPLICIT_H
#define MO_IMPLICIT_H

#include "ops/inside.h"

enum { MO_MAX_THETA = 12 };

/* F, the options of mo_implicit and a copy of the user's state: the attributes of a node. */
typedef struct mo_implicit_problem {
    mo_residual residual;
    mo_implicit_options options;
    int n;                                                   /* the number of tensors theta */
    _Alignas(void *) unsigned char state[MO_MAX_STATE + 32]; /* has room for a mo_objective before the user's state */
} mo_implicit_problem;

/* F and the tensors x and theta at which it was computed. */
typedef struct mo_implicit_graph {
    mo_tensor *x, *theta[MO_MAX_THETA], *F;
} mo_implicit_graph;

/* Checks what a caller of `name` passes, the function included, and writes it to p, all but p->residual. options may be
 * NULL. Returns false in the error state. */
bool mo_implicit_open(mo_context *ctx, const char *name, mo_implicit_problem *p, mo_residual function,
    mo_tensor *const *theta, int n, const mo_implicit_options *options);
void *mo_implicit_state(const mo_implicit_problem *p);
/* Returns the tolerance of linear systems, by the options or the default for `real`. */
double mo_implicit_tolerance(const mo_implicit_problem *p, mo_dtype real);
/* Computes F at x and theta. g receives F and copies of x and theta, made by ops, with respect to which gradients can
 * be taken. The tape must record. Returns false if F does not have the shape of x, after raising an error that begins
 * with `name`. */
bool mo_implicit_record(mo_tape *t, const mo_implicit_problem *p, const char *name, mo_tensor *x,
    mo_tensor *const *theta, mo_implicit_graph *g);
/* Raises an error if F of g reads a tensor that needs a gradient and is not in theta. For forward functions, in which g
 * is computed at x and theta without gradients. */
bool mo_implicit_is_closed(mo_tape *t, const char *name, const mo_implicit_graph *g);
/* Returns the number of unknowns in one system of the batch. */
int64_t mo_implicit_unknowns(const mo_implicit_problem *p, const mo_tensor *x);
bool mo_implicit_is_dense(const mo_implicit_problem *p, const mo_tensor *x);

/* J at one recorded F, known by its products: J^T v is a vjp of F, and J v is a vjp of q = J^T w, which is linear in
 * w. */
typedef struct mo_jacobian {
    mo_implicit_graph g;
    mo_tensor *w, *q;
} mo_jacobian;

/* Returns J^T v; needs J->g, from mo_implicit_record. This function and mo_jacobian_times are mo_linear_maps; state is
 * a mo_jacobian. */
mo_tensor *mo_jacobian_transposed_times(mo_tape *t, mo_tensor *v, void *state);
/* Returns J v; needs w and q, from mo_jacobian_open. */
mo_tensor *mo_jacobian_times(mo_tape *t, mo_tensor *v, void *state);
void mo_jacobian_open(mo_tape *t, mo_jacobian *J);

/* Factors J of every item of the batch: LU [items, m, m], pivot int32 [items, m]. For forward functions. A singular J
 * raises an error that names the item. */
bool mo_implicit_factor(
    mo_call *c, const mo_implicit_problem *p, const mo_implicit_graph *g, mo_tensor **LU, mo_tensor **pivot);

/* mo_implicit_solve of a problem that is open. factors: LU and pivot of J, or NULL if they are not known. */
mo_tensor *mo_implicit_solve_open(mo_tape *t, const mo_implicit_problem *p, mo_tensor *b, mo_tensor *x,
    mo_tensor *const *theta, mo_tensor *const *factors, bool transposed);

#endif
