/* train/fit/diagnosis.c - how the geometry of embeddings affects prototypes under inner products (paper, section 2):
 * the offset of the embeddings' mean relative to the spread of the classes, which boundaries between two classes miss
 * the rows of both, and which prototypes lie in or near the convex hull of the other prototypes. */
#include "autograd/tape.h"
#include "tensor/library.h"
#include "train/episodes/plan_members.h"
#include "train/inside.h"

#include <math.h>
#include <stdlib.h>

/* ---- hulls ---- */

/* |X P - q|^2 of each row of X [m, n]; theta: P [n, d], q [m, d], own [m, n] and moved [m, d]: for row i, the point
 * where own is 1 stands moved_i from its place. */
static mo_tensor *squared_distance(mo_tape *t, mo_tensor *X, mo_tensor *const *theta, int n, void *state) {
    (void)n, (void)state;
    mo_tensor *weight = mo_sum(t, mo_mul(t, X, theta[2]), MO_AXIS(1), MO_KEEP_AXES);
    mo_tensor *nearest = mo_add(t, mo_matmul(t, X, theta[0]), mo_mul(t, weight, theta[3]));
    return mo_sum(t, mo_square(t, mo_sub(t, nearest, theta[1])), MO_AXIS(1), MO_DROP_AXES);
}

/* Writes the distances of the points first .. stop - 1 of P [n, d], of size about 1, to the hull of all others: least
 * squares with weights X [m, n] on the simplex, which are returned. A copy of the next point takes a point's own place,
 * which leaves that hull as it is. */
static mo_tensor *leave_out(mo_tape *t, mo_tensor *P, int64_t first, int64_t stop, double *distance) {
    int64_t n = mo_dim(P, 0);
    mo_tensor *q = mo_slice(t, P, MO_AXIS(0), first, stop), *own = mo_eye(t, MO_F64, n);
    mo_tensor *turned[] = {mo_slice(t, P, MO_AXIS(0), 1, n), mo_slice(t, P, MO_AXIS(0), 0, 1)};
    mo_tensor *next = mo_slice(t, mo_concat(t, turned, 2, MO_AXIS(0)), MO_AXIS(0), first, stop);
    mo_tensor *theta[] = {P, q, mo_slice(t, own, MO_AXIS(0), first, stop), mo_sub(t, next, q)};
    mo_solver_options o = {.tolerance = 1e-13, .iterations = 20000};
    o.implicit = (mo_implicit_options){.batch_axes = 1, .accept = true, .residual = -1};
    mo_tensor *X = mo_projected_gradient(t, mo_scale(t, theta[2], 0, 1 / (double)n), squared_distance, theta, 4, &o);
    mo_tensor_read(
        mo_sqrt(t, squared_distance(t, X, theta, 4, NULL)), distance, (size_t)(stop - first) * sizeof(double));
    return X;
}

double mo_hull_distance(mo_context *ctx, const double *points, int64_t n, int64_t d, const double *p, double *weight) {
    if (n < 1 || d < 1)
        mo_fail(ctx, MO_INVALID,
            "hull distance: expected one point or more of one coordinate or more, found %lld of %lld", (long long)n,
            (long long)d);
    if (!mo_given(ctx, "hull distance", "points", points) || !mo_given(ctx, "hull distance", "p", p))
        return NAN;
    mo_tape *t = mo_tape_create(ctx, MO_EVAL);
    mo_tensor *q = mo_from(t, MO_F64, 2, (int64_t[]){1, d}, p);
    mo_tensor *both[] = {q, mo_from(t, MO_F64, 2, (int64_t[]){n, d}, points)};
    mo_tensor *P = mo_sub(t, mo_concat(t, both, 2, MO_AXIS(0)), q);
    double scale = mo_item(mo_max(t, mo_row_norm(t, P), MO_ALL, MO_DROP_AXES)), distance = NAN, own = 0;
    if (mo_ok(ctx) && !isfinite(scale))
        mo_fail(ctx, MO_NUMERICAL, "hull distance: a coordinate is not finite, or too large to be squared");
    mo_tensor *X = leave_out(t, mo_scale(t, P, scale > 0 ? 1 / scale : 1, 0), 0, 1, &distance);
    if (weight && mo_ok(ctx)) {
        mo_tensor_read(mo_slice(t, X, MO_AXIS(1), 0, 1), &own, sizeof own);
        mo_tensor_read(mo_slice(t, X, MO_AXIS(1), 1, n + 1), weight, (size_t)n * sizeof *weight);
        weight[0] += own;
    }
    mo_tape_release(t);
    return mo_ok(ctx) ? scale * distance : NAN;
}

