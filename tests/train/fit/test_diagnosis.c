/* tests/train/fit/test_diagnosis.c - how the geometry of embeddings affects prototypes, on the paper's examples. */
#include "tests/labelled_rows.h"

static mo_diagnosis diagnose(scratch *s, int64_t n, int64_t d, const double *z, const int64_t *y, double epsilon) {
    HELD(mo_embeddings) *E = embeddings_of(s->ctx, MO_F64, n, d, z, y);
    mo_diagnosis x = {0};
    assert_int_equal(mo_diagnose(E, &(mo_diagnosis_options){.epsilon = epsilon}, &x), MO_OK);
    return x;
}

/* The paper's four points: the boundary 0 of the prototypes -1/2 and 3/2 separates them; shifted by 5, all points lie
 * on one side of it. */
TEST_OF(the_papers_four_points_are_missed_once_shifted, scratch *s) {
    HELD(mo_diagnosis) x = diagnose(s, 4, 1, (double[]){-1, -0.1, 1, 2}, (int64_t[]){0, 0, 1, 1}, 0.1);
    assert_true(x.missed == 0 && x.pairs == 1);
    HELD(mo_diagnosis) y = diagnose(s, 4, 1, (double[]){4, 5, 6, 7}, (int64_t[]){0, 0, 1, 1}, 0.1);
    assert_true(y.missed == 1 && fabs(y.offset - 5.5) <= 1e-15 && fabs(y.spread - 0.5) <= 1e-15);
    assert_true(fabs(y.mean_distance - 2) <= 1e-15 && y.radius == 7);
}

TEST_OF(the_papers_three_prototypes_have_one_inside, scratch *s) {
    const double z[] = {3, 1, 1, 3, 1, 1, 0, 0}; /* A = (2, 2), B = (1, 1), C = (0, 0) */
    HELD(mo_diagnosis) x = diagnose(s, 4, 2, z, (int64_t[]){0, 0, 1, 2}, 0.1);
    assert_true(x.prototype[1].inside && x.prototype[1].included && x.prototype[1].flagged && !x.prototype[1].outer);
    for (int c = 0; c < 3; c += 2)
        assert_true(!x.prototype[c].inside && !x.prototype[c].flagged && x.prototype[c].outer);
    assert_true(fabs(x.prototype[0].distance * x.mean_distance - sqrt(2)) <= 1e-14);
    /* B' = (1, 1.2), 0.2 / sqrt(2) from the segment AC */
    const double near[] = {2, 2, 1, 1.2, 0, 0};
    HELD(mo_diagnosis) y = diagnose(s, 3, 2, near, (int64_t[]){0, 1, 2}, 0.1);
    assert_true(!y.prototype[1].inside && y.prototype[1].included);
    assert_true(fabs(y.prototype[1].distance * y.mean_distance - 0.2 / sqrt(2)) <= 1e-14);
}

/* Of prototypes on a line in space two are outer, whatever rounding makes of the second principal component; on the
 * edges of a square only the corners are. */
TEST_OF(prototypes_between_others_are_not_outer, scratch *s) {
    double line[7 * 3], square[8 * 2] = {0, 0, 1, 0, 2, 0, 2, 1, 2, 2, 1, 2, 0, 2, 0, 1};
    const int64_t y[] = {0, 1, 2, 3, 4, 5, 6, 7};
    for (int i = 0; i < 7; i++)
        for (int k = 0; k < 3; k++)
            line[i * 3 + k] = (0.1 * i * i + 0.7) * (k + 1) / 3;
    HELD(mo_diagnosis) x = diagnose(s, 7, 3, line, y, 0.01);
    for (int c = 0; c < 7; c++)
        assert_true(x.prototype[c].outer == (c == 0 || c == 6) && x.prototype[c].flagged == !x.prototype[c].outer);
    mo_diagnosis_release(&x);
    x = diagnose(s, 8, 2, square, y, 0.01);
    for (int c = 0; c < 8; c++)
        assert_true(x.prototype[c].outer == !(c % 2) && x.prototype[c].flagged == !x.prototype[c].outer);
}

/* ---- many classes ---- */

