/* train/fit/corral.c - the nearest point of an affine hull to the origin, and the way to it inside the convex hull
 * (hull.c).
 *
 * The nearest point of the affine hull is a least-squares problem in the differences to the first point, solved by an
 * orthonormal basis that grows by one vector an entry (Gram-Schmidt, twice): no Gram matrix squares the condition, so
 * that a distance of 0 comes out at rounding, not at its root. */
#include "train/fit/corral.h"

#include <float.h>
#include <math.h>
#include <string.h>

static const double *corral_point(const mo_corral *c, int64_t i) {
    return c->q + c->member[i] * c->d;
}

bool mo_corral_extend_basis(mo_corral *c, int64_t i) {
    double *row = c->Q + i * c->d, *r = c->R + i * c->room;
    for (int64_t k = 0; k < c->d; k++)
        row[k] = corral_point(c, i)[k] - corral_point(c, 0)[k];
    double before = sqrt(mo_corral_dot(row, row, c->d));
    memset(r, 0, (size_t)c->room * sizeof *r);
    for (int pass = 0; pass < 2; pass++)
        for (int64_t j = 1; j < i; j++) {
            const double *other = c->Q + j * c->d;
            double along = mo_corral_dot(row, other, c->d);
            r[j] += along;
            for (int64_t k = 0; k < c->d; k++)
                row[k] -= along * other[k];
        }
    double length = sqrt(mo_corral_dot(row, row, c->d));
    bool independent = length > 64 * DBL_EPSILON * fmax(before, c->scale);
    r[i] = independent ? length : 0;
    for (int64_t k = 0; k < c->d; k++)
        row[k] = independent ? row[k] / length : 0;
    return independent;
}

/* R^T u = -Q q_0, the first weight 1 - sum u. */
void mo_corral_solve_affine(mo_corral *c) {
    double *u = c->affine;
    u[0] = 1;
    for (int64_t i = 1; i < c->size; i++)
        u[i] = -mo_corral_dot(c->Q + i * c->d, corral_point(c, 0), c->d);
    for (int64_t j = c->size - 1; j >= 1; j--) {
        double diagonal = c->R[j * c->room + j];
        for (int64_t i = j + 1; i < c->size; i++)
            u[j] -= c->R[i * c->room + j] * u[i];
        u[j] = diagonal > 0 ? u[j] / diagonal : 0;
    }
    for (int64_t i = 1; i < c->size; i++)
        u[0] -= u[i];
}

static void corral_drop(mo_corral *c, int64_t i) {
    for (int64_t j = i; j + 1 < c->size; j++) {
        c->member[j] = c->member[j + 1];
        c->weight[j] = c->weight[j + 1];
    }
    c->size--;
    for (int64_t j = i > 1 ? i : 1; j < c->size; j++)
        mo_corral_extend_basis(c, j);
}

bool mo_corral_step_to_affine(mo_corral *c) {
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

double mo_corral_place(mo_corral *c) {
    double sum = 0;
    for (int64_t i = 0; i < c->size; i++)
        sum += c->weight[i];
    memset(c->x, 0, (size_t)c->d * sizeof *c->x);
    for (int64_t i = 0; i < c->size; i++) {
        c->weight[i] /= sum;
        for (int64_t k = 0; k < c->d; k++)
            c->x[k] += c->weight[i] * corral_point(c, i)[k];
    }
    return sqrt(mo_corral_dot(c->x, c->x, c->d));
}