static void leave_one_out(mo_tape *t, mo_tensor *P, const mo_diagnosis_options *o, double *distance) {
    enum { BLOCK = 64 };
    int64_t n = mo_dim(P, 0);
    for (int64_t i = 0, stop; i < n && mo_ok(mo_tape_context(t)); i = stop) {
        stop = i + BLOCK < n ? i + BLOCK : n;
        mo_scope scope = mo_scope_open(t);
        leave_out(t, P, i, stop, distance + i);
        mo_scope_close(t, &scope, NULL, 0);
        if (o->progress)
            o->progress("distances to the hull", stop, n, o->state);
    }
}

/* ---- a diagnosis ---- */

/* Adds the rows of class c. Writes the most by which a row's inner product with each prototype b exceeds the one with
 * its own prototype, to lead[0][c], and the most by which it falls short, to lead[1][c]. */
static void measure_class(
    mo_tape *t, const mo_embeddings *E, mo_tensor *P, const mo_members *m, int64_t c, double *lead, mo_diagnosis *x) {
    int64_t C = m->classes, n = mo_members_count(m, c);
    mo_scope scope = mo_scope_open(t);
    mo_tensor *Z = mo_cast(t, mo_gather_rows(t, E->Z, mo_from(t, MO_I64, 1, &n, m->member + m->start[c])), MO_F64);
    mo_tensor *score = mo_matmul(t, Z, mo_transpose(t, P));
    mo_tensor *ahead = mo_sub(t, score, mo_slice(t, score, MO_AXIS(1), c, c + 1));
    mo_tensor *apart = mo_square(t, mo_sub(t, Z, mo_slice(t, P, MO_AXIS(0), c, c + 1)));
    x->spread += mo_item(mo_sum(t, apart, MO_ALL, MO_DROP_AXES));
    x->radius = fmax(x->radius, mo_item(mo_max(t, mo_row_norm(t, Z), MO_ALL, MO_DROP_AXES)));
    for (int i = 0; i < 2; i++)
        mo_tensor_read(mo_max(t, mo_scale(t, ahead, i ? -1 : 1, 0), MO_AXIS(0), MO_DROP_AXES), lead + (i * C + c) * C,
            (size_t)C * sizeof *lead);
    mo_scope_close(t, &scope, NULL, 0);
}

/* Under inner products the boundary of prototypes a and b is <z, p_a - p_b> = 0; if all rows of both classes lie on one
 * side, one class never wins against the other. */
static void measure_rows(
    mo_tape *t, const mo_embeddings *E, mo_tensor *P, const mo_diagnosis_options *o, double *lead, mo_diagnosis *x) {
    int64_t C = x->classes, n = mo_dim(E->Z, 0);
    const double *ahead = lead, *behind = lead + C * C;
    mo_members m = {0};
    bool fine = mo_members_of_labels(mo_tape_context(t), E->graph->label, n, C, &m);
    for (int64_t c = 0; fine && c < C; c++) {
        measure_class(t, E, P, &m, c, lead, x);
        fine = mo_ok(mo_tape_context(t));
        if (o->progress)
            o->progress("boundaries of pairs", c + 1, C, o->state);
    }
    mo_members_release(&m);
    x->spread = sqrt(x->spread / (double)n);
    for (int64_t a = 0; a < C; a++)
        for (int64_t b = 0; b < a; b++)
            x->missed +=
                !(behind[a * C + b] > 0 || ahead[b * C + a] > 0) || !(ahead[a * C + b] >= 0 || behind[b * C + a] >= 0);
}

/* Sets the prototypes' places from values [6, C]: norms, two coordinates, distances in the plane and in space. A corner
 * of the plane lies outside the hull of all others by more than rounding: coordinates there are roots of eigenvalues.
 */
static void place_prototypes(const double *value, double epsilon, mo_diagnosis *x) {
    int64_t C = x->classes;
    double nearest_outer = INFINITY;
    for (int64_t c = 0; c < C; c++) {
        double distance = value[4 * C + c];
        x->prototype[c] = (mo_prototype){.norm = value[c],
            .distance = distance,
            .inside = distance <= 1e-7,
            .included =
                distance<epsilon, .x = value[C + 2 * c + 1], .y = value[C + 2 * c], .outer = value[3 * C + c]> 1e-6};
        nearest_outer = x->prototype[c].outer ? fmin(nearest_outer, distance) : nearest_outer;
    }
    for (int64_t c = 0; c < C; c++)
        x->prototype[c].flagged = x->prototype[c].distance < nearest_outer;
}

