/* inside.h - what the program `mochi` and its tests use beside mochi.h, in the archive libmochi.a alone. Installed as
 * mochi/inside.h. It promises nothing: any release may change it. Tables that a shared object exports carry the number
 * of their form (MO_ENCODER_ABI), and a library of another form refuses them with a message. */
#ifndef MOCHI_INSIDE_H
#define MOCHI_INSIDE_H

#include "tools/mochi.h"

#ifdef __cplusplus
extern "C" {
#endif

#include "train/inside.h"

/* ---- `mochi lab adjoint --problem FILE.so` ---- */

#define MO_LAB_ABI 1

/* What a problem starts from. */
typedef struct mo_lab_start {
    mo_tensor *theta; /* float64 leaf [m], released by the program */
    int ndim;         /* of w: 1 or 2 */
    int64_t shape[2];
    double step; /* of the iterations w <- w - step F(w, theta) from w = 0, which must converge */
    void *state; /* handed to the other functions; may be NULL */
} mo_lab_start;

/* An inner problem of one's own, which a shared object exports as `const mo_lab_problem mo_lab_plugin`: w solves
 * F(w, theta) = 0, where F is the gradient in w of an objective that is convex near w. All in float64. */
typedef struct mo_lab_problem {
    int abi;                    /* MO_LAB_ABI */
    size_t size;                /* sizeof(mo_lab_problem) of the program that made it */
    const char *name, *meaning; /* one word; a line */
    /* Fills the start from a seed; n: the size (--n), 0 for the problem's own. Returns false on failure. */
    bool (*open)(mo_context *ctx, uint64_t seed, int64_t n, mo_lab_start *start);
    void (*close)(void *state);                                /* may be NULL */
    mo_residual residual;                                      /* F; theta[0] is theta */
    mo_tensor *(*loss)(mo_tape *t, mo_tensor *w, void *state); /* of a solution: a scalar */
} mo_lab_problem;

#ifdef __cplusplus
}
#endif
#endif
