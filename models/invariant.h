/* models/invariant.h - the parameters of the invariant encoder and of its readout (library internal). */
#ifndef MO_INVARIANT_H
#define MO_INVARIANT_H

#include "models/inside.h"

enum { BLOCKS = 2, EXPERTS = 2, PENALTIES = 3, PARTS = BLOCKS + 1, KERNEL_TASKS = 2 };

enum {
    HOP,                      /* [BLOCKS, EXPERTS, l + 1] */
    PROFILE,                  /* [BLOCKS, 2] */
    WEIGHT,                   /* [MO_TASKS, PARTS, EXPERTS] */
    LOG_LAMBDA,               /* [MO_TASKS, EXPERTS] */
    EXPERT,                   /* [MO_TASKS, EXPERTS]: prior of each expert */
    PENALTY,                  /* [MO_TASKS, PENALTIES]: prior of each penalty, added to that of the expert */
    LOG_SHARPNESS,            /* [MO_TASKS] */
    POWER,                    /* [MO_TASKS] */
    LOG_LOO_TEMP,             /* [MO_TASKS] */
    LOG_TEMP,                 /* [MO_TASKS] */
    N_LINEAR,                 /* the number of parameters of a readout by inner products alone */
    KERNEL_LAMBDA = N_LINEAR, /* [KERNEL_TASKS, EXPERTS]: log lambda of the Gaussian kernels of links and graphs */
    KERNEL_PRIOR,             /* [KERNEL_TASKS, EXPERTS] */
    LOG_GAMMA,                /* [KERNEL_TASKS] */
    N_PARAMETERS
};

typedef struct invariant {
    mo_context *ctx;
    mo_dtype real;
    mo_invariant_options options;
    mo_tensor *parameter[N_PARAMETERS];
} invariant;

/* invariant_readout.c: row `task` of a parameter in the given shape, and two functions of the model's table. */
mo_tensor *mo_invariant_of_task(mo_tape *t, const invariant *m, int i, mo_task task, int ndim, const int64_t *shape);
mo_tensor *mo_invariant_readout(mo_tape *t, const void *model, const mo_episode *e, mo_tensor *Zs, mo_tensor *Zq);
mo_tensor *mo_invariant_transduce(mo_tape *t, const void *model, const mo_episode *e, const mo_population *all);

#endif
