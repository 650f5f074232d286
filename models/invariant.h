/* models/invariant.h - the parameters of the invariant encoder and of its readout (library internal). */
#ifndef MO_INVARIANT_H
#define MO_INVARIANT_H

#include "models/inside.h"

enum {
    BLOCKS = 2,
    EXPERTS = 2,
    PENALTIES = 3,
    PARTS = BLOCKS + 1,
    DIFFUSED_ROWS = 2,
    SET_BLOCKS = 3,
    KERNEL_TASKS = 2
};

enum {
    HOP,                    /* [BLOCKS, EXPERTS, l + 1] */
    PROFILE,                /* [BLOCKS, 2] */
    WEIGHT,                 /* [MO_TASKS, PARTS, EXPERTS] */
    DIFFUSED,               /* [BLOCKS, EXPERTS, DIFFUSED_ROWS]: beside HOP, for nodes */
    SET_WEIGHT,             /* [SET_BLOCKS, EXPERTS]: beside WEIGHT, for graphs */
    N_ENCODER,              /* the encoder's parameters come first */
    LOG_LAMBDA = N_ENCODER, /* [MO_TASKS, EXPERTS] */
    EXPERT,                 /* [MO_TASKS, EXPERTS]: prior of each expert */
    PENALTY,                /* [MO_TASKS, PENALTIES]: prior of each penalty, added to that of the expert */
    LOG_SHARPNESS,          /* [MO_TASKS] */
    POWER,                  /* [MO_TASKS] */
    LOG_LOO_TEMP,           /* [MO_TASKS] */
    LOG_TEMP,               /* [MO_TASKS] */
    KERNEL_LAMBDA,          /* [KERNEL_TASKS, EXPERTS]: log lambda of the Gaussian kernels of links and graphs */
    KERNEL_PRIOR,           /* [KERNEL_TASKS, EXPERTS] */
    LOG_GAMMA,              /* [KERNEL_TASKS] */
    N_PARAMETERS
};

typedef struct invariant {
    mo_context *ctx;
    mo_dtype real;
    mo_invariant_options options;
    char parts[128];                    /* those it has, by name, between blanks */
    mo_tensor *parameter[N_PARAMETERS]; /* NULL: its part is left out */
    mo_tensor *initial[N_ENCODER];      /* the first values of the encoder's; NULL where no row is read by them */
} invariant;

bool mo_invariant_has(const invariant *m, mo_invariant_part part);
/* Whether the rows of a task have the initial encoder's beside them. */
bool mo_invariant_reads_initial(const invariant *m, mo_task task);

/* invariant_encode.c: a function of the model's table. */
mo_tensor *mo_invariant_encode(mo_tape *t, const void *model, const mo_episode *e, mo_random *r);

/* invariant_readout.c: row `task` of a parameter in the given shape, and two functions of the model's table. */
mo_tensor *mo_invariant_of_task(mo_tape *t, const invariant *m, int i, mo_task task, int ndim, const int64_t *shape);
int mo_invariant_learn(mo_tape *t, const void *model, const mo_episode *e, mo_tensor *Zs, mo_tensor **learned);
mo_tensor *mo_invariant_apply(
    mo_tape *t, const void *model, const mo_episode *e, mo_tensor *Zs, mo_tensor *const *learned, mo_tensor *Zq);
mo_tensor *mo_invariant_readout(mo_tape *t, const void *model, const mo_episode *e, mo_tensor *Zs, mo_tensor *Zq);
mo_tensor *mo_invariant_transduce(mo_tape *t, const void *model, const mo_episode *e, const mo_population *all);

#endif
