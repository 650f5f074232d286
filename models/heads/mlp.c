/* models/heads/mlp.c - one hidden layer fitted by unrolled gradient descent (the paper's ablation "_m"), from an
 * initial layer that training may learn (MAML; Finn, Abbeel, Levine 2017).
 *
 * With x the rows less the support's mean, over the root mean square of what is left,
 *     H = softplus(x W1 + b1) - log 2,    logits = H W2 + b2,
 * and T steps W <- W - lr dL/dW on L, the cross-entropy of the support; softplus, so that every order of derivative
 * exists. W1 and b1 start at the parameters of that name; W2 = 0 and b2 = 0, so that the fit treats the classes alike,
 * whatever their number and order. The steps are recorded with MO_CREATE_GRAPH where a gradient may be asked for:
 * through all of them it flows to Zs, Ys, Zq, lr, W1 and b1. Where not, each step is forgotten as soon as it is taken.
 * Another width is another shape in the table of parameters. */
#include "models/head.h"

#include <math.h>
#include <string.h>

enum { LR = 0, STEPS, W1, B1 };                     /* parameters */
enum { IN = 0, IN_BIAS, OUT, OUT_BIAS, N_WEIGHTS }; /* weights: [.., d, h], [.., 1, h], [.., h, C], [.., 1, C] */

static mo_tensor *forward(mo_tape *t, mo_tensor *X, mo_tensor *const *w) {
    mo_tensor *A = mo_add(t, mo_matmul(t, X, w[IN]), w[IN_BIAS]);
    mo_tensor *H = mo_scale(t, mo_softplus(t, A), 1, -log(2));
    return mo_add(t, mo_matmul(t, H, w[OUT]), w[OUT_BIAS]);
}

/* The cross-entropy of each episode's rows, averaged, and added over the batch: no episode sees another. */
static mo_tensor *fit_loss(mo_tape *t, mo_tensor *X, mo_tensor *Y, mo_tensor *const *w) {
    int64_t C = mo_dim(Y, -1), rows = mo_dim(Y, -2), all = C ? mo_numel(Y) / C : 0, flat[2] = {all, C};
    mo_tensor *logits = mo_reshape(t, forward(t, X, w), 2, flat);
    mo_tensor *loss = mo_softmax_cross_entropy(t, logits, mo_reshape(t, mo_contiguous(t, Y), 2, flat), 0);
    return mo_scale(t, loss, (double)all / (double)rows, 0);
}

/* [.., rows, columns]: a copy of P for each episode, or zeros where P is NULL; needs a gradient. */
static mo_tensor *first_weight(mo_tape *t, const mo_tensor *X, mo_tensor *P, int64_t rows, int64_t columns) {
    int n = mo_ndim(X);
    int64_t shape[MO_MAX_AXES];
    for (int i = 0; i < n - 2; i++)
        shape[i] = mo_dim(X, i);
    shape[n - 2] = rows;
    shape[n - 1] = columns;
    mo_tensor *w = P ? mo_scale(t, mo_broadcast_to(t, P, n, shape), 1, 0) : mo_full(t, mo_tensor_dtype(X), n, shape, 0);
    return mo_needs_grad(w) ? w : mo_require_grad(w);
}

/* T steps from w, in place; without a graph each is a scope of its own. */
static void descend(mo_tape *t, mo_tensor *X, mo_tensor *Y, mo_tensor *lr, int64_t steps, bool graph, mo_tensor **w) {
    mo_tensor *g[N_WEIGHTS];
    mo_scope scope = mo_scope_open(t);
    for (int64_t step = 0; step < steps && mo_ok(mo_tape_context(t)); step++) {
        mo_tensor *loss = fit_loss(t, X, Y, w);
        mo_grad(t, &loss, NULL, 1, w, g, N_WEIGHTS, graph ? MO_CREATE_GRAPH : 0);
        for (int i = 0; i < N_WEIGHTS; i++)
            w[i] = mo_sub(t, w[i], mo_mul(t, g[i], lr));
        if (graph)
            continue;
        mo_scope_close(t, &scope, w, N_WEIGHTS);
        for (int i = 0; i < N_WEIGHTS; i++)
            mo_require_grad(w[i]);
    }
}

static mo_tensor *logits(mo_tape *t, mo_tensor *Zs, mo_tensor *Ys, mo_tensor *Zq, mo_tensor *const *parameters) {
    mo_mode mode = mo_tape_mode(t);
    unsigned rows = MO_AXIS(mo_ndim(Zs) - 2), both = rows | MO_AXIS(mo_ndim(Zs) - 1);
    int64_t d = mo_dim(Zs, -1), h = mo_dim(parameters[W1], 1), C = mo_dim(Ys, -1);
    bool graph = mode == MO_RECORD && (mo_needs_grad(Zs) || mo_needs_grad(Ys));
    for (int i = 0; i <= B1; i++)
        graph |= mode == MO_RECORD && mo_needs_grad(parameters[i]);
    mo_tape_set_mode(t, MO_RECORD); /* the steps take gradients, also where nobody else does */
    mo_tensor *mean = mo_mean(t, Zs, rows, true), *X = mo_sub(t, Zs, mean), *Q = mo_sub(t, Zq, mean);
    mo_tensor *scale = mo_sqrt(t, mo_scale(t, mo_mean(t, mo_square(t, X), both, true), 1, 1e-12));
    X = mo_div(t, X, scale);
    mo_tensor *w[N_WEIGHTS] = {
        [IN] = first_weight(t, X, parameters[W1], d, h),
        [IN_BIAS] = first_weight(t, X, parameters[B1], 1, h),
        [OUT] = first_weight(t, X, NULL, h, C),
        [OUT_BIAS] = first_weight(t, X, NULL, 1, C),
    };
    descend(t, X, Ys, parameters[LR], llround(mo_item(parameters[STEPS])), graph, w);
    if (!graph)
        mo_tape_set_mode(t, mode);
    mo_tensor *logits = forward(t, mo_div(t, Q, scale), w);
    mo_tape_set_mode(t, mode);
    return logits;
}

static const mo_head_parameter parameters[] = {
    [LR] = {.name = "lr", .value = 0.3, .low = 0, .high = 1e6},
    [STEPS] = {.name = "steps", .value = 50, .low = 0, .high = 1e6, .fixed = true},
    [W1] = {.name = "W1", .value = 1.7320508, .ndim = 2, .shape = {MO_HEAD_DIM, 32}}, /* entries of variance 1 / d */
    [B1] = {.name = "b1", .value = 0, .ndim = 1, .shape = {32}},
};

static const mo_head_sample samples[] = {
    {.support = 6, .queries = 4, .dim = 5, .classes = 3},
    {.support = 4, .queries = 3, .dim = 3, .classes = 2, .batch = 2},
};

const mo_head mo_head_mlp = {
    .abi = MO_HEAD_ABI,
    .size = sizeof(mo_head),
    .name = "mlp",
    .n_parameters = 4,
    .parameters = parameters,
    .logits = logits,
    .order = 2,
    .n_samples = 2,
    .samples = samples,
};
