/* models/invariant.h - the parameters of the invariant encoder (library internal). */
#ifndef MO_INVARIANT_H
#define MO_INVARIANT_H

#include "models/model.h"

enum { BLOCKS = 2, PARTS = BLOCKS + 1, DIFFUSED_ROWS = 2, SET_BLOCKS = 3 };

enum {
    HOP,        /* [BLOCKS, l + 1] */
    PROFILE,    /* [BLOCKS, 2] */
    WEIGHT,     /* [MO_TASKS, PARTS] */
    DIFFUSED,   /* [BLOCKS, DIFFUSED_ROWS]: beside HOP, for nodes */
    SET_WEIGHT, /* [SET_BLOCKS]: beside WEIGHT, for graphs */
    N_PARAMETERS
};

/* The state of the encoder's table. */
typedef struct invariant {
    mo_invariant_options options;
    char parts[128];      /* those it has, by name, between blanks */
    int n;                /* parameters that it has */
    int at[N_PARAMETERS]; /* the place of each among them; -1: its part is left out */
    mo_encoder_parameter parameter[N_PARAMETERS];
    double hop[BLOCKS * MO_MAX_INPUTS], weight[MO_TASKS][PARTS]; /* first values */
} invariant;

/* invariant_readout.c */
extern const mo_own_readout mo_invariant_readout;

#endif
