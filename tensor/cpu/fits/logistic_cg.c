/* tensor/cpu/fits/logistic_cg.c - conjugate gradients on the Hessian of a softmax regression (tensor/fits.h): each
 * item of the batch on one thread, its matrix in the cache of that core, its vectors passed over once.
 *
 * With coordinates x, their image G under the metric and their logits F (ops/fits/logistic_system.h), an iteration is
 *     a = <r, G z> / <G p, H p>,  v += a p,  r -= a H p,  z = M r,  p = z + b p,  b = <r, G z> / its last value. */
#include "tensor/cpu/fast/few_columns.h"
#include "tensor/cpu/kernels.h"
#include "tensor/cpu/matrices.h"
#include "tensor/cpu/triangle.h"

#include <string.h>

/* One item. */
typedef struct item {
    const mo_logistic_cg *g;
    int64_t n, columns, rows, classes; /* of Phi: n and columns; of the coordinates: rows */
    const real *Phi, *P, *T, *L, *root, *border;
    real lambda, ridge;
    real *r, *z, *Gz, *Fz, *p, *Gp, *Fp, *Hp, *Q, *work; /* scratch */
    real *x, *F;
} item;

/* Y = A X or A^T X for A [n, columns], with C columns of X. */
static void multiply(const item *s, bool transposed, const real *X, real *Y) {
    few_columns_product(s->Phi, s->n, s->columns, transposed, 1, X, s->classes, Y, s->work);
}

/* Gz and Fz: the metric image and the logits of z. */
static void image(item *s) {
    int64_t nC = s->n * s->classes;
    if (!s->g->dual) {
        s->Gz = s->z;
        multiply(s, false, s->z, s->Fz);
        return;
    }
    multiply(s, false, s->z, s->Gz);
    memcpy(s->Fz, s->Gz, (size_t)nC * sizeof(real));
    if (!s->g->free_intercept)
        return;
    memcpy(s->Gz + nC, s->z + nC, (size_t)s->classes * sizeof(real));
    for (int64_t i = 0; i < s->n; i++)
        for (int64_t c = 0; c < s->classes; c++)
            s->Fz[i * s->classes + c] += s->z[nC + c];
}

/* sum[c] = sum_i X_ic */
static void column_sums(const real *X, int64_t n, int64_t C, real *sum) {
    memset(sum, 0, (size_t)C * sizeof(real));
    for (int64_t i = 0; i < n; i++)
        for (int64_t c = 0; c < C; c++)
            sum[c] += X[i * C + c];
}

static void hessian(item *s) {
    int64_t C = s->classes, kept = s->rows - s->g->free_intercept;
    real *Q = s->g->dual ? s->Hp : s->Q;
    for (int64_t i = 0; i < s->n; i++) {
        const real *P = s->P + i * C, *F = s->Fp + i * C;
        real mean = 0;
        for (int64_t c = 0; c < C; c++)
            mean += P[c] * F[c];
        for (int64_t c = 0; c < C; c++)
            Q[i * C + c] = s->T[i] * P[c] * (F[c] - mean);
    }
    if (!s->g->dual)
        multiply(s, true, Q, s->Hp);
    else if (s->g->free_intercept)
        column_sums(Q, s->n, C, s->Hp + s->n * C);
    add_scaled(s->Hp, s->lambda, s->p, kept * C);
}

static void centre(real *z, int64_t rows, int64_t C) {
    for (int64_t i = 0; i < rows; i++) {
        real mean = 0;
        for (int64_t c = 0; c < C; c++)
            mean += z[i * C + c];
        mean /= (real)C;
        for (int64_t c = 0; c < C; c++)
            z[i * C + c] -= mean;
    }
}

static void scale_rows(real *z, const real *root, bool divide, int64_t n, int64_t C) {
    for (int64_t i = 0; i < n; i++)
        for (int64_t c = 0; c < C; c++)
            z[i * C + c] *= divide ? 1 / root[i] : root[i];
}

/* Solves for the intercept's coordinates b; v -= border b. */
static void solve_intercept(item *s) {
    int64_t n = s->n, C = s->classes;
    real total = 0, *b = s->z + n * C, *sums = s->Q;
    column_sums(s->r, n, C, sums);
    column_sums(s->z, n, C, sums + C);
    for (int64_t i = 0; i < n; i++)
        total += s->border[i];
    for (int64_t c = 0; c < C; c++)
        b[c] = (sums[C + c] - (sums[c] - s->r[n * C + c]) / s->ridge) / total;
    for (int64_t i = 0; i < n; i++)
        for (int64_t c = 0; c < C; c++)
            s->z[i * C + c] -= s->border[i] * b[c];
}

