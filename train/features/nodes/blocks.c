/* train/features/nodes/blocks.c - rows of nodes: structure and attributes in separate blocks, each in its own SVD's
 * coordinates, and their hops; behind the hops two diffused matrices (diffuse.c); also log(1 + degree).
 *
 * Structure P_A = (U + V) sqrt(S) of A~, attributes P_X = U sqrt(S) of X (basis.c), each divided by its mean row norm;
 * block b at hop k is A~^k P_b. If a graph has no attributes, its second block is zero.
 *
 * An encoder in training reads all hops. A trained model reads only sums over the hops, whose weights it gives. For
 * such a model these sums are made hop by hop, and only hop 2 is kept beside them, for the kernels. A few columns at a
 * time pass all hops, and P_b first lies in the place of hop 2, so that the sums need little other memory. Columns of
 * P_b that are zero (negative eigenvalues, columns beyond the rank) stay zero in every sum, and are left out. */
#include "autograd/tape.h"
#include "ops/inside.h"
#include "ops/rules/in_place.h"
#include "tensor/files/number_text.h"
#include "tensor/library.h"
#include "train/features/example_rows.h"
#include "train/features/feature_memory.h"
#include "train/features/nodes/diffuse.h"
#include "train/features/stack_file.h"
#include "train/svd/adjacency.h"
#include "train/svd/basis.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

enum { FORMAT = 6, ATTRIBUTE_STREAM = 1 }; /* increase FORMAT when equal settings give other values */

/* Gives T to the features under a name. Returns T, or the null tensor on failure. */
static mo_tensor *take_array(mo_features *f, const char *name, mo_tensor *T) {
    return mo_arrays_take(f->arrays, name, T) == MO_OK ? T : mo_null_tensor(f->arrays->ctx);
}

mo_tensor *mo_own_array(mo_features *f, const char *name, int ndim, const int64_t *shape) {
    return take_array(f, name, mo_tensor_create(f->arrays->ctx, MO_F32, ndim, shape));
}

/* Writes log(s / s_1 + 1e-6) to row b of the spectrum; columns beyond the rank count as s = 0. */
static void put_block_spectrum(mo_tape *t, mo_tensor *spectrum, int b, mo_tensor *S) {
    mo_tensor *top = mo_slice(t, S, MO_AXIS(0), 0, 1), *ratio = mo_div_or_zero(t, S, top);
    int64_t rank = mo_dim(S, 0), d = mo_dim(spectrum, 1);
    mo_tensor *l = mo_log(t, mo_scale(t, mo_pad(t, ratio, MO_AXIS(0), 0, d - rank), 1, MO_LEAST_RATIO));
    if (mo_ok(t->ctx))
        mo_tensor_copy(mo_slice(t, spectrum, MO_AXIS(0), b, b + 1), mo_reshape(t, l, 2, (int64_t[]){1, d}));
}

/* Writes P, divided by its mean row norm, as the first columns of block b of the basis, some rows at a time; the others
 * become 0. The tape's other tensors are freed. */
static void put_basis_block(mo_tape *t, mo_tensor *basis, int b, mo_tensor *P) {
    enum { ROWS = 4096 };
    mo_tape_sweep(t, 0, &P, 1);
    mo_tensor *norm = mo_mean(t, mo_row_norm(t, P), MO_ALL, MO_DROP_AXES);
    int64_t n = mo_dim(basis, 1), d = mo_dim(basis, 2), mark = t->n_tensors;
    for (int64_t i = 0; i < n && mo_ok(t->ctx); i += ROWS) {
        int64_t end = i + ROWS < n ? i + ROWS : n;
        mo_tensor *unit = mo_div_or_zero(t, mo_slice(t, P, MO_AXIS(0), i, end), norm);
        unit = mo_pad(t, unit, MO_AXIS(1), 0, d - mo_dim(P, 1));
        mo_tensor *rows = mo_slice(t, mo_slice(t, basis, MO_AXIS(0), b, b + 1), MO_AXIS(1), i, end);
        if (mo_ok(t->ctx))
            mo_tensor_copy(rows, mo_reshape(t, unit, 3, (int64_t[]){1, end - i, d}));
        mo_tape_sweep(t, mark, NULL, 0);
    }
}

