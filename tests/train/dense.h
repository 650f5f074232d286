/* tests/train/dense.h - dense matrices in float64 and the adjacency of a graph as one, for tests in plain loops. They
 * are freed with the test. */
#ifndef DENSE_H
#define DENSE_H

#include "tests/scratch.h"
#include "train/features/example_rows.h"

static inline double *zeros(int64_t n) {
    return test_memory(((size_t)n + 1) * sizeof(double));
}

/* Returns A B for A [n, n], B [n, w]. */
static inline double *product(const double *A, const double *B, int64_t n, int64_t w) {
    double *C = zeros(n * w);
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = 0; k < n; k++)
            for (int64_t j = 0; j < w; j++)
                C[i * w + j] += A[i * n + k] * B[k * w + j];
    return C;
}

/* Returns D^-left A D^-right for the degrees D. */
static inline double *scaled_adjacency(const mo_graph *graph, double left, double right) {
    int64_t n = graph->nodes;
    double *A = zeros(n * n);
    for (int64_t u = 0; u < n; u++)
        for (int64_t v = 0; v < n; v++)
            if (mo_graph_has_edge(graph, u, v))
                A[u * n + v] = pow((double)degree(graph, u), -left) * pow((double)degree(graph, v), -right);
    return A;
}

/* Subtracts from the columns of x [n, w] their means. */
static inline void centre(double *x, int64_t n, int64_t w) {
    for (int64_t j = 0; j < w; j++) {
        double sum = 0;
        for (int64_t i = 0; i < n; i++)
            sum += x[i * w + j];
        for (int64_t i = 0; i < n; i++)
            x[i * w + j] -= sum / (double)n;
    }
}

/* Scales the rows of x [n, w] to length 1; rows of zeros stay. */
static inline void to_unit_length(double *x, int64_t n, int64_t w) {
    for (int64_t i = 0; i < n; i++) {
        double squares = 0;
        for (int64_t j = 0; j < w; j++)
            squares += x[i * w + j] * x[i * w + j];
        for (int64_t j = 0; j < w; j++)
            x[i * w + j] = squares > 1e-20 ? x[i * w + j] / sqrt(squares) : 0;
    }
}

#endif
