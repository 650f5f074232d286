/* tools/bench/probe/rows.c - the time of softmax by cuDNN, and of its adjoint. */
#include "tools/bench/probe/probe.h"

#include <stdio.h>

/* Softmax of x, or its adjoint from y and y_bar, with x in place of y. */
typedef struct softmax {
    seam_rows rows;
    float *x, *y_bar, *out;
    bool adjoint;
} softmax;

static const char *queue_softmax(seam *s, const void *of) {
    const softmax *w = of;
    bool queued = w->adjoint ? seam_softmax_adjoint(s, &w->rows, w->x, w->y_bar, w->out)
                             : seam_softmax(s, &w->rows, w->x, w->out);
    return queued ? NULL : "cuDNN is missing or refuses";
}

void probe_rows(const probe *p) {
    static const int64_t sizes[][2] = {{256, 16384}, {2048, 4096}, {4096, 1024}, {65536, 64}};
    char what[96];
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        softmax w = {.rows = {SEAM_F32, false, p->dry ? sizes[i][0] / 64 : sizes[i][0], sizes[i][1]}};
        int64_t n = w.rows.rows * w.rows.n;
        w.x = probe_values(p, n, 1);
        w.y_bar = probe_values(p, n, 1);
        w.out = probe_memory(p, (size_t)n * sizeof *w.out);
        for (int adjoint = 0; adjoint < 2; adjoint++) {
            w.adjoint = adjoint;
            snprintf(what, sizeof what, "%s of %lld x %lld by cuDNN", adjoint ? "adjoint of softmax" : "softmax",
                (long long)w.rows.rows, (long long)w.rows.n);
            probe_measure(p, what, queue_softmax, &w);
        }
        seam_release(p->s, w.x);
        seam_release(p->s, w.y_bar);
        seam_release(p->s, w.out);
    }
}
