/* train/features/pairs/pair_reader.c - compares the coordinates of two nodes, band by band of the spectrum.
 *
 * For block b and hop k let n be the rows of A~^k P_b at unit length. The pair (u, v) has, for each dyadic band of
 * singular values (1st, 2nd, 3rd and 4th, ..., 129th to 256th), the sum over the band of n_uj n_vj: an inner product,
 * which is invariant to rotations inside the band. A group of equal singular values on both sides of a band's end can
 * be rotated across it. So the sum over such a group is divided in proportion to the group's columns in each band.
 *
 * Extras: counts of the graph - log1p of Adamic-Adar (Adamic and Adar 2003), of 10 times resource allocation
 * (Zhou et al. 2009) and of common neighbours, the root of (A~^2)_uv, Jaccard; sum, difference and product of the log
 * degrees; the cosine of every block and hop. Walks: walks.c; matches: matches.c.
 *
 * Rows of links are these columns and those of similarities.c, standardised over the pairs; "block_moments" and the
 * other names of mo_pair_parts hold the moments.
 *
 * A block's hops are computed one after another; memory holds two matrices over all nodes beside the basis. */
#include "ops/inside.h"
#include "tensor/cpu/tasks.h"
#include "tensor/library.h"
#include "tensor/objects.h"
#include "train/features/pairs/pair_columns.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { COUNTS = 8, MAX_BANDS = 33, TASK = 256 };
#define EQUAL 1e-5 /* singular values whose logarithms differ by at most this count as equal */

/* The share of the sum of n_uj n_vj over columns first .. stop - 1 that goes to a band. */
typedef struct mo_band_part {
    int64_t first, stop;
    int band;
    float share;
} band_part;

static int64_t band_start(int band) {
    return band ? (int64_t)1 << (band - 1) : 0;
}

static void add_segment(mo_pair_reader *p, int64_t first, int64_t stop, int band, float share) {
    band_part *last = p->n_segments ? &p->segments[p->n_segments - 1] : NULL;
    if (last && last->band == band && last->share == 1 && share == 1)
        last->stop = stop;
    else
        p->segments[p->n_segments++] = (band_part){first, stop, band, share};
}

