/* train/diagnosis.c - what the geometry of embeddings does to prototypes under inner products (paper, section 2): where
 * their mean lies against the spread of the classes, which boundaries of pairs miss their data, and which prototypes
 * lie in or near the convex hull of the others. */
#include "train/host_array.h"
#include "train/train.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct geometry {
    mo_context *ctx;
    const mo_embeddings *E;
    int64_t n, d, C;
    double *P;       /* [C, d]: the prototypes */
    double *mean;    /* [d], of all rows */
    double *scratch; /* [d] */
    void *rows;      /* Z as it is stored */
} geometry;

static const double *row_of(const geometry *g, int64_t i) {
    for (int64_t k = 0; k < g->d; k++)
        g->scratch[k] = mo_tensor_dtype(g->E->Z) == MO_F64 ? ((const double *)g->rows)[i * g->d + k]
                                                           : (double)((const float *)g->rows)[i * g->d + k];
    return g->scratch;
}

static double distance(const double *a, const double *b, int64_t d) {
    double sum = 0;
    for (int64_t k = 0; k < d; k++)
        sum += (a[k] - b[k]) * (a[k] - b[k]);
    return sqrt(sum);
}

static double length(const double *a, int64_t d) {
    double sum = 0;
    for (int64_t k = 0; k < d; k++)
        sum += a[k] * a[k];
    return sqrt(sum);
}

