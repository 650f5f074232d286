/* tests/golden/golden_logistic.c - logistic regression with and without a penalty on the intercept, and the implicit
 * gradients of the queries' cross-entropy. */
#include "models/inside.h"
#include "tests/golden/golden.h"

static void check(golden *g, const char *test) {
    mo_tape *t = g->t;
    mo_tensor *Zs = golden_leaf(g, test, "Zs"), *Zq = golden_leaf(g, test, "Zq"), *lambda = golden_leaf(g, test, "lam");
    mo_tensor *ys = golden_data(g, test, "ys"), *yq = golden_data(g, test, "yq"), *W = golden_find(g, test, "W");
    int64_t d = mo_dim(Zs, -1), classes = W ? mo_dim(W, -1) : 0;
    bool penalised = golden_number(g, test, "penalise_bias", -1) == 1;
    mo_tensor *Ys = mo_one_hot(t, ys, classes, g->real);
    const mo_head *head = penalised ? &mo_head_logistic_penalised : &mo_head_logistic;
    mo_tensor *logits = mo_head_apply(t, head, Zs, Ys, Zq, &lambda);
    golden_compare(g, test, "logits", logits);
    mo_tensor *Wb = penalised ? mo_logistic(t, mo_append_ones(t, Zs), Ys, lambda, MO_INTERCEPT_NONE)
                              : mo_logistic(t, Zs, Ys, lambda, MO_INTERCEPT_FREE);
    golden_compare(g, test, "W", mo_slice(t, Wb, MO_AXIS(0), 0, d));
    golden_compare(g, test, "b", mo_slice(t, Wb, MO_AXIS(0), d, d + 1));
    mo_tensor *loss = mo_softmax_cross_entropy(t, logits, yq, 0.1), *grads[3];
    golden_compare(g, test, "loss", loss);
    mo_grad(t, &loss, NULL, 1, (mo_tensor *[]){Zs, Zq, lambda}, grads, 3, 0);
    golden_compare(g, test, "grad_Zs", grads[0]);
    golden_compare(g, test, "grad_Zq", grads[1]);
    golden_compare(g, test, "grad_lam", grads[2]);
}

void golden_logistic(golden *g) {
    golden_each_case(g, check);
}
