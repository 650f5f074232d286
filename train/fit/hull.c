/* train/fit/hull.c - the distance of a point to the convex hull of other points, by Wolfe's algorithm for the nearest
 * point of a polytope (Wolfe 1976, Finding the nearest point in a polytope, Mathematical Programming 11).
 *
 *     minimise |x|, x = sum_j w_j q_j, w >= 0, sum w = 1,   q_j = points_j - p
 *
 * The corral is a set of affinely independent points whose nearest point x to the origin lies inside their hull. While
 * some q_j has x q_j < |x|^2, it enters; then x goes to the nearest point of the affine hull, stopping at the border
 * and dropping the points whose weights vanish, until that nearest point is inside. |x| falls every time, so no corral
 * occurs twice, and the result is exact. x is optimal where x q_j >= |x|^2 for all j (the Karush-Kuhn-Tucker
 * conditions).
 *
 * The nearest point of the affine hull is a least-squares problem in the differences to the first point, solved by an
 * orthonormal basis that grows by one vector per point (Gram-Schmidt, twice). No Gram matrix squares the condition
 * number, so a distance of 0 is computed as rounding error, not as its root. */
#include "tensor/cpu/tasks.h"
#include "tensor/hidden.h"
#include "train/fit/fit_parts.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- affinely independent points, and the nearest point of their hull to the origin ---- */

typedef struct corral {
    const double *q; /* [n, d] */
    int64_t n, d, room, size;
    double *memory, *found;  /* memory: q, then all arrays but member; found [n]: the answer's weights */
    int64_t *member;         /* [room] */
    double *weight, *affine; /* [room]: weights of x, and of the affine hull's nearest point */
    double *Q;               /* [room, d]: row i >= 1 orthonormalises member i minus member 0 */
    double *R;               /* [room, room]: difference i = sum over j <= i of R[i, j] Q[j] */
    double *x;               /* [d] */
    double scale;            /* the largest |q_j| */
} corral;

static double corral_dot(const double *a, const double *b, int64_t d) {
    double sum = 0;
    for (int64_t k = 0; k < d; k++)
        sum += a[k] * b[k];
    return sum;
}

static const double *corral_point(const corral *c, int64_t i) {
    return c->q + c->member[i] * c->d;
}

/* Fills row i of the basis. If member i depends on the members before it, the row and its weight are zero, and the
 * result is false. */
static bool corral_extend_basis(corral *c, int64_t i) {
    double *row = c->Q + i * c->d, *r = c->R + i * c->room;
    for (int64_t k = 0; k < c->d; k++)
        row[k] = corral_point(c, i)[k] - corral_point(c, 0)[k];
    double before = sqrt(corral_dot(row, row, c->d));
    memset(r, 0, (size_t)c->room * sizeof *r);
    for (int pass = 0; pass < 2; pass++)
        for (int64_t j = 1; j < i; j++) {
            const double *other = c->Q + j * c->d;
            double along = corral_dot(row, other, c->d);
            r[j] += along;
            for (int64_t k = 0; k < c->d; k++)
                row[k] -= along * other[k];
        }
    double length = sqrt(corral_dot(row, row, c->d));
    bool independent = length > 64 * DBL_EPSILON * fmax(before, c->scale);
    r[i] = independent ? length : 0;
    for (int64_t k = 0; k < c->d; k++)
        row[k] = independent ? row[k] / length : 0;
    return independent;
}

/* The weights of the nearest point of the affine hull: R^T u = -Q q_0, the first weight 1 - sum u. */
static void corral_solve_affine(corral *c) {
    double *u = c->affine;
    u[0] = 1;
    for (int64_t i = 1; i < c->size; i++)
        u[i] = -corral_dot(c->Q + i * c->d, corral_point(c, 0), c->d);
    for (int64_t j = c->size - 1; j >= 1; j--) {
        double diagonal = c->R[j * c->room + j];
        for (int64_t i = j + 1; i < c->size; i++)
            u[j] -= c->R[i * c->room + j] * u[i];
        u[j] = diagonal > 0 ? u[j] / diagonal : 0;
    }
    for (int64_t i = 1; i < c->size; i++)
        u[0] -= u[i];
}

