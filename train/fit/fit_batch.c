/* train/fit/fit_batch.c - one call of a head for many episodes at once: their rows are gathered into a leading batch
 * axis. */
#include "train/fit/fit_parts.h"

#include "models/model.h"
#include "train/episodes/episode_rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

mo_tensor *mo_fit_rows(const mo_fitting *f, const int64_t *row, int64_t B, int64_t m) {
    mo_tensor *index = mo_from(f->t, MO_I64, 1, (int64_t[]){B * m}, row);
    return mo_reshape(f->t, mo_gather_rows(f->t, f->Z, index), 3, (int64_t[]){B, m, mo_dim(f->Z, 1)});
}

mo_tensor *mo_fit_one_hot(const mo_fitting *f, const int64_t *label, int64_t B, int64_t m) {
    mo_tensor *y = mo_from(f->t, MO_I64, 2, (int64_t[]){B, m}, label);
    return mo_one_hot(f->t, y, f->classes, mo_tensor_dtype(f->Z));
}

bool mo_fit_read(mo_tensor *T, double *host) {
    mo_context *ctx = mo_tensor_context(T);
    int64_t n = mo_numel(T);
    if (!mo_ok(ctx) || mo_tensor_dtype(T) == MO_F64)
        return mo_tensor_read(T, host, (size_t)n * sizeof *host) == MO_OK;
    float *narrow = mo_host_array(ctx, n, sizeof *narrow);
    if (narrow && mo_tensor_read(T, narrow, (size_t)n * sizeof *narrow) == MO_OK)
        for (int64_t i = 0; i < n; i++)
            host[i] = (double)narrow[i];
    free(narrow);
    return mo_ok(ctx);
}

bool mo_fit_parameters(const mo_fitting *f, double value, mo_tensor **parameters) {
    mo_dtype real = mo_tensor_dtype(f->Z);
    mo_tape_reset(f->t);
    mo_head_start(f->t, f->head, real, mo_dim(f->Z, 1), f->lambda, f->seed, parameters);
    if (f->tuned >= 0 && !isnan(value))
        parameters[f->tuned] = mo_scalar(f->t, real, value);
    return mo_ok(f->ctx);
}

/* ---- rows scaled by the support alone, so that no query depends on another ---- */

/* z / |z|; a zero row stays zero. */
static mo_tensor *scale_normalise(mo_tape *t, mo_tensor *Z) {
    return mo_div_or_zero(t, Z, mo_row_norm(t, Z));
}

void mo_fit_scale(const mo_fitting *f, mo_tensor **Zs, mo_tensor **Zq) {
    mo_tape *t = f->t;
    if (f->scaling == MO_SCALING_NONE)
        return;
    if (f->scaling == MO_SCALING_NORMALISE) {
        *Zs = scale_normalise(t, *Zs);
        if (Zq)
            *Zq = scale_normalise(t, *Zq);
        return;
    }
    mo_tensor *mean = mo_mean(t, *Zs, MO_AXIS(1), MO_KEEP_AXES);
    *Zs = mo_sub(t, *Zs, mean);
    if (Zq)
        *Zq = mo_sub(t, *Zq, mean);
    if (f->scaling == MO_SCALING_CENTRE)
        return;
    mo_tensor *spread = mo_sqrt(t, mo_mean(t, mo_square(t, *Zs), MO_AXIS(1), MO_KEEP_AXES));
    *Zs = mo_div_or_zero(t, *Zs, spread); /* a column that is constant in the support carries no information */
    if (Zq)
        *Zq = mo_div_or_zero(t, *Zq, spread);
}

double mo_fit_scaled_norm(const mo_fitting *f, double row_scale) {
    double d = (double)mo_dim(f->Z, 1);
    return f->scaling == MO_SCALING_NORMALISE ? 2 : f->scaling == MO_SCALING_STANDARDISE ? d + 1 : row_scale;
}

/* ---- the call ---- */

bool mo_fit_logits(const mo_fitting *f, const mo_fit_batch *b, double value, double *logits) {
    mo_tensor *parameters[MO_MAX_HEAD_PARAMETERS];
    if (!mo_fit_parameters(f, value, parameters))
        return false;
    mo_tensor *Zs = mo_fit_rows(f, b->support, b->B, b->n_s), *Zq = mo_fit_rows(f, b->query, b->B, b->n_q);
    mo_tensor *Ys = mo_fit_one_hot(f, b->support_label, b->B, b->n_s);
    mo_fit_scale(f, &Zs, &Zq);
    mo_tensor *weight = mo_support_weight(f->t, b->support, b->B, b->n_s);
    return mo_ok(f->ctx) && mo_fit_read(mo_head_apply_weighted(f->t, f->head, Zs, Ys, weight, Zq, parameters), logits);
}

bool mo_fit_quarters(const mo_fitting *f, uint8_t *part, double *row_scale) {
    int64_t n = mo_dim(f->Z, 0);
    double *norm = mo_host_array(f->ctx, 2 * n, sizeof *norm), *sorted = norm ? norm + n : NULL;
    *row_scale = 0;
    mo_tensor *N = norm ? mo_row_norm(f->t, f->Z) : NULL;
    if (norm && mo_fit_read(N, norm) && mo_fit_read(mo_sort(f->t, N, MO_AXIS(0)), sorted)) {
        for (int64_t i = 0; i < n; i++) {
            part[i] = 0;
            for (int quarter = 1; quarter < MO_NORM_PARTS; quarter++)
                part[i] = (uint8_t)(part[i] + (norm[i] >= sorted[n - 1 - n * quarter / MO_NORM_PARTS]));
            *row_scale += (norm[i] * norm[i] + 1) / (double)n;
        }
    }
    mo_tape_reset(f->t);
    free(norm);
    return mo_ok(f->ctx);
}
