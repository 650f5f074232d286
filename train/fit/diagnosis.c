/* train/fit/diagnosis.c - how the geometry of embeddings affects prototypes under inner products (paper, section 2):
 * the offset of the embeddings' mean relative to the spread of the classes, which boundaries between two classes miss
 * the rows of both, and which prototypes lie in or near the convex hull of the other prototypes. */
#include "tensor/cpu/tasks.h"
#include "tensor/hidden.h"
#include "train/episodes/plan_members.h"
#include "train/fit/fit_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void mo_geometry_progress(const mo_geometry *g, const char *part, int thread, int64_t *done, int64_t of) {
    int64_t now;
#pragma omp atomic capture
    now = ++*done;
    if (g->options->progress && thread == 0)
        g->options->progress(part, now, of, g->options->state);
}

static double prototype_distance(const double *a, const double *b, int64_t d) {
    double sum = 0;
    for (int64_t k = 0; k < d; k++)
        sum += (a[k] - b[k]) * (a[k] - b[k]);
    return sqrt(sum);
}

static double prototype_length(const double *a, int64_t d) {
    double sum = 0;
    for (int64_t k = 0; k < d; k++)
        sum += a[k] * a[k];
    return sqrt(sum);
}

/* Computes prototypes and mean, then offset, spread, radius and the mean distance between two prototypes. */
static void measure_geometry(mo_geometry *g, mo_diagnosis *x) {
    const int64_t *label = g->E->graph->label, *count = g->E->count;
    for (int64_t i = 0; i < g->n; i++) {
        const double *z = g->rows + i * g->d;
        x->radius = fmax(x->radius, prototype_length(z, g->d));
        for (int64_t k = 0; k < g->d; k++) {
            g->P[label[i] * g->d + k] += z[k];
            g->mean[k] += z[k];
        }
    }
    for (int64_t k = 0; k < g->d; k++) {
        g->mean[k] /= (double)g->n;
        for (int64_t c = 0; c < g->C; c++)
            g->P[c * g->d + k] /= (double)count[c];
    }
    x->offset = prototype_length(g->mean, g->d);
    double squares = 0, sum = 0;
    for (int64_t i = 0; i < g->n; i++)
        squares += pow(prototype_distance(g->rows + i * g->d, g->P + label[i] * g->d, g->d), 2);
    x->spread = sqrt(squares / (double)g->n);
    int64_t pairs = g->C * (g->C - 1) / 2;
    for (int64_t a = 0; a < g->C; a++)
        for (int64_t b = 0; b < a; b++)
            sum += prototype_distance(g->P + a * g->d, g->P + b * g->d, g->d);
    x->mean_distance = sum / (double)pairs;
}

/* ---- pairs of classes whose boundary misses their data ----
 *
 * Under inner products the boundary of prototypes p_a, p_b is <z, p_a - p_b> = 0; if all rows of both classes lie on
 * one side, one class never wins against the other. A row is scored by every prototype. The scores of a class are one
 * product Z_c P^T, row after row, each sum in the order of the columns, so that the signs do not depend on the
 * threads. */

/* score[c] = <z, prototype c>. columns: the prototypes as columns [d, C]. */
static void score_row(const mo_geometry *g, int64_t row, const double *columns, double *score) {
    memset(score, 0, (size_t)g->C * sizeof *score);
    for (int64_t k = 0; k < g->d; k++) {
        double z = g->rows[row * g->d + k];
        for (int64_t c = 0; c < g->C; c++)
            score[c] += z * columns[k * g->C + c];
    }
}

/* side [C]: bits for class c against each class b. Bit 0: some row of c scores higher for the class with the higher
 * number; bit 1: some row of c does not. */
