/* tensor/host_array.c - host arrays for loaders. They are malloc'd, and the context counts each only while it is made:
 * a graph is read once and outlives every tape, and a container that ends the process on a failed realloc (stb_ds) is
 * not fit for millions of edges. */
#include "tensor/objects.h"
#include "tensor/platform.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE = 4096, HUGE_FROM = 4 << 20 /* bytes */ };

/* Asks for huge pages behind a large array: where it is read in no order, most of the time goes into finding pages. */
static void prefer_huge_pages(char *array, size_t bytes) {
    size_t before = (PAGE - (uintptr_t)array % PAGE) % PAGE;
    if (bytes >= HUGE_FROM)
        madvise(array + before, bytes - before, MADV_HUGEPAGE); /* only a hint */
}

void *mo_host_array(mo_context *ctx, int64_t count, size_t element) {
    size_t bytes = 0;
    if (count < 0 || __builtin_mul_overflow((size_t)count, element, &bytes) || bytes > PTRDIFF_MAX) {
        mo_fail(ctx, MO_MEMORY, "array of %lld elements of %zu bytes: the size overflows", (long long)count, element);
        return NULL;
    }
    if (!mo_within_bound(ctx, bytes))
        return NULL;
    void *array = calloc(bytes ? bytes : 1, 1);
    if (!array)
        mo_fail(ctx, MO_MEMORY, "out of memory: %zu bytes for an array of %lld elements", bytes, (long long)count);
    else
        prefer_huge_pages(array, bytes);
    return array;
}

bool mo_host_array_grow(mo_context *ctx, void *array, int64_t *capacity, int64_t needed, size_t element) {
    void *old;
    memcpy(&old, array, sizeof old); /* memcpy, as `array` points to a pointer of any type */
    if (old && needed <= *capacity)
        return true;
    int64_t wanted = *capacity + *capacity / 2 + 64;
    if (wanted < needed)
        wanted = needed;
    size_t bytes = 0;
    if (__builtin_mul_overflow((size_t)wanted, element, &bytes) || bytes > PTRDIFF_MAX)
        return mo_fail(
            ctx, MO_MEMORY, "array of %lld elements of %zu bytes: the size overflows", (long long)wanted, element);
    if (!mo_within_bound(ctx, bytes))
        return false;
    void *grown = realloc(old, bytes);
    if (!grown)
        return mo_fail(
            ctx, MO_MEMORY, "out of memory: %zu bytes for an array of %lld elements", bytes, (long long)wanted);
    memcpy(array, &grown, sizeof grown);
    *capacity = wanted;
    return true;
}

char *mo_text_copy(mo_context *ctx, const char *text) {
    char *copy = strdup(text);
    if (!copy)
        mo_fail(ctx, MO_MEMORY, "out of memory: a copy of a text of %zu bytes", strlen(text));
    return copy;
}

static int compare_int64(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

int64_t mo_sort_distinct(int64_t *values, int64_t n) {
    if (n == 0)
        return 0;
    qsort(values, (size_t)n, sizeof *values, compare_int64);
    int64_t kept = 1;
    for (int64_t i = 1; i < n; i++)
        if (values[i] != values[kept - 1])
            values[kept++] = values[i];
    return kept;
}

static int compare_numbers(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void mo_sort_numbers(double *x, int64_t n) {
    if (x && n > 1)
        qsort(x, (size_t)n, sizeof *x, compare_numbers);
}

int64_t mo_find_sorted(const int64_t *values, int64_t n, int64_t value) {
    int64_t low = 0, high = n;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (values[middle] < value)
            low = middle + 1;
        else
            high = middle;
    }
    return low < n && values[low] == value ? low : -1;
}

int64_t mo_find_row(const int64_t *start, int64_t rows, int64_t place) {
    int64_t low = 0, high = rows;
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        if (start[middle] <= place)
            low = middle;
        else
            high = middle;
    }
    return low;
}
