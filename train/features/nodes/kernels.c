/* train/features/nodes/kernels.c - kernels between the nodes of a graph, one per expert.
 *
 * Each has one row per node and the kernel k(x, y) = 1 + <x, y>, but S has 1 + exp(-|x - y|^2 /
 * (2 p)). With X the attributes at unit length, A the adjacency, P = D^-1 A, A~ = D^-1/2 A D^-1/2, every row at unit
 * length unless it is zero, "centred" minus the mean row over all nodes:
 *
 *     Xc  X, centred                           PX  P X, centred            HX  X - P X, centred
 *     A1  A D^-1/2                             S   p structure columns (structure_columns.h)
 *     H   A~^2 (P_A + P_X), hop 2 of both blocks of the features (blocks.c), summed
 *
 * Xc, PX, HX need two columns of attributes or more, A1 and H edges, H features with blocks and two hops, S a column
 * that differs between nodes; otherwise the expert is left out. No array [nodes, columns of X] is ever allocated.
 *
 * An expert with dense rows makes the rows of the requested nodes and multiplies
 * them. A1 sums over common neighbours, S over squared differences (gram_blocks.c). Experts on sparse attributes
 * multiply sparse rows (attribute_products.c). */
#include "train/features/example_kernels.h"

#include "autograd/tape.h"
#include "ops/inside.h"
#include "ops/rules/in_place.h"
#include "train/features/example_rows.h"
#include "train/features/nodes/attribute_rows.h"
#include "train/features/nodes/structure_columns.h"
#include "train/features/row_stack.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TILE = 1024 /* rows of list a computed at once */ };

typedef struct mo_node_experts node_experts;
typedef struct row_maker row_maker;
/* Writes the rows of n listed nodes to out [kinds, n, w]. */
typedef bool fill_rows(const node_experts *k, const row_maker *maker, const int64_t *node, int64_t n, float *out);

/* Experts whose dense rows are made together. */
struct row_maker {
    fill_rows *fill;
    int kinds;
    int64_t w;
    float *given; /* [nodes, w]: rows given by the user, at unit length; or NULL */
    float *known; /* [kinds, n_known, w]: rows of the last call's list b, or NULL */
};

struct mo_node_experts {
    const mo_graph *graph;
    mo_context *host, *own; /* host: a CPU context, the graph's or `own`; own: one made here, or NULL */
    mo_attribute_rows attributes;
    bool has_attributes, attributes_are_sparse, has_edges;
    row_maker attribute_maker;      /* if the attributes are dense */
    mo_attribute_products products; /* if the attributes are sparse: products with the last call's list b */
    float *structure;               /* [nodes, MO_STRUCTURE_COLUMNS] */
    int varying;                    /* number of columns of `structure` that vary */
    mo_row_stack hop[MO_BLOCKS];    /* n_hops: one for each block, or one with columns of both */
    int n_hops;
    int64_t *column;      /* the columns of rows with both blocks, b d + j, or NULL */
    mo_tensor *hops;      /* [n_hops, nodes, w]: a host copy of hops on a device, or NULL */
    int32_t *place;       /* [nodes]: scratch of mo_cosine_block */
    double *root_inverse; /* [nodes]: d^-1/2 */
    row_maker *maker;     /* [n_makers]: of the expert H, then of the user's rows */
    int n_makers;
    int64_t *known, n_known; /* the last call's list b, which the next call is likely to repeat */
};

/* ---- experts with dense rows ---- */

static bool fill_attributes(const node_experts *k, const row_maker *maker, const int64_t *node, int64_t n, float *out) {
    (void)maker;
    return mo_attribute_rows_fill(&k->attributes, node, n, out);
}

static void bring_to_unit_length(float *x, int64_t w) {
    double squares = 0;
    for (int64_t j = 0; j < w; j++)
        squares += (double)x[j] * x[j];
    double inverse = squares > 0 ? 1 / sqrt(squares) : 0;
    for (int64_t j = 0; j < w; j++)
        x[j] = (float)(x[j] * inverse);
}

/* Adds row x of columns [w], b d + j for column j of block b (NULL: of one block), to out [d]. */
static void add_columns(const float *x, const int64_t *column, int64_t w, int64_t d, float *out) {
    for (int64_t j = 0; j < w; j++)
        out[column ? column[j] % d : j] += x[j];
}

