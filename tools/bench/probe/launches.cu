/* tools/bench/probe/launches.cu - the cost of a step's cheapest operations (a one-block kernel, fills, copies), and of
 * a chain of dependent loads. */
#include "tensor/cuda/launch.h"
#include "tools/bench/probe/probe.h"

static __global__ void touch_kernel(float *x) {
    if (threadIdx.x == 0)
        x[0] += 1;
}

/* Reads the diagonal one entry at a time: each load waits for the test of the entry before it. */
static __global__ void walk_kernel(const float *A, int64_t n, int32_t *found) {
    if (threadIdx.x != 0)
        return;
    int32_t bad = 0;
    for (int64_t i = 0; i < n && !bad; i++)
        bad = A[i * n + i] - A[i * n + i] != 0;
    *found = bad;
}

static const char *touch(seam *s, const void *of) {
    mo_launch(touch_kernel, dim3(1), dim3(32), 0, s, (float *)of);
    return NULL;
}

const char *probe_walk(seam *s, const void *of) {
    const probe_diagonal *w = (const probe_diagonal *)of;
    mo_launch(walk_kernel, dim3(1), dim3(32), 0, s, w->A, w->n, w->found);
    return NULL;
}

struct copied {
    void *to;
    const void *from; /* NULL: fill with zeros */
    size_t bytes;
};

static const char *copy(seam *s, const void *of) {
    const copied *c = (const copied *)of;
    if (c->from)
        seam_copy(s, c->to, c->from, c->bytes);
    else
        seam_fill(s, c->to, 0, c->bytes);
    return NULL;
}

void probe_launches(const probe *p) {
    enum { LARGE = 360000 };
    char *x = (char *)probe_memory(p, LARGE), *y = (char *)probe_memory(p, LARGE);
    const copied fill = {x, NULL, 3600}, small = {x, y, 64}, large = {x, y, LARGE};
    seam_fill(p->s, x, 0, LARGE);
    seam_fill(p->s, y, 0, LARGE);
    probe_measure(p, "kernel of one block", touch, x);
    probe_measure(p, "fill of 3600 bytes", copy, &fill);
    probe_measure(p, "copy of 64 bytes", copy, &small);
    probe_measure(p, "copy of 360000 bytes", copy, &large);
    seam_release(p->s, x);
    seam_release(p->s, y);
}
