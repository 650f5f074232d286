/* models/heads/logistic.c - multinomial logistic regression as a readout (ops/logistic.c).
 *
 * [W; b] minimises the cross-entropy of the support, summed over its rows, plus lambda / 2 |W|^2 ("logistic": the
 * intercept b is not penalised, as scikit-learn has it, whose C is 1 / lambda) or plus lambda / 2 (|W|^2 + |b|^2)
 * ("logistic_penalised"). logits = Zq W + b, so softmax(logits) are its probabilities. Without a penalty on b every
 * class needs support. Gradients of both orders to Zs, Ys, Zq and lambda. */
#include "models/head.h"

/* Zq W + b for W above b. */
static mo_tensor *readout(mo_tape *t, mo_tensor *Zq, mo_tensor *Wb) {
    int rows = mo_ndim(Zq) - 2;
    int64_t d = mo_dim(Zq, -1);
    return mo_add(t, mo_matmul(t, Zq, mo_slice(t, Wb, rows, 0, d)), mo_slice(t, Wb, rows, d, d + 1));
}

static mo_tensor *logits(mo_tape *t, mo_tensor *Zs, mo_tensor *Ys, mo_tensor *Zq, mo_tensor *const *parameters) {
    return readout(t, Zq, mo_logistic(t, Zs, Ys, parameters[0], MO_INTERCEPT_FREE));
}

static mo_tensor *logits_penalised(
    mo_tape *t, mo_tensor *Zs, mo_tensor *Ys, mo_tensor *Zq, mo_tensor *const *parameters) {
    return readout(t, Zq, mo_logistic(t, mo_append_ones(t, Zs), Ys, parameters[0], MO_INTERCEPT_NONE));
}

static const mo_head_parameter parameters[] = {{.name = "lambda", .value = 1, .low = 0, .high = 1e300}};

static const mo_head_sample samples[] = {
    {.support = 6, .queries = 4, .dim = 9, .classes = 3},
    {.support = 12, .queries = 4, .dim = 3, .classes = 3},
    {.support = 4, .queries = 3, .dim = 4, .classes = 2, .batch = 3},
    {.support = 1, .queries = 3, .dim = 2, .classes = 1},
};

const mo_head mo_head_logistic = {
    .abi = MO_HEAD_ABI,
    .size = sizeof(mo_head),
    .name = "logistic",
    .n_parameters = 1,
    .parameters = parameters,
    .logits = logits,
    .order = 2,
    .n_samples = 4,
    .samples = samples,
};

const mo_head mo_head_logistic_penalised = {
    .abi = MO_HEAD_ABI,
    .size = sizeof(mo_head),
    .name = "logistic_penalised",
    .n_parameters = 1,
    .parameters = parameters,
    .logits = logits_penalised,
    .order = 2,
    .n_samples = 4,
    .samples = samples,
};