static bool fill_hops(const node_experts *k, const row_maker *maker, const int64_t *node, int64_t n, float *out) {
    int64_t w = (int64_t)(k->hop[0].width / sizeof *out), d = maker->w;
    float *rows = mo_host_array(k->graph->ctx, n * w, sizeof *rows);
    memset(out, 0, (size_t)(n * d) * sizeof *out);
    for (int b = 0; b < k->n_hops; b++)
        mo_announce_rows(&k->hop[b], node, n);
    for (int b = 0; b < k->n_hops && rows; b++) {
        mo_read_rows(&k->hop[b], node, n, (char *)rows);
        for (int64_t i = 0; i < n; i++)
            add_columns(rows + i * w, k->column, w, d, out + i * d);
    }
    for (int64_t i = 0; i < n && rows; i++)
        bring_to_unit_length(out + i * d, d);
    free(rows);
    return rows;
}

static bool fill_given(const node_experts *k, const row_maker *maker, const int64_t *node, int64_t n, float *out) {
    (void)k;
    for (int64_t i = 0; i < n; i++)
        memcpy(out + i * maker->w, maker->given + node[i] * maker->w, (size_t)maker->w * sizeof *out);
    return true;
}

static mo_view matrix_view(const float *x, int64_t rows, int64_t columns, int64_t row_stride, int64_t column_stride) {
    return (mo_view){(void *)(uintptr_t)x, MO_F32, 2, {rows, columns}, {row_stride, column_stride}};
}

/* K [n_a, n_b] := 1 + X Y^T for rows X [n_a, w] and Y [n_b, w]. */
static void multiply_rows(
    const node_experts *k, const float *X, int64_t n_a, const float *Y, int64_t n_b, int64_t w, float *K) {
    mo_math math = k->host->math;
    for (int64_t i = 0; i < n_a * n_b; i++)
        K[i] = 1;
    mo_view x = matrix_view(X, n_a, w, w, 1), y = matrix_view(Y, w, n_b, 1, w), z = matrix_view(K, n_a, n_b, n_b, 1);
    k->host->math = MO_MATH_FP32; /* without rounded factors */
    mo_matmul_views(k->host, 1, &x, &y, 1, &z);
    k->host->math = math;
}

static bool same_lists(const int64_t *a, int64_t n_a, const int64_t *b, int64_t n_b) {
    return n_a == n_b && memcmp(a, b, (size_t)n_a * sizeof *a) == 0;
}

/* The rows of the list b, computed or kept from the last call. */
static const float *known_rows(const node_experts *k, row_maker *m) {
    if (m->known)
        return m->known;
    m->known = mo_host_array(k->graph->ctx, m->kinds * k->n_known * m->w, sizeof *m->known);
    if (m->known && !m->fill(k, m, k->known, k->n_known, m->known)) {
        free(m->known);
        m->known = NULL;
    }
    return m->known;
}

/* K [kinds, n_a, n_b], a tile of rows at a time. */
static bool compare_rows(const node_experts *k, row_maker *m, const mo_row_pairs *p, float *K) {
    const float *Y = known_rows(k, m);
    bool same = same_lists(p->a, p->n_a, p->b, p->n_b);
    int64_t tile = same || p->n_a < TILE ? p->n_a : TILE;
    float *own = same ? NULL : mo_host_array(k->graph->ctx, m->kinds * tile * m->w, sizeof *own);
    bool done = Y && (same || own);
    for (int64_t i = 0; i < p->n_a && done; i += tile) {
        int64_t n = p->n_a - i < tile ? p->n_a - i : tile;
        const float *X = same ? Y : own;
        done = same || m->fill(k, m, p->a + i, n, own);
        for (int kind = 0; kind < m->kinds && done; kind++)
            multiply_rows(
                k, X + kind * n * m->w, n, Y + kind * p->n_b * m->w, p->n_b, m->w, K + (kind * p->n_a + i) * p->n_b);
    }
    free(own);
    return done && mo_ok(k->host);
}

/* ---- all experts ---- */

/* Raises the error of our own context in the graph's context. */
static mo_code code_of_both(const node_experts *k) {
    mo_context *ctx = k->graph->ctx;
    if (k->own && mo_ok(ctx) && !mo_ok(k->own)) {
        mo_fail(ctx, mo_context_status(k->own)->code, "%s", mo_context_status(k->own)->message);
        mo_clear_error(k->own);
    }
    return mo_code_of(ctx);
}

