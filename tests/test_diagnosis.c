/* tests/test_diagnosis.c - what the geometry of embeddings does to prototypes, on the paper's examples. */
#include "scratch.h"
#include "train/fit.h"

#include <math.h>

static mo_diagnosis diagnose(scratch *s, int64_t n, int64_t d, const double *z, const int64_t *y, double epsilon) {
    mo_tensor *Z = mo_tensor_from(s->ctx, MO_F64, 2, (int64_t[]){n, d}, z);
    mo_tensor *label = mo_tensor_from(s->ctx, MO_I64, 1, &n, y);
    mo_embeddings *E = mo_embeddings_create(Z, label, "example");
    mo_diagnosis x = {0};
    assert_int_equal(mo_diagnose(E, epsilon, &x), MO_OK);
    mo_embeddings_release(E);
    mo_tensor_release(Z);
    mo_tensor_release(label);
    return x;
}

/* The paper's four points: prototypes -1/2 and 3/2, whose boundary 0 separates them; shifted by 5 it misses all. */
static void the_papers_four_points_are_missed_once_shifted(void **state) {
    scratch *s = *state;
    mo_diagnosis x = diagnose(s, 4, 1, (double[]){-1, -0.1, 1, 2}, (int64_t[]){0, 0, 1, 1}, 0.1);
    assert_true(x.missed == 0 && x.pairs == 1);
    mo_diagnosis_release(&x);
    x = diagnose(s, 4, 1, (double[]){4, 5, 6, 7}, (int64_t[]){0, 0, 1, 1}, 0.1);
    assert_true(x.missed == 1 && fabs(x.offset - 5.5) <= 1e-15 && fabs(x.spread - 0.5) <= 1e-15);
    assert_true(fabs(x.mean_distance - 2) <= 1e-15 && x.radius == 7);
    mo_diagnosis_release(&x);
}

static void the_papers_three_prototypes_have_one_inside(void **state) {
    scratch *s = *state;
    const double z[] = {3, 1, 1, 3, 1, 1, 0, 0}; /* A = (2, 2), B = (1, 1), C = (0, 0) */
    mo_diagnosis x = diagnose(s, 4, 2, z, (int64_t[]){0, 0, 1, 2}, 0.1);
    assert_true(x.prototype[1].inside && x.prototype[1].included && x.prototype[1].flagged && !x.prototype[1].outer);
    for (int c = 0; c < 3; c += 2)
        assert_true(!x.prototype[c].inside && !x.prototype[c].flagged && x.prototype[c].outer);
    assert_true(fabs(x.prototype[0].distance * x.mean_distance - sqrt(2)) <= 1e-14);
    mo_diagnosis_release(&x);
    /* B' = (1, 1.2), 0.2 / sqrt(2) from the segment AC */
    const double near[] = {2, 2, 1, 1.2, 0, 0};
    x = diagnose(s, 3, 2, near, (int64_t[]){0, 1, 2}, 0.1);
    assert_true(!x.prototype[1].inside && x.prototype[1].included);
    assert_true(fabs(x.prototype[1].distance * x.mean_distance - 0.2 / sqrt(2)) <= 1e-14);
    mo_diagnosis_release(&x);
}

/* Prototypes on a line in space have two outer ones, whatever rounding makes of the second principal component; also on
 * the edges of a square, corners alone are outer. */
static void prototypes_between_others_are_not_outer(void **state) {
    scratch *s = *state;
    double line[7 * 3], square[8 * 2] = {0, 0, 1, 0, 2, 0, 2, 1, 2, 2, 1, 2, 0, 2, 0, 1};
    const int64_t y[] = {0, 1, 2, 3, 4, 5, 6, 7};
    for (int i = 0; i < 7; i++)
        for (int k = 0; k < 3; k++)
            line[i * 3 + k] = (0.1 * i * i + 0.7) * (k + 1) / 3;
    mo_diagnosis x = diagnose(s, 7, 3, line, y, 0.01);
    for (int c = 0; c < 7; c++)
        assert_true(x.prototype[c].outer == (c == 0 || c == 6) && x.prototype[c].flagged == !x.prototype[c].outer);
    mo_diagnosis_release(&x);
    x = diagnose(s, 8, 2, square, y, 0.01);
    for (int c = 0; c < 8; c++)
        assert_true(x.prototype[c].outer == !(c % 2) && x.prototype[c].flagged == !x.prototype[c].outer);
    mo_diagnosis_release(&x);
}

static void equal_rows_have_no_spread(void **state) {
    scratch *s = *state;
    double z[14];
    int64_t y[14];
    for (int i = 0; i < 14; i++)
        z[i] = (double)(y[i] = i % 2);
    mo_diagnosis x = diagnose(s, 14, 1, z, y, 0.1);
    assert_true(x.spread == 0 && x.prototype[1].norm == 1);
    mo_diagnosis_release(&x);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_papers_four_points_are_missed_once_shifted),
        cmocka_unit_test(the_papers_three_prototypes_have_one_inside),
        cmocka_unit_test(prototypes_between_others_are_not_outer),
        cmocka_unit_test(equal_rows_have_no_spread),
    };
    return cmocka_run_group_tests(tests, scratch_create, scratch_release);
}
