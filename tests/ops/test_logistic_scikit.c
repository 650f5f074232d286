/* tests/ops/test_logistic_scikit.c - on Cora's hop features the head has scikit-learn's coefficients and accuracy
 * (oracle.h; skipped where absent). */
#include "models/inside.h"
#include "tests/oracle.h"
#include "tests/scratch.h"
#include "train/inside.h"

#include <math.h>

static const fixtures around_all = {scratch_create, scratch_release};

enum { DIM = 128, CLASSES = 7, SHOTS = 12, HOP = 2 };

static const char oracle[] =
    "import sys, numpy as np\n"
    "from sklearn.linear_model import LogisticRegression\n"
    "X, y, Q, q, W, F = (np.load(f'{sys.argv[1]}/{k}.npy') for k in ('X', 'y', 'Q', 'q', 'W', 'F'))\n"
    "m = LogisticRegression(C=2.0, solver='newton-cg', tol=1e-13, max_iter=10000).fit(X, y)\n"
    "off = max(np.abs(m.coef_.T - W[:-1]).max(), np.abs(m.intercept_ - m.intercept_.mean() - W[-1]).max())\n"
    "print(off, (m.predict(Q) == q).mean(), (F.argmax(1) == q).mean())\n";

static mo_tensor *rows_of(mo_tape *t, mo_tensor *hops, const int64_t *node, int64_t n) {
    mo_tensor *H = mo_reshape(t, mo_slice(t, hops, MO_AXIS(0), HOP, HOP + 1), 2, (int64_t[]){-1, DIM});
    return mo_cast(t, mo_gather_rows(t, H, mo_from(t, MO_I64, 1, &n, node)), MO_F64);
}

static void save(scratch *s, mo_tensor *T, const char *name) {
    assert_int_equal(mo_npy_write(T, scratch_path(s, name)), MO_OK);
}

/* Support: the first SHOTS nodes of each class; queries: all others. */
static void write_problem(scratch *s, mo_tape *t, const mo_graph *graph, mo_tensor *hops) {
    int64_t *node = calloc((size_t)graph->nodes * 4, sizeof *node), *label = node + graph->nodes;
    int64_t *query = label + graph->nodes, *expected = query + graph->nodes, n = 0, m = 0, taken[CLASSES] = {0};
    for (int64_t i = 0; i < graph->nodes; i++) {
        int64_t c = graph->label[i];
        bool support = taken[c]++ < SHOTS;
        (support ? node : query)[support ? n : m] = i;
        (support ? label : expected)[support ? n++ : m++] = c;
    }
    mo_tensor *X = rows_of(t, hops, node, n), *Q = rows_of(t, hops, query, m), *y = mo_from(t, MO_I64, 1, &n, label);
    mo_tensor *Y = mo_one_hot(t, y, CLASSES, MO_F64), *lambda = mo_scalar(t, MO_F64, 0.5);
    save(s, mo_logistic(t, X, Y, lambda, MO_INTERCEPT_FREE), "W.npy");
    save(s, mo_head_apply(t, &mo_head_logistic, X, Y, Q, &lambda), "F.npy");
    save(s, X, "X.npy");
    save(s, y, "y.npy");
    save(s, Q, "Q.npy");
    save(s, mo_from(t, MO_I64, 1, &m, expected), "q.npy");
    free(node);
}

TEST(coefficients_and_accuracy_equal_those_of_scikit_learn) {
    scratch *s = *state;
    char command[1600];
    const char *python = python_with("sklearn.linear_model");
    mo_graph *graph = mo_graph_open(s->ctx, "cora");
    assert_non_null(graph);
    mo_features *features =
        mo_features_open(graph, &(mo_feature_options){.dim = DIM, .hops = HOP + 1, .power_iterations = 2});
    assert_non_null(features);
    mo_tape *t = mo_tape_create(s->ctx, MO_EVAL);
    write_problem(s, t, graph, mo_arrays_find(features->arrays, "hops"));
    mo_tape_release(t);
    mo_features_release(features);
    mo_graph_release(graph);
    scratch_write(s, "oracle.py", oracle, sizeof oracle - 1);
    snprintf(command, sizeof command, "%s %s/oracle.py %s 2>/dev/null", python, s->folder, s->folder);
    FILE *answer = popen(command, "r");
    double error = NAN, theirs = 0, ours = 1;
    assert_int_equal(fscanf(answer, "%lf %lf %lf", &error, &theirs, &ours), 3);
    assert_int_equal(pclose(answer), 0);
    print_message("coefficients within %.2g, accuracy %.4f and %.4f\n", error, theirs, ours);
    assert_true(error < 1e-6);
    assert_true(theirs == ours && ours > 0.5);
    scratch_files(s, true);
}
