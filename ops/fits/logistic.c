/* ops/fits/logistic.c - multinomial logistic regression, solved by Newton's method, batched.
 *
 * X [.., n, d], Y [.., n, C], lambda [] or [..] -> W [.., d, C], or [.., d + 1, C] with a free intercept as last row:
 *     W = argmin sum_i -<Y_i, log softmax(Phi W)_i> + ½ lambda |W|^2,   Phi = X, or [X | 1],
 * where an intercept is not penalised. float32 or float64. Rows of Y are labels (one-hot), or any weights >= 0; row i
 * has the weight T_i = sum_c Y_ic. If the penalty leaves W undetermined (lambda = 0, the intercept), W has class sums
 * of zero. tensor/cpu/fits/logistic.c solves to the level of rounding, in float64 to a gradient norm below 1e-8. If n
 * <= d and lambda > 0, it solves a problem with n columns. Errors: sizes; lambda below 0; a class without support if
 * the intercept is free or lambda = 0, and separable rows with lambda = 0 (then the optimum is at infinity). Saved:
 * `kept` of tensor/fits.h.
 *
 * The gradient vanishes at W: Phi^T R + mu W = 0 with R = T P - Y, P = softmax(Phi W), T = Y 1, mu = lambda (0 on the
 * intercept). With S[Q]_i = T_i (P_i o Q_i - P_i <P_i, Q_i>) (o: entry by entry), the Hessian
 * H[V] = Phi^T S[Phi V] + mu V, and W_0 for W without the intercept, its differential is
 *     H[dW] + dPhi^T R + Phi^T S[dPhi W] + Phi^T (dT P - dY) + dlambda W_0 = 0.
 * With U = H^-1 W_bar (logistic_solve.c) and E = Phi U, <W_bar, dW> = -<U, the other terms>, hence
 *     X_bar = -(R U_0^T + S[E] W_0^T),   Y_bar = E - <P, E> 1^T,   lambda_bar = -<U_0, W_0>.
 * This is the implicit function theorem (Krantz and Parks 2002; Bengio 2000 for hyper-parameters).
 *
 * mo_logistic computes in float64 where float32 would hide the fit (mo_fit_needs_float64). */
#include "autograd/tape.h"
#include "ops/fits/fits.h"
#include "ops/rules/shapes.h"
#include "tensor/library.h"

#include <string.h>

bool mo_fit_shape(mo_call *c, const char *what, int64_t height) {
    const mo_tensor *X = c->in[0], *Y = c->in[1], *lambda = c->in[2];
    int leading = X->ndim - 2;
    size_t batch = (size_t)(leading > 0 ? leading : 0) * sizeof *X->shape;
    int64_t size[MO_MAX_AXES];
    if (!mo_call_real(c, 0, c->n_in - 1))
        return false;
    if (leading < 0 || Y->ndim != X->ndim || memcmp(X->shape, Y->shape, batch + sizeof *X->shape) != 0)
        return mo_call_fail(c, MO_INVALID, "expected %s and labels [.., n, C] with equal leading axes", what);
    if (mo_numel(Y) == 0 || X->shape[leading + 1] == 0)
        return mo_call_fail(c, MO_INVALID, "expected a row, a column and a class at least");
    if (lambda->ndim && (lambda->ndim != leading || memcmp(X->shape, lambda->shape, batch) != 0))
        return mo_call_fail(c, MO_INVALID, "expected lambda as a scalar or with the leading axes of the labels");
    memcpy(size, Y->shape, sizeof size);
    size[leading] = height;
    return mo_call_output(c, 0, X->dtype, X->ndim, size);
}

static bool logistic_shape(mo_call *c) {
    const fit_options *o = c->attributes;
    return mo_fit_shape(c, "rows [.., n, d]", c->in[0]->ndim ? mo_dim(c->in[0], -1) + o->free_intercept : 0);
}

/* Three inputs -> the weights and what another fit may start from; with a start -> the logits of all rows. */
static bool logistic_start_shape(mo_call *c) {
    const fit_options *o = c->attributes;
    const mo_tensor *X = c->in[0], *start = c->n_in == 4 ? c->in[3] : NULL;
    if (!logistic_shape(c))
        return false;
    int64_t kept[2];
    mo_logistic_kept_shape(
        X, mo_dim(c->in[1], -1), mo_logistic_has_few_rows(c->t, c->in[0], c->in[2]), o->free_intercept, kept);
    if (start &&
        (start->ndim != 2 || start->shape[1] != kept[1] || (start->shape[0] != 1 && start->shape[0] != kept[0])))
        return mo_call_fail(c, MO_INVALID, "expected the start of a fit of the same rows and lambda");
    if (start)
        return mo_call_output(c, 0, X->dtype, X->ndim, c->in[1]->shape) && mo_call_output(c, 1, X->dtype, 0, NULL);
    return mo_call_output(c, 1, X->dtype, 2, kept);
}

