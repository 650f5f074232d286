/* train/features/pairs/walks.c - walks of two to four steps between the ends of a pair (u, v):
 *
 *     (A~^3)_uv^(1/3), (A~^4)_uv^(1/4), log(1 + (A^3)_uv), 1 / length of the shortest of these walks (0: none),
 *     log(1 + 2m (A~^k)_uv / (d_u d_v)^(1/2)) for k = 2, 3, 4
 *
 * where the last are lifts: the probability that a walk ends at v, relative to a walk from a random start. With s_w =
 * sum over a in N(u) and N(w) of 1 / d_a,
 *     (A~^2)_uv = s_v / (d_u d_v)^(1/2),    (A~^3)_uv = sum_b s_b / d_b / (d_u d_v)^(1/2)  over b in N(v),
 *     (A~^4)_uv = sum_b (1 / d_b) sum_w s_w / d_w / (d_u d_v)^(1/2)  over b in N(v), w in N(b).
 * u is the end with more two-step walks; s is computed once for all pairs with that u. A pair then costs time in
 * proportion to the two-step walks from v. */
#include "tensor/cpu/tasks.h"
#include "tensor/library.h"
#include "train/features/pairs/pair_columns.h"

#include <math.h>
#include <stdlib.h>

enum { TASK = 256, FEW = 16 };

/* A pair by its ends: `from` is u in the formulas above. */
typedef struct walk {
    int64_t from, to, pair;
} walk;

/* Sums over the walks of two steps from one node; zero before and after. */
typedef struct reach {
    double *share, *count; /* [nodes]: share: s_w / d_w; count: (A^2)_uw */
} reach;

static int compare_walks(const void *a, const void *b) {
    const walk *x = a, *y = b;
    if (x->from != y->from)
        return x->from > y->from ? 1 : -1;
    return (x->pair > y->pair) - (x->pair < y->pair);
}

static int64_t two_steps(const mo_graph *graph, int64_t u) {
    int64_t n = 0;
    for (int64_t e = graph->row_pointer[u]; e < graph->row_pointer[u + 1]; e++)
        n += degree(graph, graph->column[e]);
    return n;
}

typedef struct walks {
    const mo_pair_list *p;
    walk *list;
} walks;

static void list_some(const void *of, task_range some) {
    const walks *w = of;
    for (int64_t i = some.first; i < some.end; i++) {
        int64_t u = w->p->end[0][i], v = w->p->end[1][i];
        bool swap = two_steps(w->p->graph, u) < two_steps(w->p->graph, v);
        w->list[i] = swap ? (walk){v, u, i} : (walk){u, v, i};
    }
}

static walk *order_walks(const mo_pair_list *p) {
    mo_context *ctx = p->graph->ctx;
    const walks w = {.p = p, .list = mo_host_array(ctx, p->n, sizeof *w.list)};
    if (w.list) {
        run_tasks(mo_context_threads(ctx), p->n, TASK, list_some, &w);
        qsort(w.list, (size_t)p->n, sizeof *w.list, compare_walks);
    }
    return w.list;
}

static void find_reach(const mo_graph *graph, int64_t u, const reach *r) {
    for (int64_t i = graph->row_pointer[u]; i < graph->row_pointer[u + 1]; i++) {
        int64_t a = graph->column[i];
        double part = 1 / (double)degree(graph, a);
        for (int64_t j = graph->row_pointer[a]; j < graph->row_pointer[a + 1]; j++) {
            int64_t w = graph->column[j];
            r->share[w] += part / (double)degree(graph, w);
            r->count[w]++;
        }
    }
}

static void forget_reach(const mo_graph *graph, int64_t u, const reach *r) {
    for (int64_t i = graph->row_pointer[u]; i < graph->row_pointer[u + 1]; i++) {
        int64_t a = graph->column[i];
        for (int64_t j = graph->row_pointer[a]; j < graph->row_pointer[a + 1]; j++)
            r->share[graph->column[j]] = r->count[graph->column[j]] = 0;
    }
}

static void describe_walks(const mo_graph *graph, const walk *w, const reach *r, float *out) {
    double du = (double)degree(graph, w->from), dv = (double)degree(graph, w->to), root = sqrt(fmax(du * dv, 1));
    double two = r->share[w->to] * dv, three = 0, four = 0, count = 0;
    for (int64_t i = graph->row_pointer[w->to]; i < graph->row_pointer[w->to + 1]; i++) {
        int64_t b = graph->column[i];
        double sum = 0;
        for (int64_t j = graph->row_pointer[b]; j < graph->row_pointer[b + 1]; j++)
            sum += r->share[graph->column[j]];
        four += sum / (double)degree(graph, b);
        three += r->share[b];
        count += r->count[b];
    }
    two /= root;
    three /= root;
    four /= root;
    double lift = (double)graph->nnz / root, closeness = two > 0 ? 0.5 : three > 0 ? 1.0 / 3 : four > 0 ? 0.25 : 0;
    const double all[MO_WALK_COLUMNS] = {cbrt(three), sqrt(sqrt(four)), log1p(count), closeness, log1p(lift * two),
        log1p(lift * three), log1p(lift * four)};
    for (int c = 0; c < MO_WALK_COLUMNS; c++)
        out[c] = (float)all[c];
}

/* Writes the columns of n pairs of the list, all from one node. */
static void describe_group(const mo_graph *graph, const walk *list, int64_t n, const reach *r, float *out) {
    find_reach(graph, list->from, r);
    for (int64_t i = 0; i < n; i++)
        describe_walks(graph, &list[i], r, out + list[i].pair * MO_WALK_COLUMNS);
    forget_reach(graph, list->from, r);
}

/* Writes the index of every group's first pair, then n, to group; returns the number of groups. */
static int64_t find_groups(const walk *list, int64_t n, int64_t *group) {
    int64_t groups = 0;
    for (int64_t i = 0; i < n; i++)
        if (!i || list[i].from != list[i - 1].from)
            group[groups++] = i;
    group[groups] = n;
    return groups;
}

/* Walks by groups of pairs with one node `from`. */
typedef struct groups {
    const mo_graph *graph;
    const walk *list;
    const int64_t *first; /* of each group */
    reach r;              /* [threads, nodes] */
    float *out;
} groups;

static void describe_some(const void *of, task_range some) {
    const groups *w = of;
    int64_t at = some.thread * w->graph->nodes;
    const reach own = {w->r.share + at, w->r.count + at};
    for (int64_t g = some.first; g < some.end && mo_goes_on(w->graph->ctx); g++)
        describe_group(w->graph, w->list + w->first[g], w->first[g + 1] - w->first[g], &own, w->out);
}

bool mo_pair_walks(const mo_pair_list *p, float *out) {
    mo_context *ctx = p->graph->ctx;
    walk *list = order_walks(p);
    int64_t *group = mo_host_array(ctx, p->n + 1, sizeof *group), each = mo_context_threads(ctx) * p->graph->nodes;
    const reach r = {mo_host_array(ctx, each, sizeof(double)), mo_host_array(ctx, each, sizeof(double))};
    const groups w = {.graph = p->graph, .list = list, .first = group, .r = r, .out = out};
    if (mo_ok(ctx))
        run_tasks(mo_context_threads(ctx), find_groups(list, p->n, group), FEW, describe_some, &w);
    free(r.share);
    free(r.count);
    free(list);
    free(group);
    return mo_ok(ctx);
}
