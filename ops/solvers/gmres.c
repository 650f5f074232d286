/* ops/solvers/gmres.c - A x = b for any regular A, by products with A alone (Saad and Schultz 1986).
 *
 * From r = b - A x, beta = |r|, an orthonormal basis V of the Krylov space is built by modified Gram-Schmidt,
 *     A V_j = V_(j+1) H_j,   x += V_j y,   y = argmin |beta e_1 - H_j y|,
 * where Givens rotations keep H_j triangular; the last entry of the rotated right-hand side is the residual. After
 * `restart` products the basis is dropped and the next cycle starts from the new x. Items of a batch share the
 * products; H, the rotations and the number of completed steps belong to each item and are kept on the host in
 * float64. */
#include "ops/solvers/krylov.h"
#include "tensor/objects.h"

#include <math.h>
#include <string.h>

enum { MOST_PRODUCTS = 10000 };

/* One cycle. Arrays on the host hold the entries of item 0, then of item 1, and so on. */
typedef struct cycle {
    mo_tape *t;
    mo_krylov *k;
    int64_t items;
    int m, steps;    /* m: limit of products in the cycle; steps: number of products done */
    mo_tensor **V;   /* [m + 1] */
    mo_tensor *like; /* a tensor of the shape [batch .., 1 ..] */
    double *H;       /* [items, m, m + 1]: columns of H, triangular once rotated */
    double *c, *s;   /* [items, m] rotations */
    double *g;       /* [items, m + 1] right-hand side */
    double *goal;    /* [items] the residual norm at which an item is done */
    double *column;  /* [items]: workspace, one number for each item */
    int *done;       /* [items] steps taken when the item was done; -1: still running */
} cycle;

static double *H_column(const cycle *y, int64_t item, int j) {
    return y->H + (item * y->m + j) * (y->m + 1);
}

/* ---- one item on the host ---- */

/* Rotates column j of H to triangular form. If the residual is then small or not finite, the item is done. */
static void rotate(cycle *y, int64_t item, int j) {
    double *h = H_column(y, item, j), *c = y->c + item * y->m, *s = y->s + item * y->m, *g = y->g + item * (y->m + 1);
    for (int i = 0; i < j; i++) {
        double upper = c[i] * h[i] + s[i] * h[i + 1];
        h[i + 1] = c[i] * h[i + 1] - s[i] * h[i];
        h[i] = upper;
    }
    double length = hypot(h[j], h[j + 1]);
    c[j] = length > 0 ? h[j] / length : 1;
    s[j] = length > 0 ? h[j + 1] / length : 0;
    h[j] = length;
    g[j + 1] = -s[j] * g[j];
    g[j] = c[j] * g[j];
    if (fabs(g[j + 1]) <= y->goal[item] || !isfinite(g[j + 1]))
        y->done[item] = j + 1;
}

/* Solves H y = g by back substitution and writes y over g. */
static void back_substitute(cycle *y, int64_t item) {
    double *g = y->g + item * (y->m + 1);
    int n = y->done[item] < 0 ? y->steps : y->done[item];
    for (int i = n - 1; i >= 0; i--) {
        for (int j = i + 1; j < n; j++)
            g[i] -= H_column(y, item, j)[i] * g[j];
        double pivot = H_column(y, item, i)[i];
        g[i] = pivot > 0 ? g[i] / pivot : 0; /* pivot 0: A is singular, and this direction cannot help */
    }
    for (int i = n; i <= y->m; i++)
        g[i] = 0;
}

/* ---- all items together ---- */

/* V_(j+1) := A V_j, made orthogonal to V_0 .. V_j and of unit length; also writes column j of every item's H. */
static void arnoldi(cycle *y, int j) {
    mo_tape *t = y->t;
    mo_scope scope = mo_scope_open(t);
    mo_tensor *w = y->k->apply(t, y->V[j], y->k->state);
    for (int i = 0; i <= j + 1; i++) {
        mo_tensor *square = mo_item_dot(t, w, i <= j ? y->V[i] : w, y->k->batch_axes);
        mo_tensor *h = i <= j ? square : mo_sqrt(t, square);
        mo_item_read(y->t, h, y->column);
        for (int64_t item = 0; item < y->items; item++)
            H_column(y, item, j)[i] = y->column[item];
        w = i <= j ? mo_sub(t, w, mo_mul(t, h, y->V[i])) : mo_div_or_zero(t, w, h);
    }
    y->V[j + 1] = w;
    mo_scope_close(t, &scope, &y->V[j + 1], 1);
}

