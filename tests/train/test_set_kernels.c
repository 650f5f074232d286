/* tests/train/test_set_kernels.c - the kernels between the graphs of a set against their formulas, summed plainly in
 * float64. Kernels that a set has no data for are left out; bad input is refused. */
#include "tests/drawn_graphs.h"
#include "tests/train/drawn_set.h"
#include "train/features/example_rows.h"
#include "train/graphs/graph_build.h"

enum { GRAPHS = 24, A = 3, ROUNDS = 3, MOST_COLUMNS = 80 };

/* ---- the columns, from the formulas ---- */

/* The columns of one graph, in the order in which they are appended. */
typedef struct listed {
    double x[MOST_COLUMNS];
    int n;
} listed;

static void put(listed *l, double x) {
    assert_true(l->n < MOST_COLUMNS);
    l->x[l->n++] = x;
}

static void put_spread(listed *l, const double *x, int64_t n) {
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < n; i++) {
        sum += x[i] / (double)n;
        squares += x[i] * x[i] / (double)n;
    }
    put(l, sum);
    put(l, sqrt(fmax(squares - sum * sum, 0)));
}

static double mean_product(const double *x, const double *y, int64_t n) {
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += x[i] * y[i] / (double)n;
    return sum;
}

/* Computes P x over the nodes of the graph that begins at `first`. */
static void average(const mo_graph *set, int64_t first, int64_t n, const double *x, double *near) {
    for (int64_t u = 0; u < n; u++) {
        near[u] = 0;
        for (int64_t v = 0; v < n; v++)
            if (mo_graph_has_edge(set, first + u, first + v))
                near[u] += x[v] / (double)degree(set, first + u);
    }
}

static double feature(const mo_graph *set, int64_t u, int64_t j) {
    double x = 0;
    for (int64_t e = set->feature_pointer[u]; e < set->feature_pointer[u + 1]; e++)
        x += set->feature_column[e] == j ? set->feature_value[e] : 0;
    return x;
}

static void list_structure(const mo_graph *set, int64_t first, int64_t n, listed *l) {
    double m = 0, x[MOST], near[MOST], clustering[MOST], triangles[MOST] = {0}, all[MOST];
    for (int64_t u = 0; u < n; u++) {
        double d = (double)degree(set, first + u);
        for (int64_t v = 0; v < n; v++)
            for (int64_t w = 0; w < v; w++)
                triangles[u] += mo_graph_has_edge(set, first + u, first + v) &&
                                mo_graph_has_edge(set, first + u, first + w) &&
                                mo_graph_has_edge(set, first + v, first + w);
        x[u] = log(1 + d);
        clustering[u] = d > 1 ? triangles[u] / (d * (d - 1) / 2) : 0;
        all[u] = log(1 + triangles[u]);
        m += d / 2;
    }
    average(set, first, n, x, near);
    put(l, log((double)n));
    put(l, log(1 + m));
    put(l, 2 * m / (double)n);
    put(l, n > 1 ? m / ((double)(n * (n - 1)) / 2) : 0);
    put_spread(l, x, n);
    put_spread(l, near, n);
    put_spread(l, clustering, n);
    put_spread(l, all, n);
}

static void list_labels(const mo_graph *set, int64_t first, int64_t n, listed *l) {
    double m = 0;
    for (int64_t j = set->attributes; j < set->features; j++) {
        double count = 0;
        for (int64_t u = 0; u < n; u++)
            count += feature(set, first + u, j);
        put(l, count / (double)n);
        put(l, log(1 + count));
    }
    for (int k = 0; k < 16; k++) {
        double count = 0;
        for (int64_t u = 0; u < n; u++)
            count += degree(set, first + u) == k;
        put(l, count / (double)n);
    }
    for (int64_t u = 0; u < n; u++)
        m += (double)degree(set, first + u) / 2;
    put(l, log((double)n));
    put(l, log(1 + m));
}