/* z = M r, with class sums of zero. */
static void cg_precondition(item *s) {
    int64_t C = s->classes, size = s->g->dual ? s->n : s->rows;
    memcpy(s->z, s->r, (size_t)(s->rows * C) * sizeof(real));
    if (!s->L)
        return;
    triangle down = {.T = s->L, .n = size, .lower = true},
             up = {.T = s->L, .n = size, .lower = true, .transposed = true};
    if (s->g->dual)
        scale_rows(s->z, s->root, true, s->n, C);
    solve_triangle(&down, s->z, C, C);
    solve_triangle(&up, s->z, C, C);
    if (s->g->dual) {
        scale_rows(s->z, s->root, false, s->n, C);
        if (s->g->free_intercept)
            solve_intercept(s);
    }
    centre(s->z, s->rows, C);
}

/* One iteration; returns true when the item is done. */
static bool cg_iterate(item *s, double eta) {
    int64_t C = s->classes, N = s->rows * C, nC = s->n * C;
    cg_precondition(s);
    image(s);
    double rz = dot(s->r, s->Gz, N), target = eta * eta * rz;
    memcpy(s->p, s->z, (size_t)N * sizeof(real));
    if (s->g->dual)
        memcpy(s->Gp, s->Gz, (size_t)N * sizeof(real));
    memcpy(s->Fp, s->Fz, (size_t)nC * sizeof(real));
    for (int k = 0; k < s->g->limit; k++) {
        if (!(rz > 0))
            return rz == 0;
        hessian(s);
        real a = (real)(rz / dot(s->g->dual ? s->Gp : s->p, s->Hp, N));
        add_scaled(s->x, a, s->p, N);
        add_scaled(s->F, a, s->Fp, nC);
        add_scaled(s->r, -a, s->Hp, N);
        cg_precondition(s);
        image(s);
        double next = dot(s->r, s->Gz, N);
        if (next <= target)
            return true;
        real b = (real)(next / rz);
        next_direction(s->p, b, s->z, N);
        if (s->g->dual)
            next_direction(s->Gp, b, s->Gz, N);
        next_direction(s->Fp, b, s->Fz, nC);
        rz = next;
    }
    return false;
}

static void cg_run(const mo_logistic_cg *g, int64_t b, real *scratch) {
    item s = {.g = g,
        .n = g->Phi.shape[1],
        .columns = g->Phi.shape[2],
        .rows = g->r.shape[1],
        .classes = g->r.shape[2],
        .Phi = entry_of(&g->Phi, b),
        .P = entry_of(&g->P, b),
        .T = entry_of(&g->T, b),
        .L = entry_of(&g->L, b),
        .root = entry_of(&g->root, b),
        .border = entry_of(&g->border, b),
        .lambda = *entry_of(&g->lambda, b),
        .ridge = g->L.data ? *entry_of(&g->ridge, b) : 0};
    int64_t N = s.rows * s.classes, nC = s.n * s.classes;
    real **vectors[] = {&s.r, &s.z, &s.Gz, &s.p, &s.Gp, &s.Hp}, **logits[] = {&s.Fz, &s.Fp, &s.Q};
    for (int i = 0; i < 6; i++, scratch += N)
        *vectors[i] = scratch;
    for (int i = 0; i < 3; i++, scratch += nC + 2 * s.classes)
        *logits[i] = scratch;
    s.work = scratch;
    s.x = (real *)g->x.data + b * N;
    s.F = (real *)g->F.data + b * nC;
    memset(s.x, 0, (size_t)N * sizeof(real));
    memset(s.F, 0, (size_t)nC * sizeof(real));
    memcpy(s.r, entry_of(&g->r, b), (size_t)N * sizeof(real));
    ((real *)g->unsolved.data)[b] = cg_iterate(&s, (double)*entry_of(&g->eta, b)) ? 0 : 1;
}

void REAL(logistic_cg_cpu)(mo_context *ctx, const mo_logistic_cg *g) {
    int64_t batch = g->r.shape[0], C = g->r.shape[2], n = g->Phi.shape[1];
    int64_t vectors = 6 * g->r.shape[1] * C + 3 * (n + 2) * C, work = FEW_COLUMNS * (n + g->Phi.shape[2]);
    int64_t length = ceil_div(vectors + work, 16) * 16;
    int threads = batch > 1 ? blas_threads(ctx) : 1;
    real *scratch = cpu_workspace(ctx, (size_t)(length * batch) * sizeof(real));
    if (!scratch)
        return;
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(dynamic)
    for (int64_t b = 0; b < batch; b++)
        cg_run(g, b, scratch + b * length);
}
