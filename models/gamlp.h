/* models/gamlp.h - the parameters of the encoder (library internal). */
#ifndef MO_GAMLP_H
#define MO_GAMLP_H

#include "models/inside.h"

enum { MO_GAMLP_MAX_HOPS = 12, MO_GAMLP_MAX_PARAMETERS = 2 * (MO_GAMLP_MAX_HOPS + 1) + 4 + 6 };

typedef struct mo_linear_layer {
    mo_tensor *weight, *bias; /* [out, in], [out] */
} mo_linear_layer;

struct mo_gamlp {
    mo_context *ctx;
    mo_gamlp_options options;
    mo_linear_layer input[MO_GAMLP_MAX_HOPS + 1];  /* encoder.input_proj.{k} */
    mo_linear_layer attention[2];                  /* encoder.att_mlp.{0,2} */
    mo_linear_layer output[3];                     /* encoder.out_mlp.{0,3,6} */
    mo_tensor *parameter[MO_GAMLP_MAX_PARAMETERS]; /* all parameters in this order, weight before bias */
    int n_parameters;
};

/* The same encoder with the tensors P as parameters, in the order of m->parameter. */
mo_gamlp mo_gamlp_with(const mo_gamlp *m, mo_tensor *const *P);

#endif