static void list_attributes(const mo_graph *set, int64_t first, int64_t n, listed *l) {
    double a[A + 2][MOST], near[A + 2][MOST], x[MOST];
    for (int64_t u = 0; u < n; u++)
        x[u] = log(1 + (double)degree(set, first + u));
    for (int64_t j = 0; j < set->attributes; j++) {
        double sum = 0, squares = 0, N = (double)set->nodes;
        for (int64_t u = 0; u < set->nodes; u++) {
            sum += feature(set, u, j) / N;
            squares += feature(set, u, j) * feature(set, u, j) / N;
        }
        for (int64_t u = 0; u < n; u++)
            a[j][u] = (feature(set, first + u, j) - sum) / sqrt(squares - sum * sum);
        average(set, first, n, a[j], near[j]);
        put_spread(l, a[j], n);
        put_spread(l, near[j], n);
        put(l, mean_product(a[j], x, n));
    }
    for (int64_t i = 0; i < set->attributes && set->attributes <= 4; i++)
        for (int64_t j = i; j < set->attributes; j++)
            put(l, mean_product(a[i], i == j ? near[i] : a[j], n));
}

/* Computes K [GRAPHS, GRAPHS], the Gaussian kernel of the columns at one scale. */
static void gaussian_of(listed *l, double *K) {
    int p = 0;
    for (int c = 0; c < l->n; c++) {
        double sum = 0, squares = 0;
        for (int g = 0; g < GRAPHS; g++)
            sum += l[g].x[c] / GRAPHS;
        for (int g = 0; g < GRAPHS; g++)
            squares += (l[g].x[c] - sum) * (l[g].x[c] - sum) / GRAPHS;
        p += squares > 1e-12;
        for (int g = 0; g < GRAPHS; g++)
            l[g].x[c] = squares > 1e-12 ? fmin(fmax((l[g].x[c] - sum) / sqrt(squares), -4), 4) : 0;
    }
    for (int g = 0; g < GRAPHS; g++)
        for (int h = 0; h < GRAPHS; h++) {
            double squares = 0;
            for (int c = 0; c < l->n; c++)
                squares += pow(l[g].x[c] - l[h].x[c], 2);
            K[g * GRAPHS + h] = 1 + exp(-squares / (2 * p));
        }
}

/* ---- wl, by counting ---- */

static void subtrees_of(const mo_graph *set, double *K) {
    static int64_t colour[GRAPHS * MOST];
    static double k[GRAPHS * GRAPHS];
    memset(k, 0, sizeof k);
    for (int64_t u = 0; u < set->nodes; u++) { /* the first columns are attributes, real numbers that define no kinds of
                                                * nodes */
        colour[u] = 0;
        for (int64_t j = set->attributes; j < set->features; j++)
            colour[u] += (int)(feature(set, u, j) * (double)(j - set->attributes + 1));
    }
    count_subtrees(set, colour, set->features > 0, ROUNDS, k);
    for (int g = 0; g < GRAPHS; g++)
        for (int h = 0; h < GRAPHS; h++) {
            double both = k[g * GRAPHS + g] * k[h * GRAPHS + h];
            K[g * GRAPHS + h] = 1 + (both > 0 ? k[g * GRAPHS + h] / sqrt(both) : 0);
        }
}

/* ---- comparison ---- */

