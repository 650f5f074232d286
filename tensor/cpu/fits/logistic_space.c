/* tensor/cpu/fits/logistic_space.c - coordinates, products and conjugate gradients of logistic.h.
 *
 * The factor of the dual: with A = K + Lambda and Lambda = lambda / (kappa D),
 *     G = D^-1 - D^-1 lambda / kappa A^-1 D^-1.
 * For a free intercept, with u = A^-1 1, A^-1 becomes A^-1 - u u^T / 1^T u. */
#include "tensor/cpu/fits/logistic.h"
#include "tensor/cpu/matrices.h"
#include "tensor/scalar.h"

#include <math.h>
#include <stdatomic.h>

/* ---- the inverse of a symmetric positive definite matrix, for preconditioners that are applied many times ---- */

/* Replaces the lower triangle of A [n, n], with rows `row` apart, by the lower triangle of A^-1; overwrites the upper
 * triangle. scratch: n n / 2 numbers. Returns false if A is not positive definite. With A = [A1 B^T; B A2], H = B A1^-1
 * and the complement S = A2 - H B^T, also positive definite,
 *     A^-1 = [A1^-1 + H^T S^-1 H, -H^T S^-1; -S^-1 H, S^-1].
 * Except for small blocks all work is products, which run at twice the rate of LAPACK's inverse from a factor (448
 * rows: 1.3 ms instead of 2.3). */
static bool inverse_spd(real *A, int64_t n, int64_t row, real *scratch) {
    int size = (int)n, ld = (int)row, info = 0;
    if (n <= SMALL_MATRIX) {
        lapack_potrf("U", &size, A, &ld, &info);
        if (info == 0)
            lapack_potri("U", &size, A, &ld, &info);
        return info == 0;
    }
    int64_t m = n / 2, rest = n - m;
    real *B = A + m * row, *A2 = B + m, *H = scratch;
    blasint half = (blasint)m, other = (blasint)rest;
    if (!inverse_spd(A, m, row, scratch))
        return false;
    blas_symm(CblasRowMajor, CblasRight, CblasLower, other, half, 1, A, ld, B, ld, 0, H, half);
    blas_gemm(CblasRowMajor, CblasNoTrans, CblasTrans, other, other, half, -1, H, half, B, ld, 1, A2, ld);
    if (!inverse_spd(A2, rest, row, scratch + rest * m))
        return false;
    blas_symm(CblasRowMajor, CblasLeft, CblasLower, other, half, -1, A2, ld, H, half, 0, B, ld);
    blas_gemm(CblasRowMajor, CblasTrans, CblasNoTrans, half, half, other, -1, H, half, B, ld, 1, A, ld);
    return true;
}

/* ---- the space ---- */

enum { BLOCK = 64, ATTEMPTS = 8, APART = 16, HIDDEN = 256 };

int64_t logistic_layout(logistic_space *s, const mo_view *X, logistic_fit *fits, int count, real *scratch) {
    int64_t at = 0, n = X->shape[1];
    s->n = n;
    s->d = X->shape[2];
    s->m = s->d + s->free_intercept;
    s->row = panels_row(n);
    s->order = s->dual ? n : s->m;
    s->width = s->dual ? s->row : panels_row(s->m);
    s->logits = (panels){NULL, s->order, n, s->threads};
    s->pull = (panels){NULL, n, s->m, s->threads};
    int64_t wide = count * s->C * max_of(s->row, s->width);
    real **arrays[] = {&s->T, &s->D, &s->factor, &s->K, &s->sums, &s->Phi, &s->logits.numbers, &s->pull.numbers,
        &s->inputs, &s->outputs};
    const int64_t length[] = {s->row, s->row, s->order * s->order, s->dual ? n * n : 0, s->row, s->dual ? 0 : n * s->m,
        max_of(panels_length(s->order, n), s->order * s->order / 2), s->dual ? 0 : panels_length(n, s->m), wide, wide};
    for (size_t i = 0; i < sizeof length / sizeof *length; i++) {
        *arrays[i] = scratch ? scratch + at : NULL;
        at += panels_row(length[i]);
    }
    for (int k = 0; k < count; k++) {
        logistic_fit *f = &fits[k];
        real **vectors[] = {&f->a, &f->x, &f->p, &f->r, &f->F, &f->Fx, &f->Fp, &f->P, &f->fitted};
        for (int i = 0; i < 9; i++) {
            *vectors[i] = scratch ? scratch + at : NULL;
            at += i < 4 ? s->width * s->C : i < 8 ? s->row * s->C : s->row;
        }
    }
    return at;
}

