/* train/svd/halo.c - products of a normalised adjacency with tall matrices, the rows of all of which are spread.
 *
 * A rank needs the rows of X of the nodes that its own nodes lead to: its own, and those that other ranks hold, its
 * halo. As the adjacency is symmetric, the rows that it sends to rank r are those of its nodes that lead to a node of
 * r: both know them from the graph, and no list is sent. The halo of a graph without locality is almost as large as all
 * other rows, so that a product goes by panels of MO_HALO_PANEL columns: what is held beside X and Y is one panel of
 * its own rows and the halo, and one of the rows for one other rank. An entry's order in its row, and so the sum of a
 * row, is that of one process.
 *
 * In round k of a product rank i exchanges with rank (k - i) mod W, the lower one sending first: every pair meets once,
 * and no rank waits for a message that waits for its own. */
#include "train/svd/halo.h"

#include "ops/rules/in_place.h"
#include "tensor/host_array.h"
#include "train/svd/adjacency.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct mo_halo {
    mo_spread *spread;
    mo_csr *A;
    int64_t own, halo;   /* rows of this rank; of others that it reads */
    int64_t *from, *to;  /* [size + 1]: where the rows of rank r begin in the halo, and in `row` */
    int32_t *row;        /* own rows that others read, by reader */
    int64_t largest;     /* the most rows sent to one rank */
    float *panel, *sent; /* [own + halo, MO_HALO_PANEL], [largest, MO_HALO_PANEL] */
};

/* What a rank reads off the graph: nodes that its rows lead to, and places for them. */
typedef struct survey {
    const mo_graph *graph;
    const int64_t *start; /* of the ranks */
    int size, rank;
    int32_t *place; /* [nodes]: the column of a node in the rank's rows; -1: none yet */
} survey;

/* The rank that holds the row of a node. */
static int rank_of(const survey *s, int64_t node) {
    int low = 0, end = s->size;
    while (end - low > 1) {
        int middle = low + (end - low) / 2;
        if (node < s->start[middle])
            end = middle;
        else
            low = middle;
    }
    return low;
}

/* Gives every node that the rank's rows lead to a column: its own nodes first, then the others in their order. */
static void place_columns(const survey *s, mo_halo *h) {
    const mo_graph *g = s->graph;
    int64_t first = s->start[s->rank], end = s->start[s->rank + 1];
    for (int64_t i = 0; i < g->nodes; i++)
        s->place[i] = -1;
    for (int64_t e = g->row_pointer[first]; e < g->row_pointer[end]; e++)
        s->place[g->column[e]] = 0;
    for (int64_t i = first; i < end; i++)
        s->place[i] = (int32_t)(i - first);
    for (int r = 0; r < s->size; r++) {
        h->from[r] = h->halo;
        for (int64_t i = s->start[r]; r != s->rank && i < s->start[r + 1]; i++)
            if (s->place[i] == 0)
                s->place[i] = (int32_t)(h->own + h->halo++);
    }
    h->from[s->size] = h->halo;
}

/* Counts, for every other rank, the own rows that lead to one of its nodes, or lists them from to[rank] on: count
 * [size] is what it has of each so far, and last [size] the row that each got last. */
static void visit_sent(const survey *s, const mo_halo *h, int64_t *count, int64_t *last, int32_t *row) {
    const mo_graph *g = s->graph;
    int64_t first = s->start[s->rank];
    for (int r = 0; r < s->size; r++) {
        count[r] = 0;
        last[r] = -1;
    }
    for (int64_t i = 0; i < h->own; i++)
        for (int64_t e = g->row_pointer[first + i]; e < g->row_pointer[first + i + 1]; e++) {
            int r = rank_of(s, g->column[e]);
            if (r == s->rank || last[r] == i)
                continue;
            last[r] = i;
            if (row)
                row[h->to[r] + count[r]] = (int32_t)i;
            count[r]++;
        }
}

/* The own rows that each other rank reads. */
static void list_sent(mo_context *ctx, const survey *s, mo_halo *h) {
    int64_t *count = mo_host_array(ctx, s->size, sizeof *count), *last = mo_host_array(ctx, s->size, sizeof *last);
    if (mo_ok(ctx)) {
        visit_sent(s, h, count, last, NULL);
        for (int r = 0; r < s->size; r++) {
            h->to[r + 1] = h->to[r] + count[r];
            h->largest = count[r] > h->largest ? count[r] : h->largest;
        }
    }
    h->row = mo_host_array(ctx, h->to[s->size], sizeof *h->row);
    if (mo_ok(ctx))
        visit_sent(s, h, count, last, h->row);
    free(count);
    free(last);
}

