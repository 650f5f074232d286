/* tensor/host_array.h - plain host arrays that loaders fill, with sizes checked and failures raised (library internal).
 */
#ifndef MO_HOST_ARRAY_H
#define MO_HOST_ARRAY_H

#include "tensor/inside.h"

/* A zeroed array of count elements (not NULL on success, even if count is 0); raises MO_MEMORY. Free with free(). */
void *mo_host_array(mo_context *ctx, int64_t count, size_t element);
/* Makes room for `needed` elements; array: the address of the pointer to the array, which moves where it grows, by half
 * or more. Returns false on failure, with array and capacity unchanged. */
bool mo_host_array_grow(mo_context *ctx, void *array, int64_t *capacity, int64_t needed, size_t element);
/* A copy of a text; NULL on failure. */
char *mo_text_copy(mo_context *ctx, const char *text);
/* Sorts and removes repetitions in place; returns the number of remaining values. */
int64_t mo_sort_distinct(int64_t *values, int64_t n);
/* Position of a value in a rising array, or -1. */
int64_t mo_find_sorted(const int64_t *values, int64_t n, int64_t value);

#endif