static void compute_basis(mo_tape *t, const mo_graph *graph, const mo_feature_options *o, mo_tensor *basis,
    mo_tensor *spectrum, mo_basis_quality *quality) {
    int64_t least = graph->nodes < o->dim ? graph->nodes : o->dim;
    mo_basis_side s = mo_basis_side_of(t, least, o, 0);
    mo_tensor_fill(spectrum, log(MO_LEAST_RATIO));
    mo_csr *A = mo_normalized_adjacency(graph, MO_F32), *X = NULL;
    if (A) {
        mo_tensor *P = mo_structure_basis(&s, A);
        put_block_spectrum(t, spectrum, 0, s.S);
        put_basis_block(t, basis, 0, P);
    }
    mo_tape_reset(t);
    mo_csr_release(A);
    if (mo_ok(t->ctx) && graph->features > 0)
        X = mo_feature_block(t->ctx, graph, 0, graph->nodes);
    s.svd.stream = ATTRIBUTE_STREAM;
    s.width = graph->features < least ? graph->features : least;
    mo_tensor *P = X ? mo_attribute_basis(&s, X, false) : NULL;
    mo_csr_release(X);
    if (P) {
        put_block_spectrum(t, spectrum, 1, s.S);
        put_basis_block(t, basis, 1, P);
    } else if (mo_ok(t->ctx)) {
        mo_tensor_fill(mo_slice(t, basis, MO_AXIS(0), 1, MO_BLOCKS), 0);
    }
    mo_tape_reset(t);
    *quality = s.quality;
}

static void write_blocks_key(const mo_graph *graph, const mo_feature_options *o, char *key, size_t bytes) {
    snprintf(key, bytes, "blocks %d graph %016" PRIx64 "%016" PRIx64 " dim %d power %d seed %" PRIu64 "%s", FORMAT,
        graph->hash[0], graph->hash[1], o->dim, o->power_iterations, o->seed, mo_scale_key(graph));
}

bool mo_open_basis(const mo_graph *graph, const mo_feature_options *o, mo_features *f) {
    mo_context *ctx = graph->ctx;
    char key[256];
    write_blocks_key(graph, o, key, sizeof key);
    /* uninitialized: block 1 takes memory only once the SVD of block 0 is done */
    mo_tensor *basis =
        take_array(f, "basis", mo_tensor_uninitialized(ctx, MO_F32, 3, (int64_t[]){MO_BLOCKS, graph->nodes, o->dim}));
    mo_tensor *spectrum = mo_own_array(f, "spectrum", 2, (int64_t[]){MO_BLOCKS, o->dim});
    mo_tensor *svd = mo_tensor_create(ctx, MO_F64, 1, (int64_t[]){2});
    mo_arrays_take(f->arrays, "svd", svd); /* [residual, orthogonality] */
    if (!mo_ok(ctx))
        return false;
    mo_cache cache = mo_cache_of(ctx, o);
    f->from_cache = mo_cache_load(&cache, key, f->arrays);
    mo_tape *t = mo_ok(ctx) && !f->from_cache ? mo_tape_create(ctx, MO_EVAL) : NULL;
    mo_basis_quality quality = {0};
    if (t) {
        compute_basis(t, graph, o, basis, spectrum, &quality);
        mo_tensor_write(svd, &quality, sizeof quality);
        mo_tape_release(t); /* frees the SVD's memory before the cache assembles an entry */
        mo_cache_store(&cache, key, f->arrays);
    }
    if (mo_ok(ctx) && mo_tensor_read(svd, &quality, sizeof quality) == MO_OK) {
        f->svd_residual = quality.residual;
        f->svd_orthogonality = quality.orthogonality;
    }
    return mo_ok(ctx);
}

