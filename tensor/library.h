/* tensor/library.h - declarations of tensor/ for the library's own code: neither installed nor exported. */
#ifndef MO_TENSOR_LIBRARY_H
#define MO_TENSOR_LIBRARY_H

#include "tensor/inside.h"

#include <time.h>

/* ---- checks with which a public function begins: any object may be NULL ---- */

/* The code of the context's status; MO_INVALID if ctx is NULL. */
mo_code mo_code_of(const mo_context *ctx);
/* Between mo_hold_errors and mo_release_errors, which nest, on_error is not called, since the library can still clear
 * the error. If an error stands at the outermost mo_release_errors, on_error is called then. */
void mo_hold_errors(mo_context *ctx);
void mo_release_errors(mo_context *ctx);
/* Returns whether ctx is free of errors and value is not NULL. A NULL value raises "function: argument is NULL". */
bool mo_given(mo_context *ctx, const char *function, const char *argument, const void *value);
/* Returns whether a long computation should go on: false once the caller's go_on has returned false, which this
 * function then raises. For loops that take longer than a twentieth of a second; may be called in run_tasks, whose
 * caller's thread asks for all. */
bool mo_goes_on(mo_context *ctx);
/* Returns whether the calling thread rounds to nearest and keeps subnormal numbers, as a thread does by default. Raises
 * MO_STATE if not, since the bits of results would then differ. */
bool mo_usual_arithmetic(mo_context *ctx, const char *function);

/* ---- plain host arrays that loaders fill, with sizes checked and failures raised ---- */

/* Makes a zeroed array of `count` elements of `element` bytes each; not NULL on success, even if count is 0. Raises
 * MO_MEMORY. Free with free(). */
void *mo_host_array(mo_context *ctx, int64_t count, size_t element);
/* Makes room for `needed` elements. array is the address of the pointer to the array; the pointer changes when the
 * array grows (by half or more). Returns false on failure, with array and capacity unchanged. */
bool mo_host_array_grow(mo_context *ctx, void *array, int64_t *capacity, int64_t needed, size_t element);
/* A copy of a text; NULL on failure. */
char *mo_text_copy(mo_context *ctx, const char *text);
/* mo_read_as: reads a tensor's values as `dtype`, in row-major order; returns whether it could. mo_host_values: returns
 * them in a new array; NULL on failure. */
bool mo_read_as(const mo_tensor *T, mo_dtype dtype, void *host);
void *mo_host_values(const mo_tensor *T, mo_dtype dtype);
/* Sorts and removes repetitions in place; returns the number of remaining values. */
int64_t mo_sort_distinct(int64_t *values, int64_t n);
/* Position of a value in a rising array, or -1. */
int64_t mo_find_sorted(const int64_t *values, int64_t n, int64_t value);
/* start [rows + 1] rises, and start[0] <= place < start[rows]. Returns the row u with start[u] <= place <
 * start[u + 1]. */
int64_t mo_find_row(const int64_t *start, int64_t rows, int64_t place);

/* ---- sparse matrices onto such arrays ---- */

/* As mo_csr_create, but on a CPU the arrays are not copied, so that they must outlive the matrix. None is NULL, unless
 * an error stands. taken: arrays of malloc or mo_host_array that the matrix frees, on failure at once. */
enum { MO_CSR_ROW_POINTER = 1, MO_CSR_COLUMN = 2, MO_CSR_VALUES = 4, MO_CSR_ARRAYS = 7 };
mo_csr *mo_csr_wrap(mo_context *ctx, int64_t rows, int64_t columns, const int64_t *row_pointer, const int32_t *column,
    mo_dtype dtype, const void *values, unsigned taken);

/* ---- time ---- */

/* Seconds on the given clock; CLOCK_MONOTONIC to measure durations. */
static inline double mo_clock(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

#endif