/* ---- preconditioner ---- */

static void set_curvature(logistic_space *s, const real *P, real least) {
    for (int64_t i = 0; i < s->row; i++) {
        real w = 0;
        for (int64_t at = i; at < s->row * s->C; at += s->row)
            w += P[at] * (1 - P[at]) / (real)s->C;
        w = s->T[i] * (w > least ? w : least);
        s->D[i] = i >= s->n ? 0 : w > (real)1e-6 ? w : (real)1e-6; /* above 0 even if T_i is 0 */
    }
}

/* Replaces the lower triangle of A^-1 in s->factor by G (formula above); ratio: lambda / kappa. */
static void finish_factor(logistic_space *s, real ratio) {
    blasint n = (blasint)s->n;
    real *G = s->factor, *u = s->sums;
    if (s->free_intercept) {
        for (int64_t i = 0; i < n; i++)
            s->inputs[i] = 1;
        blas_symv(CblasRowMajor, CblasLower, n, 1, G, n, s->inputs, 1, 0, u, 1);
        blas_syrk(CblasRowMajor, CblasLower, CblasNoTrans, n, 1, -1 / (real)lane_sum_row(u, n), u, 1, 1, G, n);
    }
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < i; j++)
            G[j * n + i] = G[i * n + j] *= -ratio / (s->D[i] * s->D[j]);
        G[i * n + i] = (1 - ratio * G[i * n + i] / s->D[i]) / s->D[i];
    }
}

/* If rows are linearly dependent, K maps some coordinates to zero, and conjugate gradients would neither see nor reduce
 * them: so the size of K's rounding is added to its diagonal. The G_ii of a row that is tiny or zero is the difference
 * of two numbers near 1 / D_i, in which rounding hides K_ii: so more than that rounding is added for such a row. */
static bool factor_rows(logistic_space *s, real ratio) {
    real apart = 0;
    for (int64_t i = 0; i < s->n; i++)
        apart = s->K[i * s->n + i] > apart ? s->K[i * s->n + i] : apart;
    apart *= (real)(APART * EPSILON);
    for (int64_t i = 0; i < s->n; i++) {
        real own = ratio / s->D[i], *to = s->factor + i * s->n;
        memcpy(to, s->K + i * s->n, (size_t)(i + 1) * sizeof(real));
        if (to[i] < (real)(HIDDEN * EPSILON) * own)
            own *= 1 + (real)(HIDDEN / 4 * EPSILON);
        to[i] += own + apart;
    }
    if (!inverse_spd(s->factor, s->n, s->n, s->logits.numbers))
        return false;
    finish_factor(s, ratio);
    return true;
}

/* Fills s->Phi with [X | 1] (or X), each row times the root of its D if `scaled`. */
static void fill_rows(const logistic_space *s, bool scaled) {
    for (int64_t i = 0; i < s->n; i++) {
        real root = scaled ? (real)sqrt((double)s->D[i]) : 1, *to = s->Phi + i * s->m;
        for (int64_t j = 0; j < s->d; j++)
            to[j] = root * s->X[i * s->d + j];
        if (s->free_intercept)
            to[s->d] = root;
    }
}

static bool factor_columns(logistic_space *s, real ratio) {
    int info = 0, m = (int)s->m;
    fill_rows(s, true);
    blas_syrk(CblasRowMajor, CblasLower, CblasTrans, m, (blasint)s->n, 1, s->Phi, m, 0, s->factor, m);
    for (int64_t j = 0; j < s->m; j++)
        s->factor[j * s->m + j] += j < s->d ? ratio : 0;
    lapack_potrf("U", &m, s->factor, &m, &info);
    return info == 0;
}

/* Prepares the products from the factor. */
static void prepare(logistic_space *s) {
    if (s->dual) {
        panels_pack(&s->logits, s->factor, s->n, 1);
        return;
    }
    blasint m = (blasint)s->m;
    fill_rows(s, false);
    blas_trsm(
        CblasRowMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, (blasint)s->n, m, 1, s->factor, m, s->Phi, m);
    panels_pack(&s->logits, s->Phi, 1, s->m);
    panels_pack(&s->pull, s->Phi, s->m, 1);
}

