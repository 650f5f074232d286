/* tests/solver_fixture.h - a tape and the tensors theta = (A, c), A [items, m, m] and c [items, m], that define a
 * system of equations A x = c or A x + x^3 = c for each item. */
#ifndef SOLVER_FIXTURE_H
#define SOLVER_FIXTURE_H

#include "ops/inside.h"
#include "tests/scratch.h"

typedef struct fixture {
    mo_context *ctx;
    mo_tape *t;
    mo_tensor *theta[2]; /* A, c: of the fixture */
} fixture;

static inline fixture fixture_create(int threads) {
    fixture f = {.ctx = mo_context_create(&(mo_context_options){.threads = threads})};
    mo_register_ops(f.ctx);
    f.t = mo_tape_create(f.ctx, MO_RECORD);
    return f;
}

static inline void held_fixture(fixture *f) {
    for (int i = 0; i < 2; i++)
        mo_tensor_release(f->theta[i]);
    held_lone_tape(&f->t);
}

static inline mo_tensor *times(mo_tape *t, mo_tensor *A, mo_tensor *x) {
    int64_t items = mo_dim(x, 0), m = mo_dim(x, 1);
    mo_tensor *column = mo_matmul(t, A, mo_reshape(t, x, 3, (int64_t[]){items, m, 1}));
    return mo_reshape(t, column, 2, (int64_t[]){items, m});
}

static inline mo_tensor *affine(mo_tape *t, mo_tensor *x, mo_tensor *const *theta, int n, void *state) {
    return mo_sub(t, times(t, theta[0], x), theta[1]);
}

static inline mo_tensor *cubic(mo_tape *t, mo_tensor *x, mo_tensor *const *theta, int n, void *state) {
    return mo_add(t, affine(t, x, theta, n, state), mo_mul(t, mo_square(t, x), x));
}

/* Draws A = I + B / 2m with normal B, symmetric if asked, and c. */
static inline void draw(fixture *f, mo_dtype real, int64_t items, int64_t m, bool symmetric) {
    mo_random r = mo_random_at(5, MO_PURPOSE_CHECK, 0);
    double *A = test_memory((size_t)(items * m * m) * sizeof *A), *c = test_memory((size_t)(items * m) * sizeof *c);
    for (int64_t i = 0; i < items; i++)
        for (int64_t j = 0; j < m; j++)
            for (int64_t k = 0; k < m; k++) {
                double *a = A + i * m * m;
                a[j * m + k] = (j == k) + mo_random_normal(&r) / (2 * sqrt((double)m));
                if (symmetric && k <= j)
                    a[j * m + k] = a[k * m + j] = (j == k) * 2 + a[j * m + k] / 4;
            }
    for (int64_t i = 0; i < items * m; i++)
        c[i] = mo_random_normal(&r);
    for (int i = 0; i < 2; i++) {
        HELD(mo_tensor) *wide = mo_tensor_create_from(f->ctx, MO_F64, i ? 2 : 3, (int64_t[]){items, m, m}, i ? c : A);
        mo_tensor_release(f->theta[i]);
        f->theta[i] = mo_require_grad(mo_tensor_create(f->ctx, real, i ? 2 : 3, (int64_t[]){items, m, m}));
        mo_tensor_copy(f->theta[i], wide);
    }
}

enum { ITEMS = 3, M = 6 };

static inline int set_up(void **state) {
    static fixture f;
    f = fixture_create(0);
    draw(&f, MO_F64, ITEMS, M, false);
    *state = &f;
    return 0;
}

static inline int tear_down(void **state) {
    held_fixture(*state);
    return 0;
}

static const fixtures around_each = {set_up, tear_down};

#endif
