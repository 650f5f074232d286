/* train/fit/boundaries.c - the boundary <z, p_a - p_b> = 0 of two prototypes under inner products misses its data where
 * all rows of both classes lie on one side: one of the two is then never predicted against the other.
 *
 * A row must be scored by its own prototype and by its rivals: the prototypes that share a pair with its own. Up to
 * MOST_CLASSES classes these are all others; beyond, the pairs are a seeded draw, since all pairs of 1,000 classes cost
 * as much as all episodes. The scores of a class are one product Z_c [p_c | rivals], row after row, each sum in the
 * order of the columns, so that the signs depend neither on the draw nor on the threads. */
#include "tensor/hidden.h"
#include "train/fit/geometry.h"
#include "train/graph.h"
#include "train/graphs/draw.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_CLASSES = 64, MOST_PAIRS = MOST_CLASSES * (MOST_CLASSES - 1) / 2 };

typedef struct pairs {
    int64_t n, *first, *second; /* classes first > second */
    int64_t *start, *at;        /* the pairs of class c: at[start[c]] .. at[start[c + 1] - 1] */
    uint8_t *side; /* [n, 2]: bit 0: a row of the first (second) class is on the first's side; bit 1: a row is
                      not */
} pairs;

/* Rows by class: row[start[c]] .. row[start[c + 1] - 1]. */
typedef struct members {
    int64_t *start, *row;
} members;

/* Pair i of all pairs: those of class a with lower classes begin at a (a - 1) / 2. */
static void unrank_pair(int64_t i, int64_t *first, int64_t *second) {
    int64_t a = (int64_t)sqrt(2.0 * (double)i) + 1;
    while (a * (a - 1) / 2 > i)
        a--;
    while (a * (a + 1) / 2 <= i)
        a++;
    *first = a;
    *second = i - a * (a - 1) / 2;
}

static bool draw_pairs(const mo_geometry *g, int64_t all, pairs *p) {
    int64_t n = p->n = g->C <= MOST_CLASSES ? all : MOST_PAIRS;
    mo_random r = mo_random_at(g->options->seed, MO_PURPOSE_PAIR, 0);
    int64_t *drawn = n < all ? mo_draw_distinct(g->ctx, &r, all, n) : NULL;
    p->first = mo_host_array(g->ctx, n, sizeof *p->first);
    p->second = mo_host_array(g->ctx, n, sizeof *p->second);
    p->start = mo_host_array(g->ctx, g->C + 2, sizeof *p->start);
    p->at = mo_host_array(g->ctx, 2 * n, sizeof *p->at);
    p->side = mo_host_array(g->ctx, 2 * n, sizeof *p->side);
    for (int64_t i = 0; mo_ok(g->ctx) && i < n; i++) {
        unrank_pair(drawn ? drawn[i] : i, &p->first[i], &p->second[i]);
        p->start[p->first[i] + 2]++;
        p->start[p->second[i] + 2]++;
    }
    for (int64_t c = 0; mo_ok(g->ctx) && c < g->C; c++)
        p->start[c + 2] += p->start[c + 1];
    for (int64_t i = 0; mo_ok(g->ctx) && i < n; i++) {
        p->at[p->start[p->first[i] + 1]++] = i;
        p->at[p->start[p->second[i] + 1]++] = i;
    }
    free(drawn);
    return mo_ok(g->ctx);
}

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

/* score[j] = <z, prototype j of the class>, from columns [d, m]. */
static void score_row(const mo_geometry *g, int64_t row, const double *columns, int64_t m, double *score) {
    bool wide = mo_tensor_dtype(g->E->Z) == MO_F64;
    memset(score, 0, (size_t)m * sizeof *score);
    for (int64_t k = 0; k < g->d; k++) {
        double z = wide ? ((const double *)g->rows)[row * g->d + k] : (double)((const float *)g->rows)[row * g->d + k];
        for (int64_t j = 0; j < m; j++)
            score[j] += z * columns[k * m + j];
    }
}

/* Scores the rows of class c against all of its rivals. columns: [d, C], score: at most [C]. */
static void see_sides(const mo_geometry *g, const members *rows, pairs *p, int64_t c, double *columns, double *score) {
    const int64_t *at = p->at + p->start[c];
    int64_t rivals = p->start[c + 1] - p->start[c], m = rivals + 1;
    for (int64_t j = 0; j < m && rivals; j++) {
        int64_t pair = j ? at[j - 1] : 0, of = j == 0 ? c : p->first[pair] == c ? p->second[pair] : p->first[pair];
        for (int64_t k = 0; k < g->d; k++)
            columns[k * m + j] = g->P[of * g->d + k];
    }
    for (int64_t i = rows->start[c]; rivals && i < rows->start[c + 1]; i++) {
        score_row(g, rows->row[i], columns, m, score);
        for (int64_t j = 1; j < m; j++) {
            bool first = p->first[at[j - 1]] == c;
            p->side[2 * at[j - 1] + !first] |= (first ? score[0] > score[j] : score[j] > score[0]) ? 1 : 2;
        }
    }
}

/* Threads take classes in turn, with buffers of their own; a class writes only to its own half of side. */
static bool see_all_sides(const mo_geometry *g, const members *rows, pairs *p) {
    int64_t most = 0, done = 0, room;
    for (int64_t c = 0; c < g->C; c++)
        most = p->start[c + 1] - p->start[c] >= most ? p->start[c + 1] - p->start[c] + 1 : most;
    room = most * (g->d + 1);
    int threads = mo_context_threads(g->ctx);
    double *buffer = mo_host_array(g->ctx, threads * room, sizeof *buffer);
#pragma omp parallel for num_threads(threads) schedule(dynamic) if (buffer)
    for (int64_t c = 0; c < (buffer ? g->C : 0); c++) {
        double *own = buffer + omp_get_thread_num() * room;
        see_sides(g, rows, p, c, own, own + most * g->d);
        mo_geometry_progress(g, "boundaries of pairs", &done, g->C);
    }
    free(buffer);
    return buffer;
}

bool mo_count_missed(const mo_geometry *g, mo_diagnosis *x) {
    pairs p = {0};
    members rows = {0};
    x->pairs = g->C * (g->C - 1) / 2;
    bool fine = draw_pairs(g, x->pairs, &p) && group_rows(g, &rows) && see_all_sides(g, &rows, &p);
    x->drawn = p.n;
    for (int64_t i = 0; fine && i < p.n; i++)
        x->missed += (p.side[2 * i] | p.side[2 * i + 1]) != 3;
    free(p.first);
    free(p.second);
    free(p.start);
    free(p.at);
    free(p.side);
    free(rows.start);
    free(rows.row);
    return fine;
}
