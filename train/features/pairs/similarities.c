/* train/features/pairs/similarities.c - the similarities of two nodes that the literature knows (Liben-Nowell and
 * Kleinberg 2007), as columns of a pair's rows, and the kernel that compares pairs by them.
 *
 * For the pair (u, v) of a graph that lacks the edge between them, d the degrees and A the adjacency:
 *     log(1 + |N(u) and N(v)|), log(1 + Adamic-Adar), log(1 + 10 resource allocation), log(1 + d_u d_v),
 *     |log(1 + d_u) - log(1 + d_v)|, log(1 + Katz) with Katz = (A^2)_uv + 0.05 (A^3)_uv (Katz 1953, cut off after three
 *     steps and divided by 0.05^2), the cosine of the attributes, the cosine of the neighbours' mean attributes, and
 *     Jaccard.
 * All but preferential attachment d_u d_v, the difference of degrees and the last cosine are made of counts, walks and
 * matches. The neighbours' mean is that of unit rows of the attributes' SVD; of more than 64 neighbours, 64 at even
 * distances are taken.
 *
 * The kernel between standardised rows x, y of w columns is 1 + <x, y> / w: an expert of the mixture that reads a pair
 * (models/heads/mixture.c), so that left-out pairs weigh it against the embedding. A Gaussian kernel of the columns
 * predicts left-out pairs as well, but orders the likeliest ones badly, as it is flat beyond the fitted rows: on
 * astroph's pairs two steps apart the mean reciprocal rank falls from 52 to 30 (tests/pairs.py). */
#include "tensor/cpu/tasks.h"
#include "tensor/library.h"
#include "train/features/pairs/pair_columns.h"

#include <math.h>
#include <stdlib.h>

enum { MOST_NEIGHBOURS = 64, FEW = 16 };
static const double katz_decay = 0.05;
#define FARTHEST 8 /* standard deviations to which kernels clip a column: the tails of counts are long */

enum { COMMON, ADAMIC_ADAR, ALLOCATION, ATTACHMENT, DEGREES, KATZ, COSINE, NEIGHBOURS, JACCARD, SIMILARITIES };
_Static_assert((int)SIMILARITIES == (int)MO_SIMILARITY_COLUMNS, "a column of similarities without a name");

typedef struct means {
    const mo_pair_list *p;
    const float *x; /* [nodes, d] */
    int64_t d;
    float *mean, *out; /* mean: [threads, 2, d] */
} means;

/* The sum of rows x over u's neighbours; returns its length. */
static double sum_neighbours(const mo_graph *graph, int64_t u, const float *x, int64_t d, float *sum) {
    int64_t all = degree(graph, u), n = all < MOST_NEIGHBOURS ? all : MOST_NEIGHBOURS;
    for (int64_t j = 0; j < d; j++)
        sum[j] = 0;
    for (int64_t i = 0; i < n; i++) {
        const float *row = x + graph->column[graph->row_pointer[u] + i * all / n] * d;
        for (int64_t j = 0; j < d; j++)
            sum[j] += row[j];
    }
    return sqrt(mo_pair_product(sum, sum, d));
}

static void compare_some_means(const void *of, task_range some) {
    const means *m = of;
    const mo_pair_list *p = m->p;
    float *u = m->mean + 2 * some.thread * m->d, *v = u + m->d;
    for (int64_t i = some.first; i < some.end && mo_goes_on(p->graph->ctx); i++) {
        double lengths = sum_neighbours(p->graph, p->end[0][i], m->x, m->d, u);
        lengths *= sum_neighbours(p->graph, p->end[1][i], m->x, m->d, v);
        m->out[i * MO_SIMILARITY_COLUMNS + NEIGHBOURS] =
            lengths > 0 ? (float)(mo_pair_product(u, v, m->d) / lengths) : 0;
    }
}

bool mo_pair_neighbours(const mo_pair_list *p, const float *x, int64_t d, float *out) {
    int threads = mo_context_threads(p->graph->ctx);
    float *mean = mo_host_array(p->graph->ctx, 2 * threads * d, sizeof *mean);
    if (mean)
        run_tasks(threads, p->n, FEW, compare_some_means, &(means){p, x, d, mean, out});
    free(mean);
    return mean;
}

void mo_pair_similarities(const mo_pair_list *p, const mo_pair_values *values) {
    const mo_rows *extras = &values->part[MO_PAIR_EXTRAS];
    for (int64_t i = 0; i < p->n; i++) {
        const float *count = extras->x + i * extras->w, *walk = values->part[MO_PAIR_WALKS].x + i * MO_WALK_COLUMNS;
        float *out = values->part[MO_PAIR_SIMILARITIES].x + i * MO_SIMILARITY_COLUMNS;
        double du = (double)degree(p->graph, p->end[0][i]), dv = (double)degree(p->graph, p->end[1][i]);
        out[COMMON] = count[MO_COUNT_COMMON];
        out[ADAMIC_ADAR] = count[MO_COUNT_ADAMIC_ADAR];
        out[ALLOCATION] = count[MO_COUNT_ALLOCATION];
        out[ATTACHMENT] = (float)log1p(du * dv);
        out[DEGREES] = (float)fabs(log1p(du) - log1p(dv));
        out[KATZ] = (float)log1p(expm1(count[MO_COUNT_COMMON]) + katz_decay * expm1(walk[MO_WALK_THREE_STEPS]));
        out[COSINE] = values->part[MO_PAIR_MATCHES].x[i * MO_MATCH_COLUMNS + MO_MATCH_COSINE];
        out[JACCARD] = count[MO_COUNT_JACCARD];
    }
}

bool mo_pair_is_near(const mo_pair_values *values, int64_t i) {
    return values->part[MO_PAIR_SIMILARITIES].x[i * MO_SIMILARITY_COLUMNS + COMMON] > 0;
}

mo_tensor *mo_pair_kernel(mo_tape *t, mo_tensor *X, mo_tensor *Y) {
    if (!mo_ok(mo_tape_context(t)))
        return mo_null_tensor(mo_tape_context(t));
    double w = (double)mo_dim(X, 1);
    X = mo_clamp(t, X, -FARTHEST, FARTHEST);
    Y = mo_clamp(t, Y, -FARTHEST, FARTHEST);
    return mo_with_axis(t, mo_scale(t, mo_matmul(t, X, mo_transpose(t, Y)), 1 / w, 1), MO_AXIS(0), 1);
}
