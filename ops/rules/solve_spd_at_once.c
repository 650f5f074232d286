/* ops/rules/solve_spd_at_once.c - the factor of an SPD system, its info and both solves in one kernel, if the device
 * has such a kernel for this size; solve_spd.c has the op and its adjoint. */
#include "ops/rules/factor.h"
#include "tensor/backend.h"

#include <math.h>

bool mo_solve_spd_at_once(mo_call *c) {
    mo_failure failure = *(const mo_failure *)c->attributes;
    const mo_tensor *A = c->in[0];
    const mo_kernels *k = mo_kernels_of(c->ctx, A->dtype);
    mo_spd_system s = {.X = mo_tensor_view(c->out[0])}, asked = s;
    asked.X.data = NULL;
    if (!k->solve_spd || !k->solve_spd(c->ctx, &asked))
        return false;
    bool given = c->n_in == 3;
    mo_tensor *L = given ? c->in[2] : mo_tape_tensor(c->t, A->dtype, A->ndim, A->shape);
    mo_tensor *info = given ? NULL : mo_call_temporary(c, MO_I32, A->ndim - 2, A->shape);
    s.B = mo_call_dense(c, 1);
    if (given)
        s.L = mo_call_dense(c, 2);
    else
        s.A = mo_call_dense(c, 0);
    if (!mo_ok(c->ctx))
        return true;
    if (!given) {
        s.L = mo_tensor_view(L);
        s.info = mo_tensor_view(info);
    }
    k->solve_spd(c->ctx, &s);
    if (!given && failure == MO_FAIL_ITEM)
        mo_fill_failed(c, info, L, NAN);
    else if (!given)
        mo_check_factor_info(c, info, "is not positive definite (leading minor %d)");
    mo_call_save(c, L);
    return true;
}
