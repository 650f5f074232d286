/* train/features/target_columns.c - kernels for real targets, beside those that classes have too: rows of columns whose
 * lengths and differences mean something, where the others compare directions.
 *
 * Two tables of columns, each standardised over all examples and clipped to -4 .. 4, with p columns that vary:
 *     nodes    own: the attributes;  all: these, and their means over the neighbours; without attributes, all:
 *              the structure columns
 *     graphs   own: how many nodes have each node label, each degree, and each label with each degree; numbers of
 * nodes, edges and rings;  all: these, and the columns of the experts st, lab and at and two kernels of each: 1 + <x,
 * y> / p, whose ridge is that of the columns, and 1 + exp(-|x - y|^2 / (2 p)). */
#include "tensor/library.h"
#include "train/features/example_kernels.h"
#include "train/features/nodes/structure_columns.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ATTRIBUTES = 256 /* a table of more is a bag of words, whose directions count */, DEGREES = 9 };

/* ---- nodes ---- */

/* The means of the attributes over the neighbours: X [nodes, stride], from column 0 on to column w on. */
static void average_neighbours(const mo_graph *g, float *X, int64_t w, int64_t stride) {
    for (int64_t u = 0; u < g->nodes; u++)
        for (int64_t j = 0; j < w; j++) {
            double sum = 0, d = (double)(g->row_pointer[u + 1] - g->row_pointer[u]);
            for (int64_t e = g->row_pointer[u]; e < g->row_pointer[u + 1]; e++)
                sum += X[g->column[e] * stride + j];
            X[u * stride + w + j] = d > 0 ? (float)(sum / d) : 0;
        }
}

static bool columns_of_nodes(mo_example_kernels *k) {
    const mo_graph *g = k->graph;
    int64_t f = g->features <= MOST_ATTRIBUTES ? g->features : 0, w = f ? 2 * f : MO_STRUCTURE_COLUMNS;
    float *own = mo_host_array(g->ctx, g->nodes * f, sizeof *own),
          *all = mo_host_array(g->ctx, g->nodes * w, sizeof *all);
    for (int64_t u = 0; own && all && f && u < g->nodes; u++)
        for (int64_t e = g->feature_pointer[u]; e < g->feature_pointer[u + 1]; e++)
            own[u * f + g->feature_column[e]] = g->feature_value[e];
    if (own && all && !f)
        mo_structure_columns(g, mo_most_exact_walks(g), all);
    for (int64_t u = 0; mo_ok(g->ctx) && f && u < g->nodes; u++)
        memcpy(all + u * w, own + u * f, (size_t)f * sizeof *own);
    if (mo_ok(g->ctx))
        average_neighbours(g, all, f, w);
    k->table[0] = (mo_column_table){own, f, 0};
    k->table[1] = (mo_column_table){all, w, 0};
    return mo_ok(g->ctx);
}

/* ---- graphs of a set ---- */

/* Numbers of graph i of nodes by label, by degree, by both, and of nodes, edges and rings. */
static void count_parts(const mo_graph *g, int64_t i, int64_t labels, float *x) {
    float *degree = x + labels, *both = degree + DEGREES, *sizes = both + labels * DEGREES;
    int64_t first = g->graph_offset[i], stop = g->graph_offset[i + 1];
    for (int64_t u = first; u < stop; u++) {
        int64_t d = g->row_pointer[u + 1] - g->row_pointer[u], at = d < DEGREES ? d : DEGREES - 1;
        degree[at]++;
        for (int64_t e = labels ? g->feature_pointer[u] : 0; labels && e < g->feature_pointer[u + 1]; e++)
            if (g->feature_column[e] >= g->attributes && g->feature_value[e] != 0) {
                x[g->feature_column[e] - g->attributes]++;
                both[(g->feature_column[e] - g->attributes) * DEGREES + at]++;
            }
    }
    sizes[0] = (float)(stop - first);
    sizes[1] = (float)(g->row_pointer[stop] - g->row_pointer[first]) / 2;
    sizes[2] = sizes[1] - sizes[0] + 1;
}

