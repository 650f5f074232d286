/* train/features/nodes/diffuse.c - sums of powers of the adjacency times rows; among them rows diffused over a graph by
 * personalised PageRank (Page et al. 1999; Gasteiger et al. 2019).
 *
 * K rounds of Z <- (1 - a) A Z + a P from Z = P end at
 *     sum_{k < K} a (1 - a)^k A^k P + (1 - a)^K A^K P,
 * so one sequence of powers A^k P serves every restart probability a, and every sum of hops.
 *
 * The last powers are saved: on [-1, 1], where the eigenvalues of A lie, T_k / 2^(k-1), Chebyshev's polynomial with the
 * leading coefficient 1, is at most 2^(1-k). Subtracted c_k times, it takes x^k out of a sum (Lanczos 1938). */
#include "train/features/nodes/diffuse.h"

#include "autograd/tape.h"
#include "ops/inside.h"
#include "ops/rules/in_place.h"
#include "tensor/objects.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum {
    BLOCK_ROWS = 4096,
    SLAB = 64, /* columns that pass all powers together, if the nodes are few enough for SLAB_BYTES */
    LINE = 16  /* float32 of a cache line */
};
static const int64_t SLAB_BYTES = (int64_t)1 << 30;

static const struct {
    double restart;
    int rounds;
} diffusion[MO_DIFFUSED] = {{0.15, 12}, {0.05, 24}};

/* sum += c X; sum := c X for the first term. */
static void add_term(mo_tape *t, mo_tensor *sum, mo_tensor *X, double c, bool first) {
    mo_tensor *term = mo_scale(t, X, c, 0);
    if (mo_ok(t->ctx) && first)
        mo_tensor_copy(sum, term);
    else if (mo_ok(t->ctx))
        mo_accumulate_in_place(t, sum, term);
}

void mo_diffusion_coefficients(int i, double c[MO_POWERS]) {
    double left = 1;
    for (int k = 0; k < MO_POWERS; k++) {
        int rounds = diffusion[i].rounds;
        c[k] = k < rounds ? diffusion[i].restart * left : k == rounds ? left : 0;
        left *= 1 - diffusion[i].restart;
    }
}

/* Takes the highest powers out of the polynomial, while what that changes on [-1, 1] is at most `share` of the sum of
 * the coefficients' magnitudes. Coefficient i places of 2 below x^k in T_k / 2^(k-1), from the one above it:
 * times -(k - 2i + 2)(k - 2i + 1) / (4 i (k - i)). */
static void economise(double c[MO_POWERS], double share) {
    double left = 0;
    for (int k = 0; k < MO_POWERS; k++)
        left += share * fabs(c[k]);
    for (int k = MO_POWERS - 1; k > 0; k--) {
        double term = c[k];
        left -= ldexp(fabs(term), 1 - k);
        if (left < 0)
            return;
        c[k] = 0;
        for (int i = 1; 2 * i <= k; i++) {
            term *= -(double)((k - 2 * i + 2) * (k - 2 * i + 1)) / (4 * i * (k - i));
            c[k - 2 * i] -= term;
        }
    }
}

typedef struct powers {
    mo_tape *t;
    const mo_csr *A;
    mo_tensor *X; /* A^(k - 1) P at first, A^k P afterwards */
    double (*c)[MO_POWERS];
    mo_tensor *const *sum;
    int n_sums;
    bool *begun; /* [n_sums] */
} powers;

static mo_tensor *rows_from(mo_tape *t, mo_tensor *X, int64_t i) {
    return mo_slice(t, X, MO_AXIS(0), i, i + BLOCK_ROWS < mo_dim(X, 0) ? i + BLOCK_ROWS : mo_dim(X, 0));
}

/* Takes the next power, unless k is 0, and adds it to the sums: some rows at a time, which the additions find in the
 * cache. */
static void add_power(powers *p, int k, mo_tensor *next) {
    mo_tape *t = p->t;
    mo_tensor *Y = k ? next : p->X;
    for (int64_t i = 0; i < mo_dim(Y, 0) && mo_ok(t->ctx); i += BLOCK_ROWS) {
        int64_t mark = t->n_tensors;
        mo_tensor *rows = rows_from(t, Y, i);
        if (k && mo_ok(t->ctx)) {
            mo_view x = mo_tensor_view(p->X), y = mo_tensor_view(rows);
            mo_spmm_into(p->A, i, &x, &y);
        }
        for (int s = 0; s < p->n_sums; s++)
            if (p->c[s][k] != 0)
                add_term(t, rows_from(t, p->sum[s], i), rows, p->c[s][k], !p->begun[s]);
        mo_tape_sweep(t, mark, NULL, 0);
    }
    for (int s = 0; s < p->n_sums; s++)
        p->begun[s] = p->begun[s] || p->c[s][k] != 0;
    p->X = Y;
}

/* The sums' columns j .. end - 1. */
static void sum_slab(powers p, mo_tensor *const next[2], int64_t j, int64_t end) {
    mo_tape *t = p.t;
    int64_t mark = t->n_tensors;
    mo_tensor *sum[MO_MAX_INPUTS], *to[2];
    bool begun[MO_MAX_INPUTS] = {false};
    int most = 0;
    for (int s = 0; s < p.n_sums; s++) {
        sum[s] = mo_slice(t, p.sum[s], MO_AXIS(1), j, end);
        for (int k = 0; k < MO_POWERS; k++)
            most = p.c[s][k] != 0 && k > most ? k : most;
    }
    for (int i = 0; i < 2; i++)
        to[i] = mo_slice(t, next[i], MO_AXIS(1), 0, end - j);
    p.X = mo_slice(t, p.X, MO_AXIS(1), j, end);
    p.sum = sum;
    p.begun = begun;
    for (int k = 0; k <= most && mo_ok(t->ctx); k++)
        add_power(&p, k, to[k % 2]);
    mo_tape_sweep(t, mark, NULL, 0);
}

void mo_sum_powers(
    mo_tape *t, const mo_csr *A, mo_tensor *P, double c[][MO_POWERS], mo_tensor *const *sum, int n_sums) {
    int64_t d = mo_dim(P, 1), n = mo_dim(P, 0), most = SLAB_BYTES / LINE / (int64_t)mo_dtype_size(P->dtype) / (n + 1);
    int64_t lines = (d + LINE - 1) / LINE, wide = most < 1 ? 1 : most < SLAB / LINE ? most : SLAB / LINE;
    int64_t slabs = lines > wide ? (lines + wide - 1) / wide : 1, width = (lines + slabs - 1) / slabs * LINE;
    double own[MO_MAX_INPUTS][MO_POWERS];
    for (int s = 0; s < n_sums; s++) {
        memcpy(own[s], c[s], sizeof own[s]);
        economise(own[s], 16 * (P->dtype == MO_F64 ? DBL_EPSILON : (double)FLT_EPSILON));
    }
    mo_tensor *next[2] = {NULL, NULL};
    for (int i = 0; i < 2 && mo_ok(t->ctx); i++)
        next[i] = mo_tensor_uninitialized(t->ctx, P->dtype, 2, (int64_t[]){n, width < d ? width : d});
    for (int64_t j = 0; j < d && mo_ok(t->ctx); j += width)
        sum_slab((powers){.t = t, .A = A, .X = P, .c = own, .sum = sum, .n_sums = n_sums}, next, j,
            j + width < d ? j + width : d);
    mo_tensor_release(next[0]);
    mo_tensor_release(next[1]);
}