/* Row k of block b, as a view [n, d]. */
static mo_tensor *row_of_block(mo_tape *t, mo_tensor *blocks, int64_t b, int64_t k) {
    mo_tensor *row = mo_slice(t, mo_slice(t, blocks, MO_AXIS(0), b, b + 1), MO_AXIS(1), k, k + 1);
    return mo_reshape(t, row, 2, (int64_t[]){mo_dim(blocks, 2), mo_dim(blocks, 3)});
}

/* ---- every hop ---- */

/* Computes every hop of both blocks; hop 0 is copied from the basis, and the diffused rows follow the last hop. */
static void propagate_blocks(mo_tape *t, const mo_csr *A, mo_tensor *basis, mo_tensor *blocks) {
    double c[MO_DIFFUSED][MO_POWERS];
    int64_t hops = mo_dim(blocks, 1) - MO_DIFFUSED, n = mo_dim(blocks, 2), d = mo_dim(blocks, 3);
    for (int b = 0; b < MO_BLOCKS; b++) {
        mo_tensor *first = mo_reshape(t, mo_slice(t, basis, MO_AXIS(0), b, b + 1), 2, (int64_t[]){n, d});
        mo_tensor_copy(row_of_block(t, blocks, b, 0), first);
        for (int64_t k = 1; k < hops && mo_ok(t->ctx); k++) {
            mo_view x = mo_tensor_view(row_of_block(t, blocks, b, k - 1));
            mo_view y = mo_tensor_view(row_of_block(t, blocks, b, k));
            mo_spmm_into(A, 0, &x, &y); /* in place, as the tape would allocate another hop */
        }
        mo_tensor *sum[MO_DIFFUSED];
        for (int i = 0; i < MO_DIFFUSED; i++) {
            sum[i] = row_of_block(t, blocks, b, hops + i);
            mo_diffusion_coefficients(i, c[i]);
        }
        mo_sum_powers(t, A, first, c, sum, MO_DIFFUSED);
        mo_tape_reset(t);
    }
}

/* ---- sums of hops, for one model ---- */

enum { MOST_SIDES = 2 };

/* The polynomials in A~ that are kept of each block: the model's sums, then hop MO_KERNEL_HOP. */
typedef struct mixture {
    int sums;      /* 0: every hop is kept */
    int64_t *live; /* [w]: the columns that are not zero, b d + j for column j of block b; owned */
    int64_t w;
    double c[MO_BLOCKS][MOST_SIDES + 1][MO_POWERS];
} mixture;

/* Adds the model's weight for row k, a hop or (k > hops) a diffused row, to the coefficients of the powers. */
static void add_weight(double c[MO_POWERS], int64_t k, int hops, double weight) {
    double row[MO_POWERS] = {0};
    if (k <= hops)
        row[k] = 1;
    else
        mo_diffusion_coefficients((int)k - hops - 1, row);
    for (int i = 0; i < MO_POWERS; i++)
        c[i] += weight * row[i];
}

static void read_mixture(mo_tape *t, const mo_feature_options *o, mixture *m) {
    mo_tensor *w = o->reader && o->hops < MO_POWERS ? mo_invariant_hop_weights(t, o->reader) : NULL;
    double weight[MO_BLOCKS * MOST_SIDES * (MO_POWERS + MO_DIFFUSED)];
    if (!w || mo_tensor_read(mo_cast(t, w, MO_F64), weight, (size_t)mo_numel(w) * sizeof *weight) != MO_OK)
        return;
    int64_t sides = mo_dim(w, 1), K = mo_dim(w, 2);
    for (int64_t i = 0; i < mo_numel(w); i++)
        add_weight(m->c[i / K / sides][i / K % sides], i % K, o->hops, weight[i]);
    m->sums = (int)sides + 1;
    for (int b = 0; b < MO_BLOCKS; b++)
        m->c[b][sides][MO_KERNEL_HOP] = 1;
}

/* Lists the columns of the basis that are not zero, b d + j for column j of block b, in `live` [2 d]; returns their
 * number, at least 1. */
