/* tensor/fits.c - fits run on the processor: for another device, the inputs are copied to the host and the outputs
 * back. A fit makes many decisions on few numbers, for which a device would wait. */
#include "tensor/fits.h"
#include "tensor/objects.h"

#include <stdlib.h>

extern const mo_fits fits_cpu_f32, fits_cpu_f64;

enum { MOST_VIEWS = 9 };

/* The views of a call: inputs first, then outputs. For a device, view[i]->data is replaced by host memory, and
 * device[i] keeps the view as it was. */
typedef struct host_call {
    mo_context *ctx, *host;
    int n, n_in;
    mo_view *view[MOST_VIEWS], device[MOST_VIEWS];
} host_call;

static size_t view_bytes(const mo_view *v) {
    return v->data ? (size_t)leading(v, v->ndim) * mo_dtype_size(v->dtype) : 0;
}

/* Returns the context that runs the solver: the caller's if it is on the CPU, else a new one on copies; NULL on
 * failure. */
static mo_context *host_begin(host_call *h) {
    if (h->ctx->device == MO_CPU)
        return h->ctx;
    h->host = mo_context_create(&(mo_context_options){.device = MO_CPU, .threads = h->ctx->threads});
    for (int i = 0; i < h->n; i++)
        h->device[i] = *h->view[i];
    for (int i = 0; i < h->n; i++) {
        size_t bytes = view_bytes(h->view[i]);
        if (!h->device[i].data)
            continue;
        h->view[i]->data = mo_host_array(h->ctx, (int64_t)bytes, 1); /* not NULL even for a view without elements */
        if (bytes && i < h->n_in && h->view[i]->data)
            h->ctx->backend->download(h->ctx, h->view[i]->data, h->device[i].data, bytes);
    }
    if (!h->host)
        mo_fail(h->ctx, MO_MEMORY, "fits: no context on the host");
    return mo_ok(h->ctx) ? h->host : NULL;
}

static void host_end(host_call *h) {
    if (h->ctx->device == MO_CPU)
        return;
    if (h->host && !mo_ok(h->host) && mo_ok(h->ctx))
        mo_fail(h->ctx, mo_context_status(h->host)->code, "%s", mo_context_status(h->host)->message);
    for (int i = 0; i < h->n; i++) {
        if (i >= h->n_in && mo_ok(h->ctx) && view_bytes(h->view[i]))
            h->ctx->backend->upload(h->ctx, h->device[i].data, h->view[i]->data, view_bytes(h->view[i]));
        if (h->device[i].data)
            free(h->view[i]->data);
    }
    if (h->host) {
        h->ctx->counters.factorizations += h->host->counters.factorizations;
        h->ctx->counters.fit_steps += h->host->counters.fit_steps;
    }
    mo_context_release(h->host);
}

static const mo_fits *fits_of(mo_dtype dtype) {
    return dtype == MO_F32 ? &fits_cpu_f32 : &fits_cpu_f64;
}

void mo_fit_logistic(mo_context *ctx, const mo_logistic_call *g) {
    mo_logistic_call c = *g;
    host_call h = {.ctx = ctx,
        .n = 9,
        .n_in = g->factored ? 7 : 6,
        .view = {&c.X, &c.lambda, &c.Y, &c.F, &c.T, &c.B, &c.kept, &c.W, &c.code}};
    mo_context *host = host_begin(&h);
    if (host)
        fits_of(c.X.dtype)->logistic(host, &c);
    host_end(&h);
}

void mo_fit_svm(mo_context *ctx, const mo_svm_call *g) {
    mo_svm_call c = *g;
    host_call h = {
        .ctx = ctx, .n = 7, .n_in = 5, .view = {&c.K, &c.Y, &c.lambda, &c.margin, &c.start, &c.alpha, &c.violation}};
    mo_context *host = host_begin(&h);
    if (host)
        fits_of(c.K.dtype)->svm(host, &c);
    host_end(&h);
}

int64_t mo_readout_kept(const mo_readout *r) {
    if (!r)
        return 0;
    int64_t m = !r->ridge ? 1 : r->n < r->d ? r->n : r->d; /* the order of the ridge's system */
    return r->B * (r->C * r->d + m * r->C + m * m);
}

bool mo_readout_run(mo_context *ctx, const mo_readout *r) {
    if (!mo_given(ctx, "readout", "the readout", r) || ctx->device != MO_CPU)
        return false;
    bool empty = r->B < 1 || r->n < 1 || r->n_q < 1 || r->d < 1 || r->C < 1;
    return !empty && fits_of(r->dtype)->readout(ctx, r);
}
