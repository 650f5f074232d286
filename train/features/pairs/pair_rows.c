/* train/features/pairs/pair_rows.c - rows of links: what the coordinates of two nodes have in common, band by band of
 * the spectrum.
 *
 * For block b and hop k let n be the rows of A~^k P_b at unit length. The pair (u, v) has, for each dyadic band of
 * singular values (1st, 2nd, 3rd and 4th, ..., 129th to 256th), the sum over the band of n_uj n_vj: an inner product,
 * which is invariant to rotations inside the band. Equal singular values on both sides of a band's end would allow
 * rotations between bands: the product of such a group is divided in proportion to the group's columns in each band.
 *
 * Extras: counts of the masked graph - log1p of Adamic-Adar (Adamic and Adar 2003), of 10 times resource allocation
 * (Zhou et al. 2009) and of common neighbours, the root of (A~^2)_uv, Jaccard; sum, difference and product of the log
 * degrees; the cosine of every block and hop. Walks: walks.c; matches: matches.c. All columns are standardised over the
 * pairs; "block_moments", "extras_moments", "walks_moments" and "matches_moments" hold the moments. */
#include "ops/inside.h"
#include "tensor/host_array.h"
#include "train/features/pairs/pair_columns.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { COUNTS = 8, MAX_BANDS = 33 };
#define EQUAL 1e-5 /* singular values whose logarithms differ by at most this count as equal */

/* Columns first .. stop - 1; the share of their product that goes to a band. */
typedef struct segment {
    int64_t first, stop;
    int band;
    float share;
} segment;

typedef struct pairs {
    mo_context *ctx;
    const mo_graph *graph; /* masked */
    const mo_feature_options *o;
    int64_t n;
    int64_t *end[2];
    int n_bands, n_extras;
    float *bands, *extras;  /* [2, l + 1, n, n_bands], [n, n_extras] */
    float *walks, *matches; /* [n, MO_WALK_COLUMNS], [n, MO_MATCH_COLUMNS] */
    int n_segments;
    segment segments[2 * MAX_BANDS * 2];
} pairs;

static int64_t band_start(int band) {
    return band ? (int64_t)1 << (band - 1) : 0;
}

static void add_segment(pairs *p, int64_t first, int64_t stop, int band, float share) {
    segment *last = p->n_segments ? &p->segments[p->n_segments - 1] : NULL;
    if (last && last->band == band && last->share == 1 && share == 1)
        last->stop = stop;
    else
        p->segments[p->n_segments++] = (segment){first, stop, band, share};
}

/* Splits the columns into groups of equal singular values, and divides these among the bands. */
static void find_segments(pairs *p, const float *l) {
    int64_t d = p->o->dim;
    p->n_segments = 0;
    for (int64_t first = 0, stop; first < d; first = stop) {
        for (stop = first + 1; stop < d && fabs(l[stop] - l[stop - 1]) <= EQUAL; stop++)
            ;
        for (int band = 0; band < p->n_bands; band++) {
            int64_t low = band_start(band) > first ? band_start(band) : first;
            int64_t high = band_start(band + 1) < stop ? band_start(band + 1) : stop;
            if (low < high)
                add_segment(p, first, stop, band, (float)(high - low) / (float)(stop - first));
        }
    }
}

/* The bands of every pair from the unit rows x [nodes, d], and their sum as an extra. */
static void put_bands(const pairs *p, int block, int hop, const float *x) {
    int64_t d = p->o->dim;
    float *bands = p->bands + (block * (p->o->hops + 1) + hop) * p->n * p->n_bands;
    int cosine = COUNTS + block * (p->o->hops + 1) + hop;
#pragma omp parallel for num_threads(mo_context_threads(p->ctx))
    for (int64_t i = 0; i < p->n; i++) {
        const float *u = x + p->end[0][i] * d, *v = x + p->end[1][i] * d;
        float *out = bands + i * p->n_bands, sum = 0;
        for (int s = 0; s < p->n_segments; s++) {
            const segment *g = &p->segments[s];
            out[g->band] += g->share * mo_pair_product(u + g->first, v + g->first, g->stop - g->first);
        }
        for (int band = 0; band < p->n_bands; band++)
            sum += out[band];
        p->extras[i * p->n_extras + cosine] = sum;
    }
}

