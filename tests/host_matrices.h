/* tests/host_matrices.h - matrices on the host, and the residual measure of LAPACK's own tests. */
#ifndef MO_TESTS_HOST_MATRICES_H
#define MO_TESTS_HOST_MATRICES_H

#include "ops/inside.h"
#include "tensor/objects.h"
#include "tests/device.h"
#include "tests/scratch.h"

/* The largest residual ratio with which LAPACK's tests pass (Anderson et al. 1999, LAPACK Working Note 41). */
static const double threshold = 30;
static const int sizes[] = {1, 2, 3, 7, 32, 33, 70, 130};
enum { SIZES = sizeof sizes / sizeof *sizes, COLUMNS = 3 };

typedef struct fixture {
    mo_context *ctx;
    mo_tape *t;
    mo_random r;
} fixture;

static inline int set_up(void **state) {
    static fixture f;
    f.ctx = device_context_of(test_device(), 0);
    f.t = mo_tape_create(f.ctx, MO_RECORD);
    f.r = mo_random_at(11, MO_PURPOSE_CHECK, 0);
    *state = &f;
    return 0;
}

static inline int tear_down(void **state) {
    held_lone_tape(&((fixture *)*state)->t);
    return 0;
}

static const fixtures around_each = {set_up, tear_down};

/* Frees the tensors and the arrays so far. */
static inline void end_round(fixture *f) {
    mo_tape_reset(f->t);
    free_test_memory();
}

/* ---- row-major, in double ---- */

static inline double *zeros(int n, int m) {
    return test_memory((size_t)(n * m + 1) * sizeof(double));
}

static inline double *normals(fixture *f, int n, int m) {
    double *x = zeros(n, m);
    for (int i = 0; i < n * m; i++)
        x[i] = mo_random_normal(&f->r);
    return x;
}

/* Returns C = op(A) B, where op transposes if `turned`. A has n rows after op; B is [k, m]. */
static inline double *product(const double *A, const double *B, int n, int k, int m, bool turned) {
    double *C = zeros(n, m);
    for (int i = 0; i < n; i++)
        for (int l = 0; l < k; l++)
            for (int j = 0; j < m; j++)
                C[i * m + j] += (turned ? A[l * n + i] : A[i * k + l]) * B[l * m + j];
    return C;
}

/* Returns the largest column sum of |A|. */
static inline double norm(const double *A, int n, int m) {
    double largest = 0;
    for (int j = 0; j < m; j++) {
        double sum = 0;
        for (int i = 0; i < n; i++)
            sum += fabs(A[i * m + j]);
        largest = fmax(largest, sum);
    }
    return largest;
}

static inline mo_tensor *tensor_of(fixture *f, mo_dtype dtype, int ndim, const int64_t *shape, double *x) {
    mo_tensor *T = mo_tape_tensor(f->t, dtype, ndim, shape);
    int64_t count = mo_numel(T);
    float *narrow = test_memory((size_t)count * sizeof *narrow + 1);
    for (int64_t i = 0; i < count; i++) {
        narrow[i] = (float)x[i];
        x[i] = dtype == MO_F32 ? narrow[i] : x[i]; /* keeps the value as rounded for the library */
    }
    mo_tensor_write(T, dtype == MO_F32 ? (void *)narrow : x, (size_t)count * mo_dtype_size(dtype));
    return T;
}

static inline mo_tensor *matrix(fixture *f, mo_dtype dtype, int n, int m, double *x) {
    return tensor_of(f, dtype, 2, (int64_t[]){n, m}, x);
}

static inline double *values_of(fixture *f, const mo_tensor *T) {
    assert_string_equal(mo_context_status(f->ctx)->message, "");
    double *x = zeros((int)mo_numel(T), 1);
    mo_tensor *wide = mo_tape_tensor(f->t, MO_F64, T->ndim, T->shape);
    mo_tensor_copy(wide, T);
    assert_int_equal(mo_tensor_read(wide, x, (size_t)mo_numel(T) * sizeof *x), MO_OK);
    return x;
}

static inline double epsilon(mo_dtype dtype) {
    return dtype == MO_F64 ? DBL_EPSILON : FLT_EPSILON;
}

static inline void for_each_size(fixture *f, void (*run)(fixture *f, mo_dtype dtype, int n)) {
    for (int i = 0; i < SIZES; i++)
        for (int d = 0; d < 2; d++) {
            run(f, d ? MO_F64 : MO_F32, sizes[i]);
            end_round(f);
        }
}

/* Returns a batch of two matrices: the identity, then A. */
static inline mo_tensor *second_of_two(fixture *f, mo_dtype dtype, const double *A) {
    double both[18] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    memcpy(both + 9, A, 9 * sizeof *A);
    return tensor_of(f, dtype, 3, (int64_t[]){2, 3, 3}, both);
}

#endif
