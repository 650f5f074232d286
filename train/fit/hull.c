/* train/fit/hull.c - the distance of a point to the convex hull of others, by Wolfe's algorithm for the nearest point
 * of a polytope (Wolfe 1976, Finding the nearest point in a polytope, Mathematical Programming 11).
 *
 *     minimise |x|, x = sum_j w_j q_j, w >= 0, sum w = 1,   q_j = points_j - p
 *
 * The corral is a set of affinely independent points whose nearest point x to the origin lies inside their hull. While
 * some q_j has x q_j < |x|^2, it enters; then x goes to the nearest point of the affine hull, stopping at the border
 * and dropping the points whose weights vanish, until that nearest point is inside. |x| falls every time, so no
 * corral returns, and the end is exact. x is optimal where x q_j >= |x|^2 for all j (the Karush-Kuhn-Tucker
 * conditions). The steps are those of corral.c. */
#include "tensor/hidden.h"
#include "train/fit/corral.h"
#include "train/fit/geometry.h"

#include <float.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

/* The number of point j of q among the C points of gram. */
static int64_t among_all(const mo_corral *c, int64_t j) {
    return j < c->origin ? j : j + 1;
}

/* Ranks the points by x q_j = sum_i w_i q_i q_j from gram, in size * n steps instead of d * n. The least is not above
 * what is returned. */
static double rank_points(const mo_corral *c) {
    int64_t C = c->n + 1;
    for (int64_t j = 0; j < C; j++)
        c->rank[j] = -c->gram[c->origin * C + j];
    for (int64_t i = 0; i < c->size; i++) {
        const double *row = c->gram + among_all(c, c->member[i]) * C, w = c->weight[i];
        for (int64_t j = 0; j < C; j++)
            c->rank[j] += w * row[j];
    }
    double least = INFINITY;
    for (int64_t j = 0; j < c->n; j++)
        least = fmin(least, c->rank[among_all(c, j)]);
    return least + 2 * c->rounding;
}

/* The point with the least x q_j; -1 if x is optimal to rounding or that point can make no progress. */
static int64_t hull_entering(const mo_corral *c, double length) {
    int64_t best = 0;
    double least = INFINITY, highest = c->gram ? rank_points(c) : INFINITY;
    for (int64_t j = 0; j < c->n; j++) {
        if (c->gram && c->rank[among_all(c, j)] > highest)
            continue;
        double along = mo_corral_dot(c->x, c->q + j * c->d, c->d);
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
static double hull_descend(mo_corral *c, double *weight) {
    double best = INFINITY;
    for (;;) {
        double length = mo_corral_place(c);
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
        if (!mo_corral_extend_basis(c, c->size))
            return best;
        c->size++;
        do
            mo_corral_solve_affine(c);
        while (!mo_corral_step_to_affine(c));
    }
}

/* ---- one point and others; each point and the others ---- */

/* Makes room for n points [n, d] in q, followed by the weights of the answer. Free c->memory and c->member. */
static bool hull_reserve(mo_context *ctx, int64_t n, int64_t d, mo_corral *c) {
    int64_t room = (n < d + 1 ? n : d + 1) + 1;
    *c = (mo_corral){.n = n, .d = d, .room = room, .origin = n};
    c->memory = mo_host_array(ctx, n * d + n + room * (d + room + 2) + d + n + 1, sizeof *c->memory);
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
    c->rank = c->x + d;
    return true;
}

/* Fills q and its scale, and starts from the nearest point as the first corral; skips the point at `origin`. Returns
 * false if a number is not finite. */
static bool hull_start(mo_corral *c, const double *points, const double *p) {
    double nearest = INFINITY, *q = c->memory;
    c->scale = 0;
    for (int64_t j = 0; j < c->n; j++) {
        const double *from = points + among_all(c, j) * c->d;
        for (int64_t k = 0; k < c->d; k++)
            q[j * c->d + k] = from[k] - p[k];
        double length = sqrt(mo_corral_dot(q + j * c->d, q + j * c->d, c->d));
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
static double hull_measure(mo_corral *c, const double *points, const double *p) {
    return hull_start(c, points, p) ? hull_descend(c, c->found) : NAN;
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
    if (!mo_ok(ctx))
        return NAN;
    mo_corral c;
    double distance = hull_reserve(ctx, n, d, &c) ? check_hull_distance(ctx, hull_measure(&c, points, p)) : NAN;
    if (c.found && weight)
        memcpy(weight, c.found, (size_t)n * sizeof *weight);
    free(c.memory);
    free(c.member);
    return distance;
}

bool mo_hull_leave_one_out(
    const mo_geometry *g, const double *X, int64_t n, int64_t d, const double *gram, double *distance) {
    int all = mo_context_threads(g->ctx), threads = all < n ? all : (int)n;
    mo_corral *own = mo_host_array(g->ctx, threads, sizeof *own);
    double longest = 0;
    for (int64_t i = 0; gram && i < n; i++)
        longest = fmax(longest, gram[i * n + i]);
    bool ready = own;
    for (int i = 0; ready && i < threads; i++)
        ready = hull_reserve(g->ctx, n - 1, d, &own[i]);
    int64_t done = 0;
#pragma omp parallel for num_threads(all) schedule(dynamic) if (ready)
    for (int64_t p = 0; p < (ready ? n : 0); p++) {
        mo_corral *c = &own[threads < all ? p : omp_get_thread_num()];
        c->gram = gram;
        c->rounding = 8 * (double)(n + d) * DBL_EPSILON * longest; /* bounds the rounding of n or d such products */
        c->origin = p;
        distance[p] = hull_measure(c, X, X + p * d);
        mo_geometry_progress(g, "distances to the hull", &done, n);
    }
    for (int64_t p = 0; ready && p < n; p++)
        check_hull_distance(g->ctx, distance[p]);
    for (int i = 0; own && i < threads; i++) {
        free(own[i].memory);
        free(own[i].member);
    }
    free(own);
    return mo_ok(g->ctx);
}
