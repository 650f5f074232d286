/* tests/train/test_pair_columns.c - the columns of links against dense matrices: walks in the masked graph, matches of
 * attributes; and rows diffused by PageRank against the recursion that defines them. */
#include "tests/copies.h"
#include "tests/planted.h"
#include "tests/train/dense.h"
#include "train/features/nodes/diffuse.h"
#include "train/features/pairs/pair_columns.h"

enum { PAIRS = 60 };

/* Draws pairs that are not edges: half at random, half close to each other, so that walks of every length occur. */
static void draw_pairs(const mo_graph *graph, int64_t *end[2]) {
    mo_random r = mo_random_at(4, MO_PURPOSE_CHECK, 4);
    for (int i = 0; i < PAIRS; i++)
        do {
            end[0][i] = mo_random_below(&r, graph->nodes);
            end[1][i] = i % 2 ? mo_random_below(&r, graph->nodes) : (end[0][i] + 3 * mo_random_below(&r, 4)) % PART;
        } while (end[0][i] == end[1][i] || mo_graph_has_edge(graph, end[0][i], end[1][i]));
}

TEST_OF(walks_are_powers_of_the_adjacency, scratch *s) {
    HELD(mo_graph) *graph = graph_of_copies(s->ctx);
    int64_t n = graph->nodes, first[PAIRS], second[PAIRS], *end[2] = {first, second};
    draw_pairs(graph, end);
    double *N = scaled_adjacency(graph, 0.5, 0.5), *A = scaled_adjacency(graph, 0, 0), *power[5] = {NULL, N};
    double *A3 = product(product(A, A, n, n), A, n, n);
    for (int k = 2; k <= 4; k++)
        power[k] = product(power[k - 1], N, n, n);
    float out[PAIRS * MO_WALK_COLUMNS] = {0};
    mo_pair_list list = {graph, PAIRS, end};
    assert_true(mo_pair_walks(&list, out));
    int unreached = 0;
    for (int i = 0; i < PAIRS; i++) {
        int64_t at = first[i] * n + second[i];
        double root = sqrt((double)(degree(graph, first[i]) * degree(graph, second[i]))), m2 = (double)graph->nnz;
        double near = power[2][at] > 0 ? 0.5 : power[3][at] > 0 ? 1.0 / 3 : power[4][at] > 0 ? 0.25 : 0;
        const double want[MO_WALK_COLUMNS] = {cbrt(power[3][at]), sqrt(sqrt(power[4][at])), log1p(A3[at]), near,
            log1p(m2 * power[2][at] / root), log1p(m2 * power[3][at] / root), log1p(m2 * power[4][at] / root)};
        unreached += near == 0;
        for (int c = 0; c < MO_WALK_COLUMNS; c++)
            if (fabs(out[i * MO_WALK_COLUMNS + c] - want[c]) > 1e-5)
                fail_msg(
                    "pair %d, column %d: expected %g, found %g", i, c, want[c], (double)out[i * MO_WALK_COLUMNS + c]);
    }
    assert_true(unreached > 0 && unreached < PAIRS);
}

/* Computes the largest and the mean inner product of row v with the rows of u's neighbours. */
static void dense_match(const mo_graph *graph, const float *x, int64_t d, int64_t u, int64_t v, double out[2]) {
    out[0] = degree(graph, u) ? -2 : 0;
    out[1] = 0;
    for (int64_t w = 0; w < graph->nodes; w++) {
        double inner = 0;
        if (!mo_graph_has_edge(graph, u, w))
            continue;
        for (int64_t j = 0; j < d; j++)
            inner += (double)x[w * d + j] * x[v * d + j];
        out[0] = fmax(out[0], inner);
        out[1] += inner / (double)degree(graph, u);
    }
}

