/* autograd/inside.h - declarations of autograd/ for the library's other folders and the program `mochi`. They promise
 * nothing: any release may change them. */
#ifndef MO_AUTOGRAD_INSIDE_H
#define MO_AUTOGRAD_INSIDE_H

#include "autograd/autograd.h"
#include "autograd/inspect.h"
#include "autograd/op.h"
#include "tensor/inside.h"

MO_API mo_mode mo_tape_mode(const mo_tape *t);
MO_API int64_t mo_tape_nodes(const mo_tape *t); /* number of nodes recorded since the last reset */
MO_API bool mo_needs_grad(const mo_tensor *X);

/* The name and shape of a parameter, for mo_parameters. */
typedef struct mo_parameter_form {
    const char *name;
    int ndim;
    int64_t shape[MO_MAX_AXES];
} mo_parameter_form;

/* Makes n parameters in one block of memory, in the order of form, each at the next multiple of 64 bytes. Layers of one
 * shape then lie at equal distances, so that one batched product can read them. The block is freed with the last
 * parameter. P[i] behaves like a parameter made by mo_parameter; on failure every P[i] is the null tensor. */
MO_API void mo_parameters(mo_context *ctx, mo_dtype dtype, int n, const mo_parameter_form *form, mo_tensor **P);

/* Until it is called with NULL, a parameter with a name must have the shape of that tensor in `file`, which is
 * borrowed; checked before memory is allocated for it, as the sizes in a file's metadata can be false. */
void mo_expect_parameters(mo_context *ctx, const mo_arrays *file);

/* The ops registered in a context. */
MO_API int mo_n_ops(const mo_context *ctx);
MO_API const mo_op *mo_op_at(const mo_context *ctx, int i);
MO_API const mo_op *mo_find_op(const mo_context *ctx, const char *name); /* NULL if there is none */

/* Opens the shared object at path (a name without a slash is a file in the current folder) and registers the ops that
 * its symbol mo_ops lists. The object stays loaded. Returns the status. */
MO_API mo_code mo_load_ops(mo_context *ctx, const char *path);

/* Names the section of the nodes recorded from now on, such as "encoder" (copied; NULL: no name), until the reset.
 * Returns the previous name, so that sections nest. In MO_EVAL it has no effect. */
MO_API const char *mo_tape_section(mo_tape *t, const char *name);

/* For forward functions: a buffer that is freed when forward returns. */
MO_API mo_tensor *mo_call_temporary(mo_call *c, mo_dtype dtype, int ndim, const int64_t *shape);
/* Returns whether the call will be recorded. If not, a forward function need not save by-products. */
MO_API bool mo_call_recorded(const mo_call *c);
/* For view ops: makes output 0 a window onto input 0. offset counts elements from the first element of the input. */
MO_API mo_tensor *mo_call_view(mo_call *c, int ndim, const int64_t *shape, const int64_t *stride, int64_t offset);

#endif
