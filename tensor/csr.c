/* tensor/csr.c - sparse matrices in compressed rows: int64 row pointers, int32 columns. */
#include "tensor/library.h"
#include "tensor/objects.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static bool check_pointers(mo_context *ctx, int64_t rows, int64_t columns, const int64_t *row_pointer) {
    if (rows < 0 || columns < 0 || columns > INT32_MAX) {
        mo_fail(ctx, MO_INVALID,
            "csr: shape [%" PRId64 ", %" PRId64 "], expected sizes of 0 or more and columns below 2^31", rows, columns);
        return false;
    }
    if (row_pointer[0] != 0) {
        mo_fail(ctx, MO_INVALID, "csr: row pointer 0 is %" PRId64 ", expected 0", row_pointer[0]);
        return false;
    }
    for (int64_t i = 0; i < rows; i++)
        if (row_pointer[i + 1] < row_pointer[i]) {
            mo_fail(ctx, MO_INVALID, "csr: row pointer %" PRId64 " is %" PRId64 ", below its predecessor %" PRId64,
                i + 1, row_pointer[i + 1], row_pointer[i]);
            return false;
        }
    return true;
}

static bool check_columns(mo_context *ctx, int64_t columns, int64_t nnz, const int32_t *column) {
    for (int64_t e = 0; e < nnz; e++)
        if (column[e] < 0 || column[e] >= columns) {
            mo_fail(ctx, MO_INVALID, "csr: column %d of entry %" PRId64 ", expected 0 to %" PRId64, column[e], e,
                columns - 1);
            return false;
        }
    return true;
}

/* The matrix of three tensors on the host's list, which it owns from now on; releases them on failure. */
static mo_csr *csr_of(
    mo_context *ctx, int64_t rows, int64_t columns, mo_tensor *row_pointer, mo_tensor *column, mo_tensor *values) {
    mo_csr *A = mo_ok(ctx) ? mo_host_alloc(ctx, sizeof *A) : NULL;
    if (!A) {
        mo_tensor_release(row_pointer);
        mo_tensor_release(column);
        mo_tensor_release(values);
        return NULL;
    }
    *A = (mo_csr){.ctx = ctx,
        .rows = rows,
        .columns = columns,
        .nnz = mo_numel(column),
        .row_pointer = row_pointer,
        .column = column,
        .values = values};
    ctx->n_csr++;
    mo_tensor_unlist(A->row_pointer);
    mo_tensor_unlist(A->column);
    mo_tensor_unlist(A->values);
    return A;
}

mo_csr *mo_csr_create(mo_context *ctx, int64_t rows, int64_t columns, const int64_t *row_pointer, const int32_t *column,
    mo_dtype dtype, const void *values) {
    if (!mo_ok(ctx))
        return NULL;
    if (!row_pointer || (rows > 0 && row_pointer[rows] > 0 && !column)) {
        mo_fail(ctx, MO_INVALID, "csr: %s is NULL", row_pointer ? "column" : "row_pointer");
        return NULL;
    }
    if (!mo_dtype_is_real(dtype)) {
        mo_fail(ctx, MO_MISMATCH, "csr: values are %s, expected float32 or float64", mo_dtype_name(dtype));
        return NULL;
    }
    if (!check_pointers(ctx, rows, columns, row_pointer) || !check_columns(ctx, columns, row_pointer[rows], column))
        return NULL;
    int64_t nnz = row_pointer[rows];
    mo_tensor *V = values ? mo_tensor_create_from(ctx, dtype, 1, &nnz, values) : mo_tensor_create(ctx, dtype, 1, &nnz);
    if (!values)
        mo_tensor_fill(V, 1);
    return csr_of(ctx, rows, columns, mo_tensor_create_from(ctx, MO_I64, 1, (int64_t[]){rows + 1}, row_pointer),
        mo_tensor_create_from(ctx, MO_I32, 1, &nnz, column), V);
}

/* A tensor of a host array: on a CPU, the array itself. If it is taken, the tensor frees it. */
static mo_tensor *host_tensor(mo_context *ctx, mo_dtype dtype, int64_t n, const void *array, bool taken) {
    mo_view memory = {.data = (void *)(uintptr_t)array, .dtype = dtype, .ndim = 1, .shape = {n}, .stride = {1}};
    bool wraps = mo_context_device(ctx) == MO_CPU;
    mo_tensor *T = wraps ? mo_tensor_wrap(ctx, &memory, taken ? free : NULL, memory.data)
                         : mo_tensor_create_from(ctx, dtype, 1, &n, array);
    if (taken && (!wraps || mo_is_null(T)))
        free(memory.data);
    return T;
}

