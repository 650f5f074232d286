/* train/fit/scaling.c - rows as a head meets them: scaled by what the support alone says, so that the prediction of a
 * query depends on no other query. */
#include "train/fit/fit_parts.h"

/* z / |z|; a row of zeroes stays. */
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
    *Zs = mo_div_or_zero(t, *Zs, spread); /* a column that is constant in the support says nothing of a query */
    if (Zq)
        *Zq = mo_div_or_zero(t, *Zq, spread);
}

double mo_fit_scaled_norm(const mo_fitting *f, double row_scale) {
    double d = (double)mo_dim(f->Z, 1);
    return f->scaling == MO_SCALING_NORMALISE ? 2 : f->scaling == MO_SCALING_STANDARDISE ? d + 1 : row_scale;
}
