/* tools/lessons/cone.c - `mochi pitfalls cone Z GRAPH`: norms against the roots of degrees, cosines of neighbours, and
 * the cone about the mean of all rows (the paper's Appendix A, properties (i), (ii) and (iii)). */
#include "tools/lessons/lab.h"
#include "tools/lessons/pitfalls.h"
#include "tools/memory.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* z_v [d] of n nodes, d_v their degrees. Cosines leave out rows of zeros; figures without a pair or a row are NaN. */
typedef struct cone_figures {
    int64_t n, d, edges, zero_rows, isolated;
    double norm_correlation; /* Pearson's, of |z_v| and sqrt(d_v), over nodes with neighbours */
    double norm_ratio[3];    /* quartiles of |z_v| / sqrt(d_v), over nodes with neighbours */
    double neighbour_cosine; /* mean over the edges of cos(z_u, z_v) */
    double pair_cosine;      /* mean over all pairs of two nodes */
    double mean_cosine;      /* mean of cos(z_v, m), m the mean of all rows */
    double half_space;       /* share of the rows with z_v . m > 0 */
    double mean_share;       /* |m| / root mean square of |z_v|: 1 of equal rows, 0 of rows about the origin */
} cone_figures;

/* The rows in float64; NULL after an error. */
static double *cone_rows(const mo_tensor *Z, const mo_graph *graph) {
    mo_context *ctx = mo_tensor_context(Z);
    mo_dtype dtype = mo_tensor_dtype(Z);
    if ((dtype != MO_F32 && dtype != MO_F64) || mo_ndim(Z) != 2 || mo_dim(Z, 0) != graph->nodes || mo_dim(Z, 1) < 1) {
        mo_fail(ctx, MO_INVALID,
            "pitfalls cone: expected float32 or float64 [%" PRId64
            ", d], a row for each node of %s, found %s of %d axes,"
            " %" PRId64 " rows",
            graph->nodes, graph->name, mo_dtype_name(dtype), mo_ndim(Z), mo_ndim(Z) > 0 ? mo_dim(Z, 0) : 1);
        return NULL;
    }
    const int64_t d = mo_dim(Z, 1), n = mo_dim(Z, 0) * d;
    double *X = needed(calloc((size_t)n + 1, sizeof *X));
    mo_tensor *wide = mo_tensor_create(ctx, MO_F64, 2, (int64_t[]){mo_dim(Z, 0), d});
    mo_tensor_copy(wide, Z);
    mo_tensor_read(wide, X, (size_t)n * sizeof *X);
    mo_tensor_release(wide);
    for (int64_t i = 0; i < n && mo_ok(ctx); i++)
        if (!isfinite(X[i]))
            mo_fail(ctx, MO_INVALID, "pitfalls cone: row %" PRId64 " of the embeddings is not finite", i / d);
    if (mo_ok(ctx))
        return X;
    free(X);
    return NULL;
}

static double cone_product(const double *x, const double *y, int64_t d) {
    double sum = 0;
    for (int64_t j = 0; j < d; j++)
        sum += x[j] * y[j];
    return sum;
}

/* Property (i): |z_v| ~ sqrt(d_v). norm and scratch [n]. */
static void measure_norms(const mo_graph *g, const double *norm, double *scratch, cone_figures *f) {
    double sx = 0, sy = 0, xx = 0, yy = 0, xy = 0;
    int64_t m = 0;
    for (int64_t v = 0; v < g->nodes; v++) {
        double x = sqrt((double)(g->row_pointer[v + 1] - g->row_pointer[v]));
        if (x == 0)
            continue;
        sx += x;
        sy += norm[v];
        scratch[m++] = norm[v] / x;
    }
    f->isolated = g->nodes - m;
    for (int64_t v = 0; v < g->nodes; v++) {
        double degree = (double)(g->row_pointer[v + 1] - g->row_pointer[v]);
        double x = sqrt(degree) - sx / (double)m, y = norm[v] - sy / (double)m;
        if (degree > 0) {
            xx += x * x;
            yy += y * y;
            xy += x * y;
        }
    }
    qsort(scratch, (size_t)m, sizeof *scratch, lab_by_value);
    f->norm_correlation = xx > 0 && yy > 0 ? xy / sqrt(xx * yy) : NAN;
    for (int q = 0; q < 3; q++)
        f->norm_ratio[q] = m ? scratch[(m - 1) * (q + 1) / 4] : NAN;
}

/* Property (ii): the cosines of neighbours, beside those of all pairs: |sum_v z_v / |z_v||^2 has both orders of each
 * pair, and 1 for each row. */