mo_csr *mo_csr_wrap(mo_context *ctx, int64_t rows, int64_t columns, const int64_t *row_pointer, const int32_t *column,
    mo_dtype dtype, const void *values, unsigned taken) {
    if (mo_ok(ctx) && check_pointers(ctx, rows, columns, row_pointer))
        check_columns(ctx, columns, row_pointer[rows], column);
    int64_t nnz = mo_ok(ctx) ? row_pointer[rows] : 0;
    mo_tensor *P = host_tensor(ctx, MO_I64, rows + 1, row_pointer, taken & MO_CSR_ROW_POINTER);
    mo_tensor *C = host_tensor(ctx, MO_I32, nnz, column, taken & MO_CSR_COLUMN);
    return csr_of(ctx, rows, columns, P, C, host_tensor(ctx, dtype, nnz, values, taken & MO_CSR_VALUES));
}

/* The three arrays of a matrix in host memory. */
typedef struct host_csr {
    int64_t *row_pointer;
    int32_t *column;
    char *values;
    bool borrowed; /* of a matrix on a CPU */
} host_csr;

static void free_host(host_csr *h) {
    if (h->borrowed)
        return;
    free(h->row_pointer);
    free(h->column);
    free(h->values);
}

static bool allocate_host(mo_context *ctx, int64_t rows, int64_t nnz, size_t value_bytes, host_csr *h) {
    h->row_pointer = calloc((size_t)rows + 2, sizeof *h->row_pointer);
    h->column = malloc((size_t)nnz * sizeof *h->column + 1);
    h->values = malloc((size_t)nnz * value_bytes + 1);
    if (h->row_pointer && h->column && h->values)
        return true;
    mo_fail(ctx, MO_MEMORY, "csr: out of memory for %" PRId64 " entries", nnz);
    return false;
}

static bool read_host(const mo_csr *A, host_csr *h) {
    size_t value_bytes = mo_dtype_size(A->values->dtype);
    if (mo_context_device(A->ctx) == MO_CPU) {
        mo_csr_view v = mo_view_csr(A);
        *h = (host_csr){v.row_pointer.data, v.column.data, v.values.data, true};
        return mo_ok(A->ctx);
    }
    if (!allocate_host(A->ctx, A->rows, A->nnz, value_bytes, h))
        return false;
    mo_tensor_read(A->row_pointer, h->row_pointer, (size_t)(A->rows + 1) * sizeof *h->row_pointer);
    mo_tensor_read(A->column, h->column, (size_t)A->nnz * sizeof *h->column);
    mo_tensor_read(A->values, h->values, (size_t)A->nnz * value_bytes);
    return mo_ok(A->ctx);
}

/* Fills b with the transpose of a by a counting sort on the columns; the columns in each row of b rise. */
static void transpose_host(const mo_csr *A, const host_csr *a, host_csr *b) {
    size_t bytes = mo_dtype_size(A->values->dtype);
    int64_t *next = b->row_pointer + 1; /* next[c]: the position in b of the next entry of column c */
    for (int64_t e = 0; e < A->nnz; e++)
        next[a->column[e] + 1]++;
    for (int64_t c = 0; c < A->columns; c++)
        next[c + 1] += next[c];
    for (int64_t i = 0; i < A->rows && mo_goes_on(A->ctx); i++)
        for (int64_t e = a->row_pointer[i]; e < a->row_pointer[i + 1]; e++) {
            int64_t to = next[a->column[e]]++;
            b->column[to] = (int32_t)i;
            memcpy(b->values + (size_t)to * bytes, a->values + (size_t)e * bytes, bytes);
        }
}

static mo_csr *transposed_copy(const mo_csr *A) {
    host_csr a = {0}, b = {0};
    mo_csr *T = NULL;
    if (read_host(A, &a) && allocate_host(A->ctx, A->columns, A->nnz, mo_dtype_size(A->values->dtype), &b)) {
        transpose_host(A, &a, &b);
        T = mo_csr_wrap(
            A->ctx, A->columns, A->rows, b.row_pointer, b.column, A->values->dtype, b.values, MO_CSR_ARRAYS);
    } else {
        free_host(&b);
    }
    free_host(&a);
    return T;
}