/* host: memory for 2 C^2 + 5 C numbers. The principal components come from the prototypes' centred Gram matrix. */
static void diagnose(mo_tape *t, const mo_embeddings *E, const mo_diagnosis_options *o, double *host, mo_diagnosis *x) {
    mo_context *ctx = mo_tape_context(t);
    int64_t n = mo_dim(E->Z, 0), C = x->classes;
    size_t each = (size_t)C * sizeof *host;
    double *value = host + 2 * C * C;
    mo_tensor *Z = mo_cast(t, E->Z, MO_F64), *label = mo_from(t, MO_I64, 1, &n, E->graph->label), *w, *V;
    mo_tensor *count = mo_scatter_add_rows(t, mo_full(t, MO_F64, 2, (int64_t[]){n, 1}, 1), label, C);
    mo_tensor *P = mo_div(t, mo_scatter_add_rows(t, Z, label, C), count);
    mo_tensor *centred = mo_sub(t, P, mo_mean(t, P, MO_AXIS(0), MO_KEEP_AXES)), *G = mo_gram(t, centred);
    mo_tensor *square = mo_reshape(t, mo_diagonal(t, G), 2, (int64_t[]){C, 1});
    mo_tensor *apart = mo_sub(t, mo_add(t, square, mo_transpose(t, square)), mo_scale(t, G, 2, 0));
    x->pairs = C * (C - 1) / 2;
    apart = mo_sum(t, mo_sqrt(t, mo_clamp(t, apart, 0, INFINITY)), MO_ALL, MO_DROP_AXES);
    x->mean_distance = mo_item(apart) / (double)(2 * x->pairs);
    x->offset = mo_item(mo_row_norm(t, mo_mean(t, Z, MO_AXIS(0), MO_DROP_AXES)));
    if (mo_ok(ctx) && !isfinite(x->mean_distance))
        mo_fail(ctx, MO_NUMERICAL, "diagnose: the prototypes are too large for their distances to be squared");
    measure_rows(t, E, P, o, host, x);
    mo_eigh(t, G, &w, &V);
    mo_tensor *plane = mo_slice(t, mo_mul(t, V, mo_sqrt(t, mo_clamp(t, w, 0, INFINITY))), MO_AXIS(1), C - 2, C);
    double widest = mo_item(mo_max(t, mo_row_norm(t, plane), MO_ALL, MO_DROP_AXES));
    mo_tensor_read(mo_row_norm(t, P), value, each);
    mo_tensor_read(plane, value + C, 2 * each);
    leave_one_out(t, mo_scale(t, plane, widest > 0 ? 1 / widest : 1, 0), o, value + 3 * C);
    centred = mo_scale(t, centred, x->mean_distance > 0 ? 1 / x->mean_distance : 1, 0);
    leave_one_out(t, centred, o, value + 4 * C);
    if (mo_ok(ctx))
        place_prototypes(value, o->epsilon, x);
}

mo_code mo_diagnose(const mo_embeddings *E, const mo_diagnosis_options *options, mo_diagnosis *diagnosis) {
    mo_context *ctx = E ? mo_tensor_context(E->Z) : NULL;
    if (!E || !mo_given(ctx, "diagnose", "options", options) || !mo_given(ctx, "diagnose", "diagnosis", diagnosis))
        return E ? mo_code_of(ctx) : MO_INVALID;
    int64_t C = E->graph->classes;
    double *host = mo_host_array(ctx, C * (2 * C + 5), sizeof *host);
    *diagnosis = (mo_diagnosis){.classes = C, .prototype = mo_host_array(ctx, C, sizeof *diagnosis->prototype)};
    mo_tape *t = mo_tape_create(ctx, MO_EVAL);
    if (mo_ok(ctx))
        diagnose(t, E, options, host, diagnosis);
    mo_tape_release(t);
    free(host);
    if (!mo_ok(ctx))
        mo_diagnosis_release(diagnosis);
    return mo_code_of(ctx);
}

void mo_diagnosis_release(mo_diagnosis *diagnosis) {
    if (!diagnosis)
        return;
    free(diagnosis->prototype);
    *diagnosis = (mo_diagnosis){0};
}
