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

/* ---- similarities ---- */

enum { SIMILAR_DIM = 16 };

/* Fails unless the raw column of every pair is as `want` says. */
static void assert_similarity(const char *name, double found, double want, int64_t pair) {
    if (fabs(found - want) > 2e-4 * fmax(1, fabs(want)))
        fail_msg("pair %lld, %s: expected %g, found %g", (long long)pair, name, want, found);
}

/* The rows of a link are those of the graph without it, and without the other links that are held out: with any of
 * these in it, a degree or a count would differ. */
TEST_OF(similarities_of_a_link_are_those_of_the_graph_without_it, scratch *s) {
    HELD(mo_graph) *graph = graph_of_copies(s->ctx);
    HELD(mo_links) *links = mo_links_create(graph, 0.2, 40, 3);
    const mo_feature_options o = {
        .form = MO_ROWS_PER_EXAMPLE, .dim = SIMILAR_DIM, .hops = 2, .power_iterations = 2, .seed = 1};
    HELD(mo_features) *f = mo_task_features_open(links->masked, MO_TASK_LP, links, &o);
    expect_ok(s->ctx);
    HELD_MEMORY float *x = mo_host_values(mo_arrays_find(f->arrays, "similarities"), MO_F32);
    HELD_MEMORY float *m = mo_host_values(mo_arrays_find(f->arrays, "similarities_moments"), MO_F32);
    int64_t n = graph->nodes, w = MO_SIMILARITY_COLUMNS, changed = 0;
    double *A = scaled_adjacency(links->masked, 0, 0), *A2 = product(A, A, n, n), *A3 = product(A2, A, n, n);
    for (int64_t i = 0; i < links->n_positive + links->n_negative; i++) {
        bool linked = i < links->n_positive;
        int64_t at = linked ? i : i - links->n_positive, u = (linked ? links->positive : links->negative)[0][at],
                v = (linked ? links->positive : links->negative)[1][at];
        double raw[MO_SIMILARITY_COLUMNS], adamic_adar = 0, allocation = 0;
        double du = (double)degree(links->masked, u), dv = (double)degree(links->masked, v), common = A2[u * n + v];
        for (int64_t j = 0; j < w; j++)
            raw[j] = (double)x[i * w + j] * m[w + j] + m[j];
        for (int64_t a = 0; a < n; a++)
            if (A[u * n + a] > 0 && A[v * n + a] > 0) {
                adamic_adar += 1 / log(fmax((double)degree(links->masked, a), 2));
                allocation += 1 / (double)degree(links->masked, a);
            }
        assert_similarity("common neighbours", raw[0], log1p(common), i);
        assert_similarity("Adamic-Adar", raw[1], log1p(adamic_adar), i);
        assert_similarity("resource allocation", raw[2], log1p(10 * allocation), i);
        assert_similarity("preferential attachment", raw[3], log1p(du * dv), i);
        assert_similarity("degrees", raw[4], fabs(log1p(du) - log1p(dv)), i);
        assert_similarity("Katz", raw[5], log1p(common + 0.05 * A3[u * n + v]), i);
        assert_similarity("cosine", raw[6], u % 5 == v % 5, i); /* the only attribute is a group, one of five */
        assert_similarity("Jaccard", raw[8], common / fmax(du + dv - common, 1), i);
        changed += du * dv != (double)(degree(graph, u) * degree(graph, v));
    }
    assert_true(changed >= links->n_positive); /* every link, at least */
}

/* Neighbours of groups 0 .. 4 as rows of five equal singular values: the mean is the share of each group. */
TEST_OF(the_neighbours_cosine_is_that_of_their_mean_attributes, scratch *s) {
    HELD(mo_graph) *graph = graph_of_copies(s->ctx);
    int64_t first[PAIRS], second[PAIRS], *end[2] = {first, second};
    draw_pairs(graph, end);
    static float x[NODES * 5];
    for (int64_t i = 0; i < NODES; i++)
        x[i * 5 + i % 5] = 1;
    float out[PAIRS * MO_SIMILARITY_COLUMNS] = {0};
    assert_true(mo_pair_neighbours(&(mo_pair_list){graph, PAIRS, end}, x, 5, out));
    for (int i = 0; i < PAIRS; i++) {
        double sum[2][5] = {{0}}, inner = 0, square[2] = {0};
        for (int side = 0; side < 2; side++)
            for (int64_t w = 0; w < NODES; w++)
                sum[side][w % 5] += mo_graph_has_edge(graph, end[side][i], w);
        for (int c = 0; c < 5; c++) {
            inner += sum[0][c] * sum[1][c];
            square[0] += sum[0][c] * sum[0][c];
            square[1] += sum[1][c] * sum[1][c];
        }
        double lengths = sqrt(square[0] * square[1]);
        assert_similarity("neighbours", out[i * MO_SIMILARITY_COLUMNS + 7], lengths > 0 ? inner / lengths : 0, i);
    }
}

/* ---- diffused rows ---- */

/* In float32 the sums have four powers less. */
static void check_diffused_rows(mo_context *ctx, mo_dtype real, double tolerance) {
    enum { D = 3 };
    static const double restart[] = {0.15, 0.05};
    static const int rounds[] = {12, 24};
    HELD(mo_graph) *graph = graph_of_copies(ctx);
    int64_t n = graph->nodes;
    static double P[NODES * D], Z[NODES * D], got[NODES * D];
    double *N = scaled_adjacency(graph, 0.5, 0.5);
    HELD(mo_csr) *A = mo_normalized_adjacency(graph, real);
    mo_random r = mo_random_at(9, MO_PURPOSE_CHECK, 6);
    for (int i = 0; i < NODES * D; i++)
        P[i] = mo_random_normal(&r);
    HELD(mo_tape) *t = mo_tape_create(ctx, MO_EVAL);
    mo_tensor *sum[MO_DIFFUSED];
    double c[MO_DIFFUSED][MO_POWERS];
    for (int i = 0; i < MO_DIFFUSED; i++) {
        sum[i] = mo_tape_tensor(t, real, 2, (int64_t[]){n, D});
        mo_diffusion_coefficients(i, c[i]);
    }
    mo_sum_powers(t, A, mo_cast(t, mo_from(t, MO_F64, 2, (int64_t[]){n, D}, P), real), c, sum, MO_DIFFUSED);
    for (int i = 0; i < MO_DIFFUSED; i++) {
        memcpy(Z, P, sizeof Z);
        for (int k = 0; k < rounds[i]; k++) {
            const double *near = product(N, Z, n, D);
            for (int j = 0; j < NODES * D; j++)
                Z[j] = restart[i] * P[j] + (1 - restart[i]) * near[j];
        }
        assert_int_equal(mo_tensor_read(mo_cast(t, sum[i], MO_F64), got, sizeof got), MO_OK);
        for (int j = 0; j < NODES * D; j++)
            assert_true(fabs(got[j] - Z[j]) < tolerance);
    }
}

TEST_OF(diffused_rows_are_those_of_the_recursion, scratch *s) {
    check_diffused_rows(s->ctx, MO_F64, 1e-10);
    check_diffused_rows(s->ctx, MO_F32, 1e-5);
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
