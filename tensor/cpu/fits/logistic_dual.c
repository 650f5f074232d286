/* tensor/cpu/fits/logistic_dual.c - the fits of logistic_folds.c by coordinates of rows.
 *
 * A vector v of coordinates has the logits F_v = K v + b. With curvatures w of the rows, the Hessian takes it to
 * w F_v + lambda v, and with A = K + diag(lambda / w) the inverse of that on r is
 *     v = A^-1 (r / w) - b A^-1 1,   F_v = (r - lambda v) / w,
 * where the intercept b makes the sum of v 0: one product per step, once the curvatures are known. Until the relative
 * gradient is COARSE, the product is with K and no matrix is inverted: v is r without its mean, F_v = K v + b with b =
 * sum r / sum w - mean K v, which with J = 1 1^T / n is the symmetric (I - J) K (I - J) r + (n / sum w) J r. */
#include "tensor/cpu/fits/logistic_dual.h"
#include "tensor/cpu/fits/inverse.h"
#include "tensor/cpu/matrices.h"

#include <math.h>
#include <string.h>

/* Computes the lower triangle of K in s->A, and packs K in panels. */
static bool multiply_rows(logistic_dual *s, const real *X) {
    int64_t n = s->s.n, d = s->s.d;
    if (!isfinite(s->s.lambda) || !all_finite(X, n * d))
        return false;
    s->X = X;
    s->inverted = false;
    blas_syrk(CblasRowMajor, CblasLower, CblasNoTrans, (blasint)n, (blasint)d, 1, X, (blasint)d, 0, s->A, (blasint)n);
    panels_pack_symmetric(&s->matrix, s->A);
    return true;
}

/* Replaces K by A^-1, and computes A^-1 1. */
static bool dual_invert(logistic_dual *s) {
    int64_t n = s->s.n;
    for (int64_t i = 0; i < n; i++)
        s->A[i * n + i] += s->s.lambda / s->s.curvature[i];
    if (!inverse_spd(s->A, n, n, s->matrix.numbers))
        return false;
    for (int64_t i = 0; i < n; i++)
        s->outputs[i] = 1;
    memset(s->border, 0, (size_t)s->s.row * sizeof(real));
    blas_symv(CblasRowMajor, CblasLower, (blasint)n, 1, s->A, (blasint)n, s->outputs, 1, 0, s->border, 1);
    panels_pack_symmetric(&s->matrix, s->A);
    s->inverted = true;
    return true;
}

/* Writes the input of the product to v. */
static void product_input(const logistic_dual *s, const logistic_fit *f, real *v) {
    for (int64_t c = 0; c < s->s.row * s->s.C; c += s->s.row) {
        const real *r = f->r + c;
        real mean = s->s.free_intercept ? (real)(lane_sum_row(r, s->s.n) / (double)s->s.n) : 0;
        for (int64_t i = 0; i < s->s.row; i++)
            v[c + i] = s->inverted ? r[i] / s->s.curvature[i] : i < s->s.n ? r[i] - mean : 0;
    }
}

/* The intercepts that make the sum of v 0, from products Fv. Adding one number to all of them changes no probability,
 * so their sum is set to 0, which keeps rounding from moving them. */
static void find_intercepts(const logistic_dual *s, const logistic_fit *f, const real *Fv) {
    int64_t n = s->s.n, C = s->s.C, row = s->s.row;
    double inverse = 1 / lane_sum_row(s->inverted ? s->border : s->s.curvature, n), mean = 0;
    for (int64_t c = 0; c < C; c++) {
        double sum = lane_sum_row(Fv + c * row, n);
        double b = s->inverted ? sum * inverse : lane_sum_row(f->r + c * row, n) * inverse - sum / (double)n;
        s->intercepts[c] = s->s.free_intercept ? (real)b : 0;
        mean += (double)s->intercepts[c] / (double)C;
    }
    for (int64_t c = 0; c < C; c++)
        s->intercepts[c] -= (real)mean;
}

/* v and F_v, from the input and the output of the product. */
static void dual_precondition(const logistic_dual *s, const logistic_fit *f, real *v, real *Fv) {
    const real *w = s->s.curvature, *border = s->border;
    find_intercepts(s, f, Fv);
    for (int64_t c = 0; c < s->s.C; c++, v += s->s.row, Fv += s->s.row) {
        const real *r = f->r + c * s->s.row;
        real b = s->intercepts[c];
        for (int64_t i = 0; i < s->s.row && s->inverted; i++) {
            v[i] = Fv[i] - b * border[i];
            Fv[i] = (r[i] - s->s.lambda * v[i]) / w[i];
        }
        for (int64_t i = 0; i < s->s.n && !s->inverted; i++)
            Fv[i] += b;
    }
}

static void dual_gradients(const logistic_dual *s, logistic_fit *f, double tolerance) {
    f->tolerance = tolerance;
    logistic_loss_gradient(&s->s, f, f->r);
    logistic_gradient(&s->s, f, f->r, 0);
}

