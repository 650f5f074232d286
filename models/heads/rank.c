/* models/heads/rank.c - the rank of a Gram matrix by its eigenvalues. */
#include "models/heads/rank.h"

int64_t mo_rank(mo_tape *t, mo_tensor *A) {
    mo_tensor *w, *V;
    mo_eigh(t, mo_stop_gradient(t, A), &w, &V);
    mo_axes last = MO_AXIS(-1);
    double unit = mo_tensor_dtype(A) == MO_F32 ? 0x1p-23 : 0x1p-52;
    mo_tensor *bound = mo_scale(t, mo_max(t, mo_abs(t, w), last, MO_KEEP_AXES), unit * (double)mo_dim(A, -1), 1e-300);
    mo_tensor *count = mo_sum(t, mo_greater_equal(t, w, bound), last, MO_DROP_AXES);
    mo_tensor *fewest = mo_neg(t, mo_max(t, mo_neg(t, count), MO_ALL, MO_DROP_AXES));
    return mo_ok(mo_tape_context(t)) ? (int64_t)mo_item(fewest) : -1;
}
