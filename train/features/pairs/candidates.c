/* train/features/pairs/candidates.c - pairs of nodes that may be linked, from every node's side: of the nodes that are
 * not its neighbours,
 *     4 n of two steps with the largest s_w, the sum over common neighbours a of 1 / d_a (resource allocation);
 *     2 n of three steps, from those 4 n and from the neighbours' side, with the largest sum of s_w / d_w;
 *     2 n with the nearest rows, those of A~^2 times the basis of the attributes or, without attributes, of the
 *         structure, if there are at most MOST_NEAREST nodes: all rows are compared.
 * In a graph of two kinds of nodes, such as people and places, partners are three steps apart. */
#include "tensor/cpu/tasks.h"
#include "tensor/library.h"
#include "train/features/pairs/pair_columns.h"

#include <stdlib.h>

enum { TWO_STEPS = 4, THREE_STEPS = 2, NEAREST = 2, EACH = TWO_STEPS + THREE_STEPS + NEAREST };
enum { MOST_NEAREST = 1 << 15, BLOCK = 256, HOP = 2, FEW = 16 };

typedef struct reached {
    double weight;
    int64_t node;
} reached;

/* The nodes that one thread reaches from a node. */
typedef struct search {
    double *weight;  /* [nodes]: of those reached; 0 before and after */
    reached *list;   /* [nodes] */
    reached *chosen; /* [TWO_STEPS n] */
    bool *known;     /* [nodes]: the node itself, its neighbours and its candidates; false before and after */
} search;

typedef struct candidates {
    const mo_pair_reader *r;
    int64_t n;
    search *of_thread;
    int64_t *found, *count; /* [nodes, EACH n] and [nodes] */
    int64_t first;          /* of a block of nodes: the node of its first row */
    const float *inner;     /* [BLOCK, nodes]: products of the block's rows with all rows */
} candidates;

/* The largest weight first, the smaller node among equals. */
static int compare_reached(const void *a, const void *b) {
    const reached *x = a, *y = b;
    if (x->weight != y->weight)
        return x->weight < y->weight ? 1 : -1;
    return (x->node > y->node) - (x->node < y->node);
}

/* Adds a weight to every neighbour of a node that is not known; returns the number of nodes on the list. */
static int64_t reach(const mo_graph *graph, int64_t from, double weight, search *s, int64_t listed) {
    for (int64_t e = graph->row_pointer[from]; e < graph->row_pointer[from + 1]; e++) {
        int64_t v = graph->column[e];
        if (s->known[v])
            continue;
        if (s->weight[v] == 0)
            s->list[listed++].node = v;
        s->weight[v] += weight;
    }
    return listed;
}

/* Takes the best `most` of the listed nodes as candidates of u, and clears the weights. */
static void take(candidates *c, search *s, int64_t u, int64_t listed, int64_t most) {
    for (int64_t i = 0; i < listed; i++) {
        s->list[i].weight = s->weight[s->list[i].node];
        s->weight[s->list[i].node] = 0;
    }
    qsort(s->list, (size_t)listed, sizeof *s->list, compare_reached);
    for (int64_t i = 0; i < listed && i < most; i++) {
        s->known[s->list[i].node] = true;
        c->found[u * EACH * c->n + c->count[u]++] = s->list[i].node;
    }
}

/* Marks u, its neighbours and its candidates as known, or no longer. */
static void mark(const candidates *c, const search *s, int64_t u, bool known) {
    const mo_graph *graph = c->r->graph;
    s->known[u] = known;
    for (int64_t e = graph->row_pointer[u]; e < graph->row_pointer[u + 1]; e++)
        s->known[graph->column[e]] = known;
    for (int64_t i = 0; i < c->count[u]; i++)
        s->known[c->found[u * EACH * c->n + i]] = known;
}

static void find_by_steps(const void *of, task_range some) {
    candidates *c = (candidates *)of;
    const mo_graph *graph = c->r->graph;
    search *s = &c->of_thread[some.thread];
    for (int64_t u = some.first; u < some.end && mo_goes_on(graph->ctx); u++) {
        int64_t listed = 0, two;
        mark(c, s, u, true);
        for (int64_t e = graph->row_pointer[u]; e < graph->row_pointer[u + 1]; e++) {
            int64_t a = graph->column[e];
            listed = reach(graph, a, 1 / (double)degree(graph, a), s, listed);
        }
        take(c, s, u, listed, TWO_STEPS * c->n);
        two = c->count[u];
        for (int64_t i = 0; i < two; i++)
            s->chosen[i] = s->list[i];
        listed = 0;
        for (int64_t i = 0; i < two; i++) {
            int64_t w = s->chosen[i].node;
            listed = reach(graph, w, s->chosen[i].weight / (double)degree(graph, w), s, listed);
        }
        take(c, s, u, listed, THREE_STEPS * c->n);
        mark(c, s, u, false);
    }
}

/* ---- the nearest rows ---- */

