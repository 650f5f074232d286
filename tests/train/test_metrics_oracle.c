/* tests/train/test_metrics_oracle.c - link metrics on scores with heavy ties against scikit-learn, and OGB's evaluator
 * written out in NumPy (oracle.h; skipped if it has no scikit-learn). */
#include "tests/oracle.h"
#include "tests/scratch.h"
#include "train/inside.h"

#include <math.h>

static const fixtures around_all = {scratch_create, scratch_release};

enum { CASES = 24, METRICS = 8, K = 20 };

/* Reads pos<i>.npy and neg<i>.npy; writes auc, ap, mrr, OGB hits at 1, 20 and 50, rank-hits at 20, recall of the pooled
 * top 20. OGB: hits count positives above the K-th highest negative, 1 where there are fewer negatives; the rank of MRR
 * is the mean of the optimistic and the pessimistic one. */
static const char oracle[] =
    "import sys\n"
    "import numpy as np\n"
    "from sklearn.metrics import average_precision_score, roc_auc_score\n"
    "folder, cases = sys.argv[1], int(sys.argv[2])\n"
    "def hits(pos, neg, k):\n"
    "    return 1.0 if len(neg) < k else float(np.sum(pos > np.sort(neg)[-k])) / len(pos)\n"
    "def mrr(pos, neg):\n"
    "    optimistic = (neg[None] > pos[:, None]).sum(1)\n"
    "    pessimistic = (neg[None] >= pos[:, None]).sum(1)\n"
    "    return float(np.mean(1 / (0.5 * (optimistic + pessimistic) + 1)))\n"
    "def rank_hits(pos, neg, k):\n"
    "    return float(np.mean(1 + (neg[None] >= pos[:, None]).sum(1) <= k))\n"
    "def pooled(pos, neg, k):\n"
    "    label = np.r_[np.ones(len(pos)), np.zeros(len(neg))]\n"
    "    order = np.lexsort((label, -np.r_[pos, neg]))\n" /* of equal scores the negatives first */
    "    return float(label[order[:k]].sum()) / len(pos)\n"
    "out = []\n"
    "for i in range(cases):\n"
    "    pos, neg = (np.load(f'{folder}/{name}{i}.npy') for name in ('pos', 'neg'))\n"
    "    label, score = np.r_[np.ones(len(pos)), np.zeros(len(neg))], np.r_[pos, neg]\n"
    "    out.append([roc_auc_score(label, score), average_precision_score(label, score), mrr(pos, neg),\n"
    "                hits(pos, neg, 1), hits(pos, neg, 20), hits(pos, neg, 50), rank_hits(pos, neg, 20),\n"
    "                pooled(pos, neg, 20)])\n"
    "np.save(f'{folder}/metrics.npy', np.array(out))\n";

/* Scores of few levels, more of them from case to case; the last ones at 16 levels, of thousands. */
static double *draw(scratch *s, const char *name, int i, int64_t n, int64_t shift) {
    char file[32];
    double *score = malloc((size_t)n * sizeof *score);
    mo_random r = mo_random_at(11, MO_PURPOSE_CHECK, (uint64_t)(2 * i) + (uint64_t)(shift > 0));
    for (int64_t j = 0; j < n; j++)
        score[j] = (double)(shift + mo_random_below(&r, 2 + i % 16)) / 3;
    mo_tensor *T = mo_tensor_create(s->ctx, MO_F64, 1, &n);
    mo_tensor_write(T, score, (size_t)n * sizeof *score);
    snprintf(file, sizeof file, "%s%d.npy", name, i);
    assert_int_equal(mo_npy_write(T, scratch_path(s, file)), MO_OK);
    mo_tensor_release(T);
    return score;
}

TEST(metrics_equal_scikit_learn_and_ogb_on_ties) {
    scratch *s = *state;
    char command[800];
    double ours[CASES][METRICS], theirs[CASES][METRICS];
    const char *python = python_with("sklearn");
    for (int i = 0; i < CASES; i++) {
        int64_t n_p = i < 16 ? 1 + 3 * i : 3000, n_n = i < 16 ? 1 + 5 * i : 2000 + 500 * i;
        double *pos = draw(s, "pos", i, n_p, 1), *neg = draw(s, "neg", i, n_n, 0);
        mo_scores scores = {pos, n_p, neg, n_n};
        const double values[METRICS] = {mo_auc(scores), mo_average_precision(scores), mo_mean_reciprocal_rank(scores),
            mo_hits(scores, 1), mo_hits(scores, K), mo_hits(scores, 50), mo_hits(scores, K), mo_hits_pooled(scores, K)};
        memcpy(ours[i], values, sizeof values);
        free(pos);
        free(neg);
    }
    scratch_write(s, "oracle.py", oracle, sizeof oracle - 1);
    snprintf(command, sizeof command, "%s %s/oracle.py %s %d", python, s->folder, s->folder, CASES);
    assert_int_equal(system(command), 0);
    mo_tensor *T = mo_npy_read(s->ctx, scratch_path(s, "metrics.npy"));
    assert_int_equal(mo_numel(T), CASES * METRICS);
    mo_tensor_read(T, theirs, sizeof theirs);
    mo_tensor_release(T);
    for (int i = 0; i < CASES; i++)
        for (int j = 0; j < METRICS; j++)
            if (!(fabs(ours[i][j] - theirs[i][j]) <= 1e-12))
                fail_msg("case %d, metric %d: %.17g, expected %.17g", i, j, ours[i][j], theirs[i][j]);
}
