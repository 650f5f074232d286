/* ops/rules/maps.c - forwards of ops that compute one function entry by entry. */
#include "ops/rules/maps.h"

#include "ops/rules/shapes.h"

#include <string.h>

void mo_map1_forward(mo_call *c) {
    double parameter[2] = {0};
    mo_view x = mo_tensor_view(c->in[0]), y = mo_tensor_view(c->out[0]);
    memcpy(parameter, c->attributes ? c->attributes : parameter, c->op->attributes_size);
    mo_kernels_of(c->ctx, y.dtype)->map1(c->ctx, *(const mo_map1 *)c->op->state, parameter[0], parameter[1], &x, &y);
}

bool mo_map2_shape(mo_call *c) {
    int ndim;
    int64_t size[MO_MAX_AXES];
    return mo_call_real(c, 0, 1) && mo_broadcast_leading(c, 0, 1, 0, &ndim, size) &&
           mo_call_output(c, 0, c->in[0]->dtype, ndim, size);
}

void mo_map2_forward(mo_call *c) {
    mo_view y = mo_tensor_view(c->out[0]);
    mo_view a = mo_broadcast_view(mo_tensor_view(c->in[0]), 0, y.ndim, y.shape);
    mo_view b = mo_broadcast_view(mo_tensor_view(c->in[1]), 0, y.ndim, y.shape);
    mo_kernels_of(c->ctx, y.dtype)->map2(c->ctx, *(const mo_map2 *)c->op->state, &a, &b, &y);
}
