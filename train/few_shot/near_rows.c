/* train/few_shot/near_rows.c - of every row the nearest ones, found without comparing all with all.
 *
 * A tree divides the rows at the median of their products with a direction, the difference of two of them, then both
 * halves, until at most LEAF are left; these are compared with one another (random projection trees: Dasgupta and
 * Freund 2008). TREES trees with other directions find what one has divided. Cost: TREES n (LEAF + log2(n / LEAF))
 * products of rows. Trees follow one another and a row lies in one leaf of each, so that threads change nothing. */
#include "train/few_shot/link_candidates.h"

#include "tensor/host_array.h"
#include "train/features/pairs/pair_columns.h"

#include <stdlib.h>

enum { TREES = 8, LEAF = 128 };

/* A row by its product with a direction. */
typedef struct projected {
    float x;
    int32_t row;
} projected;

typedef struct forest {
    const mo_graph *graph;
    const float *x; /* [n, d] */
    int64_t d, n;   /* n: rows that are not zero */
    projected *at;  /* [n] */
    int64_t most;
    mo_ranked *list;
    int32_t *count;
} forest;

static int compare_projected(const void *a, const void *b) {
    const projected *p = a, *q = b;
    return p->x != q->x ? (p->x > q->x ? 1 : -1) : (p->row > q->row) - (p->row < q->row);
}

/* Sorts rows first .. stop - 1 along a direction. */
static void project_rows(forest *f, int64_t first, int64_t stop, float *direction, mo_random *r) {
    int64_t a = f->at[first + mo_random_below(r, stop - first)].row,
            b = f->at[first + mo_random_below(r, stop - first)].row;
    for (int64_t j = 0; j < f->d; j++)
        direction[j] = f->x[a * f->d + j] - f->x[b * f->d + j];
#pragma omp parallel for num_threads(mo_context_threads(f->graph->ctx)) if (stop - first > 4 * LEAF)
    for (int64_t i = first; i < stop; i++)
        f->at[i].x = mo_pair_product(f->x + f->at[i].row * f->d, direction, f->d);
    qsort(f->at + first, (size_t)(stop - first), sizeof *f->at, compare_projected);
}

/* Notes that rows u and v have this product. */
static void note_near(forest *f, int32_t u, int32_t v, double inner) {
    mo_ranked *list = f->list + u * f->most;
    if (f->count[u] == f->most && (inner < list[0].weight || (inner == list[0].weight && v > list[0].node)))
        return;
    for (int32_t i = 0; i < f->count[u]; i++)
        if (list[i].node == v)
            return;
    if (!mo_graph_has_edge(f->graph, u, v))
        mo_ranked_offer(list, &f->count[u], f->most, (mo_ranked){inner, v});
}

static void compare_leaf(forest *f, int64_t first, int64_t stop) {
    for (int64_t i = first; i < stop; i++)
        for (int64_t j = i + 1; j < stop; j++) {
            int32_t u = f->at[i].row, v = f->at[j].row;
            double inner = mo_pair_product(f->x + u * f->d, f->x + v * f->d, f->d);
            note_near(f, u, v, inner);
            note_near(f, v, u, inner);
        }
}

/* The ends of the parts of `parts` equal parts of the rows. */
static int64_t part_start(const forest *f, int64_t part, int64_t parts) {
    return part * f->n / parts;
}

static void grow_tree(forest *f, float *direction, mo_random *r) {
    int64_t parts = 1;
    for (; f->n > parts * LEAF; parts *= 2)
        for (int64_t p = 0; p < parts; p++)
            project_rows(f, part_start(f, p, parts), part_start(f, p + 1, parts), direction, r);
#pragma omp parallel for num_threads(mo_context_threads(f->graph->ctx)) schedule(dynamic)
    for (int64_t p = 0; p < parts; p++)
        compare_leaf(f, part_start(f, p, parts), part_start(f, p + 1, parts));
}

bool mo_near_rows(const mo_graph *graph, const float *x, int64_t d, int64_t most, mo_ranked *list, int32_t *count) {
    mo_context *ctx = graph->ctx;
    forest f = {.graph = graph, .x = x, .d = d, .most = most, .list = list, .count = count};
    float *direction = mo_host_array(ctx, d, sizeof *direction);
    f.at = mo_host_array(ctx, graph->nodes, sizeof *f.at);
    for (int64_t i = 0; f.at && i < graph->nodes; i++)
        if (mo_pair_product(x + i * d, x + i * d, d) > 0)
            f.at[f.n++].row = (int32_t)i;
    mo_random r = mo_random_at(0, MO_PURPOSE_SVD, 2);
    for (int tree = 0; tree < TREES && direction && f.at; tree++)
        grow_tree(&f, direction, &r);
    free(direction);
    free(f.at);
    return mo_ok(ctx);
}