/* Raises if a row has negative weight, or if a class has no weight although its logit is not penalised. Returns whether
 * all is well. */
static bool check_support(mo_call *c, mo_tensor *Y, bool penalised) {
    mo_tape *t = c->t;
    mo_tensor *weight = mo_class_sum(t, Y);
    if (mo_item(mo_max(t, mo_neg(t, weight), MO_ALL, MO_DROP_AXES)) > 0)
        return mo_call_fail(c, MO_INVALID, "a row of the labels sums to less than 0");
    if (penalised || mo_dim(Y, -1) == 1)
        return mo_ok(c->ctx);
    mo_tensor *support = mo_sum(t, Y, MO_AXIS(-2), MO_DROP_AXES);
    support = mo_reshape(t, support, 2, (int64_t[]){-1, mo_dim(Y, -1)}); /* [B, C] */
    for (int64_t i = 0; mo_item(mo_max(t, mo_neg(t, support), MO_ALL, MO_DROP_AXES)) >= 0 && i < mo_numel(support);
         i++) {
        int64_t b = i / mo_dim(support, 1), k = i % mo_dim(support, 1);
        if (mo_item(mo_slice(t, mo_slice(t, support, MO_AXIS(0), b, b + 1), MO_AXIS(1), k, k + 1)) <= 0)
            return mo_call_fail(c, MO_NUMERICAL,
                "class %lld of item %lld has no support: its intercept is not penalised, the optimum is at infinity",
                (long long)k, (long long)b);
    }
    return mo_ok(c->ctx);
}

static double least(mo_tape *t, mo_tensor *lambda) {
    return -mo_item(mo_max(t, mo_neg(t, mo_stop_gradient(t, lambda)), MO_ALL, MO_DROP_AXES));
}

static bool check_lambda(mo_call *c, double least) {
    if (mo_ok(c->ctx) && !(least >= 0))
        return mo_call_fail(c, MO_INVALID, "lambda %g, expected 0 or above", least);
    return mo_ok(c->ctx);
}

bool mo_fit_needs_float64(mo_tape *t, mo_tensor *X, mo_tensor *lambda) {
    if (mo_tensor_dtype(X) != MO_F32)
        return false;
    mo_tensor *squares = mo_sum(t, mo_square(t, mo_stop_gradient(t, X)), MO_AXIS(-1), MO_DROP_AXES);
    return mo_item(mo_max(t, squares, MO_ALL, MO_DROP_AXES)) > 1e3 * least(t, lambda);
}

bool mo_logistic_has_few_rows(mo_tape *t, mo_tensor *X, mo_tensor *lambda) {
    return mo_dim(X, -2) <= mo_dim(X, -1) && least(t, lambda) > 0;
}

mo_tensor *mo_class_sum(mo_tape *t, mo_tensor *X) {
    return mo_sum(t, X, MO_AXIS(-1), MO_KEEP_AXES);
}

void mo_logistic_kept_shape(const mo_tensor *X, int64_t C, bool few_rows, bool free_intercept, int64_t shape[2]) {
    shape[0] = mo_numel(X) / (mo_dim(X, -2) * mo_dim(X, -1));
    shape[1] = mo_logistic_kept_size(mo_dim(X, -2), mo_dim(X, -1), C, few_rows, free_intercept);
}

bool mo_check_fits(mo_call *c, mo_tensor *code) {
    static const char *const what[] = {[MO_FIT_UNSOLVED] = "item %lld has not converged",
        [MO_FIT_INFINITE] =
            "the classes of item %lld are separable: with lambda 0 the optimum is at infinity; take lambda above 0",
        [MO_FIT_NOT_FINITE] = "rows, labels or lambda of item %lld hold a value that is not finite"};
    mo_tape *t = c->t;
    int64_t item = 0;
    if (!(mo_item(mo_max(t, code, MO_ALL, MO_DROP_AXES)) > 0))
        return mo_ok(c->ctx);
    while (!(mo_item(mo_slice(t, code, MO_AXIS(0), item, item + 1)) > 0))
        item++;
    return mo_call_fail(
        c, MO_NUMERICAL, what[(int)mo_item(mo_slice(t, code, MO_AXIS(0), item, item + 1))], (long long)item);
}