static void find_nearest(const void *of, task_range some) {
    candidates *c = (candidates *)of;
    int64_t nodes = c->r->graph->nodes, most = NEAREST * c->n;
    search *s = &c->of_thread[some.thread];
    for (int64_t i = some.first; i < some.end && mo_goes_on(c->r->graph->ctx); i++) {
        int64_t u = c->first + i, listed = 0, least = 0;
        const float *inner = c->inner + i * nodes;
        mark(c, s, u, true);
        for (int64_t v = 0; v < nodes; v++) { /* the list is full at `most`; then its least gives way to a larger one */
            if (s->known[v] || inner[v] <= 0 || (listed == most && inner[v] <= s->list[least].weight))
                continue;
            int64_t at = listed < most ? listed++ : least;
            s->list[at] = (reached){inner[v], v};
            for (int64_t j = least = 0; listed == most && j < listed; j++)
                least = s->list[j].weight < s->list[least].weight ? j : least;
        }
        for (int64_t j = 0; j < listed; j++)
            c->found[u * EACH * c->n + c->count[u] + j] = s->list[j].node;
        mark(c, s, u, false);
        c->count[u] += listed;
    }
}

static void compare_rows(candidates *c, float *host) {
    mo_context *ctx = c->r->ctx;
    int64_t nodes = c->r->graph->nodes, threads = mo_context_threads(ctx), shape[] = {nodes, c->r->dim};
    mo_tape *t = mo_tape_create(ctx, MO_EVAL);
    int block = c->r->graph->features > 0;
    mo_tensor *basis = mo_arrays_find(c->r->basis.arrays, "basis"), *rows = mo_tensor_create(ctx, MO_F32, 2, shape);
    mo_tensor *P = mo_ok(ctx) ? mo_reshape(t, mo_slice(t, basis, MO_AXIS(0), block, block + 1), 2, shape) : NULL;
    for (int k = 0; k < HOP && mo_ok(ctx); k++)
        P = mo_spmm(t, c->r->A, P);
    if (mo_ok(ctx))
        mo_tensor_copy(rows, mo_l2_normalize(t, P, 1e-12));
    mo_tape_reset(t);
    for (c->first = 0; c->first < nodes && mo_goes_on(ctx) && mo_ok(ctx); c->first += BLOCK) {
        int64_t n = nodes - c->first < BLOCK ? nodes - c->first : BLOCK;
        mo_tensor *some = mo_slice(t, rows, MO_AXIS(0), c->first, c->first + n);
        if (mo_tensor_read(mo_matmul(t, some, mo_transpose(t, rows)), host, (size_t)(n * nodes) * sizeof *host) ==
            MO_OK)
            run_tasks((int)threads, n, FEW, find_nearest, c);
        mo_tape_reset(t);
    }
    mo_tensor_release(rows);
    mo_tape_release(t);
}

/* ---- the pairs ---- */

/* Writes the pairs as u * nodes + v, u < v, each once, to *key; returns their number. */
static int64_t list_keys(const candidates *c, int64_t **key) {
    int64_t nodes = c->r->graph->nodes, n = 0, at = 0;
    for (int64_t u = 0; u < nodes; u++)
        n += c->count[u];
    *key = mo_host_array(c->r->ctx, n, sizeof **key);
    for (int64_t u = 0; *key && u < nodes; u++)
        for (int64_t i = 0; i < c->count[u]; i++) {
            int64_t v = c->found[u * EACH * c->n + i];
            (*key)[at++] = u < v ? u * nodes + v : v * nodes + u;
        }
    return *key ? mo_sort_distinct(*key, n) : 0;
}

int64_t mo_pair_candidates(const mo_pair_reader *r, int64_t n, int64_t **key) {
    mo_context *ctx = r->ctx;
    int64_t nodes = r->graph->nodes, threads = mo_context_threads(ctx), all = 0;
    bool near = nodes <= MOST_NEAREST;
    float *host = mo_host_array(ctx, near ? BLOCK * nodes : 1, sizeof *host);
    search *of_thread = mo_host_array(ctx, threads, sizeof *of_thread);
    candidates c = {.r = r, .n = n, .of_thread = of_thread, .inner = host};
    c.found = mo_host_array(ctx, nodes * EACH * n, sizeof *c.found);
    c.count = mo_host_array(ctx, nodes, sizeof *c.count);
    for (int64_t i = 0; of_thread && i < threads; i++)
        of_thread[i] = (search){mo_host_array(ctx, nodes, sizeof(double)), mo_host_array(ctx, nodes, sizeof(reached)),
            mo_host_array(ctx, TWO_STEPS * n, sizeof(reached)), mo_host_array(ctx, nodes, sizeof(bool))};
    *key = NULL;
    if (mo_ok(ctx)) {
        run_tasks((int)threads, nodes, FEW, find_by_steps, &c);
        if (near)
            compare_rows(&c, host);
        all = mo_ok(ctx) ? list_keys(&c, key) : 0;
    }
    for (int64_t i = 0; of_thread && i < threads; i++) {
        free(of_thread[i].weight);
        free(of_thread[i].list);
        free(of_thread[i].chosen);
        free(of_thread[i].known);
    }
    free(of_thread);
    free(host);
    free(c.found);
    free(c.count);
    return all;
}
