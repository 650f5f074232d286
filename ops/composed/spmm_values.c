/* ops/composed/spmm_values.c - Y = A X for a sparse matrix whose values are a tensor: learned weights of edges,
 * attention.
 *
 * A [n, m] CSR, whose own values are not read; values [nnz] in the order of A's rows, X [m, d] -> Y [n, d], all of one
 * real dtype. A must outlive the tape. With c_e and r_e the column and row of entry e,
 *     Y_r = sum over e in row r of v_e X_c(e),   v_bar_e = <Y_bar_r(e), X_c(e)>,   X_bar = A^T Y_bar.
 * The rows X_c(e) are formed, [nnz, d]; mo_spmm, whose values need no gradient, does not need that memory. */
#include "ops/inside.h"
#include "tensor/objects.h"

#include <inttypes.h>

mo_tensor *mo_spmm_values(mo_tape *t, const mo_csr *A, mo_tensor *values, mo_tensor *X) {
    mo_context *ctx = mo_tape_context(t);
    char v[160], x[160];
    if (!mo_ok(ctx))
        return mo_null_tensor(ctx);
    if (!A || mo_is_null(values) || mo_is_null(X))
        mo_fail(ctx, MO_INVALID, "spmm_values: %s is null", !A ? "the sparse matrix" : mo_is_null(X) ? "X" : "values");
    else if (!mo_csr_lives(A, "spmm_values"))
        return mo_null_tensor(ctx);
    else if (A->ctx != ctx)
        mo_fail(ctx, MO_MISMATCH, "spmm_values: the sparse matrix belongs to another context");
    else if (!mo_dtype_is_real(X->dtype) || values->dtype != X->dtype || values->ndim != 1 ||
             values->shape[0] != A->nnz || X->ndim != 2 || X->shape[0] != A->columns)
        mo_fail(ctx, MO_INVALID,
            "spmm_values: a sparse matrix [%" PRId64 ", %" PRId64 "] of %" PRId64
            " entries, expected values [entries] and X [columns, d] of one real dtype; got %s %s, %s %s",
            A->rows, A->columns, A->nnz, mo_shape_string(values, v, sizeof v), mo_dtype_name(values->dtype),
            mo_shape_string(X, x, sizeof x), mo_dtype_name(X->dtype));
    if (!mo_ok(ctx))
        return mo_null_tensor(ctx);
    mo_tensor *rows = mo_gather_rows(t, X, mo_cast(t, A->column, MO_I64));
    return mo_segment_sum(t, mo_mul(t, rows, mo_with_axis(t, values, MO_AXIS(-1), 1)), A->row_pointer);
}