static int64_t list_live(mo_tape *t, mo_tensor *basis, int64_t *live) {
    int64_t n = mo_dim(basis, 1), d = mo_dim(basis, 2), count = 0;
    for (int b = 0; b < MO_BLOCKS; b++) {
        mo_tensor *P = mo_reshape(t, mo_slice(t, basis, MO_AXIS(0), b, b + 1), 2, (int64_t[]){n, d});
        double *square = mo_host_values(mo_column_figures(t, P, MO_COLUMN_SQUARES), MO_F64);
        for (int64_t j = 0; square && j < d; j++)
            if (square[j] != 0)
                live[count++] = b * d + j;
        free(square);
    }
    return count ? count : 1;
}

/* How many of the columns from live[c] on, of w, follow each other in one block. */
static int64_t live_run(const int64_t *live, int64_t w, int64_t c, int64_t d) {
    int64_t m = 1;
    while (c + m < w && live[c + m] == live[c] + m && live[c + m] % d)
        m++;
    return m;
}

/* Copies the live columns between both blocks X [2, .., n, d] and rows Y [.., n, w]. */
static void copy_live(mo_tape *t, mo_tensor *X, mo_tensor *Y, const int64_t *live, bool to_blocks) {
    int64_t w = mo_dim(Y, -1), d = mo_dim(X, -1), mark = t->n_tensors;
    for (int64_t c = 0, m; c < w && mo_ok(t->ctx); c += m) {
        int64_t b = live[c] / d, j = live[c] % d;
        m = live_run(live, w, c, d);
        mo_tensor *x = mo_slice(t, mo_slice(t, X, MO_AXIS(0), b, b + 1), MO_AXIS(-1), j, j + m);
        mo_tensor *y = mo_with_axis(t, mo_slice(t, Y, MO_AXIS(-1), c, c + m), MO_AXIS(0), 1);
        if (mo_ok(t->ctx))
            mo_tensor_copy(to_blocks ? x : y, to_blocks ? y : x);
        mo_tape_sweep(t, mark, NULL, 0);
    }
}

mo_tensor *mo_whole_blocks(mo_tape *t, mo_tensor *mixed, const mo_tensor *columns, int64_t d) {
    int64_t *live = mo_host_values(columns, MO_I64);
    mo_tensor *H = mo_full(t, MO_F32, 4, (int64_t[]){MO_BLOCKS, mo_dim(mixed, 0), mo_dim(mixed, 1), d}, 0);
    if (live)
        copy_live(t, H, mixed, live, true);
    free(live);
    return H;
}

/* Copies the live columns of the basis to their place in the last sum, some rows at a time. */
static void gather_live(mo_tape *t, mo_tensor *basis, mo_tensor *P, const int64_t *live) {
    enum { ROWS = 4096 };
    int64_t n = mo_dim(P, 0), mark = t->n_tensors;
    for (int64_t i = 0; i < n && mo_ok(t->ctx); i += ROWS) {
        int64_t end = i + ROWS < n ? i + ROWS : n;
        copy_live(t, mo_slice(t, basis, MO_AXIS(1), i, end), mo_slice(t, P, MO_AXIS(0), i, end), live, false);
        mo_tape_sweep(t, mark, NULL, 0);
    }
}

static mo_tensor *sum_of(mo_tape *t, mo_tensor *mixed, int64_t i) {
    return mo_reshape(t, mo_slice(t, mixed, MO_AXIS(0), i, i + 1), 2, (int64_t[]){mo_dim(mixed, 1), mo_dim(mixed, 2)});
}

/* Replaces the last of the sums `mixed` [sums, n, w], which holds P_b, and fills the others. */
static void mix_blocks(mo_tape *t, const mo_csr *A, mixture *m, mo_tensor *mixed, const int64_t *live, int64_t d) {
    int64_t w = mo_dim(mixed, 2), first = 0;
    for (int b = 0; b < MO_BLOCKS; b++) {
        int64_t end = first;
        mo_tensor *sum[MOST_SIDES + 1];
        while (end < w && live[end] / d == b)
            end++;
        for (int i = 0; i < m->sums; i++)
            sum[i] = mo_slice(t, sum_of(t, mixed, i), MO_AXIS(1), first, end);
        if (first < end)
            mo_sum_powers(t, A, sum[m->sums - 1], m->c[b], sum, m->sums);
        mo_tape_reset(t);
        first = end;
    }
}