static void corral_drop(corral *c, int64_t i) {
    for (int64_t j = i; j + 1 < c->size; j++) {
        c->member[j] = c->member[j + 1];
        c->weight[j] = c->weight[j + 1];
    }
    c->size--;
    for (int64_t j = i > 1 ? i : 1; j < c->size; j++)
        corral_extend_basis(c, j);
}

/* Moves the weights towards the affine ones as far as the hull allows. Returns whether the weights reach the affine
 * ones. */
static bool corral_step_to_affine(corral *c) {
    double theta = 1;
    int64_t first = -1;
    for (int64_t i = 0; i < c->size; i++)
        if (c->affine[i] <= 0 && c->weight[i] <= theta * (c->weight[i] - c->affine[i])) {
            theta = c->weight[i] > 0 ? c->weight[i] / (c->weight[i] - c->affine[i]) : 0;
            first = i;
        }
    for (int64_t i = 0; i < c->size; i++)
        c->weight[i] += theta * (c->affine[i] - c->weight[i]);
    if (first < 0)
        return true;
    c->weight[first] = 0;
    for (int64_t i = c->size - 1; i >= 0 && c->size > 1; i--)
        if (c->weight[i] <= 0)
            corral_drop(c, i);
    return false;
}

/* Sets x, with weights whose sum is 1 to rounding; returns |x|. */
static double corral_place(corral *c) {
    double sum = 0;
    for (int64_t i = 0; i < c->size; i++)
        sum += c->weight[i];
    memset(c->x, 0, (size_t)c->d * sizeof *c->x);
    for (int64_t i = 0; i < c->size; i++) {
        c->weight[i] /= sum;
        for (int64_t k = 0; k < c->d; k++)
            c->x[k] += c->weight[i] * corral_point(c, i)[k];
    }
    return sqrt(corral_dot(c->x, c->x, c->d));
}

/* ---- the optimal corral ---- */

/* The point with the least x q_j; -1 if x is optimal to rounding or that point makes no progress. */
static int64_t hull_entering(const corral *c, double length) {
    int64_t best = 0;
    double least = INFINITY;
    for (int64_t j = 0; j < c->n; j++) {
        double along = corral_dot(c->x, c->q + j * c->d, c->d);
        if (along < least) {
            least = along;
            best = j;
        }
    }
    if (length * length - least <= 1e-15 * (double)c->d * c->scale * length)
        return -1;
    for (int64_t i = 0; i < c->size; i++)
        if (c->member[i] == best)
            return -1;
    return best;
}

/* Starts from the nearest point; keeps the best weights in `weight` (zeroed, [n]). Returns the distance. */
static double hull_descend(corral *c, double *weight) {
    double best = INFINITY;
    for (;;) {
        double length = corral_place(c);
        if (!(length < best))
            return best;
        best = length;
        memset(weight, 0, (size_t)c->n * sizeof *weight);
        for (int64_t i = 0; i < c->size; i++)
            weight[c->member[i]] = c->weight[i];
        int64_t next = hull_entering(c, length);
        if (next < 0 || c->size == c->room)
            return best;
        c->member[c->size] = next;
        c->weight[c->size] = 0;
        if (!corral_extend_basis(c, c->size))
            return best;
        c->size++;
        do
            corral_solve_affine(c);
        while (!corral_step_to_affine(c));
    }
}

/* ---- one point and all others ---- */

/* Allocates n points [n, d] in q, followed by the weights of the answer. Free c->memory and c->member. */
static bool hull_reserve(mo_context *ctx, int64_t n, int64_t d, corral *c) {
    int64_t room = (n < d + 1 ? n : d + 1) + 1;
    *c = (corral){.n = n, .d = d, .room = room};
    c->memory = mo_host_array(ctx, n * d + n + room * (d + room + 2) + d, sizeof *c->memory);
    c->member = mo_host_array(ctx, room, sizeof *c->member);
    if (!c->memory || !c->member)
        return false;
    c->q = c->memory;
    c->found = c->memory + n * d;
    c->weight = c->found + n;
    c->affine = c->weight + room;
    c->Q = c->affine + room;
    c->R = c->Q + room * d;
    c->x = c->R + room * room;
    return true;
}