static void forget_list(node_experts *k) {
    mo_attribute_products_free(&k->products);
    free(k->attribute_maker.known);
    k->attribute_maker.known = NULL;
    for (int i = 0; i < k->n_makers; i++) {
        free(k->maker[i].known);
        k->maker[i].known = NULL;
    }
    free(k->known);
    k->known = NULL;
}

/* Keeps the rows made for the last call's list b only if this call has the same list. */
static bool remember_list(node_experts *k, const int64_t *b, int64_t n_b) {
    if (k->known && same_lists(k->known, k->n_known, b, n_b))
        return true;
    forget_list(k);
    k->known = mo_host_array(k->graph->ctx, n_b, sizeof *k->known);
    k->n_known = n_b;
    if (k->known)
        memcpy(k->known, b, (size_t)n_b * sizeof *b);
    return k->known;
}

float *mo_node_experts_gram(mo_example_kernels *all, const mo_row_pairs *p, float *K) {
    node_experts *k = all->nodes;
    const mo_graph *graph = k->graph;
    int64_t pairs = p->n_a * p->n_b;
    bool done = remember_list(k, p->b, p->n_b);
    if (k->has_attributes && done) {
        done = k->attributes_are_sparse ? mo_attribute_products_fill(&k->attributes, k->host, &k->products, p, K)
                                        : compare_rows(k, &k->attribute_maker, p, K);
        K += MO_ATTRIBUTE_KINDS * pairs;
    }
    if (k->has_edges && done) {
        mo_sparse_rows A1 = {graph->nodes, graph->row_pointer, graph->column, NULL, k->root_inverse};
        done = mo_cosine_block(graph->ctx, &A1, k->place, p, K);
        K += pairs;
    }
    if (k->varying > 0 && done) {
        mo_gaussian_block(graph->ctx, k->structure, MO_STRUCTURE_COLUMNS, k->varying, p, K);
        K += pairs;
    }
    for (int i = 0; i < k->n_makers && done; i++, K += pairs)
        done = compare_rows(k, &k->maker[i], p, K);
    code_of_both(k);
    return K;
}

/* ---- make, add, release ---- */

/* Takes over the maker's given rows, even on failure. */
static bool add_maker(mo_example_kernels *all, const char *name, row_maker maker) {
    node_experts *k = all->nodes;
    row_maker *grown = realloc(k->maker, (size_t)(k->n_makers + 1) * sizeof *grown);
    k->maker = grown ? grown : k->maker;
    if (!grown)
        mo_fail(k->graph->ctx, MO_MEMORY, "kernels: out of memory for expert %s", name);
    if (!grown || !mo_kernels_name(all, name)) {
        free(maker.given);
        return false;
    }
    k->maker[k->n_makers++] = maker;
    return true;
}

bool mo_node_experts_add(mo_example_kernels *all, const char *name, float *rows, int64_t w) {
    for (int64_t i = 0; i < all->graph->nodes; i++)
        bring_to_unit_length(rows + i * w, w);
    return add_maker(all, name, (row_maker){fill_given, 1, w, rows, NULL});
}

/* A hop of block b of a tensor [.., hops, nodes, w]. */
static mo_row_stack hop_of_block(const mo_tensor *blocks, int b, int64_t hop) {
    mo_row_stack s = mo_row_stack_of(blocks, blocks->ndim - 2);
    int64_t skipped = (b * mo_dim(blocks, -3) + hop) * s.rows * (int64_t)s.width;
    s.outer = 1;
    s.data += skipped;
    return s;
}

/* A host copy of a hop of blocks on a device: [.., 1, nodes, w]. */
static mo_tensor *copy_hop(mo_context *host, mo_tensor *blocks, int64_t at) {
    mo_tape *t = mo_tape_create(blocks->ctx, MO_EVAL);
    mo_tensor *hop = mo_contiguous(t, mo_slice(t, blocks, MO_AXIS(-3), at, at + 1));
    mo_tensor *copy = mo_tensor_create(host, MO_F32, hop->ndim, hop->shape);
    if (mo_ok(host) && mo_ok(blocks->ctx))
        mo_tensor_read(hop, mo_tensor_view(copy).data, (size_t)mo_numel(copy) * sizeof(float));
    mo_tape_release(t);
    return copy;
}

