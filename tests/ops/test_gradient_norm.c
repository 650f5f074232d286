/* tests/ops/test_gradient_norm.c - the norm of all gradients: against a plain sum in float64, at any alignment, the
 * same bits twice; and it names the parameter whose sum is not finite. */
#include "ops/fits/adamw.h"
#include "ops/ops.h"
#include "tests/drawn.h"

enum { MANY = 70 }; /* more gradients than one launch takes */

/* Lengths just below and above a piece of 8192 values, and above 16 bytes. */
static const int64_t lengths[] = {1, 3, 8191, 8192, 8193, 0, 17, 30000};

typedef struct gradients {
    mo_tensor *g[MANY], *squares, *scale;
    mo_view views[MANY];
    double expected[MANY], norm;
} gradients;

/* Gradient i begins `offset` values after an aligned address. */
static gradients gradients_create(mo_tape *t, mo_dtype real, int64_t offset) {
    gradients s = {
        .squares = mo_full(t, MO_F64, 1, (int64_t[]){MANY}, 0), .scale = mo_full(t, MO_F64, 1, (int64_t[]){2}, 0)};
    double *value = test_memory(40000 * sizeof *value), total = 0;
    mo_random r = mo_random_at(9, MO_PURPOSE_CHECK, 0);
    for (int i = 0; i < MANY; i++) {
        int64_t n = lengths[i % 8];
        s.expected[i] = 0;
        for (int64_t k = 0; k < n + offset; k++) {
            value[k] = k < offset ? NAN : (float)mo_random_normal(&r);
            s.expected[i] += k < offset ? 0 : value[k] * value[k];
        }
        total += s.expected[i];
        mo_tensor *all = mo_cast(t, mo_from(t, MO_F64, 1, (int64_t[]){n + offset}, value), real);
        s.g[i] = mo_slice(t, all, MO_AXIS(0), offset, n + offset);
    }
    s.norm = sqrt(total);
    return s;
}

static void find(gradients *s, double bound, double *squares, double *scale) {
    mo_gradient_norm(bound, s->g, MANY, s->views, s->squares, s->scale);
    mo_tensor_read(s->squares, squares, MANY * sizeof *squares);
    assert_int_equal(mo_tensor_read(s->scale, scale, 2 * sizeof *scale), MO_OK);
}

TEST_OF(norm_is_the_sum_in_float64_at_any_alignment, mo_tape *t) {
    const mo_dtype types[] = {MO_F32, MO_F64};
    const double tolerance[] = {1e-6, 1e-12}; /* the CPU sums pieces in the gradients' type */
    for (int type = 0; type < 2; type++) {
        double squares[3][MANY], scale[3][2];
        for (int64_t run = 0; run < 3; run++) { /* runs 0 and 1 aligned, run 2 not */
            gradients s = gradients_create(t, types[type], run == 2);
            find(&s, 1, squares[run], scale[run]);
            for (int i = 0; i < MANY; i++)
                assert_true(fabs(squares[run][i] - s.expected[i]) <= tolerance[type] * s.expected[i]);
            assert_true(fabs(scale[run][0] - s.norm) <= tolerance[type] * s.norm);
            assert_true(fabs(scale[run][1] - 1 / (s.norm + 1e-6)) <= tolerance[type]);
        }
        assert_memory_equal(squares[0], squares[1], sizeof squares[0]);
        assert_memory_equal(scale[0], scale[1], sizeof scale[0]);
        gradients s = gradients_create(t, types[type], 1), again = gradients_create(t, types[type], 0);
        for (int i = 0; i < MANY; i++) /* copies values at an aligned address to one that is not */
            mo_tensor_copy(s.g[i], again.g[i]);
        find(&s, 0, squares[2], scale[2]);
        assert_memory_equal(squares[0], squares[2], sizeof squares[0]);
        assert_true(scale[2][0] == scale[0][0] && scale[2][1] == 1);
        mo_tape_reset(t);
    }
}

TEST_OF(a_sum_that_is_not_finite_is_its_own_parameters, mo_tape *t) {
    gradients s = gradients_create(t, MO_F32, 0);
    double squares[MANY], scale[2];
    mo_tensor_fill(s.g[66], 1e30); /* 1e30 squared is finite only in float64 */
    find(&s, 1, squares, scale);
    for (int i = 0; i < MANY; i++)
        assert_true(isfinite(squares[i]) == (i != 66));
    mo_tape_reset(t);
}
