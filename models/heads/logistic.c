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

/* The rows of the fit: the intercept is a column of ones if it is penalised like the weights. */
static mo_tensor *rows_of_fit(mo_tape *t, mo_tensor *Zs, mo_intercept intercept) {
    return intercept == MO_INTERCEPT_FREE ? Zs : mo_append_ones(t, Zs);
}

/* The data of a head. */
static const mo_intercept free_intercept = MO_INTERCEPT_FREE, no_intercept = MO_INTERCEPT_NONE;

/* Labels times weights weight the fit, because mo_logistic counts each row by the sum of its labels. */
static void logistic_fit(mo_tape *t, const mo_support *s, mo_tensor *const *parameters, mo_state *state) {
    mo_intercept intercept = *(const mo_intercept *)state->head->data;
    mo_tensor *X = rows_of_fit(t, s->Zs, intercept), *Y = mo_weighted_labels(t, s->Ys, s->weight),
              *lambda = parameters[0];
    bool starts = s->held_out && mo_ndim(X) == 2;
    mo_tensor *start,
        *W = starts ? mo_logistic_start(t, X, Y, lambda, intercept, &start) : mo_logistic(t, X, Y, lambda, intercept);
    mo_state_put(state, "W", unique(t, W, s->Zs, lambda));
    if (starts) {
        mo_state_put(state, "lambda", lambda);
        mo_state_put(state, "start", start);
    }
}

/* Refits that start from the fit of all rows. */
static mo_tensor *logistic_held_out(mo_tape *t, const mo_state *state, const int64_t *row, int64_t groups, int64_t h) {
    mo_intercept intercept = *(const mo_intercept *)state->head->data;
    mo_tensor *X = rows_of_fit(t, mo_state_get(t, state, "Zs"), intercept);
    mo_tensor *Y = mo_weighted_labels(t, mo_state_get(t, state, "Ys"), mo_state_find(state, "weight"));
    if (!mo_ok(mo_tape_context(t)))
        return X;
    Y = mo_mul(t, Y, mo_rows_outside(t, Y, row, groups, h));
    mo_tensor *logits = mo_logistic_without(t, mo_with_axis(t, X, MO_AXIS(0), groups), Y,
        mo_state_get(t, state, "lambda"), intercept, mo_state_get(t, state, "start"));
    return mo_rows_of_each(t, logits, row, groups, h);
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
    .held_out = logistic_held_out,
    .data = &free_intercept,
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
    .fit = logistic_fit,
    .held_out = logistic_held_out,
    .data = &no_intercept,
    .order = 2,
    .n_samples = 4,
    .samples = samples,
    .offset = MO_OFFSET_WIDE,
};