bool logistic_factor(logistic_space *s, const real *P, real least) {
    blasint n = (blasint)s->n, d = (blasint)s->d;
    double trace = 0;
    if (s->dual && s->factorizations == 0)
        blas_syrk(CblasRowMajor, CblasLower, CblasNoTrans, n, d, 1, s->X, d, 0, s->K, n);
    set_curvature(s, P, least);
    for (int64_t i = 0; i < s->n; i++)
        trace += (double)s->D[i] * (dot(s->X + i * s->d, s->X + i * s->d, s->d) + s->free_intercept);
    double smallest = 2 * EPSILON * trace + (double)FLT_MIN, ratio = fmax((double)s->lambda, smallest);
    for (int attempt = 0; attempt < ATTEMPTS; attempt++, ratio = fmax(ratio, smallest *= 16)) {
        s->factorizations++;
        s->kappa = (real)((double)s->lambda / ratio);
        if (s->dual ? factor_rows(s, (real)ratio) : factor_columns(s, (real)ratio)) {
            prepare(s);
            return true;
        }
    }
    return false;
}

void logistic_save(const logistic_space *s, real *saved) {
    memcpy(saved, s->D, (size_t)s->n * sizeof(real));
    saved[s->n] = s->kappa;
    memcpy(saved + s->n + 1, s->factor, (size_t)(s->order * s->order) * sizeof(real));
}

void logistic_load(logistic_space *s, const real *saved) {
    memset(s->D, 0, (size_t)s->row * sizeof(real));
    memcpy(s->D, saved, (size_t)s->n * sizeof(real));
    s->kappa = saved[s->n];
    memcpy(s->factor, saved + s->n + 1, (size_t)(s->order * s->order) * sizeof(real));
    prepare(s);
}

void logistic_leave(const logistic_space *s, real *v, const real *F) {
    if (!s->dual)
        blas_trsm(CblasRowMajor, CblasRight, CblasLower, CblasNoTrans, CblasNonUnit, (blasint)s->C, (blasint)s->m, 1,
            s->factor, (blasint)s->m, v, (blasint)s->width);
    for (int64_t at = 0; at < s->row * s->C && s->dual; at += s->row)
        for (int64_t i = 0; i < s->row; i++)
            v[at + i] = s->kappa * (v[at + i] - s->D[i] * F[at + i]);
}

void logistic_enter(const logistic_space *s, real *v, const real *F) {
    if (s->dual) {
        for (int64_t at = 0; at < s->row * s->C; at += s->row)
            for (int64_t i = 0; i < s->row; i++)
                v[at + i] = v[at + i] / s->kappa + s->D[i] * F[at + i];
        return;
    }
    for (real *x = v; x < v + s->width * s->C; x += s->width)
        for (int64_t j = 0; j < s->m; j++) { /* L^T x */
            real sum = 0;
            for (int64_t i = j; i < s->m; i++)
                sum += s->factor[i * s->m + j] * x[i];
            x[j] = sum;
        }
}

/* In the dual, lambda W_0 = X^T q, and the intercept is what the logits have beyond X W_0. */
void logistic_write_weights(const logistic_space *s, real *v, real *F, real *W) {
    blasint n = (blasint)s->n, d = (blasint)s->d, C = (blasint)s->C, row = (blasint)s->row;
    real *stays = s->outputs, *plain = s->inputs;
    memcpy(stays, v, (size_t)(s->width * C) * sizeof(real));
    logistic_leave(s, stays, F);
    for (int64_t j = 0; j < s->m && !s->dual; j++)
        for (int64_t c = 0; c < C; c++)
            W[j * C + c] = stays[c * s->width + j];
    if (s->dual)
        blas_gemm(CblasRowMajor, CblasTrans, CblasTrans, d, C, n, 1 / s->lambda, s->X, d, stays, row, 0, W, C);
    blas_gemm(CblasRowMajor, CblasTrans, CblasTrans, C, n, d, 1, W, C, s->X, d, 0, plain, row);
    for (int64_t c = 0; c < C; c++) {
        real *own = F + c * row, b = 0;
        for (int64_t i = 0; i < n && s->free_intercept && s->dual; i++)
            b += (own[i] - plain[c * row + i]) / (real)n;
        if (s->free_intercept && s->dual)
            W[d * C + c] = b;
        else if (s->free_intercept)
            b = W[d * C + c];
        for (int64_t i = 0; i < n; i++)
            own[i] = plain[c * row + i] + b;
    }
    if (s->dual) {
        memcpy(v, stays, (size_t)(row * C) * sizeof(real));
        logistic_enter(s, v, F);
    }
}

