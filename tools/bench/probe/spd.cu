/* tools/bench/probe/spd.cu - the backend's own solve of positive definite systems, timed beside the library's parts at
 * the same sizes. */
#include "tensor/cuda/spd.cu"
#include "tools/bench/probe/probe.h"

const char *probe_spd(seam *s, const void *of) {
    const probe_system *g = (const probe_system *)of;
    cuda_state state = {};
    mo_context ctx = {};
    state.s = s;
    ctx.backend_state = &state;
    auto square = [&](float *data) { return mo_view{data, MO_F32, 2, {g->n, g->n}, {g->n, 1}}; };
    auto columns = [&](float *data) { return mo_view{data, MO_F32, 2, {g->n, g->m}, {g->m, 1}}; };
    mo_spd_system system = {square(g->adjoint ? nullptr : g->A), columns(g->B), square(g->L), columns(g->X),
        mo_view{g->info, MO_I32, 1, {1}, {1}}};
    return solve_spd_cuda(&ctx, &system) ? NULL : "its tiles have no room in shared memory";
}