/* Runs these fits to the end. Returns false if one of them does not converge. */
static bool dual_minimise(const logistic_dual *s, logistic_fit *fits, int count) {
    int64_t N = s->s.row * s->s.C;
    for (int round = 0; round < LOGISTIC_ROUNDS; round++) {
        int moving = 0;
        for (int k = 0; k < count; k++)
            if (fits[k].moves)
                product_input(s, &fits[k], s->inputs + N * moving++);
        if (moving == 0)
            return true;
        panels_product(&s->matrix, s->inputs, moving * s->s.C, s->outputs);
        for (int k = 0, at = 0; k < count; k++) {
            logistic_fit *f = &fits[k];
            real *v = s->inputs + N * at, *Fv = s->outputs + N * at;
            if (!f->moves)
                continue;
            at++;
            dual_precondition(s, f, v, Fv);
            logistic_direction(&s->s, f, v, Fv, Fv);
            if (!logistic_step(&s->s, f, Fv))
                continue;
            if (!logistic_line_search(&s->s, f))
                return false;
            dual_gradients(s, f, f->tolerance);
        }
    }
    return false;
}

/* W from the coordinates of the fit of all rows. Returns false if the logits of W differ from those that the steps have
 * added up: the inverse is then not accurate enough. */
static bool take_weights(const logistic_dual *s, const logistic_fit *f, real *W) {
    int64_t n = s->s.n, d = s->s.d, C = s->s.C, row = s->s.row;
    real *Wt = s->inputs, *F = s->outputs;
    double worst = 0, size = 1;
    blas_gemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (blasint)C, (blasint)d, (blasint)n, 1, f->a, (blasint)row,
        s->X, (blasint)d, 0, Wt, (blasint)d);
    blas_gemm(CblasRowMajor, CblasNoTrans, CblasTrans, (blasint)C, (blasint)n, (blasint)d, 1, Wt, (blasint)d, s->X,
        (blasint)d, 0, F, (blasint)row);
    for (int64_t c = 0; c < C; c++) {
        double b = 0;
        for (int64_t i = 0; i < n && s->s.free_intercept; i++)
            b += ((double)f->F[c * row + i] - (double)F[c * row + i]) / (double)n;
        for (int64_t i = 0; i < n; i++) {
            worst = fmax(worst, fabs((double)f->F[c * row + i] - (double)F[c * row + i] - b));
            size = fmax(size, fabs((double)f->F[c * row + i]));
        }
        for (int64_t j = 0; j < d; j++)
            W[j * C + c] = Wt[c * d + j];
        if (s->s.free_intercept)
            W[d * C + c] = (real)b;
    }
    return worst <= (sizeof(real) == sizeof(double) ? 1e-9 : 1e-3) * size;
}

int64_t logistic_dual_layout(logistic_dual *s, const mo_folds_call *g, real *scratch) {
    int64_t n = g->X.shape[1], d = g->X.shape[2], C = g->Y.shape[2], row = panels_row(n), at = 0;
    *s = (logistic_dual){.count = g->folds + 1, .matrix = {NULL, n, n, 1}};
    s->s = (logistic_support){.free_intercept = g->free_intercept,
        .n = n,
        .given = n,
        .d = d,
        .C = C,
        .row = row,
        .width = row,
        .penalised = row};
    int64_t wide = max_of(s->count * row * C, C * d);
    real **shared[] = {&s->A, &s->matrix.numbers, &s->border, &s->intercepts, &s->s.weight, &s->s.curvature, &s->s.Y,
        &s->inputs, &s->outputs};
    int64_t length[] = {n * n, panels_length(n, n), row, C, row, row, row * C, wide, wide};
    for (int i = 0; i < 9; i++) {
        *shared[i] = scratch ? scratch + at : NULL;
        at += panels_row(length[i]);
    }
    return at + logistic_layout(&s->s, s->fits, s->count, scratch ? scratch + at : NULL);
}

bool logistic_dual_run(logistic_dual *s, const mo_folds_call *g, int64_t b) {
    logistic_fit *all = &s->fits[0];
    s->s.lambda = *entry_of(&g->lambda, b);
    logistic_read_labels(&s->s, entry_of(&g->Y, b));
    logistic_set_curvature(&s->s, NULL);
    if (!multiply_rows(s, entry_of(&g->X, b)) || !logistic_start(&s->s, all))
        return false;
    dual_gradients(s, all, COARSE);
    if (!dual_minimise(s, all, 1))
        return false;
    logistic_set_curvature(&s->s, all);
    if (!dual_invert(s))
        return false;
    dual_gradients(s, all, g->tolerance);
    if (!dual_minimise(s, all, 1))
        return false;
    for (int k = 1; k < s->count; k++) {
        if (!logistic_start_fold(&s->s, &s->fits[k], all, k > 1 ? g->stop[k - 2] : 0, g->stop[k - 1]))
            return false;
        dual_gradients(s, &s->fits[k], g->fold_tolerance);
    }
    if (!dual_minimise(s, all + 1, g->folds))
        return false;
    logistic_write_held(&s->s, s->fits, g, b);
    return take_weights(s, all, (real *)g->W.data + b * entry_length(&g->W));
}