/* ---- products ---- */

void logistic_product(const logistic_space *s, const real *X, int count, real *Y) {
    panels_product(&s->logits, X, count * s->C, Y);
}

real *logistic_pull(const logistic_space *s, int count) {
    if (s->dual)
        return s->inputs;
    panels_product(&s->pull, s->inputs, count * s->C, s->outputs);
    return s->outputs;
}

double logistic_inner(const logistic_space *s, const real *u, const real *v, const real *Fv) {
    return dot(u, s->dual ? Fv : v, s->width * s->C);
}

/* ---- conjugate gradients ---- */

void logistic_probabilities(const logistic_space *s, const logistic_fit *f, real t) {
    for (int64_t first = 0; first < s->row; first += BLOCK) {
        int64_t rows = min_of(BLOCK, s->row - first);
        real top[BLOCK], sum[BLOCK] = {0};
        for (int64_t i = 0; i < rows; i++)
            top[i] = -(real)INFINITY;
        for (int64_t at = first; at < s->row * s->C; at += s->row)
            for (int64_t i = 0; i < rows; i++) {
                real x = f->F[at + i] + t * f->Fx[at + i];
                top[i] = x > top[i] ? x : top[i];
            }
        for (int64_t at = first; at < s->row * s->C; at += s->row)
            for (int64_t i = 0; i < rows; i++)
                sum[i] += f->P[at + i] = exp_of(f->F[at + i] + t * f->Fx[at + i] - top[i]);
        for (int64_t at = first; at < s->row * s->C; at += s->row)
            for (int64_t i = 0; i < rows; i++)
                f->P[at + i] /= sum[i];
    }
}

double logistic_curve(const logistic_space *s, const logistic_fit *f, const real *F, real *Q) {
    double along = 0;
    for (int64_t first = 0; first < s->row; first += BLOCK) {
        int64_t rows = min_of(BLOCK, s->row - first);
        real mean[BLOCK] = {0}, weight[BLOCK], shift[BLOCK], sum[BLOCK] = {0};
        for (int64_t at = first; at < s->row * s->C; at += s->row)
            for (int64_t i = 0; i < rows; i++)
                mean[i] += f->P[at + i] * F[at + i];
        for (int64_t i = 0; i < rows; i++) {
            weight[i] = f->fitted[first + i] * s->T[first + i];
            shift[i] = s->kappa * s->D[first + i];
        }
        for (int64_t at = first; at < s->row * s->C; at += s->row)
            for (int64_t i = 0; i < rows; i++) {
                real q = weight[i] * f->P[at + i] * (F[at + i] - mean[i]) - shift[i] * F[at + i];
                sum[i] += F[at + i] * q;
                Q[at + i] = q;
            }
        for (int64_t i = 0; i < rows; i++)
            along += (double)sum[i];
    }
    return along;
}

/* Sets the next direction p from the residual r and its logits Fr, and Q = W Fp - kappa D Fp. Returns <p, H p>. */
static double direct(const logistic_space *s, logistic_fit *f, const real *Fr, real *Q) {
    int64_t N = s->width * s->C, rows = s->row * s->C;
    double product = logistic_inner(s, f->r, f->r, Fr);
    if (f->product > 0) {
        real b = (real)(product / f->product);
        next_direction(f->p, b, f->r, N);
        next_direction(f->Fp, b, Fr, rows);
    } else {
        memcpy(f->p, f->r, (size_t)N * sizeof(real));
        memcpy(f->Fp, Fr, (size_t)rows * sizeof(real));
    }
    f->product = product;
    if (f->steps == 0) {
        f->least = product * f->target * f->target / dot(f->r, f->r, N);
    }
    double along = logistic_curve(s, f, f->Fp, Q);
    return along + (double)s->kappa * logistic_inner(s, f->p, f->p, f->Fp);
}

void logistic_centre(const logistic_space *s, real *r) {
    for (int64_t first = 0; first < s->width; first += BLOCK) {
        int64_t width = min_of(BLOCK, s->width - first);
        real mean[BLOCK] = {0};
        for (int64_t at = first; at < s->width * s->C; at += s->width)
            for (int64_t j = 0; j < width; j++)
                mean[j] += r[at + j];
        for (int64_t j = 0; j < width; j++)
            mean[j] /= (real)s->C;
        for (int64_t at = first; at < s->width * s->C; at += s->width)
            for (int64_t j = 0; j < width; j++)
                r[at + j] -= mean[j];
    }
}

