/* tests/golden/golden_ops.c - single ops: values, gradients and Hessian-vector products of sum(f(x) G). */
#include "tests/golden/golden.h"

#include <stdlib.h>
#include <string.h>

static mo_tensor *segments_to_offsets(golden *g, const char *test) {
    mo_tensor *segment = golden_find(g, test, "segment");
    int64_t n = mo_numel(segment), *id = malloc((size_t)n * sizeof *id),
            *offset = calloc((size_t)n + 2, sizeof *offset);
    mo_tensor_read(segment, id, (size_t)n * sizeof *id);
    int64_t segments = id[n - 1] + 1;
    for (int64_t i = 0; i < n; i++)
        offset[id[i] + 1]++;
    for (int64_t s = 0; s < segments; s++)
        offset[s + 1] += offset[s];
    mo_tensor *T = mo_from(g->t, MO_I64, 1, (int64_t[]){segments + 1}, offset);
    free(id);
    free(offset);
    return T;
}

static mo_tensor *apply(golden *g, const char *op, mo_tensor *x) {
    mo_tape *t = g->t;
    if (!strcmp(op, "relu"))
        return mo_relu(t, x);
    if (!strcmp(op, "softmax"))
        return mo_softmax(t, x, MO_AXIS(-1));
    if (!strcmp(op, "log_softmax"))
        return mo_log_softmax(t, x, MO_AXIS(-1));
    if (!strcmp(op, "logsumexp"))
        return mo_logsumexp(t, x, MO_AXIS(mo_ndim(x) - 1), MO_DROP_AXES);
    if (!strcmp(op, "l2_normalise"))
        return mo_l2_normalize(t, x, 1e-12);
    if (!strcmp(op, "layer_norm"))
        return mo_layer_norm(t, x, 1e-5);
    if (!strcmp(op, "exp"))
        return mo_exp(t, x);
    if (!strcmp(op, "gather"))
        return mo_gather_rows(t, x, golden_data(g, op, "index"));
    if (!strcmp(op, "segment_mean"))
        return mo_segment_mean(t, x, segments_to_offsets(g, op));
    if (!strcmp(op, "sum_axis0"))
        return mo_sum(t, x, MO_AXIS(0), MO_DROP_AXES);
    if (!strcmp(op, "mean_all"))
        return mo_mean(t, x, MO_ALL, MO_DROP_AXES);
    if (!strcmp(op, "row_times_col"))
        return mo_mul(t, mo_slice(t, x, MO_AXIS(1), 0, 1), mo_slice(t, x, MO_AXIS(0), 0, 1));
    if (!strcmp(op, "transpose"))
        return mo_transpose(t, x);
    return NULL;
}

static void check(golden *g, const char *op) {
    mo_tensor *x = golden_leaf(g, op, "x"), *y = apply(g, op, x);
    if (!y) {
        g->skipped++;
        return;
    }
    mo_tensor *G = golden_data(g, op, "G"), *v = golden_data(g, op, "v"), *grad, *Hv;
    golden_compare(g, op, "y", y);
    mo_grad(g->t, &y, &G, 1, &x, &grad, 1, MO_CREATE_GRAPH);
    golden_compare(g, op, "grad_x", grad);
    mo_grad(g->t, &grad, &v, 1, &x, &Hv, 1, MO_ALLOW_UNUSED); /* zeros if the op is linear */
    golden_compare(g, op, "Hv", Hv);
}

void golden_ops(golden *g) {
    golden_each_case(g, check);
}

static void check_matmul(golden *g, const char *test) {
    mo_tensor *xs[] = {golden_leaf(g, test, "A"), golden_leaf(g, test, "B")};
    mo_tensor *A = test[0] == 't' ? mo_transpose(g->t, xs[0]) : xs[0];
    mo_tensor *B = test[1] == 't' ? mo_transpose(g->t, xs[1]) : xs[1];
    mo_tensor *C = mo_matmul(g->t, A, B);
    golden_compare(g, test, "C", C);
    golden_gradients(g, test, C, xs, (const char *const[]){"grad_A", "grad_B"}, 2);
}

void golden_batched_matmul(golden *g) {
    golden_each_case(g, check_matmul);
}

static void check_xent(golden *g, const char *test) {
    mo_tensor *x = golden_leaf(g, test, "logits"), *y = golden_data(g, test, "y"), *v = golden_data(g, test, "v"),
              *grad, *Hv;
    mo_tensor *loss = mo_softmax_cross_entropy(g->t, x, y, golden_number(g, test, "smoothing", 0));
    golden_compare(g, test, "loss", loss);
    golden_compare(g, test, "log_softmax", mo_log_softmax(g->t, x, MO_AXIS(-1)));
    mo_grad(g->t, &loss, NULL, 1, &x, &grad, 1, MO_CREATE_GRAPH);
    golden_compare(g, test, "grad_logits", grad);
    mo_grad(g->t, &grad, &v, 1, &x, &Hv, 1, MO_ALLOW_UNUSED); /* zeros if the op is linear */
    golden_compare(g, test, "Hv", Hv);
}

void golden_xent(golden *g) {
    golden_each_case(g, check_xent);
}