static void logistic_forward(mo_call *c) {
    mo_tape *t = c->t;
    const fit_options *o = c->attributes;
    mo_tensor *X = c->in[0], *kept = c->n_out == 2 ? c->out[1] : NULL, *code;
    bool recording = t->recording, saves = recording && c->n_out == 1;
    mo_logistic_call g = {.free_intercept = o->free_intercept};
    t->recording = false; /* the checks are not part of the graph */
    double lambda = least(t, c->in[2]);
    bool fine = check_lambda(c, lambda) && check_support(c, c->in[1], !o->free_intercept && lambda > 0);
    g.few_rows = mo_logistic_has_few_rows(t, X, c->in[2]);
    g.X = mo_batch_view(mo_call_dense(c, 0), 2);
    g.Y = mo_batch_view(mo_call_dense(c, 1), 2);
    g.lambda = mo_batch_view(mo_call_dense(c, 2), 0);
    g.W = mo_batch_view(mo_tensor_view(c->out[0]), 2);
    code = mo_call_temporary(c, X->dtype, 1, g.X.shape);
    g.code = mo_tensor_view(code);
    if (saves) {
        int64_t size[2];
        mo_logistic_kept_shape(X, mo_dim(c->in[1], -1), g.few_rows, g.free_intercept, size);
        kept = mo_call_temporary(c, X->dtype, 2, size);
    }
    g.factored = c->n_in == 4;
    if (g.factored)
        g.kept = mo_call_dense(c, 3);
    else if (kept)
        g.kept = mo_tensor_view(kept);
    if (fine && mo_ok(c->ctx)) {
        mo_fit_logistic(c->ctx, &g);
        mo_check_fits(c, code);
    }
    t->recording = recording;
    if (saves)
        mo_call_save(c, kept);
}

static mo_tensor *matrix_sum(mo_tape *t, mo_tensor *A, mo_tensor *B) { /* <A, B>, [..] */
    return mo_sum(t, mo_mul(t, A, B), MO_AXES(mo_ndim(A) - 2, mo_ndim(A) - 1), MO_DROP_AXES);
}

static void logistic_vjp(mo_vjp *v) {
    mo_tape *t = v->t;
    mo_tensor *X = v->in[0], *Y = v->in[1], *lambda = v->in[2], *W = v->out[0];
    bool free_intercept = ((const fit_options *)v->attributes)->free_intercept;
    int rows = mo_ndim(X) - 2;
    mo_tensor *Phi = free_intercept ? mo_append_ones(t, X) : X, *F = mo_matmul(t, Phi, W), *T = mo_class_sum(t, Y);
    mo_tensor *const system[] = {X, F, T, lambda, v->out_bar[0]};
    mo_tensor *U = mo_logistic_solve(t, system, v->saved[0], free_intercept), *E = mo_matmul(t, Phi, U);
    mo_tensor *U0 = mo_slice(t, U, MO_AXIS(rows), 0, mo_dim(X, -1)),
              *W0 = mo_slice(t, W, MO_AXIS(rows), 0, mo_dim(X, -1));
    mo_tensor *P = mo_softmax(t, F, MO_AXIS(-1)), *PE = mo_class_sum(t, mo_mul(t, P, E)), *TP = mo_mul(t, T, P);
    if (v->needs[0]) { /* S[E] = T P o (E - <P, E>) */
        mo_tensor *R = mo_sub(t, TP, Y), *SE = mo_mul(t, TP, mo_sub(t, E, PE));
        mo_tensor *RU = mo_matmul(t, R, mo_transpose(t, U0)), *SEW = mo_matmul(t, SE, mo_transpose(t, W0));
        v->in_bar[0] = mo_neg(t, mo_add(t, RU, SEW));
    }
    if (v->needs[1])
        v->in_bar[1] = mo_sub(t, E, PE);
    if (v->needs[2])
        v->in_bar[2] = mo_neg(t, mo_sum_to(t, matrix_sum(t, U0, W0), lambda->ndim, lambda->shape));
}

static double logistic_flops(
    const mo_call *c) { /* FLOPs of one product with the Hessian; how many products a fit takes depends on the data */
    double n = (double)mo_dim(c->in[0], -2), d = (double)mo_dim(c->in[0], -1), k = n < d ? n : d;
    return 4 * (double)mo_numel(c->in[1]) * k;
}

static const fit_options penalised = {false}, with_intercept = {true};