static void expect_experts(const mo_graph *set, const char *const *names, int n_names) {
    static float found[5 * GRAPHS * GRAPHS];
    static double want[GRAPHS * GRAPHS];
    int64_t all[GRAPHS];
    for (int g = 0; g < GRAPHS; g++)
        all[g] = GRAPHS - 1 - g;
    HELD(mo_example_kernels) *k = mo_example_kernels_create(&(mo_source){.graph = (mo_graph *)set, .task = MO_TASK_GC});
    expect_ok(set->ctx);
    assert_int_equal(mo_example_kernels_count(k), n_names);
    assert_int_equal(mo_example_kernels_gram(k, all, GRAPHS, all, GRAPHS, found), MO_OK);
    for (int e = 0; e < n_names; e++) {
        const char *name = mo_example_kernels_name(k, e);
        assert_string_equal(name, names[e]);
        static listed rows[GRAPHS];
        memset(rows, 0, sizeof rows);
        for (int g = 0; g < GRAPHS; g++) {
            int64_t first = set->graph_offset[g], n = set->graph_offset[g + 1] - first;
            if (!strcmp(name, "st"))
                list_structure(set, first, n, &rows[g]);
            if (!strcmp(name, "at") || !strcmp(name, "atx"))
                list_attributes(set, first, n, &rows[g]);
            if (!strcmp(name, "lab") || !strcmp(name, "atx"))
                list_labels(set, first, n, &rows[g]);
        }
        if (!strcmp(name, "wl"))
            subtrees_of(set, want);
        else
            gaussian_of(rows, want);
        for (int g = 0; g < GRAPHS; g++)
            for (int h = 0; h < GRAPHS; h++) {
                double x = want[all[g] * GRAPHS + all[h]], y = found[(e * GRAPHS + g) * GRAPHS + h];
                if (!(fabs(x - y) < 1e-5))
                    fail_msg("%s: graphs %lld and %lld: expected %.7f, found %.7f", name, (long long)all[g],
                        (long long)all[h], x, y);
            }
    }
}

TEST_OF(kernels_are_those_of_the_formulas, scratch *s) {
    static const char *const names[] = {"st", "lab", "at", "atx", "wl"}, *const bare[] = {"st", "lab", "wl"};
    for (int labelled = 0; labelled < 2; labelled++) {
        HELD(mo_graph) *plain_set = drawn_set(s->ctx, (set_options){GRAPHS, labelled, 0}),
                       *measured = drawn_set(s->ctx, (set_options){GRAPHS, labelled, A}),
                       *wider = drawn_set(s->ctx, (set_options){GRAPHS, labelled, A + 2});
        expect_experts(plain_set, bare, 3);
        expect_experts(measured, names, 5);
        expect_experts(wider, names, 5);
    }
}

/* A call for some pairs gives the values of a call for all; bits are equal for any number of threads. */
TEST(parts_and_threads_change_nothing) {
    static float all[5 * GRAPHS * GRAPHS], part[5 * 4 * 3];
    static const int64_t a[] = {5, 2, 2, 17}, b[] = {0, 17, 9};
    int64_t every[GRAPHS];
    for (int g = 0; g < GRAPHS; g++)
        every[g] = g;
    for (int threads = 1; threads <= 3; threads += 2) {
        HELD(mo_context) *ctx = mo_context_create(&(mo_context_options){.threads = threads});
        HELD(mo_graph) *set = drawn_set(ctx, (set_options){GRAPHS, true, A});
        HELD(mo_example_kernels) *k = mo_example_kernels_create(&(mo_source){.graph = set, .task = MO_TASK_GC});
        if (threads == 1)
            assert_int_equal(mo_example_kernels_gram(k, every, GRAPHS, every, GRAPHS, all), MO_OK);
        assert_int_equal(mo_example_kernels_gram(k, a, 4, b, 3, part), MO_OK);
        for (int e = 0; e < 5; e++)
            for (int i = 0; i < 4; i++)
                for (int j = 0; j < 3; j++)
                    assert_true(part[(e * 4 + i) * 3 + j] == all[(e * GRAPHS + a[i]) * GRAPHS + b[j]]);
    }
}

/* Inductive kernels between some graphs do not depend on the set's other graphs, as transductive ones do. If all graphs
 * are labelled, the Gaussians of both are equal. */