static void see_sides(
    const mo_geometry *g, const mo_members *m, int64_t c, const double *columns, double *score, uint8_t *side) {
    for (int64_t i = m->start[c]; i < m->start[c + 1]; i++) {
        score_row(g, m->member[i], columns, score);
        for (int64_t b = 0; b < g->C; b++) {
            int64_t higher = c > b ? c : b, lower = c > b ? b : c;
            side[b] |= score[higher] > score[lower] ? 1 : 2;
        }
    }
}

/* Threads take classes, each with its own scores; class c writes only row c of side. */
typedef struct boundaries {
    const mo_geometry *g;
    const mo_members *m;
    const double *columns; /* [d, C] */
    double *score;         /* [threads, C] */
    uint8_t *side;         /* [C, C] */
    int64_t *done;
} boundaries;

static void see_some(const void *of, task_range some) {
    const boundaries *b = of;
    int64_t C = b->g->C;
    for (int64_t c = some.first; c < some.end; c++) {
        see_sides(b->g, b->m, c, b->columns, b->score + some.thread * C, b->side + c * C);
        mo_geometry_progress(b->g, "boundaries of pairs", some.thread, b->done, C);
    }
}

/* Counts pairs of classes whose boundary misses their rows: x->pairs and x->missed. False on failure. */
static bool count_missed(const mo_geometry *g, mo_diagnosis *x) {
    int64_t C = g->C, done = 0;
    mo_members m = {0};
    double *columns = mo_host_array(g->ctx, g->d * C, sizeof *columns);
    double *score = mo_host_array(g->ctx, mo_context_threads(g->ctx) * C, sizeof *score);
    uint8_t *side = mo_host_array(g->ctx, C * C, 1);
    for (int64_t i = 0; columns && i < g->d * C; i++)
        columns[i] = g->P[i % C * g->d + i / C];
    bool fine = mo_ok(g->ctx) && mo_members_of_labels(g->ctx, g->E->graph->label, g->n, C, &m);
    const boundaries b = {.g = g, .m = &m, .columns = columns, .score = score, .side = side, .done = &done};
    if (fine)
        run_tasks(mo_context_threads(g->ctx), C, 1, see_some, &b);
    x->pairs = C * (C - 1) / 2;
    for (int64_t a = 0; fine && a < C; a++)
        for (int64_t b = 0; b < a; b++)
            x->missed += (side[a * C + b] | side[b * C + a]) != 3;
    free(columns);
    free(score);
    free(side);
    mo_members_release(&m);
    return fine;
}

/* ---- hull distances, and the outer hull in the plane of the first two principal components ---- */

/* The inner products [C, C] of the prototypes minus their mean. */
static mo_tensor *centred_gram(const mo_geometry *g, mo_tape *t) {
    mo_tensor *P = mo_from(t, MO_F64, 2, (int64_t[]){g->C, g->d}, g->P);
    P = mo_sub(t, P, mo_mean(t, P, MO_AXIS(0), MO_KEEP_AXES));
    return mo_matmul(t, P, mo_transpose(t, P));
}

/* Coordinates [C, 2] in the plane: the eigenvectors of the Gram matrix of the centred prototypes are the principal
 * components. */
static bool project_prototypes(const mo_geometry *g, mo_tape *t, mo_tensor *G, double *plane) {
    int64_t C = g->C;
    mo_tensor *w, *V;
    mo_eigh(t, G, &w, &V);
    double *vector = mo_host_values(V, MO_F64), *value = mo_host_values(w, MO_F64);
    if (vector && value)
        for (int64_t c = 0; c < C; c++)
            for (int k = 0; k < 2; k++)
                plane[2 * c + k] = vector[c * C + C - 1 - k] * sqrt(fmax(value[C - 1 - k], 0));
    free(vector);
    free(value);
    return mo_ok(g->ctx);
}

/* Sets the positions in the plane, and marks the corners of the outer hull there: points outside the hull of all other
 * points by more than rounding. Coordinates are roots of eigenvalues, so they are exact only to single precision. */
