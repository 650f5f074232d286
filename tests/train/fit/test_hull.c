/* tests/train/fit/test_hull.c - distances to convex hulls: 200 seeded instances, some of them degenerate, against the
 * optimality conditions, which bound the error. */
#include "tests/scratch.h"

enum { INSTANCES = 200, MOST = 8, DIM = 9 };

typedef struct instance {
    int64_t n, d;
    double points[MOST * DIM], p[DIM], scale;
} instance;

/* Makes the last point, or p, degenerate by the number of the instance: a copy of a point, a point between two others,
 * p in the hull. */
static void degrade(instance *h, int number, mo_random *r) {
    int64_t n = h->n, d = h->d;
    for (int64_t k = 0; k < d; k++) {
        if (number % 5 == 1 && n > 1) /* duplicates */
            h->points[(n - 1) * d + k] = h->points[k];
        if (number % 5 == 2 && n > 2) /* collinear */
            h->points[(n - 1) * d + k] = 0.25 * h->points[k] + 0.75 * h->points[d + k];
        if (number % 5 == 3) { /* moves p inside: to the mean of all points, or of two, on an edge */
            h->p[k] = 0;
            int64_t of = number % 2 && n > 1 ? 2 : n;
            for (int64_t i = 0; i < of; i++)
                h->p[k] += h->points[i * d + k] / (double)of;
        }
    }
    if (number % 25 == 4)
        for (int64_t k = 0; k < d; k++) /* moves p onto a point */
            h->p[k] = h->points[mo_random_below(r, 1) * d + k];
}

/* Draws an instance: 1 to 8 normal points in 1 to 9 dimensions, shifted and scaled by up to 1e3. */
static instance make(int number) {
    mo_random r = mo_random_at(11, MO_PURPOSE_CHECK, (uint64_t)number);
    instance h = {.n = 1 + number % MOST, .d = 1 + mo_random_below(&r, DIM)};
    double size = pow(10, 6 * mo_random_uniform(&r) - 3), shift = number % 3 ? 0 : 3;
    for (int64_t i = 0; i < h.n * h.d; i++)
        h.points[i] = size * (mo_random_normal(&r) + shift);
    for (int64_t k = 0; k < h.d; k++)
        h.p[k] = size * 0.5 * mo_random_normal(&r);
    degrade(&h, number, &r);
    for (int64_t i = 0; i < h.n; i++) {
        double square = 0;
        for (int64_t k = 0; k < h.d; k++)
            square += pow(h.points[i * h.d + k] - h.p[k], 2);
        h.scale = fmax(h.scale, sqrt(square));
    }
    h.scale = fmax(h.scale, 1e-300);
    return h;
}

/* Computes x = sum_j w_j points_j - p; returns its length. */
static double residual(const instance *h, const double *w, double x[DIM]) {
    double square = 0;
    for (int64_t k = 0; k < h->d; k++) {
        x[k] = -h->p[k];
        for (int64_t j = 0; j < h->n; j++)
            x[k] += w[j] * h->points[j * h->d + k];
        square += x[k] * x[k];
    }
    return sqrt(square);
}

/* Checks that the weights are in the simplex, that x has the stated length, and that x q_j >= |x|^2 for all j up to
 * the solver's tolerance, unless x is 0 up to its root. This bounds how much nearer another point of the hull can be:
 * |x| - |x*| <= (|x|^2 - min_j x q_j) / |x|. */
TEST_OF(distances_meet_the_optimality_conditions, scratch *s) {
    for (int number = 0; number < INSTANCES; number++) {
        instance h = make(number);
        double w[MOST], x[DIM], sum = 0, gap = 0;
        double distance = mo_hull_distance(s->ctx, h.points, h.n, h.d, h.p, w), length = residual(&h, w, x);
        for (int64_t j = 0; j < h.n; j++) {
            double along = 0;
            for (int64_t k = 0; k < h.d; k++)
                along += x[k] * (h.points[j * h.d + k] - h.p[k]);
            gap = fmax(gap, length * length - along);
            sum += w[j];
            assert_true(w[j] >= 0);
        }
        bool optimal = length <= 1e-8 * h.scale || gap <= 1e-10 * h.scale * length;
        if (!(fabs(sum - 1) <= 1e-14 * (double)h.n) || !(fabs(distance - length) <= 1e-14 * h.scale) || !optimal)
            fail_msg("instance %d: distance %g, |x| %g, sum %.17g, gap %g", number, distance, length, sum, gap);
    }
}

/* As many prototypes and dimensions as real embeddings have. The centre of the simplex of n unit vectors is 1 / sqrt(n)
 * from the origin. */
TEST_OF(many_points_in_many_dimensions, scratch *s) {
    enum { n = 200, d = 256 };
    HELD_MEMORY double *points = calloc((size_t)n * d, sizeof *points), *p = calloc(d, sizeof *p),
                       *w = calloc(n, sizeof *w);
    for (int i = 0; i < n; i++)
        points[i * d + i] = 1;
    double distance = mo_hull_distance(s->ctx, points, n, d, p, w);
    assert_true(fabs(distance - 1 / sqrt(n)) <= 1e-14);
    for (int i = 0; i < n; i++)
        assert_true(fabs(w[i] - 1.0 / n) <= 1e-12);
}

TEST_OF(bad_input_is_refused, scratch *s) {
    assert_true(isnan(mo_hull_distance(s->ctx, (double[]){0}, 0, 1, (double[]){0}, NULL)));
    assert_failed(s->ctx, MO_INVALID, PARTS("hull distance", "0 of 1"));
    assert_true(isnan(mo_hull_distance(s->ctx, (double[]){NAN}, 1, 1, (double[]){0}, NULL)));
    assert_failed(s->ctx, MO_NUMERICAL, PARTS("hull distance", "not finite"));
}
