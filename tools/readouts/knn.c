/* tools/readouts/knn.c - the readout "knn" of `mochi readouts`: the k = 5 nearest support rows vote. A baseline with
 * nothing to train through, so it is none of the library's heads.
 *
 * With v_c votes for class c of C, the logit is log((v_c + 1 / C) / (k + 1)), so that probabilities are finite. */
#include "tools/readouts/readouts.h"

enum { NEIGHBOURS = 5 };

/* Subtracted from the score of a row that has voted; other scores are far above it. */
static const double voted = 1e30;

static mo_tensor *knn_logits(mo_tape *t, mo_tensor *Zs, mo_tensor *Ys, mo_tensor *Zq, mo_tensor *const *parameters) {
    (void)parameters;
    if (!mo_ok(mo_tape_context(t)))
        return mo_null_tensor(mo_tape_context(t));
    int64_t n_s = mo_dim(Zs, -2), C = mo_dim(Ys, -1), k = n_s < NEIGHBOURS ? n_s : NEIGHBOURS;
    mo_tensor *square = mo_transpose(t, mo_sum(t, mo_square(t, Zs), MO_AXIS(-1), MO_KEEP_AXES)), *votes = NULL;
    /* -|q - s|^2 + |q|^2: larger for nearer rows. */
    mo_tensor *score = mo_sub(t, mo_scale(t, mo_matmul(t, Zq, mo_transpose(t, Zs)), 2, 0), square);
    for (int64_t i = 0; i < k && mo_ok(mo_tape_context(t)); i++) {
        mo_tensor *hot = mo_one_hot(t, mo_argmax(t, score, MO_AXIS(-1)), n_s, mo_tensor_dtype(Ys));
        mo_tensor *vote = mo_matmul(t, hot, Ys);
        votes = votes ? mo_add(t, votes, vote) : vote;
        score = mo_sub(t, score, mo_scale(t, hot, voted, 0));
    }
    return votes ? mo_log(t, mo_scale(t, votes, 1 / (double)(k + 1), 1 / (double)(C * (k + 1))))
                 : mo_null_tensor(mo_tape_context(t));
}

const mo_head knn_head = {
    .abi = MO_HEAD_ABI,
    .size = sizeof(mo_head),
    .name = "knn",
    .logits = knn_logits,
    .order = 1,
    .offset = MO_OFFSET_FREE,
};
