/* ops/solvers/implicit.h - the linear systems of implicit differentiation, J = dF/dx and its transpose (library
 * internal). */
#ifndef MO_IMPLICIT_H
#define MO_IMPLICIT_H

#include "ops/inside.h"

enum { MO_MAX_THETA = 12 };

/* The attributes of a node: the options of mo_implicit and its copy of the state. */
typedef struct mo_implicit_problem {
    mo_residual residual;
    mo_implicit_options options;
    int n;                                                   /* number of theta */
    _Alignas(void *) unsigned char state[MO_MAX_STATE + 32]; /* room for an objective before the user's state */
} mo_implicit_problem;

/* F and the tensors at which it was evaluated. */
typedef struct mo_implicit_graph {
    mo_tensor *x, *theta[MO_MAX_THETA], *F;
} mo_implicit_graph;

void *mo_implicit_state(const mo_implicit_problem *p);
/* The tolerance of a linear system. */
double mo_implicit_tolerance(const mo_implicit_problem *p, mo_dtype real);
/* F at copies of x and theta made by ops, so that gradients can be taken in them. The tape must record. Returns false
 * if F is not shaped like x; the error begins with name. */
bool mo_implicit_record(mo_tape *t, const mo_implicit_problem *p, const char *name, mo_tensor *x,
    mo_tensor *const *theta, mo_implicit_graph *g);
/* The number of unknowns of one system. */
int64_t mo_implicit_unknowns(const mo_implicit_problem *p, const mo_tensor *x);
bool mo_implicit_is_dense(const mo_implicit_problem *p, const mo_tensor *x);

/* J of one recorded F, by its products: J^T v is a vjp of F, J v a vjp of q = J^T w, linear in w. */
typedef struct mo_jacobian {
    mo_implicit_graph g;
    mo_tensor *w, *q;
} mo_jacobian;

/* J^T v, after mo_implicit_record. It and mo_jacobian_times are mo_linear_maps over a mo_jacobian. */
mo_tensor *mo_jacobian_transposed_times(mo_tape *t, mo_tensor *v, void *state);
/* J v, after mo_jacobian_open. */
mo_tensor *mo_jacobian_times(mo_tape *t, mo_tensor *v, void *state);
void mo_jacobian_open(mo_tape *t, mo_jacobian *J);

/* Factors of J of every item: LU [items, m, m], pivot int32 [items, m]. For forward functions; a singular J is an error
 * that names the item. */
bool mo_implicit_factor(
    mo_call *c, const mo_implicit_problem *p, const mo_implicit_graph *g, mo_tensor **LU, mo_tensor **pivot);

/* J^-1 b (transposed: J^-T b) with J = dF/dx at (x, theta); differentiable in b, x and theta. factors: LU and pivot, or
 * NULL. */
mo_tensor *mo_implicit_solve(mo_tape *t, const mo_implicit_problem *p, mo_tensor *b, mo_tensor *x,
    mo_tensor *const *theta, mo_tensor *const *factors, bool transposed);

#endif