/* Fills q and its scale, and starts from the nearest point as the first corral; skips the point `origin` (n: none).
 * Returns false if a number is not finite. */
static bool hull_start(corral *c, const double *points, int64_t origin, const double *p) {
    double nearest = INFINITY, *q = c->memory;
    c->scale = 0;
    for (int64_t j = 0; j < c->n; j++) {
        const double *from = points + (j < origin ? j : j + 1) * c->d;
        for (int64_t k = 0; k < c->d; k++)
            q[j * c->d + k] = from[k] - p[k];
        double length = sqrt(corral_dot(q + j * c->d, q + j * c->d, c->d));
        if (!isfinite(length))
            return false;
        c->scale = fmax(c->scale, length);
        if (length < nearest) {
            nearest = length;
            c->member[0] = j;
        }
    }
    c->size = 1;
    c->weight[0] = 1;
    return true;
}

/* The distance; NaN if a number is not finite. */
static double hull_measure(corral *c, const double *points, int64_t origin, const double *p) {
    return hull_start(c, points, origin, p) ? hull_descend(c, c->found) : NAN;
}

static double check_hull_distance(mo_context *ctx, double distance) {
    if (mo_ok(ctx) && isnan(distance))
        mo_fail(ctx, MO_NUMERICAL, "hull distance: a coordinate is not finite, or too large to be squared");
    return distance;
}

double mo_hull_distance(mo_context *ctx, const double *points, int64_t n, int64_t d, const double *p, double *weight) {
    if (n < 1 || d < 1)
        mo_fail(ctx, MO_INVALID,
            "hull distance: expected one point or more of one coordinate or more, found %lld of %lld", (long long)n,
            (long long)d);
    if (!mo_given(ctx, "hull distance", "points", points) || !mo_given(ctx, "hull distance", "p", p))
        return NAN;
    corral c;
    double distance = hull_reserve(ctx, n, d, &c) ? check_hull_distance(ctx, hull_measure(&c, points, n, p)) : NAN;
    if (c.found && weight)
        memcpy(weight, c.found, (size_t)n * sizeof *weight);
    free(c.memory);
    free(c.member);
    return distance;
}

typedef struct left_out {
    const mo_geometry *g;
    const double *X;
    int64_t n, d;
    corral *own; /* of each thread, or of each point */
    bool of_points;
    double *distance;
    int64_t *done;
} left_out;

static void leave_some_out(const void *of, task_range some) {
    const left_out *w = of;
    for (int64_t p = some.first; p < some.end; p++) {
        corral *c = &w->own[w->of_points ? p : some.thread];
        w->distance[p] = hull_measure(c, w->X, p, w->X + p * w->d);
        mo_geometry_progress(w->g, "distances to the hull", some.thread, w->done, w->n);
    }
}

bool mo_hull_leave_one_out(const mo_geometry *g, const double *X, int64_t n, int64_t d, double *distance) {
    int all = mo_context_threads(g->ctx), threads = all < n ? all : (int)n;
    corral *own = mo_host_array(g->ctx, threads, sizeof *own);
    bool ready = own;
    for (int i = 0; ready && i < threads; i++)
        ready = hull_reserve(g->ctx, n - 1, d, &own[i]);
    int64_t done = 0;
    const left_out w = {
        .g = g, .X = X, .n = n, .d = d, .own = own, .of_points = threads < all, .distance = distance, .done = &done};
    if (ready)
        run_tasks(all, n, 1, leave_some_out, &w);
    for (int64_t p = 0; ready && p < n; p++)
        check_hull_distance(g->ctx, distance[p]);
    for (int i = 0; own && i < threads; i++) {
        free(own[i].memory);
        free(own[i].member);
    }
    free(own);
    return mo_ok(g->ctx);
}
