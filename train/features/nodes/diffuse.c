/* train/features/nodes/diffuse.c - sums of powers of the adjacency times rows; among them rows diffused over a graph by
 * personalised PageRank (Page et al. 1999; Gasteiger et al. 2019).
 *
 * K rounds of Z <- (1 - a) A Z + a P from Z = P end at
 *     sum_{k < K} a (1 - a)^k A^k P + (1 - a)^K A^K P,
 * so one sequence of powers A^k P serves every restart probability a, and every sum of hops. */
#include "train/features/nodes/diffuse.h"

#include "autograd/tape.h"
#include "ops/inside.h"
#include "ops/rules/in_place.h"
#include "tensor/objects.h"

enum { BLOCK_ROWS = 4096 };

static const struct {
    double restart;
    int rounds;
} diffusion[MO_DIFFUSED] = {{0.15, 12}, {0.05, 24}};

/* sum += c X, in blocks of rows; sum := c X for the first term. */
static void add_term(mo_tape *t, mo_tensor *sum, mo_tensor *X, double c, bool first) {
    for (int64_t i = 0; i < mo_dim(X, 0) && mo_ok(t->ctx); i += BLOCK_ROWS) {
        int64_t mark = t->n_tensors, end = i + BLOCK_ROWS < mo_dim(X, 0) ? i + BLOCK_ROWS : mo_dim(X, 0);
        mo_tensor *rows = mo_slice(t, sum, MO_AXIS(0), i, end),
                  *term = mo_scale(t, mo_slice(t, X, MO_AXIS(0), i, end), c, 0);
        if (!first)
            term = mo_add(t, rows, term);
        if (mo_ok(t->ctx))
            mo_tensor_copy(rows, term);
        mo_tape_sweep(t, mark, NULL, 0);
    }
}

void mo_diffusion_coefficients(int i, double c[MO_POWERS]) {
    double left = 1;
    for (int k = 0; k < MO_POWERS; k++) {
        int rounds = diffusion[i].rounds;
        c[k] = k < rounds ? diffusion[i].restart * left : k == rounds ? left : 0;
        left *= 1 - diffusion[i].restart;
    }
}

void mo_sum_powers(
    mo_tape *t, const mo_csr *A, mo_tensor *P, double c[][MO_POWERS], mo_tensor *const *sum, int n_sums) {
    mo_context *ctx = t->ctx;
    mo_tensor *X = P, *next[2] = {NULL, NULL};
    bool begun[MO_MAX_INPUTS] = {false};
    int most = 0;
    for (int i = 0; i < n_sums; i++)
        for (int k = 0; k < MO_POWERS; k++)
            most = c[i][k] != 0 && k > most ? k : most;
    for (int i = 0; i < 2 && mo_ok(ctx); i++)
        next[i] = mo_tensor_uninitialized(ctx, P->dtype, 2, P->shape);
    for (int k = 0; k <= most && mo_ok(ctx); k++) {
        if (k) {
            mo_view x = mo_tensor_view(X), y = mo_tensor_view(next[k % 2]);
            mo_spmm_into(A, 0, &x, &y);
            X = next[k % 2];
        }
        for (int i = 0; i < n_sums; i++)
            if (c[i][k] != 0) {
                add_term(t, sum[i], X, c[i][k], !begun[i]);
                begun[i] = true;
            }
    }
    mo_tensor_release(next[0]);
    mo_tensor_release(next[1]);
}