/* Prototypes and mean; then offset, spread, radius and the mean distance of two prototypes. */
static void measure(geometry *g, mo_diagnosis *x) {
    const int64_t *label = g->E->graph->label, *count = g->E->count;
    for (int64_t i = 0; i < g->n; i++) {
        const double *z = row_of(g, i);
        x->radius = fmax(x->radius, length(z, g->d));
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
    x->offset = length(g->mean, g->d);
    double squares = 0, sum = 0;
    for (int64_t i = 0; i < g->n; i++)
        squares += pow(distance(row_of(g, i), g->P + label[i] * g->d, g->d), 2);
    x->spread = sqrt(squares / (double)g->n);
    x->pairs = g->C * (g->C - 1) / 2;
    for (int64_t a = 0; a < g->C; a++)
        for (int64_t b = 0; b < a; b++)
            sum += distance(g->P + a * g->d, g->P + b * g->d, g->d);
    x->mean_distance = sum / (double)x->pairs;
}

/* Pairs of classes all of whose rows have <z, p_i - p_j> of one sign: one of both is never predicted against the other.
 * side[i, j]: bit 0 where a row of class i or j is on i's side, bit 1 where one is on j's. */
static void count_missed(const geometry *g, mo_diagnosis *x) {
    const int64_t *label = g->E->graph->label, C = g->C;
    uint8_t *side = mo_host_array(g->ctx, C * C, sizeof *side);
    double *score = mo_host_array(g->ctx, C, sizeof *score);
    for (int64_t i = 0; side && score && i < g->n; i++) {
        const double *z = row_of(g, i);
        int64_t own = label[i];
        for (int64_t c = 0; c < C; c++) {
            score[c] = 0;
            for (int64_t k = 0; k < g->d; k++)
                score[c] += z[k] * g->P[c * g->d + k];
        }
        for (int64_t c = 0; c < C; c++)
            if (c < own)
                side[own * C + c] |= score[own] > score[c] ? 1 : 2;
            else if (c > own)
                side[c * C + own] |= score[c] > score[own] ? 1 : 2;
    }
    for (int64_t a = 0; side && a < C; a++)
        for (int64_t b = 0; b < a; b++)
            x->missed += side[a * C + b] != 3;
    free(side);
    free(score);
}

/* ---- hull distances, and the outer hull in the plane of the first two principal components ---- */

/* Writes the distance of each of the C rows of X [C, d] to the convex hull of the others. */
static bool leave_one_out(const geometry *g, const double *X, int64_t d, double *distance) {
    int64_t C = g->C;
    double *others = mo_host_array(g->ctx, (C - 1) * d, sizeof *others);
    for (int64_t c = 0; others && c < C && mo_ok(g->ctx); c++) {
        memcpy(others, X, (size_t)(c * d) * sizeof *X);
        memcpy(others + c * d, X + (c + 1) * d, (size_t)((C - 1 - c) * d) * sizeof *X);
        distance[c] = mo_hull_distance(g->ctx, others, C - 1, d, X + c * d, NULL);
    }
    free(others);
    return mo_ok(g->ctx);
}

/* Coordinates [C, 2] in the plane: the Gram matrix of the centred prototypes has the principal components' as
 * eigenvectors. */
static bool project(const geometry *g, double *plane) {
    int64_t C = g->C, d = g->d;
    mo_tape *t = mo_tape_create(g->ctx, MO_EVAL);
    if (!t)
        return false;
    mo_tensor *P = mo_from(t, MO_F64, 2, (int64_t[]){C, d}, g->P), *w, *V;
    P = mo_sub(t, P, mo_mean(t, P, MO_AXIS(0), MO_KEEP_AXES));
    mo_eigh(t, mo_matmul(t, P, mo_transpose(t, P)), &w, &V);
    double *vector = mo_host_array(g->ctx, C * C + C, sizeof *vector), *value = vector ? vector + C * C : NULL;
    if (vector && mo_tensor_read(V, vector, (size_t)(C * C) * sizeof *vector) == MO_OK &&
        mo_tensor_read(w, value, (size_t)C * sizeof *value) == MO_OK)
        for (int64_t c = 0; c < C; c++)
            for (int k = 0; k < 2; k++)
                plane[2 * c + k] = vector[c * C + C - 1 - k] * sqrt(fmax(value[C - 1 - k], 0));
    free(vector);
    mo_tape_release(t);
    return mo_ok(g->ctx);
}

/* Places in the plane; and the corners of the outer hull there, which are outside that of the others by more than the
 * rounding of the coordinates: as roots of eigenvalues they carry that of single precision. */
static void mark_outer(const geometry *g, mo_prototype *prototype) {
    double *plane = mo_host_array(g->ctx, 3 * g->C, sizeof *plane), *distance = plane ? plane + 2 * g->C : NULL;
    if (plane && project(g, plane) && leave_one_out(g, plane, 2, distance)) {
        double scale = 0;
        for (int64_t c = 0; c < g->C; c++)
            scale = fmax(scale, length(plane + 2 * c, 2));
        for (int64_t c = 0; c < g->C; c++) {
            prototype[c].x = plane[2 * c];
            prototype[c].y = plane[2 * c + 1];
            prototype[c].outer = distance[c] > 1e-6 * scale;
        }
    }
    free(plane);
}

static void measure_hull(const geometry *g, double epsilon, mo_diagnosis *x) {
    int64_t C = g->C;
    double *distance = mo_host_array(g->ctx, C, sizeof *distance), nearest_outer = INFINITY;
    if (distance && leave_one_out(g, g->P, g->d, distance))
        mark_outer(g, x->prototype);
    for (int64_t c = 0; mo_ok(g->ctx) && c < C; c++) {
        mo_prototype *p = &x->prototype[c];
        p->norm = length(g->P + c * g->d, g->d);
        p->distance = x->mean_distance > 0 ? distance[c] / x->mean_distance : 0;
        p->inside = p->distance <= 1e-9;
        p->included = p->distance < epsilon;
        nearest_outer = p->outer ? fmin(nearest_outer, p->distance) : nearest_outer;
    }
    for (int64_t c = 0; c < C; c++)
        x->prototype[c].flagged = x->prototype[c].distance < nearest_outer;
    free(distance);
}

mo_code mo_diagnose(const mo_embeddings *E, double epsilon, mo_diagnosis *diagnosis) {
    geometry g = {
        .ctx = mo_tensor_context(E->Z), .E = E, .n = mo_dim(E->Z, 0), .d = mo_dim(E->Z, 1), .C = E->graph->classes};
    size_t size = mo_dtype_size(mo_tensor_dtype(E->Z));
    *diagnosis = (mo_diagnosis){.classes = g.C};
    if (!mo_ok(g.ctx))
        return mo_context_status(g.ctx)->code;
    g.P = mo_host_array(g.ctx, g.C * g.d, sizeof *g.P);
    g.mean = mo_host_array(g.ctx, 2 * g.d, sizeof *g.mean);
    g.scratch = g.mean ? g.mean + g.d : NULL;
    g.rows = mo_host_array(g.ctx, g.n * g.d, size);
    diagnosis->prototype = mo_host_array(g.ctx, g.C, sizeof *diagnosis->prototype);
    if (mo_ok(g.ctx) && mo_tensor_read(E->Z, g.rows, (size_t)(g.n * g.d) * size) == MO_OK) {
        measure(&g, diagnosis);
        count_missed(&g, diagnosis);
        measure_hull(&g, epsilon, diagnosis);
    }
    free(g.P);
    free(g.mean);
    free(g.rows);
    if (!mo_ok(g.ctx))
        mo_diagnosis_release(diagnosis);
    return mo_context_status(g.ctx)->code;
}

void mo_diagnosis_release(mo_diagnosis *diagnosis) {
    free(diagnosis->prototype);
    *diagnosis = (mo_diagnosis){0};
}
