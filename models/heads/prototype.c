/* models/heads/prototype.c - class means as prototypes (Snell et al. 2017), compared with the queries in four ways.
 *
 * P_c = mean of the support rows of class c, that is P = diag(1^T Ys)^-1 Ys^T Zs; a class without support has P_c = 0.
 *     inner product  logits = Zq P^T
 *     Euclidean      logits_ic = -|Zq_i - P_c|^2 = 2 Zq_i P_c - |P_c|^2 - |Zq_i|^2
 *     cosine         logits_ic = scale <Zq_i, P_c> / (|Zq_i| |P_c|)                 (Gidaris and Komodakis 2018)
 *     centred        the inner product after subtracting the support's mean from Zs and Zq (Wang et al. 2019, "CL2N"
 *                    without the norm): a shift of all embeddings changes nothing */
#include "models/heads/heads.h"

/* Sums over the support rows of each class [.., C, d], and the numbers of these rows [.., C, 1]. */
typedef struct class_sums {
    mo_tensor *rows, *count;
} class_sums;

/* One of the four ways to compare prototypes and queries, the data of a head. */
typedef struct comparison {
    mo_tensor *(*logits)(mo_tape *t, const class_sums *s, mo_tensor *Zq, mo_tensor *const *parameters);
} comparison;

static class_sums sum_classes(mo_tape *t, mo_tensor *Zs, mo_tensor *Ys) {
    mo_tensor *Yt = mo_transpose(t, Ys);
    return (class_sums){mo_matmul(t, Yt, Zs), mo_sum(t, Yt, MO_AXIS(-1), MO_KEEP_AXES)};
}

static mo_tensor *prototypes(mo_tape *t, const class_sums *s) {
    return mo_div_or_zero(t, s->rows, s->count);
}

static mo_tensor *by_inner_product(mo_tape *t, const class_sums *s, mo_tensor *Zq, mo_tensor *const *parameters) {
    (void)parameters;
    return mo_matmul(t, Zq, mo_transpose(t, prototypes(t, s)));
}

static mo_tensor *squared_norms(mo_tape *t, mo_tensor *X) {
    return mo_sum(t, mo_square(t, X), MO_AXIS(-1), MO_KEEP_AXES);
}

static mo_tensor *by_distance(mo_tape *t, const class_sums *s, mo_tensor *Zq, mo_tensor *const *parameters) {
    (void)parameters;
    mo_tensor *P = prototypes(t, s);
    mo_tensor *cross = mo_scale(t, mo_matmul(t, Zq, mo_transpose(t, P)), 2, 0);
    mo_tensor *norms = mo_transpose(t, squared_norms(t, P)); /* [.., 1, C] */
    return mo_sub(t, mo_sub(t, cross, norms), squared_norms(t, Zq));
}

static mo_tensor *by_cosine(mo_tape *t, const class_sums *s, mo_tensor *Zq, mo_tensor *const *parameters) {
    mo_tensor *P = mo_l2_normalize(t, prototypes(t, s), 1e-12), *Q = mo_l2_normalize(t, Zq, 1e-12);
    return mo_mul(t, mo_matmul(t, Q, mo_transpose(t, P)), parameters[0]);
}

static mo_tensor *about_the_mean(mo_tape *t, const class_sums *s, mo_tensor *Zq, mo_tensor *const *parameters) {
    mo_axes classes = MO_AXIS(-2);
    mo_tensor *mean = mo_div(t, mo_sum(t, s->rows, classes, MO_KEEP_AXES), mo_sum(t, s->count, classes, MO_KEEP_AXES));
    class_sums centred = {mo_sub(t, s->rows, mo_mul(t, s->count, mean)), s->count};
    return by_inner_product(t, &centred, mo_sub(t, Zq, mean), parameters);
}

/* ---- the functions of all four heads ---- */

static void prototype_fit(mo_tape *t, const mo_support *s, mo_tensor *const *parameters, mo_state *state) {
    class_sums all = sum_classes(t, s->Zs, mo_weighted_labels(t, s->Ys, s->weight));
    mo_state_put(state, "sums", all.rows);
    mo_state_put(state, "counts", all.count);
    if (state->head->n_parameters)
        mo_state_put(state, "scale", parameters[0]);
}

static mo_tensor *compare(mo_tape *t, const mo_state *state, const class_sums *s, mo_tensor *Zq) {
    mo_tensor *scale = state->head->n_parameters ? mo_state_get(t, state, "scale") : NULL;
    const comparison *by = state->head->data;
    return by->logits(t, s, Zq, &scale);
}

static mo_tensor *prototype_apply(mo_tape *t, const mo_state *state, mo_tensor *Zq, mo_tensor *kernels) {
    const class_sums all = {mo_state_get(t, state, "sums"), mo_state_get(t, state, "counts")};
    (void)kernels;
    return compare(t, state, &all, Zq);
}

/* Without a group, the class sums are those of all rows minus the group's. */
static mo_tensor *prototype_held_out(mo_tape *t, const mo_state *state, const int64_t *row, int64_t groups, int64_t h) {
    mo_tensor *weight = mo_state_find(state, "weight");
    mo_tensor *Y = mo_weighted_labels(t, mo_state_get(t, state, "Ys"), weight);
    mo_tensor *Z = mo_rows_of_groups(t, mo_state_get(t, state, "Zs"), row, groups, h);
    class_sums own = sum_classes(t, Z, mo_rows_of_groups(t, Y, row, groups, h));
    class_sums rest = {
        mo_sub(t, mo_state_get(t, state, "sums"), own.rows), mo_sub(t, mo_state_get(t, state, "counts"), own.count)};
    return compare(t, state, &rest, Z);
}

/* ---- the four comparisons, as heads ---- */

static const comparison inner_product = {by_inner_product}, distance = {by_distance}, cosine = {by_cosine},
                        centred = {about_the_mean};
static const mo_head_parameter scale[] = {{.name = "scale", .value = 10}};

const mo_head mo_head_prototype_inner = {
    .abi = MO_HEAD_ABI,
    .size = sizeof(mo_head),
    .name = "prototype_inner",
    .fit = prototype_fit,
    .apply = prototype_apply,
    .held_out = prototype_held_out,
    .leave_one_out = true,
    .data = &inner_product,
    .order = 2,
    .separate_classes = true,
};

const mo_head mo_head_prototype_euclidean = {
    .abi = MO_HEAD_ABI,
    .size = sizeof(mo_head),
    .name = "prototype_euclidean",
    .fit = prototype_fit,
    .apply = prototype_apply,
    .held_out = prototype_held_out,
    .leave_one_out = true,
    .data = &distance,
    .order = 2,
    .offset = MO_OFFSET_MEANS,
    .separate_classes = true,
};

const mo_head mo_head_prototype_cosine = {
    .abi = MO_HEAD_ABI,
    .size = sizeof(mo_head),
    .name = "prototype_cosine",
    .n_parameters = 1,
    .parameters = scale,
    .fit = prototype_fit,
    .apply = prototype_apply,
    .held_out = prototype_held_out,
    .leave_one_out = true,
    .data = &cosine,
    .order = 2,
    .offset = MO_OFFSET_ANGLE,
    .separate_classes = true,
};

const mo_head mo_head_prototype_centred = {
    .abi = MO_HEAD_ABI,
    .size = sizeof(mo_head),
    .name = "prototype_centred",
    .fit = prototype_fit,
    .apply = prototype_apply,
    .held_out = prototype_held_out,
    .leave_one_out = true,
    .data = &centred,
    .order = 2,
    .offset = MO_OFFSET_MEANS,
    .separate_classes = true,
};
