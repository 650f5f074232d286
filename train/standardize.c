/* train/standardize.c - columns brought to mean 0 and standard deviation 1. */
#include "train/example_rows.h"

#include <math.h>

/* Mean and standard deviation (n - 1) of column values x[i * w], in float64, in the order of the rows. */
static void moments(const float *x, int64_t w, const int64_t *row, int64_t m, double *mean, double *sd) {
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < m; i++)
        sum += x[(row ? row[i] : i) * w];
    *mean = m > 0 ? sum / (double)m : 0;
    for (int64_t i = 0; i < m; i++) {
        double d = x[(row ? row[i] : i) * w] - *mean;
        squares += d * d;
    }
    *sd = m > 1 ? sqrt(squares / (double)(m - 1)) : 0;
}

void mo_standardize(
    float *x, int64_t outer, int64_t n, int64_t w, const int64_t *reference, int64_t m, double epsilon) {
    for (int64_t o = 0; o < outer; o++)
        for (int64_t j = 0; j < w; j++) {
            float *column = x + o * n * w + j;
            double mean, sd;
            moments(column, w, reference, reference ? m : n, &mean, &sd);
            for (int64_t i = 0; i < n; i++)
                column[i * w] = (float)((column[i * w] - mean) / (sd + epsilon));
        }
}
