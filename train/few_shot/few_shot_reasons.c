/* train/few_shot/few_shot_reasons.c - why an example is predicted as it is: what each label adds to the logit of its
 * own class, by way of each kernel.
 *
 * The readout is a sum of kernel ridges, and a ridge is linear in its labels: with the one-hot labels Y, the kernels
 * k_e between the example q and the labelled ones, and for each expert the inverses G_er at its penalties r, of which
 * the mixture takes the multiples f_er (mixture.c), logits = sum_e h_e Y,   h_e = k_e(q, S) H_e,   H_e = sum_r f_er D
 * G_er D where D has the roots of the class weights on its diagonal. So label i adds h_ei to the logit of its own class
 * and nothing to the others, and these votes are what is told: unlike the terms k_e(q, i) alpha_i of the same sum, they
 * do not cancel. A ridge of rows X = [Zs | 1] is one expert, with h = x_q (X^T X + lambda I)^-1 X^T. The readout itself
 * computes h: it is applied with H in place of its coefficients. */
#include "train/few_shot/few_shot.h"

#include "models/heads/heads.h"
#include "tensor/library.h"
#include "train/episodes/episode_kernels.h"
#include "train/evaluation/evaluation.h"

#include <stdlib.h>
#include <string.h>

void mo_few_shot_reasons_release(mo_few_shot_reasons *r) {
    if (!r)
        return;
    free(r->id);
    free(r->label);
    free(r->weight);
    free(r->logit);
    *r = (mo_few_shot_reasons){0};
}

static mo_tensor **state_slot(mo_state *s, const char *name) {
    for (int i = 0; i < s->n; i++)
        if (!strcmp(s->name[i], name))
            return &s->tensor[i];
    return NULL;
}

/* Whether the fit is a mixture of kernels, whose state has the inverses of all experts. */
static bool mixes(const mo_state *s) {
    return s->head->kernels && mo_state_find(s, "factor");
}

/* Raises unless the fit tells what each label adds; returns the number of experts. */
static int64_t check_reasons(mo_few_shot *f) {
    const mo_state *s = &f->fitted.state;
    bool mixture = mixes(s), rows = !strcmp(s->head->name, "ridge");
    if (!mo_ok(f->ctx))
        return 0;
    if (f->fitted.m)
        mo_fail(f->ctx, MO_UNSUPPORTED,
            "few-shot: expected at most %d labels for reasons, found more, for which some of them stand",
            MO_MOST_CENTRES);
    else if (!(mixture || rows) || !mo_state_find(s, "inverse") || mo_state_find(s, "weight"))
        mo_fail(f->ctx, MO_UNSUPPORTED,
            "few-shot: the readout %s does not tell what each label adds; expected that of the weights, or ridge",
            s->head->name);
    return !mo_ok(f->ctx) ? 0 : mixture ? mo_dim(mo_state_find(s, "inverse"), 0) : 1;
}

/* H of expert e for the mixture: [E, n, n], 0 for the other experts. */
static mo_tensor *mixture_votes(mo_few_shot *f, int64_t e) {
    const mo_state *s = &f->fitted.state;
    mo_tensor *G = mo_state_get(f->t, s, "inverse"), *factor = mo_state_get(f->t, s, "factor");
    mo_tensor *weight = mo_state_find(s, "class_weight");
    int64_t E = mo_ok(f->ctx) ? mo_dim(G, 0) : 1, R = mo_ok(f->ctx) ? mo_dim(G, 1) : 1;
    double *one = mo_host_array(f->ctx, E, sizeof *one);
    if (one)
        one[e] = 1;
    mo_tensor *only =
        one ? mo_cast(f->t, mo_from(f->t, MO_F64, 4, (int64_t[]){E, 1, 1, 1}, one), mo_tensor_dtype(G)) : NULL;
    free(one);
    if (!mo_ok(f->ctx))
        return mo_null_tensor(f->ctx);
    mo_tensor *H = mo_mul(f->t, G, mo_reshape(f->t, mo_contiguous(f->t, factor), 4, (int64_t[]){E, R, 1, 1}));
    H = mo_sum(f->t, mo_mul(f->t, H, only), MO_AXIS(1), MO_DROP_AXES);
    mo_tensor *root = weight ? mo_root_columns(f->t, weight) : NULL;
    return root ? mo_mul(f->t, mo_mul(f->t, H, root), mo_transpose(f->t, root)) : H;
}