enum { MANY = 90, EACH = 3, DIM = 4 };

/* Draws normal rows around normal centres, classes in turn. With seed 21 some boundaries have all their rows on one
 * side. */
static void draw_many(double *z, int64_t *y) {
    mo_random r = mo_random_at(21, MO_PURPOSE_CHECK, 0);
    for (int i = 0; i < MANY * EACH; i++) {
        y[i] = i % MANY;
        for (int k = 0; k < DIM; k++)
            z[i * DIM + k] =
                (i < MANY ? 2 + mo_random_normal(&r) : z[(i % MANY) * DIM + k]) + 0.3 * mo_random_normal(&r);
    }
}

/* Counts the pairs of classes whose boundary has all their rows on one side, by definition. */
static int count_missed(const double *z, const int64_t *y) {
    double P[MANY][DIM] = {{0}};
    int missed = 0;
    for (int i = 0; i < MANY * EACH; i++)
        for (int k = 0; k < DIM; k++)
            P[y[i]][k] += z[i * DIM + k] / EACH;
    for (int a = 0; a < MANY; a++)
        for (int b = 0; b < a; b++) {
            int above = 0, below = 0;
            for (int i = 0; i < MANY * EACH; i++) {
                double margin = 0;
                for (int k = 0; k < DIM; k++)
                    margin += z[i * DIM + k] * (P[a][k] - P[b][k]);
                above += (y[i] == a || y[i] == b) && margin > 0;
                below += (y[i] == a || y[i] == b) && margin <= 0;
            }
            missed += !above || !below;
        }
    return missed;
}

TEST(pairs_are_missed_as_defined) {
    static double z[MANY * EACH * DIM];
    static int64_t y[MANY * EACH];
    draw_many(z, y);
    HELD(mo_diagnosis) x = diagnose(*state, MANY * EACH, DIM, z, y, 0.1);
    assert_int_equal(x.pairs, MANY * (MANY - 1) / 2);
    assert_int_equal(x.missed, count_missed(z, y));
    assert_true(x.missed > x.pairs / 10 && x.missed < 9 * x.pairs / 10);
}

typedef struct told {
    int64_t calls, last;
} told;

static void on_progress(const char *part, int64_t done, int64_t of, void *state) {
    told *t = state;
    assert_true(strlen(part) > 0 && done >= 1 && done <= of);
    t->calls++;
    t->last = of;
}

/* Blocks of points are measured in units of the mean distance and from the mean, a point alone from itself. Rows are
 * prototypes (one per class), far from the origin, in fewer and in more dimensions than there are points. */
TEST_OF(hull_distances_are_those_of_each_point_alone, scratch *s) {
    enum { POINTS = 70, MOST = 90 };
    static double z[POINTS * MOST], others[(POINTS - 1) * MOST];
    int64_t y[POINTS];
    mo_random r = mo_random_at(22, MO_PURPOSE_CHECK, 0);
    for (int64_t d = 3; d <= MOST; d += MOST - 3) {
        for (int64_t i = 0; i < POINTS * d; i++)
            z[i] = 100 + mo_random_normal(&r);
        for (int i = 0; i < POINTS; i++)
            y[i] = i;
        HELD(mo_embeddings) *E = embeddings_of(s->ctx, MO_F64, POINTS, d, z, y);
        HELD(mo_diagnosis) x = {0};
        told t = {0};
        assert_int_equal(
            mo_diagnose(E, &(mo_diagnosis_options){.epsilon = 0.1, .progress = on_progress, .state = &t}, &x), MO_OK);
        assert_true(t.calls > 0 && t.last == POINTS);
        for (int64_t p = 0; p < POINTS; p++) {
            memcpy(others, z, (size_t)(p * d) * sizeof *z);
            memcpy(others + p * d, z + (p + 1) * d, (size_t)((POINTS - 1 - p) * d) * sizeof *z);
            double alone = mo_hull_distance(s->ctx, others, POINTS - 1, d, z + p * d, NULL);
            assert_true(fabs(x.prototype[p].distance - alone / x.mean_distance) <= 1e-12);
        }
    }
}
