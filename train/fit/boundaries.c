/* train/fit/boundaries.c - finds pairs of classes whose boundary misses their data: under inner products the boundary
 * of prototypes p_a, p_b is <z, p_a - p_b> = 0; if all rows of both classes lie on one side, one class never wins
 * against the other.
 *
 * A row is scored by every prototype. The scores of a class are one product Z_c P^T, row after row, each sum in the
 * order of the columns, so that the signs do not depend on the threads. */
#include "tensor/hidden.h"
#include "train/fit/geometry.h"
#include "train/graph.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

/* Rows by class: row[start[c]] .. row[start[c + 1] - 1]. */
typedef struct members {
    int64_t *start, *row;
} members;

static bool group_rows(const mo_geometry *g, members *m) {
    const int64_t *label = g->E->graph->label;
    m->start = mo_host_array(g->ctx, g->C + 2, sizeof *m->start);
    m->row = mo_host_array(g->ctx, g->n, sizeof *m->row);
    for (int64_t c = 0; mo_ok(g->ctx) && c < g->C; c++)
        m->start[c + 2] = m->start[c + 1] + g->E->count[c];
    for (int64_t i = 0; mo_ok(g->ctx) && i < g->n; i++)
        m->row[m->start[label[i] + 1]++] = i;
    return mo_ok(g->ctx);
}

/* score[c] = <z, prototype c>. columns: the prototypes as columns [d, C]. */
static void score_row(const mo_geometry *g, int64_t row, const double *columns, double *score) {
    bool wide = mo_tensor_dtype(g->E->Z) == MO_F64;
    memset(score, 0, (size_t)g->C * sizeof *score);
    for (int64_t k = 0; k < g->d; k++) {
        double z = wide ? ((const double *)g->rows)[row * g->d + k] : (double)((const float *)g->rows)[row * g->d + k];
        for (int64_t c = 0; c < g->C; c++)
            score[c] += z * columns[k * g->C + c];
    }
}

/* side [C]: bits for class c against each class b. Bit 0: some row of c scores higher for the class with the higher
 * number; bit 1: some row of c does not. */
static void see_sides(
    const mo_geometry *g, const members *m, int64_t c, const double *columns, double *score, uint8_t *side) {
    for (int64_t i = m->start[c]; i < m->start[c + 1]; i++) {
        score_row(g, m->row[i], columns, score);
        for (int64_t b = 0; b < g->C; b++) {
            int64_t higher = c > b ? c : b, lower = c > b ? b : c;
            side[b] |= score[higher] > score[lower] ? 1 : 2;
        }
    }
}

/* Threads take classes in turn, each with its own scores; class c writes only row c of side [C, C]. */
static void see_all_sides(const mo_geometry *g, const members *m, const double *columns, double *score, uint8_t *side) {
    int64_t done = 0;
#pragma omp parallel for num_threads(mo_context_threads(g->ctx)) schedule(dynamic)
    for (int64_t c = 0; c < g->C; c++) {
        see_sides(g, m, c, columns, score + omp_get_thread_num() * g->C, side + c * g->C);
        mo_geometry_progress(g, "boundaries of pairs", &done, g->C);
    }
}

bool mo_count_missed(const mo_geometry *g, mo_diagnosis *x) {
    int64_t C = g->C;
    members m = {0};
    double *columns = mo_host_array(g->ctx, g->d * C, sizeof *columns);
    double *score = mo_host_array(g->ctx, mo_context_threads(g->ctx) * C, sizeof *score);
    uint8_t *side = mo_host_array(g->ctx, C * C, 1);
    for (int64_t i = 0; columns && i < g->d * C; i++)
        columns[i] = g->P[i % C * g->d + i / C];
    bool fine = mo_ok(g->ctx) && group_rows(g, &m);
    if (fine)
        see_all_sides(g, &m, columns, score, side);
    x->pairs = C * (C - 1) / 2;
    for (int64_t a = 0; fine && a < C; a++)
        for (int64_t b = 0; b < a; b++)
            x->missed += (side[a * C + b] | side[b * C + a]) != 3;
    free(columns);
    free(score);
    free(side);
    free(m.start);
    free(m.row);
    return fine;
}
