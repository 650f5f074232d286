/* tests/tensor/test_csr.c - sparse matrices: refused arrays, the transpose, the claim of symmetry. */
#include "tensor/library.h"
#include "tensor/objects.h"
#include "tests/scratch.h"

static void expect_refusal(
    mo_context *ctx, int64_t columns, const int64_t *pointer, const int32_t *column, const char *message) {
    assert_null(mo_csr_create(ctx, 2, columns, pointer, column, MO_F32, NULL));
    assert_told(ctx, MO_INVALID, message);
}

TEST_OF(wrong_pointers_and_columns_are_named, mo_context *ctx) {
    int32_t column[] = {0, 1, 2};
    expect_refusal(ctx, 3, (int64_t[]){1, 2, 3}, column, "csr: row pointer 0 is 1, expected 0");
    expect_refusal(ctx, 3, (int64_t[]){0, 3, 2}, column, "csr: row pointer 2 is 2, below its predecessor 3");
    expect_refusal(ctx, 2, (int64_t[]){0, 1, 3}, column, "csr: column 2 of entry 2, expected 0 to 1");
    expect_refusal(ctx, -1, (int64_t[]){0, 0, 0}, column,
        "csr: shape [2, -1], expected sizes of 0 or more and columns below 2^31");
    assert_null(mo_csr_create(ctx, 2, 3, (int64_t[]){0, 1, 3}, column, MO_I32, NULL));
    assert_int_equal(mo_context_status(ctx)->code, MO_MISMATCH);
}

TEST_OF(transposing_moves_entries_and_sorts_rows, mo_context *ctx) {
    /* A = [[0, 1, 2], [3, 0, 0]]; the entries of the first row are given in descending order */
    mo_csr *A = mo_csr_create(ctx, 2, 3, (int64_t[]){0, 2, 3}, (int32_t[]){2, 1, 0}, MO_F64, (double[]){2, 1, 3});
    const mo_csr *T = mo_csr_transposed(A);
    int64_t pointer[4];
    int32_t column[3];
    double value[3];
    mo_tensor_read(T->row_pointer, pointer, sizeof pointer);
    mo_tensor_read(T->column, column, sizeof column);
    mo_tensor_read(T->values, value, sizeof value);
    assert_memory_equal(pointer, ((int64_t[]){0, 1, 2, 3}), sizeof pointer);
    assert_memory_equal(column, ((int32_t[]){1, 0, 0}), sizeof column);
    assert_memory_equal(value, ((double[]){3, 1, 2}), sizeof value);
    assert_ptr_equal(mo_csr_transposed(A), T);
    mo_csr_release(A);
    assert_true(mo_ok(ctx));
}

TEST_OF(wrapped_arrays_are_not_copied_and_taken_ones_are_freed, mo_context *ctx) {
    int64_t pointer[] = {0, 2, 3};
    int32_t column[] = {2, 1, 0};
    double *value = mo_host_array(ctx, 3, sizeof *value);
    for (int i = 0; i < 3; i++)
        value[i] = i;
    HELD(mo_csr) *A = mo_csr_wrap(ctx, 2, 3, pointer, column, MO_F64, value, MO_CSR_VALUES);
    if (mo_context_device(ctx) == MO_CPU)
        assert_ptr_equal(mo_view_csr(A).column.data, column);
    assert_int_equal(mo_csr_transposed(A)->nnz, 3);
    expect_ok(ctx);
    double *lost = mo_host_array(ctx, 1, sizeof *lost);
    assert_null(mo_csr_wrap(ctx, 1, 1, pointer, column, MO_F64, lost, MO_CSR_VALUES));
    assert_told(ctx, MO_INVALID, "csr: column 2 of entry 0, expected 0 to 0");
}

TEST_OF(symmetry_is_checked_not_believed, mo_context *ctx) {
    HELD(mo_csr) *A = mo_csr_create(ctx, 2, 2, (int64_t[]){0, 2, 3}, (int32_t[]){1, 0, 0}, MO_F32, (float[]){5, 1, 5});
    assert_int_equal(mo_csr_declare_symmetric(A), MO_OK);
    assert_ptr_equal(mo_csr_transposed(A), A);
    HELD(mo_csr) *B = mo_csr_create(ctx, 2, 2, (int64_t[]){0, 2, 3}, (int32_t[]){0, 1, 0}, MO_F32, (float[]){1, 5, 4});
    assert_int_equal(mo_csr_declare_symmetric(B), MO_INVALID);
    assert_string_equal(mo_context_status(ctx)->message, "csr: the matrix [2, 2] differs from its transpose");
}