/* Every hop of one block at unit length, a hop at a time. */
static void put_pair_block(pairs *p, mo_tape *t, const mo_csr *A, mo_tensor *P, int block) {
    size_t bytes = (size_t)mo_numel(P) * sizeof(float);
    float *host = mo_host_array(p->ctx, mo_numel(P), sizeof *host);
    for (int hop = 0; hop <= p->o->hops && host && mo_ok(p->ctx); hop++) {
        P = hop ? mo_spmm(t, A, P) : P;
        if (mo_tensor_read(mo_l2_normalize(t, P, 1e-12), host, bytes) == MO_OK)
            put_bands(p, block, hop, host);
        if (block == 1 && hop == 0 && mo_ok(p->ctx))
            mo_pair_matches(&(mo_pair_list){p->graph, p->n, p->end}, host, p->o->dim, p->matches);
    }
    free(host);
}

/* ---- counts ---- */

static void count_pair(const mo_graph *graph, int64_t u, int64_t v, float *x) {
    double common = 0, adamic_adar = 0, allocation = 0;
    int64_t i = graph->row_pointer[u], j = graph->row_pointer[v];
    while (i < graph->row_pointer[u + 1] && j < graph->row_pointer[v + 1]) {
        int32_t a = graph->column[i], b = graph->column[j];
        if (a == b) {
            double d = (double)degree(graph, a);
            common += 1;
            adamic_adar += 1 / log(fmax(d, 2));
            allocation += 1 / d;
        }
        i += a <= b;
        j += b <= a;
    }
    double du = (double)degree(graph, u), dv = (double)degree(graph, v), lu = log1p(du), lv = log1p(dv);
    const double all[COUNTS] = {log1p(adamic_adar), log1p(10 * allocation), sqrt(allocation / sqrt(fmax(du * dv, 1))),
        log1p(common), common / fmax(du + dv - common, 1), lu + lv, fabs(lu - lv), lu * lv};
    for (int c = 0; c < COUNTS; c++)
        x[c] = (float)all[c];
}

static void put_counts(const pairs *p) {
#pragma omp parallel for num_threads(mo_context_threads(p->ctx)) schedule(dynamic, 256)
    for (int64_t i = 0; i < p->n; i++)
        count_pair(p->graph, p->end[0][i], p->end[1][i], p->extras + i * p->n_extras);
}

/* ---- all blocks ---- */

/* The spectrum at the start of every band, taken from the spectrum of the basis. */
static void put_pair_spectrum(const pairs *p, const float *l, mo_tensor *spectrum) {
    float start[MO_BLOCKS * MAX_BANDS];
    for (int b = 0; b < MO_BLOCKS; b++)
        for (int band = 0; band < p->n_bands; band++)
            start[b * p->n_bands + band] = l[b * p->o->dim + band_start(band)];
    mo_tensor_write(spectrum, start, (size_t)(MO_BLOCKS * p->n_bands) * sizeof *start);
}

static bool fill_pair_rows(pairs *p, mo_features *basis, mo_tensor *spectrum) {
    mo_context *ctx = p->ctx;
    int64_t nodes = p->graph->nodes, d = p->o->dim;
    float *l = mo_host_array(ctx, MO_BLOCKS * d, sizeof *l);
    mo_csr *A = mo_ok(ctx) ? mo_normalized_adjacency(p->graph, MO_F32) : NULL;
    mo_tape *t = A ? mo_tape_create(ctx, MO_EVAL) : NULL;
    mo_tensor *all = mo_arrays_find(basis->arrays, "basis");
    if (t &&
        mo_tensor_read(mo_arrays_find(basis->arrays, "spectrum"), l, (size_t)(MO_BLOCKS * d) * sizeof *l) == MO_OK) {
        put_counts(p);
        mo_pair_walks(&(mo_pair_list){p->graph, p->n, p->end}, p->walks);
        put_pair_spectrum(p, l, spectrum);
    }
    for (int b = 0; t && b < MO_BLOCKS; b++) {
        find_segments(p, l + b * d);
        put_pair_block(p, t, A, mo_reshape(t, mo_slice(t, all, 0, b, b + 1), 2, (int64_t[]){nodes, d}), b);
        mo_tape_reset(t);
    }
    mo_tape_release(t);
    mo_csr_release(A);
    free(l);
    return mo_ok(ctx);
}

