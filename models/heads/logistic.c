/* models/heads/logistic.c - multinomial logistic regression as a readout (ops/fits/logistic.c).
 *
 * [W; b] minimises the cross-entropy of the support, summed over its rows, plus lambda / 2 |W|^2 ("logistic": the
 * intercept b is not penalised, as in scikit-learn, whose C is 1 / lambda) or plus lambda / 2 (|W|^2 + |b|^2)
 * ("logistic_penalised"). The state is W and b as one matrix, so softmax(logits) are class probabilities. Without a
 * penalty on b the op raises for a class without support; mo_head_apply leaves such a class out. lambda = 0 needs rows
 * that are not separable and have full rank. Gradients of both orders flow to Zs, Ys, Zq and lambda. */
#include "models/heads/heads.h"

#include <inttypes.h>

/* Returns Wb. Raises an error if lambda is 0 and [Zs | 1] lacks full rank: the weights would not be unique. */
static mo_tensor *unique(mo_tape *t, mo_tensor *Wb, mo_tensor *Zs, mo_tensor *lambda) {
    mo_context *ctx = mo_tape_context(t);
    if (!mo_ok(ctx) || mo_item(lambda) != 0)
        return Wb;
    mo_tensor *X = mo_append_ones(t, Zs);
    int64_t rank = mo_rank(t, mo_gram(t, mo_transpose(t, X))), width = mo_dim(X, -1);
    if (mo_ok(ctx) && rank < width)
        mo_fail(ctx, MO_NUMERICAL,
            "logistic: lambda is 0 and the support with its intercept has rank %" PRId64 " of %" PRId64
            ", so that many weights fit equally well; expected a lambda above 0",
            rank, width);
    return Wb;
}

/* Labels times weights weight the fit, because mo_logistic counts each row by the sum of its labels. */
static void logistic_fit(mo_tape *t, const mo_support *s, mo_tensor *const *parameters, mo_state *state) {
    mo_tensor *W = mo_logistic(t, s->Zs, mo_weighted_labels(t, s->Ys, s->weight), parameters[0], MO_INTERCEPT_FREE);
    mo_state_put(state, "W", unique(t, W, s->Zs, parameters[0]));
}

static void penalised_fit(mo_tape *t, const mo_support *s, mo_tensor *const *parameters, mo_state *state) {
    mo_tensor *X = mo_append_ones(t, s->Zs);
    mo_tensor *W = mo_logistic(t, X, mo_weighted_labels(t, s->Ys, s->weight), parameters[0], MO_INTERCEPT_NONE);
    mo_state_put(state, "W", unique(t, W, s->Zs, parameters[0]));
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
    .fit = logistic_fit,
    .order = 2,
    .n_samples = 4,
    .samples = samples,
    .offset = MO_OFFSET_FREE,
};

const mo_head mo_head_logistic_penalised = {
    .abi = MO_HEAD_ABI,
    .size = sizeof(mo_head),
    .name = "logistic_penalised",
    .n_parameters = 1,
    .parameters = parameters,
    .fit = penalised_fit,
    .order = 2,
    .n_samples = 4,
    .samples = samples,
    .offset = MO_OFFSET_WIDE,
};