static mo_tensor *add_combination(cycle *y, mo_tensor *x) {
    for (int j = 0; j < y->steps; j++) {
        for (int64_t item = 0; item < y->items; item++)
            y->column[item] = y->g[item * (y->m + 1) + j];
        x = mo_add(y->t, x, mo_mul(y->t, mo_item_write(y->t, y->like, y->column), y->V[j]));
    }
    return x;
}

static bool running(const cycle *y) {
    for (int64_t item = 0; item < y->items; item++)
        if (y->done[item] < 0)
            return true;
    return false;
}

/* Starts a cycle from the residual r: its norms, the first basis vector, and which items are done already. */
static void start_cycle(cycle *y, mo_tensor *r) {
    y->like = mo_sqrt(y->t, mo_item_dot(y->t, r, r, y->k->batch_axes));
    y->V[0] = mo_div_or_zero(y->t, r, y->like);
    mo_item_read(y->t, y->like, y->column);
    for (int64_t item = 0; item < y->items; item++) {
        memset(y->g + item * (y->m + 1), 0, (size_t)(y->m + 1) * sizeof *y->g);
        y->g[item * (y->m + 1)] = y->column[item];
        y->done[item] = y->column[item] <= y->goal[item] || !isfinite(y->column[item]) ? 0 : -1;
    }
    y->steps = 0;
}

/* Runs one cycle from x; returns the new x. */
static mo_tensor *run_cycle(cycle *y, mo_tensor *b, mo_tensor *x) {
    mo_krylov *k = y->k;
    mo_tensor *r = mo_sub(y->t, b, k->apply(y->t, x, k->state));
    start_cycle(y, r);
    while (running(y) && y->steps < y->m && k->iterations < k->limit && mo_ok(mo_tape_context(y->t))) {
        arnoldi(y, y->steps);
        for (int64_t item = 0; item < y->items; item++)
            if (y->done[item] < 0)
                rotate(y, item, y->steps);
        y->steps++;
        k->iterations++;
    }
    for (int64_t item = 0; item < y->items; item++)
        back_substitute(y, item);
    return add_combination(y, x);
}

/* Divides a block of memory among the arrays on the host. */
static void divide_block(cycle *y, double *block) {
    int64_t n = y->items, m = y->m;
    double **part[] = {&y->H, &y->c, &y->s, &y->g, &y->goal, &y->column};
    int64_t size[] = {n * m * (m + 1), n * m, n * m, n * (m + 1), n, n};
    for (int i = 0; i < 6; i++) {
        *part[i] = block;
        block += size[i];
    }
    y->V = (mo_tensor **)block;
    y->done = (int *)(y->V + m + 1);
}

static mo_tensor *run_cycles(cycle *y, mo_tensor *b, mo_tensor *x) {
    mo_krylov *k = y->k;
    mo_scope scope = mo_scope_open(y->t);
    mo_item_read(y->t, mo_sqrt(y->t, mo_item_dot(y->t, b, b, k->batch_axes)), y->goal);
    for (int64_t item = 0; item < y->items; item++)
        y->goal[item] *= k->tolerance;
    for (bool more = true; more && mo_ok(mo_tape_context(y->t));) {
        x = run_cycle(y, b, x);
        more = y->steps == y->m && k->iterations < k->limit;
        mo_scope_close(y->t, &scope, &x, 1);
    }
    return x;
}

mo_tensor *mo_krylov_gmres(mo_tape *t, mo_krylov *k, mo_tensor *b) {
    mo_context *ctx = mo_tape_context(t);
    mo_tensor *x = mo_scale(t, b, 0, 0);
    if (mo_ok(ctx) && (k->restart < 1 || k->restart > MOST_PRODUCTS))
        mo_fail(ctx, MO_INVALID, "gmres: restart after %d products, expected 1 to %d, or 0 for 30", k->restart,
            MOST_PRODUCTS);
    if (!mo_ok(ctx))
        return mo_null_tensor(ctx);
    cycle y = {.t = t, .k = k, .items = mo_item_count(b, k->batch_axes), .m = k->restart};
    size_t each = (size_t)y.m * (size_t)(y.m + 1) + 3 * (size_t)y.m + 4;
    size_t bytes = ((size_t)y.items * each + (size_t)y.m + 1) * sizeof(double);
    double *block = mo_host_alloc(ctx, bytes);
    k->iterations = 0;
    if (block) {
        divide_block(&y, block);
        x = run_cycles(&y, b, x);
    }
    mo_host_free(ctx, block, block ? bytes : 0);
    mo_krylov_measure(t, k, b, x);
    return x;
}
