/* models/heads/prototype.c - class means as prototypes (Snell et al. 2017), compared with the queries in four ways.
 *
 * P_c = mean of the support rows of class c, that is P = diag(1^T Ys)^-1 Ys^T Zs; a class without support has P_c = 0.
 *     inner product  logits = Zq P^T
 *     Euclidean      logits_ic = -|Zq_i - P_c|^2 = 2 Zq_i P_c - |P_c|^2 - |Zq_i|^2
 *     cosine         logits_ic = scale <Zq_i, P_c> / (|Zq_i| |P_c|)                 (Gidaris and Komodakis 2018)
 *     centred        the inner product after the mean of the support is taken off both (Wang et al. 2019, "CL2N"
 *                    without the norm): a shift of all embeddings changes nothing */
#include "models/head.h"

static mo_tensor *prototypes(mo_tape *t, mo_tensor *Zs, mo_tensor *Ys) {
    mo_tensor *Yt = mo_transpose(t, Ys);
    mo_tensor *count = mo_sum(t, Yt, MO_AXIS(mo_ndim(Yt) - 1), true); /* [.., C, 1] */
    return mo_div_or_zero(t, mo_matmul(t, Yt, Zs), count);
}

static mo_tensor *inner_product(mo_tape *t, mo_tensor *Zs, mo_tensor *Ys, mo_tensor *Zq, mo_tensor *const *parameters) {
    (void)parameters;
    return mo_matmul(t, Zq, mo_transpose(t, prototypes(t, Zs, Ys)));
}

static mo_tensor *squared_norms(mo_tape *t, mo_tensor *X) {
    return mo_sum(t, mo_square(t, X), MO_AXIS(mo_ndim(X) - 1), true);
}

static mo_tensor *euclidean(mo_tape *t, mo_tensor *Zs, mo_tensor *Ys, mo_tensor *Zq, mo_tensor *const *parameters) {
    (void)parameters;
    mo_tensor *P = prototypes(t, Zs, Ys);
    mo_tensor *cross = mo_scale(t, mo_matmul(t, Zq, mo_transpose(t, P)), 2, 0);
    mo_tensor *norms = mo_transpose(t, squared_norms(t, P)); /* [.., 1, C] */
    return mo_sub(t, mo_sub(t, cross, norms), squared_norms(t, Zq));
}

static mo_tensor *cosine(mo_tape *t, mo_tensor *Zs, mo_tensor *Ys, mo_tensor *Zq, mo_tensor *const *parameters) {
    mo_tensor *P = mo_l2_normalize(t, prototypes(t, Zs, Ys), 1e-12), *Q = mo_l2_normalize(t, Zq, 1e-12);
    return mo_mul(t, mo_matmul(t, Q, mo_transpose(t, P)), parameters[0]);
}

static mo_tensor *centred(mo_tape *t, mo_tensor *Zs, mo_tensor *Ys, mo_tensor *Zq, mo_tensor *const *parameters) {
    mo_tensor *mean = mo_mean(t, Zs, MO_AXIS(mo_ndim(Zs) - 2), true);
    return inner_product(t, mo_sub(t, Zs, mean), Ys, mo_sub(t, Zq, mean), parameters);
}

static const mo_head_parameter scale[] = {{.name = "scale", .value = 10}};

const mo_head mo_head_prototype = {
    .abi = MO_HEAD_ABI,
    .size = sizeof(mo_head),
    .name = "prototype",
    .logits = inner_product,
    .order = 2,
};

const mo_head mo_head_prototype_euclidean = {
    .abi = MO_HEAD_ABI,
    .size = sizeof(mo_head),
    .name = "prototype_euclidean",
    .logits = euclidean,
    .order = 2,
};

const mo_head mo_head_prototype_cosine = {
    .abi = MO_HEAD_ABI,
    .size = sizeof(mo_head),
    .name = "prototype_cosine",
    .n_parameters = 1,
    .parameters = scale,
    .logits = cosine,
    .order = 2,
};

const mo_head mo_head_prototype_centred = {
    .abi = MO_HEAD_ABI,
    .size = sizeof(mo_head),
    .name = "prototype_centred",
    .logits = centred,
    .order = 2,
};