static void measure_neighbours(const mo_graph *g, const double *X, const double *norm, double *sum, cone_figures *f) {
    double cosines = 0, pairs = 0, m = (double)(f->n - f->zero_rows);
    memset(sum, 0, (size_t)f->d * sizeof *sum);
    for (int64_t v = 0; v < f->n; v++) {
        for (int64_t j = 0; j < f->d && norm[v] > 0; j++)
            sum[j] += X[v * f->d + j] / norm[v];
        for (int64_t e = g->row_pointer[v]; e < g->row_pointer[v + 1]; e++) {
            int64_t u = g->column[e];
            if (u <= v || norm[u] == 0 || norm[v] == 0)
                continue;
            cosines += cone_product(X + u * f->d, X + v * f->d, f->d) / (norm[u] * norm[v]);
            pairs++;
        }
    }
    f->neighbour_cosine = pairs > 0 ? cosines / pairs : NAN;
    f->pair_cosine = m > 1 ? (cone_product(sum, sum, f->d) - m) / (m * (m - 1)) : NAN;
}

/* Property (iii): the cone about the mean of all rows. */
static void measure_cone(const double *X, const double *norm, double *mean, cone_figures *f) {
    double squares = 0, cosines = 0;
    int64_t inside = 0;
    memset(mean, 0, (size_t)f->d * sizeof *mean);
    for (int64_t v = 0; v < f->n; v++) {
        for (int64_t j = 0; j < f->d; j++)
            mean[j] += X[v * f->d + j] / (double)f->n;
        squares += norm[v] * norm[v] / (double)f->n;
    }
    double length = sqrt(cone_product(mean, mean, f->d));
    for (int64_t v = 0; v < f->n; v++) {
        double product = cone_product(X + v * f->d, mean, f->d);
        inside += product > 0;
        cosines += norm[v] > 0 && length > 0 ? product / (norm[v] * length) : 0;
    }
    f->mean_cosine = length > 0 ? cosines / (double)(f->n - f->zero_rows) : NAN;
    f->half_space = (double)inside / (double)f->n;
    f->mean_share = squares > 0 ? length / sqrt(squares) : NAN;
}

static void cone_print(const cone_figures *f) {
    printf("%" PRId64 " rows of %" PRId64 " numbers, %" PRId64 " edges; %" PRId64 " rows of zeros, %" PRId64
           " nodes without neighbours\n"
           "norms      correlation of |z| and sqrt(degree) %.3f; |z| / sqrt(degree) %.3g, %.3g, %.3g (quartiles)\n"
           "           the paper: |z| is about sqrt(degree)\n"
           "neighbours mean cosine %.3f, of all pairs %.3f\n"
           "           the paper: neighbours align\n"
           "cone       mean cosine with the mean row %.3f, %.1f%% of the rows on its side, |mean| / rms |z| %.3f\n"
           "           the paper: rows lie in a cone within a half-space\n",
        f->n, f->d, f->edges, f->zero_rows, f->isolated, f->norm_correlation, f->norm_ratio[0], f->norm_ratio[1],
        f->norm_ratio[2], f->neighbour_cosine, f->pair_cosine, f->mean_cosine, 100 * f->half_space, f->mean_share);
}

static bool cone_print_object(const cone_figures *f) {
    return print_json(json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:o, s:[o, o, o], s:o, s:o, s:o, s:o, s:o}", "kind",
        "cone", "rows", (json_int_t)f->n, "columns", (json_int_t)f->d, "edges", (json_int_t)f->edges, "zero_rows",
        (json_int_t)f->zero_rows, "isolated", (json_int_t)f->isolated, "norm_correlation",
        json_number(f->norm_correlation), "norm_ratio", json_number(f->norm_ratio[0]), json_number(f->norm_ratio[1]),
        json_number(f->norm_ratio[2]), "neighbour_cosine", json_number(f->neighbour_cosine), "pair_cosine",
        json_number(f->pair_cosine), "mean_cosine", json_number(f->mean_cosine), "half_space",
        json_number(f->half_space), "mean_share", json_number(f->mean_share)));
}

bool cone_measure(const mo_tensor *Z, const mo_graph *graph, json_t *run) {
    double *X = cone_rows(Z, graph);
    if (!X) {
        json_decref(run);
        return true;
    }
    cone_figures f = {.n = graph->nodes, .d = mo_dim(Z, 1), .edges = graph->nnz / 2};
    double *norm = needed(calloc((size_t)f.n, sizeof *norm));
    double *scratch = needed(calloc((size_t)(f.n > f.d ? f.n : f.d), sizeof *scratch));
    for (int64_t v = 0; v < f.n; v++) {
        norm[v] = sqrt(cone_product(X + v * f.d, X + v * f.d, f.d));
        f.zero_rows += norm[v] == 0;
    }
    measure_norms(graph, norm, scratch, &f);
    measure_neighbours(graph, X, norm, scratch, &f);
    measure_cone(X, norm, scratch, &f);
    free(scratch);
    free(norm);
    free(X);
    if (run)
        return print_json(run) && cone_print_object(&f);
    cone_print(&f);
    return true;
}