static const mo_sample logistic_samples[] = {
    {"more rows than columns", "[7, 3] positive[7, 3] positive[]", &penalised},
    {"fewer rows than columns", "[3, 5] positive[3, 2] positive[]", &penalised},
    {"intercept, more rows than columns, batch", "[2, 6, 3] positive[2, 6, 2] positive[2]", &with_intercept},
    {"intercept, fewer rows than columns, two batch axes", "[2, 1, 3, 4] positive[2, 1, 3, 3] positive[]",
        &with_intercept},
    {"one row", "[1, 4] positive[1, 2] positive[]", &penalised},
    {"one class", "[3, 2] positive[3, 1] positive[]", &with_intercept},
    {"rows", "[7, 3] positive[6, 3] positive[]", &penalised,
        .error = "logistic: expected rows [.., n, d] and labels [.., n, C] with equal leading axes; got [7, 3]"},
    {"no rows", "[0, 3] positive[0, 3] positive[]", &penalised,
        .error = "logistic: expected a row, a column and a class at least"},
    {"lambda of another shape", "[7, 3] positive[7, 3] positive[3]", &penalised,
        .error = "logistic: expected lambda as a scalar"},
};

const mo_op mo_op_logistic = {
    .name = "logistic",
    .n_in = 3,
    .attributes_size = sizeof(fit_options),
    .reads_in = 7,
    .reads_out = 1,
    .shape = logistic_shape,
    .forward = logistic_forward,
    .vjp = logistic_vjp,
    .flops = logistic_flops,
    MO_SAMPLES(logistic_samples),
};

/* Not in the registry: its results are those of the op logistic, and have no derivative. */
static const mo_op mo_op_logistic_start = {
    .name = "logistic",
    .n_in = 3,
    .max_in = 4,
    .n_out = 2,
    .attributes_size = sizeof(fit_options),
    .shape = logistic_start_shape,
    .forward = logistic_forward,
};

/* Converts in = X, Y and lambda to float64 if there are few rows and float32 would hide the fit. */
static void widen(mo_tape *t, mo_tensor *in[3]) {
    mo_context *ctx = mo_tape_context(t);
    bool valid = mo_ok(ctx) && mo_tensor_dtype(in[0]) == MO_F32 && mo_ndim(in[0]) >= 2 && mo_numel(in[0]) > 0 &&
                 mo_numel(in[2]) > 0;
    if (valid && mo_logistic_has_few_rows(t, in[0], in[2]) && mo_fit_needs_float64(t, in[0], in[2]))
        for (int i = 0; i < 3; i++)
            in[i] = mo_cast(t, in[i], MO_F64);
}

mo_tensor *mo_logistic(mo_tape *t, mo_tensor *X, mo_tensor *Y, mo_tensor *lambda, mo_intercept intercept) {
    const fit_options o = {intercept == MO_INTERCEPT_FREE};
    mo_tensor *in[] = {X, Y, lambda};
    widen(t, in);
    return mo_cast(t, mo_apply(t, &mo_op_logistic, in, 3, &o), mo_tensor_dtype(X));
}

/* Runs mo_op_logistic_start; returns output 0. */
static mo_tensor *apply_start(mo_tape *t, mo_tensor *in[4], int n, mo_intercept intercept, mo_tensor **start) {
    const fit_options o = {intercept == MO_INTERCEPT_FREE};
    mo_dtype real = mo_tensor_dtype(in[0]);
    mo_tensor *out[2];
    widen(t, in);
    for (int i = 0; i < 3; i++)
        in[i] = mo_stop_gradient(t, in[i]);
    bool fitted = mo_apply_all(t, &mo_op_logistic_start, in, n, &o, out) == MO_OK;
    if (start)
        *start = fitted ? out[1] : mo_null_tensor(mo_tape_context(t));
    return fitted ? mo_cast(t, out[0], real) : mo_null_tensor(mo_tape_context(t));
}

mo_tensor *mo_logistic_start(
    mo_tape *t, mo_tensor *X, mo_tensor *Y, mo_tensor *lambda, mo_intercept intercept, mo_tensor **start) {
    return apply_start(t, (mo_tensor *[]){X, Y, lambda, NULL}, 3, intercept, start);
}

mo_tensor *mo_logistic_without(
    mo_tape *t, mo_tensor *X, mo_tensor *Y, mo_tensor *lambda, mo_intercept intercept, mo_tensor *start) {
    return apply_start(t, (mo_tensor *[]){X, Y, lambda, start}, 4, intercept, NULL);
}