TEST_OF(inductive_kernels_ask_the_labelled_graphs_alone, scratch *s) {
    enum { SAME = 14, LABELLED = 5, ASKED = 6, EXPERTS = 5, MANY = EXPERTS * GRAPHS * GRAPHS };
    static const int64_t labelled[LABELLED] = {2, 5, 8, 12, 13}, asked[ASKED] = {0, 2, 4, 7, 10, 11};
    static float K[2][2][EXPERTS * ASKED * LABELLED], all[2][MANY];
    int64_t every[GRAPHS];
    for (int g = 0; g < GRAPHS; g++)
        every[g] = g;
    for (int drawn = 0; drawn < 2; drawn++) {
        HELD(mo_graph) *set = drawn_set(s->ctx, (set_options){GRAPHS, true, A, .other = drawn ? SAME : 0});
        for (int inductive = 0; inductive < 2; inductive++) {
            HELD(mo_example_kernels) *k =
                mo_example_kernels_create(&(mo_source){.graph = set, .task = MO_TASK_GC, .inductive = inductive});
            assert_int_equal(mo_example_kernels_count(k), EXPERTS);
            assert_int_equal(mo_example_kernels_refer(k, every, GRAPHS), MO_OK);
            assert_int_equal(mo_example_kernels_gram(k, every, GRAPHS, every, GRAPHS, all[inductive]), MO_OK);
            assert_int_equal(mo_example_kernels_refer(k, labelled, LABELLED), MO_OK);
            assert_int_equal(mo_example_kernels_gram(k, asked, ASKED, labelled, LABELLED, K[drawn][inductive]), MO_OK);
        }
        assert_memory_equal(all[0], all[1], 4 * GRAPHS * GRAPHS * sizeof **all);
    }
    for (int e = 0; e < EXPERTS; e++) {
        double most[2] = {0, 0};
        for (int inductive = 0; inductive < 2; inductive++)
            for (int i = e * ASKED * LABELLED; i < (e + 1) * ASKED * LABELLED; i++)
                most[inductive] = fmax(most[inductive], fabs(K[0][inductive][i] - K[1][inductive][i]));
        assert_true(most[0] > 1e-3);
        assert_true(most[1] < 1e-5);
    }
}

TEST_OF(inductive_kernels_before_any_label, scratch *s) {
    HELD(mo_graph) *set = drawn_set(s->ctx, (set_options){GRAPHS, true, A});
    HELD(mo_example_kernels) *k =
        mo_example_kernels_create(&(mo_source){.graph = set, .task = MO_TASK_GC, .inductive = true});
    int64_t graph = 3, beyond = GRAPHS;
    float K[5];
    assert_int_equal(mo_example_kernels_gram(k, &graph, 1, &graph, 1, K), MO_STATE);
    mo_clear_error(s->ctx);
    assert_int_equal(mo_example_kernels_refer(k, &beyond, 1), MO_INVALID);
    mo_clear_error(s->ctx);
    assert_int_equal(mo_example_kernels_refer(k, &graph, 1), MO_OK);
    assert_int_equal(mo_example_kernels_gram(k, &graph, 1, &graph, 1, K), MO_OK);
    for (int e = 0; e < 5; e++)
        assert_true(fabs(K[e] - 2) < 1e-6);
}

TEST_OF(empty_lists_and_wrong_graphs_and_too_little_memory, scratch *s) {
    HELD(mo_graph) *set = drawn_set(s->ctx, (set_options){GRAPHS, true, A}), *single = draw_graph(s->ctx, small, 0, 3);
    HELD(mo_example_kernels) *k = mo_example_kernels_create(&(mo_source){.graph = set, .task = MO_TASK_GC});
    int64_t graph = 3, beyond = GRAPHS;
    float K[5];
    assert_int_equal(mo_example_kernels_gram(k, NULL, 0, &graph, 1, NULL), MO_OK);
    assert_int_equal(mo_example_kernels_gram(k, &beyond, 1, &graph, 1, K), MO_INVALID);
    assert_failed(s->ctx, MO_INVALID, PARTS("graph 24, expected 0 to 23"));
    s->ctx->memory = s->ctx->host_held + 1000;
    assert_null(mo_example_kernels_create(&(mo_source){.graph = set, .task = MO_TASK_GC}));
    assert_failed(s->ctx, MO_MEMORY, PARTS("M asked, ", "M held, ", "M allowed: raise --memory "));
    s->ctx->memory = 0;
    assert_null(mo_example_kernels_create(&(mo_source){.graph = single, .task = MO_TASK_GC}));
    assert_failed(s->ctx, MO_INVALID, PARTS("has 1 graph, expected a set"));
}
