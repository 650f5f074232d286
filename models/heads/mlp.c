/* models/heads/mlp.c - one hidden layer fitted by unrolled gradient descent (the paper's ablation "_m"), from an
 * initial layer that training may learn (MAML; Finn, Abbeel, Levine 2017).
 *
 * With x the rows minus the support's mean, divided by the root mean square of the centred support,
 *     H = softplus(x W1 + b1) - log 2,    logits = H W2 + b2,
 * and all weights take T steps W <- W - lr dL/dW, with L the cross-entropy of the support. Softplus has derivatives of
 * every order. W1 and b1 start at the parameters of these names, W2 and b2 at 0, so that the fit treats all classes
 * alike. If the caller may ask for gradients, the steps are recorded with MO_CREATE_GRAPH, and gradients flow through
 * all steps to Zs, Ys, Zq, lr, W1 and b1. If not, each step is freed once taken. The width of the hidden layer is in
 * the table of parameters.
 *
 * With A = x W1 and D = dL/dA, dL/dW1 = x^T D. If the support has at most as many rows as columns, the steps are
 * therefore taken on A, by the Gram matrix x x^T: A <- A - lr x x^T D. The final W1 is the initial W1 minus lr x^T sum
 * D. */
#include "models/heads/heads.h"

#include <math.h>
#include <string.h>

enum { LR = 0, STEPS, W1, B1, N_PARAMETERS, MOST_STEPS = 1000000 };
enum { IN = 0, IN_BIAS, OUT, OUT_BIAS, N_WEIGHTS }; /* weights: [.., d, h], [.., 1, h], [.., h, C], [.., 1, C] */
enum { SUM = N_WEIGHTS, N_STATE };                  /* used if w[IN] is A [.., n_s, h]: the sum of all D */

/* Logits of the rows with inputs A = x W1 to the hidden layer. */
static mo_tensor *mlp_forward(mo_tape *t, mo_tensor *A, mo_tensor *const *w) {
    mo_tensor *H = mo_scale(t, mo_softplus(t, mo_add(t, A, w[IN_BIAS])), 1, -log(2));
    return mo_add(t, mo_matmul(t, H, w[OUT]), w[OUT_BIAS]);
}

/* Returns the mean cross-entropy of each episode's rows, summed over the batch, so that episodes stay independent. */
static mo_tensor *fit_loss(mo_tape *t, mo_tensor *A, mo_tensor *Y, mo_tensor *const *w) {
    int64_t C = mo_dim(Y, -1), rows = mo_dim(Y, -2), all = C ? mo_numel(Y) / C : 0, flat[2] = {all, C};
    mo_tensor *logits = mo_reshape(t, mlp_forward(t, A, w), 2, flat);
    mo_tensor *loss = mo_softmax_cross_entropy(t, logits, mo_reshape(t, mo_contiguous(t, Y), 2, flat), 0);
    return mo_scale(t, loss, (double)all / (double)rows, 0);
}

/* Returns initial weights [.., rows, columns] that require a gradient: a copy of P per episode; zeros if P is NULL. */
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

/* Takes all steps from w, in place; if no graph is recorded, each step's memory is freed. K is X X^T if w[IN] is A, and
 * NULL if w[IN] is W1. */
static void descend(mo_tape *t, mo_tensor *X, mo_tensor *K, mo_tensor *Y, mo_tensor *lr, int64_t steps, bool graph,
    mo_tensor *w[N_STATE]) {
    mo_tensor *g[N_WEIGHTS];
    int kept = K ? N_STATE : N_WEIGHTS;
    mo_scope scope = mo_scope_open(t);
    for (int64_t step = 0; step < steps && mo_ok(mo_tape_context(t)); step++) {
        mo_tensor *loss = fit_loss(t, K ? w[IN] : mo_matmul(t, X, w[IN]), Y, w);
        mo_grad(t, &loss, NULL, 1, w, g, N_WEIGHTS, graph ? MO_CREATE_GRAPH : 0);
        if (K) {
            w[SUM] = mo_add(t, w[SUM], g[IN]);
            g[IN] = mo_matmul(t, K, g[IN]);
        }
        for (int i = 0; i < N_WEIGHTS; i++)
            w[i] = mo_sub(t, w[i], mo_mul(t, g[i], lr));
        if (graph)
            continue;
        mo_scope_close(t, &scope, w, kept);
        for (int i = 0; i < N_WEIGHTS; i++)
            mo_require_grad(w[i]);
    }
}

/* Replaces the initial weights in `first` by the fitted weights. */
static void mlp_fit(
    mo_tape *t, mo_tensor *X, mo_tensor *Y, mo_tensor *lr, int64_t steps, bool graph, mo_tensor **first) {
    bool dual = mo_dim(X, -2) <= mo_dim(X, -1);
    mo_tensor *Xt = mo_transpose(t, X), *w[N_STATE] = {first[IN], first[IN_BIAS], first[OUT], first[OUT_BIAS]};
    if (dual) {
        w[IN] = mo_matmul(t, X, first[IN]);
        w[SUM] = mo_scale(t, w[IN], 0, 0);
        if (!mo_needs_grad(w[IN]))
            mo_require_grad(w[IN]);
    }
    descend(t, X, dual ? mo_gram(t, X) : NULL, Y, lr, steps, graph, w);
    first[IN] = dual ? mo_sub(t, first[IN], mo_mul(t, mo_matmul(t, Xt, w[SUM]), lr)) : w[IN];
    for (int i = IN_BIAS; i < N_WEIGHTS; i++)
        first[i] = w[i];
}