const mo_csr *mo_csr_transposed(const mo_csr *A) {
    if (!A || A->symmetric || A->released) /* spmm raises the error about a released matrix */
        return A;
    if (!A->transposed)
        ((mo_csr *)(uintptr_t)A)->transposed = transposed_copy(A); /* a cache: logically const */
    return A->transposed;
}

static bool columns_rise(const host_csr *h, int64_t rows) {
    for (int64_t i = 0; i < rows; i++)
        for (int64_t e = h->row_pointer[i] + 1; e < h->row_pointer[i + 1]; e++)
            if (h->column[e] < h->column[e - 1])
                return false;
    return true;
}

/* Whether a square matrix whose columns rise in each row equals its transpose, bit by bit: while i rises, the entries
 * (i, j) of each column j must be those of row j in turn. next [rows]: scratch. */
static bool equals_transpose(const host_csr *h, int64_t rows, size_t bytes, int64_t *next) {
    memcpy(next, h->row_pointer, (size_t)rows * sizeof *next);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t e = h->row_pointer[i]; e < h->row_pointer[i + 1]; e++) {
            int64_t j = h->column[e], other = next[j]++;
            if (other >= h->row_pointer[j + 1] || h->column[other] != i ||
                memcmp(h->values + (size_t)e * bytes, h->values + (size_t)other * bytes, bytes) != 0)
                return false;
        }
    return true;
}

mo_code mo_csr_declare_symmetric(mo_csr *A) {
    if (!A)
        return MO_INVALID;
    mo_context *ctx = A->ctx;
    if (!mo_csr_lives(A, "csr"))
        return ctx->status.code;
    host_csr h = {0};
    mo_csr *T = NULL;
    bool read = A->rows == A->columns && mo_ok(ctx) && read_host(A, &h);
    if (read && !columns_rise(&h, A->rows)) { /* the transpose has rising columns, and is symmetric if A is */
        free_host(&h);
        h = (host_csr){0};
        T = transposed_copy(A);
        read = T && read_host(T, &h);
    }
    int64_t *next = read ? mo_host_array(ctx, A->rows, sizeof *next) : NULL;
    bool same = next && equals_transpose(&h, A->rows, mo_dtype_size(A->values->dtype), next);
    if (!same)
        mo_fail(ctx, MO_INVALID, "csr: the matrix [%" PRId64 ", %" PRId64 "] differs from its transpose", A->rows,
            A->columns);
    A->symmetric = same;
    free(next);
    free_host(&h);
    mo_csr_release(T);
    return ctx->status.code;
}

mo_csr_view mo_view_csr(const mo_csr *A) {
    return (mo_csr_view){.row_pointer = mo_tensor_view(A->row_pointer),
        .column = mo_tensor_view(A->column),
        .values = mo_tensor_view(A->values)};
}

int64_t mo_csr_rows(const mo_csr *A) {
    return A ? A->rows : 0;
}

int64_t mo_csr_columns(const mo_csr *A) {
    return A ? A->columns : 0;
}

bool mo_csr_lives(const mo_csr *A, const char *what) {
    if (A->released)
        mo_fail(A->ctx, MO_STATE, "%s: the sparse matrix [%" PRId64 ", %" PRId64 "] was released by mo_csr_release",
            what, A->rows, A->columns);
    return !A->released;
}

void mo_free_released_csr(mo_context *ctx) {
    for (mo_csr *A = ctx->released, *older; A; A = older) {
        older = A->older;
        free(A);
    }
    ctx->released = NULL;
}

/* While nodes can point to the matrix, it stays, without its arrays, so that a later use raises an error that names
 * it. */
static void free_csr(mo_csr *A) {
    mo_context *ctx = A->ctx;
    if (!ctx->n_nodes && !ctx->debug) {
        mo_host_free(ctx, A, sizeof *A);
        return;
    }
    mo_host_uncount(ctx, sizeof *A);
    *A = (mo_csr){.ctx = ctx, .rows = A->rows, .columns = A->columns, .released = true, .older = ctx->released};
    ctx->released = A;
}

void mo_csr_release(mo_csr *A) {
    if (!A || !mo_csr_lives(A, "csr_release"))
        return;
    mo_csr_release(A->transposed);
    A->ctx->n_csr--;
    mo_tensor_release(A->row_pointer);
    mo_tensor_release(A->column);
    mo_tensor_release(A->values);
    free_csr(A);
}