static void mark_outer(const mo_geometry *g, mo_tape *t, mo_tensor *G, mo_prototype *prototype) {
    double *plane = mo_host_array(g->ctx, 3 * g->C, sizeof *plane), *distance = plane ? plane + 2 * g->C : NULL;
    if (plane && project_prototypes(g, t, G, plane) && mo_hull_leave_one_out(g, plane, g->C, 2, distance)) {
        double scale = 0;
        for (int64_t c = 0; c < g->C; c++)
            scale = fmax(scale, prototype_length(plane + 2 * c, 2));
        for (int64_t c = 0; c < g->C; c++) {
            prototype[c].x = plane[2 * c];
            prototype[c].y = plane[2 * c + 1];
            prototype[c].outer = distance[c] > 1e-6 * scale;
        }
    }
    free(plane);
}

/* Finds the distance of each prototype to the hull of the other prototypes, and its position in the plane. */
static void place_prototypes(const mo_geometry *g, mo_prototype *prototype, double *distance) {
    mo_tape *t = mo_tape_create(g->ctx, MO_EVAL);
    if (mo_hull_leave_one_out(g, g->P, g->C, g->d, distance))
        mark_outer(g, t, centred_gram(g, t), prototype);
    mo_tape_release(t);
}

static void measure_hull(const mo_geometry *g, double epsilon, mo_diagnosis *x) {
    int64_t C = g->C;
    double *distance = mo_host_array(g->ctx, C, sizeof *distance), nearest_outer = INFINITY;
    if (distance)
        place_prototypes(g, x->prototype, distance);
    for (int64_t c = 0; mo_ok(g->ctx) && c < C; c++) {
        mo_prototype *p = &x->prototype[c];
        p->norm = prototype_length(g->P + c * g->d, g->d);
        p->distance = x->mean_distance > 0 ? distance[c] / x->mean_distance : 0;
        p->inside = p->distance <= 1e-9;
        p->included = p->distance < epsilon;
        nearest_outer = p->outer ? fmin(nearest_outer, p->distance) : nearest_outer;
    }
    for (int64_t c = 0; c < C; c++)
        x->prototype[c].flagged = x->prototype[c].distance < nearest_outer;
    free(distance);
}

mo_code mo_diagnose(const mo_embeddings *E, const mo_diagnosis_options *options, mo_diagnosis *diagnosis) {
    if (!E)
        return MO_INVALID;
    if (!mo_given(mo_tensor_context(E->Z), "diagnose", "options", options) ||
        !mo_given(mo_tensor_context(E->Z), "diagnose", "diagnosis", diagnosis))
        return mo_code_of(mo_tensor_context(E->Z));
    mo_geometry g = {.ctx = mo_tensor_context(E->Z),
        .E = E,
        .options = options,
        .n = mo_dim(E->Z, 0),
        .d = mo_dim(E->Z, 1),
        .C = E->graph->classes};
    *diagnosis = (mo_diagnosis){.classes = g.C};
    if (!mo_ok(g.ctx))
        return mo_context_status(g.ctx)->code;
    g.P = mo_host_array(g.ctx, g.C * g.d, sizeof *g.P);
    g.mean = mo_host_array(g.ctx, g.d, sizeof *g.mean);
    g.rows = mo_host_values(E->Z, MO_F64);
    diagnosis->prototype = mo_host_array(g.ctx, g.C, sizeof *diagnosis->prototype);
    if (mo_ok(g.ctx)) {
        measure_geometry(&g, diagnosis);
        if (count_missed(&g, diagnosis))
            measure_hull(&g, options->epsilon, diagnosis);
    }
    free(g.P);
    free(g.mean);
    free(g.rows);
    if (!mo_ok(g.ctx))
        mo_diagnosis_release(diagnosis);
    return mo_context_status(g.ctx)->code;
}

void mo_diagnosis_release(mo_diagnosis *diagnosis) {
    if (!diagnosis)
        return;
    free(diagnosis->prototype);
    *diagnosis = (mo_diagnosis){0};
}