/* Returns the number of steps; -1 after an error. */
static int64_t number_of_steps(mo_tape *t, mo_tensor *parameter) {
    double steps = mo_item(parameter);
    if (mo_ok(mo_tape_context(t)) && !(steps >= 0 && steps <= MOST_STEPS && steps == floor(steps)))
        mo_fail(
            mo_tape_context(t), MO_INVALID, "mlp: %g steps, expected a whole number from 0 to %d", steps, MOST_STEPS);
    return mo_ok(mo_tape_context(t)) ? (int64_t)steps : -1;
}

/* The names of the weights in the state, in their order. */
static const char *const weight_name[N_WEIGHTS] = {"W1", "b1", "W2", "b2"};

static void mlp_fit_state(mo_tape *t, const mo_support *s, mo_tensor *const *parameters, mo_state *state) {
    mo_tensor *Zs = s->Zs, *Ys = s->Ys;
    mo_mode mode = mo_tape_mode(t);
    int64_t d = mo_dim(Zs, -1), h = mo_dim(parameters[W1], 1), C = mo_dim(Ys, -1);
    int64_t steps = number_of_steps(t, parameters[STEPS]);
    if (steps < 0)
        return;
    bool graph = mode == MO_RECORD && (mo_needs_grad(Zs) || mo_needs_grad(Ys));
    for (int i = 0; i <= B1; i++)
        graph |= mode == MO_RECORD && mo_needs_grad(parameters[i]);
    mo_tape_set_mode(t, MO_RECORD); /* the fit itself needs gradients */
    mo_tensor *w1 = mo_mean_weights(t, s->weight);
    Ys = w1 ? mo_mul(t, Ys, w1) : Ys;
    mo_tensor *mean = mo_mean_of_rows(t, Zs, w1), *X = mo_sub(t, Zs, mean);
    mo_tensor *squares = w1 ? mo_mul(t, mo_square(t, X), w1) : mo_square(t, X);
    mo_tensor *scale = mo_sqrt(t, mo_scale(t, mo_mean(t, squares, MO_AXES(-2, -1), MO_KEEP_AXES), 1, 1e-12));
    X = mo_div(t, X, scale);
    mo_tensor *w[N_WEIGHTS] = {
        [IN] = first_weight(t, X, parameters[W1], d, h),
        [IN_BIAS] = first_weight(t, X, parameters[B1], 1, h),
        [OUT] = first_weight(t, X, NULL, h, C),
        [OUT_BIAS] = first_weight(t, X, NULL, 1, C),
    };
    mlp_fit(t, X, Ys, parameters[LR], steps, graph, w);
    mo_tape_set_mode(t, mode);
    for (int i = 0; i < N_WEIGHTS; i++) /* without a graph, the steps' own gradients end here */
        mo_state_put(state, weight_name[i], graph ? w[i] : mo_stop_gradient(t, w[i]));
    mo_state_put(state, "mean", mean);
    mo_state_put(state, "scale", scale);
}

static mo_tensor *mlp_apply(mo_tape *t, const mo_state *state, mo_tensor *Zq, mo_tensor *kernels) {
    mo_tensor *w[N_WEIGHTS], *Q = mo_sub(t, Zq, mo_state_get(t, state, "mean"));
    (void)kernels;
    for (int i = 0; i < N_WEIGHTS; i++)
        w[i] = mo_state_get(t, state, weight_name[i]);
    return mlp_forward(t, mo_matmul(t, mo_div(t, Q, mo_state_get(t, state, "scale")), w[IN]), w);
}

static const mo_head_parameter parameters[] = {
    [LR] = {.name = "lr", .value = 0.3, .low = 0, .high = 1e6},
    [STEPS] = {.name = "steps", .value = 50, .low = 0, .high = MOST_STEPS, .fixed = true},
    [W1] = {.name = "W1", .value = 1.7320508, .ndim = 2, .shape = {MO_HEAD_DIM, 32}}, /* variance 1 / d */
    [B1] = {.name = "b1", .value = 0, .ndim = 1, .shape = {32}},
};

static const mo_head_sample samples[] = {
    {.support = 6, .queries = 4, .dim = 5, .classes = 3},
    {.support = 4, .queries = 3, .dim = 3, .classes = 2, .batch = 2},
    {.support = 3, .queries = 3, .dim = 4, .classes = 2, .batch = 2},
};

const mo_head mo_head_mlp = {
    .abi = MO_HEAD_ABI,
    .size = sizeof(mo_head),
    .name = "mlp",
    .n_parameters = N_PARAMETERS,
    .parameters = parameters,
    .fit = mlp_fit_state,
    .apply = mlp_apply,
    .order = 2,
    .n_samples = 3,
    .samples = samples,
};
