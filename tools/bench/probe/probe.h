/* tools/bench/probe/probe.h - the program to run first on a new device: checks the backend's assumptions about the
 * vendor's libraries, through the backend's own wrappers (seams). Prints one JSON object per line on standard
 * output. */
#ifndef MO_CUDA_PROBE_H
#define MO_CUDA_PROBE_H

#include "tensor/cuda/seams/seam.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct probe {
    seam *s;
    bool dry;        /* small sizes, few repetitions: to test the output */
    int64_t rows, d; /* sizes of the products, as in `mochi-bench step nc15` */
} probe;

/* ---- measure.c ---- */

/* Queues a piece of work whose arguments are `of`. Returns the reason if it is refused, else NULL. */
typedef const char *(*probe_work)(seam *s, const void *of);

/* Prints {"what", "host_us", "eager_us", "replay_us", "capture"}: microseconds per call on the host, on the device, and
 * as a node of a replayed graph. capture is "yes", or the reason why a graph cannot record the work; replay_us is then
 * null. If the work is refused, prints {"what", "refused"}. */
void probe_measure(const probe *p, const char *what, probe_work queue, const void *of);
double probe_now_us(void);
/* Allocate device memory, or end the program. probe_values fills the memory with n floats, uniform between -scale and
 * scale. */
void *probe_memory(const probe *p, size_t bytes);
float *probe_values(const probe *p, int64_t n, float scale);
void probe_send(const probe *p, void *device, const void *values, size_t bytes);
void probe_receive(const probe *p, void *values, const void *device, size_t bytes);
/* Prints the reason and ends the program. */
void probe_stop(const char *what, const char *reason);

/* ---- the questions ---- */

void probe_launches(const probe *p);       /* launches.cu: the cost of a kernel, a fill, a copy, alone and in a graph */
void probe_factorizations(const probe *p); /* factorizations.c: time of factors and solves; can a graph record them? */
void probe_products(const probe *p);       /* products.c: the available epilogues, and the search for them */
void probe_values_kept(const probe *p);    /* products.c: relu of NaN; the shapes that use TF32 */
void probe_rows(const probe *p);           /* rows.c: the time of softmax by cuDNN */
/* The arguments of probe_walk (launches.cu): one thread loads the diagonal of A [n, n], entry by entry. */
typedef struct probe_diagonal {
    const float *A;
    int64_t n;
    int32_t *found;
} probe_diagonal;
const char *probe_walk(seam *s, const void *of);
/* spd.cu: X = A^-1 B by the backend's kernel, A [n, n], B and X [n, m]; adjoint: solves by the given factor L of A
 * instead. */
typedef struct probe_system {
    int64_t n, m;
    float *A, *L, *B, *X;
    int32_t *info;
    bool adjoint;
} probe_system;
const char *probe_spd(seam *s, const void *of);

#ifdef __cplusplus
}
#endif
#endif
