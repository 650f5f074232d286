/* tests/train/test_set_blocks.c - the blocks of rows that describe the graphs of a set: statistics of known graphs, the
 * optimal assignment kernel against counts over all pairs, Gaussians against means over pairs of nodes. */
#include "tests/copies.h"
#include "tests/train/dense.h"
#include "tests/train/drawn_set.h"
#include "train/features/sets/set_blocks.h"

enum { ROUNDS = 3 };

/* ---- statistics ---- */

/* Makes a complete graph of 5 nodes, a ring of 6, a star of 7 and two triangles. */
static mo_graph *known_set(mo_context *ctx) {
    static const int64_t offset[] = {0, 5, 11, 18, 24};
    mo_graph *set = mo_graph_new(ctx, "known", "known");
    mo_edges edges = {0};
    set->graphs = 4;
    set->graph_offset = calloc(5, sizeof *set->graph_offset);
    memcpy(set->graph_offset, offset, sizeof offset);
    for (int64_t i = 0; i < 5; i++)
        for (int64_t j = 0; j < i; j++)
            mo_edges_add(ctx, &edges, i, j);
    for (int64_t i = 0; i < 6; i++)
        mo_edges_add(ctx, &edges, 5 + i, 5 + (i + 1) % 6);
    for (int64_t i = 1; i < 7; i++)
        mo_edges_add(ctx, &edges, 11, 11 + i);
    for (int64_t i = 0; i < 3; i++) {
        mo_edges_add(ctx, &edges, 18 + i, 18 + (i + 1) % 3);
        mo_edges_add(ctx, &edges, 21 + i, 21 + (i + 1) % 3);
    }
    mo_graph_set_edges(set, 24, &edges);
    return mo_graph_finish(set);
}

/* The expected columns before standardisation: triangles, paths, stars, cycles of four, components. */
TEST_OF(statistics_are_those_of_known_graphs, scratch *s) {
    HELD(mo_graph) *set = known_set(s->ctx);
    static const double n[] = {5, 6, 7, 6}, m[] = {10, 6, 6, 6}, T[] = {10, 0, 0, 2}, S2[] = {30, 6, 15, 6},
                        S3[] = {20, 0, 20, 0}, C4[] = {15, 0, 0, 0}, most[] = {4, 2, 6, 2}, c[] = {1, 1, 1, 2},
                        correlation[] = {0, 0, -1, 0};
    float want[4][MO_STATISTICS], got[4][MO_STATISTICS] = {{0}};
    for (int g = 0; g < 4; g++) {
        double independent = m[g] - n[g] + c[g];
        const double all[] = {log(n[g]), log1p(m[g]), 2 * m[g] / n[g], 2 * m[g] / (n[g] * (n[g] - 1)), log1p(T[g]),
            log1p(S2[g]), log1p(S3[g]), log1p(C4[g]), log1p(most[g]), most[g] / n[g], log(c[g]), log1p(independent),
            independent / n[g], 3 * T[g] / S2[g], correlation[g], T[g] / n[g], C4[g] / n[g]};
        for (int j = 0; j < MO_STATISTICS; j++)
            want[g][j] = (float)all[j];
    }
    mo_standardize((mo_rows){&want[0][0], 1, 4, MO_STATISTICS}, NULL, 0, MO_EXTRAS_EPSILON, NULL);
    mo_unit_rows(&want[0][0], 4, MO_STATISTICS);
    mo_set_structure structure;
    assert_true(mo_set_structure_find(set, &structure));
    assert_true(mo_set_statistics(set, &structure, &got[0][0]));
    for (int g = 0; g < 4; g++)
        for (int j = 0; j < MO_STATISTICS; j++)
            if (fabsf(got[g][j] - want[g][j]) > 1e-4F)
                fail_msg("graph %d, column %d: expected %g, found %g", g, j, (double)want[g][j], (double)got[g][j]);
    mo_set_structure_free(&structure);
}

/* ---- subtrees ---- */