/* The rank's rows of D^-1/2 A D^-1/2, by the placed columns. */
static mo_csr *cut_rows(mo_context *ctx, const survey *s, const mo_halo *h) {
    const mo_graph *g = s->graph;
    int64_t first = s->start[s->rank], begin = g->row_pointer[first], nnz = g->row_pointer[first + h->own] - begin;
    int64_t *pointer = mo_host_array(ctx, h->own + 1, sizeof *pointer);
    int32_t *column = mo_host_array(ctx, nnz, sizeof *column);
    float *value = mo_host_array(ctx, nnz, sizeof *value);
    for (int64_t i = 0; mo_ok(ctx) && i <= h->own; i++)
        pointer[i] = g->row_pointer[first + i] - begin;
    for (int64_t i = 0; mo_ok(ctx) && i < h->own; i++)
        for (int64_t e = pointer[i]; e < pointer[i + 1]; e++) {
            int64_t j = g->column[begin + e];
            value[e] = (float)mo_normalized_entry(g->row_pointer, first + i, j);
            column[e] = s->place[j];
        }
    mo_csr *A = mo_csr_create(ctx, h->own, h->own + h->halo, pointer, column, MO_F32, value);
    free(pointer);
    free(column);
    free(value);
    return A;
}

static bool fill_halo(mo_context *ctx, const survey *s, mo_halo *h) {
    h->from = mo_host_array(ctx, s->size + 1, sizeof *h->from);
    h->to = mo_host_array(ctx, s->size + 1, sizeof *h->to);
    if (!mo_ok(ctx))
        return false;
    place_columns(s, h);
    h->A = cut_rows(ctx, s, h);
    list_sent(ctx, s, h);
    h->panel = mo_host_array(ctx, (h->own + h->halo) * MO_HALO_PANEL, sizeof *h->panel);
    h->sent = mo_host_array(ctx, h->largest * MO_HALO_PANEL, sizeof *h->sent);
    return mo_ok(ctx);
}

mo_halo *mo_halo_create(mo_spread *spread, const mo_graph *graph) {
    mo_context *ctx = spread->ctx;
    mo_halo *h = mo_host_array(ctx, 1, sizeof *h);
    survey s = {graph, spread->start, spread->ranks.size, spread->ranks.rank,
        mo_host_array(ctx, graph->nodes, sizeof *s.place)};
    if (mo_ok(ctx)) {
        *h = (mo_halo){.spread = spread, .own = spread->start[s.rank + 1] - spread->start[s.rank]};
        fill_halo(ctx, &s, h);
    }
    free(s.place);
    if (mo_spread_agree(spread))
        return h;
    mo_halo_release(h);
    return NULL;
}

void mo_halo_release(mo_halo *h) {
    if (!h)
        return;
    mo_csr_release(h->A);
    free(h->from);
    free(h->to);
    free(h->row);
    free(h->panel);
    free(h->sent);
    free(h);
}

mo_spread *mo_halo_spread(const mo_halo *h) {
    return h ? h->spread : NULL;
}

const mo_csr *mo_halo_rows(const mo_halo *h) {
    return h->A;
}

/* A panel of a matrix: `columns` of them, from `data` on, of rows `stride` apart. */
typedef struct columns {
    const float *data;
    int64_t stride, count;
} columns;

static void send_panel(mo_halo *h, const columns *x, int r) {
    const mo_ranks *ranks = &h->spread->ranks;
    int64_t n = h->to[r + 1] - h->to[r];
    for (int64_t i = 0; i < n; i++)
        memcpy(h->sent + i * x->count, x->data + h->row[h->to[r] + i] * x->stride, (size_t)x->count * sizeof(float));
    if (n)
        ranks->send(ranks->state, r, h->sent, (size_t)(n * x->count) * sizeof(float));
}

static void receive_panel(mo_halo *h, const columns *x, int r) {
    const mo_ranks *ranks = &h->spread->ranks;
    int64_t n = h->from[r + 1] - h->from[r];
    if (n)
        ranks->receive(
            ranks->state, r, h->panel + (h->own + h->from[r]) * x->count, (size_t)(n * x->count) * sizeof(float));
}

/* Fills the panel: the own rows, then those of the halo. */
static void gather_panel(mo_halo *h, const columns *x) {
    int size = h->spread->ranks.size, rank = h->spread->ranks.rank;
    for (int64_t i = 0; i < h->own; i++)
        memcpy(h->panel + i * x->count, x->data + i * x->stride, (size_t)x->count * sizeof(float));
    for (int k = 0; k < size; k++) {
        int r = (k - rank + size) % size;
        if (r > rank)
            send_panel(h, x, r);
        if (r != rank)
            receive_panel(h, x, r);
        if (r < rank)
            send_panel(h, x, r);
    }
}

void mo_halo_multiply(mo_halo *h, mo_tensor *X, mo_tensor *Y) {
    if (!mo_spread_agree(h->spread))
        return;
    mo_view x = mo_tensor_view(X), y = mo_tensor_view(Y), p = x;
    for (int64_t j = 0; j < x.shape[1]; j += MO_HALO_PANEL) {
        int64_t count = x.shape[1] - j < MO_HALO_PANEL ? x.shape[1] - j : MO_HALO_PANEL;
        gather_panel(h, &(columns){(const float *)x.data + j, x.stride[0], count});
        p.data = h->panel;
        p.shape[0] = h->own + h->halo;
        p.shape[1] = y.shape[1] = p.stride[0] = count;
        mo_spmm_into(h->A, 0, &p, &y);
        y.data = (float *)y.data + count;
    }
}