/* Splits the columns into groups of equal singular values, and divides these among the bands. */
static void find_segments(mo_pair_reader *p, const float *l) {
    int64_t d = p->dim;
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

/* Columns of all pairs. */
typedef struct columns {
    const mo_pair_reader *r;
    const mo_pair_list *p;
    int row;        /* the block and the hop: block (hops + 1) + hop */
    const float *x; /* [nodes, d]: their unit rows */
    float *bands, *extras;
} columns;

static void put_some_bands(const void *of, task_range some) {
    const columns *c = of;
    const mo_pair_reader *r = c->r;
    for (int64_t i = some.first; i < some.end; i++) {
        const float *u = c->x + c->p->end[0][i] * r->dim, *v = c->x + c->p->end[1][i] * r->dim;
        float *out = c->bands + i * r->n_bands, sum = 0;
        for (int s = 0; s < r->n_segments; s++) {
            const band_part *g = &r->segments[s];
            out[g->band] += g->share * mo_pair_product(u + g->first, v + g->first, g->stop - g->first);
        }
        for (int band = 0; band < r->n_bands; band++)
            sum += out[band];
        c->extras[i * r->n_extras + COUNTS + c->row] = sum;
    }
}

/* The bands of every pair from the unit rows x [nodes, d], and their sum as an extra. */
static void put_bands(const mo_pair_reader *r, const mo_pair_list *p, int row, const float *x, mo_pair_values *values) {
    const columns c = {.r = r,
        .p = p,
        .row = row,
        .x = x,
        .bands = values->part[MO_PAIR_BANDS].x + row * p->n * r->n_bands,
        .extras = values->part[MO_PAIR_EXTRAS].x};
    run_tasks(mo_context_threads(r->ctx), p->n, 0, put_some_bands, &c);
}

/* Computes the hops of one block at unit length, one at a time. */
static void read_block(
    mo_pair_reader *r, mo_tape *t, const mo_pair_list *p, int block, float *host, mo_pair_values *values) {
    int64_t n = r->graph->nodes, shape[] = {n, r->dim};
    mo_tensor *basis = mo_arrays_find(r->basis.arrays, "basis"), *hop = NULL;
    find_segments(r, r->spectrum + block * r->dim);
    for (int k = 0; k <= r->hops && mo_ok(r->ctx); k++) {
        mo_tensor *P =
            k ? mo_spmm(t, r->A, hop ? hop : mo_reshape(t, mo_slice(t, basis, MO_AXIS(0), block, block + 1), 2, shape))
              : mo_reshape(t, mo_slice(t, basis, MO_AXIS(0), block, block + 1), 2, shape);
        if (k && !hop)
            hop = mo_tensor_create(r->ctx, MO_F32, 2, shape);
        if (k && mo_ok(r->ctx))
            mo_tensor_copy(hop, P);
        if (mo_tensor_read(mo_l2_normalize(t, P, 1e-12), host, (size_t)(n * r->dim) * sizeof *host) == MO_OK)
            put_bands(r, p, block * (int)(r->hops + 1) + k, host, values);
        mo_tape_reset(t);
        if (block == 1 && k == 0 && mo_ok(r->ctx)) {
            mo_pair_matches(p, host, r->dim, values->part[MO_PAIR_MATCHES].x);
            mo_pair_neighbours(p, host, r->dim, values->part[MO_PAIR_SIMILARITIES].x);
        }
    }
    mo_tensor_release(hop);
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

static void count_some(const void *of, task_range some) {
    const columns *c = of;
    for (int64_t i = some.first; i < some.end && mo_goes_on(c->r->ctx); i++)
        count_pair(c->r->graph, c->p->end[0][i], c->p->end[1][i], c->extras + i * c->r->n_extras);
}

static void put_counts(const mo_pair_reader *r, const mo_pair_list *p, float *extras) {
    const columns c = {.r = r, .p = p, .extras = extras};
    run_tasks(mo_context_threads(r->ctx), p->n, TASK, count_some, &c);
}

/* ---- all columns ---- */

mo_pair_reader *mo_pair_reader_open(const mo_graph *graph, const mo_feature_options *o) {
    mo_context *ctx = graph->ctx;
    mo_pair_reader *r = mo_host_array(ctx, 1, sizeof *r);
    if (!r)
        return NULL;
    *r = (mo_pair_reader){.ctx = ctx, .graph = graph, .dim = o->dim, .hops = o->hops};
    while (band_start(r->n_bands) < o->dim)
        r->n_bands++;
    r->n_extras = COUNTS + MO_BLOCKS * (o->hops + 1);
    r->segments = mo_host_array(ctx, 2 * MAX_BANDS * 2, sizeof *r->segments);
    r->basis.arrays = mo_arrays_create(ctx);
    mo_math math = ctx->math;
    ctx->math = MO_MATH_FP32; /* TF32 would round the factors of products */
    if (mo_ok(ctx) && mo_open_basis(graph, o, &r->basis)) {
        r->A = mo_normalized_adjacency(graph, MO_F32);
        r->spectrum = mo_host_values(mo_arrays_find(r->basis.arrays, "spectrum"), MO_F32);
    }
    ctx->math = math;
    if (mo_ok(ctx))
        return r;
    mo_pair_reader_release(r);
    return NULL;
}

void mo_pair_reader_release(mo_pair_reader *r) {
    if (!r)
        return;
    mo_csr_release(r->A);
    mo_arrays_release(r->basis.arrays);
    free(r->segments);
    free(r->spectrum);
    free(r);
}

bool mo_pair_values_reserve(const mo_pair_reader *r, int64_t n, mo_pair_values *values) {
    const int64_t width[MO_PAIR_PARTS] = {
        r->n_bands, r->n_extras, MO_WALK_COLUMNS, MO_MATCH_COLUMNS, MO_SIMILARITY_COLUMNS};
    for (int i = 0; i < MO_PAIR_PARTS; i++) {
        int64_t outer = i == MO_PAIR_BANDS ? MO_BLOCKS * (r->hops + 1) : 1;
        values->part[i] = (mo_rows){mo_host_array(r->ctx, outer * n * width[i], sizeof(float)), outer, n, width[i]};
    }
    return mo_ok(r->ctx);
}

void mo_pair_values_release(mo_pair_values *values) {
    for (int i = 0; i < MO_PAIR_PARTS; i++)
        free(values->part[i].x);
}

mo_code mo_pair_reader_read(mo_pair_reader *r, const mo_pair_list *p, mo_pair_values *values) {
    mo_context *ctx = r->ctx;
    float *host = mo_host_array(ctx, r->graph->nodes * r->dim, sizeof *host);
    mo_tape *t = host ? mo_tape_create(ctx, MO_EVAL) : NULL;
    mo_math math = ctx->math;
    ctx->math = MO_MATH_FP32;
    if (t) {
        put_counts(r, p, values->part[MO_PAIR_EXTRAS].x);
        mo_pair_walks(p, values->part[MO_PAIR_WALKS].x);
        for (int block = 0; block < MO_BLOCKS; block++) /* without attributes the second block is zero */
            if (block == 0 || r->graph->features > 0)
                read_block(r, t, p, block, host, values);
        if (mo_ok(ctx))
            mo_pair_similarities(p, values);
    }
    ctx->math = math;
    mo_tape_release(t);
    free(host);
    return mo_code_of(ctx);
}

/* ---- rows of links ---- */

/* Lists the ends of the positives, then those of the negatives; the caller owns both arrays. Returns false on
 * failure. */
static bool list_pairs(mo_context *ctx, const mo_links *links, int64_t *end[2]) {
    for (int side = 0; side < 2; side++) {
        end[side] = mo_host_array(ctx, links->n_positive + links->n_negative, sizeof(int64_t));
        if (!end[side])
            return false;
        memcpy(end[side], links->positive[side], (size_t)links->n_positive * sizeof(int64_t));
        memcpy(end[side] + links->n_positive, links->negative[side], (size_t)links->n_negative * sizeof(int64_t));
    }
    return true;
}

const mo_pair_part mo_pair_parts[MO_PAIR_PARTS] = {{"blocks", "block_moments", MO_BLOCK_EPSILON},
    {"extras", "extras_moments", MO_EXTRAS_EPSILON}, {"walks", "walks_moments", MO_EXTRAS_EPSILON},
    {"matches", "matches_moments", MO_EXTRAS_EPSILON}, {"similarities", "similarities_moments", MO_EXTRAS_EPSILON}};

/* Standardises a part's rows, and stores them and their moments. */
static void store_part(mo_features *f, const mo_pair_part *part, mo_rows r, mo_tensor *rows) {
    mo_context *ctx = f->arrays->ctx;
    float *moments = mo_host_array(ctx, 2 * r.outer * r.w, sizeof *moments);
    mo_tensor *kept = mo_own_array(f, part->moments, 3, (int64_t[]){2, r.outer, r.w});
    if (mo_ok(ctx)) {
        mo_standardize(r, NULL, 0, part->epsilon, moments);
        mo_tensor_write(kept, moments, (size_t)(2 * r.outer * r.w) * sizeof *moments);
        mo_tensor_write(rows, r.x, (size_t)(r.outer * r.n * r.w) * sizeof *r.x);
    }
    free(moments);
}

/* The spectrum at the first column of every band: [2, n_bands]. */
static void write_spectrum(const mo_pair_reader *r, mo_tensor *spectrum) {
    float start[MO_BLOCKS * MAX_BANDS];
    for (int b = 0; b < MO_BLOCKS; b++)
        for (int band = 0; band < r->n_bands; band++)
            start[b * r->n_bands + band] = r->spectrum[b * r->dim + band_start(band)];
    mo_tensor_write(spectrum, start, (size_t)(MO_BLOCKS * r->n_bands) * sizeof *start);
}

static void store_pairs(mo_pair_reader *r, const mo_pair_list *list, mo_pair_values *x, mo_features *f) {
    int64_t n = list->n;
    mo_tensor *rows[MO_PAIR_PARTS];
    rows[MO_PAIR_BANDS] = mo_own_array(f, "blocks", 4, (int64_t[]){MO_BLOCKS, r->hops + 1, n, r->n_bands});
    mo_tensor *spectrum = mo_own_array(f, "spectrum", 2, (int64_t[]){MO_BLOCKS, r->n_bands});
    for (int i = MO_PAIR_EXTRAS; i < MO_PAIR_PARTS; i++)
        rows[i] = mo_own_array(f, mo_pair_parts[i].name, 2, (int64_t[]){n, x->part[i].w});
    if (!mo_ok(r->ctx) || mo_pair_reader_read(r, list, x) != MO_OK)
        return;
    write_spectrum(r, spectrum);
    for (int i = 0; i < MO_PAIR_PARTS; i++)
        store_part(f, &mo_pair_parts[i], x->part[i], rows[i]);
}

bool mo_pair_rows(const mo_links *links, const mo_feature_options *o, mo_features *f) {
    mo_context *ctx = links->masked->ctx;
    mo_pair_reader *r = mo_pair_reader_open(links->masked, o);
    int64_t n = links->n_positive + links->n_negative, *end[2] = {NULL, NULL};
    mo_pair_values x = {0};
    if (r && list_pairs(ctx, links, end) && mo_pair_values_reserve(r, n, &x)) {
        store_pairs(r, &(mo_pair_list){r->graph, n, end}, &x, f);
        f->svd_residual = r->basis.svd_residual;
        f->svd_orthogonality = r->basis.svd_orthogonality;
        f->from_cache = r->basis.from_cache;
    }
    mo_pair_reader_release(r);
    mo_pair_values_release(&x);
    free(end[0]);
    free(end[1]);
    return mo_ok(ctx);
}