TEST_OF(subtrees_are_the_optimal_assignment_kernel, scratch *s) {
    enum { G = 40 };
    for (int labelled = 0; labelled < 2; labelled++) {
        HELD(mo_graph) *set = drawn_set(s->ctx, (set_options){G, labelled, .least = 4});
        HELD(mo_tape) *t = mo_tape_create(s->ctx, MO_EVAL);
        HELD_MEMORY int64_t *colour = calloc((size_t)set->nodes, sizeof *colour);
        double K[G * G] = {0}, norm[G];
        for (int64_t u = 0; labelled && u < set->nodes; u++)
            colour[u] = set->feature_column[set->feature_pointer[u]];
        count_subtrees(set, colour, labelled, ROUNDS, K);
        for (int64_t g = 0; g < G; g++) /* every node has one colour a round */
            norm[g] = (double)((ROUNDS + labelled) * (set->graph_offset[g + 1] - set->graph_offset[g]));
        for (int g = 0; g < G; g++)
            for (int h = 0; h < G; h++)
                K[g * G + h] /= sqrt(norm[g] * norm[h]);
        /* If M M' = K and M = U S V', the rows U S^1/2 have inner products K^1/2. */
        mo_basis_quality quality = {0};
        mo_feature_options o = example_features(NULL);
        mo_tensor *P = mo_cast(t, mo_set_subtrees(t, set, &o, &quality), MO_F64), *w, *V;
        mo_eigh(t, mo_from(t, MO_F64, 2, (int64_t[]){G, G}, K), &w, &V);
        mo_tensor *root =
            mo_matmul(t, mo_mul(t, V, mo_sqrt(t, mo_sqrt(t, mo_clamp(t, w, 0, INFINITY)))), mo_eye(t, MO_F64, G));
        root = mo_l2_normalize(t, root, 1e-9);
        double want[G * G], got[G * G];
        mo_tensor_read(mo_contiguous(t, mo_matmul(t, root, mo_transpose(t, root))), want, sizeof want);
        mo_tensor_read(mo_contiguous(t, mo_matmul(t, P, mo_transpose(t, P))), got, sizeof got);
        expect_ok(s->ctx);
        for (int i = 0; i < G * G; i++)
            if (fabs(got[i] - want[i]) > 1e-4)
                fail_msg("labels %d, graphs %d and %d: expected %g, found %g", labelled, i / G, i % G, want[i], got[i]);
    }
}

/* ---- waves ---- */

/* Computes the centred rows [x | A~ x | A~^2 x] of all nodes, where x is a node's structure and label; returns the
 * width. */
static int64_t node_rows(const mo_graph *set, const mo_set_structure *structure, double **rows) {
    int64_t n = set->nodes, d = MO_STRUCTURE + set->features, w = 3 * d;
    double *h = *rows = zeros(n * w);
    for (int64_t u = 0; u < n; u++) {
        for (int64_t j = 0; j < MO_STRUCTURE; j++)
            h[u * w + j] = structure->x[u * MO_STRUCTURE + j];
        h[u * w + MO_STRUCTURE + set->feature_column[set->feature_pointer[u]]] = 1;
    }
    for (int step = 1; step < 3; step++)
        for (int64_t u = 0; u < n; u++)
            for (int64_t e = set->row_pointer[u]; e < set->row_pointer[u + 1]; e++)
                for (int64_t j = 0; j < d; j++)
                    h[u * w + step * d + j] += h[set->column[e] * w + (step - 1) * d + j] /
                                               sqrt((double)degree(set, u) * (double)degree(set, set->column[e]));
    centre(h, n, w);
    return w;
}

/* Returns the mean over pairs of nodes of exp(-|h_u - h_v|^2 / (2 s^2)) + exp(-2 |h_u - h_v|^2 / s^2). */
static double mean_gaussians(const mo_graph *set, const double *h, int64_t w, double s2, int64_t g, int64_t k) {
    const int64_t *o = set->graph_offset;
    double sum = 0;
    for (int64_t u = o[g]; u < o[g + 1]; u++)
        for (int64_t v = o[k]; v < o[k + 1]; v++) {
            double square = 0;
            for (int64_t j = 0; j < w; j++)
                square += (h[u * w + j] - h[v * w + j]) * (h[u * w + j] - h[v * w + j]);
            sum += exp(-square / (2 * s2)) + exp(-2 * square / s2);
        }
    return sum / (double)((o[g + 1] - o[g]) * (o[k + 1] - o[k]));
}

/* Compares cosines between the waves' rows, which are random to 1 / sqrt(128), with cosines between centred rows of the
 * exact kernel. */