/* Adds the expert H if the features have hop 2 of both blocks. */
static bool add_hops(mo_example_kernels *all, const mo_features *nodes) {
    node_experts *k = all->nodes;
    bool known = nodes && nodes->hops >= MO_KERNEL_HOP && k->has_edges;
    mo_tensor *mixed = known ? mo_arrays_find(nodes->arrays, "mixed") : NULL; /* its last sum is hop 2 */
    mo_tensor *blocks = mixed ? mixed : known ? mo_arrays_find(nodes->arrays, "blocks") : NULL;
    int64_t at = mixed ? mo_dim(mixed, 0) - 1 : MO_KERNEL_HOP;
    if (!blocks || mo_dim(blocks, -2) != k->graph->nodes)
        return mo_ok(k->graph->ctx);
    bool on_device = mo_context_device(blocks->ctx) != MO_CPU;
    k->hops = on_device ? copy_hop(k->host, blocks, at) : NULL;
    k->column = mixed ? mo_host_values(mo_arrays_find(nodes->arrays, "columns"), MO_I64) : NULL;
    if (code_of_both(k) != MO_OK)
        return false;
    k->n_hops = mixed ? 1 : MO_BLOCKS;
    for (int b = 0; b < k->n_hops; b++)
        k->hop[b] = on_device ? hop_of_block(k->hops, b, 0) : hop_of_block(blocks, b, at);
    return add_maker(all, "H", (row_maker){fill_hops, 1, nodes->dim, NULL, NULL});
}

static bool add_attributes(mo_example_kernels *all) {
    node_experts *k = all->nodes;
    const mo_graph *graph = k->graph;
    if (graph->features < 2)
        return true;
    k->has_attributes = true;
    k->attributes_are_sparse = mo_attributes_are_sparse(graph);
    k->attribute_maker = (row_maker){fill_attributes, MO_ATTRIBUTE_KINDS, graph->features, NULL, NULL};
    if (!mo_attribute_rows_make(graph, &k->attributes))
        return false;
    all->assortativity = mo_attribute_assortativity(&k->attributes);
    return mo_kernels_name(all, "Xc") && mo_kernels_name(all, "PX") && mo_kernels_name(all, "HX");
}

static bool add_neighbours(mo_example_kernels *all) {
    node_experts *k = all->nodes;
    k->has_edges = k->graph->nnz > 0;
    k->place = mo_host_array(k->graph->ctx, k->graph->nodes, sizeof *k->place);
    k->root_inverse = mo_host_array(k->graph->ctx, k->graph->nodes, sizeof *k->root_inverse);
    for (int64_t u = 0; mo_ok(k->graph->ctx) && u < k->graph->nodes; u++) {
        k->place[u] = -1;
        k->root_inverse[u] = degree(k->graph, u) ? 1 / sqrt((double)degree(k->graph, u)) : 0;
    }
    return mo_ok(k->graph->ctx) && (!k->has_edges || mo_kernels_name(all, "A1"));
}

static bool add_structure(mo_example_kernels *all) {
    node_experts *k = all->nodes;
    k->structure = mo_host_array(k->graph->ctx, k->graph->nodes * MO_STRUCTURE_COLUMNS, sizeof *k->structure);
    k->varying = k->structure ? mo_structure_columns(k->graph, mo_most_exact_walks(k->graph), k->structure) : -1;
    return k->varying == 0 || (k->varying > 0 && mo_kernels_name(all, "S"));
}

bool mo_node_experts_make(mo_example_kernels *all, const mo_features *nodes) {
    mo_context *ctx = all->graph->ctx;
    node_experts *k = all->nodes = mo_host_array(ctx, 1, sizeof *k);
    if (!k)
        return false;
    k->graph = all->graph;
    k->own = mo_context_device(ctx) == MO_CPU
                 ? NULL
                 : mo_context_create(&(mo_context_options){.threads = mo_context_threads(ctx)});
    k->host = k->own ? k->own : ctx;
    return code_of_both(k) == MO_OK && add_attributes(all) && add_neighbours(all) && add_structure(all) &&
           add_hops(all, nodes);
}

void mo_node_experts_release(node_experts *k) {
    if (!k)
        return;
    forget_list(k);
    mo_attribute_rows_free(&k->attributes);
    free(k->structure);
    free(k->place);
    free(k->root_inverse);
    for (int i = 0; i < k->n_makers; i++)
        free(k->maker[i].given);
    free(k->maker);
    mo_tensor_release(k->hops);
    free(k->column);
    mo_context_release(k->own);
    free(k);
}