/* ---- for hops and for sums ---- */

static void put_degrees(const mo_graph *graph, mo_tensor *extras) {
    float *x = mo_host_array(graph->ctx, graph->nodes, sizeof *x);
    for (int64_t i = 0; x && i < graph->nodes; i++)
        x[i] = (float)log1p((double)(graph->row_pointer[i + 1] - graph->row_pointer[i]));
    if (x) {
        mo_standardize((mo_rows){x, 1, graph->nodes, 1}, graph->counted, graph->n_counted, MO_EXTRAS_EPSILON, NULL);
        mo_tensor_write(extras, x, (size_t)graph->nodes * sizeof *x);
    }
    free(x);
}

/* The stack of rows, in memory or in a file. */
static mo_stack_file describe_rows(const mo_graph *graph, const mo_feature_options *o, bool on_disk, const mixture *m,
    const mo_features *f, char key[400]) {
    char basis[256];
    mo_stack_file s = {.on_disk = on_disk,
        .cache = mo_cache_of(graph->ctx, o),
        .key = key,
        .quality = {f->svd_residual, f->svd_orthogonality}};
    int64_t mixed[] = {m->sums, graph->nodes, m->w};
    int64_t every[] = {MO_BLOCKS, o->hops + 1 + MO_DIFFUSED, graph->nodes, o->dim};
    write_blocks_key(graph, o, basis, sizeof basis);
    if (m->sums)
        snprintf(key, 400, "%s sums %016" PRIx64 " columns %" PRId64 " float32", basis, XXH3_64bits(m->c, sizeof m->c),
            m->w);
    else
        snprintf(key, 400, "%s hops %d diffused %d float32", basis, o->hops, MO_DIFFUSED);
    s.ndim = m->sums ? 3 : 4;
    memcpy(s.shape, m->sums ? mixed : every, (size_t)s.ndim * sizeof *s.shape);
    return s;
}

/* Fills the rows from the basis, which is released as soon as it is not needed. */
static void fill_rows(const mo_graph *graph, mixture *m, mo_features *basis, mo_tensor *rows) {
    mo_context *ctx = graph->ctx;
    mo_tensor *P = mo_arrays_find(basis->arrays, "basis");
    int64_t d = mo_ok(ctx) ? mo_dim(P, 2) : 0;
    mo_csr *A = mo_ok(ctx) ? mo_normalized_adjacency(graph, MO_F32) : NULL;
    mo_tape *t = A ? mo_tape_create(ctx, MO_EVAL) : NULL;
    if (t && !m->sums && mo_tensor_count(rows))
        propagate_blocks(t, A, P, rows);
    if (t && m->sums && mo_tensor_count(rows)) {
        gather_live(t, P, sum_of(t, rows, m->sums - 1), m->live);
        mo_tape_reset(t);
        mo_arrays_release(basis->arrays); /* from here on, P_b is in the last row */
        basis->arrays = NULL;
        mix_blocks(t, A, m, rows, m->live, d);
    }
    mo_tape_release(t);
    mo_csr_release(A);
}

/* Adds the rows, and log degrees. */
static void put_rows(
    const mo_graph *graph, const mo_feature_options *o, bool disk, mixture *m, mo_features *basis, mo_features *f) {
    char key[400];
    const char *name = m->sums ? "mixed" : "blocks";
    mo_stack_file s = describe_rows(graph, o, disk, m, f, key);
    mo_tensor *rows = mo_stack_open(&s); /* uninitialized: a page takes memory only once it is written */
    mo_tensor *extras = mo_own_array(f, "extras", 2, (int64_t[]){graph->nodes, 1});
    if (mo_ok(graph->ctx) && !s.whole)
        fill_rows(graph, m, basis, rows);
    if (mo_ok(graph->ctx))
        put_degrees(graph, extras);
    mo_arrays_take(f->arrays, name, mo_stack_close(&s));
}