/* Takes the step along p. Hp: pull(Q); curvature: <p, H p>. Returns true if the step was the last one. */
static bool step(const logistic_space *s, logistic_fit *f, double curvature, const real *Hp) {
    int64_t N = s->width * s->C;
    if (!(f->product > f->least) || !(curvature > 0))
        return true;
    real a = (real)(f->product / curvature);
    add_scaled(f->x, a, f->p, N);
    add_scaled(f->Fx, a, f->Fp, s->row * s->C);
    for (int64_t i = 0; i < N; i++)
        f->r[i] -= a * (Hp[i] + s->kappa * f->p[i]);
    logistic_centre(s, f->r);
    f->slope -= (double)a * f->product;
    f->steps++;
    f->taken++;
    return sqrt(dot(f->r, f->r, N)) <= f->target || f->steps >= f->limit;
}

/* Fits and the products of each. */
typedef struct cg_step {
    const logistic_space *s;
    logistic_fit *const *f;
    const real *Hp;
    double *curvature;
    bool *there;
} cg_step;

static void direct_some(const void *of, task_range some) {
    const cg_step *c = of;
    int64_t rows = c->s->row * c->s->C;
    for (int64_t k = some.first; k < some.end; k++)
        c->curvature[k] = direct(c->s, c->f[k], c->s->outputs + rows * k, c->s->inputs + rows * k);
}

static void step_some(const void *of, task_range some) {
    const cg_step *c = of;
    int64_t N = c->s->width * c->s->C;
    for (int64_t k = some.first; k < some.end; k++)
        c->there[k] = step(c->s, c->f[k], c->curvature[k], c->Hp + N * k);
}

void logistic_cg_step(const logistic_space *s, logistic_fit *const *f, int count, bool *there) {
    int64_t N = s->width * s->C;
    double curvature[MO_FOLDS_AT_ONCE + 1];
    cg_step c = {.s = s, .f = f, .curvature = curvature, .there = there};
    for (int k = 0; k < count; k++)
        memcpy(s->inputs + N * k, f[k]->r, (size_t)N * sizeof(real));
    logistic_product(s, s->inputs, count, s->outputs);
    run_tasks(s->threads, count, 1, direct_some, &c);
    c.Hp = logistic_pull(s, count);
    run_tasks(s->threads, count, 1, step_some, &c);
}

/* ---- items of a batch ---- */

typedef struct items {
    mo_context *ctx;
    int64_t batch, each; /* each: reals of a workspace */
    int threads;
    logistic_item *item;
    const void *call;
    real *scratch, *codes;
    atomic_int *factorizations, *steps;
} items;

static void run_some(const void *of, task_range some) {
    const items *p = of;
    logistic_counts own = {.ctx = p->ctx};
    for (int64_t b = some.first; b < some.end; b++) {
        real *scratch = p->scratch + p->each * workspace_of(b, p->batch, p->threads, some.thread);
        p->codes[b] = (real)p->item(p->call, 1, scratch, b, &own);
    }
    atomic_fetch_add(p->factorizations, own.factorizations);
    atomic_fetch_add(p->steps, own.steps);
}

void logistic_run_items(mo_context *ctx, int64_t batch, int inside, int64_t each, logistic_item *item, const void *call,
    const mo_view *code) {
    int threads = batch > 1 ? blas_threads(ctx) : 1;
    atomic_int factorizations = 0, steps = 0;
    logistic_counts single = {.ctx = ctx};
    real *scratch = cpu_workspace(ctx, (size_t)(each * workspace_count(batch, threads)) * sizeof(real));
    real *codes = code->data;
    if (!scratch || !can_multiply(ctx, sizeof(real)))
        return;
    if (batch == 1) /* a single item: its products use the threads */
        codes[0] = (real)item(call, inside, scratch, 0, &single);
    else
        run_tasks(threads, batch, 1, run_some,
            &(items){ctx, batch, each, threads, item, call, scratch, codes, &factorizations, &steps});
    ctx->counters.factorizations += factorizations + single.factorizations;
    ctx->counters.fit_steps += steps + single.steps;
}