TEST_OF(matches_are_the_best_and_the_mean_neighbours, scratch *s) {
    enum { D = 8 };
    HELD(mo_graph) *graph = graph_of_copies(s->ctx);
    int64_t first[PAIRS], second[PAIRS], *end[2] = {first, second};
    static float x[NODES * D];
    static double drawn[NODES * D];
    mo_random r = mo_random_at(8, MO_PURPOSE_CHECK, 5);
    draw_pairs(graph, end);
    for (int64_t i = 0; i < NODES * D; i++)
        drawn[i] = mo_random_normal(&r);
    to_unit_length(drawn, NODES, D);
    for (int64_t i = 0; i < NODES * D; i++)
        x[i] = (float)drawn[i];
    float out[PAIRS * MO_MATCH_COLUMNS] = {0};
    mo_pair_list list = {graph, PAIRS, end};
    assert_true(mo_pair_matches(&list, x, D, out));
    for (int i = 0; i < PAIRS; i++) {
        double a[2], b[2];
        dense_match(graph, x, D, first[i], second[i], a);
        dense_match(graph, x, D, second[i], first[i], b);
        double same = first[i] % 5 == second[i] % 5; /* the only attribute of a node is its group, one of five */
        const double want[MO_MATCH_COLUMNS] = {
            fmax(a[0], b[0]), fmin(a[0], b[0]), (a[0] + b[0]) / 2, (a[1] + b[1]) / 2, fmax(a[1], b[1]), same, same};
        for (int c = 0; c < MO_MATCH_COLUMNS; c++)
            if (fabs(out[i * MO_MATCH_COLUMNS + c] - want[c]) > 1e-5)
                fail_msg(
                    "pair %d, column %d: expected %g, found %g", i, c, want[c], (double)out[i * MO_MATCH_COLUMNS + c]);
    }
}

/* ---- bands and counts ---- */

/* Without equal singular values, a band is the sum over its columns: 1, 1, 2, 4 and 8 of them. */
TEST_OF(bands_are_parts_of_inner_products_and_counts_those_of_neighbours, scratch *s) {
    enum { DIM = 16, BANDS = 5, LAST_HOP = 2 };
    HELD(mo_graph) *graph = planted_graph(s->ctx, "planted", 60, 3, 0.25, 0.03, 1);
    const mo_feature_options o = {
        .form = MO_ROWS_PER_EXAMPLE, .dim = DIM, .hops = LAST_HOP, .power_iterations = 2, .seed = 1};
    int64_t n = graph->nodes, first[PAIRS], second[PAIRS], *end[2] = {first, second};
    draw_pairs(graph, end);
    mo_pair_reader *r = mo_pair_reader_open(graph, &o);
    mo_pair_values x = {0};
    assert_true(r && r->n_bands == BANDS && mo_pair_values_reserve(r, PAIRS, &x));
    assert_int_equal(mo_pair_reader_read(r, &(mo_pair_list){graph, PAIRS, end}, &x), MO_OK);
    HELD_MEMORY double *basis = mo_host_values(mo_arrays_find(r->basis.arrays, "basis"), MO_F64);
    double *N = scaled_adjacency(graph, 0.5, 0.5), *A = scaled_adjacency(graph, 0, 0), *paths = product(A, A, n, n);
    double *P = memcpy(zeros(n * DIM), basis, (size_t)(n * DIM) * sizeof *P);
    const mo_rows *bands = &x.part[MO_PAIR_BANDS], *extras = &x.part[MO_PAIR_EXTRAS];
    for (int k = 0; k <= LAST_HOP; k++, P = product(N, P, n, DIM)) {
        double *unit = memcpy(zeros(n * DIM), P, (size_t)(n * DIM) * sizeof *P);
        to_unit_length(unit, n, DIM);
        for (int i = 0; i < PAIRS; i++) {
            double cosine = 0;
            for (int band = 0, j = 0; band < BANDS; band++) {
                double sum = 0;
                for (; j < (1 << band); j++)
                    sum += unit[first[i] * DIM + j] * unit[second[i] * DIM + j];
                assert_true(fabs(bands->x[(k * PAIRS + i) * BANDS + band] - sum) < 1e-5);
                cosine += sum;
            }
            assert_true(fabs(extras->x[i * extras->w + 8 + k] - cosine) < 1e-5); /* 8 counts come before the cosines */
        }
    }
    for (int i = 0; i < PAIRS; i++) {
        double common = paths[first[i] * n + second[i]];
        double all = (double)(degree(graph, first[i]) + degree(graph, second[i])) - common;
        assert_true(fabs(extras->x[i * extras->w + 3] - log1p(common)) < 1e-5);
        assert_true(fabs(extras->x[i * extras->w + 4] - common / fmax(all, 1)) < 1e-5);
    }
    mo_pair_values_release(&x);
    mo_pair_reader_release(r);
}