static bool list_pairs(pairs *p, const mo_links *links) {
    p->n = links->n_positive + links->n_negative;
    for (int side = 0; side < 2; side++) {
        p->end[side] = mo_host_array(p->ctx, p->n, sizeof(int64_t));
        if (!p->end[side])
            return false;
        memcpy(p->end[side], links->positive[side], (size_t)links->n_positive * sizeof(int64_t));
        memcpy(p->end[side] + links->n_positive, links->negative[side], (size_t)links->n_negative * sizeof(int64_t));
    }
    p->bands = mo_host_array(p->ctx, MO_BLOCKS * (p->o->hops + 1) * p->n * p->n_bands, sizeof(float));
    p->extras = mo_host_array(p->ctx, p->n * p->n_extras, sizeof(float));
    p->walks = mo_host_array(p->ctx, p->n * MO_WALK_COLUMNS, sizeof(float));
    p->matches = mo_host_array(p->ctx, p->n * MO_MATCH_COLUMNS, sizeof(float));
    return mo_ok(p->ctx);
}

/* Standardises rows, and stores them and their moments under two names. */
static void write_rows(mo_features *f, mo_rows r, double epsilon, mo_tensor *rows, const char *name) {
    mo_context *ctx = f->arrays->ctx;
    float *moments = mo_host_array(ctx, 2 * r.outer * r.w, sizeof *moments);
    mo_tensor *kept = mo_own_array(f, name, 3, (int64_t[]){2, r.outer, r.w});
    if (mo_ok(ctx)) {
        mo_standardize(r, NULL, 0, epsilon, moments);
        mo_tensor_write(kept, moments, (size_t)(2 * r.outer * r.w) * sizeof *moments);
        mo_tensor_write(rows, r.x, (size_t)(r.outer * r.n * r.w) * sizeof *r.x);
    }
    free(moments);
}

bool mo_pair_rows(const mo_links *links, const mo_feature_options *o, mo_features *f) {
    const mo_graph *graph = links->masked;
    mo_context *ctx = graph->ctx;
    pairs p = {.ctx = ctx, .graph = graph, .o = o, .n_extras = COUNTS + MO_BLOCKS * (o->hops + 1)};
    while (band_start(p.n_bands) < o->dim)
        p.n_bands++;
    mo_features basis = {.arrays = mo_arrays_create(ctx)};
    if (basis.arrays && mo_open_basis(graph, o, &basis) && list_pairs(&p, links)) {
        mo_tensor *blocks = mo_own_array(f, "blocks", 4, (int64_t[]){MO_BLOCKS, o->hops + 1, p.n, p.n_bands});
        mo_tensor *spectrum = mo_own_array(f, "spectrum", 2, (int64_t[]){MO_BLOCKS, p.n_bands});
        mo_tensor *extras = mo_own_array(f, "extras", 2, (int64_t[]){p.n, p.n_extras});
        mo_tensor *walks = mo_own_array(f, "walks", 2, (int64_t[]){p.n, MO_WALK_COLUMNS});
        mo_tensor *matches = mo_own_array(f, "matches", 2, (int64_t[]){p.n, MO_MATCH_COLUMNS});
        if (mo_ok(ctx) && fill_pair_rows(&p, &basis, spectrum)) {
            mo_rows of_bands = {p.bands, MO_BLOCKS * (o->hops + 1), p.n, p.n_bands};
            write_rows(f, of_bands, MO_BLOCK_EPSILON, blocks, "block_moments");
            write_rows(f, (mo_rows){p.extras, 1, p.n, p.n_extras}, MO_EXTRAS_EPSILON, extras, "extras_moments");
            write_rows(f, (mo_rows){p.walks, 1, p.n, MO_WALK_COLUMNS}, MO_EXTRAS_EPSILON, walks, "walks_moments");
            write_rows(
                f, (mo_rows){p.matches, 1, p.n, MO_MATCH_COLUMNS}, MO_EXTRAS_EPSILON, matches, "matches_moments");
        }
        f->svd_residual = basis.svd_residual;
        f->svd_orthogonality = basis.svd_orthogonality;
        f->from_cache = basis.from_cache;
    }
    mo_arrays_release(basis.arrays);
    for (int side = 0; side < 2; side++)
        free(p.end[side]);
    free(p.bands);
    free(p.extras);
    free(p.walks);
    free(p.matches);
    return mo_ok(ctx);
}
