/* models/invariant_readout.c - the readout of the invariant encoder: ridges of both experts and three penalties, for
 * links and graphs also those of a Gaussian kernel, mixed by their leave-one-out evidence (ridge_mixture.c). Every task
 * has its own penalties, priors, width, sharpness and temperatures. */
#include "models/heads/heads.h"
#include "models/invariant.h"

static const invariant *invariant_of(const mo_model *m) {
    return m->encoder.state;
}

/* Row `task` of a parameter, in the given shape. */
static mo_tensor *of_task(mo_tape *t, const mo_model *m, int i, mo_task task, int ndim, const int64_t *shape) {
    return mo_reshape(t, mo_slice(t, m->parameter[invariant_of(m)->at[i]], MO_AXIS(0), task, task + 1), ndim, shape);
}

/* The kernel is read for links and graphs; on nodes it has shown no gain. */
static bool reads_kernel(const mo_model *m, mo_task task) {
    return task != MO_TASK_NC && !invariant_of(m)->options.linear;
}

/* The parameters `plain` of every expert, followed for links and graphs by `kernel`: [EXPERTS or 2 EXPERTS, 1]. */
static mo_tensor *invariant_readout_of_experts(mo_tape *t, const mo_model *m, int plain, int kernel, mo_task task) {
    static const int64_t column[] = {EXPERTS, 1};
    mo_tensor *first = of_task(t, m, plain, task, 2, column);
    if (!reads_kernel(m, task))
        return first;
    mo_tensor *more = of_task(t, m, kernel, (mo_task)(task - MO_TASK_LP), 2, column);
    return mo_concat(t, (mo_tensor *[]){first, more}, 2, MO_AXIS(0));
}

static mo_mixture mixture(mo_tape *t, const mo_model *m, const mo_episode *e) {
    static const double ratio[PENALTIES] = {1.0 / 30, 1, 30};
    static const int64_t of_penalty[] = {1, PENALTIES};
    mo_task task = e->task;
    mo_tensor *grid = mo_cast(t, mo_from(t, MO_F64, 2, of_penalty, ratio), m->real);
    mo_mixture mix = {
        .lambda = mo_mul(t, mo_exp(t, invariant_readout_of_experts(t, m, LOG_LAMBDA, KERNEL_LAMBDA, task)), grid),
        .prior = mo_add(t, invariant_readout_of_experts(t, m, EXPERT, KERNEL_PRIOR, task),
            of_task(t, m, PENALTY, task, 2, of_penalty)),
        .sharpness = mo_exp(t, of_task(t, m, LOG_SHARPNESS, task, 0, NULL)),
        .power = of_task(t, m, POWER, task, 0, NULL),
        .temperature = mo_exp(t, of_task(t, m, LOG_LOO_TEMP, task, 0, NULL)),
        .weight = e->support_weight ? mo_cast(t, e->support_weight, m->real) : NULL,
    };
    if (reads_kernel(m, task))
        mix.gamma = mo_exp(t, of_task(t, m, LOG_GAMMA, (mo_task)(task - MO_TASK_LP), 0, NULL));
    return mix;
}

/* W, and alpha of the Gaussian kernel where it is read. */
static int learn(mo_tape *t, const mo_model *m, const mo_episode *e, mo_tensor *Zs, mo_tensor **learned) {
    mo_mixture mix = mixture(t, m, e);
    mo_mixed fit = mo_ridge_mixture_fit(t, Zs, mo_one_hot(t, e->support_label, e->classes, m->real), &mix);
    learned[0] = fit.W;
    learned[1] = fit.alpha;
    return mo_is_null(fit.alpha) ? 1 : 2;
}

static mo_tensor *apply(
    mo_tape *t, const mo_model *m, const mo_episode *e, mo_tensor *Zs, mo_tensor *const *learned, mo_tensor *Zq) {
    mo_mixture mix = mixture(t, m, e);
    mo_mixed fit = {.W = learned[0], .alpha = learned[1]};
    mo_tensor *logits = mo_ridge_mixture_apply(t, Zs, Zq, &mix, &fit);
    return mo_mul(t, logits, mo_exp(t, of_task(t, m, LOG_TEMP, e->task, 0, NULL)));
}

/* Graphs are refitted on the readout's own probabilities, nodes on sharper ones. */
static mo_tensor *transduce(mo_tape *t, const mo_model *m, const mo_episode *e, const mo_population *all) {
    mo_mixture mix = mixture(t, m, e);
    mo_tensor *Ys = mo_one_hot(t, e->support_label, e->classes, m->real);
    mo_tensor *temperature = mo_exp(t, of_task(t, m, LOG_TEMP, e->task, 0, NULL));
    bool graphs = e->task == MO_TASK_GC;
    mo_transduction o = {.rounds = 5, .sharpness = mo_scale(t, temperature, graphs ? 1 : 2, 0)};
    mo_tensor *logits = graphs ? mo_kernel_transduce(t, all, e->support[0], Ys, &mix, &o)
                               : mo_ridge_transduce(t, all, e->support[0], Ys, &mix, &o);
    return mo_mul(t, logits, temperature);
}

static int settings(const mo_model *m, mo_setting *list) {
    list[0] = (mo_setting){.key = "kernel", .word = "linear"};
    return invariant_of(m)->options.linear;
}

const mo_own_readout mo_invariant_readout = {
    .settings = settings, .learn = learn, .apply = apply, .transduce = transduce};