/* ---- diffused rows ---- */

TEST_OF(diffused_rows_are_those_of_the_recursion, scratch *s) {
    enum { D = 3 };
    static const double restart[] = {0.15, 0.05};
    static const int rounds[] = {12, 24};
    HELD(mo_graph) *graph = graph_of_copies(s->ctx);
    int64_t n = graph->nodes;
    static double P[NODES * D], Z[NODES * D], got[NODES * D];
    double *N = scaled_adjacency(graph, 0.5, 0.5);
    HELD(mo_csr) *A = mo_normalized_adjacency(graph, MO_F64);
    mo_random r = mo_random_at(9, MO_PURPOSE_CHECK, 6);
    for (int i = 0; i < NODES * D; i++)
        P[i] = mo_random_normal(&r);
    HELD(mo_tape) *t = mo_tape_create(s->ctx, MO_EVAL);
    mo_tensor *sum[MO_DIFFUSED];
    double c[MO_DIFFUSED][MO_POWERS];
    for (int i = 0; i < MO_DIFFUSED; i++) {
        sum[i] = mo_tensor_create(s->ctx, MO_F64, 2, (int64_t[]){n, D});
        mo_diffusion_coefficients(i, c[i]);
    }
    mo_sum_powers(t, A, mo_from(t, MO_F64, 2, (int64_t[]){n, D}, P), c, sum, MO_DIFFUSED);
    for (int i = 0; i < MO_DIFFUSED; i++) {
        memcpy(Z, P, sizeof Z);
        for (int k = 0; k < rounds[i]; k++) {
            const double *near = product(N, Z, n, D);
            for (int j = 0; j < NODES * D; j++)
                Z[j] = restart[i] * P[j] + (1 - restart[i]) * near[j];
        }
        assert_int_equal(mo_tensor_read(sum[i], got, sizeof got), MO_OK);
        for (int j = 0; j < NODES * D; j++)
            assert_true(fabs(got[j] - Z[j]) < 1e-10);
        mo_tensor_release(sum[i]);
    }
}

/* Every build, also with sanitizers, adds in four interleaved sums. Products with 1 are exact. */
TEST(products_of_rows_add_in_the_stated_order) {
    enum { LONGEST = 90 };
    float x[LONGEST], ones[LONGEST];
    int apart_in_order = 0;
    mo_random r = mo_random_at(5, MO_PURPOSE_CHECK, 5);
    for (int n = 0; n <= LONGEST; n++) {
        float lane[4] = {0}, one_by_one = 0;
        for (int j = 0; j < n; j++) {
            ones[j] = 1;
            x[j] = (float)mo_random_normal(&r);
            lane[j < n / 4 * 4 ? j % 4 : 0] += x[j];
            one_by_one += x[j];
        }
        float sum = ((lane[0] + lane[1]) + lane[2]) + lane[3], found = mo_pair_product(x, ones, n);
        assert_memory_equal(&found, &sum, sizeof sum);
        apart_in_order += found != one_by_one;
    }
    assert_true(apart_in_order > 20); /* the plain order gives other bits in more than 20 of the cases */
}
