/* train/features/pairs/matches.c - compares the attributes of each end of a pair with those of the other end's
 * neighbours.
 *
 * x_w: the unit attribute row of node w. For the pair (u, v), over w in N(u): the largest and the mean of <x_w, x_v>;
 * over w in N(v), the largest and the mean of <x_w, x_u>. Columns: the larger, the smaller and the mean of the two
 * largest values; the mean and the larger of the two means; the cosine of the attributes, unweighted and weighted by
 * log(n / n_j), n_j the number of nodes with attribute j. Of more than 64 neighbours, 64 at even distances are
 * taken. */
#include "tensor/cpu/tasks.h"
#include "tensor/library.h"
#include "train/features/pairs/pair_columns.h"

#include <math.h>
#include <stdlib.h>

enum { MOST_NEIGHBOURS = 64, TASK = 256 };

/* Largest and mean of <x_w, x_v> over the neighbours w of u; zeros if u has none. */
static void match(const mo_graph *graph, int64_t u, int64_t v, const float *x, int64_t d, double out[2]) {
    int64_t all = degree(graph, u), n = all < MOST_NEIGHBOURS ? all : MOST_NEIGHBOURS;
    double most = -1, sum = 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t w = graph->column[graph->row_pointer[u] + i * all / n];
        double inner = mo_pair_product(x + w * d, x + v * d, d);
        most = fmax(most, inner);
        sum += inner;
    }
    out[0] = n ? most : 0;
    out[1] = n ? sum / (double)n : 0;
}

/* sum_j weight_j^2 x_uj x_vj. */
static double sparse_product(const mo_graph *graph, int64_t u, int64_t v, const double *weight) {
    int64_t i = graph->feature_pointer[u], j = graph->feature_pointer[v];
    double sum = 0;
    while (i < graph->feature_pointer[u + 1] && j < graph->feature_pointer[v + 1]) {
        int32_t a = graph->feature_column[i], b = graph->feature_column[j];
        if (a == b)
            sum += weight[a] * weight[a] * graph->feature_value[i] * graph->feature_value[j];
        i += a <= b;
        j += b <= a;
    }
    return sum;
}

/* The weight of every attribute: 1, or log(n / n_j); and the length of every row with these weights. */
static bool weigh(const mo_graph *graph, bool by_rarity, double *weight, double *length) {
    double *having = mo_host_array(graph->ctx, graph->features, sizeof *having);
    if (!having)
        return false;
    for (int64_t e = 0; e < graph->feature_nnz; e++)
        having[graph->feature_column[e]] += graph->feature_value[e] != 0;
    for (int64_t j = 0; j < graph->features; j++)
        weight[j] = by_rarity ? log((double)graph->nodes / fmax(having[j], 1)) : 1;
    for (int64_t u = 0; u < graph->nodes; u++)
        length[u] = sqrt(sparse_product(graph, u, u, weight));
    free(having);
    return true;
}

typedef struct cosines {
    const mo_pair_list *p;
    const double *weight, *length;
    float *column;
} cosines;

static void put_some_cosines(const void *of, task_range some) {
    const cosines *c = of;
    int64_t *const *end = c->p->end;
    for (int64_t i = some.first; i < some.end; i++) {
        double lengths = c->length[end[0][i]] * c->length[end[1][i]];
        if (lengths > 0 && mo_goes_on(c->p->graph->ctx))
            c->column[i * MO_MATCH_COLUMNS] =
                (float)(sparse_product(c->p->graph, end[0][i], end[1][i], c->weight) / lengths);
    }
}

static bool put_cosines(const mo_pair_list *p, bool by_rarity, float *column) {
    const mo_graph *graph = p->graph;
    mo_context *ctx = graph->ctx;
    double *weight = mo_host_array(ctx, graph->features, sizeof *weight),
           *length = mo_host_array(ctx, graph->nodes, sizeof *length);
    bool fine = weight && length && weigh(graph, by_rarity, weight, length);
    const cosines all = {.p = p, .weight = weight, .length = length, .column = column};
    if (fine)
        run_tasks(mo_context_threads(ctx), p->n, TASK, put_some_cosines, &all);
    free(weight);
    free(length);
    return fine;
}

typedef struct matches {
    const mo_pair_list *p;
    const float *x; /* [nodes, d] */
    int64_t d;
    float *out;
} matches;

static void match_some(const void *of, task_range some) {
    const matches *m = of;
    const mo_pair_list *p = m->p;
    for (int64_t i = some.first; i < some.end && mo_goes_on(p->graph->ctx); i++) {
        double a[2], b[2];
        match(p->graph, p->end[0][i], p->end[1][i], m->x, m->d, a);
        match(p->graph, p->end[1][i], p->end[0][i], m->x, m->d, b);
        float *row = m->out + i * MO_MATCH_COLUMNS;
        row[0] = (float)fmax(a[0], b[0]);
        row[1] = (float)fmin(a[0], b[0]);
        row[2] = (float)((a[0] + b[0]) / 2);
        row[3] = (float)((a[1] + b[1]) / 2);
        row[4] = (float)fmax(a[1], b[1]);
    }
}

bool mo_pair_matches(const mo_pair_list *p, const float *x, int64_t d, float *out) {
    if (p->graph->features == 0)
        return true;
    const matches m = {.p = p, .x = x, .d = d, .out = out};
    run_tasks(mo_context_threads(p->graph->ctx), p->n, TASK, match_some, &m);
    return put_cosines(p, false, out + 5) && put_cosines(p, true, out + 6);
}