/* Finds the columns that the mixture keeps, and gives them to the features. */
static void put_columns(const mo_feature_options *o, mixture *m, const mo_features *basis, mo_features *f) {
    mo_context *ctx = f->arrays->ctx;
    mo_tape *t = mo_ok(ctx) ? mo_tape_create(ctx, MO_EVAL) : NULL;
    m->live = t ? mo_host_array(ctx, MO_BLOCKS * (int64_t)o->dim, sizeof *m->live) : NULL;
    if (m->live) {
        m->w = list_live(t, mo_arrays_find(basis->arrays, "basis"), m->live);
        take_array(f, "columns", mo_tensor_create_from(ctx, MO_I64, 1, &m->w, m->live));
    }
    mo_tape_release(t);
}

int mo_node_width(const mo_graph *graph, mo_feature_options o, int64_t kept) {
    static const double MOST_NUMBERS = 96e6;
    enum { LEAST_WIDTH = 64, NARROWEST = 32, LINE = 16 };
    int wanted = o.dim, most = (int)fmin(MOST_NUMBERS / (double)graph->nodes, wanted) / LINE * LINE;
    bool host = mo_context_device(graph->ctx) == MO_CPU, file = host && o.cache && *o.cache;
    char line[512];
    if ((double)graph->nodes * wanted <= MOST_NUMBERS || wanted <= NARROWEST)
        return wanted;
    o.dim = (int)fmin(wanted, fmax(LEAST_WIDTH, most));
    while (host && o.dim > NARROWEST && mo_estimate_memory(graph, &o, file ? 0 : kept) > mo_memory_left(graph->ctx))
        o.dim = o.dim / 2 > NARROWEST ? o.dim / 2 : NARROWEST;
    mo_format(line, sizeof line, "features: %.300s: %d columns of each SVD in place of %d, for %lld nodes", graph->name,
        o.dim, wanted, (long long)graph->nodes);
    if (o.dim < wanted && o.notice)
        o.notice(line, o.notice_state);
    return o.dim;
}

/* How many rows of a block's width the features keep of each node. */
static int64_t rows_kept(const mo_graph *graph, const mo_feature_options *o, const mixture *m) {
    double attributes = fmin(1, (double)graph->features / o->dim); /* share of block 1 that can be other than zero */
    return m->sums ? (int64_t)ceil(m->sums * (1 + attributes)) : MO_BLOCKS * (o->hops + 1 + MO_DIFFUSED);
}

/* Makes the rows from the basis, hop 0 of the blocks, which is not kept among the features. */
bool mo_node_rows(const mo_graph *graph, const mo_feature_options *options, mo_features *f) {
    mo_context *ctx = graph->ctx;
    mo_feature_options narrow = *options, *o = &narrow;
    mixture m = {0};
    mo_tape *t = mo_ok(ctx) ? mo_tape_create(ctx, MO_EVAL) : NULL;
    if (t)
        read_mixture(t, o, &m);
    mo_tape_release(t);
    f->dim = o->dim = mo_node_width(graph, narrow, rows_kept(graph, o, &m));
    bool disk = mo_hops_go_to_disk(graph, o, rows_kept(graph, o, &m));
    mo_features basis = {.arrays = mo_ok(ctx) ? mo_arrays_create(ctx) : NULL};
    if (basis.arrays && mo_open_basis(graph, o, &basis)) {
        f->svd_residual = basis.svd_residual;
        f->svd_orthogonality = basis.svd_orthogonality;
        f->from_cache = basis.from_cache;
        mo_tensor *spectrum = mo_own_array(f, "spectrum", 2, (int64_t[]){MO_BLOCKS, o->dim});
        if (mo_ok(ctx))
            mo_tensor_copy(spectrum, mo_arrays_find(basis.arrays, "spectrum"));
        if (m.sums)
            put_columns(o, &m, &basis, f);
        put_rows(graph, o, disk, &m, &basis, f);
    }
    mo_arrays_release(basis.arrays);
    free(m.live);
    return mo_ok(ctx);
}
