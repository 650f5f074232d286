/* tests/tensor/cpu_views.h - makes views with values, for tests that compare CPU kernels with plain loops in double. */
#ifndef MO_TESTS_CPU_VIEWS_H
#define MO_TESTS_CPU_VIEWS_H

#include "tensor/objects.h"
#include "tests/suite.h"

static const mo_dtype REALS[] = {MO_F32, MO_F64};

static inline double epsilon_of(mo_dtype dtype) {
    return dtype == MO_F32 ? 0x1p-23 : 0x1p-52;
}

/* The contexts of the program, one for each number of threads and math mode. */
static mo_context *contexts[9][3];

static int release_contexts(void **state) {
    for (int i = 0; i < 9 * 3; i++)
        mo_context_release(contexts[i / 3][i % 3]);
    return 0;
}

static const fixtures around_all = {NULL, release_contexts};

static inline mo_context *context_of(int threads, mo_math math) {
    mo_context **ctx = &contexts[threads][math];
    if (!*ctx)
        *ctx = mo_context_create(&(mo_context_options){.threads = threads, .math = math});
    assert_true(mo_ok(*ctx));
    return *ctx;
}

static inline mo_context *context_with(int threads) {
    return context_of(threads, MO_MATH_FP32);
}

static inline int64_t count_of(const mo_view *v) {
    int64_t n = 1;
    for (int i = 0; i < v->ndim; i++)
        n *= v->shape[i];
    return n;
}

/* A contiguous view on zeroed memory of the test. */
static inline mo_view new_view(mo_dtype dtype, int ndim, const int64_t *shape) {
    mo_view v = {.dtype = dtype, .ndim = ndim};
    int64_t n = 1;
    for (int i = ndim - 1; i >= 0; i--) {
        v.shape[i] = shape[i];
        v.stride[i] = n;
        n *= shape[i];
    }
    v.data = test_memory(8 * ((size_t)n + 1));
    return v;
}

#define NEW_VIEW(dtype, ...)                                                                                           \
    new_view(dtype, (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (int64_t[]){__VA_ARGS__})

static inline mo_view swapped(mo_view v, int i, int j) {
    int64_t size = v.shape[i], stride = v.stride[i];
    v.shape[i] = v.shape[j];
    v.stride[i] = v.stride[j];
    v.shape[j] = size;
    v.stride[j] = stride;
    return v;
}

/* Returns the offset of element i, counted row-major over the shape. */
static inline int64_t offset_of(const mo_view *v, int64_t i) {
    int64_t offset = 0;
    for (int k = v->ndim - 1; k >= 0; k--) {
        offset += i % v->shape[k] * v->stride[k];
        i /= v->shape[k];
    }
    return offset;
}

static inline double value_at(const mo_view *v, int64_t offset) {
    switch (v->dtype) {
    case MO_F32:
        return ((const float *)v->data)[offset];
    case MO_F64:
        return ((const double *)v->data)[offset];
    case MO_I32:
        return ((const int32_t *)v->data)[offset];
    case MO_I64:
        return (double)((const int64_t *)v->data)[offset];
    case MO_U8:
        return ((const uint8_t *)v->data)[offset];
    default:
        fail();
        return 0;
    }
}

static inline void set_at(const mo_view *v, int64_t offset, double value) {
    switch (v->dtype) {
    case MO_F32:
        ((float *)v->data)[offset] = (float)value;
        break;
    case MO_F64:
        ((double *)v->data)[offset] = value;
        break;
    case MO_I32:
        ((int32_t *)v->data)[offset] = (int32_t)value;
        break;
    case MO_I64:
        ((int64_t *)v->data)[offset] = (int64_t)value;
        break;
    case MO_U8:
        ((uint8_t *)v->data)[offset] = (uint8_t)value;
        break;
    default:
        fail();
    }
}

static inline double element(const mo_view *v, int64_t i) {
    return value_at(v, offset_of(v, i));
}

static inline void set_element(const mo_view *v, int64_t i, double value) {
    set_at(v, offset_of(v, i), value);
}

/* Fills a view with values in [-1, 1) from a seed, by a linear congruence: Philox would take most of a test's time. */
static inline void fill_uniform(const mo_view *v, uint64_t seed) {
    uint64_t state = seed * 2654435761u + 12345;
    int64_t n = count_of(v);
    for (int64_t i = 0; i < n; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        set_element(v, i, (double)(int64_t)state * 0x1p-63);
    }
}

static inline mo_view uniform_view(mo_dtype dtype, int ndim, const int64_t *shape, uint64_t seed) {
    mo_view v = new_view(dtype, ndim, shape);
    fill_uniform(&v, seed);
    return v;
}

#define UNIFORM_VIEW(dtype, seed, ...)                                                                                 \
    uniform_view(dtype, (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (int64_t[]){__VA_ARGS__}, seed)

/* Returns a contiguous view with a copy of the bits of v, which is contiguous too. */
static inline mo_view clone_view(const mo_view *v) {
    mo_view c = new_view(v->dtype, v->ndim, v->shape);
    memcpy(c.data, v->data, (size_t)count_of(v) * mo_dtype_size(v->dtype));
    return c;
}

static inline void assert_same_bits(const mo_view *a, const mo_view *b) {
    assert_memory_equal(a->data, b->data, (size_t)count_of(a) * mo_dtype_size(a->dtype));
}

/* Fails, naming the element, unless |found - expected| <= tolerance. */
static inline void assert_near(const char *what, int64_t i, double found, double expected, double tolerance) {
    if (found == expected || (isnan(found) && isnan(expected)) || fabs(found - expected) <= tolerance)
        return;
    fail_msg("%s: element %lld is %.17g, expected %.17g within %g", what, (long long)i, found, expected, tolerance);
}

#endif
