/* train/evaluation/scaling.c - rows scaled by the support alone, so that no query depends on another; and the size of
 * all rows, about which penalties are tried. */
#include "tensor/library.h"
#include "train/evaluation/evaluation.h"

#include <math.h>
#include <stdlib.h>

void mo_scaling_measure(mo_tape *t, mo_scaling scaling, mo_tensor *Zs, mo_tensor **mean, mo_tensor **spread) {
    bool centred = scaling == MO_SCALING_CENTRE || scaling == MO_SCALING_STANDARDISE;
    *mean = centred ? mo_mean(t, Zs, MO_AXIS(0), MO_KEEP_AXES) : NULL;
    *spread = scaling == MO_SCALING_STANDARDISE
                  ? mo_sqrt(t, mo_mean(t, mo_square(t, mo_sub(t, Zs, *mean)), MO_AXIS(0), MO_KEEP_AXES))
                  : NULL;
}

/* A zero row stays zero; so does a column that is constant in the support, which carries no information. */
mo_tensor *mo_scaling_apply(mo_tape *t, mo_scaling scaling, mo_tensor *mean, mo_tensor *spread, mo_tensor *Z) {
    if (scaling == MO_SCALING_NORMALISE)
        return mo_div_or_zero(t, Z, mo_row_norm(t, Z));
    Z = mean ? mo_sub(t, Z, mean) : Z;
    return spread ? mo_div_or_zero(t, Z, spread) : Z;
}

/* Writes the variances and the mean squares of the d columns of Z, by blocks of rows. Returns false on failure. */
static bool measure_columns(mo_tape *t, mo_tensor *Z, double *mean, double *variance, double *square) {
    enum { ROWS = 16384 };
    mo_context *ctx = mo_tape_context(t);
    int64_t n = mo_dim(Z, 0), d = mo_dim(Z, 1);
    mo_read_as(mo_mean(t, Z, MO_AXIS(0), MO_DROP_AXES), MO_F64, mean);
    for (int64_t first = 0; first < n && mo_ok(ctx); first += ROWS) {
        mo_tape_reset(t);
        mo_tensor *M = mo_cast(t, mo_from(t, MO_F64, 1, &d, mean), mo_tensor_dtype(Z));
        mo_tensor *X = mo_sub(t, mo_slice(t, Z, MO_AXIS(0), first, first + ROWS < n ? first + ROWS : n), M);
        mo_read_as(mo_sum(t, mo_square(t, X), MO_AXIS(0), MO_DROP_AXES), MO_F64, square);
        for (int64_t j = 0; j < d; j++)
            variance[j] += square[j] / (double)n;
    }
    for (int64_t j = 0; j < d; j++)
        square[j] = mean[j] * mean[j] + variance[j];
    mo_tape_reset(t);
    return mo_ok(ctx);
}

double mo_rows_spread(mo_tape *t, mo_tensor *Z, mo_scaling scaling) {
    static const double rounding = 1e-12, most = 100;
    int64_t d = mo_dim(Z, 1), varying = 0;
    if (scaling == MO_SCALING_NORMALISE || scaling == MO_SCALING_STANDARDISE)
        return scaling == MO_SCALING_NORMALISE ? 1 : (double)d;
    double *mean = mo_host_array(mo_tape_context(t), 3 * d, sizeof *mean), sum = 0;
    double *variance = mean ? mean + d : NULL, *sorted = mean ? mean + 2 * d : NULL;
    for (int64_t j = 0; mean && j < 2 * d; j++)
        mean[j] = 0;
    if (mean && measure_columns(t, Z, mean, variance, sorted)) {
        for (int64_t j = 0; j < d; j++)
            if (variance[j] > rounding * sorted[j])
                sorted[varying++] = variance[j];
        mo_sort_numbers(sorted, varying);
        double bound = varying ? most * sorted[(varying - 1) / 2] : 0;
        for (int64_t j = 0; j < d; j++)
            sum += fmin(variance[j], bound);
    }
    free(mean);
    return sum > 0 ? sum : 1;
}