/* (X^T X + lambda I)^-1 X^T, or X^T (X X^T + lambda I)^-1 with the smaller inverse: [d + 1, n]. */
static mo_tensor *ridge_votes(mo_few_shot *f) {
    const mo_state *s = &f->fitted.state;
    mo_tensor *Xt = mo_transpose(f->t, mo_append_ones(f->t, mo_state_get(f->t, s, "Zs")));
    mo_tensor *G = mo_state_get(f->t, s, "inverse");
    return mo_state_find(s, "dual") ? mo_matmul(f->t, Xt, G) : mo_matmul(f->t, G, Xt);
}

/* What each label adds for the example q by expert e, into h [n]. */
static bool read_votes(mo_few_shot *f, int64_t e, int64_t q, double *h) {
    mo_state votes = f->fitted.state;
    bool mixture = mixes(&votes);
    mo_tape_reset(f->t);
    mo_tensor *made = mo_contiguous(f->t, mixture ? mixture_votes(f, e) : ridge_votes(f));
    mo_tensor *own = mo_ok(f->ctx) ? mo_tensor_clone(f->ctx, made) : NULL; /* the application resets the tape */
    if (!own)
        return false;
    *state_slot(&votes, mixture ? "alpha" : "W") = own;
    votes.classes = f->n;
    bool fine = mo_few_shot_apply_state(f, &votes, q, h) == MO_OK;
    mo_tensor_release(own);
    return fine;
}

static void fill_reasons(mo_few_shot *f, int64_t q, mo_few_shot_reasons *r) {
    int64_t E = check_reasons(f), n = f->n;
    r->id = E ? mo_host_array(f->ctx, n, sizeof *r->id) : NULL;
    r->label = r->id ? mo_host_array(f->ctx, n, sizeof *r->label) : NULL;
    r->weight = r->label ? mo_host_array(f->ctx, E * n, sizeof *r->weight) : NULL;
    r->logit = r->weight ? mo_host_array(f->ctx, f->classes, sizeof *r->logit) : NULL;
    if (!r->logit || mo_few_shot_apply_state(f, NULL, q, r->logit) != MO_OK)
        return;
    r->n = n;
    r->classes = f->classes;
    r->experts = (int)E;
    memcpy(r->id, f->id, (size_t)n * sizeof *r->id);
    memcpy(r->label, f->label, (size_t)n * sizeof *r->label);
    for (int64_t e = 0; e < E && read_votes(f, e, q, r->weight + e * n); e++)
        r->expert[e] = mixes(&f->fitted.state) ? mo_expert_name(&f->source, (int)e) : "T";
}

mo_code mo_few_shot_explain(mo_few_shot *f, int64_t example, mo_few_shot_reasons *r) {
    if (!f)
        return MO_INVALID;
    if (!mo_given(f->ctx, "few-shot", "the reasons", r))
        return mo_code_of(f->ctx);
    *r = (mo_few_shot_reasons){0};
    if (mo_ok(f->ctx) && f->n == 0)
        mo_fail(f->ctx, MO_STATE, "few-shot: expected labels (mo_few_shot_fit) before an explanation, found none");
    if (!mo_ok(f->ctx) || !mo_few_shot_are_examples(f, &example, 1))
        return mo_code_of(f->ctx);
    mo_transductive chosen = f->candidate.transductive; /* a refit on predictions is no sum over the labels alone */
    mo_fitted_examples usual = f->fitted;               /* put back, so that predictions keep their bits */
    r->refitted = chosen != MO_TRANSDUCTIVE_OFF;
    f->candidate.transductive = MO_TRANSDUCTIVE_OFF;
    f->fitted = (mo_fitted_examples){0};
    if (!mo_few_shot_fit_whole(f) && mo_ok(f->ctx)) /* centres, or a head that holds no row out */
        mo_few_shot_apply_state(f, NULL, example, NULL);
    if (mo_ok(f->ctx))
        fill_reasons(f, example, r);
    mo_few_shot_forget_fit(f);
    f->candidate.transductive = chosen;
    f->fitted = usual;
    if (!mo_ok(f->ctx))
        mo_few_shot_reasons_release(r);
    return mo_code_of(f->ctx);
}
