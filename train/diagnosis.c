/* train/diagnosis.c - what the geometry of embeddings does to prototypes under inner products (paper, section 2): where
 * their mean lies against the spread of the classes, which boundaries of pairs miss their data, and which prototypes
 * lie in or near the convex hull of the others. */
#include "train/host_array.h"
#include "train/train.h"

#include <math.h>
#include <stdlib.h>

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
            g->P[label[i] * g->d + k] += z[k] / (double)count[label[i]];
            g->mean[k] += z[k] / (double)g->n;
        }
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

typedef struct corner {
    double x, y;
    int64_t class;
} corner;

static int by_place(const void *a, const void *b) {
    const corner *p = a, *q = b;
    return p->x != q->x ? (p->x > q->x) - (p->x < q->x) : (p->y > q->y) - (p->y < q->y);
}

/* Above 0 where o, p, q turn left. */
static double turn(corner o, corner p, corner q) {
    return (p.x - o.x) * (q.y - o.y) - (p.y - o.y) * (q.x - o.x);
}

/* Coordinates in the plane: the Gram matrix of the centred prototypes has the principal components' as eigenvectors. */
static bool project(const geometry *g, corner *at) {
    int64_t C = g->C, d = g->d;
    mo_tape *t = mo_tape_create(g->ctx, MO_EVAL);
    if (!t)
        return false;
    mo_tensor *P = mo_from(t, MO_F64, 2, (int64_t[]){C, d}, g->P), *w, *V;
    P = mo_sub(t, P, mo_mean(t, P, MO_AXIS(0), true));
    mo_eigh(t, mo_matmul(t, P, mo_transpose(t, P)), &w, &V);
    double *vector = mo_host_array(g->ctx, C * C + C, sizeof *vector), *value = vector ? vector + C * C : NULL;
    if (vector && mo_tensor_read(V, vector, (size_t)(C * C) * sizeof *vector) == MO_OK &&
        mo_tensor_read(w, value, (size_t)C * sizeof *value) == MO_OK)
        for (int64_t c = 0; c < C; c++)
            at[c] = (corner){vector[c * C + C - 1] * sqrt(fmax(value[C - 1], 0)),
                vector[c * C + C - 2] * sqrt(fmax(value[C - 2], 0)), c};
    free(vector);
    mo_tape_release(t);
    return mo_ok(g->ctx);
}

/* Places in the plane; and the corners of the outer hull (Andrew 1979): the lower chain from left to right, then the
 * upper one back. */
static void mark_outer(const geometry *g, mo_prototype *prototype) {
    int64_t C = g->C, used = 0;
    corner *at = mo_host_array(g->ctx, 3 * C + 1, sizeof *at), *chain = at ? at + C : NULL;
    if (at && project(g, at)) {
        for (int64_t c = 0; c < C; c++) {
            prototype[c].x = at[c].x;
            prototype[c].y = at[c].y;
        }
        qsort(at, (size_t)C, sizeof *at, by_place);
        for (int64_t i = 0; i < C; i++) {
            while (used >= 2 && turn(chain[used - 2], chain[used - 1], at[i]) <= 0)
                used--;
            chain[used++] = at[i];
        }
        int64_t lower = used + 1;
        for (int64_t i = C - 2; i >= 0; i--) {
            while (used >= lower && turn(chain[used - 2], chain[used - 1], at[i]) <= 0)
                used--;
            chain[used++] = at[i];
        }
        for (int64_t i = 0; i < used; i++)
            prototype[chain[i].class].outer = true;
    }
    free(at);
}

static void measure_hull(const geometry *g, double epsilon, mo_diagnosis *x) {
    int64_t C = g->C, d = g->d;
    double *others = mo_host_array(g->ctx, (C - 1) * d, sizeof *others), nearest_outer = INFINITY;
    for (int64_t c = 0; others && c < C && mo_ok(g->ctx); c++) {
        for (int64_t b = 0; b < C; b++)
            for (int64_t k = 0; b != c && k < d; k++)
                others[(b < c ? b : b - 1) * d + k] = g->P[b * d + k];
        mo_prototype *p = &x->prototype[c];
        p->norm = length(g->P + c * d, d);
        p->distance = mo_hull_distance(g->ctx, others, C - 1, d, g->P + c * d, NULL);
        p->distance = x->mean_distance > 0 ? p->distance / x->mean_distance : 0;
        p->inside = p->distance <= 1e-9;
        p->included = p->distance < epsilon;
    }
    free(others);
    mark_outer(g, x->prototype);
    for (int64_t c = 0; c < C; c++)
        if (x->prototype[c].outer)
            nearest_outer = fmin(nearest_outer, x->prototype[c].distance);
    for (int64_t c = 0; c < C; c++)
        x->prototype[c].flagged = x->prototype[c].distance < nearest_outer;
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
