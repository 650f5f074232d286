/* models/check_encoder.c - compares an encoder's derivatives with finite differences, and rows encoded in blocks with
 * rows encoded all at once. */
#include "models/model.h"
#include "tensor/files/number_text.h"
#include "tensor/library.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { ROWS = 5, DIM = 6, HOPS = 2, EXTRAS = 3 };

typedef struct problem {
    mo_model *model;
    uint64_t seed;
} problem;

static mo_tensor *draw(mo_tape *t, int ndim, const int64_t *shape, uint64_t seed, uint64_t stream) {
    mo_random r = mo_random_at(seed, MO_PURPOSE_CHECK, stream);
    double x[2 * (HOPS + 1) * ROWS * DIM];
    int64_t n = 1;
    for (int i = 0; i < ndim; i++)
        n *= shape[i];
    for (int64_t i = 0; i < n; i++)
        x[i] = mo_random_normal(&r);
    return mo_from(t, MO_F64, ndim, shape, x);
}

static mo_tensor *encode(mo_tape *t, const problem *p, int64_t max_rows) {
    mo_episode e = {.task = MO_TASK_NC, .n_rows = 1, .max_rows = max_rows};
    if (p->model->encoder.of_examples) {
        e.n_rows = 3;
        e.rows[0] = (mo_named){"blocks", draw(t, 4, (int64_t[]){2, HOPS + 1, ROWS, DIM}, p->seed, 1), NULL};
        e.rows[1] = (mo_named){"spectrum", draw(t, 2, (int64_t[]){2, DIM}, p->seed, 2), NULL};
        e.rows[2] = (mo_named){"extras", draw(t, 2, (int64_t[]){ROWS, EXTRAS}, p->seed, 3), NULL};
    } else {
        e.rows[0] = (mo_named){"hops", draw(t, 3, (int64_t[]){HOPS + 1, ROWS, DIM}, p->seed, 1), NULL};
    }
    return mo_model_encode(t, p->model, &e, NULL);
}

static void encoder_function(mo_tape *t, mo_tensor *const *in, int n_in, mo_tensor **out, int n_out, void *state) {
    (void)in; /* the model's own parameters */
    (void)n_in;
    (void)n_out;
    out[0] = encode(t, state, 0);
}

/* Returns the largest difference between embeddings encoded two rows at a time and all at once, divided by the largest
 * entry or by 1, whichever is larger. */
static double block_error(mo_context *ctx, const problem *p) {
    mo_tape *t = mo_tape_create(ctx, MO_EVAL);
    mo_tensor *whole = encode(t, p, 0), *apart = mo_sub(t, encode(t, p, 2), whole);
    double most = mo_item(mo_max(t, mo_abs(t, apart), MO_ALL, MO_DROP_AXES)),
           scale = mo_item(mo_max(t, mo_abs(t, whole), MO_ALL, MO_DROP_AXES));
    mo_tape_release(t);
    return mo_ok(ctx) && isfinite(most) ? most / fmax(1, scale) : INFINITY;
}

static mo_check_result check(mo_context *ctx, problem *p, int order) {
    mo_tensor *in[MO_MAX_ENCODER_PARAMETERS];
    int n = p->model->encoder.n_parameters;
    for (int i = 0; i < n; i++)
        in[i] = mo_model_parameter(p->model, i);
    mo_check_result r = {.pass = true, .samples = 1};
    double apart = block_error(ctx, p);
    if (n && mo_ok(ctx))
        r = mo_check_function(ctx, encoder_function, p, in, n, 1, order, order == 1 ? 1e-6 : 1e-5, p->seed);
    r.samples = 1;
    if (r.pass && mo_ok(ctx) && !(apart <= 1e-10)) {
        r.pass = false;
        r.error = apart;
        mo_format(r.worst, sizeof r.worst, "rows encoded in blocks differ by %.3g from rows encoded at once", apart);
    }
    return r;
}

mo_check_result mo_check_encoder(mo_context *ctx, const mo_encoder *encoder, int order, uint64_t seed) {
    mo_check_result r = {0};
    if (!mo_ok(ctx)) {
        snprintf(r.worst, sizeof r.worst, "the context is in error");
        return r;
    }
    const mo_readout_options ridge = {.head = &mo_head_ridge};
    mo_hold_errors(ctx);
    problem p = {mo_encoder_create(ctx, MO_F64, encoder, (mo_encoder_rows){HOPS, DIM}, &ridge, seed), seed};
    if (p.model)
        r = check(ctx, &p, order);
    mo_model_release(p.model);
    if (!mo_ok(ctx)) {
        r = (mo_check_result){.pass = false, .error = INFINITY, .samples = 1};
        snprintf(r.worst, sizeof r.worst, "%.250s", mo_context_status(ctx)->message);
        mo_clear_error(ctx);
    }
    mo_release_errors(ctx);
    return r;
}
