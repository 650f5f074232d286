/* train/krylov.c - block Lanczos with full reorthogonalisation.
 *
 * Block j + 1 is A Q_j made orthogonal to all blocks before it. The coefficients that this takes, C = K^T A Q_j, are
 * the j-th block column of T = K^T A K. Orthogonality is restored twice, which is enough (Giraud et al. 2005), unless
 * the space is exhausted: then the columns that fill up a block are arbitrary and may need another round. */
#include "train/krylov.h"

#include "autograd/tape.h"
#include "ops/ops.h"
#include "train/orthonormal.h"

enum { ROUNDS = 5 };

/* W -= K C in place: W is ours, and as large as the largest of what a caller holds. */
static void subtract_product(mo_tape *t, mo_tensor *W, mo_tensor *K, mo_tensor *C) {
    if (!mo_ok(t->ctx))
        return;
    mo_gemm g = {.A = mo_tensor_view(K), .B = mo_tensor_view(C), .C = mo_tensor_view(W), .alpha = -1, .beta = 1};
    if (mo_ok(t->ctx))
        mo_kernels_of(t->ctx, W->dtype)->gemm(t->ctx, &g);
}

/* An orthonormal block orthogonal to K, from W, which is so to rounding before it is scaled. */
static mo_tensor *next_block(mo_tape *t, mo_tensor *K, mo_tensor *W) {
    double condition = 0;
    for (int round = 0; round < 2 || (condition > 2 && round < ROUNDS); round++) {
        int64_t mark = t->n_tensors;
        if (round > 0)
            subtract_product(t, W, K, mo_matmul(t, mo_transpose(t, K), W));
        W = mo_orthonormalize(t, W, 1, &condition);
        mo_tape_sweep(t, mark, &W, 1);
    }
    return W;
}

static void put(mo_tape *t, mo_tensor *to, int64_t row, int64_t column, mo_tensor *block) {
    if (!mo_ok(t->ctx))
        return;
    mo_tensor *rows = mo_slice(t, to, 0, row, row + mo_dim(block, 0));
    mo_tensor *window = mo_slice(t, rows, 1, column, column + mo_dim(block, 1));
    if (mo_ok(t->ctx))
        mo_tensor_copy(window, block);
}

mo_krylov mo_krylov_basis(mo_tape *t, const mo_csr *A, mo_tensor *Q, int64_t blocks) {
    int64_t n = mo_dim(Q, 0), b = mo_dim(Q, 1), m = blocks * b, mark = t->n_tensors;
    mo_krylov k = {Q, mo_full(t, MO_F64, 2, (int64_t[]){m, m}, 0)};
    if (blocks > 1)
        k.K = mo_tape_tensor(t, Q->dtype, 2, (int64_t[]){n, m});
    for (int64_t j = 0; j < blocks && mo_ok(t->ctx); j++) {
        if (blocks > 1)
            put(t, k.K, 0, j * b, Q);
        mo_tensor *K = mo_slice(t, k.K, 1, 0, (j + 1) * b), *W = mo_spmm(t, A, Q);
        mo_tensor *C = mo_matmul(t, mo_transpose(t, K), W);
        put(t, k.T, j * b, 0, mo_transpose(t, C));
        if (j + 1 < blocks) {
            subtract_product(t, W, K, C);
            Q = next_block(t, K, W);
        }
        mo_tape_sweep(t, mark, (mo_tensor *[]){k.K, k.T, Q}, 3);
    }
    return k;
}
