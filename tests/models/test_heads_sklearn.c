/* tests/models/test_heads_sklearn.c - ridge and shrinkage LDA against scikit-learn on drawn rows; skipped if
 * no Python has scikit-learn. */
#include "tests/scratch.h"

#include <math.h>

/* Returns the first of MOCHI_PYTHON, python3 and Debian's Python that can import the modules ("numpy, sklearn"). If
 * none can, prints so and skips the test. */
static const char *python_with(const char *modules) {
    const char *const pythons[] = {getenv("MOCHI_PYTHON"), "python3", "/usr/bin/python3"};
    char command[600];
    for (int i = 0; i < 3; i++) {
        snprintf(command, sizeof command, "%s -c 'import %s' 2>/dev/null", pythons[i] ? pythons[i] : "false", modules);
        if (pythons[i] && system(command) == 0)
            return pythons[i];
    }
    skip("no Python that imports %s (Debian package python3-sklearn, or set MOCHI_PYTHON)", modules);
}

enum { KEPT = 40, CLASSES = 7, QUERIES = 5 };

/* Reads Zs, ys, Zq; writes scikit-learn's scores of the queries to a file named after the case. */
static const char oracle[] =
    "import sys\n"
    "import numpy as np\n"
    "from sklearn.discriminant_analysis import LinearDiscriminantAnalysis\n"
    "from sklearn.linear_model import Ridge\n"
    "folder, k = sys.argv[1:3]\n"
    "Zs, ys, Zq = (np.load(f'{folder}/{name}{k}.npy') for name in ('Zs', 'ys', 'Zq'))\n"
    "Y = np.eye(7)[ys]\n"
    "one = lambda Z: np.c_[Z, np.ones(len(Z))]\n"
    "def lda(s):\n"
    "    model = LinearDiscriminantAnalysis(solver='lsqr', shrinkage=s).fit(Zs, ys)\n"
    "    return model.decision_function(Zq)\n"
    "for l in (0.1, 10):\n"
    "    np.save(f'{folder}/ridge{l:g}.npy', Ridge(alpha=l, fit_intercept=False).fit(one(Zs), Y).predict(one(Zq)))\n"
    "    np.save(f'{folder}/ridge_intercept{l:g}.npy', Ridge(alpha=l).fit(Zs, Y).predict(Zq))\n"
    "for s in (0.1, 0.7, 1):\n"
    "    np.save(f'{folder}/lda{s:g}.npy', lda(s))\n"
    "if len(Zs) > 2 * Zs.shape[1]:\n"
    "    np.save(f'{folder}/lda0.npy', lda(0.0))\n";

typedef struct few_shot {
    mo_tape *t;
    mo_tensor *Zs, *ys, *Zq;
} few_shot;

/* Draws k rows of each class around its centre, and QUERIES more of each. */
static few_shot make_few_shot(scratch *s, int64_t k) {
    few_shot f = {.t = mo_tape_create(s->ctx, MO_EVAL)};
    mo_random r = mo_random_at(4, MO_PURPOSE_CHECK, (uint64_t)k);
    int64_t n_s = k * CLASSES, n_q = QUERIES * CLASSES, label[2000];
    HELD_MEMORY double *z = calloc((size_t)((n_s + n_q) * KEPT), sizeof *z);
    for (int64_t i = 0; i < n_s + n_q; i++)
        for (int64_t j = 0; j < KEPT; j++)
            z[i * KEPT + j] = (1 + (double)(j % 3)) * mo_random_normal(&r) + (j == i % CLASSES);
    for (int64_t i = 0; i < n_s; i++)
        label[i] = i % CLASSES;
    f.Zs = mo_from(f.t, MO_F64, 2, (int64_t[]){n_s, KEPT}, z);
    f.Zq = mo_from(f.t, MO_F64, 2, (int64_t[]){n_q, KEPT}, z + n_s * KEPT);
    f.ys = mo_from(f.t, MO_I64, 1, &n_s, label);
    return f;
}

static void write_input(scratch *s, const char *name, int64_t k, mo_tensor *T) {
    char file[64];
    snprintf(file, sizeof file, "%s%d.npy", name, (int)k);
    assert_int_equal(mo_npy_write(T, scratch_path(s, file)), MO_OK);
}

/* Compares the head's logits for this value of its parameter with scikit-learn's. */
static void assert_scores(scratch *s, const few_shot *f, const char *name, double value) {
    char file[64];
    snprintf(file, sizeof file, "%s%g.npy", name, value);
    mo_tensor *parameter = mo_scalar(f->t, MO_F64, value), *Ys = mo_one_hot(f->t, f->ys, CLASSES, MO_F64);
    mo_tensor *ours = mo_head_apply(f->t, mo_find_head(name), f->Zs, Ys, f->Zq, &parameter);
    HELD(mo_tensor) *theirs = mo_npy_read(s->ctx, scratch_path(s, file));
    double scale = mo_item(mo_max(f->t, mo_abs(f->t, theirs), MO_ALL, MO_DROP_AXES));
    double error = mo_item(mo_max(f->t, mo_abs(f->t, mo_sub(f->t, ours, theirs)), MO_ALL, MO_DROP_AXES)) / scale;
    if (!mo_ok(s->ctx) || !(error < 1e-8)) /* two solvers agree so far on systems of condition up to 1e5 */
        fail_msg("%s %g: %s, off by %.3g of %.3g", name, value, mo_context_status(s->ctx)->message, error, scale);
}

static void compare(scratch *s, int64_t k) {
    char command[800];
    const char *python = python_with("sklearn");
    few_shot f = make_few_shot(s, k);
    write_input(s, "Zs", k, f.Zs);
    write_input(s, "ys", k, f.ys);
    write_input(s, "Zq", k, f.Zq);
    scratch_write(s, "oracle.py", oracle, sizeof oracle - 1);
    snprintf(command, sizeof command, "%s %s/oracle.py %s %d", python, s->folder, s->folder, (int)k);
    assert_int_equal(system(command), 0);
    for (double lambda = 0.1; lambda < 11; lambda *= 100) {
        assert_scores(s, &f, "ridge", lambda);
        assert_scores(s, &f, "ridge_intercept", lambda);
    }
    for (int i = 0; i < 3; i++)
        assert_scores(s, &f, "lda", (double[]){0.1, 0.7, 1}[i]);
    if (k * CLASSES > 2 * KEPT)
        assert_scores(s, &f, "lda", 0);
    mo_tape_release(f.t);
    scratch_files(s, true);
}

TEST_OF(scores_equal_scikit_learns_with_fewer_rows_than_columns, scratch *s) {
    compare(s, 4);
}

TEST_OF(scores_equal_scikit_learns_with_more_rows_than_columns, scratch *s) {
    compare(s, 20);
}
