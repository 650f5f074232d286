/* models/invariant.h - the parameters of the invariant encoder and of its readout (library internal). */
#ifndef MO_INVARIANT_H
#define MO_INVARIANT_H

#include "models/model.h"

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
    N_ENCODER,              /* the encoder's parameters come first; of the others only rows of links are read */
    LOG_LAMBDA = N_ENCODER, /* [MO_TASKS, EXPERTS] */
    EXPERT,                 /* [MO_TASKS, EXPERTS]: prior of each expert */
    PENALTY,                /* [MO_TASKS, PENALTIES]: prior of each penalty, added to that of the expert */
    LOG_SHARPNESS,          /* [MO_TASKS] */
    POWER,                  /* [MO_TASKS] */
    LOG_LOO_TEMP,           /* [MO_TASKS] */
    LOG_TEMP,               /* [MO_TASKS] */
    KERNEL_LAMBDA,          /* [KERNEL_TASKS, EXPERTS]: log lambda of the Gaussian kernels, of links */
    KERNEL_PRIOR,           /* [KERNEL_TASKS, EXPERTS] */
    LOG_GAMMA,              /* [KERNEL_TASKS] */
    N_PARAMETERS
};

/* The state of the encoder's table. */
typedef struct invariant {
    mo_invariant_options options;
    char parts[128];      /* those it has, by name, between blanks */
    int n, n_encoder;     /* parameters that it has */
    int at[N_PARAMETERS]; /* the place of each among them; -1: its part is left out */
    mo_encoder_parameter parameter[N_PARAMETERS];
    double hop[BLOCKS * EXPERTS * MO_MAX_INPUTS], weight[MO_TASKS][PARTS][EXPERTS]; /* first values */
    mo_own_readout readout;
} invariant;

/* invariant_readout.c; its parameters are those of each model. */
extern const mo_own_readout mo_invariant_readout;

#endif