static bool columns_of_graphs(mo_example_kernels *k) {
    const mo_graph *g = k->graph;
    int64_t labels = g->features - g->attributes <= MOST_ATTRIBUTES ? g->features - g->attributes : 0;
    int64_t w = labels + DEGREES + labels * DEGREES + 3, more = mo_graph_experts_columns(k, NULL, 0);
    float *own = mo_host_array(g->ctx, g->graphs * w, sizeof *own);
    float *all = mo_host_array(g->ctx, g->graphs * (w + more), sizeof *all);
    for (int64_t i = 0; own && all && i < g->graphs; i++) {
        count_parts(g, i, labels, own + i * w);
        memcpy(all + i * (w + more), own + i * w, (size_t)w * sizeof *own);
    }
    if (own && all)
        mo_graph_experts_columns(k, all + w, w + more);
    k->table[0] = (mo_column_table){own, w, 0};
    k->table[1] = (mo_column_table){all, w + more, 0};
    return mo_ok(g->ctx);
}

/* ---- both ---- */

bool mo_example_kernels_for_targets(mo_example_kernels *k, bool on) {
    static const char *const names[] = {"cl", "cg", "al", "ag"};
    if (!k || (on && !k->made && !(k->nodes ? columns_of_nodes : columns_of_graphs)(k)))
        return !k;
    for (int i = 0; on && !k->made && i < MO_COLUMN_TABLES; i++) {
        mo_column_table *c = &k->table[i];
        c->varying = mo_scale_columns(
            c->x, mo_graph_examples(k->graph), c->w, k->graph->counted, k->graph->n_counted, MO_KERNEL_CLIP);
        for (int j = 0; j < 2 && c->varying > 0; j++)
            if (!mo_kernels_name(k, names[2 * i + j]))
                return false;
    }
    int more = 2 * ((k->table[0].varying > 0) + (k->table[1].varying > 0));
    if (on && !k->made)
        k->count -= more;
    k->made |= on;
    k->count += on == k->targets ? 0 : on ? more : -more;
    k->targets = on;
    k->columns = on ? more : 0;
    return mo_ok(k->graph->ctx);
}

static double product(const float *x, const float *y, int64_t w) {
    double sum = 0;
    for (int64_t j = 0; j < w; j++)
        sum += (double)x[j] * y[j];
    return sum;
}

void mo_column_kernels(const mo_example_kernels *k, const mo_row_pairs *p, float *K) {
    for (int i = 0; i < MO_COLUMN_TABLES; i++) {
        const mo_column_table *c = &k->table[i];
        if (!k->targets || c->varying == 0)
            continue;
        for (int64_t a = 0; a < p->n_a; a++)
            for (int64_t b = 0; b < p->n_b; b++)
                K[a * p->n_b + b] =
                    (float)(1 + product(c->x + p->a[a] * c->w, c->x + p->b[b] * c->w, c->w) / (double)c->varying);
        mo_gaussian_block(k->graph->ctx, c->x, c->w, c->varying, p, K + p->n_a * p->n_b);
        K += 2 * p->n_a * p->n_b;
    }
}

void mo_example_kernels_diagonal(const mo_example_kernels *k, const int64_t *a, int64_t n, float *D) {
    int tables = 2 * ((k->table[0].varying > 0) + (k->table[1].varying > 0)), e = 0;
    for (; e < k->count - (k->targets ? tables : 0); e++, D += n)
        for (int64_t i = 0; i < n; i++)
            D[i] = 2;
    for (int t = 0; t < MO_COLUMN_TABLES && e < k->count; t++) {
        const mo_column_table *c = &k->table[t];
        for (int64_t i = 0; c->varying > 0 && i < n; i++) {
            const float *x = c->x + a[i] * c->w;
            D[i] = (float)(1 + product(x, x, c->w) / (double)c->varying);
            D[n + i] = 2;
        }
        D += c->varying > 0 ? 2 * n : 0;
        e += c->varying > 0 ? 2 : 0;
    }
}