TEST_OF(waves_are_gaussians_between_nodes, scratch *s) {
    enum { G = 24 };
    HELD(mo_graph) *set = drawn_set(s->ctx, (set_options){G, true, .least = 4});
    mo_set_structure structure;
    static float rows[G * MO_WAVES];
    double *h, K[G][G], row[G] = {0}, all = 0, s2 = 0, error = 0, spread = 0;
    assert_true(mo_set_structure_find(set, &structure));
    assert_true(mo_set_waves(set, &structure, 7, rows));
    int64_t w = node_rows(set, &structure, &h);
    for (int64_t i = 0; i < set->nodes * w; i++)
        s2 += h[i] * h[i] / (double)set->nodes;
    for (int g = 0; g < G; g++)
        for (int k = 0; k < G; k++) {
            K[g][k] = mean_gaussians(set, h, w, s2, g, k);
            row[g] += K[g][k] / G;
            all += K[g][k] / (G * G);
        }
    for (int g = 0; g < G; g++)
        for (int k = 0; k < G; k++) {
            double inner = 0, own[2] = {K[g][g] - 2 * row[g] + all, K[k][k] - 2 * row[k] + all};
            for (int j = 0; j < MO_WAVES; j++)
                inner += (double)rows[g * MO_WAVES + j] * rows[k * MO_WAVES + j];
            double want = (K[g][k] - row[g] - row[k] + all) / sqrt(own[0] * own[1]);
            error += (inner - want) * (inner - want);
            spread += g == k ? 0 : want * want;
        }
    if (!(error < 0.1 * spread))
        fail_msg("squares of errors %g, of cosines %g", error, spread);
    mo_set_structure_free(&structure);
}

/* ---- measured values beside labels, or alone ---- */

/* Returns the largest difference of two arrays of one shape; for matrices, of the inner products of their rows. */
static double array_distance(mo_context *ctx, const mo_features *f, const mo_features *g, const char *name) {
    HELD(mo_tape) *t = mo_tape_create(ctx, MO_EVAL);
    mo_tensor *X = mo_arrays_find(f->arrays, name), *Y = mo_arrays_find(g->arrays, name);
    if (mo_ndim(X) == 2) {
        X = mo_matmul(t, X, mo_transpose(t, X));
        Y = mo_matmul(t, Y, mo_transpose(t, Y));
    }
    mo_tensor *largest = mo_max(t, mo_abs(t, mo_sub(t, X, Y)), MO_ALL, MO_DROP_AXES);
    double distance = mo_item(largest);
    expect_ok(ctx);
    return distance;
}

TEST_OF(a_measured_value_counts_in_any_unit_and_makes_no_kinds, scratch *s) {
    enum { G = 30 };
    static const char *const names[] = {"blocks", "waves", "subtrees"};
    static const float units[] = {0, 1, 1000, 1e-4F};
    mo_feature_options o = example_features(NULL);
    for (int labelled = 0; labelled < 2; labelled++) {
        mo_features *f[4];
        for (int i = 0; i < 4; i++) {
            HELD(mo_graph) *set = drawn_set(s->ctx, (set_options){G, labelled, units[i] != 0, units[i], .least = 4});
            f[i] = mo_task_features_open(set, MO_TASK_GC, NULL, &o);
            expect_ok(s->ctx);
        }
        for (int b = 0; b < 3; b++)
            for (int i = 2; i < 4; i++) {
                double distance = array_distance(s->ctx, f[1], f[i], names[b]);
                if (distance > 1e-3)
                    fail_msg("labels %d, %s: %g apart in another unit", labelled, names[b], distance);
            }
        assert_true(array_distance(s->ctx, f[0], f[1], "blocks") > 0.1);
        assert_true(array_distance(s->ctx, f[0], f[1], "waves") > 0.01);
        assert_true(!labelled || array_distance(s->ctx, f[0], f[1], "subtrees") < 1e-4);
        for (int i = 0; i < 4; i++)
            mo_features_release(f[i]);
    }
}

/* Graphs without an edge, a set of one graph, or of equal graphs: rows are finite, and zero if graphs cannot be told
 * apart. */
TEST_OF(poor_sets_have_finite_rows, scratch *s) {
    static const char *const names[] = {"statistics", "subtrees", "waves"};
    mo_feature_options o = example_features(NULL);
    for (int kind = 0; kind < 3; kind++) {
        int64_t graphs = kind == 1 ? 1 : 5;
        HELD(mo_graph) *set = mo_graph_new(s->ctx, "poor", "poor");
        mo_edges edges = {0};
        set->graphs = graphs;
        set->graph_offset = calloc((size_t)graphs + 1, sizeof *set->graph_offset);
        for (int64_t g = 0; g < graphs; g++) {
            set->graph_offset[g + 1] = 3 * (g + 1);
            if (kind)
                mo_edges_add(s->ctx, &edges, 3 * g, 3 * g + 1);
        }
        mo_graph_set_edges(set, 3 * graphs, &edges);
        set = mo_graph_finish(set);
        HELD(mo_features) *f = mo_task_features_open(set, MO_TASK_GC, NULL, &o);
        expect_ok(s->ctx);
        for (int b = 0; b < 3; b++) {
            mo_tensor *X = mo_arrays_find(f->arrays, names[b]);
            const float *x = mo_tensor_view(X).data;
            for (int64_t i = 0; i < mo_numel(X); i++)
                assert_true(isfinite(x[i]));
        }
    }
}
